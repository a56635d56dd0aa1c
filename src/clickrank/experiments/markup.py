"""What reports are put together from: escaped text, tables, figures, badges; and the versions."""

from __future__ import annotations

import html
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import numba
import numpy as np
import scipy

import clickrank
from clickrank._compile.jit import fingerprint

HERE = Path(__file__).parent


def style() -> str:
    """Return the style sheet of all reports."""
    return (HERE / "report.css").read_text(encoding="utf-8")


def versions() -> dict[str, str]:
    """Return what the numbers depend on besides the experiment: versions and the code's hash."""
    return {
        "clickrank": f"{clickrank.__version__} (code {fingerprint()})",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "Numba": numba.__version__,
        "SciPy": scipy.__version__,
    }


def escaped(value: str) -> str:
    """Return a text as it is written in a page."""
    return html.escape(value)


def drawing(element: str, label: str) -> str:
    """Return a drawing with what it shows in words."""
    return f'<figure role="img" aria-label="{escaped(label)}">{element}</figure>'


def badge(kind: str, words: str) -> str:
    """Return a few words in a frame; its kind is "holds", "fails", "undecided" or "history"."""
    return f'<span class="badge {kind}">{escaped(words)}</span>'


def definitions(facts: dict[str, str]) -> str:
    """Return names with what they stand for."""
    rows = "".join(f"<dt>{escaped(k)}</dt><dd>{escaped(v)}</dd>" for k, v in facts.items())
    return f"<dl>{rows}</dl>"


def listed(sentences: Iterable[str]) -> str:
    """Return sentences as a list."""
    return f"<ul>{''.join(f'<li>{escaped(s)}</li>' for s in sentences)}</ul>"


def numbers_table(
    caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> str:
    """Return a table of numbers; the name of each row comes as it is written in a page."""
    return _table("numbers", caption, heads, rows)


def words_table(
    caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> str:
    """Return a table of words; the name of each row comes as it is written in a page."""
    return _table("words", caption, heads, rows)


def _table(
    kind: str, caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> str:
    head = "".join(f'<th scope="col">{escaped(h)}</th>' for h in heads)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{escaped(n)}</td>" for n in numbers)}</tr>'
        for name, numbers in rows
    )
    return (
        f'<div class="wide"><table class="{kind}"><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
