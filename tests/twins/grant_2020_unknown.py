"""Twins of the policies of grant2020 that estimate the position biases.

The fit is for all logarithms at once, where the kernels eliminate the items; effects of single
clicks come from the whole matrix of second derivatives; and the epochs are counted from the log.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank.numerics.gamma import gamma_constants, sample_gamma
from clickrank.policies import EpochUCBStar, EpochUCBUnknown
from clickrank.types import Floats
from tests.twins.base import shuffled_sort
from tests.twins.grant_2020 import EpochTwin

PULL = 1e-3  # of an epoch with as many clicks at bias 1, for each item
GRID = 1e-6


class Tables:
    """Clicks and epochs, with the pulls as one more column and row, whose logarithms are 0."""

    def __init__(
        self, n: Floats, m: Floats, composite: bool, item_pull: float, position_pull: float
    ) -> None:
        def extended(table: Floats) -> Floats:
            wide = np.column_stack([table, np.full(len(table), item_pull)])
            return np.vstack([wide, np.append(np.full(table.shape[1], position_pull), 0.0)])

        self.n, self.m, self.composite = extended(n), extended(m), composite
        self.rows, self.columns = self.n.shape

    def parts(self, v: Floats) -> Floats:
        z: Floats = v[: self.rows, None] + v[self.rows :]
        return z

    def loss(self, v: Floats) -> float:
        z = self.parts(v)
        if self.composite:
            return float(((self.n + self.m) * np.logaddexp(0, z) - self.n * z).sum())
        return float((self.n * np.exp(-z) + self.m * z).sum())

    def cells(self, v: Floats) -> tuple[Floats, Floats]:
        """First and second derivatives by cell."""
        z = self.parts(v)
        if self.composite:
            p = 1 / (1 + np.exp(-z))
            return (self.n + self.m) * p - self.n, (self.n + self.m) * p * (1 - p)
        part = self.n * np.exp(-z)
        return self.m - part, part

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        slope, bend = self.cells(v)
        whole = np.block([[np.diag(bend.sum(1)), bend], [bend.T, np.diag(bend.sum(0))]])
        return np.concatenate([slope.sum(1), slope.sum(0)]), whole

    def held(self, v: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
        slope, bend = self.derivatives(v)
        found: NDArray[np.bool_] = (v <= low) & (slope >= 0) | (v >= high) & (slope <= 0)
        found |= np.diag(bend) == 0
        return found

    def minimum(self, low: Floats, high: Floats) -> Floats:
        """Newton's method in the box."""
        v: Floats = np.clip(np.zeros(self.rows + self.columns), low, high)
        empty = np.concatenate([self.n.sum(1), self.n.sum(0)]) == 0
        v[empty & (low < high)] = low[empty & (low < high)]
        for _ in range(1000):
            slope, bend = self.derivatives(v)
            held = self.held(v, low, high)
            while True:
                free = ~held
                system = bend * (free[:, None] & free) + np.diag(held.astype(float))
                step = np.linalg.solve(system, -slope * free)
                out = ((v <= low) & (step < 0) | (v >= high) & (step > 0)) & free
                if not out.any():
                    break
                held |= out
            longest = float(np.abs(np.clip(v + step, low, high) - v).max())
            part = 1.0
            if longest > 1e-3:
                now = self.loss(v)
                while self.loss(np.clip(v + part * step, low, high)) > now and part > 1e-15:
                    part /= 2
            v = np.clip(v + part * step, low, high)
            if longest < 1e-9:
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
        shown = m.sum(axis=1) > 0
        values, y = np.full(self.n_items, math.inf), np.full(self.n_positions, math.log(spec.least))
        y[0] = 0.0
        if shown.any():
            n, m = n[shown], m[shown]
            tables = Tables(n, m, spec.estimator == "composite", PULL, 0.0)
            low = np.full(tables.rows + tables.columns, math.log(spec.least))
            high = np.full(low.size, math.log(spec.most))
            high[: tables.rows] = 0.0 if spec.ceiling else math.inf
            for fixed in (tables.rows - 1, tables.rows, low.size - 1):
                low[fixed] = high[fixed] = 0.0
            v = tables.minimum(low, high)
            square = sum(
                m[i, k] * self.effect(tables, v, low, high, i, k) ** 2
                for i, k in np.argwhere(m > 0).tolist()
            )
            l = len(self.ends()) + 1  # noqa: E741
            inside = self.n_items * (l**2 if self.squared else l)
            bound = np.exp(v[: len(n)]) + self.width * np.sqrt(square * math.log(inside))
            if spec.ceiling:
                bound = np.minimum(bound, 1.0)
            values[shown] = np.floor(bound / GRID + 0.5) * GRID
            y = np.floor(v[tables.rows : -1] / GRID + 0.5) * GRID
        best = shuffled_sort(values.tolist(), self.n_positions, rng)
        self.order = shuffled_sort(y.tolist(), self.n_positions, rng)
        return self.placed(best)

    def effect(self, tables: Tables, v: Floats, low: Floats, high: Floats, i: int, k: int) -> Any:
        """How one more click on item i at position k moves the attractions."""
        before, bend = tables.derivatives(v)
        free = ~tables.held(v, low, high)
        tables.n[i, k] += 1
        n, m, y = tables.n[i], tables.m[i], v[tables.rows :]
        bottom, top = -40.0, 40.0
        while top - bottom > 1e-13:  # the item's best value for these biases, by bisection
            middle = (bottom + top) / 2
            if tables.composite:
                slope = float(((n + m) / (1 + np.exp(-middle - y)) - n).sum())
            else:
                slope = float((m - n * np.exp(-middle - y)).sum())
            if middle in (bottom, top):
                break
            bottom, top = (bottom, middle) if slope > 0 else (middle, top)
        moved = v.copy()
        moved[i] = np.clip(bottom, low[i], high[i])
        after, own = tables.derivatives(moved)
        tables.n[i, k] -= 1
        change = np.where(np.arange(v.size) >= tables.rows, after - before, 0.0) * free
        system = bend * (free[:, None] & free) + np.diag((~free).astype(float))
        biases = np.linalg.solve(system, -change)[tables.rows :]
        biases = np.clip(biases, (low - v)[tables.rows :], (high - v)[tables.rows :])
        items = slice(tables.rows - 1)
        step = -bend[items, tables.rows :] @ biases / np.diag(bend)[items] * free[items]
        found = np.exp(v[items]) * step
        drawn = own[i, tables.rows :] @ biases / own[i, i]
        found[i] = math.exp(np.clip(bottom - drawn, low[i], high[i])) - math.exp(v[i])
        return found


class StarTwin(UnknownTwin):
    width = 0.5 / math.sqrt(2.0)

    def begin(self, rng: np.random.Generator) -> list[int]:
        assert isinstance(self.spec, EpochUCBStar)
        self.squared = not self.spec.whole_root
        return super().begin(rng)


class TSTwin(UnknownTwin):
    def begin(self, rng: np.random.Generator) -> list[int]:
        n, m = self.counts()
        tables = Tables(n, m, True, 1.0, 1.0)
        high = np.full(tables.rows + tables.columns, math.inf)
        for fixed in (tables.rows - 1, tables.rows + tables.columns - 1):
            high[fixed] = 0.0
        v = tables.minimum(-high, high)
        _, bend = tables.derivatives(v)
        j, k = slice(self.n_items), slice(tables.rows, -1)
        precision = bend[k, k] - bend[k, j] @ np.linalg.inv(bend[j, j]) @ bend[j, k]
        normal = np.array([rng.standard_normal() for _ in range(self.n_positions)])
        y = v[k] + np.linalg.solve(np.linalg.cholesky(precision).T, normal)
        bias = np.exp(y)
        draws = []
        for item in range(self.n_items):
            exposure, squares = 1 + float(m[item] @ bias), 1 + float(m[item] @ bias**2)
            shapes = 1.0 + float(n[item].sum()), exposure * exposure / squares
            win, loss = (sample_gamma(*gamma_constants(shape), rng) for shape in shapes)
            draws.append(win / loss * (exposure / squares))
        self.order = sorted(range(self.n_positions), key=lambda position: -y[position])
        return self.placed(shuffled_sort(draws, self.n_positions, rng))


TWINS = {
    "epoch-ucb-unknown": UnknownTwin,
    "epoch-ucb-star": StarTwin,
    "epoch-ts-unknown": TSTwin,
}

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "epoch-ucb-unknown": [
        {},
        {"ceiling": True, "estimator": "composite"},
        {"least": 0.05, "most": 2.0},
    ],
    "epoch-ucb-star": [
        {},
        {"ceiling": True, "estimator": "em"},
        {"estimator": "em", "least": 0.05, "most": 2.0, "whole_root": True},
    ],
}
