"""Benchmark of reading and counting a log: `python benchmarks/logs.py --help`.

Another process writes a log to a temporary folder, either lists of ten items (Parquet) or lines
like those of KDD Cup 2012 (text). This process reads and counts it, and its memory is measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

LIST = 10

#: 5,000 queries with realistic frequencies (one list in eight has the most frequent one) and 15
#: items each. Ten items are shown, mostly in one of three orders; with ``distinct``, nearly all
#: lists differ.
LISTS = """
copy (
    with lists as (
        select i, (pow(5000.0, hash(i) % 1000003 / 1000003.0))::int as q,
            (case when {distinct} or hash(i * 13) % 10 = 0 then hash(i * 17) % 15
                else hash(i * 17) % 3 end)::int as turn
        from range({n}) as numbers(i)
    )
    select printf('%012d', i) as impression_id, 'q' || q as query, (k + 1)::int as position,
        'd' || (q * 100 + (k + turn) % 15) as item,
        (hash(i * 31 + k) % 1000 < {clicks} / (k + 1))::tinyint as click
    from lists, range(10) as positions(k)
) to '{path}' (format parquet, compression zstd, row_group_size 1000000)
"""
KDD = """
copy (
    select (hash(i) % 20 = 0)::int, 1 + (hash(i + 1) % 50 = 0)::int, hash(i + 2),
        hash(q) % 99991 + r, r, 3, 1 + hash(i + 3) % 3, q, r, r, r, hash(i + 4) % 20000000
    from (
        select i, (pow(1e6, hash(i + 5) % 1000003 / 1000003.0))::bigint as q,
            hash(i + 6) % 7 as r
        from range({n}) as numbers(i)
    )
) to '{path}' (format csv, header false, delimiter '\t')
"""


class Cost(NamedTuple):
    """The time and memory that one step took."""

    step: str
    clock: float
    processor: float
    peak: float  # memory of the process up to then, in GB


def make(sql: str, folder: str) -> None:
    """Write a log with DuckDB."""
    import duckdb

    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": folder}) as connection:
        connection.execute(sql)


def measure(path: Path, folder: Path, memory: str, threads: int) -> list[Cost]:
    """Open and count a log; return the cost of each step."""
    from clickrank.logs import open_log

    costs: list[Cost] = []
    clock, processor = time.perf_counter(), time.process_time()

    def done(step: str) -> None:
        nonlocal clock, processor
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        now, cpu = time.perf_counter(), time.process_time()
        costs.append(Cost(step, now - clock, cpu - processor, peak))
        clock, processor = now, cpu

    done("start")
    with open_log(path, memory=memory, threads=threads, folder=folder) as log:
        done("open")
        rows = log.report.rows
        done(f"number the pairs of {rows:,} rows")
        counts = log.counts()
        distinct = "" if counts.sessions is None else f", {counts.sessions.times.size:,} lists"
        done(f"count: {counts.n_pairs:,} pairs{distinct}")
    return costs


def main(arguments: list[str] | None = None) -> list[Cost]:
    """Write a log, measure, and print the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("lists", "kdd"))
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--distinct", action="store_true", help="make most lists distinct")
    parser.add_argument("--memory", default="2GB", help="memory of DuckDB")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="clickrank-benchmark-") as name:
        folder = Path(name)
        if given.kind == "lists":
            path = folder / "log.parquet"
            clicks = 900 if given.distinct else 300
            n = int(given.rows) // LIST
            sql = LISTS.format(n=n, path=path, distinct=given.distinct, clicks=clicks)
        else:
            path = folder / "training.txt"
            sql = KDD.format(n=int(given.rows), path=path)
        maker = multiprocessing.get_context("spawn").Process(target=make, args=(sql, name))
        maker.start()
        maker.join()
        size = path.stat().st_size / 1e9
        costs = measure(path, folder, given.memory, given.threads)
    table = Table("step", "clock s", "processor s", "peak GB", title=f"{size:.2f} GB on disk")
    for cost in costs:
        numbers = (f"{cost.clock:.1f}", f"{cost.processor:.1f}", f"{cost.peak:.2f}")
        table.add_row(cost.step, *numbers)
    Console(width=100).print(table)
    return costs


if __name__ == "__main__":
    main()
