"""Bounds for MNL clicks (grant2020) against enumeration and simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from clickrank._core.arrays import Floats, Ints
from clickrank.bounds import (
    geometric_deviation,
    mnl_bandit_rate,
    mnl_lower_bound,
    mnl_lower_rate,
    mnl_unknown_rate,
    mnl_upper_bound,
)
from clickrank.clickmodels import MNL
from clickrank.errors import InvalidValue


def probability(model: MNL, ranking: Ints, position: int) -> float:
    each = model.click_probabilities(ranking)
    return float(each[position] if position < each.size else 1.0 - each.sum())


def hard(bias: Floats, n_items: int, epsilon: float) -> Iterator[MNL]:
    """The attractions of the proof, eq. 46: one model for each list that may be the best."""
    total, squares = bias.sum(), (bias**2).sum()
    for best in itertools.permutations(range(n_items), bias.size):
        attraction = np.full(n_items, 1 / total)
        attraction[list(best)] += epsilon * bias / squares
        yield MNL(attraction, bias)


@pytest.mark.parametrize("bias", [[1.0, 0.8], [0.6, 1.0]])
def test_no_policy_is_below_the_bound(bias: list[float]) -> None:
    """The best policy of all against a random one of the proof's models, by backward induction."""
    horizon, n_items = 3, 4
    lists = list(itertools.permutations(range(n_items), 2))
    bound = mnl_lower_bound(bias, n_items, horizon)
    assert bound > 0.01
    lam = np.array(bias)
    total, squares, others = lam.sum(), (lam**2).sum(), n_items - 1
    gain = 1 - total**2 / (others * squares)
    loss = lam.max() * total * math.sqrt(horizon) / (2 * squares * math.sqrt(2 * others))
    epsilon = min(gain / (2 * loss), 0.5)
    models = list(hard(lam, n_items, epsilon))
    chances = np.array(
        [[[probability(m, np.array(a), k) for k in range(3)] for a in lists] for m in models]
    )
    losses = np.array([[m.value(m.best_ranking()) - m.value(a) for a in lists] for m in models])
    assert losses.min() > -1e-12

    def least(weights: Floats, rounds: int) -> float:
        """Regret of the best policy, where ``weights`` is the chance of a model and the past."""
        costs = weights @ losses
        if rounds == 1:
            return float(costs.min())
        return min(
            float(costs[a]) + sum(least(weights * chances[:, a, k], rounds - 1) for k in range(3))
            for a in range(len(lists))
        )

    assert least(np.full(len(models), 1 / len(models)), horizon) >= bound


def test_divergence_of_one_round() -> None:
    """What the proof takes the divergence of a round to be at most."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n_positions = int(rng.integers(2, 5))
        bias = rng.uniform(0.51, 1.0, n_positions)
        total, squares = bias.sum(), (bias**2).sum()
        epsilon = rng.uniform(0, min(0.5, squares * (1 - 1 / total) / bias.max()))
        before, shown = (rng.permutation(6)[:n_positions] for _ in range(2))
        m, k = rng.integers(n_positions, size=2)
        attraction = np.full(6, 1 / total)
        attraction[before] += epsilon * bias / squares
        item = shown[k]
        one, two = attraction.copy(), attraction.copy()
        one[item] = 1 / total
        two[item] = 1 / total + epsilon * bias[m] / squares
        models = MNL(one, bias), MNL(two, bias)
        p, q = (
            [probability(model, shown, position) for position in range(n_positions + 1)]
            for model in models
        )
        most = epsilon**2 * bias[m] ** 2 * bias[k] * total / (4 * squares**2)
        assert stats.entropy(p, q) <= most * (1 + 1e-9)


def test_bound_grows_as_printed() -> None:
    bias = [1.0, 0.9, 0.7]
    one, four = (mnl_lower_bound(bias, 40, horizon) for horizon in (10_000, 40_000))
    assert four == pytest.approx(2 * one)
    items = [mnl_lower_bound(bias, n, 10**6) / math.sqrt(n) for n in (10**3, 10**4)]
    assert items[1] == pytest.approx(items[0], rel=0.01)
    assert mnl_lower_rate([1.0, 0.5], 8, 100) == pytest.approx(math.sqrt(8 * 100 * 1.25 / 1.5))
    assert mnl_lower_bound([1.0, 1.0], 2, 100) == 0.0  # one list, but for its order
    for wrong in ([0.5, 0.5], [0.0, 1.0], [1.5]):
        with pytest.raises(InvalidValue, match="position_bias"):
            mnl_lower_bound(wrong, 8, 100)


def test_upper_bound_has_the_constants_of_the_proof() -> None:
    """Proposition 8, appendix C.1, written out for J = 5, K = 2, λ = (0.8, 0.4), T = 1,000."""
    early = (9 * 3 + 14 * 10 / 0.4 * math.log(5 * 1e6 / 2)) * (math.log(1000) + 1)
    printed = early + math.sqrt(192 * 0.8**2 * math.log(5 * 1e6) * 5 * 1000 / 0.4)
    assert mnl_upper_bound([0.8, 0.4], 5, 1000, as_printed=True) == pytest.approx(printed)
    ours = 5 * 3 + early + math.sqrt(192 * 0.8**2 * math.log(5 * 1e6) * 5 * 1000) / 0.4
    assert mnl_upper_bound([0.4, 0.8], 5, 1000) == pytest.approx(ours)
    equal = [mnl_upper_bound([1.0, 1.0], 5, 1000, as_printed=p) for p in (True, False)]
    assert equal[1] - equal[0] == pytest.approx(15)
    for horizon in (10, 10**4, 10**8):
        assert mnl_upper_bound([1.0, 0.8], 8, horizon) > mnl_lower_bound([1.0, 0.8], 8, horizon)
    growth = mnl_upper_bound([1.0, 0.5], 8, 4 * 10**14) / mnl_upper_bound([1.0, 0.5], 8, 10**14)
    assert growth == pytest.approx(2.0, rel=0.03)  # √T, but for logarithms


def test_the_last_step_of_the_proof_needs_biases_of_one() -> None:
    """Σ α of the items shown in an epoch may exceed its mean length, 1 + Σ λα; Σ λα may not."""
    attraction, bias = np.ones(6), np.full(6, 0.1)
    length = 1 + float(bias @ attraction)
    assert attraction.sum() > length
    assert bias @ attraction < length
    assert bias.min() * attraction.sum() < length


def test_sums_of_geometric_counts_deviate_as_rarely_as_stated() -> None:
    """Theorem 3, eq. 7, by the exact distribution: the sum is negative binomial."""
    for n, mean in ((1, 1.0), (10, 0.3), (200, 0.05), (50, 1.0)):
        total = stats.nbinom(n, 1 / (1 + mean))
        for level in (3.0, 20.0, 1000.0):
            far = geometric_deviation([mean] * n, level)
            center = n * mean
            chance = total.sf(math.floor(center + far)) + total.cdf(math.ceil(center - far) - 1)
            assert chance <= 2 / level
    with pytest.raises(InvalidValue, match="geometric_deviation: means"):
        geometric_deviation([1.5], 2.0)


def test_rates_as_printed() -> None:
    assert mnl_unknown_rate(5, 2, 100) == pytest.approx(4 * math.sqrt(math.log(5e4) * 500))
    want = math.sqrt(1000 * math.log(1e5)) + 10 * math.log(1000) ** 2
    assert mnl_bandit_rate(5, 2, 100) == pytest.approx(want)
