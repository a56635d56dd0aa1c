"""Run the commands and the Python code of docs/howto/serve.md, and check its tables."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from clickrank.cli.app import app
from clickrank.service.api import asgi as limits
from clickrank.service.api.metrics import Metrics
from clickrank.service.runtime import definitions, engine, writer
from clickrank.service.runtime import ranker_cache as memory
from clickrank.service.schemas import fields
from tests.paths import ROOT
from tests.service.ports import free_port
from tests.service.stores import postgres_url

SCRIPT = "from clickrank.cli.app import app\nif __name__ == '__main__':\n    app()\n"
PAGE = (ROOT / "docs" / "howto" / "serve.md").read_text()
ADDRESS = "http://127.0.0.1:8765"  # on the page
DATABASE = "postgresql://shop@db/clickrank"
END = "-- end of command --"

sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
SEVERAL = "PostgreSQL and several workers"


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the code blocks to run, in order, with their languages."""
    return re.findall(r"^```(console|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with its expected output."""
    found: list[tuple[str, list[str]]] = []
    lines = iter(block.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            found[-1][1].append(line)
            continue
        command = [line[2:]]
        while command[-1].endswith("\\") or "\n".join(command).count("'") % 2:
            command.append(next(lines))
        found.append(("\n".join(command), []))
    return found


class Shell:
    """A shell that runs the commands of the page, and the service that was started last."""

    def __init__(self, folder: Path, database: str = DATABASE) -> None:
        script = folder / "bin" / "clickrank"
        script.parent.mkdir()
        script.write_text(f"#!{sys.executable}\n{SCRIPT}")
        script.chmod(0o755)
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._database = database
        self._folder = folder
        self._path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
        self._service: subprocess.Popen[str] | None = None
        self._bash = self._start(["bash"], stdin=subprocess.PIPE, stderr=subprocess.STDOUT)

    def _start(self, command: list[str], **pipes: Any) -> subprocess.Popen[str]:
        environment = {**os.environ, "PATH": self._path}
        return subprocess.Popen(
            command, cwd=self._folder, env=environment, stdout=subprocess.PIPE, text=True, **pipes
        )

    def here(self, text: str) -> str:
        """Return a text of the page with the addresses of this machine."""
        return text.replace(ADDRESS, self.address).replace(DATABASE, self._database)

    def run(self, command: str, said: list[str]) -> None:
        if command.startswith("clickrank serve"):
            self.stop()
            # Tests listen on loopback only, but require keys as another address would.
            words = self.here(command).replace("--host 0.0.0.0", "--require-keys").split()
            self._service = self._start([*words, "--port", str(self.port)])
            assert self._service.stdout is not None
            printed = [self._service.stdout.readline() for _ in said]
        elif command.startswith("clickrank "):
            printed = [self._run_here(command)]
        else:
            assert self._bash.stdin is not None
            assert self._bash.stdout is not None
            self._bash.stdin.write(f"{self.here(command)}\ncode=$?\necho\necho '{END}' $code\n")
            self._bash.stdin.flush()
            printed = []
            while not printed or not printed[-1].startswith(END):
                printed.append(self._bash.stdout.readline())
                assert printed[-1], "the shell has ended"
            assert printed.pop() == f"{END} 0\n", (command, printed)
        text = "".join(printed).strip()
        wanted = re.escape(self.here("\n".join(said)).strip()).replace("…", ".*")
        assert re.fullmatch(wanted, text), f"{command}\nprinted\n{text}"

    def _run_here(self, command: str) -> str:
        """Run a command in this process, since a new process would take a second to start."""
        words, _, file = self.here(command).partition(" > ")
        with contextlib.chdir(self._folder):
            done = CliRunner().invoke(app, shlex.split(words)[1:])
            assert done.exit_code == 0, done.output
            if file:
                Path(file).write_text(done.stdout)
        return done.stderr if file else done.output

    def stop(self) -> None:
        """Stop the service as the page describes."""
        if self._service is not None:
            self._service.send_signal(signal.SIGTERM)
            assert self._service.wait(timeout=30) == 0
            assert self._service.stdout is not None
            self._service.stdout.close()
            self._service = None

    def close(self) -> None:
        for process in (self._bash, self._service):
            if process is not None:
                process.kill()
                process.communicate()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    if shutil.which("curl") is None:
        pytest.skip("the page's commands need curl")
    opened = Shell(tmp_path)
    yield opened
    opened.close()


def test_the_page_does_what_it_says(shell: Shell) -> None:
    names: dict[str, Any] = {}
    assert len(sections) > 10
    text = "".join(body for title, body in sections.items() if title != SEVERAL)
    for language, block in blocks(text):
        if language == "python":
            exec(shell.here(block), names)
            if "app" in names:
                visit(names.pop("app"), names["service"])
            continue
        for command, said in commands(block):
            shell.run(command, said)
    assert names["code"] == "late"
    assert names["report"].impressions == 1
    shell.stop()


def visit(shop_app: Any, service: Any) -> None:
    shop = shop_app.test_client()
    for _ in range(2):
        link = re.search(r"href='(/go/\S+)'", shop.get("/novels").text)
        assert link is not None
        assert shop.get(link[1]).status_code == 302
    assert shop.get("/go/made-up-id/a").status_code == 302
    logged = service.impressions("books", context="novels").impressions
    assert [one.clicked for one in logged] == [one.items[:1] for one in logged]
    service.close()


@pytest.mark.postgres
def test_several_workers(tmp_path: Path) -> None:
    shell = Shell(tmp_path, postgres_url())
    try:
        for _, block in blocks(sections[SEVERAL]):
            for command, said in commands(block):
                shell.run(command, said)
        shell.stop()
    finally:
        shell.close()


def column(title: str, place: int = 0) -> list[str]:
    rows = re.findall(r"^\| (.*) \|$", sections[title], re.MULTILINE)[1:]  # after the head
    return [row.split(" | ")[place] for row in rows]


def test_every_code_is_explained() -> None:
    source = "".join(p.read_text() for p in (ROOT / "src" / "clickrank" / "service").rglob("*.py"))
    pattern = r'(?:Refused|Rejected|problem|_refuse)\(\s*(?:\d+, )?"([a-z_]+)"'
    codes = {*re.findall(pattern, source), "unknown_name", "invalid_value"}
    listed = [code for cell in column("Errors") for code in re.findall(r"`(\w+)`", cell)]
    assert sorted(listed) == sorted(codes)


def test_every_metric_is_explained() -> None:
    text = Metrics().text().decode()
    names = set(re.findall(r"^# TYPE (\w+) \w+$", text, re.MULTILINE))
    names = {name for name in names if not name.endswith("_created")}
    assert {cell.strip("`") for cell in column("Monitoring")} == names


def test_limits_are_those_of_the_code() -> None:
    known = dict(zip(column("Limits"), column("Limits", 1), strict=True))
    numbers = {name: [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", text)]
               for name, text in known.items()}  # fmt: skip
    assert list(numbers.values()) == [
        [fields.MOST_ITEMS],
        [fields.MOST_POSITIONS],
        [memory.MOST_CONTEXTS],
        [fields.MOST_BATCH],
        [fields.LONGEST_WINDOW, 7],
        [fields.LONGEST_NAME],
        [fields.LONGEST_ITEM],
        [fields.LONGEST_CONTEXT],
        [8, 64],
        [limits.BODY_LIMIT, limits.LARGE_BODY_LIMIT],
        [definitions.MOST_BYTES],
        [engine.MEMORY],
    ]
    assert "{8,64}" in fields.IMPRESSION_PATTERN
    assert f"{writer.MOST_WAITING:,} requests wait" in PAGE
    assert limits.BODY_SECONDS == 30.0


def test_every_command_is_there() -> None:
    mentioned = set(re.findall(r"(?:`|\$ )clickrank ([a-z]+)", PAGE))
    assert mentioned >= {"serve", "keys", "verify", "compact", "export", "loadtest"}
    assert mentioned <= set(typer.main.get_command(app).list_commands(None))  # type: ignore[attr-defined]


def test_every_path_is_in_the_description() -> None:
    from clickrank.service.api.routes import ROUTES

    patterns = [re.sub(r"\{\w+\}", "[^/]+", route.path) + "$" for route in ROUTES]
    for path in set(re.findall(r"[ `](/[a-z][\w/.]*)[` ?]", PAGE)):
        assert any(re.match(pattern, path) for pattern in patterns), path
