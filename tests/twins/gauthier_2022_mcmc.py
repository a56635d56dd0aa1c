"""Twins of the thesis's policies that estimate examination: PB-MHB, PB-LB and ε_n-greedy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clickrank.beta import Beta
from clickrank.numerics.gamma import gamma_constants, sample_gamma
from clickrank.numerics.truncated_normal import sample_truncated_normal
from clickrank.policies import Policy
from clickrank.types import Floats
from tests.twins.base import Twin, shuffled_sort


def sorted_by(
    theta: Sequence[float], kappa: Sequence[float], rng: np.random.Generator
) -> list[int]:
    """Put the items of the largest θ where κ is largest."""
    best = shuffled_sort(theta, len(kappa), rng)
    ranking = [0] * len(kappa)
    for item, position in zip(best, shuffled_sort(kappa, len(kappa), rng), strict=True):
        ranking[position] = item
    return ranking


def added(values: Iterable[float]) -> float:
    """Add in order and round each time, as kernels do; `sum` rounds less since Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total


def beta(a: float, b: float, rng: np.random.Generator) -> float:
    win, loss = (sample_gamma(*gamma_constants(shape), rng) for shape in (a, b))
    return win / (win + loss)


class PBMHBTwin(Twin):
    spec: Any

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.particle: tuple[list[float], list[float]] | None = None
        alpha, beta = spec.prior.for_items(n_items)  # type: ignore[attr-defined]
        self.clicks[:, 0] += alpha.astype(np.int64) - 1
        self.views[:, 0] += (alpha + beta).astype(np.int64) - 2

    def first(self, item: int, rng: np.random.Generator) -> float:
        clicks, views = int(self.clicks[item, 0]), int(self.views[item, 0])
        if views == 0 or self.spec.start == "random":
            return float(rng.random())
        return beta(clicks + 1.0, views - clicks + 1.0, rng)

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        if self.particle is None or self.spec.start == "random":
            theta = [self.first(i, rng) for i in range(self.n_items)]
            self.particle = theta, [1.0, *(rng.random() for _ in range(self.n_positions - 1))]
        theta, kappa = self.particle
        s = self.clicks.tolist()
        f = (self.views - self.clicks).tolist()
        for _ in range(self.spec.steps):
            for i in range(self.n_items):
                theta[i] = self.move(theta[i], s[i], f[i], kappa, rng)
            for k in range(1, self.n_positions):
                column = [row[k] for row in s], [row[k] for row in f]
                kappa[k] = self.move(kappa[k], *column, theta, rng)
        return sorted_by(theta, kappa, rng), []

    def move(
        self, x: float, s: list[int], f: list[int], weights: list[float], rng: np.random.Generator
    ) -> float:
        """Return x' with probability π(x') q(x | x') / (π(x) q(x' | x)), else x."""
        new, log_q = getattr(self, self.spec.proposal.replace("-", "_"))(x, s, f, weights, rng)
        if not 0.0 < new < 1.0:
            return x
        needed = math.log(1.0 - rng.random())

        def log_pi(y: float) -> float:
            rows = zip(s, f, weights, strict=True)
            return math.fsum(a * math.log(y) + b * math.log(1.0 - y * w) for a, b, w in rows)

        # log_q(y | z) is the density of y when coming from z.
        gain = log_pi(new) + log_q(x, new) - log_pi(x) - log_q(new, x)
        return new if needed < gain else x

    def truncated_gaussian(self, x: float, s: Any, f: Any, weights: Any, rng: Any) -> Any:
        sigma = float(self.spec.width) / math.sqrt(self.t)

        def log_q(y: float, z: float) -> float:
            low, high = (math.erf((edge - z) / sigma / math.sqrt(2.0)) for edge in (0.0, 1.0))
            return -((y - z) ** 2) / (2.0 * sigma**2) - math.log(high - low)

        return sample_truncated_normal(x, sigma, rng), log_q

    def logit_gaussian(self, x: float, s: Any, f: Any, weights: Any, rng: Any) -> Any:
        sigma = float(self.spec.width) / math.sqrt(self.t)
        logit = math.log(x / (1.0 - x)) + sigma * rng.standard_normal()
        new = 0.0 if logit < -700.0 else 1.0 / (1.0 + math.exp(-logit))

        def log_q(y: float, z: float) -> float:
            step = math.log(y / (1.0 - y)) - math.log(z / (1.0 - z))
            return -(step**2) / (2.0 * sigma**2) - math.log(y * (1.0 - y))

        return new, log_q

    def pseudo_view(self, x: float, s: Any, f: Any, weights: Any, rng: Any) -> Any:
        seen = 0.0
        for clicks, misses, weight in zip(s, f, weights, strict=True):
            seen += weight * (clicks + misses)
        a, b = sum(s) + 1.0, max(seen - sum(s) + 1.0, 1.0)
        return beta(a, b, rng), lambda y, z: (a - 1) * math.log(y) + (b - 1) * math.log(1 - y)

    def max_pos(self, x: float, s: Any, f: Any, weights: Any, rng: Any) -> Any:
        most, ties = 0, 1
        for j in range(1, len(s)):
            gain = s[j] + f[j] - s[most] - f[most]
            ties = 1 if gain > 0 else ties + 1 if gain == 0 else ties
            if gain > 0 or (gain == 0 and rng.random() * ties < 1.0):
                most = j
        clicks, misses, weight = s[most], f[most], weights[most]

        def log_q(y: float, z: float) -> float:
            return float(clicks * math.log(y * weight) + misses * math.log(1.0 - y * weight))

        return beta(clicks + 1.0, misses + 1.0, rng) / weight, log_q


def reflected(x: float) -> float:
    x = abs(x) % 2.0
    return min(max(2.0 - x if x > 1.0 else x, 1e-9), 1.0 - 1e-9)


class PBLBTwin(Twin):
    spec: Any

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.particle: list[list[float]] = []  # θ and κ

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        if not self.particle:
            sizes = self.n_items, self.n_positions
            self.particle = [[reflected(rng.random()) for _ in range(n)] for n in sizes]
        h = self.spec.step_size / self.t
        for _ in range(self.spec.steps):
            slopes = self.gradient(*self.particle)
            self.particle = [
                [
                    reflected(x + h * up + math.sqrt(2.0 * h) * rng.standard_normal())
                    for x, up in zip(values, ups, strict=True)
                ]
                for values, ups in zip(self.particle, slopes, strict=True)
            ]
        sigma = 1.0 / math.sqrt(self.t * self.spec.precision)
        noisy = [[x + sigma * rng.standard_normal() for x in part] for part in self.particle]
        return sorted_by(noisy[0], noisy[1], rng), []

    def gradient(self, theta: list[float], kappa: list[float]) -> list[list[float]]:
        """-∇U in θ and in κ."""
        f = (self.views - self.clicks).tolist()
        ups = [
            int(self.clicks[i].sum()) / x
            - added(n / (1.0 - x * y) * y for n, y in zip(f[i], kappa, strict=True))
            for i, x in enumerate(theta)
        ]
        others = [
            int(self.clicks[:, k].sum()) / y
            - added(row[k] / (1.0 - x * y) * x for row, x in zip(f, theta, strict=True))
            for k, y in enumerate(kappa)
        ]
        return [ups, others]


class EpsilonGreedyTwin(Twin):
    spec: Any

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        replaced = [rng.random() < self.spec.exploration / self.t for _ in range(self.n_positions)]
        ranking = [-1] * self.n_positions
        if not all(replaced):
            rates = np.where(self.views > 0, self.clicks / np.maximum(self.views, 1), 0.0)
            kappa = leading_right_vector(rates).tolist()
            theta = [added(r * k for r, k in zip(row, kappa, strict=True)) for row in rates]
            ranking = sorted_by(theta, kappa, rng)
        kept = {item for item, new in zip(ranking, replaced, strict=True) if not new}
        pool = [item for item in range(self.n_items) if item not in kept]
        for position in range(self.n_positions):
            if replaced[position]:
                drawn = int(rng.random() * len(pool))
                ranking[position] = pool[drawn]
                pool[drawn] = pool[-1]
                pool.pop()
        return ranking, []


def leading_right_vector(rates: Floats) -> Floats:
    """2^16 steps of power iteration on the Gram matrix, from ones; rounded to 2^-26."""
    _, values, vectors = np.linalg.svd(rates)
    if values[0] == 0.0:
        return np.ones(rates.shape[1])
    weights = (values / values[0]) ** (2 * 2**16)
    parts = vectors[: values.size]
    vector: Floats = (weights * parts.sum(axis=1)) @ parts
    rounded: Floats = np.floor(vector / np.linalg.norm(vector) * 2.0**26 + 0.5) / 2.0**26
    return rounded


TWINS: dict[str, type[Twin]] = {
    "epsilon-greedy": EpsilonGreedyTwin,
    "pb-lb": PBLBTwin,
    "pb-mhb": PBMHBTwin,
}

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "epsilon-greedy": [{"exploration": c} for c in (0.0, 1.0, 10.0, 100.0)],
    "pb-lb": [{}, {"step_size": 0.1, "precision": 100.0, "steps": 3}],
    "pb-mhb": [
        {},
        {"width": 0.5, "steps": 3},
        {"start": "random", "steps": 2, "width": 10.0},
        {"proposal": "logit-gaussian", "width": 5.0},
        {"proposal": "pseudo-view"},
        {"proposal": "max-pos", "start": "random"},
        {"proposal": "max-pos"},
        {"prior": Beta(4.0, 9.0)},
        {"prior": Beta(2.0, 1.0), "start": "random"},
    ],
}
