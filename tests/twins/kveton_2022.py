"""Twins of the policies of paper 004."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy import optimize, special

from clickrank.numerics.gamma import BETA_SIZE, draw_odds, set_beta_constants
from clickrank.numerics.posterior import (
    HAT_SIZE,
    build_hat,
    build_pole,
    sample_posterior,
    sample_unclicked,
    sample_with_pole,
)
from clickrank.policies import BayesUCB, Policy, ThompsonSampling
from clickrank.priors import Beta
from clickrank.types import Floats, Ints
from tests.twins.base import Twin, shuffled_sort


def mixture(beta: float, doubtful: list[tuple[int, float]], alpha: float) -> tuple[Floats, Floats]:
    """Weights and second parameters of the Betas that the posterior is a mixture of.

    A miss at a position of examination κ was looked at, which adds 1 to β, or it was not:
    1 - κx = κ(1 - x) + (1 - κ).
    """
    weights = np.ones(1)
    for misses, kappa in doubtful:
        for _ in range(misses):
            weights = np.append((1.0 - kappa) * weights, 0.0) + np.append(0.0, kappa * weights)
    betas = beta + np.arange(weights.size, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(weights) + special.betaln(alpha, betas)
    scaled: Floats = np.exp(logs - logs.max())
    return scaled / scaled.sum(), betas


@functools.cache
def upper_quantile(
    alpha: float, beta: float, doubtful: tuple[tuple[int, float], ...], delta: float
) -> float:
    """Solve P(X > x) = δ for the posterior."""
    weights, betas = mixture(beta, list(doubtful), alpha)
    if weights.size == 1:
        return float(special.betainccinv(alpha, beta, delta))
    kept = weights > 1e-18
    weights, betas = weights[kept], betas[kept]

    def excess(x: float) -> float:
        return float(weights @ special.betaincc(alpha, betas, x)) - delta

    return float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-12, rtol=1e-12))


class BayesianTwin(Twin):
    spec: BayesUCB | ThompsonSampling

    def seen_positions(self, clicks: list[int]) -> int:
        model = self.spec.click_model
        if model in ("dctr", "pbm") or sum(clicks) == 0:
            return len(clicks)
        clicked = [position for position, click in enumerate(clicks) if click]
        last = model == "dcm" and self.spec.observe == "last-click"
        return (clicked[-1] if last else clicked[0]) + 1

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.hits, self.losses = np.zeros((2, n_items), dtype=np.int64)
        self.doubtful = np.zeros((n_items, kappa.size), dtype=np.int64)

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        given = clicks.tolist()
        for position in range(self.seen_positions(given)):
            item = ranking[position]
            if given[position]:
                self.hits[item] += 1
            elif self.spec.click_model == "pbm" and self.kappa[position] < 1:
                self.doubtful[item, position] += 1
            else:
                self.losses[item] += 1

    def posterior(self, item: int) -> tuple[float, float, list[tuple[int, float]]]:
        """Return α, β, and how often the item was missed at each position that may go unseen."""
        doubtful = zip(self.doubtful[item].tolist(), self.kappa.tolist(), strict=True)
        alpha, beta = (float(v[item]) for v in self.spec.prior.for_items(self.n_items))
        return alpha + self.hits[item], beta + self.losses[item], list(doubtful)

    def show(self, values: list[float], rng: np.random.Generator) -> tuple[list[int], list[int]]:
        best = shuffled_sort(values, self.n_positions, rng)
        return (self.placed(best) if self.spec.click_model == "pbm" else best), []


class BayesUCBTwin(BayesianTwin):
    spec: BayesUCB

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        delta = self.spec.failure or 1.0 / (self.spec.horizon or 0)
        values = []
        for item in range(self.n_items):
            alpha, beta, doubtful = self.posterior(item)
            values.append(upper_quantile(alpha, beta, tuple(d for d in doubtful if d[0]), delta))
        return self.show(values, rng)


class ThompsonTwin(BayesianTwin):
    spec: ThompsonSampling

    def draw(self, item: int, rng: np.random.Generator) -> float:
        alpha, beta, doubtful = self.posterior(item)
        misses = np.array([*(float(n) for n, _ in doubtful), beta - 1.0])
        kappa = np.append(self.kappa, 1.0)
        doubt = sum(n * k for n, k in doubtful)
        hat = np.zeros(HAT_SIZE)
        if doubt > 0 and alpha >= 1.0:
            weight = alpha - 1.0 + beta - 1.0 + doubt
            start = (alpha - 1.0) / weight if weight > 0 else 0.0
            build_hat(alpha - 1.0, misses, kappa, start, hat)
        if doubt > 0 and beta < 1.0:
            build_pole(alpha, beta, misses, kappa, hat)
            return float(sample_with_pole(alpha, beta, misses, kappa, hat, rng))
        if doubt > 0 and alpha >= 1.0:
            x = sample_posterior(alpha - 1.0, misses, kappa, hat, rng)
            return x / (1.0 - x)
        if doubt > 0 and doubt + beta - 1.0 >= 2.0:
            x = sample_unclicked(alpha, misses, kappa, rng)
            return x / (1.0 - x)
        constants = np.zeros((1, BETA_SIZE))
        set_beta_constants(alpha, beta, constants, 0)
        while True:
            ratio, uniform = draw_odds(constants, 0, rng)
            odds = ratio * uniform ** constants[0, 4]
            if doubt == 0:
                return float(odds)
            x = odds / (1.0 + odds)
            if math.log(1.0 - rng.random()) <= sum(n * math.log1p(-k * x) for n, k in doubtful):
                return float(odds)

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        return self.show([self.draw(item, rng) for item in range(self.n_items)], rng)


TWINS: dict[str, type[Twin]] = {
    "bayes-ucb": BayesUCBTwin,
    "thompson": ThompsonTwin,
}

# The clicks need not be those that the policy expects for both to count them alike.
_RULES: list[dict[str, Any]] = [
    {"click_model": "dctr", "examination": None},
    {"click_model": "cascade", "examination": None, "prior": Beta(0.3, 2.0)},
    {"click_model": "dcm", "examination": None, "prior": Beta(0.2, 0.6)},
    {"click_model": "dcm", "examination": None, "observe": "first-click"},
]
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "bayes-ucb": [{"prior": Beta(0.4, 0.7)}, {"failure": 0.1}, {"failure": 0.004}, *_RULES],
    "thompson": [{"prior": Beta(0.4, 1.5)}, {"prior": Beta(0.4, 0.7)}, *_RULES],
}
