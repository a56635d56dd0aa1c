"""Twin of OSUB."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clickrank.policies import OSUB, Policy
from clickrank.types import Floats, Ints
from tests.twins.base import Twin, index_by_bisection, shuffled_sort


@dataclass(frozen=True)
class Graph:
    """A graph of any number of items, by a rule for who are neighbours."""

    name: str
    joined: Callable[[int, int], bool]

    def __repr__(self) -> str:
        return self.name

    def __call__(self, n_items: int) -> list[list[int]]:
        items = range(n_items)
        return [[k for k in items if k != item and self.joined(item, k)] for item in items]


class OSUBTwin(Twin):
    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        assert isinstance(spec, OSUB)
        self.osub = spec
        self.leaders: list[int] = []

    def joined(self, one: int, two: int) -> bool:
        if self.osub.neighbours is None:
            return abs(one - two) == 1
        return two in self.osub.neighbours[one] or one in self.osub.neighbours[two]

    def index(self, item: int, delta: float) -> float:
        return index_by_bisection(self.clicks[item], self.views[item], np.ones(1), delta)

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        items = range(self.n_items)
        rates = [float(self.clicks[k, 0]) / max(1, int(self.views[k, 0])) for k in items]
        [leader] = shuffled_sort(rates, 1, rng)
        led = self.leaders.count(leader)
        degree = max(sum(self.joined(one, two) for two in items) for one in items)
        if led % (degree + 1) == 0:
            return [leader], [leader]
        delta = math.log(led + 1)
        if led + 1 > math.e:
            delta += self.osub.loglog * math.log(math.log(led + 1))
        near = [k == leader or self.joined(leader, k) for k in items]
        index = [self.index(k, delta) if near[k] else -math.inf for k in items]
        return shuffled_sort(index, 1, rng), [leader]

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        super().update(ranking, memo, clicks)
        self.leaders += memo


TWINS: dict[str, type[Twin]] = {"osub": OSUBTwin}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "osub": [
        {},
        {"loglog": 0.5},
        {"neighbours": Graph("star", lambda one, two: one == 0)},  # each edge named once
        {"neighbours": Graph("complete", lambda one, two: True), "loglog": 0.0},
    ]
}
