"""Twins of the policies that choose among all lists: assignment by trying every one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from clickrank.policies import Policy
from clickrank.types import Floats, Ints
from tests.twins.base import Twin, index_by_bisection, shuffled_sort

TIE = 1e-11  # sums closer than this are tied


def exploration(s: float) -> float:
    return math.log(s) + 3 * max(0.0, math.log(math.log(s))) if s > math.e else math.log(s)


def best_list(
    value: Callable[[int, int], float], n_items: int, n_positions: int, rng: np.random.Generator
) -> list[int]:
    """The list with the largest sum; if lists are tied, a small random bonus for every item, which
    counts with a random weight for every position."""
    cells = [[value(item, k) for k in range(n_positions)] for item in range(n_items)]

    def total(chosen: Sequence[int], bonus: Sequence[float], weights: Sequence[float]) -> float:
        terms = [cells[item][k] for k, item in enumerate(chosen)]
        terms += [bonus[item] * weights[k] for k, item in enumerate(chosen)]
        return math.fsum(terms)

    lists = [list(p) for p in itertools.permutations(range(n_items), n_positions)]
    bonus, weights = [0.0] * n_items, [0.0] * n_positions
    totals = sorted((total(chosen, bonus, weights) for chosen in lists), reverse=True)
    if len(totals) > 1 and totals[0] - totals[1] <= TIE:
        bonus = [float(rng.random()) * TIE / n_positions for _ in range(n_items)]
        for k in range(n_positions):
            other = int(rng.random() * (k + 1))
            weights[k], weights[other] = weights[other], (k + 1) / n_positions
        rng.random(n_items - 1)  # an order of the items, which only matters if bonuses are equal
    return max(lists, key=lambda chosen: total(chosen, bonus, weights))


class CellTwin(Twin):
    """Click rates and KL indices of every item at every position."""

    def mean(self, item: int, k: int) -> float:
        n = int(self.views[item, k])
        return float(self.clicks[item, k]) / n if n else 0.0

    def index(self, item: int, k: int, s: float) -> float:
        n = self.views[item, k : k + 1]
        if n[0] == 0:
            return 1.0
        return index_by_bisection(self.clicks[item, k : k + 1], n, np.ones(1), exploration(s))

    def rotation(self, rng: np.random.Generator) -> list[int] | None:
        unstarted = [item for item in range(self.n_items) if self.views[item, 0] == 0]
        if not unstarted:
            return None
        first = unstarted[int(rng.random() * len(unstarted))]
        return [(first + k) % self.n_items for k in range(self.n_positions)]


class CombUCB1Twin(CellTwin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        rotation = self.rotation(rng)
        if rotation:
            return rotation, []

        def ucb(item: int, k: int) -> float:
            return self.mean(item, k) + math.sqrt(1.5 * math.log(self.t - 1) / self.views[item, k])

        return best_list(ucb, self.n_items, self.n_positions, rng), []


class KLCombUCBTwin(CellTwin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        rotation = self.rotation(rng)
        if rotation:
            return rotation, []
        return best_list(
            lambda item, k: self.index(item, k, self.t), self.n_items, self.n_positions, rng
        ), []


class SGRABTwin(CellTwin):
    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.leaders: list[list[int]] = []

    def by_rate(self, leader: list[int], rng: np.random.Generator) -> list[int]:
        return list(range(self.n_positions))  # in any order: all exchanges are tried

    def swaps(self, order: list[int]) -> list[list[int]]:
        return [[k, other] for k in order for other in range(k)]

    def replaced(self, order: list[int]) -> list[int]:
        return order

    def neighbours(self, leader: list[int], order: list[int]) -> list[list[int]]:
        found = []
        for k, other in self.swaps(order):
            swapped = leader.copy()
            swapped[k], swapped[other] = leader[other], leader[k]
            found.append(swapped)
        for item in range(self.n_items):
            if item not in leader:
                found += [[*leader[:k], item, *leader[k + 1 :]] for k in self.replaced(order)]
        return found

    def period(self) -> int:
        return self.n_positions * (2 * self.n_items - self.n_positions - 1) // 2 + 1

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        leader = best_list(self.mean, self.n_items, self.n_positions, rng)
        led = self.leaders.count(leader)
        if led % self.period() == 0:
            return leader, leader
        lists = [leader, *self.neighbours(leader, self.by_rate(leader, rng))]
        sums = [
            math.fsum(self.index(item, k, led + 1) for k, item in enumerate(chosen))
            for chosen in lists
        ]
        tied = [chosen for chosen, s in zip(lists, sums, strict=True) if s >= max(sums) - TIE]
        return tied[int(rng.random() * len(tied))] if len(tied) > 1 else tied[0], leader

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        super().update(ranking, memo, clicks)
        self.leaders.append(memo)


class GRABTwin(SGRABTwin):
    def by_rate(self, leader: list[int], rng: np.random.Generator) -> list[int]:
        rates = [self.mean(item, k) for k, item in enumerate(leader)]
        return shuffled_sort(rates, self.n_positions, rng)

    def swaps(self, order: list[int]) -> list[list[int]]:
        return [list(pair) for pair in itertools.pairwise(order)]

    def replaced(self, order: list[int]) -> list[int]:
        return order[-1:]

    def period(self) -> int:
        return self.n_items


TWINS: dict[str, type[Twin]] = {
    "comb-ucb1": CombUCB1Twin,
    "kl-comb-ucb": KLCombUCBTwin,
    "grab": GRABTwin,
    "s-grab": SGRABTwin,
}
