"""Oracle: always shows the best ranking, which has zero regret."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints, IntStatistic, numbers_of, ranking_of
from clickrank.errors import invalid
from clickrank.policies.capabilities import KnowsItems, refuse_new
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Nothing is learned; the rounds are counted."""

    rounds: IntStatistic  # (1,), settled rounds


class Params(NamedTuple):
    """Constants."""

    ranking: Ints  # (n_positions,), A_t in every round


@dataclass(frozen=True)
class Oracle(Policy, KnowsItems):
    """Oracle knows the click model and shows its best ranking in every round.

    Its regret is zero, which no learning policy can reach.

    A_t = the ranking with the largest value.

    **Assumes**: that the best ranking is known.

    **Source**: folklore.

    **Differences**: none.

    **Complexity**: O(n_positions) per round.

    **Guarantee**: no regret, if the ranking is the model's best.

    Parameters
    ----------
    best_ranking
        The ranking to show.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.2, 0.4], [1.0])
    >>> float(cr.simulate("oracle", model, horizon=10).regret[0, -1])
    0.0
    """

    name = "oracle"
    is_oracle = True
    assumes = Assumes(known=("best_ranking",))

    best_ranking: Sequence[int] | Ints

    def __post_init__(self) -> None:
        """Check the ranking, as far as possible without the catalogue."""
        items = np.asarray(self.best_ranking)
        if items.ndim != 1 or items.size == 0 or items.dtype.kind not in "iu" or items.min() < 0:
            raise invalid("Oracle", "best_ranking must be a vector of items", self.best_ranking)
        object.__setattr__(self, "best_ranking", tuple(items.tolist()))

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(ranking_of("Oracle", self.best_ranking, n_items, n_positions))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(rounds=np.zeros(1, dtype=np.int64))

    def relabelled(self, origin: Ints, new: None = None) -> Oracle:
        """Return the oracle of a catalogue whose item i is item ``origin[i]`` of this one."""
        refuse_new(self, new)
        numbers = numbers_of(origin, max(*self.best_ranking, *origin) + 1)
        best = numbers[list(self.best_ranking)].tolist()
        return dataclasses.replace(self, best_ranking=best)


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Write the best ranking."""
    for position in range(ranking.shape[0]):
        ranking[position] = params.ranking[position]


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the round; clicks change nothing."""
    state.rounds[0] += 1


register(Oracle, State, rank, update)
