"""The code of docs/howto/diagnose.md and docs/howto/whatif.md runs, with the output they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clickrank.cli.app import app
from tests.paths import DOCS

HOWTO = DOCS / "howto"


def played(page: str) -> None:
    """Run a page's Python and commands in order; what it shows must be in the last output."""
    text = (HOWTO / page).read_text()
    output = ""
    names: dict[str, object] = {}
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if kind == "python":
            exec(block, names)
        elif kind == "console":
            for line in block.splitlines():
                assert line.startswith("$ clickrank ")
                done = CliRunner().invoke(app, shlex.split(line)[2:])
                assert done.exit_code == 0, done.output
                output = " ".join(done.stdout.split())
        else:
            for line in block.splitlines():
                assert " ".join(line.split()) in output


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Both pages use one folder: the second reads the log that the first writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("howto"))
        yield


def test_diagnose() -> None:
    played("diagnose.md")
    assert Path("diagnosis.html").stat().st_size > 10_000


def test_whatif() -> None:
    if not Path("log.csv").exists():
        played("diagnose.md")
    played("whatif.md")
    assert "<svg" in Path("whatif/index.html").read_text()
