"""CascadeLinUCB, fast: leaves out items that cannot reach the list, see `near_items`.

A round costs O(d³), and O(d²) per item that may reach the list. By the bounds this is a small part
of a large catalogue, except in the first rounds.
"""

from __future__ import annotations

import numpy as np

from clickrank._core.arrays import Ints
from clickrank.fast._shared.near_items import Cache, no_near_items, rank_by_score
from clickrank.numerics.jacobi_pseudo_inverse import factor_pseudo_inverse
from clickrank.policies._shared.ridge import fit, invert_factor, observe
from clickrank.policies.cascade_lin_ucb import CascadeLinUCB, Params, State
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast

#: The near items stay valid while ‖θ - θ₀‖ is at most this: see `near_items`.
_BUDGET = 0.5


def build(params: Params, state: State) -> Cache:
    """Return a cache without near items."""
    constants = params.width, params.limit, _BUDGET, params.squared
    return no_near_items(params.features, params.n_positions, *constants)


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Sort the near items by U."""
    if params.squared:
        factor_pseudo_inverse(state.gram, cache.factor, cache.inverse)
    else:
        invert_factor(state.gram, cache.factor, cache.inverse)
    fit(cache.inverse, state.response, params.precision, cache.weights[0])
    rank_by_score(params.features, state.gram, cache, 0, rng, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Add the examined items to M, and the clicked one to B."""
    observe(params.features, params.precision, state.gram, state.response, ranking, clicks)


register_fast(CascadeLinUCB, State, Cache, build, rank, update, lean=True)
