"""The command ``read``, and the options of all commands that read a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickrank._core.extras import require
from clickrank._core.output_files import make_folder_of
from clickrank.cli.shared_options import AsJson
from clickrank.cli.terminal import console as terminal
from clickrank.cli.terminal import print_json
from clickrank.errors import invalid, unknown

if TYPE_CHECKING:
    from clickrank.logs.click_log import Log

LogFiles = Annotated[
    list[str],
    typer.Argument(metavar="LOG...", help="Files, folders, or patterns such as 'log-*.gz'."),
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, parquet, service, open-bandit, kdd-2012, yandex-2011 or yandex-2013.",
        show_default="recognised",
    ),
]
LogColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", help="The name of a column in the file, as in query=q. May be repeated."
    ),
]
LogStrict = Annotated[bool, typer.Option("--strict", help="Stop at the first malformed line.")]
FirstPosition = Annotated[
    int | None,
    typer.Option(
        help="The number of the first position in the file.",
        min=0,
        max=1,
        show_default="recognised",
    ),
]
TopQueries = Annotated[
    int | None, typer.Option(help="Use only the N most frequent queries.", min=1)
]
MinDisplays = Annotated[
    int | None, typer.Option(help="Use only items shown at least N times at every position.", min=1)
]
MinItems = Annotated[
    int | None, typer.Option(help="Use only queries with at least N such items.", min=1)
]
Positions = Annotated[int | None, typer.Option(help="Use only the first N positions.", min=1)]
LogEngine = Annotated[
    str, typer.Option("--engine", help="The engine that counts: duckdb or pyspark.")
]
LogMemory = Annotated[
    str,
    typer.Option("--memory", help="The memory that DuckDB may use before it writes to the disk."),
]


def add_commands(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(read)


def check_log_options(command: str, column: list[str] | None, engine: str, *extras: str) -> None:
    """Check the options about a log, and then that everything the command needs is installed."""
    from clickrank.logs import ENGINES

    _parse_columns(column)
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    require(f"{command} needs", "logs" if engine == "duckdb" else "spark", *extras)


def _parse_columns(column: list[str] | None) -> dict[str, str]:
    """Parse the values of ``--column``.

    >>> _parse_columns(["query=q", "item=url"])
    {'query': 'q', 'item': 'url'}
    """
    found = {}
    for option in column or ():
        name, _, in_file = option.partition("=")
        if not name.strip() or not in_file.strip():
            raise invalid("cli", "column must be NAME=COLUMN, as in query=q", option)
        found[name.strip()] = in_file.strip()
    return found


def open_given(
    files: list[str],
    format: str | None = None,  # noqa: A002
    column: list[str] | None = None,
    strict: bool = False,
    first_position: int | None = None,
    engine: str = "duckdb",
    memory: str = "2GB",
) -> Log:
    """Open the log that these options describe."""
    from clickrank.logs import open_log

    return open_log(
        files,
        format,
        columns=_parse_columns(column),
        strict=strict,
        first_position=first_position,
        engine=engine,
        memory=memory,
    )


def read(
    log: LogFiles,
    format: LogFormat = None,  # noqa: A002
    column: LogColumns = None,
    strict: LogStrict = False,
    first_position: FirstPosition = None,
    positions: Positions = None,
    min_displays: MinDisplays = None,
    min_items: MinItems = None,
    top_queries: TopQueries = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the selected rows to this Parquet file, and make its folder."),
    ] = None,
    engine: LogEngine = "duckdb",
    memory: LogMemory = "2GB",
    as_json: AsJson = False,
) -> None:
    """Read a click log, and report its size and the problems found in it."""
    check_log_options("read", column, engine)
    if out is not None:
        make_folder_of(out)  # or fail now, not after the log is read
    from clickrank.logs.log_report import NothingLeft, problems_table

    filters: dict[str, Any] = {
        "positions": positions,
        "min_displays": min_displays,
        "min_items": min_items,
        "top_queries": top_queries,
    }
    try:
        with open_given(log, format, column, strict, first_position, engine, memory) as opened:
            opened.counts(**filters)
            report = opened.report_of(**filters)
            if out is not None:
                opened.save(out, **filters)
    except NothingLeft as error:
        if error.problems:
            terminal(stderr=True).print(problems_table(error.problems))
        raise
    if as_json:
        print_json(report.as_dict())
        return
    console = terminal()
    console.print(report.table())
    for remark in report.remarks:
        console.print(remark, highlight=False, markup=False)
    if report.problems:
        console.print(problems_table(report.problems))
