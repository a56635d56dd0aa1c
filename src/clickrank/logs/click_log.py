"""An open log: what was read, its counts, its lists."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank.errors import invalid
from clickrank.logs import aggregate, checked_rows
from clickrank.logs.counts import Counts
from clickrank.logs.filters import Filters
from clickrank.logs.impressions import Impressions
from clickrank.logs.impressions_from_rows import impressions_of, in_order, tables_by_query
from clickrank.logs.log_report import NothingLeft, Report, merged
from clickrank.logs.query_engine import check_parquet, connect, read_parquet, watched
from clickrank.logs.readers import IN_PLACE, READERS, check_format, recognise
from clickrank.logs.readers.text_files import Paths, expand
from clickrank.logs.schema import ORDER
from clickrank.logs.staging import stage

#: What DuckDB may hold before it writes to the disk.
MEMORY = "2GB"


class Log:
    """A click log, opened by `open_log`; close it, or use it in a ``with`` statement.

    Counting goes through an engine; what it needs on disk is in a temporary folder, which is
    removed when the log is closed.
    """

    def __init__(
        self, rows: Any, backend: Any, report: Report, folder: Path, progress: bool | None
    ):
        self._rows = rows
        self._backend = backend
        self._report = report
        self._folder = folder
        self._progress = progress
        self._pairs: dict[Filters, aggregate.Pairs] = {}
        self._lists: dict[Filters, Report] = {}  # of lists, once they were counted
        self._single: dict[Filters, dict[str, Report]] = {}  # of those given, by query
        self._kept: dict[Filters, Any] = {Filters(): rows}

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was put on disk; the log cannot be asked any more."""
        self._pairs.clear()
        self._kept.clear()
        if self._backend is not None and self._backend.name == "duckdb":
            self._backend.disconnect()
        self._backend = None
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def kind(self) -> str:
        """``lists``, ``slots`` or ``counted``, as in `clickrank.logs.schema`."""
        return self._report.kind

    @property
    def report(self) -> Report:
        """What was read, and what was wrong with it.

        Lists that are not whole are found when lists are counted or given, so ask for `counts` or
        `impressions` before.
        """
        return self.report_of()

    def report_of(self, **filters: int | None) -> Report:
        """Return the report, with the numbers of what the filters keep; filters as for `counts`."""
        chosen = Filters(**filters)
        pairs = self._pairs_of(chosen)
        found = dataclasses.replace(
            self._report,
            rows=int(pairs.rows.sum()),
            queries=pairs.queries.size,
            items=pairs.n_items,
            displays=pairs.displays,
            clicks=pairs.clicks,
        )
        if chosen in self._lists:
            lists = self._lists[chosen]
            found.lists, found.rows = lists.lists, lists.rows
            found.displays, found.clicks = lists.displays, lists.clicks
            found.problems = merged(found.problems, lists.problems)
        else:
            for single in self._single.get(chosen, {}).values():
                found.problems = merged(found.problems, single.problems)
        return found

    def table(self, **filters: int | None) -> Any:
        """Return the rows as an Ibis table; filters as for `counts`."""
        return self._kept_by(Filters(**filters)).drop(*ORDER)

    def counts(self, *, with_lists: bool = True, **filters: int | None) -> Counts:
        """Count the log.

        Parameters
        ----------
        with_lists
            False leaves ``sessions`` out, which is faster.
        **filters
            ``positions``, ``min_displays``, ``min_items`` and ``top_queries``: see
            `clickrank.logs.filters.Filters`.
        """
        chosen = Filters(**filters)
        rows, pairs = self._kept_by(chosen), self._pairs_of(chosen)
        report = dataclasses.replace(self._report, problems={})
        self._check_left(chosen)
        try:
            found = aggregate.counts_of(rows, pairs, report, self._progress, with_lists)
        except NothingLeft as error:
            error.problems = merged(self._report.problems, report.problems)
            raise
        if found.sessions is not None:
            report.lists = found.n_impressions
            report.displays = report.rows = int(found.cells.shown.sum())
            report.clicks = int(found.cells.clicked.sum())
            self._lists[chosen] = report
        return found

    def queries(self, **filters: int | None) -> NDArray[Any]:
        """Return the names of the queries, in order of their text; filters as for `counts`."""
        return self._pairs_of(Filters(**filters)).queries

    def n_queries(self, **filters: int | None) -> int:
        """Return how many queries there are, without their names; filters as for `counts`."""
        chosen = Filters(**filters)
        if chosen in self._pairs:
            return int(self._pairs[chosen].queries.size)
        return int(self._kept_by(chosen).query.nunique().to_pyarrow().as_py())

    def impressions(self, query: str | None = None, **filters: int | None) -> Impressions:
        """Return the single lists of a query, in the order they were shown.

        The query may be left out if there is only one. Filters are as for `counts`.
        """
        self._check_single()
        chosen = Filters(**filters)
        if query is None:
            names = self._pairs_of(chosen).queries
            self._check_left(chosen)
            if names.size != 1:
                rule = f"query must be given, as the log has {names.size}"
                raise invalid("impressions", rule, query)
            query = str(names[0])
        rows = self._kept_by(chosen)
        found = in_order(rows.filter(rows.query == query))
        if not found.num_rows:
            raise invalid("impressions", "query must be one of the log", query)
        return self._impressions_of(found, query, chosen)

    def impressions_by_query(
        self, queries: Iterable[str] | None = None, **filters: int | None
    ) -> Iterator[tuple[str, Impressions]]:
        """Yield each query with its single lists, as `impressions` returns them.

        Queries come in the order of their text, all of them or those given. Many are read at
        once, so that this is faster than to ask for one after the other; about a million rows are
        in memory, or those of one query if it has more. Filters are as for `counts`.
        """
        self._check_single()
        chosen = Filters(**filters)
        pairs = self._pairs_of(chosen)
        given = None if queries is None else sorted({str(query) for query in queries})
        if given is not None:
            missing = np.setdiff1d(np.array(given, dtype=pairs.queries.dtype), pairs.queries)
            if missing.size:
                rule = "queries must be of the log"
                raise invalid("impressions_by_query", rule, missing.tolist())
        return self._each(chosen, pairs, given)

    def _each(
        self, chosen: Filters, pairs: aggregate.Pairs, given: list[str] | None
    ) -> Iterator[tuple[str, Impressions]]:
        for names, sizes, found in tables_by_query(self._kept_by(chosen), pairs, given):
            start = 0
            for name, size in zip(names, sizes, strict=True):
                yield name, self._impressions_of(found.slice(start, size), name, chosen)
                start += size

    def _impressions_of(self, found: Any, query: str, chosen: Filters) -> Impressions:
        report = dataclasses.replace(self._report, problems={})
        self._single.setdefault(chosen, {})[query] = report
        return impressions_of(found, query, report)

    def _check_left(self, chosen: Filters) -> None:
        if self._pairs_of(chosen).query.size:
            return
        if chosen and self._pairs_of(Filters()).query.size:
            raise invalid("log", "the filters must leave rows to count", 0)
        raise NothingLeft("log", "there must be rows to count", 0, self._report.problems)

    def _check_single(self) -> None:
        if self.kind == "counted":
            raise invalid("impressions", "the log must have single lists or displays", self.kind)

    def save(self, path: str | Path, **filters: int | None) -> None:
        """Write the rows into one Parquet file of the one schema; filters as for `counts`.

        They keep the order that they have in the log.
        """
        chosen = Filters(**filters)
        rows = self._kept_by(chosen)
        if chosen:  # joins do not keep it
            rows = rows.order_by(*ORDER)
        rows.drop(*ORDER).to_parquet(str(path))

    def _kept_by(self, filters: Filters) -> Any:
        if self._backend is None:
            raise invalid("Log", "it must be open", "a closed one")
        if filters not in self._kept:
            self._kept[filters] = filters.applied(self._rows)
        return self._kept[filters]

    def _pairs_of(self, filters: Filters) -> aggregate.Pairs:
        rows = self._kept_by(filters)
        if filters not in self._pairs:
            with watched(self._backend, "Counting pairs", self._progress):
                self._pairs[filters] = aggregate.pairs_of(rows)
        return self._pairs[filters]


def open_log(
    paths: Paths,
    format: str | None = None,  # noqa: A002
    *,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
    first_position: int | None = None,
    engine: str = "duckdb",
    memory: str = MEMORY,
    threads: int | None = None,
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> Log:
    """Open a click log.

    Parquet is read where it is; other formats are read once, in blocks, into a temporary Parquet
    file.

    Parameters
    ----------
    paths
        A file, several, a folder, or a pattern as in ``logs/*.csv.gz``. A file of just that name
        comes before what a pattern stands for. Addresses (``s3://…``, ``https://…``) of Parquet
        files are handed to the engine as they are, patterns and rights included: DuckDB needs its
        extension httpfs for them, which it loads from the network at first use.
    format
        The name of the format; found by looking into the file if left out.
    columns
        For columns that the file calls otherwise: its names by those of the log, as in
        ``{"query": "q", "item": "url"}``.
    strict
        Whether a malformed line stops the reading; otherwise it is skipped, and counted in
        ``report``.
    first_position
        What the file calls the first position, 0 or 1; found by looking if left out.
    engine
        ``duckdb``, in this process, or ``pyspark``.
    memory
        What DuckDB may hold before it writes to the disk.
    threads
        Threads of DuckDB; one a core if left out.
    folder
        Where temporary files go; the system's place for them if left out.
    progress
        Whether to show progress bars; None: if the standard error stream is a terminal.
    """
    if first_position not in (None, 0, 1):
        raise invalid("open_log", "first_position must be 0 or 1", first_position)
    files = expand(paths)
    name = recognise(files[0]) if format is None else check_format(format)
    address = next((file for file in files if "://" in file), None)
    if address is not None and name not in IN_PLACE:
        rule = "addresses must be of Parquet files, which the engine opens; copy others to the disk"
        raise invalid("open_log", rule, address)
    report = Report(name, files=files, first_position=first_position, strict=strict)
    own = Path(tempfile.mkdtemp(prefix="clickrank-", dir=folder))
    try:
        backend = connect(engine, own, memory, threads)
        if name in IN_PLACE:
            check_parquet(files)
            raw = read_parquet(backend, files)
            rows = checked_rows.check_in_place(raw, columns, report, ", ".join(files))
        else:
            target = own / "log.parquet"
            stage(files, READERS[name], report, columns, target, progress)
            rows = checked_rows.check_staged(read_parquet(backend, [str(target)]), report)
        return Log(rows, backend, report, own, progress)
    except BaseException:
        shutil.rmtree(own, ignore_errors=True)
        raise
