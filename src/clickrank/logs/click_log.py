"""Click log: opens the files of a log, and returns its report, counts and impressions."""

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

from clickrank._core.output_files import make_folder_of
from clickrank.errors import invalid
from clickrank.logs import aggregate, checked_rows
from clickrank.logs.counts import Counts
from clickrank.logs.filters import Filters
from clickrank.logs.impressions import Impressions
from clickrank.logs.impressions_from_rows import impressions_of, sorted_rows, tables_by_query
from clickrank.logs.log_report import LogReport, NothingLeft, merge_problems
from clickrank.logs.query_engine import check_parquet, connect, query_progress, read_parquet
from clickrank.logs.readers import IN_PLACE, READERS, check_format, recognise
from clickrank.logs.readers.text_files import Paths, expand
from clickrank.logs.schema import ORDER
from clickrank.logs.staging import stage

#: The memory that DuckDB may use before it writes to the disk.
MEMORY = "2GB"


class Log:
    """A click log that `open_log` opened. Close it, or use it in a ``with`` statement.

    An engine counts the rows. Its files are in a temporary folder, which is removed when the log is
    closed.
    """

    def __init__(
        self, rows: Any, backend: Any, report: LogReport, folder: Path, progress: bool | None
    ):
        self._rows = rows
        self._backend = backend
        self._report = report
        self._folder = folder
        self._progress = progress
        self._pairs: dict[Filters, aggregate.Pairs] = {}
        self._list_reports: dict[Filters, LogReport] = {}  # once lists were counted
        self._query_reports: dict[Filters, dict[str, LogReport]] = {}  # by query, for impressions
        self._filtered_rows: dict[Filters, Any] = {Filters(): rows}

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
        """Close the engine and remove the temporary files."""
        self._pairs.clear()
        self._filtered_rows.clear()
        if self._backend is not None and self._backend.name == "duckdb":
            self._backend.disconnect()
        self._backend = None
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def kind(self) -> str:
        """The kind of the log: ``lists``, ``slots`` or ``counted``; see `clickrank.logs.schema`."""
        return self._report.kind

    @property
    def report(self) -> LogReport:
        """The size of the log, and the problems found in it.

        Incomplete lists are found by `counts` and `impressions`; call one of them first.
        """
        return self.report_of()

    def report_of(self, **filters: int | None) -> LogReport:
        """Return the report on the rows that the filters select; filters are as for `counts`."""
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
        if chosen in self._list_reports:
            lists = self._list_reports[chosen]
            found.lists, found.rows = lists.lists, lists.rows
            found.displays, found.clicks = lists.displays, lists.clicks
            found.problems = merge_problems(found.problems, lists.problems)
        else:
            for single in self._query_reports.get(chosen, {}).values():
                found.problems = merge_problems(found.problems, single.problems)
        return found

    def table(self, **filters: int | None) -> Any:
        """Return the rows as an Ibis table; filters are as for `counts`."""
        return self._filtered(Filters(**filters)).drop(*ORDER)

    def counts(self, *, with_lists: bool = True, **filters: int | None) -> Counts:
        """Count displays, clicks and lists.

        Parameters
        ----------
        with_lists
            Whether to count ``sessions``; False is faster.
        **filters
            ``positions``, ``min_displays``, ``min_items`` and ``top_queries``: see
            `clickrank.logs.filters.Filters`.
        """
        chosen = Filters(**filters)
        rows, pairs = self._filtered(chosen), self._pairs_of(chosen)
        report = dataclasses.replace(self._report, problems={})
        self._check_not_empty(chosen)
        try:
            found = aggregate.counts_of(rows, pairs, report, self._progress, with_lists)
        except NothingLeft as error:
            error.problems = merge_problems(self._report.problems, report.problems)
            raise
        if found.sessions is not None:
            report.lists = found.n_impressions
            report.displays = report.rows = int(found.cells.shown.sum())
            report.clicks = int(found.cells.clicked.sum())
            self._list_reports[chosen] = report
        return found

    def queries(self, **filters: int | None) -> NDArray[Any]:
        """Return the names of the queries, sorted; filters are as for `counts`."""
        return self._pairs_of(Filters(**filters)).queries

    def n_queries(self, **filters: int | None) -> int:
        """Return the number of queries; filters are as for `counts`."""
        chosen = Filters(**filters)
        if chosen in self._pairs:
            return int(self._pairs[chosen].queries.size)
        return int(self._filtered(chosen).query.nunique().to_pyarrow().as_py())

    def impressions(self, query: str | None = None, **filters: int | None) -> Impressions:
        """Return the impressions of a query, in the order in which they were shown.

        The query may be left out if the log has only one. Filters are as for `counts`.
        """
        self._check_not_counted()
        chosen = Filters(**filters)
        if query is None:
            names = self._pairs_of(chosen).queries
            self._check_not_empty(chosen)
            if names.size != 1:
                rule = f"query must be given, because the log has {names.size} queries"
                raise invalid("impressions", rule)
            query = str(names[0])
        rows = self._filtered(chosen)
        found = sorted_rows(rows.filter(rows.query == query))
        if not found.num_rows:
            raise invalid("impressions", "query must be one of the queries of the log", query)
        return self._impressions_of(found, query, chosen)

    def impressions_by_query(
        self, queries: Iterable[str] | None = None, **filters: int | None
    ) -> Iterator[tuple[str, Impressions]]:
        """Yield each query with its impressions, as `impressions` returns them.

        Yields all queries or those given, sorted. This is faster than one call of `impressions` per
        query, because many queries are read at once. About a million rows are in memory, or the
        rows of one query if it has more. Filters are as for `counts`.
        """
        self._check_not_counted()
        chosen = Filters(**filters)
        pairs = self._pairs_of(chosen)
        given = None if queries is None else sorted({str(query) for query in queries})
        if given is not None:
            missing = np.setdiff1d(np.array(given, dtype=pairs.queries.dtype), pairs.queries)
            if missing.size:
                rule = "queries must be in the log"
                first = ", ".join(repr(str(query)) for query in np.unique(pairs.queries)[:10])
                hint = f"The first queries of the log are {first}."
                raise invalid("impressions_by_query", rule, missing.tolist(), hint)
        return self._iterate(chosen, pairs, given)

    def _iterate(
        self, chosen: Filters, pairs: aggregate.Pairs, given: list[str] | None
    ) -> Iterator[tuple[str, Impressions]]:
        for names, sizes, found in tables_by_query(self._filtered(chosen), pairs, given):
            start = 0
            for name, size in zip(names, sizes, strict=True):
                yield name, self._impressions_of(found.slice(start, size), name, chosen)
                start += size

    def _impressions_of(self, found: Any, query: str, chosen: Filters) -> Impressions:
        report = dataclasses.replace(self._report, problems={})
        self._query_reports.setdefault(chosen, {})[query] = report
        return impressions_of(found, query, report)

    def _check_not_empty(self, chosen: Filters) -> None:
        if self._pairs_of(chosen).query.size:
            return
        if chosen and self._pairs_of(Filters()).query.size:
            raise invalid("log", "the filters must leave rows to count")
        raise NothingLeft("log", "there must be rows to count", 0, self._report.problems)

    def _check_not_counted(self) -> None:
        if self.kind == "counted":
            raise invalid("impressions", "the log must have a row per display", self.kind)

    def save(self, path: str | Path, **filters: int | None) -> None:
        """Write the rows into one Parquet file, in the order that they have in the log.

        Filters are as for `counts`. The folder of the file is made if it is missing.
        """
        chosen = Filters(**filters)
        rows = self._filtered(chosen)
        if chosen:  # joins change the order
            rows = rows.order_by(*ORDER)
        rows.drop(*ORDER).to_parquet(str(make_folder_of(path)))

    def _filtered(self, filters: Filters) -> Any:
        if self._backend is None:
            raise invalid("Log", "the log must be open", "a closed log")
        if filters not in self._filtered_rows:
            self._filtered_rows[filters] = filters.apply(self._rows)
        return self._filtered_rows[filters]

    def _pairs_of(self, filters: Filters) -> aggregate.Pairs:
        rows = self._filtered(filters)
        if filters not in self._pairs:
            with query_progress(self._backend, "Counting pairs", self._progress):
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

    Parquet files are read in place. Other formats are first converted to a temporary Parquet file.

    Parameters
    ----------
    paths
        A file, several files, a folder, or a pattern such as ``logs/*.csv.gz``. If a file has
        exactly the name of the pattern, that file is read. URLs (``s3://…``, ``https://…``) of
        Parquet files, which may be patterns, are passed to the engine. DuckDB needs its extension
        httpfs for them, which it downloads when it is first used.
    format
        The name of the format. By default it is recognised from the content of the first file.
    columns
        The names of columns in the file, by their names in the log, as in
        ``{"query": "q", "item": "url"}``. Other columns are recognised by their names.
    strict
        Whether a malformed line is an error. Otherwise it is skipped, and counted in ``report``.
    first_position
        The number of the first position in the file, 0 or 1. By default it is found from the rows.
    engine
        ``duckdb``, which runs in this process, or ``pyspark``.
    memory
        The memory that DuckDB may use before it writes to the disk.
    threads
        The number of threads of DuckDB; by default one per core.
    folder
        The folder for temporary files; by default that of the operating system.
    progress
        Whether to show progress bars; by default only on a terminal.
    """
    if first_position not in (None, 0, 1):
        raise invalid("open_log", "first_position must be 0 or 1", first_position)
    files = expand(paths)
    name = recognise(files[0]) if format is None else check_format(format)
    url = next((file for file in files if "://" in file), None)
    if url is not None and name not in IN_PLACE:
        rule = "URLs must be of Parquet files; copy other files to the disk first"
        raise invalid("open_log", rule, url)
    report = LogReport(name, files=files, first_position=first_position, strict=strict)
    temporary = Path(tempfile.mkdtemp(prefix="clickrank-", dir=folder))
    try:
        backend = connect(engine, temporary, memory, threads)
        if name in IN_PLACE:
            check_parquet(files)
            raw = read_parquet(backend, files)
            rows = checked_rows.check_in_place(raw, columns, report, ", ".join(files))
        else:
            target = temporary / "log.parquet"
            stage(files, READERS[name], report, columns, target, progress)
            rows = checked_rows.check_staged(read_parquet(backend, [str(target)]), report)
        return Log(rows, backend, report, temporary, progress)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
