"""Assumptions 1 to 5 of gauthier2022 on click models, and the click matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import clickrank as cr
from clickrank.clickmodels import MNL, PBM, Cascade, ClickMatrix, ClickModel
from clickrank.clickmodels.assumptions import check_assumptions
from clickrank.errors import InvalidValue
from clickrank.experiments.paper_files import list_experiments

SORTED = PBM([0.6, 0.5, 0.3, 0.1], [0.9, 0.6, 0.2])


def holding(model: ClickModel) -> list[int]:
    return [number for number, found in check_assumptions(model).items() if found.holds]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (SORTED, [1, 2, 3, 4, 5]),  # Lemmas 1 and 4
        (PBM([0.6, 0.3, 0.3, 0.1], [0.9, 0.6, 0.2]), [1, 2, 4, 5]),  # two items alike
        (PBM([0.6, 0.5, 0.3, 0.1], [0.2, 0.9, 0.6]), [1, 2, 3, 5]),  # positions not sorted
        (Cascade([0.6, 0.5, 0.3, 0.1], 3), [1, 2, 3, 4, 5]),
        # Better at one position, worse at the other: no order of the items.
        (ClickMatrix([[0.9, 0.1], [0.5, 0.4], [0.2, 0.2]]), [2, 3, 4]),
        (ClickMatrix([[0.9, 0.1], [0.5, 0.6], [0.2, 0.65]]), [1, 2, 3]),
    ],
)
def test_which_assumptions_hold(model: ClickModel, expected: list[int]) -> None:
    assert holding(model) == expected


def test_a_matrix_without_unimodality() -> None:
    """A circle of three items is better by 3 · 0.01, and each exchange on the way loses."""
    matrix = np.array([[0.5, 0.51, 0.1], [0.1, 0.5, 0.51], [0.51, 0.1, 0.5]])
    found = check_assumptions(ClickMatrix(matrix))[1]
    assert not found.holds
    assert "list (0, 1, 2) earns 1.5, the best list 1.53" in found.witness


def test_a_matrix_of_rank_one_is_the_position_based_model() -> None:
    """The same value, best list, findings and, with the same seed, clicks."""
    matrix = ClickMatrix(np.outer(SORTED.attraction, SORTED.examination))
    assert holding(matrix) == holding(SORTED)
    assert matrix.best_ranking().tolist() == SORTED.best_ranking().tolist()
    for ranking in itertools.permutations(range(4), 3):
        assert matrix.value(ranking) == SORTED.value(ranking)
    assert np.array_equal(matrix.sample([3, 0, 1], 1, 50), SORTED.sample([3, 0, 1], 1, 50))


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at most 5000 lists"):
        check_assumptions(PBM(np.linspace(0.1, 0.9, 12), [0.9, 0.5, 0.4, 0.3]))
    with pytest.raises(InvalidValue, match="one number per item"):
        check_assumptions(SORTED, order=[1.0, 2.0])
    with pytest.raises(InvalidValue, match="ClickMatrix: probabilities must be a matrix"):
        ClickMatrix([0.5, 0.2])
    with pytest.raises(InvalidValue, match="probabilities"):
        ClickMatrix([[0.5, 1.2]])


def test_an_order_can_be_given() -> None:
    """With all items alike, 5 says nothing and 4 that every list is optimal."""
    found = check_assumptions(SORTED, order=np.ones(4))
    assert [number for number in found if found[number].holds] == [1, 2, 5]
    assert holding(MNL([0.6, 0.5, 0.3], [0.9, 0.6])) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["kl-comb-ucb", "grab", "s-grab"])
def test_policies_that_count_by_item_and_position_need_no_product(name: str) -> None:
    """They cover the matrix; what GRAB needs of it, Assumption 1, is not asked in every round."""
    matrix = ClickMatrix([[0.9, 0.1], [0.5, 0.4], [0.2, 0.2]])
    assert cr.policy(name).why_not(matrix) is None
    assert cr.policy("pb-mhb").why_not(matrix) is not None


@pytest.mark.parametrize(
    ("name", "attraction", "examination", "below_half", "below_quarter", "unimodal", "best"),
    [
        ("robustness-a", [0.9, 0.7, 0.5, 0.3], [1.0, 0.5], True, True, True, [0, 1]),
        ("robustness-b", [0.85, 0.78, 0.73, 0.53], [1.0, 0.81], True, False, False, [1, 0]),
        ("robustness-c", [0.9, 0.7, 0.5, 0.3], [1.0, 0.5], False, False, True, [1, 0]),
    ],
)
def test_perturbed_products_are_what_the_experiment_says(
    name: str,
    attraction: list[float],
    examination: list[float],
    below_half: bool,
    below_quarter: bool,
    unimodal: bool,
    best: list[int],
) -> None:
    """Below half of the smallest gap Assumption 1 may break, and beyond it may hold."""
    model = next(e.figure.model for e in list_experiments() if e.figure_id == name)
    assert model is not None
    matrix = ClickMatrix(model.parameters["probabilities"])
    product = np.outer(attraction, examination)
    moved = np.abs(matrix.probabilities - product).max()
    assert (moved < np.diff(np.sort(product.ravel())).min() / 2.0) is np.bool_(below_half)
    swaps = np.diff(np.sort(attraction)).min() * np.diff(np.sort(examination)).min()
    assert (moved < swaps / 4.0) is np.bool_(below_quarter)
    assert check_assumptions(matrix)[1].holds is unimodal
    assert matrix.best_ranking().tolist() == best
    assert PBM(attraction, examination).best_ranking().tolist() == [0, 1]
