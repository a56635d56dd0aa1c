"""What was learned, for another catalogue."""

from __future__ import annotations

from typing import Any

import numpy as np

from clickrank._core.arrays import Ints, numbers_of, statistic_fields
from clickrank.learning.learner import Learner
from clickrank.policies._shared.packing import packed, unpacked
from clickrank.policies.base import Policy
from clickrank.policies.capabilities import ItemsComeAndGo


def carried(policy: Policy, n_positions: int, state: Any, n_before: int, origin: Ints) -> Any:
    """Return the state of a policy whose item i is item ``origin[i]`` of the given state.

    ``policy`` is the spec for the new catalogue; its items can come and go. Items that are new (-1)
    have what they have before the first round. The given state, of ``n_before`` items, stays as it
    is.
    """
    assert isinstance(policy, ItemsComeAndGo), policy
    made = policy.init(origin.size, n_positions)
    state = unpacked(policy, state)
    new, old = np.flatnonzero(origin >= 0), origin[origin >= 0]
    columns = slice(new.size) if new.size and new[-1] == new.size - 1 else new
    for name in statistic_fields(type(made)):
        ours, theirs = getattr(made, name), getattr(state, name)
        if name in policy.by_item:  # one for each item, or some one after the other
            shape = -1, ours.shape[0] // origin.size, *ours.shape[1:]
            ours.reshape(shape)[new] = theirs.reshape(shape)[old]
        elif name in policy.by_pair:
            # One row after the other: several times as fast as all pairs at once.
            for i, j in zip(new, old, strict=True):
                ours[i, columns] = theirs[j].take(old)
        elif ours.shape == theirs.shape:
            ours[...] = theirs
    policy.mend(made, numbers_of(origin, n_before))
    return packed(policy, made, n_positions)


def carry(learner: Learner, state: Any, n_before: int, origin: Ints) -> None:
    """Let a learner whose item i is item ``origin[i]`` of a state go on from it: see `carried`."""
    policy = learner.policy
    assert isinstance(policy, ItemsComeAndGo), policy
    learner.state = carried(policy, learner.n_positions, state, n_before, origin)
    policy.name_items(learner.cache, numbers_of(origin, n_before))
