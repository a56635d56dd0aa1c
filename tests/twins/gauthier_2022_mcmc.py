"""Twins of the thesis's policies that estimate examination: PB-MHB, PB-LB and ε_n-greedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

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


def beta(a: float, b: float, rng: np.random.Generator) -> float:
    win, loss = (sample_gamma(*gamma_constants(shape), rng) for shape in (a, b))
    return win / (win + loss)


class PBMHBTwin(Twin):
    spec: Any

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.particle: tuple[list[float], list[float]] | None = None

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        if self.particle is None or self.spec.start == "random":
            theta = [rng.random() for _ in range(self.n_items)]
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
        sigma = self.spec.width / math.sqrt(self.t)

        def log_q(y: float, z: float) -> float:
            low, high = (math.erf((edge - z) / sigma / math.sqrt(2.0)) for edge in (0.0, 1.0))
            return -((y - z) ** 2) / (2.0 * sigma**2) - math.log(high - low)

        return sample_truncated_normal(x, sigma, rng), log_q

    def logit_gaussian(self, x: float, s: Any, f: Any, weights: Any, rng: Any) -> Any:
        sigma = self.spec.width / math.sqrt(self.t)
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


TWINS: dict[str, type[Twin]] = {
    "pb-mhb": PBMHBTwin,
}

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "pb-mhb": [
        {},
        {"width": 0.5, "steps": 3},
        {"start": "random", "steps": 2, "width": 10.0},
        {"proposal": "logit-gaussian", "width": 5.0},
        {"proposal": "pseudo-view"},
        {"proposal": "max-pos", "start": "random"},
        {"proposal": "max-pos"},
    ],
}
