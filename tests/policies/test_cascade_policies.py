"""CascadeUCB1, CascadeKL-UCB and dcmKL-UCB: laziness, indices, exact regret of tiny instances."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.rng import streams
from clickrank.clickmodels import DCM, PBM, Cascade, ClickModel
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.fast._shared.kept_indices import tangent
from clickrank.learning import Learner
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies import DCMKLUCB, CascadeUCB1, policy
from tests.naive import upper_by_bisection

# Most items of a query are irrelevant: many ties. Next to these, items of all kinds.
GRADES = np.random.default_rng(1).choice(
    [0.0, 0.2, 0.4, 0.8, 1.0], 60, p=[0.6, 0.3, 0.06, 0.02, 0.02]
)
MIXED = np.random.default_rng(2).beta(1.0, 5.0, 60)
MODELS: dict[str, ClickModel] = {
    "grades": Cascade(GRADES, 8),
    "no click ends it": DCM(GRADES, np.linspace(0.1, 0.3, 8)),
    "mixed": Cascade(MIXED, 8),
    "never": Cascade(np.zeros(30), 5),
    "always": Cascade(np.ones(12), 3),
    "all shown": Cascade([0.9, 0.5, 0.1, 0.1], 4),
}


CASES = [
    *(("cascade-kl-ucb", model) for model in MODELS),
    *(("cascade-ucb1", model) for model in ("grades", "never", "all shown")),
    ("dcm-kl-ucb", "no click ends it"),
]


@pytest.mark.parametrize(("name", "model"), CASES)
def test_lazy_equals_always_fresh(name: str, model: str) -> None:
    """Dropping the cache before every ranking changes no list, with feedback some rounds late."""
    users = MODELS[model]
    spec = policy(name, model=users)
    lazy, fresh = (Learner(spec, users.n_items, users.n_positions) for _ in range(2))
    ours, theirs = streams(4, 0), streams(4, 0)
    late: list[Any] = []
    for t in range(600):
        fresh.drop_cache()
        ranking, memo = lazy.rank(ours.policy)
        want, _ = fresh.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        late.append((ranking.copy(), memo, users.sample(ranking, ours.users)))
        while len(late) > (t // 100) % 3:
            for learner in (lazy, fresh):
                learner.update(*late[0])
            late.pop(0)


def test_indices_are_solved_and_bounded() -> None:
    users = MODELS["mixed"]
    learner = Learner(policy("cascade-kl-ucb"), users.n_items, users.n_positions)
    rng = streams(5, 0)
    for t in range(1, 1500):
        ranking, memo = learner.rank(rng.policy)
        if t % 100 == 0:
            state, kept = learner.state, learner.cache.kept
            delta = exploration_budget(float(t))
            views = state.clicks + state.misses
            want = np.array(
                [
                    upper_by_bisection(int(c), int(n), delta)
                    for c, n in zip(state.clicks, views, strict=True)
                ]
            )
            now = kept.delta == delta
            assert kept.value[now] == pytest.approx(want[now], abs=1e-12)
            assert (kept.value <= want + 1e-12).all()
            bounds = np.array([tangent(kept, item, delta) for item in range(users.n_items)])
            assert (bounds >= want).all()
            assert sorted(want[ranking]) == sorted(want)[-users.n_positions :]
        learner.update(ranking, memo, users.sample(ranking, rng.users))


def test_indices_are_seldom_computed() -> None:
    """Only for items that were looked at, and few others."""
    users = MODELS["mixed"]
    learner = Learner(policy("cascade-kl-ucb"), users.n_items, users.n_positions)
    rng = streams(6, 0)
    computed = looked_at = 0
    for t in range(1, 2000):
        ranking, memo = learner.rank(rng.policy)
        computed += int((learner.cache.kept.delta == exploration_budget(float(t))).sum())
        clicks = users.sample(ranking, rng.users)
        before = learner.state.misses.sum() + learner.state.clicks.sum()
        learner.update(ranking, memo, clicks)
        looked_at += int(learner.state.misses.sum() + learner.state.clicks.sum() - before)
    assert computed < 2.5 * looked_at


def bound(name: str, clicks: int, views: int, t: int) -> float:
    """Return the upper confidence bound of one item in round t, as printed."""
    if name == "cascade-kl-ucb":
        log_t = math.log(t)
        delta = log_t + 3 * math.log(log_t) if log_t > 1 else log_t
        return upper_by_bisection(clicks, views, delta)
    if views == 0:
        return math.inf
    return clicks / views + math.sqrt(1.5 * math.log(t - 1) / views)


def paths(
    name: str, attraction: tuple[float, float], horizon: int
) -> Iterator[tuple[float, float]]:
    """Yield (probability, regret) of every history of a list of one from two items."""
    best = max(attraction)

    def go(log: list[tuple[int, int]], probability: float, regret: float) -> Any:
        if len(log) == horizon:
            yield probability, regret
            return
        clicked = [[click for shown, click in log if shown == item] for item in (0, 1)]
        bounds = [bound(name, sum(each), len(each), len(log) + 1) for each in clicked]
        top = [item for item in (0, 1) if bounds[item] == max(bounds)]
        for item, click in itertools.product(top, (0, 1)):
            p = attraction[item] if click else 1.0 - attraction[item]
            more = best - attraction[item]
            yield from go([*log, (item, click)], probability * p / len(top), regret + more)

    yield from go([], 1.0, 0.0)


@pytest.mark.parametrize("name", ["cascade-ucb1", "cascade-kl-ucb"])
def test_exact_regret_of_two_items(name: str) -> None:
    """All histories of 9 rounds, against simulation; fails by chance once in a million."""
    attraction, horizon, runs = (0.7, 0.3), 9, 2000
    exact = list(paths(name, attraction, horizon))
    assert math.fsum(p for p, _ in exact) == pytest.approx(1.0, abs=1e-12)
    want = math.fsum(p * regret for p, regret in exact)
    got = cr.simulate(name, Cascade(attraction, 1), horizon, runs=runs, seed=7).regret[:, -1]
    assert abs(got.mean() - want) < 5 * got.std(ddof=1) / math.sqrt(runs)


def test_dcm_puts_the_best_item_where_clicks_satisfy_most() -> None:
    model = DCM([0.8, 0.5, 0.2, 0.1], [0.1, 0.9, 0.5])
    spec = policy("dcm-kl-ucb", model=model, observe="first-click")
    learner, plain = (
        Learner(dataclasses.replace(spec, reference=reference), 4, 3) for reference in (False, True)
    )
    ours, theirs = streams(8, 0), streams(8, 0)
    for t in range(3000):
        ranking, memo = learner.rank(ours.policy)
        clicks = model.sample(ranking, ours.users)
        if t < 150:
            want, want_memo = plain.rank(theirs.policy)
            assert ranking.tolist() == want.tolist(), f"round {t}"
            assert memo.tolist() == want_memo.tolist(), f"round {t}"
            plain.update(want, want_memo, clicks)
        learner.update(ranking, memo, clicks)
    assert learner.rank()[0].tolist() == model.best_ranking().tolist() == [2, 0, 1]


def test_dcm_needs_the_order_of_the_positions() -> None:
    assert policy("dcm-kl-ucb", model=PBM([0.5, 0.4], [1.0, 0.5])) == DCMKLUCB()
    increasing = DCM([0.5, 0.4], [0.1, 0.9])
    with pytest.raises(DoesNotApply, match="not told its satisfaction"):
        cr.simulate(DCMKLUCB(), increasing, 10)
    assert DCMKLUCB(satisfaction=[0.0, 1.0]).why_not(increasing) is None  # the order is enough
    with pytest.raises(InvalidValue, match="observe must be one of last-click, first-click, got"):
        DCMKLUCB(observe="every-click")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"satisfaction must have one entry a position \(2\)"):
        cr.simulate(DCMKLUCB(satisfaction=[0.5]), increasing, 10)


@pytest.mark.parametrize(("observe", "biased"), [("last-click", True), ("first-click", False)])
def test_bias_of_what_was_observed(observe: Any, biased: bool) -> None:
    """Exact: click rates at each position among the lists that count there."""
    model = DCM([0.4, 0.4, 0.4], [0.5, 0.5, 0.5])
    ranking = np.arange(3)
    seen, clicked = np.zeros(3), np.zeros(3)
    for clicks in itertools.product((0, 1), repeat=3):
        learner = Learner(DCMKLUCB(observe=observe), 3, 3)
        learner.update(ranking, np.zeros(0, dtype=np.int64), np.array(clicks))
        weight = math.exp(model.log_prob(ranking, clicks))
        seen += weight * (learner.state.clicks + learner.state.misses)
        clicked += weight * learner.state.clicks
    want = [0.4, 0.44, 0.542] if biased else [0.4, 0.4, 0.4]
    assert clicked / seen == pytest.approx(want, abs=5e-4)


def test_only_the_first_click_counts_in_a_cascade() -> None:
    learner = Learner(CascadeUCB1(), 3, 3)
    learner.update(np.arange(3), np.zeros(0, dtype=np.int64), np.array([0, 1, 1]))
    assert learner.state.clicks.tolist() == [0, 1, 0]
    assert learner.state.views.tolist() == [1, 1, 0]
