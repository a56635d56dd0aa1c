"""The command ``read``, and the options of all commands that read a log."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickrank._core.extras import require
from clickrank._core.output_files import make_folder_of
from clickrank.cli.shared_options import AsJson
from clickrank.cli.terminal import console as terminal
from clickrank.cli.terminal import print_json, print_text
from clickrank.errors import invalid, unknown

if TYPE_CHECKING:
    from clickrank.logs.click_log import Log


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogOptions:
    """The options of all commands that read a log, see `with_log_options`."""

    log: Annotated[
        list[str],
        typer.Argument(metavar="LOG...", help="Files, folders, or patterns such as 'log-*.gz'."),
    ]
    format: Annotated[
        str | None,
        typer.Option(
            help="csv, parquet, service, open-bandit, kdd-2012, yandex-2011 or yandex-2013.",
            show_default="recognised",
        ),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(help="The name of a column in the file, as in query=q. May be repeated."),
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first malformed line.")] = (
        False
    )
    first_position: Annotated[
        int | None,
        typer.Option(
            help="The number of the first position in the file.",
            min=0,
            max=1,
            show_default="recognised",
        ),
    ] = None
    positions: Annotated[
        int | None, typer.Option(help="Use only the first N positions.", min=1)
    ] = None
    min_displays: Annotated[
        int | None,
        typer.Option(help="Use only items shown at least N times at every position.", min=1),
    ] = None
    min_items: Annotated[
        int | None, typer.Option(help="Use only queries with at least N such items.", min=1)
    ] = None
    top_queries: Annotated[
        int | None, typer.Option(help="Use only the N most frequent queries.", min=1)
    ] = None
    engine: Annotated[str, typer.Option(help="The engine that counts: duckdb or pyspark.")] = (
        "duckdb"
    )
    memory: Annotated[
        str, typer.Option(help="The memory that DuckDB may use before it writes to the disk.")
    ] = "2GB"

    def check(self, command: str, *extras: str) -> None:
        """Check these options, and then that everything the command needs is installed."""
        from clickrank.logs import ENGINES

        _parse_columns(self.column)
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        require(f"{command} needs", "logs" if self.engine == "duckdb" else "spark", *extras)

    def open(self) -> Log:
        """Open the log that these options describe."""
        from clickrank.logs import open_log

        return open_log(
            self.log,
            self.format,
            columns=_parse_columns(self.column),
            strict=self.strict,
            first_position=self.first_position,
            engine=self.engine,
            memory=self.memory,
        )

    def filters(self) -> dict[str, Any]:
        """Return the rows to select, as the methods of a log take them."""
        names = ("positions", "min_displays", "min_items", "top_queries")
        return {name: getattr(self, name) for name in names}


def with_log_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `LogOptions`, which it takes as its argument ``options``.

    An option that the command declares itself replaces the one of the same name, and is passed to
    the command alone.
    """
    own = inspect.signature(command, eval_str=True).parameters
    shared = inspect.signature(LogOptions, eval_str=True).parameters
    taken = [name for name in shared if name not in own]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        options = LogOptions(**{name: given.pop(name) for name in taken})
        command(options=options, **given)

    others = [own[name] for name in own if name != "options"]
    parameters = [shared["log"], *others, *(shared[name] for name in taken[1:])]
    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


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


@contextlib.contextmanager
def problems_shown() -> Iterator[None]:
    """Print the problems of a log on the error stream if they leave nothing of it."""
    from clickrank.logs.log_report import NothingLeft, problems_table

    try:
        yield
    except NothingLeft as error:
        if error.problems:
            terminal(stderr=True).print(problems_table(error.problems))
        raise


@with_log_options
def read(
    options: LogOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the selected rows to this Parquet file, and make its folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read a click log, and report its size and the problems found in it."""
    options.check("read")
    if out is not None:
        make_folder_of(out)  # or fail now, not after the log is read
    from clickrank.logs.log_report import problems_table

    with problems_shown(), options.open() as opened:
        opened.counts(**options.filters())
        report = opened.report_of(**options.filters())
        if out is not None:
            opened.save(out, **options.filters())
    if as_json:
        print_json(report.as_dict())
        return
    console = terminal()
    console.print(report.table())
    for remark in report.remarks:
        print_text(console, remark, wrap=True)
    if report.problems:
        console.print(problems_table(report.problems))
