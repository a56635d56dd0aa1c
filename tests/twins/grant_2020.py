"""Twins of the policies of grant2020 that know the position bias, or do without."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank.numerics.gamma import gamma_constants, sample_gamma
from clickrank.policies import EpochTS, EpochUCB, EpochUCBW, Policy
from clickrank.types import Floats, Ints
from tests.twins.assignment_policies import best_list
from tests.twins.base import Twin, shuffled_sort
from tests.twins.cascade_policies import drawn_sort

NUMBERS = 2**19  # of epochs in a memo


class EpochTwin(Twin):
    """Reads off the whole log which epoch it is, and which list it shows."""

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.log: list[tuple[list[int], int, list[int]]] = []  # ranking, epoch, clicks

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        self.log.append((ranking, memo[0], clicks.tolist()))

    def ends(self) -> list[list[int]]:
        """The lists that came back without a click, each of which ended an epoch."""
        return [ranking for ranking, _, clicks in self.log if sum(clicks) == 0]

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        epoch = len(self.ends()) % NUMBERS
        since: list[list[int]] = []  # lists of this epoch that came back, all with a click
        for ranking, number, clicks in self.log:
            if sum(clicks) == 0:
                since = []
            elif number == epoch:
                since.append(ranking)
        return (since[0] if since else self.begin(rng)), [epoch]

    def begin(self, rng: np.random.Generator) -> list[int]:
        raise NotImplementedError

    def clicked(self, item: int) -> int:
        rows = [zip(ranking, clicks, strict=True) for ranking, _, clicks in self.log]
        return sum(click for row in rows for shown, click in row if shown == item)

    def biases(self, item: int) -> list[float]:
        """λ of the item in each of its complete epochs, in order."""
        assert isinstance(self.spec, (EpochUCB, EpochUCBW, EpochTS))
        bias = self.spec.position_bias
        return [bias[ranking.index(item)] for ranking in self.ends() if item in ranking]


def bound(clicks: int, exposure: float, level: float) -> float:
    """ᾱ + √(c min(1, 2ᾱ) log / Λ) + c log / Λ, in the kernel's order.

    Biases of .9 and of .6 + .3 make equal indices but for the rounding, which then decides. The
    formulas as printed are in `tests/test_mnl_policies.py`.
    """
    if exposure == 0:
        return math.inf
    share = 1 / exposure
    mean = clicks * share
    return mean + math.sqrt(level) * math.sqrt(min(1.0, 2 * mean) * share) + level * share


class EpochUCBTwin(EpochTwin):
    def level(self, epoch: int) -> float:
        return 4 * max(0.0, math.log(self.n_items * epoch**2 / 2))

    def begin(self, rng: np.random.Generator) -> list[int]:
        level = self.level(len(self.ends()) + 1)
        bounds = []
        for item in range(self.n_items):
            exposure = 0.0
            for bias in self.biases(item):  # `sum` of newer Pythons rounds otherwise
                exposure += bias
            bounds.append(bound(self.clicked(item), exposure, level))
        return self.placed(drawn_sort(bounds, self.n_positions, rng))


class EpochUCBWTwin(EpochUCBTwin):
    def level(self, epoch: int) -> float:
        assert isinstance(self.spec, EpochUCBW)
        inside = self.n_items / 2 * epoch * (1 if self.spec.whole_root else epoch)
        return 24 * max(0.0, math.log(inside))  # 48 log √x


class EpochTSTwin(EpochTwin):
    def begin(self, rng: np.random.Generator) -> list[int]:
        draws = []
        for item in range(self.n_items):
            exposure = squares = 1.0
            for bias in self.biases(item):
                exposure += bias
                squares += bias * bias
            shapes = 1.0 + self.clicked(item), exposure * exposure / squares
            win, loss = (sample_gamma(*gamma_constants(shape), rng) for shape in shapes)
            draws.append(win / loss * (exposure / squares))
        return self.placed(shuffled_sort(draws, self.n_positions, rng))


class MNLBanditTwin(EpochTwin):
    def begin(self, rng: np.random.Generator) -> list[int]:
        epoch = len(self.ends()) + 1
        level = 4 * max(0.0, math.log(self.n_items * self.n_positions * epoch**2 / 2))
        bounds = {}
        for item in range(self.n_items):
            for k in range(self.n_positions):
                shown = [clicks[k] for ranking, _, clicks in self.log if ranking[k] == item]
                epochs = sum(ranking[k] == item for ranking in self.ends())
                bounds[item, k] = bound(sum(shown), epochs, level)
        finite = [value for value in bounds.values() if value < math.inf]
        most = 1 + self.n_positions * max(finite, default=0.0)
        return best_list(
            lambda item, k: min(1.0, bounds[item, k] / most), self.n_items, self.n_positions, rng
        )


TWINS: dict[str, type[Twin]] = {
    "epoch-ucb": EpochUCBTwin,
    "epoch-ucb-w": EpochUCBWTwin,
    "epoch-ts": EpochTSTwin,
    "mnl-bandit": MNLBanditTwin,
}
SETTINGS: dict[str, list[dict[str, Any]]] = {"epoch-ucb-w": [{}, {"whole_root": True}]}
