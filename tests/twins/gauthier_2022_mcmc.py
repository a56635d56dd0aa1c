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
        self.prior = [(int(a) - 1, int(b) - 1) for a, b in zip(alpha, beta, strict=True)]

    def first(self, item: int, rng: np.random.Generator) -> float:
        clicks, misses = self.prior[item]
        if clicks + misses == 0 or self.spec.start == "random":
            return float(rng.random())
        return beta(clicks + 1.0, misses + 1.0, rng)

    def first_kappa(self, rng: np.random.Generator) -> list[float]:
        if self.spec.unit_position == "first":
            return [1.0, *(rng.random() for _ in range(self.n_positions - 1))]
        kappa = [rng.random() for _ in range(self.n_positions)]
        return [x / max(kappa) for x in kappa]

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        if self.particle is None or self.spec.start == "random":
            theta = [self.first(i, rng) for i in range(self.n_items)]
            self.particle = theta, self.first_kappa(rng)
        for _ in range(self.spec.steps):
            self.step(*self.particle, rng)
        return sorted_by(*self.particle, rng), []

    def step(self, theta: list[float], kappa: list[float], rng: np.random.Generator) -> None:
        s = self.clicks.tolist()
        f = (self.views - self.clicks).tolist()
        for i in range(self.n_items):
            clicks, misses = self.prior[i]
            if clicks + misses > 0:  # as many views where everybody looks
                row = [clicks, *s[i]], [misses, *f[i]], [1.0, *kappa]
            else:
                row = s[i], f[i], kappa
            theta[i] = self.move(theta[i], *row, rng)
        crossing = -1
        if self.spec.unit_position == "largest" and self.n_positions > 1:
            crossing = int(rng.random() * self.n_positions)
        for k in range(self.n_positions):
            column = [row[k] for row in s], [row[k] for row in f]
            if k == crossing:
                self.cross(k, *column, theta, kappa, rng)
            elif kappa[k] < 1.0:
                kappa[k] = self.move(kappa[k], *column, theta, rng)

    def cross(
        self,
        k: int,
        s: list[int],
        f: list[int],
        theta: list[float],
        kappa: list[float],
        rng: np.random.Generator,
    ) -> None:
        """Move κ_k over z in (0, 2): up to 1 it is κ_k / m, beyond it is 2 - m / κ_k."""
        second = max(y for j, y in enumerate(kappa) if j != k)  # m
        low = [x * second for x in theta]  # θ where the largest of the others is 1
        others = [y / second for y in kappa]
        x = kappa[k] / second
        z = x if x <= 1.0 else 2.0 - second
        sigma = float(self.spec.width) / math.sqrt(self.t)
        new_z = 2.0 * sample_truncated_normal(z / 2.0, sigma / 2.0, rng)
        new = new_z if new_z <= 1.0 else 1.0 / (2.0 - new_z)
        needed = math.log(1.0 - rng.random())

        def log_q(y: float, w: float) -> float:
            edges = ((edge - w) / sigma / math.sqrt(2.0) for edge in (0.0, 2.0))
            low, high = (math.erf(edge) for edge in edges)
            return -((y - w) ** 2) / (2.0 * sigma**2) - math.log(high - low)

        def log_pi(y: float) -> float:
            grown = [t * max(y, 1.0) for t in low]
            if max(grown) >= 1.0:
                return -math.inf
            terms = [a * math.log(y) for a in s]
            terms += [b * math.log(1.0 - y * t) for b, t in zip(f, low, strict=True)]
            for (a, b), t in zip(self.prior, grown, strict=True):
                terms += [a * math.log(t), b * math.log(1.0 - t)]
            power = self.n_items - self.n_positions + 2
            return math.fsum([*terms, power * math.log(max(y, 1.0))])

        if needed < log_pi(new) + log_q(z, new_z) - log_pi(x) - log_q(new_z, z):
            theta[:] = [t * max(new, 1.0) for t in low]
            kappa[:] = [y / max(new, 1.0) for y in others]
            kappa[k] = min(new, 1.0)

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

    def logit_gaussian_printed(self, *args: Any) -> Any:
        new, _ = self.logit_gaussian(*args)
        return new, lambda y, z: 0.0

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
        {"unit_position": "first"},
        {"unit_position": "first", "proposal": "logit-gaussian-printed", "width": 1.0},
        {"unit_position": "first", "proposal": "max-pos", "prior": Beta(2.0, 3.0)},
        {"unit_position": "first", "proposal": "pseudo-view", "prior": Beta(2.0, 3.0)},
    ],
}
