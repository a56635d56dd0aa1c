"""Twins of the policies that compare items within blocks: TopRank and UniRank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank.policies import Policy, TopRank
from clickrank.types import Floats, Ints
from tests.twins.base import Twin


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
            return 1.0 / (self.spec.guess * 2**self.epoch)
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
                u = c[i] - c[j] if memo[i] == memo[j] else 0
                self.s[i, j] += u
                self.n[i, j] += abs(u)
                s, n = int(self.s[i, j]), int(self.n[i, j])
                if u and s > 0 and s >= self.width(n):  # only what changes can newly hold
                    self.superiors[j].add(i)
        self.settled += 1
        if self.spec.doubling and self.settled == self.spec.guess * 2**self.epoch:
            self.epoch += 1
            self.forget()

    def width(self, n: int) -> float:
        c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
        return math.sqrt(2 * n * math.log(c / self.delta() * math.sqrt(n)))


TWINS: dict[str, type[Twin]] = {"toprank": TopRankTwin}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "toprank": [{}, {"failure": 1.0}, {"doubling": True, "guess": 20}],
}
