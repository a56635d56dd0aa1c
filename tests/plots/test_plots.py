"""Figures: what is drawn, and that drawing the same twice gives the same."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clickrank.errors import InvalidValue, MissingExtra
from clickrank.plots import (
    Curve,
    Reference,
    Sample,
    grid_figure,
    regret_figure,
    survival_figure,
    svg,
    svg_file,
)
from clickrank.plots.figure_style import look, spread

X = np.array([1, 10, 100, 1000])


def curve(label: str, scale: float = 1.0) -> Curve:
    mean = scale * np.array([1.0, 3.0, 5.0, 7.0])
    return Curve(label, X, mean, mean - 0.5, mean + 0.5)


def texts(figure: object) -> set[str]:
    axes = figure.axes[0]  # type: ignore[attr-defined]
    return {text.get_text() for text in axes.texts}


def test_every_curve_and_bound_is_named_at_its_end() -> None:
    bound = Reference("lower bound", X.astype(float), np.log(X))
    figure = regret_figure([curve("a"), curve("b", 2)], title="Title", bounds=[bound])
    assert texts(figure) == {"a", "b", "lower bound"}
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_title(loc="left") == "Title"


def test_the_bound_is_black_and_dashed() -> None:
    bound = Reference("bound", X.astype(float), np.log(X))
    line = regret_figure([curve("a")], bounds=[bound]).axes[0].lines[0]
    assert line.get_color() == "black"
    assert line.get_linestyle() == "--"


def test_bands_can_be_left_out_and_may_be_unknown() -> None:
    with_bands = regret_figure([curve("a")])
    assert len(with_bands.axes[0].collections) == 1
    assert not regret_figure([curve("a")], bands=False).axes[0].collections
    nan = np.full(4, np.nan)
    single = regret_figure([curve("a")._replace(low=nan, high=nan)])
    svg(single, "single run")  # draws


@pytest.mark.parametrize("yscale", ["log", "linear"])
def test_a_policy_that_loses_nothing_can_be_drawn(yscale: str) -> None:
    zero = Curve("oracle", X, np.zeros(4), np.zeros(4), np.zeros(4))
    for curves in ([zero], [zero, curve("a")]):
        figure = regret_figure(curves, yscale=yscale)  # type: ignore[arg-type]
        named = " ".join([*texts(figure), *(text.get_text() for text in figure.texts)])
        assert "oracle" in named  # at its line, or in the note where a log axis has no room for it
        svg(figure, "oracle")


def test_no_curves_and_unknown_scales_are_errors() -> None:
    with pytest.raises(InvalidValue, match="curves must not be empty"):
        regret_figure([])
    with pytest.raises(InvalidValue, match="'log' or 'linear'"):
        regret_figure([curve("a")], xscale="sqrt")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="every sample must have values"):
        survival_figure([Sample("a", np.array([]))])


def test_no_two_of_many_curves_look_alike() -> None:
    assert len({look(i) for i in range(40)}) == 40


def test_labels_are_a_gap_apart_and_keep_their_order() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        heights = rng.random(rng.integers(1, 15)).tolist()
        moved = spread(heights, gap=0.05)
        order = np.argsort(heights, kind="stable")
        assert (np.diff(np.array(moved)[order]) >= 0.05 - 1e-9).all()
        assert min(moved) >= -1e-9
        assert max(moved) <= 1 + 1e-9


def test_long_labels_stay_inside_the_figure() -> None:
    figure = regret_figure([curve("a policy with quite a long label")])
    figure.draw_without_rendering()
    right = max(t.get_window_extent().x1 for t in figure.axes[0].texts)
    assert right <= figure.bbox.x1


def test_survival_shows_the_share_of_runs_that_lose_as_much() -> None:
    figure = survival_figure([Sample("a", np.array([4.0, 1.0, 2.0, 3.0]))])
    line = figure.axes[0].lines[0]
    assert np.asarray(line.get_xdata()).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.asarray(line.get_ydata()).tolist() == [1.0, 0.75, 0.5, 0.25]


def test_svg_is_the_same_twice_and_names_no_address() -> None:
    first, second = (svg(regret_figure([curve("a"), curve("b", 3)]), "x") for _ in range(2))
    assert first == second
    assert first.startswith("<svg")
    assert "http" not in first


def test_svg_file_is_small_and_complete() -> None:
    first, second = (svg_file(regret_figure([curve("a"), curve("b", 3)]), "x") for _ in range(2))
    assert first == second
    assert len(first) < len(svg(regret_figure([curve("a"), curve("b", 3)]), "x"))
    assert "cumulative regret" in first
    assert ElementTree.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"


def test_two_figures_of_one_page_share_no_clip_path() -> None:
    one, two = (svg(regret_figure([curve("a")]), name) for name in ("one", "two"))
    ids = [{part.split('"')[0] for part in t.split('clipPath id="')[1:]} for t in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_figures_can_be_saved(tmp_path: Path) -> None:
    for kind in ("png", "pdf", "svg"):
        path = tmp_path / f"figure.{kind}"
        regret_figure([curve("a")]).savefig(path)
        assert path.stat().st_size > 1000


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"need matplotlib: pip install .*\[plots\]'"):
        regret_figure([curve("a")])


def test_a_map_shows_every_number_and_marks_the_smallest() -> None:
    values = np.array([[30.0, 2.0, np.nan], [4000.0, 5.0, 6.0]])
    figure = grid_figure([0.1, 1, 10], [1, 2], values, xlabel="step", ylabel="noise")
    assert texts(figure) == {"30", "2", "4,000", "5", "6"}
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0.1", "1", "10"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["1", "2"]
    (mark,) = axes.lines
    assert (mark.get_xdata(), mark.get_ydata()) == ([1], [0])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "noise")
    svg(figure, "map")


def test_a_map_of_zeros_or_of_one_number_can_be_drawn() -> None:
    for values in (np.zeros((1, 2)), np.full((1, 2), 3.0)):
        svg(grid_figure([1, 2], [1], values), "flat")
    for values in (np.full((1, 2), np.nan), np.zeros((2, 1))):
        with pytest.raises(InvalidValue, match=r"values must have shape \(1, 2\) and not be NaN"):
            grid_figure([1, 2], [1], values)


def test_a_grid_marks_cells_whose_runs_were_stopped() -> None:
    """Their number is a lower bound, so that a small one is not the smallest regret."""
    values = np.array([[20.0, 3.0], [300.0, 40.0]])
    stopped = np.array([[False, True], [False, False]])
    (axes,) = grid_figure([1.0, 2.0], [1.0, 2.0], values, stopped=stopped).axes
    texts = {text.get_text(): text for text in axes.texts}
    assert {"20", "≥ 3", "300", "40"} <= set(texts)
    assert [name for name, text in texts.items() if text.get_fontweight() == "bold"] == ["20"]
