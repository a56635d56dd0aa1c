"""Twins of CascadeLinUCB and CascadeLinTS: all scores in every round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank.features import Features
from clickrank.policies import CascadeLinTS, CascadeLinUCB, Policy
from clickrank.types import Floats, Ints
from tests.twins.base import Twin
from tests.twins.cascade_policies import drawn_sort


class LinearTwin(Twin):
    spec: CascadeLinUCB | CascadeLinTS

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.squared = isinstance(self.spec, CascadeLinUCB) and self.spec.bonus == "square"
        d = self.spec.features.n_features
        self.m: Floats = np.zeros((d, d)) if self.squared else np.eye(d)
        self.b = np.zeros(d)

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        for item, click in zip(ranking, clicks.tolist(), strict=True):
            x = self.spec.features.values[item]
            self.m += np.outer(x, x) / self.spec.sigma**2
            self.b += click * x
            if click:
                break

    def regression(self) -> tuple[Floats, Floats]:
        """M and θ̂."""
        theta = self.inverse() @ self.b / self.spec.sigma**2
        return self.m, theta

    def inverse(self) -> Floats:
        if self.squared:
            return np.linalg.pinv(self.m, rcond=1e-12, hermitian=True).astype(np.float64)
        return np.linalg.inv(self.m).astype(np.float64)

    def products(self, theta: Floats) -> list[float]:
        """⟨x, θ⟩ of each item; by its features alone, so that equal items are equal."""
        return [
            sum(a * b for a, b in zip(x, theta.tolist(), strict=True))
            for x in self.spec.features.values.tolist()
        ]


class CascadeLinUCBTwin(LinearTwin):
    spec: CascadeLinUCB

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        m, theta = self.regression()
        c, d, sigma = self.spec.width, m.shape[0], self.spec.sigma
        t = self.spec.horizon or 0
        if c is None and self.squared:  # the program of li2019's authors
            c = math.sqrt(d * math.log((1 + t / d) + 2 * math.log(4 * t))) + 1
        elif c is None:
            nk = t * self.n_positions
            c = math.sqrt(d * math.log(1 + nk / d / sigma**2) + 2 * math.log(nk)) / sigma + 1
        inverse = self.inverse()
        bounds = []
        for x, mean in zip(self.spec.features.values, self.products(theta), strict=True):
            square = sum(a * b for a, b in zip(x.tolist(), (inverse @ x).tolist(), strict=True))
            if self.squared:
                bounds.append(math.floor((mean + c * square) * 2**30 + 0.5) / 2**30)
            else:
                bounds.append(min(mean + c * math.sqrt(square), 1.0))
        return drawn_sort(bounds, self.n_positions, rng), []


class CascadeLinTSTwin(LinearTwin):
    spec: CascadeLinTS

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        m, theta = self.regression()
        normal = np.array([rng.standard_normal() for _ in theta])
        draw = theta + np.linalg.solve(np.linalg.cholesky(m).T, normal)
        return drawn_sort(self.products(draw), self.n_positions, rng), []


def features_of(n_items: int) -> Features:
    """Return features of which the last two items have the same."""
    vectors = np.random.default_rng(n_items).normal(size=(n_items, 3))
    vectors[-1] = vectors[-2]
    return Features(vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True)))


TWINS: dict[str, type[Twin]] = {
    "cascade-lin-ucb": CascadeLinUCBTwin,
    "cascade-lin-ts": CascadeLinTSTwin,
}
FEATURES = dict.fromkeys(TWINS, features_of)
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "cascade-lin-ucb": [{}, {"width": 0.7, "sigma": 0.5}, {"bonus": "square"}],
    "cascade-lin-ts": [{"sigma": 0.7}],
}
