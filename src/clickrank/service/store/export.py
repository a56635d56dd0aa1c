"""Export: writes the log as a Parquet file, piece by piece, with one row per position."""

from __future__ import annotations

import io
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clickrank._core.arrays import Ints

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

#: Number of impressions per row group; no more of the log is in memory at a time.
GROUP = 10_000

_WORD = pa.dictionary(pa.int32(), pa.string())


def _column(name: str, kind: Any, meaning: str, nullable: bool = False) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=nullable, metadata={"description": meaning})


#: Columns and their meanings, which are stored in the file.
SCHEMA = pa.schema(
    [
        _column("impression_id", pa.string(), "The id of the list that was shown."),
        _column("query", _WORD, "The context; each context learns separately."),
        _column("position", pa.int32(), "The place in the list, from 1 on."),
        _column("item", _WORD, "The caller's id of the item shown there."),
        _column(
            "click", pa.int8(), "1 if the item was clicked, 0 if not, or not yet: see settled."
        ),
        _column(
            "propensity",
            pa.float64(),
            "The probability of this item at this position when the list was chosen; null if it "
            "was not requested, or if the page chose the list.",
            nullable=True,
        ),
        _column(
            "prefix_propensity",
            pa.float64(),
            "The probability that a list agrees with this one down to this position.",
            nullable=True,
        ),
        _column("timestamp", pa.timestamp("us", tz="UTC"), "When the list was shown."),
        _column("ranker", _WORD, "The name of the ranker."),
        _column(
            "version",
            pa.int32(),
            "The version of the ranker, which each change to it increases by one.",
        ),
        _column("settled", pa.bool_(), "Whether no more clicks can come."),
        _column(
            "exploring",
            pa.bool_(),
            "Whether the list differed from the best list by the estimates of that time.",
        ),
        _column(
            "would_show",
            _WORD,
            "In shadow mode, the item that the ranker would have shown there.",
            nullable=True,
        ),
    ],
    metadata={
        "description": "Impressions of a clickrank ranker, one row per position, in shown order "
        "within a query.",
        "clickrank.log": "1",
    },
)


class ExportedImpression(NamedTuple):
    """An impression to export."""

    id: str
    context: str
    shown_at: int  # microseconds since 1970
    version: int
    items: Sequence[str]
    clicked: Collection[int]  # positions, from 0 on
    settled: bool
    exploring: bool
    would_show: Sequence[str] | None = None
    propensity: Sequence[float] | None = None  # one per position
    prefix_propensity: Sequence[float] | None = None


class _Sink(io.RawIOBase):
    """A file to write to, whose content can be taken out piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        self._pieces.append(bytes(data))
        self._written += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def parquet(
    ranker: str, impressions: Iterable[ExportedImpression], group: int = GROUP
) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file with these impressions, one row group at a time.

    At most ``group`` impressions are in memory. A file that is cut short has no footer, and readers
    refuse it.
    """
    sink = _Sink()
    source = iter(impressions)
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), SCHEMA, compression="zstd") as writer:
        while some := list(itertools.islice(source, group)):
            writer.write_batch(_rows(ranker, some))
            yield sink.taken()
    yield sink.taken()


def _rows(ranker: str, some: Sequence[ExportedImpression]) -> pa.RecordBatch:
    """Return the rows of some impressions."""
    lengths = np.array([len(shown.items) for shown in some])
    of = np.repeat(np.arange(len(some)), lengths)  # the impression of each row
    first = np.cumsum(lengths) - lengths
    clicks = np.zeros(of.size, dtype=np.int8)
    clicks[[start + k for start, shown in zip(first, some, strict=True) for k in shown.clicked]] = 1
    own: list[str | None] = []
    for shown in some:
        there = list(shown.would_show or ())[: len(shown.items)]
        own += there + [None] * (len(shown.items) - len(there))

    def each(values: list[Any], kind: Any) -> Any:
        """Repeat the value of each impression in all of its rows."""
        return pa.array(values, kind).take(pa.array(of))

    def words(values: Any) -> Any:
        return values.dictionary_encode()

    columns = [
        each([shown.id for shown in some], pa.string()),
        words(each([shown.context for shown in some], pa.string())),
        pa.array(np.arange(of.size) - first[of] + 1, pa.int32()),
        words(pa.array([item for shown in some for item in shown.items], pa.string())),
        pa.array(clicks),
        _numbers([shown.propensity for shown in some], lengths),
        _numbers([shown.prefix_propensity for shown in some], lengths),
        each([shown.shown_at for shown in some], pa.timestamp("us", tz="UTC")),
        pa.DictionaryArray.from_arrays(np.zeros(of.size, dtype=np.int32), pa.array([ranker])),
        each([shown.version for shown in some], pa.int32()),
        each([shown.settled for shown in some], pa.bool_()),
        each([shown.exploring for shown in some], pa.bool_()),
        words(pa.array(own, pa.string())),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _numbers(lists: Sequence[Sequence[float] | None], lengths: Ints) -> pa.Array[Any]:
    """Return the numbers of all positions; null for every position of a list without any."""
    rows: list[float | None] = []
    for numbers, length in zip(lists, lengths.tolist(), strict=True):
        rows += [None] * length if numbers is None else numbers
    return pa.array(rows, pa.float64())
