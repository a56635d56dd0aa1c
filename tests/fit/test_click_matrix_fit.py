"""Fits of the click matrix to logs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from clickrank._core.arrays import Ints
from clickrank.fit import fit_click_matrix, fit_dctr, fit_pbm
from clickrank.logs import Cells, Counts
from clickrank.logs.counts import texts
from tests.clicks import MATRIX, log_of


def of_cells(shown: Ints, clicked: Ints) -> Counts:
    """Return the counts of one query without lists."""
    pair, position = np.nonzero(shown)
    cells = Cells(pair, position, shown[pair, position], clicked[pair, position])
    names = texts([str(i) for i in range(len(shown))])
    pairs = np.zeros(len(shown), dtype=np.int64)
    return Counts(shown.shape[1], texts([""]), pairs, names, cells, None)


def test_the_matrix_is_found_within_standard_errors() -> None:
    """24 cells beyond 4.5 standard errors: once in 6,000 seeds, and this one is fixed."""
    counts = log_of("click-matrix", 20_000, seed=1)
    found = fit_click_matrix(counts)
    assert (np.abs(found.probabilities - MATRIX) <= 4.5 * found.probabilities_error).all()
    views = counts.cells.shown.mean()
    expected = np.sqrt(MATRIX * (1.0 - MATRIX) / views)
    assert found.probabilities_error == pytest.approx(expected, rel=0.25)
    assert found.not_identified == ()
    assert (found.model().probabilities == found.probabilities).all()
    assert found.model().best_ranking().tolist() != fit_pbm(counts).model().best_ranking().tolist()


def test_intervals_cover_the_truth_as_often_as_they_should() -> None:
    """60 logs of 24 cells: 1,440 intervals of 95 %, the share's own error is 0.6 %."""
    hits = []
    for seed in range(60):
        found = fit_click_matrix(log_of("click-matrix", 3_000, seed=100 + seed))
        hits.append(np.abs(found.probabilities - MATRIX) <= 1.96 * found.probabilities_error)
    assert 0.92 <= np.mean(hits) <= 0.975


def test_rates_of_rank_one_are_the_products_of_the_position_based_model() -> None:
    shown = np.full((3, 2), 1000)
    product = np.outer([0.8, 0.4, 0.2], [1.0, 0.5])
    counts = of_cells(shown, (shown * product).round().astype(int))
    free, pbm = fit_click_matrix(counts), fit_pbm(counts)
    assert free.probabilities == pytest.approx(product, abs=1e-12)
    assert np.outer(pbm.attraction, pbm.examination) == pytest.approx(product, abs=1e-6)
    assert free.log_likelihood == pytest.approx(pbm.log_likelihood, abs=1e-6)


@pytest.mark.parametrize("shrinkage", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("model", ["dctr", "pbm", "click-matrix"])
def test_special_cases_are_never_more_likely(model: str, shrinkage: float) -> None:
    """With shrinkage the maximum is over the same views added as in the position-based model."""
    counts = log_of(model, 400)
    free = fit_click_matrix(counts, shrinkage=shrinkage)
    pbm = fit_pbm(counts, shrinkage=shrinkage)
    assert free.log_likelihoods[-1] >= pbm.log_likelihoods[-1] - 1e-9
    if shrinkage == 0.0:
        assert free.log_likelihood >= pbm.log_likelihood - 1e-9
        assert free.log_likelihood >= fit_dctr(counts).log_likelihood
        assert counts.sessions is not None
        by_list = free.log_probabilities(counts.sessions) @ counts.sessions.times
        assert by_list == pytest.approx(free.log_likelihood, rel=1e-12)
    else:
        assert ((free.probabilities > 0.0) & (free.probabilities < 1.0)).all()


def test_cells_never_shown_are_assumed_to_be_products_and_said() -> None:
    shown = np.array([[1000, 1000], [1000, 1000], [0, 1000]])
    clicked = np.array([[800, 400], [400, 200], [0, 300]])
    found = fit_click_matrix(of_cells(shown, clicked))
    assert found.probabilities[2] == pytest.approx([0.6, 0.3], abs=1e-6)
    assert np.isinf(found.probabilities_error).tolist() == [[False] * 2, [False] * 2, [True, False]]
    assert len(found.not_identified) == 1
    assert found.not_identified[0].startswith("1 of 6 cells of a pair at a position was never sho")
    # A row that counts no display says as much as none.
    counts = of_cells(np.maximum(shown, 1), clicked)
    cells = counts.cells
    empty = dataclasses.replace(cells, shown=np.where(cells.shown == 1, 0, cells.shown))
    same = fit_click_matrix(dataclasses.replace(counts, cells=empty))
    assert np.isinf(same.probabilities_error[2, 0])


def test_clicks_on_a_cell_never_or_always_are_edges() -> None:
    found = fit_click_matrix(of_cells(np.array([[10, 10]]), np.array([[0, 10]])))
    assert found.probabilities.tolist() == [[0.0, 1.0]]
    assert (found.probabilities_error > 0.0).all()
    assert "never clicked: probability 0" in found.not_identified[0]
    assert "always clicked: probability 1" in found.not_identified[1]
