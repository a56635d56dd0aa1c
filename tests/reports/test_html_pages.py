"""Pages are made from templates that extend one base, escape all text and miss no value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from clickrank.plots import Curve, position_figure
from clickrank.reports.html_pages import (
    TEMPLATES,
    drawing_of,
    render_page,
    versions,
    write_page,
)
from clickrank.reports.text_tables import TextTable

EVIL = '<script>alert("&")</script>'
VALUES = {
    "title": EVIL,
    "source": EVIL,
    "sections": [],
    "interrupted": False,
    "facts": {EVIL: EVIL},
}


def section(**parts: object) -> dict[str, object]:
    return {"title": EVIL, "answer": [EVIL], "findings": [], "sentences": [EVIL], **parts}


def test_text_is_escaped_everywhere() -> None:
    table = TextTable(EVIL, (EVIL, EVIL), [(EVIL, EVIL)], {EVIL: [EVIL]})
    sections = [section(findings=[(None, table)])]
    page = render_page("advice.html", **{**VALUES, "sections": sections})
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 3 + 3 + 6 + 2


def test_a_figure_is_an_svg_element_with_an_escaped_label() -> None:
    import numpy as np

    x = np.arange(1.0, 4.0)
    figure = position_figure([Curve("a < b", x, x, x, x)], ylabel="y")
    drawing = drawing_of(figure, "name", EVIL)
    table = TextTable("", (), [])
    page = render_page(
        "advice.html", **{**VALUES, "sections": [section(findings=[(drawing, table)])]}
    )
    assert page.count("<svg") == 1
    assert 'aria-label="&lt;script&gt;' in page


@pytest.mark.parametrize("missing", sorted(VALUES))
def test_a_missing_value_is_an_error(missing: str) -> None:
    values = {name: value for name, value in VALUES.items() if name != missing}
    with pytest.raises(UndefinedError, match=missing):
        render_page("advice.html", **values)


def test_all_pages_extend_one_base_and_share_one_style_sheet() -> None:
    pages = {path.name: path.read_text() for path in TEMPLATES.glob("*.html")}
    shared = {"base.html", "parts.html"}
    assert len(pages) > len(shared)
    for name, text in pages.items():
        assert text.startswith('{% extends "base.html" %}') == (name not in shared)
        assert ("<style" in text) == (name == "base.html")
    assert [path.name for path in TEMPLATES.glob("*.css")] == ["report.css"]


def test_a_page_needs_no_other_file() -> None:
    page = render_page("advice.html", **VALUES)
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\(|https?://", page)
    assert "prefers-color-scheme: dark" in page


def test_the_folder_of_a_page_is_created(tmp_path: Path) -> None:
    path = write_page(tmp_path / "new" / "page.html", "text")
    assert path.read_text() == "text"


def test_versions_name_what_results_depend_on() -> None:
    assert list(versions()) == ["clickrank", "Python", "NumPy", "Numba", "SciPy"]
