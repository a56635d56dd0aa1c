"""Twins of the policies that compare items within blocks: TopRank and UniRank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank.policies import Policy, TopRank
from clickrank.types import Floats, Ints
from tests.twins.base import Twin, kl


def draw(blocks: list[list[int]], n_positions: int, rng: np.random.Generator) -> list[int]:
    """Shuffle each block from its front, as far as the list needs it."""
    ranking: list[int] = []
    for block in blocks:
        pool = list(block)
        while pool and len(ranking) < n_positions:
            pick = int(rng.random() * len(pool)) if len(pool) > 1 else 0
            ranking.append(pool[pick])
            pool[pick] = pool[0]  # what is drawn first moves out of the way, as in the kernel
            pool.pop(0)
    return ranking


def peel(n_items: int, superiors: dict[int, set[int]]) -> list[list[int]]:
    """Take off, again and again, the items that none beats of those left; a circle stays whole."""
    left = set(range(n_items))
    blocks = []
    while left:
        free = {i for i in left if not superiors[i] & left} or set(left)
        blocks.append(sorted(free))
        left -= free
    return blocks


class TopRankTwin(Twin):
    spec: TopRank

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.epoch = 0
        self.forget()

    def forget(self) -> None:
        self.settled = 0
        self.s = np.zeros((self.n_items, self.n_items), dtype=np.int64)
        self.n = np.zeros((self.n_items, self.n_items), dtype=np.int64)
        self.superiors: dict[int, set[int]] = {i: set() for i in range(self.n_items)}

    def delta(self) -> float:
        if self.spec.doubling:
            return 1.0 / float(self.spec.guess * 2**self.epoch)
        return self.spec.failure or 1.0 / (self.spec.horizon or 0)

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        blocks = peel(self.n_items, self.superiors)
        memo = [0] * self.n_items
        for d, block in enumerate(blocks):
            for item in block:
                memo[item] = d
        if self.spec.doubling:
            memo.append(self.epoch)
        return draw(blocks, self.n_positions, rng), memo

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        if self.spec.doubling and memo[-1] != self.epoch:
            return
        c = [0] * self.n_items
        for item, click in zip(ranking, clicks.tolist(), strict=True):
            c[item] = click
        for i in range(self.n_items):
            for j in range(self.n_items):
                if memo[i] != memo[j] or c[i] == c[j]:
                    continue  # U = 0: neither S nor N changes, nor what they prove
                self.s[i, j] += c[i] - c[j]
                self.n[i, j] += 1
                if self.s[i, j] >= self.width(int(self.n[i, j])):
                    self.superiors[j].add(i)
        self.settled += 1
        if self.spec.doubling and self.settled == self.spec.guess * 2**self.epoch:
            self.epoch += 1
            self.forget()

    def width(self, n: int) -> float:
        c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
        return math.sqrt(2 * n * math.log(c / self.delta() * math.sqrt(n)))


class UniRankTwin(Twin):
    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.sum = np.zeros((n_items, n_items), dtype=np.int64)  # T_ij ŝ_ij
        self.trials = np.zeros((n_items, n_items), dtype=np.int64)  # T_ij
        self.led: dict[tuple[int, ...], int] = {}

    def dominates(self, i: int, j: int) -> bool:
        """s̃_ij ≥ 0."""
        trials = self.trials[i, j]
        if trials == 0:
            return False
        loglog = math.log(math.log(self.t)) if self.t > math.e else 0.0
        return bool(self.sum[i, j] / trials - math.sqrt(loglog / trials) >= 0)

    def elicit(self) -> tuple[list[list[int]], list[int]]:
        """Algorithm 11: the subsets that are shown, and the last one."""
        rest = list(range(self.n_items))
        subsets: list[list[int]] = []
        while rest and sum(map(len, subsets)) < self.n_positions:
            best = [j for j in rest if not any(self.dominates(i, j) for i in rest)] or rest
            subsets.append(best)
            rest = [j for j in rest if j not in best]
        return subsets, rest

    def index(self, i: int, j: int, led: int) -> float:
        """s̲_ij, by bisection."""
        trials = int(self.trials[i, j])
        if trials == 0 or led == 0 or self.sum[i, j] == -trials:
            return -1.0
        mean = (1 + self.sum[i, j] / trials) / 2
        budget = math.log(led) + (3 * math.log(math.log(led)) if led > math.e else 0.0)
        if budget == 0.0:
            return float(2 * mean - 1)
        low, high = 0.0, float(mean)
        for _ in range(100):
            middle = (low + high) / 2
            if trials * kl(mean, middle) <= budget:
                high = middle
            else:
                low = middle
        return 2 * high - 1

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        subsets, rest = self.elicit()
        leader = numbered(subsets, self.n_items)
        led = self.led.get(tuple(leader), 0)
        played: list[list[int]] = []
        c = 0
        while c < len(subsets):
            if c + 1 < len(subsets):
                pairs = [(i, j) for i in subsets[c] for j in subsets[c + 1]]
                if min(self.index(i, j, led) for i, j in pairs) <= 0:
                    played.append(subsets[c] + subsets[c + 1])
                    c += 2
                    continue
                played.append(subsets[c])
            else:
                played.append(list(subsets[c]))
                least = [min(self.index(i, j, led) for i in subsets[c]) for j in rest]
                if rest and min(least) <= 0:
                    tied = [j for j, value in zip(rest, least, strict=True) if value == min(least)]
                    pick = int(rng.random() * len(tied)) if len(tied) > 1 else 0
                    played[-1].append(tied[pick])
            c += 1
        memo = leader + numbered(played, self.n_items)
        return draw(played, self.n_positions, rng), memo

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        self.t += 1
        leader, played = tuple(memo[: self.n_items]), memo[self.n_items :]
        self.led[leader] = self.led.get(leader, 0) + 1
        c = dict(zip(ranking, clicks.tolist(), strict=True))
        for i in range(self.n_items):
            for j in range(self.n_items):
                difference = c.get(i, 0) - c.get(j, 0)
                if difference and played[i] == played[j]:
                    self.trials[i, j] += 1
                    self.sum[i, j] += difference


def numbered(subsets: list[list[int]], n_items: int) -> list[int]:
    """Return the number of each item's subset, from 1; 0 for items in none."""
    found = [0] * n_items
    for number, subset in enumerate(subsets, start=1):
        for item in subset:
            found[item] = number
    return found


TWINS: dict[str, type[Twin]] = {"toprank": TopRankTwin, "unirank": UniRankTwin}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "unirank": [{}, {"slots": 1024}],
    "toprank": [{}, {"failure": 1.0}, {"doubling": True, "guess": 20}],
}
