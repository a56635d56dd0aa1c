"""Pictures written as SVG text, without matplotlib: small files, the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.plots.figure_style import INK, SOFT, look, spread

#: Light where numbers are small, in print and for the colour-blind too: the ends of a scale.
_LIGHT, _DARK = (247, 240, 206), (18, 52, 96)
_FONT = "font-family='Helvetica, Arial, sans-serif'"


class MapCell(NamedTuple):
    """A cell of a map: its text, and its shade from 0 (light) to 1 (dark); None is white."""

    text: str
    shade: float | None


class LabelledLine(NamedTuple):
    """A line with the label at its end."""

    label: str
    x: Ints
    y: Floats


def shade_of(value: float, low: float, high: float) -> float:
    """Return where a value lies between two others on a logarithmic scale, from 0 to 1.

    >>> [shade_of(x, 1.0, 100.0) for x in (0.1, 10.0, 100.0)]
    [0.0, 0.5, 1.0]
    """
    inside = min(max(value, low), high)
    return math.log(inside / low) / math.log(high / low)


def map_svg(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[MapCell]],
    remarks: Sequence[str] = (),
) -> str:
    """Return a table of shaded cells with a number in each, as an SVG file.

    >>> map_svg("Regret", ["grab"], ["shop"], [[MapCell("12", 0.5)]]).startswith("<svg")
    True
    """
    left, top, wide, high = 150, 130, 56, 20
    width = left + wide * len(columns) + 70
    height = top + high * len(rows) + 18 * len(remarks) + 16
    parts = [_text(10, 22, title, size=15, weight="bold")]
    for j, column in enumerate(columns):
        x, y = left + wide * (j + 0.5), top - 8
        turned = f" transform='rotate(-40 {x:g} {y})'"
        parts.append(_text(x, y, column, size=11, more=turned))
    for i, (row, of_row) in enumerate(zip(rows, cells, strict=True)):
        y = top + high * i
        parts.append(_text(left - 8, y + 14, row, size=11, anchor="end"))
        for j, cell in enumerate(of_row):
            x = left + wide * j
            fill = "#ffffff" if cell.shade is None else _colour(cell.shade)
            parts.append(
                f"<rect x='{x}' y='{y}' width='{wide - 2}' height='{high - 2}' fill='{fill}'/>"
            )
            dark = cell.shade is not None and cell.shade > 0.5
            ink = SOFT if cell.shade is None else "#ffffff" if dark else INK
            middle = x + wide / 2 - 1
            parts.append(_text(middle, y + 13, cell.text, size=10, anchor="middle", fill=ink))
    for i, remark in enumerate(remarks):
        parts.append(_text(10, top + high * len(rows) + 18 * (i + 1), remark, size=11))
    return _svg(width, height, title, parts)


def lines_svg(title: str, lines: Sequence[LabelledLine], xlabel: str, ylabel: str) -> str:
    """Return lines on two logarithmic axes as an SVG file. What is not above 0 is left out.

    >>> line = LabelledLine("grab", np.array([1, 10]), np.array([1.0, 5.0]))
    >>> lines_svg("Regret", [line], "round", "regret").count("<polyline")
    1
    """
    shown = [line for line in lines if (line.y > 0.0).any()]
    values = np.concatenate([line.y[line.y > 0.0] for line in shown] or [np.ones(1)])
    left, top, wide = 60, 40, 430
    tall = max(260, 14 * len(shown))
    low, high = max(float(values.min()), float(values.max()) * 1e-5), float(values.max())
    first = min((float(line.x[0]) for line in shown), default=1.0)
    last = max((float(line.x[-1]) for line in shown), default=1.0)

    def across(x: float) -> float:
        return left + wide * shade_of(x, first, max(last, first * 10.0))

    def up(y: float) -> float:
        return top + tall * (1.0 - shade_of(y, low, max(high, low * 10.0)))

    parts = [_text(10, 22, title, size=14, weight="bold")]
    for tick in _powers(first, last):
        parts += [
            _rule(across(tick), top, across(tick), top + tall),
            _text(across(tick), top + tall + 15, f"{tick:,.0f}", size=10, anchor="middle"),
        ]
    for tick in _powers(low, high):
        parts += [
            _rule(left, up(tick), left + wide, up(tick)),
            _text(left - 5, up(tick) + 4, f"{tick:,.10g}", size=10, anchor="end"),
        ]
    parts.append(_text(left + wide / 2, top + tall + 32, xlabel, size=11, anchor="middle"))
    turned = f" transform='rotate(-90 14 {top + tall / 2:g})'"
    parts.append(_text(14, top + tall / 2, ylabel, size=11, anchor="middle", more=turned))
    ends = [1.0 - (up(float(line.y[-1])) - top) / tall for line in shown]
    heights = spread([min(max(end, 0.0), 1.0) for end in ends], gap=14 / tall)
    for i, (line, height) in enumerate(zip(shown, heights, strict=True)):
        style = look(i)
        keep = line.y >= low
        xs, ys = line.x[keep].tolist(), line.y[keep].tolist()
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in zip(xs, ys, strict=True))
        dashes = (
            "" if isinstance(style.line, str) else " ".join(f"{2 * d:g}" for d in style.line[1])
        )
        stroke = f"fill='none' stroke='{style.colour}' stroke-width='1.6'"
        dashed = f" stroke-dasharray='{dashes}'" if dashes else ""
        parts.append(f"<polyline points='{points}' {stroke}{dashed}/>")
        y = top + tall * (1.0 - height)
        joint = f"M{left + wide:g} {up(float(line.y[-1])):.1f}L{left + wide + 14:g} {y:.1f}"
        parts.append(f"<path d='{joint}' {stroke} stroke-opacity='0.5'/>")
        parts.append(_text(left + wide + 18, y + 4, line.label, size=11, fill=style.colour))
    return _svg(left + wide + 160, top + tall + 44, title, parts)


def _powers(low: float, high: float) -> list[float]:
    """Return the powers of ten between two numbers.

    >>> _powers(0.5, 120.0)
    [1.0, 10.0, 100.0]
    """
    exponents = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    return [10.0**exponent for exponent in exponents]


def _colour(shade: float) -> str:
    mixed = (round(a + (b - a) * shade) for a, b in zip(_LIGHT, _DARK, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f"<path d='M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}' stroke='#e4e4e4'/>"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    anchor: str = "start",
    weight: str = "normal",
    fill: str = INK,
    more: str = "",
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' "
        f"font-weight='{weight}' fill='{fill}'{more}>{escape(text)}</text>"
    )


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' "
            f"width='{width:g}' height='{height:g}' "
            f"role='img' aria-label='{escape(title)}' {_FONT}>",
            f"<rect width='{width:g}' height='{height:g}' fill='#ffffff'/>",
            *parts,
            "</svg>",
            "",
        ]
    )
