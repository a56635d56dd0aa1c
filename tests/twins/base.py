"""Naive twins: each policy written from its formulas, without caches or bounds.

A twin keeps the whole history of counts, recomputes everything in every round in plain Python and
solves equations by bisection. With the same seed it must show the same rankings as the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clickrank.policies import Policy
from clickrank.types import Floats, Ints


def shuffled_sort(values: Sequence[float], k: int, rng: np.random.Generator) -> list[int]:
    """Top k with random ties: a stable sort, then each group of equal values shuffled."""
    order = sorted(range(len(values)), key=lambda item: -values[item])
    out: list[int] = []
    while len(out) < k:
        value = values[order[len(out)]]
        group = [item for item in range(len(values)) if values[item] == value]
        room = min(k - len(out), len(group))
        kept = group[:room]
        for met, item in enumerate(group[room:], start=room + 1):
            place = int(rng.random() * met)
            if place < room:
                kept[place] = item
        for i in range(room - 1, 0, -1):
            other = int(rng.random() * (i + 1))
            kept[i], kept[other] = kept[other], kept[i]
        out += kept
    return out


def kl(p: float, q: float) -> float:
    total = 0.0
    if p > 0:
        total += math.inf if q <= 0 else p * math.log(p / q)
    if p < 1:
        total += math.inf if q >= 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return total


def index_by_bisection(clicks: Ints, views: Ints, kappa: Floats, delta: float) -> float:
    """Eq. 7: the largest q ≤ 1 whose divergence is at most δ, right of the minimum."""

    rows = zip(clicks.tolist(), views.tolist(), kappa.tolist(), strict=True)
    seen = [(n, s / n, k) for s, n, k in rows if n > 0]

    def phi(q: float) -> float:
        return math.fsum([n * kl(mean, k * q) for n, mean, k in seen])

    low, high = 0.0, 1.0
    for _ in range(90):  # the minimum, by ternary search on a convex function
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if phi(a) < phi(b):
            high = b
        else:
            low = a
    low = (low + high) / 2
    if phi(1.0) <= max(delta, phi(low)):  # feasible, or the minimum itself
        return 1.0
    high = 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):  # there is no number between them
            break
        if phi(middle) <= delta:
            low = middle
        else:
            high = middle
    return low


class Twin:
    """Counts by item and position, and what the policies compute from them."""

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        """Start; ``kappa`` is the page's examination, which only some policies may look at."""
        self.spec = spec
        self.kappa = kappa
        self.n_items, self.n_positions = n_items, kappa.size
        self.t = 1
        self.clicks = np.zeros((n_items, kappa.size), dtype=np.int64)
        self.views = np.zeros((n_items, kappa.size), dtype=np.int64)
        self.rounds: list[tuple[list[int], list[int]]] = []  # (ranking, clicks)
        self.order = sorted(range(kappa.size), key=lambda position: -kappa[position])

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        self.t += 1
        self.rounds.append((ranking, clicks.tolist()))
        for position, item in enumerate(ranking):
            self.views[item, position] += 1
            self.clicks[item, position] += clicks[position]

    def placed(self, best: list[int]) -> list[int]:
        ranking = [0] * self.n_positions
        for item, position in zip(best, self.order, strict=True):
            ranking[position] = item
        return ranking

    def seen(self, item: int) -> float:
        """Ñ_k, added up view by view as the kernel does; another order rounds differently."""
        total = 0.0
        for ranking, _ in self.rounds:
            if item in ranking:
                total += self.kappa[ranking.index(item)]
        return total

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        raise NotImplementedError
