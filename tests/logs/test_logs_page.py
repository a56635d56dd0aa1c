"""The commands of docs/howto/logs.md print what the page shows, and its Python runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks import logs
from clickrank.cli.app import app
from clickrank.logs.filters import Filters
from clickrank.logs.readers import FORMATS
from clickrank.logs.schema import FIELDS
from tests.paths import DOCS

PAGE = (DOCS / "howto" / "logs.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_commands_and_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clicks.csv").write_text(blocks("text file=clicks.csv")[0])
    outputs = []
    for block in blocks("console"):
        for line in block.splitlines():
            assert line.startswith("$ clickrank ")
            done = CliRunner().invoke(app, shlex.split(line)[2:])
            assert done.exit_code == 0, done.output
            outputs.append(done.output)
    assert lines(outputs[0]) == lines(blocks("text")[0])
    assert outputs[1] == outputs[0]
    kept = json.loads(outputs[2])
    assert (kept["queries"], kept["lists"], kept["rows"], kept["clicks"]) == (1, 3, 6, 3)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, names)
    assert names["train"].n_impressions + names["test"].n_impressions == 4  # type: ignore[attr-defined]
    assert names["often"].queries.tolist() == ["shoes"]  # type: ignore[attr-defined]
    assert len(names["shoes"]) == 3  # type: ignore[arg-type]


def test_everything_has_its_line() -> None:
    for name in FORMATS:
        assert f"| `{name}` |" in PAGE, name
    for name in Filters.__dataclass_fields__:
        assert f"- `{name}`: " in PAGE, name
        assert f"--{name.replace('_', '-')}" in PAGE or name == "min_items", name
    for name in FIELDS:
        assert f"`{name}`" in PAGE, name


def test_benchmark_makes_logs_and_counts_them(tmp_path: Path) -> None:
    for name, sql in (("lists.parquet", logs.LISTS), ("kdd.txt", logs.KDD)):
        path = tmp_path / name
        logs.make(sql.format(n=50, path=path, distinct=True, clicks=900), str(tmp_path))
        costs = logs.measure(path, tmp_path, "500MB", 1)
        rows = 500 if name == "lists.parquet" else 50
        assert costs[2].step == f"number the pairs of {rows} rows"
        assert costs[-1].peak >= costs[0].peak > 0
