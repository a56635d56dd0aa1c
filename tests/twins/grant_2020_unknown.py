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
    """The logarithms of attractions and of biases but the first: Newton's method in the box."""
    n_items, n_positions = n.shape
    low = np.full(n_items + n_positions - 1, math.log(least))
    high = np.full(low.size, math.inf)
    high[n_items:] = math.log(most)
    if ceiling:
        high[:n_items] = 0.0

    def loss(v: Floats) -> float:
        x, y = v[:n_items], np.r_[0.0, v[n_items:]]
        z = x[:, None] + y
        return float((n * np.exp(-z) + m * z).sum() + PULL * (np.exp(-x) + x).sum())

    v = np.zeros(low.size) if start is None else start.copy()
    v[n_items:][n[:, 1:].sum(axis=0) == 0] = math.log(least)
    v = np.clip(v, low, high)
    curvature = np.zeros((v.size, v.size))
    for _ in range(500):
        cells = n * np.exp(-(v[:n_items, None] + np.r_[0.0, v[n_items:]]))
        pull = PULL * np.exp(-v[:n_items])
        slope = np.r_[(m - cells).sum(axis=1) + PULL - pull, (m - cells).sum(axis=0)[1:]]
        curvature[:n_items, n_items:] = cells[:, 1:]
        curvature[n_items:, :n_items] = cells[:, 1:].T
        np.fill_diagonal(curvature, np.r_[cells.sum(axis=1) + pull, cells.sum(axis=0)[1:]])
        held = ((v <= low) & (slope >= 0)) | ((v >= high) & (slope <= 0))
        while True:
            step = np.zeros(v.size)
            free = np.flatnonzero(~held)
            step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
            out = ((v <= low) & (step < 0)) | ((v >= high) & (step > 0))
            if not out.any():
                break
            held |= out
        room = np.where(step < 0, low - v, high - v)
        reach = np.min(room[step != 0] / step[step != 0], initial=1.0)
        size = reach
        if np.abs(step).max() > 1e-4:
            now = loss(v)
            while loss(v + size * step) > now and size > 1e-12:
                size /= 2
        v = np.clip(v + size * step, low, high)
        edge = np.abs(v - low) < 1e-12
        v[edge] = low[edge]
        edge = np.abs(v - high) < 1e-12
        v[edge] = high[edge]
        if reach == 1.0 and np.abs(step).max() < 1e-8:  # the next would be its square
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
            y[1:] = best[shown.sum() :]
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
    "epoch-ucb-star": [{"ceiling": True, "least": 0.05, "most": 2.0, "whole_root": True}],
}
