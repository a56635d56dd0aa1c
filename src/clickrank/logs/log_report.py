"""What was found in a log: how much of it, and what was wrong with it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clickrank.errors import ClickRankError, InvalidValue, invalid
from clickrank.logs.row_rules import LARGEST_POSITION

if TYPE_CHECKING:
    from rich.table import Table

#: Examples kept of each kind of problem, and how much of the text.
EXAMPLES = 3
TEXT = 160

#: Kinds of problems, and what became of the rows that have them.
KINDS = {
    "fields": "the line has not the fields of the format: skipped",
    "encoding": "the line is not UTF-8: skipped",
    "record": "the line is of no known type: skipped",
    "number": "a number is missing or is none: skipped",
    "id": "a query or an item has no name: skipped",
    "position": f"the position is before the first or beyond {LARGEST_POSITION} (kdd-2012: 3)"
    ": skipped",
    "depth": "the position is beyond the depth of the page, or that is above 3: skipped",
    "click": "clicks are below 0: skipped",
    "shown": "displays are below 1: skipped",
    "several clicks": "one item of a list was clicked more than once: counts as one click",
    "clicks above displays": "more clicks than displays: as many clicks as displays were counted",
    "click on no list": "a click belongs to a list that is not there: left out",
    "click not shown": "a click on an item that was not in the list: left out",
    "repeated list": "a list has the id of one before: skipped",
    "empty list": "a list has no items: skipped",
    "repeated item": "a list has an item twice: skipped",
    "repeated position": "a list has a position twice: skipped",
    "gap": "a list has no item at a position before its last: skipped",
    "propensity": "a propensity is not above 0 and at most 1: taken as unknown",
    "time": "a time cannot be read: taken as unknown",
    "truncated": "the file ends in the middle: read up to there",
    "not settled": "more clicks may come: left out",
    "test query": "the clicks of a test query were withheld: left out",
}
#: Kinds of logs without single lists, and what that means.
WITHOUT_LISTS = {
    "slots": "slots: each row is a display of its own; which rows were one list is not known",
    "counted": "counted: rows are sums of displays and clicks; single lists are not known",
}
#: What is counted, where it is not rows.
_COUNTED = {
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
#: Those that say nothing against a log.
HARMLESS = ("not settled", "several clicks", "test query")


class Malformed(ClickRankError, ValueError):
    """A log breaks a rule of its format, and the reading is strict."""


@dataclasses.dataclass(frozen=True)
class Example:
    """Where a problem was met."""

    file: str
    line: int | None  # from 1 on; None where a file has no lines
    text: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.text}"


@dataclasses.dataclass
class Problem:
    """How often something was wrong, with examples."""

    kind: str
    count: int = 0
    examples: list[Example] = dataclasses.field(default_factory=list)

    @property
    def meaning(self) -> str:
        """What it is, and what became of it."""
        return KINDS[self.kind]

    @property
    def times(self) -> str:
        """How many rows, lists, clicks or files, in words."""
        what = _COUNTED.get(self.kind, "row")
        return f"{self.count:,} {what}{'' if self.count == 1 else 's'}"


class NothingLeft(InvalidValue):
    """All of a log was refused; the message names the most frequent reason."""

    def __init__(
        self, owner: str, rule: str, value: object, problems: Mapping[str, Problem]
    ) -> None:
        self.problems = problems
        text = str(invalid(owner, rule, value))
        lost = [p for p in problems.values() if p.meaning.endswith(("skipped", "left out"))]
        if lost:
            most = max(lost, key=lambda problem: problem.count)
            reason = most.meaning.rpartition(":")[0]
            text += f" Most often ({most.times}) {reason}, as in {most.examples[0]}"
        super().__init__(text)


@dataclasses.dataclass
class Report:
    """What was read.

    Parameters
    ----------
    format
        The name of the format.
    kind
        ``lists``, ``slots`` (displays whose list is not known) or ``counted``.
    files
        Those read.
    columns
        For each column of the log, that of the file it came from.
    first_position
        What the file calls the first position, 0 or 1; None before that is known.
    rows, lists, queries, items, displays, clicks
        What is left of the log after all that was skipped. Of items and queries the distinct ones;
        ``lists`` is None if they are not known.
    problems
        By kind.
    notes
        What else a reader should know.
    strict
        Whether the first problem is an error.
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
    problems: dict[str, Problem] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    strict: bool = False
    _waiting: list[tuple[int, Malformed]] | None = dataclasses.field(
        default=None, init=False, repr=False
    )

    @contextlib.contextmanager
    def lines_at_once(self) -> Iterator[None]:
        """Check many lines; if reading is strict, raise for the first bad one of them."""
        self._waiting = []
        try:
            yield
            if self._waiting:
                raise min(self._waiting, key=lambda found: found[0])[1]
        finally:
            self._waiting = None

    def add(
        self, kind: str, file: str, line: int | None = None, text: str = "", count: int = 1
    ) -> None:
        """Note a problem; raise if reading is strict and it is one."""
        found = self.problems.setdefault(kind, Problem(kind))
        found.count += count
        if len(found.examples) < EXAMPLES:
            found.examples.append(Example(file, line, _cut(text)))
        if self.strict and kind not in HARMLESS:
            where = Example(file, line, _cut(text))
            error = Malformed(f"{where}: {KINDS[kind].rpartition(':')[0]}.")
            if self._waiting is None or line is None:
                raise error
            self._waiting.append((line, error))

    def wants_example(self, kind: str) -> bool:
        """Whether there is room for another example of a problem, or it is to be raised."""
        if self.strict and kind not in HARMLESS:
            return True
        return kind not in self.problems or len(self.problems[kind].examples) < EXAMPLES

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        facts = dataclasses.asdict(self)
        del facts["strict"], facts["_waiting"]
        for kind, problem in facts["problems"].items():
            problem["meaning"] = KINDS[kind]
            problem["counted"] = _COUNTED.get(kind, "row") + "s"
        return facts

    @property
    def remarks(self) -> list[str]:
        """What to say below the table: the kind of the log, if it has no lists, and notes."""
        return [*([WITHOUT_LISTS[self.kind]] if self.kind in WITHOUT_LISTS else []), *self.notes]

    def table(self) -> Table:
        """Return what was read as a table to print."""
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
            table.add_row("clicks a display", f"{self.clicks / self.displays:.4f}")
        if self.first_position is not None:
            table.add_row("first position in the file", str(self.first_position))
        return table


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"


def problems_table(problems: Mapping[str, Problem]) -> Table:
    """Return problems as a table to print."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("problem", "how many", "what it means", "examples")
    table.columns[1].justify = "right"
    for problem in problems.values():
        shown = "\n".join(str(example) for example in problem.examples)
        table.add_row(problem.kind, problem.times, problem.meaning, escape(shown))
    return table


def merged(first: Mapping[str, Problem], second: Mapping[str, Problem]) -> dict[str, Problem]:
    """Return the problems of both."""
    found = {**first}
    for kind, problem in second.items():
        before = found.get(kind, Problem(kind))
        examples = [*before.examples, *problem.examples][:EXAMPLES]
        found[kind] = Problem(kind, before.count + problem.count, examples)
    return found
