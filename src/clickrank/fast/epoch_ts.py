"""Epoch-TS, fast: the constants of the Gamma draws change only with the counts of an item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.gamma_draws import gamma_constants, plain_gamma_constants, sample_gamma
from clickrank.policies._shared.epochs import ends_epoch, goes_on
from clickrank.policies.contract import Request
from clickrank.policies.epoch_ts import EpochTS, Params, State
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, renew_top_k


class Cache(NamedTuple):
    """The constants of the draws, and the last draws."""

    wins: Floats  # (n_items, 2), constants of a Gamma draw of shape 1 + N_j
    losses: Floats  # (n_items, 2), constants of a Gamma draw of shape Λ_j²/Σ λ²
    draws_buffer: Floats  # (n_items,), one draw from each posterior
    best: Ints  # (n_positions,), items by decreasing draw


def build(params: Params, state: State) -> Cache:
    """Compute the constants from the counts."""
    wins = [plain_gamma_constants(float(shape)) for shape in 1.0 + state.clicks]
    epochs = state.exposure * state.exposure / state.squares
    losses = [plain_gamma_constants(float(shape)) for shape in epochs]
    n_positions = params.position_bias.size
    return Cache(np.array(wins), np.array(losses), np.zeros(len(wins)), np.arange(n_positions))


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the epoch's list, or begin an epoch with the items that have the largest draws."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    for item in range(cache.draws_buffer.shape[0]):
        win = sample_gamma(cache.wins[item, 0], cache.wins[item, 1], rng)
        loss = sample_gamma(cache.losses[item, 0], cache.losses[item, 1], rng)
        cache.draws_buffer[item] = win / loss * (state.exposure[item] / state.squares[item])
    renew_top_k(cache.draws_buffer, rng, cache.best)
    place(cache.best, params.prominence, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and update the constants of the items counted."""
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if ended:
            bias = params.position_bias[position]
            state.exposure[item] += bias
            state.squares[item] += bias * bias
            epochs = state.exposure[item] * state.exposure[item] / state.squares[item]
            cache.losses[item, 0], cache.losses[item, 1] = gamma_constants(epochs)
        elif clicks[position] == 1:
            state.clicks[item] += 1
            constants = gamma_constants(1.0 + state.clicks[item])
            cache.wins[item, 0], cache.wins[item, 1] = constants


register_fast(EpochTS, State, Cache, build, rank, update, lean=True)
