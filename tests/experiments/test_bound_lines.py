"""Bounds next to the curves of a figure: drawn where they say something, else explained."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clickrank import bounds
from clickrank.clickmodels import PBM, Cascade
from clickrank.experiments import list_experiments
from clickrank.experiments.bound_lines import LINES, reference_lines

PAGE = PBM([0.9, 0.6, 0.3], [1.0, 0.5])
ROUNDS = np.geomspace(1, 1e6, 13)


def test_lines_are_averaged_over_models() -> None:
    other = PBM([0.8, 0.5, 0.3], [1.0, 0.5])
    (line,), reasons = reference_lines(["pb-lower"], {"a": PAGE, "b": other}, ROUNDS)
    constant = (bounds.pb_lower_bound(PAGE) + bounds.pb_lower_bound(other)) / 2
    assert line.y == pytest.approx(constant * np.log(line.x))
    assert line.x[-1] == ROUNDS[-1]
    assert not reasons


def test_only_the_part_that_says_something_is_drawn() -> None:
    (line,), _ = reference_lines(["grab-upper"], {"": PAGE}, ROUNDS)
    constant = bounds.grab_upper_bound(PAGE)
    assert (constant * np.log(line.x) < PAGE.best_value() * line.x).all()
    left_out = ROUNDS[1 : -line.x.size]  # the first round has log 1 = 0
    assert left_out.size > 0
    assert (constant * np.log(left_out) >= PAGE.best_value() * left_out).all()


def test_what_is_not_drawn_has_a_reason() -> None:
    lines, (vacuous,) = reference_lines(["grab-upper"], {"": PAGE}, np.geomspace(1, 100, 5))
    assert not lines
    assert "above all 120 clicks that could be lost" in vacuous
    tied = PBM([0.5, 0.5, 0.1], [1.0, 0.5])
    lines, reasons = reference_lines(["pb-lower", "unirank-upper"], {"": tied}, ROUNDS)
    assert not lines
    assert "must differ in attraction" in reasons[0]
    assert "infinite" in reasons[1]
    no_choice = Cascade([0.5, 0.3], n_positions=2)  # every list is as good
    lines, reasons = reference_lines(["unirank-upper"], {"": no_choice}, ROUNDS)
    assert not lines
    assert "it is 0 here" in reasons[0]


def test_every_line_is_drawn_by_some_figure() -> None:
    used = {name for e in list_experiments() for name in e.figure.references}
    assert used == set(LINES)


def test_a_cascade_has_the_upper_bound_of_unirank_alone() -> None:
    page = Cascade([0.5, 0.3, 0.1], n_positions=2)
    lines, reasons = reference_lines(["unirank-upper", "grab-upper"], {"": page}, ROUNDS)
    assert [line.label for line in lines] == ["upper bound of UniRank"]
    assert math.isclose(lines[0].y[-1], 16 * 0.4 / 0.2 * math.log(1e6))
    assert "must be a PBM" in reasons[0]
