"""Carry over: moves the statistics of a policy to a catalogue with other items."""

from __future__ import annotations

from typing import Any

import numpy as np

from clickrank._core.arrays import Ints, numbers_of, statistic_fields
from clickrank.learning.learner import Learner
from clickrank.policies._shared.packed_states import packed, unpacked
from clickrank.policies.capabilities import ItemsComeAndGo, Walks, relabelled
from clickrank.policies.policy_spec import Policy


def carried(policy: Policy, n_positions: int, state: Any, n_before: int, origin: Ints) -> Any:
    """Return the state of a policy whose item i is item ``origin[i]`` of the given state.

    ``policy`` is the policy for the new catalogue, and must have `ItemsComeAndGo`. New items, for
    which ``origin`` is -1, have the statistics of an item before the first round. The given state,
    of ``n_before`` items, does not change.
    """
    assert isinstance(policy, ItemsComeAndGo), policy
    made = policy.init(origin.size, n_positions)
    state = unpacked(policy, state)
    new, old = np.flatnonzero(origin >= 0), origin[origin >= 0]
    columns = slice(new.size) if new.size and new[-1] == new.size - 1 else new
    for name in statistic_fields(type(made)):
        ours, theirs = getattr(made, name), getattr(state, name)
        if name in policy.by_item:  # one row per item, or several consecutive rows
            shape = -1, ours.shape[0] // origin.size, *ours.shape[1:]
            ours.reshape(shape)[new] = theirs.reshape(shape)[old]
        elif name in policy.by_pair:
            # Row by row, which is several times as fast as all pairs at once.
            for i, j in zip(new, old, strict=True):
                ours[i, columns] = theirs[j].take(old)
        elif ours.shape == theirs.shape:
            ours[...] = theirs
    policy.mend(made, numbers_of(origin, n_before))
    return packed(policy, made, n_positions)


def carry(learner: Learner, state: Any, n_before: int, origin: Ints) -> None:
    """Give a learner the state that `carried` returns for its policy."""
    policy = learner.policy
    assert isinstance(policy, ItemsComeAndGo), policy
    learner.state = carried(policy, learner.n_positions, state, n_before, origin)
    policy.name_items(learner.cache, numbers_of(origin, n_before))


def can_carry(former: Learner, policy: Policy) -> bool:
    """Return whether a policy of as many items or more can take over a learner's statistics.

    A prior that holds for all items may have become one entry per item, so the parameters that
    follow from it are compared.
    """
    if type(policy) is not type(former.policy):
        return False
    size = former.n_items, former.n_positions
    before = relabelled(policy, np.arange(former.n_items))
    return _equal(before.params(*size), former.params) and _equal(
        before.init(*size), former.policy.init(*size)
    )


def _equal(one: Any, two: Any) -> bool:
    """Compare two NamedTuples of numbers and arrays."""
    if type(one) is not type(two):
        return False
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def continue_walk(learner: Learner, former: Learner) -> None:
    """Let the particle of a learner continue from that of another learner, if it has one."""
    if isinstance(learner.policy, Walks):
        # A copy, since the other learner may be ranking in another thread.
        learner.policy.walk_on(learner, former.fork())
