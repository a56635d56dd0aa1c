"""Staging: text files of a log are converted to one Parquet file, which the engine reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clickrank._core.progress import progress_bar
from clickrank.errors import invalid
from clickrank.logs.log_report import LogReport, NothingLeft
from clickrank.logs.readers import Reader
from clickrank.logs.schema import IDS, OPTIONAL

#: The number of rows in a row group, which are in memory at once.
ROWS = 1 << 20


def stage(
    paths: Sequence[str],
    reader: Reader,
    report: LogReport,
    columns: Mapping[str, str] | None,
    target: Path,
    progress: bool | None,
) -> None:
    """Write the rows of files into one Parquet file, and find out what the first position is."""
    total = sum(os.path.getsize(path) for path in paths)
    seen = np.zeros(2, dtype=np.int64)  # rows at positions 0 and 1
    held: list[pa.Table] = []
    writer: pq.ParquetWriter | None = None
    with progress_bar("Reading", total, progress) as tick:
        tables = ((path, t) for path in paths for t in reader(path, report, tick, columns))
        try:
            for path, table in tables:
                if writer is None:
                    coded = [n for n in table.schema.names if n in (*IDS, *OPTIONAL)]
                    writer = pq.ParquetWriter(
                        target,
                        table.schema,
                        compression="zstd",
                        use_dictionary=coded,  # type: ignore[arg-type]  # a list too
                    )
                elif table.schema.names != writer.schema.names:
                    names = ", ".join(writer.schema.names)
                    rule = f"{path} must have the columns of the files before it ({names})"
                    raise invalid("open_log", rule, table.schema.names)
                seen += np.bincount(np.minimum(table["position"], 2), minlength=3)[:2]
                held.append(table)
                if sum(len(t) for t in held) >= ROWS:
                    writer.write_table(pa.concat_tables(held), row_group_size=ROWS)
                    held = []
            if held and writer is not None:
                writer.write_table(pa.concat_tables(held), row_group_size=ROWS)
        finally:
            if writer is not None:
                writer.close()
    if writer is None:
        rule = f"{', '.join(paths)} must have a row that can be read"
        raise NothingLeft("open_log", rule, 0, report.problems)
    if report.first_position is None:
        report.first_position = guess_first_position(int(seen[0]), int(seen[1]))


def guess_first_position(at_zero: int, at_one: int) -> int:
    """Return the number of the first position, given how many rows have position 0 and 1.

    Every list has a first position; therefore a few zeros among many ones are errors.

    >>> guess_first_position(1000, 990), guess_first_position(2, 1000), guess_first_position(0, 0)
    (0, 1, 1)
    """
    return 0 if at_zero > 0.01 * at_one else 1
