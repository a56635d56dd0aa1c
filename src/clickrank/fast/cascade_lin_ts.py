"""CascadeLinTS, fast: leaves out items that cannot reach the list, see `near_items`.

A round costs O(d³), and O(d) per item that may reach the list. By the bounds this is a small part
of a large catalogue, except in the first rounds.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._core.arrays import Ints
from clickrank.fast._shared.near_items import Cache, no_near_items, rank_by_score
from clickrank.policies._shared.ridge import fit, invert_factor, observe, perturb
from clickrank.policies.cascade_lin_ts import CascadeLinTS, Params, State
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast


def build(params: Params, state: State) -> Cache:
    """Return a cache without near items."""
    # The squared distance of a draw has as many degrees of freedom as there are features.
    budget = math.sqrt(state.response.size) + 3.0
    return no_near_items(params.features, params.n_positions, 0.0, math.inf, budget)


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Draw θ̃, and sort the near items by it."""
    mean, draw = cache.weights[0], cache.weights[1]
    invert_factor(state.gram, cache.factor, cache.inverse)
    fit(cache.inverse, state.response, params.precision, mean)
    perturb(cache.inverse, mean, rng, draw)
    rank_by_score(params.features, state.gram, cache, 1, rng, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Add the examined items to M, and the clicked one to B."""
    observe(params.features, params.precision, state.gram, state.response, ranking, clicks)


register_fast(CascadeLinTS, State, Cache, build, rank, update, lean=True)
