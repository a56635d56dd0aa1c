"""Twins of BatchRank and BubbleRank, the policies of 003's section 2.2 for general click models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank.policies import BatchRank, BubbleRank, Policy
from clickrank.types import Floats, Ints
from tests.twins.base import Twin, kl


def bounds_by_bisection(clicks: int, views: int, delta: float) -> tuple[float, float]:
    """Largest and smallest q with n d(c/n, q) ≤ δ."""
    mean = clicks / views
    ends = []
    for far in (1.0, 0.0):
        near = mean
        for _ in range(100):
            middle = (near + far) / 2
            if views * kl(mean, middle) <= delta:
                near = middle
            else:
                far = middle
        ends.append(near)
    return ends[0], ends[1]


def draw(rng: np.random.Generator, size: int) -> int:
    return int(rng.random() * size)


def shuffle(values: list[int], rng: np.random.Generator) -> None:
    for i in range(len(values) - 1, 0, -1):
        other = draw(rng, i + 1)
        values[i], values[other] = values[other], values[i]


class Batch:
    """Positions, items, and the number of clicks and views of each in the current stage."""

    def __init__(self, size: int, items: list[int], stage: int, number: int) -> None:
        self.size, self.items, self.stage, self.number = size, items, stage, number
        self.clicks = dict.fromkeys(items, 0)
        self.views = dict.fromkeys(items, 0)
        self.deck = list(items)  # not shown yet as often as others
        self.shown: list[int] = []  # those that were


class BatchRankTwin(Twin):
    """BatchRank with batches as objects, printed steps as methods."""

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        assert isinstance(spec, BatchRank)
        self.log_t = math.log(spec.horizon)
        self.delta = self.log_t + 3 * math.log(self.log_t)
        self.numbers = 1
        self.batches = [Batch(kappa.size, list(range(n_items)), 0, 1)]

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        ranking: list[int] = []
        memo: list[int] = []
        for batch in self.batches:
            if batch.size == len(batch.items):
                shown = list(batch.items)
                shuffle(shown, rng)
                counted = shown if len(shown) > 1 else []
            else:
                shown, counted = self.display(batch, rng)
            ranking += shown
            memo += [batch.number if item in counted else 0 for item in shown]
        return ranking, memo

    def display(self, batch: Batch, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        """The least shown in random order, and those of them that count."""
        shown: list[int] = []
        while batch.deck and len(shown) < batch.size:
            card = draw(rng, len(batch.deck))
            shown.append(batch.deck[card])
            batch.deck[card] = batch.deck[-1]
            batch.deck.pop()
            batch.shown.insert(0, shown[-1])
        counted = list(shown)
        if not batch.deck:
            batch.deck, batch.shown = batch.shown, []
            if len(shown) < batch.size:
                deck = batch.deck
                for i in range(len(shown), batch.size):
                    card = i + draw(rng, len(deck) - i)
                    deck[i], deck[card] = deck[card], deck[i]
                    shown.append(deck[i])
                shuffle(shown, rng)
        return shown, counted

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        for item, number, click in zip(ranking, memo, clicks.tolist(), strict=True):
            for batch in self.batches:
                needed = math.ceil(16 * 4**batch.stage * self.log_t)
                if batch.number == number and batch.views[item] < needed:
                    batch.views[item] += 1
                    batch.clicks[item] += click
        after: list[Batch] = []
        for batch in self.batches:
            needed = math.ceil(16 * 4**batch.stage * self.log_t)
            done = all(views == needed for views in batch.views.values())
            after += self.end_stage(batch, needed) if done else [batch]
        self.batches = after

    def new(self, size: int, items: list[int], stage: int) -> Batch:
        self.numbers += 1
        return Batch(size, items, stage, self.numbers)

    def end_stage(self, batch: Batch, views: int) -> list[Batch]:
        bounds = {d: bounds_by_bisection(batch.clicks[d], views, self.delta) for d in batch.items}
        best = sorted(batch.items, key=lambda d: -bounds[d][1])
        split = 0
        for k in range(1, batch.size):
            if bounds[best[k - 1]][1] > max(bounds[d][0] for d in best[k:]):
                split = k
        if split == 0:
            needed = bounds[best[batch.size - 1]][1]
            keep = [d for d in batch.items if bounds[d][0] >= needed]
            return [self.new(batch.size, keep, batch.stage + 1)]
        upper = best[:split]
        lower = [d for d in batch.items if d not in upper]
        return [self.new(split, upper, 0), self.new(batch.size - split, lower, 0)]


class BubbleRankTwin(Twin):
    """BubbleRank with a pass over all pairs in every round."""

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        assert isinstance(spec, BubbleRank)
        self.log_delta = spec.power * math.log(spec.horizon)
        self.s = np.zeros((n_items, n_items))
        self.n = np.zeros((n_items, n_items))
        self.base: list[int] = []
        self.below: list[int] = []
        self.made = 0  # lists made since the last feedback
        if spec.initial is not None:
            self.start(list(spec.initial))

    def start(self, ranking: list[int]) -> None:
        self.base = ranking[: self.n_positions]
        self.below = [item for item in range(self.n_items) if item not in self.base]

    def better(self, i: int, j: int) -> bool:
        return bool(self.s[i, j] > 2 * math.sqrt(self.n[i, j] * self.log_delta))

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        memo = [0] * self.n_positions
        if not self.base:
            deck = list(range(self.n_items))
            ranking = []
            for _ in range(self.n_positions):
                card = draw(rng, len(deck))
                ranking.append(deck[card])
                deck[card] = deck[0]
                deck.pop(0)
            return ranking, memo
        ranking = list(self.base)
        h = (self.t + self.made) % 2
        self.made += 1
        # Positions from 1 up, as printed.
        for k in range(1, (self.n_positions - h) // 2 + 1):
            upper, lower = 2 * k - 2 + h, 2 * k - 1 + h
            if not self.better(ranking[upper], ranking[lower]):
                memo[upper] = 1
                if rng.random() < 0.5:
                    ranking[upper], ranking[lower] = ranking[lower], ranking[upper]
        last = self.n_positions - 1
        candidates = [j for j in self.below if not self.better(ranking[last], j)]
        paired = {2 * k - 2 + h for k in range(1, self.n_positions + 1)}
        if candidates and last in paired:
            pair = [ranking[last], candidates[draw(rng, len(candidates))]]
            if rng.random() < 0.5:
                pair.reverse()
            ranking[last], memo[last] = pair[0], pair[1] + 1
        return ranking, memo

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        self.t += 1
        self.made = 0
        if not self.base:
            self.start(ranking)
            return
        last = self.n_positions - 1
        for k in range(self.n_positions):
            if memo[k] == 0:
                continue
            i = ranking[k]
            j = ranking[k + 1] if k < last else memo[k] - 1
            difference = clicks[k] - (clicks[k + 1] if k < last else 0)
            if difference != 0:
                self.s[i, j] += difference
                self.s[j, i] -= difference
                self.n[i, j] += 1
                self.n[j, i] += 1
        base, below = self.base, self.below
        for k in range(last):
            if self.better(base[k + 1], base[k]):
                base[k], base[k + 1] = base[k + 1], base[k]
        above = [j for j in below if self.better(j, base[last])]
        if above:
            j = max(above, key=lambda j: self.s[j, base[last]])
            below[below.index(j)], base[last] = base[last], j
        below.sort(key=lambda j: self.better(base[last], j))


TWINS: dict[str, type[Twin]] = {"batchrank": BatchRankTwin, "bubblerank": BubbleRankTwin}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "bubblerank": [{}, {"power": 0.1}, {"power": 0.05, "initial": (2, 1, 0)}],
}
