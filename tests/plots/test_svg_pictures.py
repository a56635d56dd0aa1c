"""Pictures written as SVG text: they are XML, and their labels are text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from clickrank.plots.svg_pictures import LabelledLine, MapCell, lines_svg, map_svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    """Return the texts of a picture."""
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_a_map_has_a_cell_with_its_text_for_each_row_and_column() -> None:
    cells = [[MapCell("1", 0.0), MapCell("—", None)], [MapCell("9", 1.0), MapCell("3", 0.5)]]
    picture = map_svg("Less < more & better", ["a", "b"], ["x", "y"], cells, ["A remark"])
    assert texts(picture) == [
        "Less < more & better", "x", "y", "a", "1", "—", "b", "9", "3", "A remark",
    ]  # fmt: skip
    rectangles = ElementTree.fromstring(picture).findall(f"{SVG}rect")
    assert len(rectangles) == 1 + 4
    assert len({rectangle.get("fill") for rectangle in rectangles}) == 4


def test_lines_are_drawn_where_they_are_above_zero() -> None:
    x = np.array([1, 10, 100])
    lines = [
        LabelledLine("grab", x, np.array([0.0, 2.0, 40.0])),
        LabelledLine("oracle", x, np.zeros(3)),
    ]
    picture = lines_svg("Regret", lines, "round", "regret")
    (line,) = ElementTree.fromstring(picture).findall(f"{SVG}polyline")
    assert len(str(line.get("points")).split()) == 2
    assert {"Regret", "round", "regret", "grab", "10", "100"} <= set(texts(picture))
    assert "oracle" not in texts(picture)


def test_nothing_to_draw_is_an_empty_picture() -> None:
    picture = lines_svg("Regret", [], "round", "regret")
    assert ElementTree.fromstring(picture).findall(f"{SVG}polyline") == []
