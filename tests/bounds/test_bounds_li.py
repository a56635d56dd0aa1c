"""The bounds of li2019: their formulas, and the lower one against the best policy there is."""

from __future__ import annotations

import functools
import itertools
import math

import pytest

from clickrank.bounds import linear_lower_bound, linear_upper_bound, linear_upper_rate
from clickrank.errors import InvalidValue


def test_upper_bound_is_that_of_the_proof() -> None:
    """Phase by phase, from eq. 6, for every number of phases that count."""
    n_items, k, d, rounds = 50, 3, 4, 10_000
    delta = 1 / math.sqrt(rounds)
    totals = []
    for m in range(20):
        total = rounds * 2.0**-m
        for phase in range(1, m + 1):
            gap, delta_phase = 2.0**-phase, delta / (2 * k * 2**phase)
            length = d * (d + 1) / 2 + d / (2 * gap**2) * math.log(n_items / delta_phase)
            total += gap * length
        totals.append(delta * k * rounds + 12 * k * total)
    assert linear_upper_bound(n_items, k, d, rounds) == pytest.approx(min(totals), rel=1e-12)


def test_upper_bound_grows_as_theorem_1_says() -> None:
    """Its ratio to K √(d T log(L T)) stays between two constants, over many orders of each."""
    ratios = [
        linear_upper_bound(n_items, k, d, rounds) / linear_upper_rate(n_items, k, d, rounds)
        for n_items, k, d, rounds in itertools.product(
            (10**3, 10**6), (1, 50), (2, 20), (10**6, 10**9, 10**12)
        )
    ]
    assert 20 < min(ratios) < max(ratios) < 60
    assert linear_upper_bound(10**4, 10, 5, 10**4) > 10 * 10**4  # vacuous
    assert linear_upper_bound(10**4, 10, 5, 70_000) < 10 * 70_000
    examined = sum(1 / k for k in range(1, 11))
    assert linear_upper_bound(10**4, 10, 5, 900_000) < examined * 900_000


def test_rate_knows_the_number_of_items_by_its_logarithm_only() -> None:
    many, few = linear_upper_rate(10**5, 10, 5, 10**6), linear_upper_rate(10**3, 10, 5, 10**6)
    assert many / few == pytest.approx(math.sqrt(math.log(10**11) / math.log(10**9)))
    toprank = math.sqrt(10**3 * 400 * 10**6 * math.log(10**6))  # √(K³ L T log T)
    ours = linear_upper_rate(400, 10, 400, 10**6)
    logs = math.sqrt(math.log(400 * 10**6) / math.log(10**6))
    assert toprank / ours == pytest.approx(math.sqrt(10) / logs)


def bayes_regret(n_items: int, k: int, rounds: int, epsilon: float) -> float:
    """The least mean regret of any policy where k groups have a random better item each.

    Backward induction over all that can be seen: the odds of each click pattern follow from the
    number of clicks and views of every item.
    """
    size = n_items // k
    worlds = [
        {g * size + i for g, i in enumerate(places)}
        for places in itertools.product(range(size), repeat=k)
    ]
    lists = list(itertools.combinations(range(n_items), k))

    @functools.cache
    def least(left: int, odds: tuple[float, ...]) -> float:
        """Return the regret of the rounds left, times the probability of what was seen."""
        if left == 0:
            return 0.0
        best = math.inf
        for shown in lists:
            total = 0.0
            for world, weight in zip(worlds, odds, strict=True):
                total += weight * epsilon * (k - len(world & set(shown)))
            for clicks in itertools.product((0, 1), repeat=k):
                after = []
                for world, weight in zip(worlds, odds, strict=True):
                    for item, click in zip(shown, clicks, strict=True):
                        p = 0.5 + epsilon * (item in world)
                        weight *= p if click else 1 - p
                    after.append(round(weight, 14))
                total += least(left - 1, tuple(after))
            best = min(best, total)
        return best

    return least(rounds, tuple([1 / len(worlds)] * len(worlds)))


@pytest.mark.parametrize(("d", "k", "rounds"), [(2, 1, 1), (2, 1, 6), (3, 1, 4), (4, 2, 2)])
def test_no_policy_does_better_than_the_lower_bound(d: int, k: int, rounds: int) -> None:
    """Against the best policy of all on the models of the argument, for a grid of ε."""
    least = max(bayes_regret(d, k, rounds, epsilon / 40) for epsilon in range(1, 11))
    assert 0.0 < linear_lower_bound(k, d, rounds) <= least


def test_lower_bound_grows_as_the_paper_says() -> None:
    """√(d K T): four times as many rounds, or features and positions, twice as much."""
    bound = linear_lower_bound(10, 1000, 10**6)
    assert linear_lower_bound(10, 1000, 4 * 10**6) == pytest.approx(2 * bound, rel=1e-12)
    assert linear_lower_bound(20, 2000, 10**6) == pytest.approx(2 * bound, rel=1e-12)
    assert bound / math.sqrt(1000 * 10 * 10**6) == pytest.approx(math.sqrt(3) / 16, rel=0.03)
    assert linear_lower_bound(10, 19, 10**6) == 0.0
    # Below the upper bound, by √K but for logarithms and constants.
    assert bound < linear_upper_rate(1000, 10, 1000, 10**6)


def test_refused() -> None:
    with pytest.raises(InvalidValue, match="linear_upper_bound: failure must be above 0"):
        linear_upper_bound(10, 2, 2, 10, failure=0.0)
    with pytest.raises(InvalidValue, match="linear_upper_rate: n_positions must be between 1"):
        linear_upper_rate(10, 11, 2, 10)
    with pytest.raises(InvalidValue, match="linear_lower_bound: horizon must be a whole number"):
        linear_lower_bound(2, 4, 0)
