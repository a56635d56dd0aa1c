"""Naive twins: each policy of paper 001 written from its formulas, without caches or bounds.

A twin keeps the whole history of counts, recomputes everything in every round in plain Python and
solves equations by bisection. With the same seed it must show the same rankings as the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from clickrank.numerics.gamma import gamma_constants, sample_gamma
from clickrank.numerics.posterior import HAT_SIZE, build_hat, sample_posterior
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
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += math.inf if b <= 0 else a * math.log(a / b)
    return total


def index_by_bisection(clicks: Ints, views: Ints, kappa: Floats, delta: float) -> float:
    """Eq. 7: the largest q ≤ 1 whose divergence is at most δ, right of the minimum."""

    def phi(q: float) -> float:
        rows = zip(clicks.tolist(), views.tolist(), kappa.tolist(), strict=True)
        return math.fsum(n * kl(s / n, k * q) for s, n, k in rows if n > 0)

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
        if phi(middle) <= delta:
            low = middle
        else:
            high = middle
    return low


class Twin:
    """Counts by item and position, and what the policies compute from them."""

    def __init__(self, n_items: int, kappa: Floats) -> None:
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


class PBMUCBTwin(Twin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        scores = []
        for item in range(self.n_items):
            n = int(self.views[item].sum())
            if n == 0:
                scores.append(math.inf)
                continue
            seen = self.seen(item)
            width = math.sqrt(0.5 * n) / seen
            scores.append(self.clicks[item].sum() / seen + width * math.sqrt(math.log(self.t)))
        return self.placed(shuffled_sort(scores, self.n_positions, rng)), []


class PBMKLUCBTwin(Twin):
    def index(self, item: int) -> float:
        if self.views[item].sum() == 0:
            return math.inf
        return index_by_bisection(self.clicks[item], self.views[item], self.kappa, math.log(self.t))

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        scores = [self.index(item) for item in range(self.n_items)]
        return self.placed(shuffled_sort(scores, self.n_positions, rng)), []


class PBMPIETwin(PBMKLUCBTwin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        unstarted = [item for item in range(self.n_items) if self.views[item, 0] == 0]
        if unstarted:
            first = unstarted[int(rng.random() * len(unstarted))]
            return [(first + i) % self.n_items for i in range(self.n_positions)], []
        means = [self.clicks[k].sum() / self.seen(k) for k in range(self.n_items)]
        leaders = shuffled_sort(means, self.n_positions, rng)
        last = means[leaders[-1]]
        promising = [k for k in range(self.n_items) if k not in leaders and self.index(k) >= last]
        ranking = self.placed(leaders)
        if promising and rng.random() < 0.5:
            ranking[self.order[-1]] = promising[int(rng.random() * len(promising))]
        return ranking, []


class BCMPTSTwin(Twin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        draws = []
        for item in range(self.n_items):
            s = int(self.clicks[item].sum())
            win, loss = (
                sample_gamma(*gamma_constants(shape), rng)
                for shape in (1.0 + s, 1.0 + max(self.seen(item) - s, 0.0))
            )
            draws.append(win / (win + loss))
        return self.placed(shuffled_sort(draws, self.n_positions, rng)), []


class PBMTSTwin(Twin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        draws = []
        for item in range(self.n_items):
            s = int(self.clicks[item].sum())
            misses = self.views[item] - self.clicks[item]
            hat = np.zeros(HAT_SIZE)
            build_hat(s, misses, self.kappa, s / self.seen(item) if s else 0.0, hat)
            draws.append(sample_posterior(s, misses, self.kappa, hat, rng))
        return self.placed(shuffled_sort(draws, self.n_positions, rng)), []


class RBAKLUCBTwin(Twin):
    def __init__(self, n_items: int, kappa: Floats) -> None:
        super().__init__(n_items, kappa)
        self.chosen = np.zeros((kappa.size, n_items), dtype=np.int64)
        self.rewards = np.zeros((kappa.size, n_items), dtype=np.int64)

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        ranking: list[int] = []
        choices = []
        one = np.ones(1)
        for position in range(self.n_positions):
            values = [self.arm_index(position, item, one) for item in range(self.n_items)]
            tied = [item for item, value in enumerate(values) if value == max(values)]
            choice = tied[int(rng.random() * len(tied))] if len(tied) > 1 else tied[0]
            choices.append(choice)
            if choice in ranking:
                free = [item for item in range(self.n_items) if item not in ranking]
                choice = free[int(rng.random() * len(free))]
            ranking.append(choice)
        return ranking, choices

    def arm_index(self, position: int, item: int, one: Floats) -> float:
        n, s = self.chosen[position, item], self.rewards[position, item]
        if n == 0:
            return math.inf
        return index_by_bisection(np.array([s]), np.array([n]), one, math.log(self.t))

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        self.t += 1
        for position, (shown, choice) in enumerate(zip(ranking, memo, strict=True)):
            self.chosen[position, choice] += 1
            if shown == choice:
                self.rewards[position, choice] += clicks[position]


TWINS: dict[str, Callable[[int, Floats], Twin]] = {
    "pbm-ucb": PBMUCBTwin,
    "pbm-kl-ucb": PBMKLUCBTwin,
    "pbm-pie": PBMPIETwin,
    "bc-mp-ts": BCMPTSTwin,
    "pbm-ts": PBMTSTwin,
    "rba-kl-ucb": RBAKLUCBTwin,
}
