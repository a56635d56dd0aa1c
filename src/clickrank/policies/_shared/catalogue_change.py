"""`change_catalogue`: RecurRank's policy and state after items were added or removed."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import numbers_of, origin_of
from clickrank._core.features import Features
from clickrank._core.validate import check_shape
from clickrank.errors import invalid
from clickrank.policies._shared.recurrank_items import RESTARTS
from clickrank.policies.recurrank import RecurRank, State


def change_catalogue(
    policy: RecurRank, state: State, features: ArrayLike | Features, origin: ArrayLike
) -> tuple[RecurRank, State]:
    """Return the policy and the state to continue with after items were added or removed.

    ``origin[i]`` is the number that item i of the new catalogue had in the old one, -1 if it is
    new. An item whose features have changed counts as new. Neither argument is changed.

    - If all items that are gone had been dropped before, learning continues. With probability
      1 - δ none of them was to be shown, and the bound of Theorem 1 holds as if they had never been
      in the catalogue. Outstanding feedback counts, with its items renumbered.
    - In all other cases learning starts again with all items, and outstanding feedback is ignored.
      A new item may be the best, and the position of an item that was still shown may go to one
      that was dropped: the statistics exclude neither. After R such changes the regret is
      O(n_positions √(d (R + 1) T log(n_items T))), with the largest number of items, by adding
      up Theorem 1 over the rounds between them.

    Examples
    --------
    >>> import clickrank as cr
    >>> policy = cr.policies.RecurRank([[1, 0], [0, 1], [0.5, 0.5]], horizon=1000)
    >>> policy, state = change_catalogue(
    ...     policy, policy.init(3, 2), [[0, 1], [0.5, 0.5], [0.2, 0.3]], origin=[1, 2, -1]
    ... )
    >>> learner = cr.Learner(policy, n_items=3, n_positions=2, seed=0)
    >>> learner.state = state
    """
    owner = "change_catalogue"
    if not isinstance(policy, RecurRank):
        raise invalid(owner, "policy must be a RecurRank", policy)
    if not isinstance(state, State):
        raise invalid(owner, "state must be learner.state of the policy's learner", type(state))
    if state.order.size != policy.features.n_items:
        rule = f"state must be of the policy's {policy.features.n_items} items"
        raise invalid(owner, rule, state.order.size)
    changed = dataclasses.replace(policy, features=Features(features))
    n_features = policy.features.n_features
    if changed.features.n_features != n_features:
        rule = f"features must have as many columns as before ({n_features})"
        raise invalid(owner, rule, changed.features.n_features)
    n_positions = state.phase.size
    n_items, _ = check_shape(owner, changed.features.n_items, n_positions)
    before = origin_of(owner, origin, policy.features.n_items)
    if before.size != n_items:
        raise invalid(owner, f"origin must hold {n_items} numbers", before.size)

    same = before >= 0
    old, new = policy.features.values, changed.features.values
    same[same] = (old[before[same]] == new[same]).all(axis=1)
    number = numbers_of(np.where(same, before, -1), policy.features.n_items)
    shown = state.order[state.order >= 0]
    begun = changed.init(n_items, n_positions)
    if not same.all() or (number[shown] < 0).any():
        begun.restarts[0] = (state.restarts[0] + 1) % RESTARTS
        return changed, begun
    begun.order[:] = -1
    begun.order[: shown.size] = number[shown]
    begun.phase[:], begun.restarts[:] = state.phase, state.restarts
    begun.views[:], begun.clicks[:] = state.views[before], state.clicks[before]
    if state.past.size:
        begun.past[...] = state.past[:, before]
    return changed, begun
