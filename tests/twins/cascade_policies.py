"""Twins of CascadeUCB1, CascadeKL-UCB and dcmKL-UCB: all bounds from the log, every round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clickrank.policies import DCMKLUCB, Policy
from clickrank.types import Floats
from tests.twins.base import Twin, kl


def drawn_sort(values: Sequence[float], k: int, rng: np.random.Generator) -> list[int]:
    """Top k with random ties: each place of a tie is drawn from the tied items that are left."""
    out: list[int] = []
    while len(out) < k:
        value = max(values[item] for item in range(len(values)) if item not in out)
        group = [item for item in range(len(values)) if values[item] == value]
        for i in range(min(k - len(out), len(group))):
            if len(group) - i > 1:
                other = i + int(rng.random() * (len(group) - i))
                group[i], group[other] = group[other], group[i]
            out.append(group[i])
    return out


def upper_by_bisection(clicks: int, views: int, delta: float) -> float:
    """Largest q with n d(c/n, q) ≤ δ, infinite for n = 0."""
    if views == 0:
        return math.inf
    low, high = clicks / views, 1.0
    if views * kl(low, high) <= delta:
        return high
    mean = low
    for _ in range(100):
        middle = (low + high) / 2
        if views * kl(mean, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


class CascadeTwin(Twin):
    """Counts of what was looked at, added up anew from the log in every round."""

    observe = "first-click"

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.order = list(range(kappa.size))
        if isinstance(spec, DCMKLUCB):
            self.observe = spec.observe
            if spec.satisfaction is not None:
                known = spec.satisfaction
                self.order = sorted(self.order, key=lambda position: -known[position])

    def seen_counts(self) -> tuple[list[int], list[int]]:
        clicks, views = [0] * self.n_items, [0] * self.n_items
        for ranking, clicked in self.rounds:
            where = [position for position, click in enumerate(clicked) if click]
            end = self.n_positions - 1
            if where:
                end = where[0] if self.observe == "first-click" else where[-1]
            for item, click in list(zip(ranking, clicked, strict=True))[: end + 1]:
                clicks[item] += click
                views[item] += 1
        return clicks, views

    def bound(self, clicks: int, views: int) -> float:
        raise NotImplementedError

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        bounds = [self.bound(c, n) for c, n in zip(*self.seen_counts(), strict=True)]
        return self.placed(drawn_sort(bounds, self.n_positions, rng)), []


class CascadeUCB1Twin(CascadeTwin):
    def bound(self, clicks: int, views: int) -> float:
        if views == 0:
            return math.inf
        return clicks / views + math.sqrt(1.5 * math.log(self.t - 1) / views)


class CascadeKLUCBTwin(CascadeTwin):
    def bound(self, clicks: int, views: int) -> float:
        log_t = math.log(self.t)
        delta = log_t + 3 * math.log(log_t) if log_t > 1 else log_t
        return upper_by_bisection(clicks, views, delta)


TWINS: dict[str, type[Twin]] = {
    "cascade-ucb1": CascadeUCB1Twin,
    "cascade-kl-ucb": CascadeKLUCBTwin,
    "dcm-kl-ucb": CascadeKLUCBTwin,
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "dcm-kl-ucb": [{}, {"observe": "first-click"}],
}
