"""Measured curves: those of the shipped runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from clickrank.errors import MissingData
from clickrank.experiments import list_experiments
from clickrank.experiments.decided_outcomes import outcomes_in
from clickrank.experiments.measured_curves import (
    load_measured,
    measured_figure,
    write_measured,
)
from clickrank.experiments.paper_files import select
from clickrank.experiments.run_archive import SHIPPED, RunArchive


def test_measured_curves_are_those_of_the_shipped_runs(tmp_path: Path) -> None:
    """If not, ``benchmarks/decide.py --pages`` writes them again."""
    known = list_experiments()
    shipped = load_measured()
    archive = RunArchive(SHIPPED)
    chosen = select("grant-2020", known) + select("lagree-2016", known)
    for outcome in outcomes_in(chosen, archive, tmp_path, known):
        found = shipped[outcome.experiment.name]
        again = measured_figure(outcome, found.drawing)
        assert [c.curve for c in again.curves] == [c.curve for c in found.curves]
        for one, other in zip(again.curves, found.curves, strict=True):
            assert one.runs == other.runs
            numbers = [(c.mean, c.median, c.low or 0.0, c.high or 0.0) for c in (one, other)]
            assert numbers[0] == pytest.approx(numbers[1], rel=1e-6)


def test_measured_curves_are_written_and_read(tmp_path: Path) -> None:
    shipped = load_measured()
    path = tmp_path / "measured.json"
    write_measured(shipped.values(), path)
    assert load_measured(path) == shipped
    with pytest.raises(MissingData, match="must exist"):
        load_measured(tmp_path / "nothing.json")


def test_the_cells_of_a_grid_are_left_out() -> None:
    assert len(load_measured()["gauthier-2022/figure-4-6a"].curves) <= 1
