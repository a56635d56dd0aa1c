"""Twins of the policies of paper 001."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank.numerics.gamma import gamma_constants, sample_gamma
from clickrank.numerics.posterior import HAT_SIZE, build_hat, sample_posterior
from clickrank.policies import Policy
from clickrank.types import Floats, Ints
from tests.twins.base import Twin, index_by_bisection, shuffled_sort


class PBMUCBTwin(Twin):
    spec: Any

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        delta = (1.0 + self.spec.epsilon) * math.log(self.t)
        scores = []
        for item in range(self.n_items):
            n = int(self.views[item].sum())
            if n == 0:
                scores.append(math.inf)
                continue
            seen = self.seen(item)
            width = math.sqrt(0.5 * n) / seen
            scores.append(self.clicks[item].sum() / seen + width * math.sqrt(delta))
        return self.placed(shuffled_sort(scores, self.n_positions, rng)), []


class PBMKLUCBTwin(Twin):
    spec: Any

    def delta(self) -> float:
        return float((1.0 + self.spec.epsilon) * math.log(self.t))

    def index(self, item: int) -> float:
        if self.views[item].sum() == 0:
            return math.inf
        return index_by_bisection(self.clicks[item], self.views[item], self.kappa, self.delta())

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        scores = [self.index(item) for item in range(self.n_items)]
        return self.placed(shuffled_sort(scores, self.n_positions, rng)), []


class PBMPIETwin(PBMKLUCBTwin):
    def delta(self) -> float:
        rounds = self.spec.rounds or 0
        return float((1.0 + self.spec.epsilon) * math.log(max(rounds, self.t)))

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        unstarted = [item for item in range(self.n_items) if self.views[item, 0] == 0]
        if unstarted:
            first = unstarted[int(rng.random() * len(unstarted))]
            return [(first + i) % self.n_items for i in range(self.n_positions)], []
        means = [self.clicks[k].sum() / self.seen(k) for k in range(self.n_items)]
        leaders = shuffled_sort(means, self.n_positions, rng)
        last = means[leaders[-1]]
        promising = [k for k in range(self.n_items) if k not in leaders and self.index(k) >= last]
        ranking = self.placed(leaders)
        if promising and rng.random() < 0.5:
            ranking[self.order[-1]] = promising[int(rng.random() * len(promising))]
        return ranking, []


class BCMPTSTwin(Twin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        draws = []
        for item in range(self.n_items):
            s = int(self.clicks[item].sum())
            win, loss = (
                sample_gamma(*gamma_constants(shape), rng)
                for shape in (1.0 + s, 1.0 + max(self.seen(item) - s, 0.0))
            )
            draws.append(win / (win + loss))
        return self.placed(shuffled_sort(draws, self.n_positions, rng)), []


class PBMTSTwin(Twin):
    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        draws = []
        for item in range(self.n_items):
            s = int(self.clicks[item].sum())
            misses = self.views[item] - self.clicks[item]
            hat = np.zeros(HAT_SIZE)
            build_hat(s, misses, self.kappa, s / self.seen(item) if s else 0.0, hat)
            draws.append(sample_posterior(s, misses, self.kappa, hat, rng))
        return self.placed(shuffled_sort(draws, self.n_positions, rng)), []


class RBAKLUCBTwin(Twin):
    spec: Any

    def __init__(self, spec: Policy, n_items: int, kappa: Floats) -> None:
        super().__init__(spec, n_items, kappa)
        self.chosen = np.zeros((kappa.size, n_items), dtype=np.int64)
        self.rewards = np.zeros((kappa.size, n_items), dtype=np.int64)

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        ranking: list[int] = []
        choices = []
        one = np.ones(1)
        for position in range(self.n_positions):
            values = [self.arm_index(position, item, one) for item in range(self.n_items)]
            tied = [item for item, value in enumerate(values) if value == max(values)]
            choice = tied[int(rng.random() * len(tied))] if len(tied) > 1 else tied[0]
            choices.append(choice)
            if choice in ranking:
                free = [item for item in range(self.n_items) if item not in ranking]
                choice = free[int(rng.random() * len(free))]
            ranking.append(choice)
        return ranking, choices

    def arm_index(self, position: int, item: int, one: Floats) -> float:
        n, s = self.chosen[position, item], self.rewards[position, item]
        if n == 0:
            return math.inf
        delta = math.log(self.t)
        if delta > 1.0:
            delta += self.spec.loglog * math.log(delta)
        return index_by_bisection(np.array([s]), np.array([n]), one, delta)

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        self.t += 1
        for position, (shown, choice) in enumerate(zip(ranking, memo, strict=True)):
            self.chosen[position, choice] += 1
            if shown == choice:
                self.rewards[position, choice] += clicks[position]


TWINS: dict[str, type[Twin]] = {
    "pbm-ucb": PBMUCBTwin,
    "pbm-kl-ucb": PBMKLUCBTwin,
    "pbm-pie": PBMPIETwin,
    "bc-mp-ts": BCMPTSTwin,
    "pbm-ts": PBMTSTwin,
    "rba-kl-ucb": RBAKLUCBTwin,
}

#: 100 is fewer rounds than are played: from there on the exploration grows as by default.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "pbm-ucb": [{}, {"epsilon": 0.5}, {"epsilon": 0.05}],
    "pbm-kl-ucb": [{}, {"epsilon": 0.5}, {"epsilon": 0.05}],
    "pbm-pie": [{}, {"rounds": 10_000}, {"rounds": 100, "epsilon": 0.5}, {"epsilon": 0.05}],
    "rba-kl-ucb": [{}, {"loglog": 3.0}, {"loglog": 0.5}],
}
