"""A policy at work: spec, constants and state together, for use from Python one round at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._jit import kernel_for
from clickrank.errors import invalid
from clickrank.policies.base import Policy, rank, source_of, update
from clickrank.types import Ints, clicks_of, memo_of, ranking_of, shape, statistic_fields


class Learner:
    """A policy with its state. `rank` → show → `update` with the clicks.

    Feedback may come late and out of order: hand back the memo that came with the ranking. For many
    simulated rounds use `clickrank.simulate`, which never leaves compiled code.

    Examples
    --------
    >>> from clickrank.policies import PBMUCB
    >>> learner = Learner(PBMUCB(examination=[1.0, 0.5]), n_items=4, n_positions=2, seed=0)
    >>> ranking, memo = learner.rank()
    >>> learner.update(ranking, memo, clicks=[1, 0])
    """

    def __init__(
        self, policy: Policy, n_items: int, n_positions: int, seed: int | None = None
    ) -> None:
        """Start learning from nothing; without a seed, no two learners draw the same."""
        if not isinstance(policy, Policy):
            raise invalid("Learner", "policy must be a Policy, as from clickrank.policy", policy)
        self.policy = policy
        self.rng = np.random.default_rng(seed)
        self.n_items, self.n_positions = shape(type(policy).__name__, n_items, n_positions)
        self.params = policy.params(self.n_items, self.n_positions)
        self.state = policy.init(self.n_items, self.n_positions)
        self.memo_size = policy.memo_size(self.n_positions)
        self._rank = kernel_for(_rank_once, source_of(policy))
        self._update = kernel_for(_update_once, source_of(policy))

    def rank(self, rng: np.random.Generator | None = None) -> tuple[Ints, Ints]:
        """Choose a ranking; returns it with the memo that `update` will need.

        Ties and randomised policies draw from the learner's own generator, or from ``rng``.
        """
        ranking = np.zeros(self.n_positions, dtype=np.int64)
        memo = np.zeros(self.memo_size, dtype=np.int64)
        if rng is None:
            rng = self.rng
        elif not isinstance(rng, np.random.Generator):
            raise invalid("Learner", "rng must be a numpy.random.Generator", rng)
        self._rank(self.params, self.state, rng, ranking, memo)
        return ranking, memo

    def update(self, ranking: ArrayLike, memo: ArrayLike, clicks: ArrayLike) -> None:
        """Learn from the clicks on a ranking; nothing changes if an argument is not as it was."""
        owner = type(self.policy).__name__
        shown = ranking_of(owner, ranking, self.n_items, self.n_positions)
        vector = clicks_of(owner, clicks, self.n_positions)
        kept = memo_of(owner, memo, self.memo_size, self.policy.memo_limit(self.n_items))
        self._update(self.params, self.state, shown, kept, vector)

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return copies of what was learned: the state without its scratch."""
        return {
            name: getattr(self.state, name).copy() for name in statistic_fields(type(self.state))
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of the whole state by field name, ready for `numpy.savez`."""
        return {name: array.copy() for name, array in self.state._asdict().items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over a state that `arrays` returned, whole or not at all."""
        owner = type(self.policy).__name__
        unknown = sorted(set(arrays) - set(self.state._fields))
        if unknown:
            raise invalid(owner, "the saved state must be of this policy", unknown)
        for name, own in self.state._asdict().items():
            if name not in arrays:
                raise invalid(owner, f"the saved state must have a field {name!r}", sorted(arrays))
            given = arrays[name]
            if given.shape != own.shape or given.dtype != own.dtype:
                rule = f"saved {name} must be {own.dtype} of shape {own.shape}"
                raise invalid(owner, rule, (str(given.dtype), given.shape))
            if np.isnan(given).any():
                raise invalid(owner, f"saved {name} must not hold NaN", given.tolist())
        for name, own in self.state._asdict().items():
            own[...] = arrays[name]


def _rank_once(
    params: Any, state: Any, rng: np.random.Generator, ranking: Ints, memo: Ints
) -> None:
    rank(params, state, rng, ranking, memo)


def _update_once(params: Any, state: Any, ranking: Ints, memo: Ints, clicks: Ints) -> None:
    update(params, state, ranking, memo, clicks)
