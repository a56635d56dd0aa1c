"""Twins of the policies of paper 000 that estimate the position biases.

The fit is for all logarithms at once, where the kernels eliminate the items; and the epochs are
counted from the log.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank.policies import EpochUCBStar, EpochUCBUnknown
from clickrank.types import Floats
from tests.twins.base import shuffled_sort
from tests.twins.grant_2020 import EpochTwin

PULL = 1e-3  # of an epoch with as many clicks at bias 1, for each item
GRID = 1e-6


def fit(
    n: Floats, m: Floats, least: float, most: float, ceiling: bool, start: Floats | None = None
) -> Floats:
    """The logarithms of attractions and of biases: Newton's method in the box."""
    n_items, n_positions = n.shape
    size = n_items + n_positions
    low, high = np.full(size, math.log(least)), np.full(size, math.log(most))
    high[:n_items] = 0.0 if ceiling else math.inf
    low[n_items] = high[n_items] = 0.0
    # Pulled to α = 1 as if shown at one position more, of bias 1.
    epochs = np.concatenate([m.sum(axis=1) + PULL, m.sum(axis=0)])

    def loss(v: Floats) -> float:
        x = v[:n_items]
        z = x[:, None] + v[n_items:]
        return float((n * np.exp(-z)).sum() + PULL * np.exp(-x).sum() + epochs @ v)

    v = np.zeros(size) if start is None else start.copy()
    v[n_items:][n.sum(axis=0) == 0] = math.log(least)
    v = np.minimum(np.maximum(v, low), high)
    curvature = np.zeros((size, size))
    diagonal = curvature.reshape(-1)[:: size + 1]
    for _ in range(500):
        cells = n * np.exp(-(v[:n_items, None] + v[n_items:]))
        curvature[:n_items, n_items:] = cells
        curvature[n_items:, :n_items] = cells.T
        diagonal[:n_items] = cells.sum(axis=1) + PULL * np.exp(-v[:n_items])
        diagonal[n_items:] = cells.sum(axis=0)
        slope = epochs - diagonal
        at_low, at_high = v <= low, v >= high
        held = (at_low & (slope >= 0)) | (at_high & (slope <= 0))
        while True:
            free = ~held
            system = curvature * (free[:, None] & free)
            system.reshape(-1)[:: size + 1] += held
            step = np.linalg.solve(system, -slope * free)
            out = (at_low & (step < 0)) | (at_high & (step > 0))
            if not out.any():
                break
            held |= out
        longest = float(np.abs(step).max())
        moves = step != 0
        room = np.where(step < 0, low, high)[moves] - v[moves]
        reach = float(np.min(room / step[moves], initial=1.0))
        part = reach
        if longest > 1e-4:
            now = loss(v)
            while loss(v + part * step) > now and part > 1e-12:
                part /= 2
        v = v + part * step
        v = np.where(v < low + 1e-12, low, np.where(v > high - 1e-12, high, v))
        if reach == 1.0 and longest < 1e-8:  # the next would be its square
            return v
    raise AssertionError("no minimum found")


class UnknownTwin(EpochTwin):
    width, squared = 6.0, True

    def counts(self) -> tuple[Floats, Floats]:
        n = np.zeros((self.n_items, self.n_positions))
        m = np.zeros((self.n_items, self.n_positions))
        for ranking, _, clicks in self.log:
            for position, item in enumerate(ranking):
                n[item, position] += clicks[position]
                m[item, position] += sum(clicks) == 0
        return n, m

    def begin(self, rng: np.random.Generator) -> list[int]:
        n, m = self.counts()
        spec = self.spec
        assert isinstance(spec, (EpochUCBUnknown, EpochUCBStar))
        box: tuple[float, float, bool] = (spec.least, spec.most, spec.ceiling)
        shown = m.sum(axis=1) > 0
        values, y = np.full(self.n_items, math.inf), np.zeros(self.n_positions)
        if shown.any():
            n, m = n[shown], m[shown]
            best = fit(n, m, *box)
            alpha = np.exp(best[: shown.sum()])
            square = np.zeros(alpha.size)
            for j, k in np.argwhere(m > 0):
                more = n.copy()
                more[j, k] += 1
                other = np.exp(fit(more, m, *box, best)[: alpha.size])
                square += m[j, k] * (other - alpha) ** 2
            l = len(self.ends()) + 1  # noqa: E741
            inside = self.n_items * (l**2 if self.squared else l)
            values[shown] = alpha + self.width * np.sqrt(square * math.log(inside))
            if spec.ceiling:
                values[shown] = np.minimum(values[shown], 1.0)
            y = best[shown.sum() :]
            values[shown] = np.floor(values[shown] / GRID + 0.5) * GRID
            y = np.floor(y / GRID + 0.5) * GRID
        self.order = sorted(range(self.n_positions), key=lambda position: -y[position])
        return self.placed(shuffled_sort(values.tolist(), self.n_positions, rng))


class StarTwin(UnknownTwin):
    width = 0.5 / math.sqrt(2.0)

    def begin(self, rng: np.random.Generator) -> list[int]:
        assert isinstance(self.spec, EpochUCBStar)
        self.squared = not self.spec.whole_root
        return super().begin(rng)


TWINS = {"epoch-ucb-unknown": UnknownTwin, "epoch-ucb-star": StarTwin}

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "epoch-ucb-star": [{"ceiling": False, "least": 0.05, "most": 2.0, "whole_root": True}],
}
