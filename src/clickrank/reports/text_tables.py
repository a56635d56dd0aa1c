"""Tables and lists of text, for the terminal and for HTML pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table


class TextTable(NamedTuple):
    """A table whose cells are text; the first cell of a row is its name.

    ``remarks`` are shown on a page after the name of their row, in small type.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    remarks: Mapping[str, Sequence[str]] = {}

    def rich(self) -> Table:
        """Return the table for the terminal, without its caption, which may be wider.

        >>> from rich.console import Console
        >>> table = TextTable("Regret", ("policy", "mean"), [("grab", "12.5")])
        >>> Console(width=40).print(table.rich())
        ┏━━━━━━━━┳━━━━━━┓
        ┃ policy ┃ mean ┃
        ┡━━━━━━━━╇━━━━━━┩
        │ grab   │ 12.5 │
        └────────┴──────┘
        """
        from rich.markup import escape
        from rich.table import Table

        table = Table()
        for i, head in enumerate(self.heads):
            table.add_column(escape(head), justify="left" if i == 0 else "right", no_wrap=i == 0)
        for row in self.rows:
            table.add_row(*(escape(cell) for cell in row))
        return table


def each_once(sentences: Mapping[str, Iterable[str]]) -> list[str]:
    """Return each sentence once, after all names that have it.

    >>> each_once({"pbm": ["No clicks."], "dcm": ["No clicks."]})
    ['pbm, dcm: No clicks.']
    """
    names: dict[str, list[str]] = {}
    for name, own in sentences.items():
        for sentence in own:
            names.setdefault(sentence, []).append(name)
    return [f"{', '.join(having)}: {sentence}" for sentence, having in names.items()]
