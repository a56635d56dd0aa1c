"""Log report: the size of a log, and the problems found in it, counted by kind with examples."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clickrank.errors import ClickRankError, InvalidValue, invalid
from clickrank.logs.row_rules import LARGEST_POSITION

if TYPE_CHECKING:
    from rich.table import Table

#: The number of examples of each kind of problem, and the longest text of an example.
EXAMPLES = 3
TEXT = 160

#: Kinds of problems: what is wrong, and what is done about it.
KINDS = {
    "fields": "the line does not have the fields of the format: skipped",
    "encoding": "the line is not UTF-8: skipped",
    "record": "the line has an unknown record type: skipped",
    "number": "a number is missing or invalid: skipped",
    "id": "the list, query or item has no id: skipped",
    "position": f"the position is before the first or after {LARGEST_POSITION} (kdd-2012: 3)"
    ": skipped",
    "depth": "the position is below the end of the page, or the page has more than 3 positions"
    ": skipped",
    "click": "the number of clicks is negative: skipped",
    "shown": "the number of displays is below 1: skipped",
    "several clicks": "an item of a list was clicked more than once: counted as one click",
    "clicks above displays": "more clicks than displays: counted as one click per display",
    "click on no list": "a click belongs to a list that is not in the log: left out",
    "click not shown": "a click on an item that was not in the list: left out",
    "repeated list": "a list has the id of an earlier list: skipped",
    "empty list": "a list has no items: skipped",
    "repeated item": "a list has an item twice: skipped",
    "repeated position": "a list has a position twice: skipped",
    "gap": "a list has no item at a position before its last: skipped",
    "propensity": "a propensity is not above 0 and at most 1: treated as unknown",
    "time": "a time cannot be read: treated as unknown",
    "truncated": "the file is damaged or ends too early: read up to there",
    "not settled": "the list is not settled, as clicks may still come: left out",
    "test query": "the clicks of a test query were withheld: left out",
}
#: Kinds of logs without lists, and what that means.
WITHOUT_LISTS = {
    "slots": "slots: each row is one display; which rows were shown together is not known",
    "counted": "counted: rows are sums of displays and clicks; lists are not known",
}
#: The unit in which a problem is counted, unless it is rows.
_UNITS = {
    "click on no list": "click",
    "click not shown": "click",
    "repeated list": "list",
    "empty list": "list",
    "repeated item": "list",
    "repeated position": "list",
    "gap": "list",
    "test query": "list",
    "truncated": "file",
}
#: Kinds that are not errors in a log.
HARMLESS = ("not settled", "several clicks", "test query")


class Malformed(ClickRankError, ValueError):
    """A log breaks a rule of its format, and is read with ``strict=True``."""


@dataclasses.dataclass(frozen=True)
class Example:
    """A row that has a problem."""

    file: str
    line: int | None  # counted from 1; None if the file has no lines
    text: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.text}"


@dataclasses.dataclass
class LogProblem:
    """A kind of problem: how often it occurs, with examples."""

    kind: str
    count: int = 0
    examples: list[Example] = dataclasses.field(default_factory=list)

    @property
    def meaning(self) -> str:
        """What is wrong, and what is done about it."""
        return KINDS[self.kind]

    @property
    def times(self) -> str:
        """The number of rows, lists, clicks or files, with the unit."""
        what = _UNITS.get(self.kind, "row")
        return f"{self.count:,} {what}{'' if self.count == 1 else 's'}"


class NothingLeft(InvalidValue):
    """No row of a log can be used; the message names the most frequent reason."""

    def __init__(
        self, owner: str, rule: str, value: object, problems: Mapping[str, LogProblem]
    ) -> None:
        self.problems = problems
        text = str(invalid(owner, rule, value))
        skipped = [p for p in problems.values() if p.meaning.endswith(("skipped", "left out"))]
        if skipped:
            most = max(skipped, key=lambda problem: problem.count)
            reason = most.meaning.rpartition(":")[0]
            text += f" The most frequent reason ({most.times}): {reason}, as in {most.examples[0]}"
        super().__init__(text)


@dataclasses.dataclass
class LogReport:
    """The size of a log, and the problems found in it.

    Parameters
    ----------
    format
        The name of the format.
    kind
        ``lists``, ``slots`` or ``counted``; see `clickrank.logs.schema`.
    files
        The files that were read.
    columns
        The name in the file of each column of the log.
    first_position
        The number of the first position in the file, 0 or 1; None while that is not known.
    rows, lists, queries, items, displays, clicks
        The size of the log, without everything that was skipped. Queries and items are counted
        once each; ``lists`` is None if lists are not known.
    problems
        The problems, by kind.
    notes
        Advice on how to read more of the log.
    strict
        Whether a problem is an error.
    """

    format: str
    kind: str = "lists"
    files: list[str] = dataclasses.field(default_factory=list)
    columns: dict[str, str] = dataclasses.field(default_factory=dict)
    first_position: int | None = None
    rows: int = 0
    lists: int | None = None
    queries: int = 0
    items: int = 0
    displays: int = 0
    clicks: int = 0
    problems: dict[str, LogProblem] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    strict: bool = False
    _errors_by_line: list[tuple[int, Malformed]] | None = dataclasses.field(
        default=None, init=False, repr=False
    )

    @contextlib.contextmanager
    def first_error_by_line(self) -> Iterator[None]:
        """Check many lines; if reading is strict, raise the error of the first malformed one."""
        self._errors_by_line = []
        try:
            yield
            if self._errors_by_line:
                raise min(self._errors_by_line, key=lambda found: found[0])[1]
        finally:
            self._errors_by_line = None

    def add(
        self, kind: str, file: str, line: int | None = None, text: str = "", count: int = 1
    ) -> None:
        """Count a problem; raise `Malformed` if reading is strict and the problem is an error."""
        found = self.problems.setdefault(kind, LogProblem(kind))
        found.count += count
        if len(found.examples) < EXAMPLES:
            found.examples.append(Example(file, line, _cut(text)))
        if self.strict and kind not in HARMLESS:
            where = Example(file, line, _cut(text))
            error = Malformed(f"{where}: {KINDS[kind].rpartition(':')[0]}.")
            if self._errors_by_line is None or line is None:
                raise error
            self._errors_by_line.append((line, error))

    def wants_example(self, kind: str) -> bool:
        """Return whether another example of a problem is needed, also for an error."""
        if self.strict and kind not in HARMLESS:
            return True
        return kind not in self.problems or len(self.problems[kind].examples) < EXAMPLES

    def as_dict(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        facts = dataclasses.asdict(self)
        del facts["strict"], facts["_errors_by_line"]
        for kind, problem in facts["problems"].items():
            problem["meaning"] = KINDS[kind]
            problem["counted"] = _UNITS.get(kind, "row") + "s"
        return facts

    @property
    def remarks(self) -> list[str]:
        """The lines below the table: what a log without lists is, and the notes."""
        return [*([WITHOUT_LISTS[self.kind]] if self.kind in WITHOUT_LISTS else []), *self.notes]

    def table(self) -> Table:
        """Return the size of the log as a table to print."""
        from rich.table import Table

        table = Table("what", "how much", title=", ".join(self.files), title_justify="left")
        table.columns[1].justify = "right"
        table.add_row("format", f"{self.format} ({self.kind})")
        table.add_row("rows", f"{self.rows:,}")
        if self.lists is not None:
            table.add_row("lists", f"{self.lists:,}")
        for name in ("queries", "items", "displays", "clicks"):
            table.add_row(name, f"{getattr(self, name):,}")
        if self.displays:
            table.add_row("clicks per display", f"{self.clicks / self.displays:.4f}")
        if self.first_position is not None:
            table.add_row("first position in the file", str(self.first_position))
        return table


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"


def problems_table(problems: Mapping[str, LogProblem]) -> Table:
    """Return a table of problems to print."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("problem", "how many", "what it means", "examples")
    table.columns[1].justify = "right"
    for problem in problems.values():
        shown = "\n".join(str(example) for example in problem.examples)
        table.add_row(problem.kind, problem.times, problem.meaning, escape(shown))
    return table


def merge_problems(
    first: Mapping[str, LogProblem], second: Mapping[str, LogProblem]
) -> dict[str, LogProblem]:
    """Return the problems of two reports, added up."""
    found = {**first}
    for kind, problem in second.items():
        before = found.get(kind, LogProblem(kind))
        examples = [*before.examples, *problem.examples][:EXAMPLES]
        found[kind] = LogProblem(kind, before.count + problem.count, examples)
    return found
