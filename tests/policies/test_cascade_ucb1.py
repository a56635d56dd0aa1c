"""CascadeUCB1 and CascadeKL-UCB: the exact regret of two items, and clicks after the first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank.clickmodels import Cascade
from clickrank.learning import Learner
from clickrank.policies import CascadeUCB1
from tests.naive import upper_by_bisection


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


def test_only_the_first_click_counts_in_a_cascade() -> None:
    learner = Learner(CascadeUCB1(), 3, 3)
    learner.update(np.arange(3), np.zeros(0, dtype=np.int64), np.array([0, 1, 1]))
    assert learner.state.clicks.tolist() == [0, 1, 0]
    assert learner.state.views.tolist() == [1, 1, 0]
