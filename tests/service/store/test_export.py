"""The exported log is the log, whatever its size, and never all of it in memory."""

import io
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickrank.service.store.export import SCHEMA, ExportedImpression, parquet

LOG = [
    ExportedImpression("first-id", "", 1_700_000_000_000_001, 1, ["a", "b", "ü"], [1], True, False),
    ExportedImpression(
        "second-id", "red shoes", 1_700_000_001_000_000, 1, ["b", "a"], [], False, True
    ),
    ExportedImpression(
        "third-id", "", 1_700_000_002_000_000, 2, ["c", "a"], {0, 1}, True, True, ["a", "d"]
    ),
    ExportedImpression(
        "fourth-id", "", 1_700_000_003_000_000, 2, ["c", "a"], (0,), True, False, ["a"]
    ),
    ExportedImpression(
        "fifth-id", "", 4, 2, ["c", "a"], (), True, True, None, [0.5, 0.25], [0.5, 0.125]
    ),
]


def expected() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for shown in LOG:
        own = shown.would_show or []
        for k, item in enumerate(shown.items):
            rows.append(
                {
                    "impression_id": shown.id,
                    "query": shown.context,
                    "position": k + 1,
                    "item": item,
                    "click": int(k in shown.clicked),
                    "propensity": shown.propensity and shown.propensity[k],
                    "prefix_propensity": shown.prefix_propensity and shown.prefix_propensity[k],
                    "timestamp": datetime(1970, 1, 1, tzinfo=UTC)
                    + timedelta(microseconds=shown.shown_at),
                    "ranker": "shop",
                    "version": shown.version,
                    "settled": shown.settled,
                    "exploring": shown.exploring,
                    "would_show": own[k] if k < len(own) else None,
                }
            )
    return rows


@pytest.mark.parametrize("group", [1, 2, 3, 100])
def test_every_position_of_every_impression_comes_back(group: int) -> None:
    pieces = list(parquet("shop", LOG, group))
    table = pq.read_table(io.BytesIO(b"".join(pieces)))
    assert table.to_pylist() == expected()
    assert len(pieces) == -(-len(LOG) // group) + 1  # a piece each row group, and the footer


def test_the_file_says_what_its_columns_mean() -> None:
    read = pq.read_schema(io.BytesIO(b"".join(parquet("shop", LOG))))
    assert read.equals(SCHEMA, check_metadata=True)
    assert read.names[:5] == ["impression_id", "query", "position", "item", "click"]
    for field in read:
        assert field.metadata is not None
        assert field.metadata[b"description"].endswith(b".")


def test_an_empty_log_is_a_file_without_rows() -> None:
    table = pq.read_table(io.BytesIO(b"".join(parquet("shop", []))))
    assert table.num_rows == 0
    assert table.schema.equals(SCHEMA)


def test_a_log_that_breaks_off_is_no_file() -> None:
    def broken() -> Iterator[ExportedImpression]:
        yield from LOG
        raise OSError("the database is gone")

    pieces: list[bytes] = []
    with pytest.raises(OSError, match="gone"):
        pieces.extend(parquet("shop", broken(), group=2))
    assert len(pieces) == 2
    with pytest.raises(pa.ArrowInvalid):
        pq.read_table(io.BytesIO(b"".join(pieces)))


def test_stopping_early_closes_the_log() -> None:
    closed = []

    def log() -> Iterator[ExportedImpression]:
        try:
            while True:
                yield from LOG
        finally:
            closed.append(True)

    source = log()
    pieces = parquet("shop", source, group=4)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]  # a generator
    source.close()  # type: ignore[attr-defined]
    assert closed == [True]


def many(n: int) -> Iterator[ExportedImpression]:
    items = [f"item {i}" for i in range(50)]
    for i in range(n):
        shown = [items[(i * 7 + k * 11) % 50] for k in range(5)]
        clicked = [i % 5] if i % 3 else []
        yield ExportedImpression(
            f"{i:032x}", f"query {i % 20}", i * 1000, 1, shown, clicked, True, i % 9 == 0
        )


def test_memory_is_that_of_a_row_group_and_time_is_linear() -> None:
    # Measured for 100,000 impressions, 500,000 rows: 0.7 s, 1.5 MB of file, and at any number
    # 10 MB of Python's memory and 7 MB of Arrow's.
    peaks, arrow, size = [], [], 0
    for n in (4_000, 20_000):
        tracemalloc.start()
        base, most = pa.total_allocated_bytes(), 0
        for piece in parquet("shop", many(n), group=2_000):
            size = max(size, len(piece))
            most = max(most, pa.total_allocated_bytes() - base)
        peaks.append(tracemalloc.get_traced_memory()[1])
        arrow.append(most)
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert arrow[1] < 1.2 * max(arrow[0], 1_000_000)
    assert max(peaks) < 5_000_000
    assert size < 100_000
