"""SubsetLearner: a learner of some items of a catalogue, which uses the catalogue's numbers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from clickrank._core.arrays import Ints, memos_of, numbers_of
from clickrank.errors import invalid
from clickrank.learning.carry_over import carry
from clickrank.learning.learner import Learner
from clickrank.learning.policy_propensities import Propensities, lists_of
from clickrank.policies import Policy
from clickrank.policies.capabilities import memo_limit, memo_size, memos_for, relabelled
from clickrank.policies.contract import ANY_ITEMS, Request


class SubsetLearner:
    """A `Learner` of some items of a catalogue.

    The learner numbers its own items 0, 1, 2, …; rankings and memos are translated on their way in
    and out.

    Parameters
    ----------
    policy
        The policy for the whole catalogue.
    items
        The items of the learner, in increasing order.
    n_items
        The number of items of the catalogue.
    n_positions
        The length of a ranking.
    """

    def __init__(self, policy: Policy, items: Ints, n_items: int, n_positions: int) -> None:
        """Start without statistics."""
        self.policy, self.items, self.n_items = policy, items, n_items
        self.has_all_items = items.size == n_items
        own = policy if self.has_all_items else relabelled(policy, items)
        self.learner = Learner(own, items.size, n_positions)

    def with_learner(self, learner: Learner) -> SubsetLearner:
        """Return a `SubsetLearner` of these items with another learner."""
        other = copy.copy(self)
        other.learner = learner
        return other

    def carry(self, state: Any) -> SubsetLearner:
        """Take over the statistics of these items from a state of the whole catalogue."""
        carry(self.learner, state, self.n_items, self.items)
        return self

    def rank(self, rng: np.random.Generator, request: Request = ANY_ITEMS) -> tuple[Ints, Ints]:
        """Choose a ranking and return it with its memo."""
        ranking, memo = self.learner.rank(rng, request)
        if self.has_all_items:
            return ranking, memo
        return self.items[ranking], self._renumbered(memo, self.items)

    def memo_now(self, memo: Ints) -> Ints:
        """Return a memo that may be from before items were added, for the present catalogue."""
        expected, n_positions = self.learner.memo_size, self.learner.n_positions
        if memo.size == expected:
            return memo
        sizes = (memo_size(self.policy, n, n_positions) for n in range(1, self.n_items))
        before = next((n for n, size in enumerate(sizes, 1) if size == memo.size), None)
        if before is None:
            owner = type(self.policy).__name__
            raise invalid(owner, f"memo must hold {expected} numbers", memo.size)
        return self._renumbered(memo, np.arange(before))

    def _renumbered(self, memo: Ints, items: Ints) -> Ints:
        """Return a memo with the catalogue's numbers, if it refers to items at all."""
        if memo.size == 0:
            return memo
        found = memos_for(self.policy, memo[None], items, self.n_items)
        return memo if found is None else found[0]

    def propensities(
        self, rng: np.random.Generator, draws: int, request: Request = ANY_ITEMS
    ) -> Propensities:
        """Return the probability of each item of the catalogue at each position."""
        lists = lists_of(self.learner.chooser(request), rng, draws)
        items = None if self.has_all_items else self.items
        return Propensities(lists, self.n_items, self.learner.n_positions, items)

    def update_many(self, rankings: Ints, memos: Ints, clicks: Ints) -> None:
        """Learn from rankings, one per row; those with other items are left out."""
        if self.has_all_items:
            self.learner.update_many(rankings, memos, clicks)
            return
        if self.memos_travel:  # memos may come from outside
            owner, limit = type(self.policy).__name__, memo_limit(self.policy, self.n_items)
            memos = memos_of(owner, memos, rankings.shape[0], self.learner.memo_size, limit)
        inside, found = self._inside(rankings, memos)
        memos = memos if found is None else found
        known = (inside >= 0).all(axis=1) & (memos >= 0).all(axis=1)
        self.learner.update_many(inside[known], memos[known], clicks[known])

    def update_exactly(self, rankings: Ints, memos: Ints, clicks: Ints) -> bool:
        """Learn from rankings of these items alone; False if some cannot be translated."""
        inside, found = self._inside(rankings, memos)
        if found is None or (inside < 0).any():
            return False
        self.learner.update_many(inside, found, clicks)
        return True

    @property
    def memos_travel(self) -> bool:
        """Whether memos keep their meaning when items are added or retired."""
        none = np.zeros((0, self.learner.memo_size), dtype=np.int64)
        return memos_for(self.policy, none, np.arange(self.n_items), self.n_items) is not None

    def _inside(self, rankings: Ints, memos: Ints) -> tuple[Ints, Ints | None]:
        """Translate to the learner's numbers: -1 stands for another item, None for no memos."""
        numbers = numbers_of(self.items, self.n_items)
        return numbers[rankings], memos_for(self.policy, memos, numbers, self.items.size)
