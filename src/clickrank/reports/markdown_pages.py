"""Markdown pages: Jinja2 templates of this folder, with text made safe for Markdown."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from clickrank.reports.html_pages import TEMPLATES
from clickrank.reports.text_tables import TextTable

if TYPE_CHECKING:
    from jinja2 import Environment


def render_markdown(template: str, **values: Any) -> str:
    """Return the page that a template makes of some values, with single empty lines."""
    text = _environment().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def plain(text: str) -> str:
    r"""Return a sentence in which only code between backticks means something to Markdown.

    >>> plain("Epoch-UCB* | `a*b`")
    'Epoch-UCB\\* \\| `a*b`'
    """
    parts = re.split(r"(`[^`]*`)", text)
    safe = [re.sub(r"([*<|])", r"\\\1", part) for part in parts[::2]]
    return "".join(a + b for a, b in zip(safe, [*parts[1::2], ""], strict=True))


def markdown_table(table: TextTable) -> str:
    """Return a table; its cells are text, not Markdown, unless they have links.

    >>> print(markdown_table(TextTable("", ("policy", "mean"), [("grab", "12.5")])))
    | policy | mean |
    |---|---|
    | grab | 12.5 |
    """
    lines = [table.heads, ["---"] * len(table.heads), *table.rows]
    rows = [
        "|" + "|".join(line if line == "---" else f" {cell(line)} " for line in row) + "|"
        for row in lines
    ]
    return "\n".join(rows)


def cell(text: str) -> str:
    r"""Return the text of one cell; a link in Markdown stays one.

    >>> cell("[a](b.md)"), cell("a | b")
    ('[a](b.md)', 'a \\| b')
    """
    if re.fullmatch(r"(\*\*)?\[[^]]*\]\([^)]*\)(\*\*)?", text):
        return text
    return plain(text)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,  # Markdown is not HTML; `plain` escapes
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = plain
    environment.filters["table"] = markdown_table
    return environment
