"""Epochs: estimates, late lists and indices of the policies for MNL clicks."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from clickrank._core.arrays import Floats, Ints
from clickrank.checks.kernel_checks import assert_same_rounds
from clickrank.clickmodels import MNL
from clickrank.errors import InvalidValue
from clickrank.learning import Learner
from clickrank.policies import EpochTS, EpochUCB, policy
from clickrank.policies._shared.epochs import EPOCHS
from clickrank.simulation import simulate

MODEL = MNL([0.3, 0.9, 0.6], [0.5, 1.0])
POLICIES = ["epoch-ucb", "epoch-ucb-w", "epoch-ts", "mnl-bandit"]


def learner_of(name: str, model: MNL = MODEL, seed: int = 0) -> Learner:
    return Learner(policy(name, model=model), model.n_items, model.n_positions, seed=seed)


def outcome(position: int, n_positions: int) -> Ints:
    """The click at a position, none beyond the last."""
    clicks = np.zeros(n_positions + 1, dtype=np.int64)
    clicks[position] = 1
    return clicks[:-1]


def probability(model: MNL, ranking: Ints, position: int) -> float:
    each = model.click_probabilities(ranking)
    return float(each[position] if position < each.size else 1.0 - each.sum())


def excess(learner: Learner) -> Floats:
    """Clicks, less what the lists without a click stand for: Σ clicks - α Σ λ."""
    found = learner.statistics()
    if learner.policy.name == "mnl-bandit":
        weights = np.outer(MODEL.attraction, MODEL.position_bias)
        cells: Floats = found["clicks"] - weights * found["epochs"]
        return cells
    prior = 1.0 if learner.policy.name == "epoch-ts" else 0.0
    items: Floats = found["clicks"] - MODEL.attraction * (found["exposure"] - prior)
    return items


def played(name: str, path: tuple[int, ...], delay: int, batch: int) -> tuple[Learner, float]:
    """A learner after these outcomes, and their probability."""
    learner = learner_of(name)
    chance = 1.0
    flying: list[tuple[Ints, Ints, Ints]] = []
    for t, position in enumerate(path, 1):
        ranking, memo = learner.rank()
        chance *= probability(MODEL, ranking, position)
        flying.append((ranking, memo, outcome(position, 2)))
        if t % batch == 0:
            while len(flying) > delay:
                learner.update(*flying.pop(0))
    for late in flying:
        learner.update(*late)
    return learner, chance


@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (2, 1), (0, 3)])
@pytest.mark.parametrize("name", ["epoch-ucb", "epoch-ts", "mnl-bandit"])
def test_estimates_are_unbiased(name: str, delay: int, batch: int) -> None:
    """All 243 click paths of five rounds by their probability: what is counted has mean 0."""
    mean: Floats | float = 0.0
    total = spread = 0.0
    for path in itertools.product(range(3), repeat=5):
        learner, chance = played(name, path, delay, batch)
        mean = mean + chance * excess(learner)
        spread += chance * float(np.abs(excess(learner)).sum())
        total += chance
    assert total == pytest.approx(1.0, abs=1e-12)
    assert spread > 0.5  # there was something to count
    assert np.abs(mean).max() < 1e-12


def test_clicks_of_an_epoch_are_geometric() -> None:
    """The mean over all first epochs of up to seven rounds, and one list in each."""
    found: dict[int, float] = {}
    for clicks in range(7):
        for path in itertools.product(range(2), repeat=clicks):
            learner = learner_of("epoch-ucb")
            chance = 1.0
            lists = set()
            for position in (*path, 2):
                ranking, memo = learner.rank()
                lists.add(tuple(ranking.tolist()))
                assert memo.tolist() == [0]
                chance *= probability(MODEL, ranking, position)
                learner.update(ranking, memo, outcome(position, 2))
            assert len(lists) == 1
            assert learner.rank()[1].tolist() == [1]
            for item, count in enumerate(learner.statistics()["clicks"].tolist()):
                found[item] = found.get(item, 0.0) + chance * count
    shown = learner_of("epoch-ucb").rank()[0]
    each = MODEL.click_probabilities(shown)
    any_click = float(each.sum())
    for position, item in enumerate(shown.tolist()):
        weight = MODEL.position_bias[position] * MODEL.attraction[item]
        # λα less the epochs of more than seven rounds: a click is on it with p/any_click.
        tail = sum(m * any_click**m for m in range(7, 400)) * (1 - any_click)
        assert found[item] == pytest.approx(weight - tail * each[position] / any_click, abs=1e-12)


def test_late_lists_count_but_begin_nothing() -> None:
    learner = learner_of("epoch-ucb", MNL([0.4, 0.3, 0.2, 0.1], [1.0, 0.5]))
    first, second, third = (learner.rank() for _ in range(3))
    assert [memo.tolist() for _, memo in (first, second, third)] == [[0]] * 3
    learner.update(*first, [1, 0])
    for _ in range(5):  # tied with all others, and yet the one that came back
        assert learner.rank()[0].tolist() == first[0].tolist()
    learner.update(*second, [0, 0])
    assert learner.rank()[1].tolist() == [1]
    learner.update(*third, [0, 1])
    state = learner.statistics()
    assert (state["epoch"][0], state["begun"][0]) == (1, 0)
    clicks = np.zeros(4)
    clicks[first[0][0]] += 1
    clicks[third[0][1]] += 1
    assert state["clicks"].tolist() == clicks.tolist()
    exposure = np.zeros(4)
    exposure[second[0]] = [1.0, 0.5]
    assert state["exposure"].tolist() == exposure.tolist()
    fourth = learner.rank()
    learner.update(*fourth, [1, 1])  # no logit model has this: both count, and it goes on
    assert learner.rank()[0].tolist() == fourth[0].tolist()
    assert learner.statistics()["clicks"].sum() == 4


def test_epochs_are_numbered_modulo_the_limit() -> None:
    learner = learner_of("epoch-ucb")
    learner.state.epoch[0] = EPOCHS
    ranking, memo = learner.rank()
    assert memo.tolist() == [0]
    learner.update(ranking, memo, [0, 1])
    assert learner.statistics()["begun"][0] == 1


@pytest.mark.parametrize(("delay", "batch"), [(3, 1), (0, 7), (20, 5)])
@pytest.mark.parametrize("name", POLICIES)
def test_same_rankings_with_late_feedback(name: str, delay: int, batch: int) -> None:
    """Fast and plain kernels alike, with logit clicks that come back late."""
    users = MNL([0.9, 0.6, 0.5, 0.2], [0.4, 1.0, 0.7])
    learner = learner_of(name, users)
    plain = Learner(dataclasses.replace(learner.policy, reference=True), 4, 3)
    what = "by the reference"
    assert_same_rounds(learner, plain, users, 150, what, late=delay, batch=batch, seed=3)


LISTS = [([2, 0], 0), ([2, 0], 2), ([1, 2], 1), ([1, 2], 1), ([1, 2], 2), ([2, 1], 2), ([0, 2], 2)]
#: Clicks on each item; Λ: .5 + 1, .5 + 1, .5 + 1 + .5 + 1.
CLICKS, EXPOSURE = [0, 0, 3], [1.5, 1.5, 3.0]


def fed(name: str, **settings: bool) -> Learner:
    learner = Learner(policy(name, model=MODEL, **settings), 3, 2, seed=0)
    for ranking, position in LISTS:
        epoch = learner.statistics()["epoch"]
        learner.update(ranking, epoch, outcome(position, 2))
    learner.rank()
    return learner


@pytest.mark.parametrize(
    ("name", "settings", "level"),
    [
        ("epoch-ucb", {}, 4 * math.log(3 * 5**2 / 2)),
        ("epoch-ucb-w", {}, 48 * math.log(math.sqrt(3) * 5 / math.sqrt(2))),
        ("epoch-ucb-w", {"whole_root": True}, 48 * math.log(math.sqrt(3 * 5) / math.sqrt(2))),
    ],
)
def test_indices(name: str, settings: dict[str, bool], level: float) -> None:
    """In the fifth epoch, as printed."""
    learner = fed(name, **settings)
    assert learner.statistics()["clicks"].tolist() == CLICKS
    assert learner.statistics()["exposure"].tolist() == EXPOSURE
    for item in range(3):
        mean = CLICKS[item] / EXPOSURE[item]
        root = math.sqrt(min(1, 2 * mean) * level / EXPOSURE[item])
        want = mean + root + level / EXPOSURE[item]
        assert learner.cache.bound_buffer[item] == pytest.approx(want, rel=1e-12)


def test_indices_of_cells() -> None:
    """Item 2 at the first position: 1 click in 2 epochs; at the second, 2 clicks in 2."""
    bound = fed("mnl-bandit").cache.bound_buffer
    level = 4 * math.log(3 * 2 * 5**2 / 2)
    want = {}
    seen = {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1, (2, 0): 2, (2, 1): 2}
    for cell, epochs in seen.items():
        clicks = {(2, 0): 1, (2, 1): 2}.get(cell, 0)
        mean = clicks / epochs
        want[cell] = mean + math.sqrt(min(1, 2 * mean) * level / epochs) + level / epochs
    scale = 1 + 2 * max(want.values())
    for cell, value in want.items():
        assert bound[cell] == pytest.approx(value / scale, rel=1e-12)


def test_unseen_cells_come_first() -> None:
    learner = learner_of("mnl-bandit")
    seen: set[tuple[int, int]] = set()
    for _ in range(3):
        ranking, memo = learner.rank()
        seen |= set(zip(ranking.tolist(), range(2), strict=True))
        learner.update(ranking, memo, [0, 0])
    assert len(seen) == 6  # each cell once


def draws_of(bias: list[float], log: list[tuple[int, int]], n: int) -> Floats:
    """Draws of item 0 after epochs at a position with these numbers of clicks."""
    learner = Learner(EpochTS(bias), len(bias), len(bias), seed=0)
    for position, clicks in log:
        ranking = [*range(1, len(bias))]
        ranking.insert(position, 0)
        for _ in range(clicks):
            learner.update(ranking, [0], outcome(position, len(bias)))
        learner.update(ranking, [0], [0] * len(bias))
    found = []
    for _ in range(n):
        learner.rank()
        found.append(float(learner.cache.draws_buffer[0]))
    return np.array(found)


def test_posterior_is_exact_for_bias_one() -> None:
    """A Kolmogorov–Smirnov test that fails by chance once in a million."""
    draws = draws_of([1.0, 1.0], [(0, 2), (1, 0), (0, 1), (1, 3)], 3000)
    assert stats.kstest(draws, stats.betaprime(1 + 6, 1 + 4).cdf).pvalue > 1e-6


@pytest.mark.parametrize("repeats", [1, 10])
def test_posterior_is_close_otherwise(repeats: int) -> None:
    """The posterior of the item's own counts, by integration: how far the draws are from it."""
    bias = [1.0, 0.5, 0.2]
    log = [(0, 1), (0, 0)] * 3 + [(1, 1), (1, 0), (1, 0), (1, 0)] + [(2, 1)] + [(2, 0)] * 9
    log *= repeats
    clicks = sum(count for _, count in log)
    exposure = 1 + sum(bias[position] for position, _ in log)
    squares = 1 + sum(bias[position] ** 2 for position, _ in log)
    drawn = stats.betaprime(1 + clicks, exposure**2 / squares, scale=exposure / squares)
    assert stats.kstest(draws_of(bias, log, 2000), drawn.cdf).pvalue > 1e-6

    x = np.linspace(1e-6, 5.0, 50_001)
    logs = -2 * np.log1p(x) + clicks * np.log(x)
    for position, count in log:
        logs -= (count + 1) * np.log1p(bias[position] * x)
    exact = np.exp(logs - logs.max())
    exact /= exact.sum()
    ours = drawn.pdf(x) / drawn.pdf(x).sum()
    means = [float(p @ x) for p in (ours, exact)]
    spreads = [math.sqrt(p @ x**2 - m**2) for p, m in zip((ours, exact), means, strict=True)]
    # What the two moments leave: some hundredths of the mass, in the same place.
    assert np.abs(ours - exact).sum() / 2 < 0.05
    assert abs(means[0] - means[1]) < 0.15 * spreads[1]
    assert 1.0 < spreads[0] / spreads[1] < 1.15


def test_pbm_ucb_underestimates_attractions() -> None:
    """Section 6 of grant2020: with λ for examination, clicks per view tend to α/(1 + Σ λα)."""
    ranking = np.array([2, 1])
    expected = MODEL.click_probabilities(ranking) / MODEL.position_bias
    weight = float((MODEL.position_bias * MODEL.attraction[ranking]).sum())
    np.testing.assert_allclose(expected, MODEL.attraction[ranking] / (1.0 + weight), rtol=1e-12)
    spec = policy("pbm-ucb", examination=MODEL.position_bias)
    learner = Learner(spec, 3, 2, seed=0)
    rng = np.random.default_rng(0)
    rounds = 20_000
    for _ in range(rounds):
        learner.update(ranking, learner.rank()[1], MODEL.sample(ranking, rng))
    found = learner.statistics()
    mean = found["clicks"].reshape(3, -1).sum(axis=1)[ranking] / (rounds * MODEL.position_bias)
    np.testing.assert_allclose(mean, expected, rtol=0.05)  # five standard errors
    assert (mean < 0.7 * MODEL.attraction[ranking]).all()


def test_position_bias_must_fit() -> None:
    with pytest.raises(InvalidValue, match="EpochUCB: position_bias"):
        Learner(EpochUCB([1.0, 0.5]), 4, 3)
    with pytest.raises(InvalidValue, match="EpochUCBW: whole_root"):
        policy("epoch-ucb-w", position_bias=[1.0], whole_root=1)


def test_plain_and_fast_kernels_settle_the_same_ties() -> None:
    """With many items rounding makes random bonuses equal: then an order of the items decides."""
    model = MNL(np.linspace(0.9, 0.05, 30), np.linspace(1.0, 0.4, 6))
    fast, plain = (
        simulate(policy("mnl-bandit", reference=reference), model, 5000, runs=8, seed=0).regret
        for reference in (False, True)
    )
    assert np.array_equal(fast, plain)
