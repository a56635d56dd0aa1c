"""Style of all figures: colours, line styles, axes and labels at the ends of lines."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from clickrank._core.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any common form of colour blindness can distinguish.
# Their yellow is too faint on paper and their black is for reference lines: grey and brown instead.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6F6F6F", "#7A4B12")
# With four line styles and nine markers, no two of the first 36 curves look alike, even in grey.
LINES = ("solid", (0, (6, 1.8)), (0, (1.4, 1.4)), (0, (6, 1.6, 1.4, 1.6)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
INK = "#1a1a1a"
SOFT = "#8a8a8a"
SIZE = (7.2, 4.4)  # inches


class Look(NamedTuple):
    """Colour, line style and marker of a curve."""

    colour: str
    line: str | tuple[int, tuple[float, ...]]
    marker: str


def look(i: int) -> Look:
    """Return the colour, line style and marker of the i-th curve."""
    return Look(COLOURS[i % len(COLOURS)], LINES[i % len(LINES)], MARKERS[i % len(MARKERS)])


def require_matplotlib() -> None:
    """Raise if matplotlib is missing, with the command that installs it."""
    require("Figures need", "plots", but=("jinja2",))


def new_axes(title: str, xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    """Return a figure with one empty pair of axes, without decoration."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=150)
    axes = figure.add_axes((0.1, 0.165, 0.69, 0.745 if title else 0.795))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(SOFT)
    axes.tick_params(which="both", colors=INK, labelsize=9)
    axes.tick_params(which="both", color=SOFT)
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(xlabel, color=INK, fontsize=10)
    axes.set_ylabel(ylabel, color=INK, fontsize=10)
    if title:
        axes.set_title(title, loc="left", color=INK, fontsize=11, fontweight="bold", pad=10)
    return figure, axes


class End(NamedTuple):
    """The end of a line, where its label goes."""

    label: str
    x: float
    y: float
    colour: str
    marker: str


def label_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write each label next to the end of its line, moved where labels would overlap.

    Call it last, as it reads and fixes the limits of the axes.
    """
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    left, bottom, width, height = axes.get_position().bounds
    longest = max(len(end.label) for end in ends)
    width = max(0.4, min(width, 0.98 - left - 0.058 - 0.0115 * longest))
    axes.set_position((left, bottom, width, height))
    to_axes = axes.transData + axes.transAxes.inverted()
    places = [to_axes.transform((end.x, end.y)) for end in ends]
    heights = spread([min(max(float(p[1]), 0.0), 1.0) for p in places], gap=0.058)
    for end, (x, y), at in zip(ends, places, heights, strict=True):
        axes.plot(
            (x, 1.035), (y, at), color=end.colour, linewidth=0.8,
            transform=axes.transAxes, clip_on=False,
        )  # fmt: skip
        if end.marker:
            axes.plot(
                1.05, at, marker=end.marker, markersize=5.5, color=end.colour,
                transform=axes.transAxes, clip_on=False,
            )  # fmt: skip
        axes.text(
            1.075, at, end.label, transform=axes.transAxes, color=INK, fontsize=9,
            verticalalignment="center", clip_on=False,
        )  # fmt: skip


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move heights in [0, 1] by as little as possible so that neighbours are a gap apart.

    >>> spread([0.5, 0.9, 0.5], gap=0.1)
    [0.45, 0.9, 0.55]
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups: list[tuple[float, int]] = []  # (centre, members), from the lowest
    for i in order:
        centre, size = heights[i], 1
        while groups and groups[-1][0] + gap * (groups[-1][1] + size) / 2 > centre:
            below, many = groups.pop()
            centre = (below * many + centre * size) / (many + size)
            size += many
            # A group extends beyond the axes only if it is taller than they are.
            half = gap * (size - 1) / 2
            centre = max(min(centre, 1.0 - half), half)
        groups.append((centre, size))
    flat = [c + gap * (k - (n - 1) / 2) for c, n in groups for k in range(n)]
    out = [0.0] * len(flat)
    for i, height in zip(order, flat, strict=True):
        out[i] = height
    return out


def note(figure: Figure, text: str) -> None:
    """Write one small line under the axes."""
    figure.text(0.1, 0.018, text, fontsize=7.5, color=INK)


def svg(figure: Figure, name: str) -> str:
    """Return a figure as an ``<svg>`` element for a page. Equal figures give equal text.

    ``name`` makes the identifiers of figures on one page different.
    """
    # An <svg> element inside a page needs no XML namespaces.
    element = _element(figure, name, "path", transparent=True)
    return re.sub(r' xmlns(:xlink)?="[^"]*"', "", element).replace("xlink:href=", "href=")


def svg_file(figure: Figure, name: str) -> str:
    """Return a figure as the text of a small SVG file. Equal figures give equal text.

    The background is white. Labels are text in the reader's font, coordinates have one decimal, and
    small ticks are left out.
    """
    for axes in figure.axes:
        axes.minorticks_off()
    text = re.sub(
        r"<!--.*?-->", "", _element(figure, name, "none", transparent=False), flags=re.DOTALL
    )
    text = re.sub(r"font-family: [^;]*", "font-family: sans-serif", text)
    text = re.sub(r'<g id="[^"]*_\d+">', "<g>", text)
    text = re.sub(r"(\d\.\d)\d+", r"\1", text)
    text = re.sub(r"\s+", " ", text).replace("> <", "><")
    return text.replace("<g><", "<g>\n<") + "\n"


def _element(figure: Figure, name: str, fonts: str, *, transparent: bool) -> str:
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": f"clickrank/{name}", "svg.fonttype": fonts}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing, transparent=transparent)
    text = file.getvalue()
    return text[text.index("<svg") :].strip()
