"""The items with the best linear scores, found without scoring all of them.

Every round changes every score, but by little. Take the weights θ₀ and the matrix M₀ of a past
round, and any later weights θ. As M only grows, w = ‖x‖ in the norm of M₀⁻¹ is at least its present
value, and

    ⟨x, θ⟩ + c‖x‖ ≤ ⟨x, θ₀⟩ + (c + ‖θ - θ₀‖) w,    ‖θ - θ₀‖ in the norm of M₀.

An item whose right side, with a budget b for the last norm, was below a cut may therefore be left
out as long as the norm is within b and the list needs more than the cut. This leaves some hundred
items of ten thousand. When the bound fails, all items are computed, and other near ones are chosen.

The squared variant, whose bonus is c‖x‖² in the norm of a pseudo-inverse, computes all scores in
every round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.policies._shared.rounding_grid import GRID
from clickrank.rankings.selection import contenders, draw_entered, enter

_FEW = 64  # with at most this many items, all are computed in every round
_SHARE = 2  # at most one in this many items may be near
_PATIENCE = 16  # rounds with all items before near ones are searched again
_BISECTIONS = 12
_STRIPE = 256  # items at a time, whose intermediate results stay in the fastest memory


class Cache(NamedTuple):
    """The regression of this round, and the items that may reach the list."""

    width: float  # c; 0 for Thompson sampling
    limit: float  # the largest score
    budget: float  # b
    reach: float  # the largest ‖x‖
    squared: bool  # whether the bonus is c‖x‖², and M lacks the identity
    factor: Floats  # (n_features, n_features), Cholesky factor of M
    inverse: Floats  # (n_features, n_features), W with WᵀW = M⁻¹, see `ridge.fit`
    weights: Floats  # (2, n_features), θ̂ and a draw of Thompson sampling
    value: Floats  # (n_items,), scores of the near items
    best: Ints  # (n_positions,), indices of the list among the near items
    near: Ints  # (n_items,), the near items, by number
    near_features: Floats  # (n_features, n_items), features of the near items
    sizes: Ints  # (3,), number of near items, 0 if not chosen yet; rounds since; contenders
    cut: Floats  # (1,), upper bound of all other items
    near_weights: Floats  # (n_features,), θ₀, when they were chosen
    near_factor: Floats  # (n_features, n_features), Cholesky factor of M₀
    contenders_buffer: Ints  # (2, n_items), see `contenders`
    ceilings_buffer: Floats  # (n_positions,), see `contenders`
    widths_buffer: Floats  # (2, n_items)


def no_near_items(
    features: Floats,
    n_positions: int,
    width: float,
    limit: float,
    budget: float,
    squared: bool = False,
) -> Cache:
    """Return a cache without near items."""
    n_features, n_items = features.shape
    return Cache(
        width=width,
        limit=limit,
        budget=budget,
        reach=math.sqrt(float((features * features).sum(axis=0).max())),
        squared=squared,
        factor=np.zeros((n_features, n_features)),
        inverse=np.zeros((n_features, n_features)),
        weights=np.zeros((2, n_features)),
        value=np.zeros(n_items),
        best=np.arange(n_positions),
        near=np.zeros(n_items, dtype=np.int64),
        near_features=np.zeros((n_features, n_items)),
        sizes=np.zeros(3, dtype=np.int64),
        cut=np.zeros(1),
        near_weights=np.zeros(n_features),
        near_factor=np.zeros((n_features, n_features)),
        contenders_buffer=np.zeros((2, n_items), dtype=np.int64),
        ceilings_buffer=np.zeros(n_positions),
        widths_buffer=np.zeros((2, n_items)),
    )


@lean_kernel
def rank_by_score(
    features: Floats, gram: Floats, cache: Cache, row: int, rng: np.random.Generator, out: Ints
) -> None:
    """Write the items with the largest scores for a row of weights, best first, ties at random.

    Row 0 has the weights of `fit`, which must have been called.
    """
    n_items = features.shape[1]
    count = cache.sizes[0]
    patient = count < n_items or n_items <= _FEW or cache.sizes[1] < _PATIENCE
    if count == 0 or not patient or not _still_near(features, gram, cache, row, count):
        _choose_near(features, gram, cache)
        if not _still_near(features, gram, cache, row, cache.sizes[0]):
            _take_all(cache)
            _still_near(features, gram, cache, row, n_items)
    count = cache.sizes[0]
    cache.sizes[1] += 1
    draw_entered(cache.value, rng, cache.best, cache.contenders_buffer, cache.sizes[2], out)
    if count < n_items:
        for i in range(out.shape[0]):
            out[i] = cache.near[out[i]]


@lean_kernel
def _still_near(features: Floats, gram: Floats, cache: Cache, row: int, count: int) -> bool:
    """Compute the scores of the near items, and return whether these certainly contain the list."""
    n = gram.shape[0]
    if count == features.shape[1]:
        _score(cache, features, row, count)
        _select(cache, count)
        return True
    drift = 0.0
    size = 0.0
    for j in range(n):
        size += abs(cache.weights[row, j]) + abs(cache.near_weights[j])
        part = 0.0
        for i in range(j, n):
            part += cache.near_factor[i, j] * (cache.weights[row, i] - cache.near_weights[i])
        drift += part * part
    if math.sqrt(drift) > cache.budget:
        return False
    _score(cache, cache.near_features, row, count)
    # The rounding errors of scores are far smaller than this.
    slip = 1e-12 * cache.reach * size
    return bool(_select(cache, count) > cache.cut[0] + slip)


@inline_kernel
def _select(cache: Cache, count: int) -> float:
    """Select the best of the first items; return the least score of the list."""
    value = cache.value[:count]
    found = contenders(value, value, cache.best, cache.contenders_buffer, cache.ceilings_buffer)
    enter(value, cache.best, cache.contenders_buffer, found)
    cache.sizes[2] = found
    return float(value[cache.best[cache.best.shape[0] - 1]])


@lean_kernel
def _score(cache: Cache, features: Floats, row: int, count: int) -> None:
    """Compute the scores of the first items of a matrix, each by the same operations."""
    value = cache.value
    _apply(features, cache.weights, row, count, value)
    if cache.width > 0.0:
        _widths(cache, features, count)
        for item in range(count):
            value[item] = min(value[item] + cache.width * cache.widths_buffer[0, item], cache.limit)
    if cache.squared:
        # With fewer than d examined items, many bounds are equal except for rounding errors.
        for item in range(count):
            value[item] = math.floor(value[item] / GRID + 0.5) * GRID


@lean_kernel
def _apply(features: Floats, weights: Floats, row: int, count: int, value: Floats) -> None:
    """Write Σ_f weights[row, f] x_f of the first items."""
    for begin in range(0, count, _STRIPE):
        end = min(begin + _STRIPE, count)
        _combine(features, weights, row, features.shape[0], begin, end, value[begin:end])


@inline_kernel
def _combine(
    features: Floats, weights: Floats, row: int, n: int, begin: int, end: int, out: Floats
) -> None:
    """Write Σ_f weights[row, f] x_f over the first n features of some items."""
    # Loops from 0 over contiguous rows, which the compiler vectorises.
    x = features[0, begin:end]
    weight = weights[row, 0]
    for i in range(out.shape[0]):
        out[i] = weight * x[i]
    for f in range(1, n):
        y = features[f, begin:end]
        factor = weights[row, f]
        for i in range(out.shape[0]):
            out[i] += factor * y[i]


@lean_kernel
def _widths(cache: Cache, features: Floats, count: int) -> None:
    """Write ‖x‖ in the norm of M⁻¹ of the first items, or ‖x‖², to row 0 of their buffer."""
    for begin in range(0, count, _STRIPE):
        end = min(begin + _STRIPE, count)
        total = cache.widths_buffer[0, begin:end]
        part = cache.widths_buffer[1, begin:end]
        for i in range(total.shape[0]):
            total[i] = 0.0
        for row in range(features.shape[0]):
            columns = features.shape[0] if cache.squared else row + 1
            _combine(features, cache.inverse, row, columns, begin, end, part)
            for i in range(total.shape[0]):
                total[i] += part[i] * part[i]
        if not cache.squared:
            for i in range(total.shape[0]):
                total[i] = math.sqrt(total[i])


@lean_kernel
def _take_all(cache: Cache) -> None:
    cache.sizes[0] = cache.value.shape[0]
    cache.sizes[1] = 0
    for i in range(cache.best.shape[0]):
        cache.best[i] = i


@lean_kernel
def _choose_near(features: Floats, gram: Floats, cache: Cache) -> None:
    """Choose other near items, or all items if too many are near."""
    n_items = features.shape[1]
    n = gram.shape[0]
    _take_all(cache)
    if n_items <= _FEW or cache.squared:
        return
    _score(cache, features, 0, n_items)
    needed = _select(cache, n_items)
    # Norms are rounded too, by some ε times the condition of M, which its trace bounds.
    trace = 0.0
    for i in range(n):
        trace += gram[i, i]
    wide = (cache.width + cache.budget) * (1.0 + 1e-13 * trace)
    _apply(features, cache.weights, 0, n_items, cache.value)
    _widths(cache, features, n_items)
    low = math.inf
    for item in range(n_items):
        cache.value[item] += wide * cache.widths_buffer[0, item]
        low = min(low, cache.value[item])
    reached = _count_from(cache.value, needed)
    if reached * _SHARE > n_items:
        return
    # Below the score that is needed now, as later rounds may need less; but not too many.
    most = max(2 * reached, n_items // 16, 4 * cache.best.shape[0])
    high = needed
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if _count_from(cache.value, middle) > most:
            low = middle
        else:
            high = middle
    found = 0
    for item in range(n_items):
        if cache.value[item] >= high:
            cache.near[found] = item
            found += 1
    for f in range(n):
        for place in range(found):
            cache.near_features[f, place] = features[f, cache.near[place]]
        cache.near_weights[f] = cache.weights[0, f]
        for i in range(f, n):
            cache.near_factor[i, f] = cache.factor[i, f]
    for i in range(cache.best.shape[0]):
        cache.best[i] = i
    cache.cut[0] = high
    cache.sizes[0] = found


@lean_kernel
def _count_from(values: Floats, least: float) -> int:
    found = 0
    for value in values:
        found += value >= least
    return found
