"""Every command answers as it did before; `tests/data/replay/make.py` records the answers."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.replay.compare import differences, load, worded_anew
from tests.replay.terminal import all_options, command_lines, run_all
from tests.replay.where import FOLDER

RECORDED = load(FOLDER / "commands.json")


def _id(number: int) -> str:
    """Return the name of a test; not of a policy, or it would run in a process of its own."""
    words = RECORDED[number]["line"].split()
    return f"{number:03d}-{words[0] if words else 'nothing'}"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the present answers of all command lines."""
    return run_all(tmp_path_factory.mktemp("replay"))


def test_all_were_recorded() -> None:
    assert [step["line"] for step in command_lines()] == [one["line"] for one in RECORDED]


@pytest.mark.parametrize("number", range(len(RECORDED)), ids=_id)
def test_it_answers_as_before(number: int, answers: list[dict[str, Any]]) -> None:
    want = RECORDED[number]
    found = differences(worded_anew(answers[number], want), want)
    assert not found, f"clickrank {want['line']}\n" + "\n".join(found)


def test_every_command_is_run() -> None:
    begun = {" ".join(["clickrank", *one["line"].split()[:n]]) for one in RECORDED for n in (1, 2)}
    assert not {name for name in all_options() if name != "clickrank"} - begun


def test_every_option_is_there() -> None:
    """There may be more commands and options, but none that must be given."""
    found, want = all_options(), load(FOLDER / "options.json")
    problems = differences(found, want, more=True)
    for command, options in want.items():
        new = {name: option for name, option in found[command].items() if name not in options}
        problems += [f"{command}: {n} must be given now" for n, o in new.items() if o["required"]]
    assert not problems, "\n".join(problems)


#: Options that no recorded command line gives: a load test takes long, and `serve` is below.
NOT_GIVEN = {
    "clickrank loadtest": {"--items", "--positions", "--folder", "--many", "--out", "--rounds"}
    | {"--policy", "--strict"},
    "clickrank serve": {"--host"},
}


def test_every_option_is_given() -> None:
    for command, options in all_options().items():
        lines = [f"clickrank {one['line']} " for one in RECORDED]
        text = "".join(line for line in lines if line.startswith(f"{command} "))
        given = {name for name in options if f"{name} " in text or not name.startswith("--")}
        assert {*options} - given <= NOT_GIVEN.get(command, set()), command


def test_serve_serves(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clickrank", "serve", "--port", "0"]
    command += ["--store", f"sqlite:///{tmp_path}/store.db", "--host", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            address = _address(process)
            found = httpx.get(f"{address}/healthz", trust_env=False, timeout=10.0)
            assert found.json() == {"ok": True, "reason": None}
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert b"Traceback" not in errors
    assert process.returncode == 130  # as that of every command that Ctrl-C ends


def _address(process: subprocess.Popen[bytes]) -> str:
    """Return the address that a service prints."""
    assert process.stdout is not None
    text, deadline = "", time.monotonic() + 60.0
    while time.monotonic() < deadline and process.poll() is None:
        if select.select([process.stdout], [], [], 0.5)[0]:
            text += os.read(process.stdout.fileno(), 1000).decode()
        if found := re.search(r"http://127[.]0[.]0[.]1:\d+(?=\s)", text):
            return found[0]
    raise AssertionError(f"it does not say where it serves: {text}")
