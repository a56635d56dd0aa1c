"""The load test counts correctly, and the command finds it in a checkout."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from benchmarks.load import LoadReport, Speed
from clickrank.cli.app import app


def speed(per_second: float, p99: float = 0.01, errors: int = 0) -> Speed:
    return Speed(100, errors, per_second, 0.001, 0.002, p99, 0.1)


def report(**changes: object) -> LoadReport:
    rounds = {"health": [speed(6_000)], "empty": [speed(5_000)]}
    rounds |= {"rank": [speed(2_000)], "mixed": [speed(1_500)]}
    made = LoadReport(16, rounds, 100, 0, [])
    return msgspec.structs.replace(made, **changes)


def test_what_is_fast_and_correct() -> None:
    assert report().fast
    assert report().correct
    assert not report(missing=1).correct
    assert not report(problems=["one"]).correct
    failed = {**report().rounds, "mixed": [speed(1_500, errors=1)]}
    assert not report(rounds=failed).correct
    for rank in (speed(1_999), speed(2_000, p99=0.015)):
        assert not report(rounds={**report().rounds, "rank": [rank]}).fast
    assert not report(rounds={**report().rounds, "empty": [speed(5_001)]}).fast


@pytest.mark.parametrize("options", [[], ["--many", "1"]])
def test_an_installed_package_says_where_the_load_test_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setattr("clickrank.cli.service_commands.CHECKOUT", tmp_path)
    result = CliRunner().invoke(app, ["loadtest", *options])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "in a checkout of clickrank" in result.stderr


def test_a_short_one(tmp_path: Path) -> None:
    out = tmp_path / "numbers.json"
    arguments = ["loadtest", "--seconds", "0.3", "--rounds", "1", "--connections", "4"]
    arguments += ["--policy", "uniform", "--folder", str(tmp_path), "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = msgspec.json.decode(out.read_bytes(), type=LoadReport)
    assert found.correct
    assert found.acknowledged > 0
    assert min(speeds[0].requests for speeds in found.rounds.values()) > 4
