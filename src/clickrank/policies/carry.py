"""What was learned, for another catalogue."""

from __future__ import annotations

from typing import Any

from clickrank.policies.base import Policy
from clickrank.types import Ints, numbers_of, statistic_fields


def carried(policy: Policy, n_positions: int, state: Any, n_before: int, origin: Ints) -> Any:
    """Return the state of a policy whose item i is item ``origin[i]`` of the given state.

    ``policy`` is the spec for the new catalogue, with `Policy.by_item`. Items that are new (-1)
    have what they have before the first round. The given state, of ``n_before`` items, stays as it
    is; of its scratch nothing is taken.
    """
    rows = policy.by_item
    assert rows is not None, policy
    made = policy.init(origin.size, n_positions)
    old = origin >= 0
    for name in statistic_fields(type(made)):
        ours, theirs = getattr(made, name), getattr(state, name)
        if name in rows:
            ours[old] = theirs[origin[old]]
        else:
            ours[...] = theirs
    policy.mend(made, numbers_of(origin, n_before))
    return made
