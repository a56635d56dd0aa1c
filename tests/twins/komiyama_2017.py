"""Twin of PMED.

Estimates, the queue and its three sources are written out again, with a dense Newton's method from
a fresh start. The program and its decomposition have many solutions of the same value, so which
one is taken is the kernels' choice: they are shared, and checked in test_exploration_program.py.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from clickrank.numerics.birkhoff import birkhoff
from clickrank.numerics.exploration_program import solve_program, workspace
from clickrank.policies import PMED, Policy
from clickrank.types import Floats, Ints
from tests.twins.base import Twin, kl, shuffled_sort


def estimates(clicks: Ints, views: Ints) -> tuple[Floats, Floats]:
    """Maximise the likelihood with 0.05 clicks and misses more, over (x_1, ..., y_2, ...)."""
    n, m = clicks.shape
    s, f = clicks + 0.05, views - clicks + 0.05
    design = np.zeros((n * m, n + m))
    for i in range(n):
        for k in range(m):
            design[i * m + k, i] = 1
            design[i * m + k, n + k] = 1
    design = np.delete(design, n, axis=1)  # y_1 = 0
    s, f = s.ravel(), f.ravel()

    def loss(v: Floats) -> float:
        z = design @ v
        return math.inf if (z >= 0).any() else float(-(s * z + f * np.log(-np.expm1(z))).sum())

    v = np.concatenate([np.full(n, -1.0), np.zeros(m - 1)])
    for _ in range(200):
        odds = 1 / np.expm1(-design @ v)
        slope = design.T @ (f * odds - s)
        hessian = design.T @ ((f * odds * (1 + odds))[:, None] * design)
        step = -np.linalg.solve(hessian, slope)
        relative = (abs(design @ step) / np.minimum(1, -design @ v)).max()
        size = 1.0
        while loss(v + size * step) > loss(v) + 1e-4 * size * (slope @ step) and relative > 1e-4:
            size /= 2
        v = v + size * step
        if relative < 1e-10:
            break
    return v[:n], np.concatenate([[0.0], v[n:]])


def to_grid(values: Floats) -> list[float]:
    return [math.floor(v / 1e-6 + 0.5) * 1e-6 for v in values.tolist()]


class PMEDTwin(Twin):
    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        assert isinstance(spec, PMED)
        self.pmed = spec
        self.next_plan = n_items
        self.plan: list[tuple[list[int], float]] = []
        self.queue: list[list[int]] = []

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        if not self.queue:
            self.queue = self.new_queue(rng)
        chosen = int(rng.random() * len(self.queue)) if len(self.queue) > 1 else 0
        self.queue[chosen], self.queue[-1] = self.queue[-1], self.queue[chosen]
        return self.queue.pop(), []

    def new_queue(self, rng: np.random.Generator) -> list[list[int]]:
        n, m = self.n_items, self.n_positions
        x, y = (to_grid(v) for v in estimates(self.clicks, self.views))
        order = shuffled_sort(x, n, rng)
        places = shuffled_sort(y, m, rng)

        def by_rank(ranks: list[int]) -> list[int]:
            ranking = [0] * m
            for k, rank in enumerate(ranks):
                ranking[places[k]] = order[rank]
            return ranking

        queue = [by_rank(list(range(m)))]
        least = self.pmed.alpha * math.sqrt(math.log(self.t))
        doubtful = self.pmed.hinge and self.doubtful(x, y)
        for first in range(n):
            rotation = [(first + k) % n for k in range(m)]
            views = [self.views[item, k] for k, item in enumerate(rotation)]
            if doubtful or min(views) == 0 or min(views) < least:
                queue.append(rotation)
        left = self.views.astype(float)
        for ranks, weight in self.plan:
            ranking = by_rank(ranks)
            asked = [ranking[places[k]] for k in range(m) if ranks[k] != k]
            where = [places[k] for k in range(m) if ranks[k] != k]
            had = min((left[i, k] for i, k in zip(asked, where, strict=True)), default=math.inf)
            need = weight * math.log(self.t)
            for k, item in enumerate(ranking):
                left[item, k] -= min(had, need)
            pairs = {(i, k) for other in queue for k, i in enumerate(other)}
            if had < need and any((i, k) not in pairs for k, i in enumerate(ranking)):
                queue.append(ranking)
        return queue

    def doubtful(self, x: list[float], y: list[float]) -> bool:
        theta = sorted((math.exp(v + max(y)) for v in x), reverse=True)
        kappa = sorted((math.exp(v - max(y)) for v in y), reverse=True)
        if math.log(self.t) > 1:
            closest = self.pmed.beta / math.log(math.log(self.t))
            for values in (theta, kappa):
                if any(a - b < closest for a, b in itertools.pairwise(values)):
                    return True
        exact_x, exact_y = estimates(self.clicks, self.views)
        for i in range(self.n_items):
            for k in range(self.n_positions):
                n = self.views[i, k]
                p = math.exp(exact_x[i] + exact_y[k])
                if n and kl(self.clicks[i, k] / n, p) > self.pmed.gamma / math.sqrt(n):
                    return True
        return False

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        super().update(ranking, memo, clicks)
        rounds = self.t - 1
        if rounds >= self.next_plan:
            self.plan = self.new_plan()
            self.next_plan = max(rounds + 1, math.ceil(rounds * (1 + self.pmed.renewal)))

    def new_plan(self) -> list[tuple[list[int], float]]:
        n, m = self.n_items, self.n_positions
        x, y = (sorted(to_grid(v), reverse=True) for v in estimates(self.clicks, self.views))
        apart = max(1 / math.sqrt(self.t), 1e-3)
        for i in range(1, n):
            x[i] = min(x[i], x[min(i, m) - 1] - apart)
        for k in range(1, m):
            y[k] = min(y[k], y[k - 1] - apart)
        excess = x[0] + y[0] + 1e-6
        if excess > 0:
            x = [v - excess for v in x]
        work = workspace(n, m)
        _, cost = solve_program(work, np.array(x), np.array(y), 0.01, 80)
        assert math.isfinite(cost)
        amounts = work.amounts
        columns = [sum(amounts[:, k].tolist()) for k in range(m)]
        total = max([*columns, *(sum(row) for row in amounts[m:].tolist())])
        matrix = np.zeros((n, n))
        matrix[:, :m] = amounts
        for k in range(m):
            matrix[k, k] = total - columns[k]
        lacking = [total] * n
        for i in range(n):
            for k in range(m):
                lacking[i] -= matrix[i, k]
        rooms = [total] * (n - m)
        for i in range(n):
            for hidden in range(n - m):
                part = max(min(lacking[i], rooms[hidden]), 0.0)
                matrix[i, m + hidden] = part
                lacking[i] -= part
                rooms[hidden] -= part
        most = n * m + 2 * n
        lists, weights = np.zeros((most, n), dtype=np.int64), np.zeros(most)
        count = birkhoff(matrix, lists, weights, np.zeros((4, n), dtype=np.int64))
        return [(lists[s, :m].tolist(), float(weights[s])) for s in range(count)]


TWINS: dict[str, type[Twin]] = {"pmed": PMEDTwin}
