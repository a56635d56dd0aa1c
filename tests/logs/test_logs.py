"""Counts of logs equal counts by hand, for any order of rows and any texts."""

from __future__ import annotations

import collections
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickrank.errors import InvalidValue, UnknownName
from clickrank.logs import Counts, Impressions, aggregate, open_log
from clickrank.logs.log_report import Malformed

#: A list: its query, its items, its clicks.
Lists = Sequence[tuple[str, Sequence[str], Sequence[int]]]


def rows_of(lists: Lists) -> list[dict[str, Any]]:
    return [
        {"impression_id": f"i{n}", "query": query, "position": k, "item": item, "click": click}
        for n, (query, items, clicks) in enumerate(lists)
        for k, (item, click) in enumerate(zip(items, clicks, strict=True), 1)
    ]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def spelled(counts: Counts) -> tuple[dict[Any, Any], dict[Any, int]]:
    """Return cells and lists with the names of queries and items."""
    query = [str(counts.queries[i]) for i in counts.pair_query]
    item = [str(name) for name in counts.pair_item]
    c = counts.cells
    cells = {
        (query[p], item[p], int(k) + 1): (int(n), int(clicks))
        for p, k, n, clicks in zip(c.pair, c.position, c.shown, c.clicked, strict=True)
    }
    lists = {}
    if counts.sessions is not None:
        s = counts.sessions
        for pairs, clicks, times in zip(s.items, s.clicks, s.times, strict=True):
            there = [int(p) for p in pairs if p >= 0]
            key = (query[there[0]], tuple(item[p] for p in there), tuple(clicks[: len(there)]))
            assert key not in lists
            lists[key] = int(times)
    return cells, lists


def by_hand(lists: Lists) -> tuple[dict[Any, Any], dict[Any, int]]:
    cells: dict[Any, Any] = collections.defaultdict(lambda: (0, 0))
    for query, items, clicks in lists:
        for k, (item, click) in enumerate(zip(items, clicks, strict=True), 1):
            n, m = cells[query, item, k]
            cells[query, item, k] = n + 1, m + click
    return dict(cells), dict(collections.Counter((q, tuple(i), tuple(c)) for q, i, c in lists))


def drawn_lists(n: int = 80) -> Lists:
    """Draw lists whose queries and items have texts that are hard to quote, fold or sort."""
    rng = np.random.default_rng(3)
    letters = [*"aZz19'\"\\%_;- \t\n\0éü€", "\U0001f600", "\uffff", "e\u0301"]
    sizes = rng.integers(1, 4, size=60).tolist()
    drawn = (rng.integers(len(letters), size=size).tolist() for size in sizes)
    items = sorted({"".join(letters[i] for i in some) for some in drawn})
    found = []
    for _ in range(n):
        query = ["", "q", "Q", "q'", "\\", "ü"][int(rng.integers(6))]
        size = int(rng.integers(1, 5))
        shown = [items[int(i)] for i in rng.choice(len(items), size=size, replace=False)]
        found.append((query, shown, rng.integers(0, 2, size).tolist()))
    return found


def test_memory_must_be_a_size(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", rows_of([("q", ["a", "b"], [0, 1])]))
    message = "open_log: memory must be a size such as 500MB or 4GB, got 'lots'."
    with pytest.raises(InvalidValue, match=message):
        open_log(path, memory="lots")


def test_counts_are_those_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = [*drawn_lists(), *drawn_lists(30)]  # some of them twice
    rows = rows_of(lists)
    np.random.default_rng(4).shuffle(rows)
    monkeypatch.setattr(aggregate, "ROWS", 100)  # several ranges of queries
    with open_log(write(tmp_path / "log.parquet", rows)) as log:
        counts = log.counts()
        assert spelled(counts) == by_hand(lists)
        assert log.report.lists == counts.n_impressions == len(lists)
        assert not log.report.problems
        fast = log.counts(with_lists=False)
        assert fast.sessions is None
        assert spelled(fast)[0] == spelled(counts)[0]
    pairs = [
        (str(counts.queries[q]).encode(), str(i).encode())
        for q, i in zip(counts.pair_query, counts.pair_item, strict=True)
    ]
    assert pairs == sorted(pairs)  # in binary order, on every engine


LISTS = (
    ("shoes", ("a", "b", "c"), (1, 0, 0)),
    ("shoes", ("a", "b", "c"), (1, 0, 0)),
    ("shoes", ("b", "a"), (0, 1)),
    ("hats", ("x",), (0,)),
)


def test_lists_in_the_order_shown(tmp_path: Path) -> None:
    rows = rows_of(LISTS)
    for i, row in enumerate(rows):
        row["propensity"] = None if i == 1 else 0.5
        row["user"] = None
        row["timestamp"] = {"i0": 30, "i1": 10, "i2": 20, "i3": 0}[row["impression_id"]]
    with open_log(write(tmp_path / "log.parquet", rows)) as log:
        found = log.impressions("shoes")
        assert found.items.tolist() == ["a", "b", "c"]
        assert found.rankings.tolist() == [[0, 1, 2], [1, 0, -1], [0, 1, 2]]
        assert found.clicks.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
        assert found.timestamp is not None
        assert found.timestamp.tolist() == [10_000_000, 20_000_000, 30_000_000]
        assert found.propensity is not None
        assert np.isnan(found.propensity).tolist() == [
            [False] * 3, [False, False, True], [False, True, False],
        ]  # fmt: skip
        assert found.prefix_propensity is None
        assert found.counts().n_impressions == len(found) == found.n_items == 3
        assert log.queries().tolist() == ["hats", "shoes"]
        with pytest.raises(InvalidValue, match=r"query must be given, .* the log has 2"):
            log.impressions()
        with pytest.raises(InvalidValue, match="query must be one of the queries of the log"):
            log.impressions("gloves")
    with pytest.raises(InvalidValue, match="the log must be open"):
        log.counts()
    no_times = [{k: v for k, v in row.items() if k != "timestamp"} for row in rows]
    with open_log(write(tmp_path / "plain.parquet", no_times)) as log:
        assert log.impressions("shoes").rankings.tolist() == [[0, 1, 2], [0, 1, 2], [1, 0, -1]]
        assert log.impressions("hats").timestamp is None


def test_lists_that_are_not_whole(tmp_path: Path) -> None:
    rows = rows_of([*LISTS, ("shoes", ("a", "b"), (0, 0)), ("shoes", ("c", "c"), (0, 0))])
    rows.append({**rows[0], "impression_id": "gap", "position": 2})
    rows.append({**rows[0], "impression_id": "i4"})  # a second item at position 1
    path = write(tmp_path / "log.parquet", rows)
    with open_log(path) as log:
        assert spelled(log.counts()) == by_hand(LISTS)
        problems = log.report.problems
        assert {kind: p.count for kind, p in problems.items()} == {
            "repeated position": 1, "gap": 1, "repeated item": 1,
        }  # fmt: skip
        assert problems["gap"].examples[0].text == "query shoes: –, a"
        assert log.impressions("shoes").rankings.tolist() == [[0, 1, 2], [0, 1, 2], [1, 0, -1]]
    with open_log(path, strict=True) as log, pytest.raises(Malformed, match="has a position twice"):
        log.counts()
    only = write(tmp_path / "only.parquet", rows[-2:-1])
    with open_log(only) as log, pytest.raises(InvalidValue, match="a list without gaps"):
        log.counts()


def test_values_out_of_range(tmp_path: Path) -> None:
    good = {"impression_id": "1", "query": "q", "position": 1, "item": "a", "click": 0}
    odd: list[dict[str, Any]] = [
        {"item": None}, {"item": ""}, {"query": None}, {"position": None}, {"position": -1},
        {"position": 5000}, {"click": -1}, {"click": None}, {"click": 3, "propensity": 1.5},
    ]  # fmt: skip
    rows = [good, *({**good, "impression_id": f"{i}", **o} for i, o in enumerate(odd, 2))]
    rows = [{"propensity": 0.5, **row} for row in rows]
    path = write(tmp_path / "log.parquet", rows)
    with open_log(path) as log:
        assert {kind: p.count for kind, p in log.report.problems.items()} == {
            "number": 2, "id": 3, "position": 2, "click": 1, "several clicks": 1, "propensity": 1,
        }  # fmt: skip
        assert spelled(log.counts())[0] == {("q", "a", 1): (2, 1)}
        propensity = log.impressions().propensity
        assert propensity is not None
        assert np.isnan(propensity[:, 0]).tolist() == [False, True]
    with pytest.raises(Malformed, match=r"log\.parquet: impression_id 5, .*: a number is missing"):
        open_log(path, strict=True)


def test_ids_of_every_type(tmp_path: Path) -> None:
    table = pa.table(
        {
            "impression_id": pa.array([1, 1, 2, 3], pa.int64()),
            "query": pa.array([7.0, 7.0, None, 2.0**60], pa.float64()),
            "position": pa.array([0.0, 1.0, 0.0, 0.0], pa.float32()),
            "item": pa.array([2**64 - 1, 5, 5, 5], pa.uint64()),
            "click": pa.array([True, False, False, False]),
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    with open_log(tmp_path / "log.parquet") as log:
        assert spelled(log.counts())[1] == {("7", ("18446744073709551615", "5"), (1, 0)): 1}
        assert log.report.problems["id"].count == 2  # none, and a number that floats cannot tell
        assert log.report.first_position == 0


def counted(path: Path, cells: dict[tuple[str, str, int], tuple[int, int]]) -> Path:
    rows = [
        {"query": q, "item": i, "position": k, "shown": n, "clicked": m}
        for (q, i, k), (n, m) in cells.items()
    ]
    return write(path, rows)


def test_filters_of_counted_logs(tmp_path: Path) -> None:
    cells = {
        ("a", "x", 1): (1000, 10), ("a", "x", 2): (1000, 5), ("a", "y", 1): (1200, 3),
        ("a", "y", 2): (2000, 0), ("a", "z", 1): (9000, 1), ("a", "z", 2): (999, 1),
        ("b", "x", 1): (5000, 9), ("b", "x", 2): (5000, 9), ("c", "w", 1): (30, 30),
        ("c", "w", 3): (1, 1),
    }  # fmt: skip
    with open_log(counted(tmp_path / "log.parquet", cells)) as log:
        assert log.kind == "counted"
        assert spelled(log.counts())[0] == cells
        two = {key: value for key, value in cells.items() if key[2] <= 2}
        assert spelled(log.counts(positions=2))[0] == two
        often = log.counts(positions=2, min_displays=1000)
        assert {key[:2] for key in spelled(often)[0]} == {("a", "x"), ("a", "y"), ("b", "x")}
        several = log.counts(positions=2, min_displays=1000, min_items=2)
        assert {key[:2] for key in spelled(several)[0]} == {("a", "x"), ("a", "y")}
        assert log.counts(top_queries=2).queries.tolist() == ["a", "b"]
        assert log.report_of(top_queries=1).displays == 15199
        with pytest.raises(InvalidValue, match="the filters must leave rows"):
            log.counts(min_displays=1)  # nothing was shown at all three positions
        with pytest.raises(InvalidValue, match="must have a row per display"):
            log.impressions("a")
        with pytest.raises(InvalidValue, match="top_queries must be a whole number"):
            log.counts(top_queries=0)


def test_filters_of_lists(tmp_path: Path) -> None:
    lists: Lists = [
        *[("q", ("a", "b"), (0, 1)), ("q", ("b", "a"), (0, 0)), ("q", ("a", "c"), (1, 0))] * 2,
        *[("often", ("a", "b"), (0, 0))] * 7,
        ("alone", ("x",), (1,)),
    ]
    with open_log(write(tmp_path / "log.parquet", rows_of(lists))) as log:
        assert spelled(log.counts(positions=1)) == by_hand([(q, i[:1], c[:1]) for q, i, c in lists])
        # Not those with "c", which was never first; all of "often" were shown in one order.
        kept = [(q, i, c) for q, i, c in lists if q == "q" and "c" not in i]
        assert spelled(log.counts(min_displays=2)) == by_hand(kept)
        assert log.counts(top_queries=2).queries.tolist() == ["often", "q"]
        assert len(log.impressions("q", min_displays=2)) == 4
        out = tmp_path / "out.parquet"
        log.save(out, min_displays=2)
    with open_log(out) as log:
        assert spelled(log.counts()) == by_hand(kept)


def test_split_by_impression() -> None:
    counts = Counts.of_lists([[0, 1]] * 600 + [[1, 0]] * 400, [[1, 0]] * 600 + [[0, 0]] * 400)
    train, test = counts.split(0.75, seed=3)
    assert train.n_impressions + test.n_impressions == 1000
    assert abs(train.n_impressions - 750) < 75  # more than five standard deviations
    assert np.array_equal(train.cells.shown + test.cells.shown, counts.cells.shown)
    assert np.array_equal(train.cells.clicked + test.cells.clicked, counts.cells.clicked)
    again = counts.split(0.75, seed=3)[0]
    assert again.sessions is not None
    assert train.sessions is not None
    assert np.array_equal(again.sessions.times, train.sessions.times)
    everything, nothing = counts.split(1.0)
    assert spelled(everything) == spelled(counts)
    assert nothing.n_impressions == nothing.cells.shown.size == 0
    with pytest.raises(InvalidValue, match="share must be a number between 0 and 1"):
        counts.split(1.5)


def test_split_of_counted_logs(tmp_path: Path) -> None:
    cells = {("q", "a", 1): (1000, 1000), ("q", "b", 1): (1000, 0), ("q", "b", 2): (1, 1)}
    with open_log(counted(tmp_path / "log.parquet", cells)) as log:
        counts = log.counts()
    train, test = counts.split(0.5, seed=1)
    both = [spelled(part)[0] for part in (train, test)]
    for key, (shown, clicked) in cells.items():
        parts = [part.get(key, (0, 0)) for part in both]
        assert sum(p[0] for p in parts) == shown
        assert sum(p[1] for p in parts) == clicked
    assert both[0]["q", "a", 1][0] == both[0]["q", "a", 1][1]  # clicks stay with their displays
    assert train.n_pairs == test.n_pairs == 2


def test_impressions_from_arrays() -> None:
    with pytest.raises(InvalidValue, match="rankings must be between -1 and 1"):
        Impressions.of_arrays([[0, 2]], [[0, 0]], names=["a", "b"])
    with pytest.raises(InvalidValue, match="0 where there is no item; see list 0, position 1"):
        Impressions.of_arrays([[0, -1]], [[0, 1]])
    with pytest.raises(InvalidValue, match=r"0 or 1, .*; see list 1, position 0, got 3"):
        Impressions.of_arrays([[0, 1], [0, 1]], [[0, 1], [3, 0]])
    with pytest.raises(InvalidValue, match=r"propensity must have the shape of rankings \(1, 2\)"):
        Impressions.of_arrays([[0, 1]], [[0, 1]], propensity=[0.5])
    found = Impressions.of_arrays([[0, 1]], [[0, 1]], propensity=[[0.5, 0.5]])
    assert found.n_positions == 2
    assert found.items.tolist() == ["0", "1"]


def test_export_of_the_service(tmp_path: Path) -> None:
    from clickrank.service.store.export import ExportedImpression, parquet

    shown = [
        ExportedImpression("i1", "q", 1_000_000, 1, ["a", "b"], {1}, True, False),
        ExportedImpression("i2", "q", 500_000, 1, ["b", "a"], (), True, True, ["a", "b"]),
        ExportedImpression("i3", "q", 2_000_000, 1, ["a", "b"], (), False, False),
    ]
    path = tmp_path / "export.parquet"
    path.write_bytes(b"".join(parquet("ranker", shown)))
    with open_log(path, strict=True) as log:
        assert log.report.format == "service"
        assert log.report.problems["not settled"].count == 2  # rows
        assert spelled(log.counts())[1] == {
            ("q", ("a", "b"), (0, 1)): 1,
            ("q", ("b", "a"), (0, 0)): 1,  # in shadow mode, what was shown counts
        }
        found = log.impressions()
        assert found.timestamp is not None
        assert found.timestamp.tolist() == [500_000, 1_000_000]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "jsonl"}, "Unknown log format 'jsonl'"),
        ({"columns": {"quary": "q"}}, "Unknown column 'quary'. Did you mean 'query'?"),
        ({"columns": {"query": "q"}}, "the column of query must be one that"),
        ({"engine": "polars"}, "Unknown engine 'polars'"),
        ({"first_position": 2}, "first_position must be 0 or 1, got 2"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", rows_of(LISTS))
    with pytest.raises((InvalidValue, UnknownName), match=message):
        open_log(path, **options)


def test_the_extra_is_named_where_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from clickrank.errors import MissingExtra\n"
        "try:\n"
        "    from clickrank.logs import open_log\n"
        "except MissingExtra as error:\n"
        "    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Logs need pyarrow: pip install ")


def test_columns_that_are_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", [{"query": "q", "item": "a", "position": 1}])
    with pytest.raises(
        InvalidValue, match=r"click must be among the columns of .*, pass columns=.'click': "
    ):
        open_log(path)
    words = [{"query": "q", "item": "a", "position": "first", "click": 1}]
    with pytest.raises(InvalidValue, match=r"column position \(position\) must hold numbers"):
        open_log(write(path, words))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_log(tmp_path / "none*.csv")


def test_progress_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("impression_id,query,position,item,click\n1,q,1,a,0\n")
    with open_log(path, progress=True) as log:
        log.counts()
    shown = capsys.readouterr()
    assert shown.out == ""
    for label in ("Reading", "Counting pairs", "Counting lists"):
        assert label in shown.err
