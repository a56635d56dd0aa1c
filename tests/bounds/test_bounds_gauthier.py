"""The bounds of gauthier2022 against their definitions, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from clickrank import bounds
from clickrank.clickmodels import PBM, Cascade, ClickModel
from clickrank.errors import InvalidValue

PAGES = [
    PBM([0.9, 0.6, 0.3], [1.0, 0.5]),
    PBM([0.7, 0.5, 0.4, 0.2], [0.9, 0.5, 0.3]),
    PBM([0.3, 0.2, 0.15, 0.1], [0.8]),
]


@pytest.mark.parametrize("page", PAGES)
def test_grab_has_the_formula_of_section_3_3_1(page: PBM) -> None:
    theta, kappa = page.attraction.tolist(), page.examination.tolist()
    last = len(kappa) - 1
    swaps = [8 / ((kappa[k] - kappa[k + 1]) * (theta[k] - theta[k + 1])) for k in range(last)]
    others = [8 / (kappa[last] * (theta[last] - worse)) for worse in theta[last + 1 :]]
    assert bounds.grab_upper_bound(page) == pytest.approx(sum(swaps) + sum(others), rel=1e-12)


def test_bounds_do_not_depend_on_the_order_of_items_and_positions() -> None:
    page = PBM([0.7, 0.5, 0.4, 0.2], [0.9, 0.5, 0.3])
    mixed = PBM([0.4, 0.2, 0.7, 0.5], [0.5, 0.3, 0.9])
    for bound in (bounds.grab_upper_bound, bounds.kl_comb_ucb_upper_bound, bounds.pb_lower_bound):
        assert bound(mixed) == pytest.approx(bound(page), rel=1e-9)


def test_grab_on_a_matrix_that_is_no_product() -> None:
    """Positions are ordered by the clicks of the best list, not by examination."""
    rho = [[0.5, 0.1], [0.2, 0.6], [0.1, 0.3]]
    # The best list is (0, 1); position 1 has more clicks, so position 0 gets the other item.
    swapped, replaced = 1.1 - (0.2 + 0.1), 1.1 - (0.1 + 0.6)
    expected = 8 / swapped + 8 / replaced
    assert bounds.grab_upper_bound(rho) == pytest.approx(expected, rel=1e-12)


def test_two_best_lists_have_no_bound_for_grab() -> None:
    page = PBM([0.5, 0.5, 0.1], [1.0, 0.5])
    assert bounds.grab_upper_bound(page) == math.inf
    assert bounds.unirank_upper_bound(page) == math.inf
    # Theorem 3 asks for an order of all items, also where their order costs nothing.
    assert bounds.unirank_upper_bound(PBM([0.5, 0.5, 0.1], [1.0, 1.0])) == math.inf
    assert bounds.unirank_upper_bound(Cascade([0.5, 0.5, 0.1], n_positions=2)) == math.inf


def test_kl_comb_ucb_by_its_definition() -> None:
    rho = np.array([[0.5, 0.4], [0.5, 0.4], [0.1, 0.2]])  # with two best lists
    lists = list(itertools.permutations(range(3), 2))
    value = {a: rho[a[0], 0] + rho[a[1], 1] for a in lists}
    best = [a for a in lists if value[a] > max(value.values()) - 1e-9]
    assert len(best) == 2
    expected = 0.0
    for a in lists:
        if a not in best:
            differing = min(sum(x != y for x, y in zip(a, b, strict=True)) for b in best)
            expected += 2 * differing**2 / (max(value.values()) - value[a])
    assert bounds.kl_comb_ucb_upper_bound(rho) == pytest.approx(expected, rel=1e-12)


def test_on_the_lists_of_grab_swaps_count_fourfold() -> None:
    """Theorem 1 follows from Theorem 2 on the best list and its neighbours."""
    page = PBM([0.9, 0.6, 0.3], [1.0, 0.5])
    found = bounds.kl_comb_ucb_upper_bound(page, [[0, 1], [1, 0], [0, 2]])
    assert found == pytest.approx(8 / (0.5 * 0.3) + 2 / (0.5 * 0.3), rel=1e-12)


def differs(model: ClickModel, ranking: list[int], i: int, j: int) -> tuple[float, float]:
    """Return the probabilities that only i, and that only j, of the two is clicked."""
    only_i = only_j = 0.0
    for clicks in itertools.product((0, 1), repeat=len(ranking)):
        clicked = {item for item, click in zip(ranking, clicks, strict=True) if click}
        chance = math.exp(model.log_prob(ranking, clicks))
        only_i += chance * (i in clicked and j not in clicked)
        only_j += chance * (j in clicked and i not in clicked)
    return only_i, only_j


def swapped(ranking: list[int], i: int, j: int) -> list[int]:
    return [{i: j, j: i}.get(item, item) for item in ranking]


def theorem_3(model: ClickModel) -> float:
    """Return the constant of Theorem 3, with items in the order of their attraction."""
    n_items, n_positions = model.n_items, model.n_positions
    best = list(range(n_positions))
    total = 0.0
    for k in range(1, n_items):
        other = min(k - 1, n_positions - 1)
        loss = model.value(best) - model.value(swapped(best, other, k))
        # A neighbour of the best partition merges pairs of its blocks. Those that merge this pair
        # differ only in pairs above or below it.
        chances = []
        free = [p for p in range(1, n_positions) if p < other or p > k + 1]
        merges = [
            pairs
            for size in range(len(free) + 1)
            for pairs in itertools.combinations(free, size)
            if all(b - a > 1 for a, b in itertools.pairwise(pairs))
        ]
        for pairs in merges:
            lists = [best, swapped(best, other, k)]
            for pair in pairs:
                lists += [swapped(a, pair - 1, pair) for a in lists]
            chances.append(np.mean([sum(differs(model, a, other, k)) for a in lists]))
        gaps = []
        for ranking in itertools.permutations(range(n_items), n_positions):
            if {other, k} & set(ranking):
                both = [list(ranking), swapped(list(ranking), other, k)]
                first, second = np.sum([differs(model, a, other, k) for a in both], axis=0)
                gaps.append((first - second) / (first + second))
        total += 8 * loss / (min(chances) * min(gaps) ** 2)
    return total


@pytest.mark.parametrize(
    "model",
    [
        PBM([0.7, 0.5, 0.4, 0.2], [0.9, 0.5, 0.3]),
        PBM([0.3, 0.2, 0.1], [0.8]),
        Cascade([0.7, 0.5, 0.4, 0.2], n_positions=3),
        Cascade([0.3, 0.2, 0.1], n_positions=1),
    ],
)
def test_unirank_is_at_least_theorem_3(model: PBM | Cascade) -> None:
    """The corollaries replace the smallest gap by a bound that ends of the list attain."""
    found, theorem = bounds.unirank_upper_bound(model), theorem_3(model)
    assert found >= theorem * (1 - 1e-9)
    # The gap of the corollaries is that of lists with one of both items, which always exist here.
    assert found == pytest.approx(theorem, rel=1e-9)


def test_unirank_needs_positions_in_order() -> None:
    with pytest.raises(InvalidValue, match="examination must not increase"):
        bounds.unirank_upper_bound(PBM([0.5, 0.3], [0.5, 0.9]))
    assert bounds.unirank_upper_bound(PBM([0.5, 0.3], [0.5, 0.0])) == math.inf


def test_one_position_has_the_classical_lower_bound() -> None:
    page = PBM([0.3, 0.2, 0.1], [0.7])
    assert bounds.pb_lower_bound(page) == pytest.approx(bounds.pbm_lower_bound(page), rel=1e-4)


@pytest.mark.parametrize("page", PAGES)
def test_not_knowing_examination_costs(page: PBM) -> None:
    """What is not known must be ruled out, too; a policy that has an upper bound cannot beat it."""
    unknown = bounds.pb_lower_bound(page)
    assert unknown >= bounds.pbm_lower_bound(page) * (1 - 1e-4)
    assert unknown <= bounds.grab_upper_bound(page)
    assert unknown <= bounds.unirank_upper_bound(page)


def test_positions_that_nobody_examines_do_not_count() -> None:
    page = PBM([0.7, 0.5, 0.4, 0.2], [0.9, 0.5])
    longer = PBM([0.7, 0.5, 0.4, 0.2], [0.9, 0.5, 0.0])
    assert bounds.pb_lower_bound(longer) == bounds.pb_lower_bound(page)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (PBM([0.5, 0.5, 0.1], [1.0, 0.5]), "must differ in attraction"),
        (PBM([0.5, 0.3, 0.3], [1.0, 0.5]), "must differ in attraction"),
        (PBM([0.5, 0.3, 0.1], [0.5, 0.5]), "must differ in examination"),
        (PBM([0.5, 0.3, 0.0], [1.0, 0.5]), "must be above 0"),
    ],
)
def test_what_has_no_lower_bound_says_why(page: PBM, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        bounds.pb_lower_bound(page)


def test_wrong_arguments() -> None:
    with pytest.raises(InvalidValue, match="one row per item"):
        bounds.grab_upper_bound([[0.5, 0.2, 0.1]])
    with pytest.raises(InvalidValue, match="at most 2,000,000 lists"):
        bounds.kl_comb_ucb_upper_bound(PBM(np.linspace(0.1, 0.9, 30), np.full(6, 0.5)))
    with pytest.raises(InvalidValue, match="lists must have one row per list"):
        bounds.kl_comb_ucb_upper_bound(PAGES[0], [[0, 1, 2]])
    with pytest.raises(InvalidValue, match="a PBM or a Cascade"):
        bounds.unirank_upper_bound("page")  # type: ignore[arg-type]
