"""Ensemble: sorts items by the mean score of models that were trained offline."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import (
    Floats,
    Ints,
    IntStatistic,
    Matrix,
    Vector,
    numbers,
    origin_of,
)
from clickrank.errors import invalid
from clickrank.policies.capabilities import HasScores, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy, check_items
from clickrank.policies.registration import register


class State(NamedTuple):
    """Nothing is learned; the rounds are counted."""

    rounds: IntStatistic  # (1,), settled rounds


class Params(NamedTuple):
    """Constants."""

    scores: Floats  # (n_items,), the mean over models m of s_mi


@dataclass(frozen=True)
class Ensemble(Policy, ItemsComeAndGo, HasScores):
    """Ensemble shows the items with the largest mean scores in every round, and learns nothing.

    It is a baseline: a page whose ranking comes from models trained offline.

    A_t = the items with the largest Σ_m s_mi, best first; s_mi is the score of item i by model m.

    **Assumes**: positions of decreasing prominence. Any clicks, which it ignores.

    **Source**: kveton2022, section 7.4.

    **Differences**: items of equal score are ordered at random, again in each round.

    **Complexity**: O(n_items) per round.

    **Guarantee**: none; the regret is linear unless the scores are in the right order.

    Parameters
    ----------
    scores
        Scores between 0 and 1: a vector with one entry per item, or a matrix with one row
        per model. The means over models are stored.

    Examples
    --------
    >>> import clickrank as cr
    >>> policy = cr.policies.Ensemble([[0.25, 0.5, 1.0], [0.75, 0.0, 0.5]])
    >>> policy
    Ensemble(scores=(0.5, 0.25, 0.75))
    >>> cr.Learner(policy, n_items=3, n_positions=2).rank()[0]
    array([2, 0])
    """

    name = "ensemble"
    assumes = Assumes(priors=True, positions="decreasing")
    by_item = ()

    scores: Vector | Matrix

    def __post_init__(self) -> None:
        """Check the scores, and store their means."""
        values = numbers("Ensemble", "scores", self.scores)
        if values.ndim not in (1, 2) or values.size == 0:
            rule = "scores must be a vector, or a matrix with one row per model"
            raise invalid("Ensemble", rule, self.scores)
        good = (values >= 0) & (values <= 1)  # false for NaN
        if not good.all():
            where = tuple(int(i) for i in np.argwhere(~good)[0])
            place = ", ".join(map(str, where))
            rule = f"scores[{place}] must be between 0 and 1"
            raise invalid("Ensemble", rule, float(values[where]))
        means = values if values.ndim == 1 else values.mean(axis=0)
        object.__setattr__(self, "scores", tuple(means.tolist()))

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(check_items(self, "scores", n_items))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(rounds=np.zeros(1, dtype=np.int64))

    def relabelled(self, origin: Ints, new: Vector | Matrix | None = None) -> Ensemble:
        """Return the spec for a catalogue whose item i is item ``origin[i]`` of this spec."""
        origin = origin_of("Ensemble", origin, len(self.scores))
        scores = np.asarray(self.scores)[origin]
        fresh = np.flatnonzero(origin < 0)
        if fresh.size:
            given = () if new is None else Ensemble(new).scores
            if len(given) != fresh.size:
                rule = f"scores of the {fresh.size} new items must be given"
                raise invalid("Ensemble", rule, new)
            scores[fresh] = given
        return dataclasses.replace(self, scores=scores)


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write the mean score of each item."""
    for item in range(items.shape[0]):
        items[item] = params.scores[item]


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the round; clicks change nothing."""
    state.rounds[0] += 1


register(Ensemble, State, score=score, update=update, lean=True)
