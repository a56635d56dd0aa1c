"""Impressions are in the order in which they were shown; what is left out is reported."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from clickrank.cli.advice_commands import diagnose, read_counts, whatif
from clickrank.cli.app import app
from clickrank.cli.evaluate_command import evaluate
from clickrank.cli.log_commands import LogOptions, read
from clickrank.errors import InvalidValue
from clickrank.logs import Impressions, Log, impressions_from_rows, open_log
from clickrank.logs.log_report import Malformed
from tests.logs.test_logs import LISTS, rows_of, write


def long_log(path: Path, n: int = 20_000) -> Path:
    """Write lists in many row groups; the propensity of a list is its number in the file."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "impression_id": rng.permutation(n).astype(str),
            "query": np.where(rng.random(n) < 0.9, "a", "b"),
            "position": np.ones(n, dtype=np.int64),
            "item": np.where(rng.random(n) < 0.5, "x", "y"),
            "click": np.zeros(n, dtype=np.int64),
            "propensity": np.arange(1, n + 1) / n,
        }
    )
    pq.write_table(table, path, row_group_size=4096)
    return path


def in_order(found: Impressions, expected: int = 17_000) -> bool:
    assert found.propensity is not None
    assert len(found) > expected
    return bool((np.diff(found.propensity[:, 0]) > 0).all())


def test_filters_keep_the_order_of_the_file(tmp_path: Path) -> None:
    path = long_log(tmp_path / "log.parquet")
    with open_log(path, threads=4) as log:
        every: dict[str, Any] = {"min_displays": 2, "min_items": 2, "top_queries": 1}
        for filters in ({"top_queries": 1}, {"min_items": 2}, every):
            assert in_order(log.impressions("a", **filters)), filters
        ((_, found),) = log.impressions_by_query(**every)
        assert in_order(found)
        log.save(tmp_path / "kept.parquet", min_items=2)
        assert log.table(min_items=2).columns == tuple(pq.read_schema(path).names)
    with open_log(tmp_path / "kept.parquet") as log:
        assert in_order(log.impressions("a"))


def test_several_files_follow_each_other(tmp_path: Path) -> None:
    rows = rows_of([("q", ("a", "b"), (k, 0)) for k in (0, 1, 1, 0)])
    # The second time with a column of the name that DuckDB itself gives to the number of a row.
    named = [{**row, "file_row_number": -int(row["impression_id"][1:])} for row in rows]
    for some in (rows, named):
        second = write(tmp_path / "1.parquet", some[4:])
        first = write(tmp_path / "2.parquet", some[:4])
        with open_log([first, second]) as log:
            assert log.impressions(top_queries=1).clicks[:, 0].tolist() == [0, 1, 1, 0]


def test_names_are_no_patterns(tmp_path: Path) -> None:
    rows = rows_of(LISTS)
    for other in ("log1", "log12", "a", "b"):
        write(tmp_path / f"{other}.parquet", rows[:1])
    folder = tmp_path / "[x]"
    folder.mkdir()
    paths = [tmp_path / "log[1].parquet", tmp_path / "log*.parquet", folder / "it's{a,b}?.parquet"]
    for path in paths:
        with open_log(write(path, rows)) as log:
            assert log.report.rows == len(rows), path
    text = tmp_path / "log.csv"
    text.write_text("impression_id,query,position,item,click\n1,q,1,a,0\n")
    with open_log(text, folder=folder) as log:  # where the copy goes
        assert log.report.rows == 1


def test_lists_left_out_are_told(tmp_path: Path) -> None:
    rows = rows_of([*LISTS, ("shoes", ("a", "b"), (0, 0)), ("shoes", ("c", "c"), (0, 0))])
    rows += [{**rows[0], "impression_id": f"gap{i}", "position": 9} for i in range(5)]
    rows.append({**rows[0], "impression_id": "i4"})  # a second item at position 1
    rows.append({**rows[0], "query": "gone", "impression_id": "i9", "position": 2})
    path = write(tmp_path / "log.parquet", rows)
    expected = {"repeated position": 1, "gap": 5, "repeated item": 1}

    def told(log: Log) -> dict[str, int]:
        return {kind: problem.count for kind, problem in log.report.problems.items()}

    with open_log(path) as log:
        for _ in range(2):  # once, however often it is asked for
            assert log.impressions("shoes").rankings.tolist() == [[0, 1, 2], [0, 1, 2], [1, 0, -1]]
            assert told(log) == expected
        examples = {kind: problem.examples[0].text for kind, problem in log.report.problems.items()}
        assert examples["gap"] == "query shoes: –, –, –, –, –, –, –, –, a"
        assert examples["repeated position"] == "query shoes: a, b"
        assert log.report.problems["gap"].times == "5 lists"
        assert log.report.problems["repeated item"].times == "1 list"
        assert [len(one) for _, one in log.impressions_by_query()] == [0, 1, 3]
        assert told(log) == {**expected, "gap": 6}
        log.counts()
        assert told(log) == {**expected, "gap": 6}
    for ask in (lambda log: log.impressions("shoes"), lambda log: [*log.impressions_by_query()]):
        with (
            open_log(path, strict=True) as log,
            pytest.raises(Malformed, match=r"query .*: a list"),
        ):
            ask(log)


def test_lists_of_several_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["", "Z", "z", "ü", "a'b", "10", "9", "q"]
    rng = np.random.default_rng(1)
    shown: list[Any] = [
        (names[int(query)], ("a", "b"), (int(click), 0))
        for query, click in zip(rng.integers(8, size=60), rng.integers(2, size=60), strict=True)
    ]
    shown += [("q", ("b", "a", "c"), (0, 0, 1))] * 30
    monkeypatch.setattr(impressions_from_rows, "ROWS", 40)  # several parts; "q" is larger than one
    with open_log(write(tmp_path / "log.parquet", rows_of(shown))) as log:
        found = dict(log.impressions_by_query())
        assert list(found) == sorted(names) == log.queries().tolist()
        for name, mine in found.items():
            alone = log.impressions(name)
            for part in ("items", "rankings", "clicks"):
                assert np.array_equal(getattr(mine, part), getattr(alone, part)), (name, part)
        assert [name for name, _ in log.impressions_by_query(["z", "9", "z"])] == ["9", "z"]
        assert [name for name, _ in log.impressions_by_query(top_queries=1)] == ["q"]
        with pytest.raises(InvalidValue, match=r"queries must be in the log, got \['gloves'\]"):
            log.impressions_by_query(["q", "gloves"])


def test_addresses_are_left_to_the_engine(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", rows_of(LISTS))
    with open_log(f"file://{path}") as log:
        assert log.report.rows == 9
    with pytest.raises(InvalidValue, match=r"URLs must be of Parquet files; .* got 's3://log'"):
        open_log("s3://log", "csv")


def test_diagnose_reports_problems_of_the_selected_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of([("often", ("a", "b"), (0, 1))] * 5 + [("rare", ("a", "b"), (0, 1))])
    for query, reported in (("often", True), ("rare", False)):
        gap = {**rows[0], "impression_id": "gap", "query": query, "position": 2}
        path = write(tmp_path / f"{query}.parquet", [*rows, gap])
        counts = read_counts(LogOptions(log=[str(path)], top_queries=1))
        assert counts.queries.tolist() == ["often"]
        assert ("'clickrank read' shows them" in capsys.readouterr().err) == reported


def test_evaluate_says_what_it_leaves_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    shown = [
        (f"q{q:02}", ("a", "b") if rng.random() < 0.5 else ("b", "a"), (int(rng.random() < 0.5), 0))
        for q in range(12)
        for _ in range(40 + q)
    ]
    gap = {**rows_of(shown)[0], "impression_id": "gap", "query": "q11", "position": 2}
    path = str(write(tmp_path / "log.parquet", [*rows_of(shown), gap]))

    def run(*options: str) -> tuple[str, str]:
        given = ["evaluate", path, "--ranking", "a,b", "--estimator", "list-ips", *options]
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, done.output
        return done.stdout.splitlines()[0], done.stderr

    out, err = run()
    assert "10 queries: clicks per list over 465 impressions" in out
    assert err == (
        "clickrank: evaluating the 10 most frequent of 12 queries; use --top-queries or --query to "
        "choose others.\n"
        "clickrank: rows left out or corrected: gap (1 list); see examples with clickrank read.\n"
    )
    assert "12 queries" in run("--top-queries", "20", "--min-items", "2")[0]
    out, err = run("--query", "q00", "--query", "q01")
    assert "2 queries: clicks per list over 81 impressions" in out
    assert err == ""


def test_commands_have_the_same_filters() -> None:
    shared = {"min_displays", "min_items", "top_queries", "positions"}
    for command in (read, evaluate, diagnose, whatif):
        assert shared <= set(inspect.signature(command).parameters), command.__name__
