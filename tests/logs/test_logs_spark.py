"""Spark and DuckDB return equal counts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickrank.logs import Counts, aggregate, open_log
from tests.logs.test_logs import rows_of, write
from tests.paths import DATA

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # PySpark on pandas 3
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of what PySpark calls
    pytest.mark.filterwarnings("ignore::pandas.errors.PandasChangeWarning"),  # the same for Ibis
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets that Py4J leaves open
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: install a JRE of version 17 or later")
    sql = pytest.importorskip("pyspark.sql", reason="needs pip install 'clickrank[spark]'")
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def assert_same(first: Counts, second: Counts) -> None:
    assert first.n_positions == second.n_positions
    for name in ("queries", "pair_query", "pair_item"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    for name in ("pair", "position", "shown", "clicked"):
        assert np.array_equal(getattr(first.cells, name), getattr(second.cells, name)), name
    assert (first.sessions is None) == (second.sessions is None)
    for name in ("items", "clicks", "times") if first.sessions is not None else ():
        mine, other = getattr(first.sessions, name), getattr(second.sessions, name)
        assert mine.dtype == other.dtype, name
        assert np.array_equal(mine, other), name


def lists() -> Any:
    rng = np.random.default_rng(1)
    queries = ["", "a'b", "a\\b", "Z", "z", "ü", "%s", "10", "9"]
    for _ in range(500):
        size = int(rng.integers(1, 5))
        items = [f"{2**64 - 1 - int(i)}" for i in rng.permutation(6)[:size]]
        yield (
            queries[int(rng.integers(9))],
            items,
            [bool(click) for click in rng.random(size) < 0.3],
        )


def damaged_rows() -> list[dict[str, Any]]:
    rows = rows_of(list(lists()))
    for i, row in enumerate(rows):
        row["propensity"] = None if i % 5 == 0 else (i % 7) / 5
        row["timestamp"] = 1_700_000_000 + (i * 37) % 1000
        row["click"] = int(row["click"])
    rows[3]["item"] = None
    rows[40]["position"] = None
    rows[50]["position"] = 2
    rows[51]["click"] = 4
    rows[52]["click"] = -1
    return rows


@pytest.mark.parametrize(
    "filters",
    [{}, {"positions": 2, "min_displays": 8, "min_items": 2, "top_queries": 5}],
    ids=["all", "filtered"],
)
def test_lists(
    filters: dict[str, Any], spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregate, "ROWS", 400)
    rows = damaged_rows()
    path = [write(tmp_path / "1.parquet", rows[:600]), write(tmp_path / "2.parquet", rows[600:])]
    counts, reports, shown = [], [], []
    for engine in ("duckdb", "pyspark"):
        with open_log(path, engine=engine) as log:
            counts.append(log.counts(**filters))
            reports.append(log.report_of(**filters).as_dict())
            shown.append(log.impressions("Z"))
    assert_same(*counts)
    assert counts[0].n_impressions > 50
    for report in reports:
        for problem in report["problems"].values():
            del problem["examples"]  # Spark does not say which rows come first
    assert reports[0] == reports[1]
    assert set(reports[0]["problems"]) >= {"id", "number", "click", "several clicks", "propensity"}
    for name in ("items", "rankings", "clicks", "propensity", "timestamp"):
        mine, other = (getattr(found, name) for found in shown)
        assert np.array_equal(mine, other, equal_nan=name == "propensity"), name


def test_order_of_files(spark: Any, tmp_path: Path) -> None:
    rows = rows_of([("q", ("a", "b"), (int(k % 3 == 0), 0)) for k in range(40)])
    paths = [write(tmp_path / "[1].parquet", rows[:60]), write(tmp_path / "1.parquet", rows[60:])]
    with open_log(paths, engine="pyspark") as log:
        assert log.report.rows == 80
        ((_, found),) = log.impressions_by_query(top_queries=1)
    assert found.clicks[:, 0].tolist() == [k % 3 == 0 for k in range(40)]


def test_counted(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    n = 400
    table = pa.table(
        {
            "q": rng.integers(0, 9, n),
            "item": pa.array(rng.integers(0, 20, n).astype(np.uint64) + np.uint64(2**64 - 30)),
            "pos": rng.integers(0, 3, n),
            "shown": rng.integers(1, 9, n),
            "clicked": rng.integers(0, 9, n),
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    found = []
    for engine in ("duckdb", "pyspark"):
        with open_log(tmp_path / "log.parquet", columns={"query": "q"}, engine=engine) as log:
            found += [log.counts(), log.counts(min_displays=4)]
            assert log.report.first_position == 0
    assert_same(found[0], found[2])
    assert_same(found[1], found[3])


def test_formats_of_text(spark: Any) -> None:
    data = DATA
    for file in sorted(data.glob("*.txt")):
        found = []
        for engine in ("duckdb", "pyspark"):
            with open_log(file, engine=engine) as log:
                found.append(log.counts())
        assert_same(*found)
