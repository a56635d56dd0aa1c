"""docs/delayed-feedback.md has a row for every policy, and the script that writes it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import delay
from clickrank.policies import POLICIES
from tests.paths import DOCS

PAGE = DOCS / "delayed-feedback.md"


def test_every_policy_has_a_row() -> None:
    own = {n for n, cls in POLICIES.items() if cls.__module__.startswith("clickrank.")}
    rows = delay.rows_of(PAGE.read_text())
    assert set(rows) == own - {"oracle", "uniform", "greedy", "ensemble"} == set(delay.names())
    cell = re.compile(r"[\d,]+ ± [\d,]+|–")
    for line in rows.values():
        cells = line.strip("| ").split(" | ")[2:]
        assert len(cells) == len(delay.COLUMNS), line
        assert all(cell.fullmatch(text) for text in cells), line
    # On the page of the others unless a policy assumes multinomial logit clicks alone.
    assert "†" in rows["mnl-bandit"]
    assert "†" not in rows["toprank"]


def test_script_replaces_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{delay.BEGIN}\nold\n{delay.END}\nafter\n")
    tiny = ["--rounds", "1000", "--runs", "2", "--threads", "1", "--write", str(page)]
    delay.main([*tiny, "--policies", "pbm-ucb,batchrank"])
    first = delay.rows_of(page.read_text())
    assert set(first) == {"pbm-ucb", "batchrank"}
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")
    assert "old" not in page.read_text()
    assert "1,000 rounds, mean of 2 runs" in page.read_text()

    page.write_text(page.read_text().replace(first["pbm-ucb"], "| `pbm-ucb` | kept |"))
    delay.main([*tiny, "--policies", "bubblerank"])
    second = delay.rows_of(page.read_text())
    assert second["pbm-ucb"] == "| `pbm-ucb` | kept |"
    assert second["batchrank"] == first["batchrank"]
    assert page.read_text().count(delay.BEGIN) == 1

    delay.main(["--rounds", "1000", "--runs", "2", "--threads", "1", "--policies", "pbm-ucb"])
    assert first["pbm-ucb"] in capsys.readouterr().out  # the same seed, the same numbers
