"""Ridge regression on the items seen, and the best items under it without looking at them all.

With M = I + Σ x xᵀ/σ² over the items seen and B = Σ x over those clicked, θ̂ = M⁻¹B/σ² estimates
the weights, and ‖x‖ in the norm of M⁻¹ says how little is known about an item.

Every round changes every score, but by little. Take the weights θ₀ and the matrix M₀ of a past
round, and any later weights θ. As M only grows, w = ‖x‖ in the norm of M₀⁻¹ is at least what it is
now, and

    ⟨x, θ⟩ + c‖x‖ ≤ ⟨x, θ₀⟩ + (c + ‖θ - θ₀‖) w,    ‖θ - θ₀‖ in the norm of M₀.

So an item whose right side with a budget b for the last norm was below a cut may be left out as
long as the norm is within b and the list needs more than the cut. What is left is some hundred
items of ten thousand; when the bound fails, all are computed, and the near ones chosen anew.

The squared variant has M = Σ x xᵀ/σ² without the identity, its pseudo-inverse, and the square of
the norm as the bonus. It computes all scores in every round.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clickrank._jit import inline_kernel, lean_kernel
from clickrank._select import contenders, draw_ties, enter
from clickrank.errors import invalid
from clickrank.features import Features
from clickrank.numerics.cholesky import factorise
from clickrank.numerics.pseudo_inverse import factor_pseudo_inverse
from clickrank.policies._shared.observation import FIRST_CLICK, positions_seen
from clickrank.policies.base import Policy
from clickrank.policies.linear_estimates import GRID
from clickrank.types import Floats, Ints, number

_FEW = 64  # items that are all computed in every round
_SHARE = 2  # of all, one in so many may be near
_PATIENCE = 16  # rounds with all items before near ones are looked for again
_BISECTIONS = 12
_STRIPE = 256  # items at a time: what is computed of them stays in the fastest memory


class Params(NamedTuple):
    """Constants of a regression."""

    features: Floats  # (n_features, n_items), x of an item in its column
    precision: float  # 1/σ²
    width: float  # c; 0 for Thompson sampling
    limit: float  # what scores are cut off at
    budget: float  # b
    reach: float  # the largest ‖x‖
    squared: bool  # whether the bonus is c‖x‖², and M has no identity


def no_regression(
    n_items: int, n_features: int, n_positions: int, squared: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the fields that a state has for it, before the first round."""
    square = np.zeros((n_features, n_features))
    return {
        "gram": square.copy() if squared else np.eye(n_features),
        "response": np.zeros(n_features),
        "factor": square.copy(),
        "inverse": square.copy(),
        "weights": np.zeros((2, n_features)),
        "value": np.zeros(n_items),
        "best": np.arange(n_positions),
        "room": np.zeros((2, n_items), dtype=np.int64),
        "kept": np.zeros(n_positions),
        "near": np.zeros(n_items, dtype=np.int64),
        "near_features": np.zeros((n_features, n_items)),
        "sizes": np.zeros(3, dtype=np.int64),
        "cut": np.zeros(1),
        "near_weights": np.zeros(n_features),
        "near_factor": square,
        "work": np.zeros((2, n_items)),
    }


def regression_params(
    spec: Policy,
    features: Features,
    n_items: int,
    width: float,
    sigma: float,
    budget: float,
    squared: bool = False,
) -> Params:
    """Return the constants of a policy that sorts by scores linear in features."""
    x = features.for_items(type(spec).__name__, n_items)
    limit = 1.0 if width > 0.0 and not squared else math.inf
    reach = math.sqrt(float((x * x).sum(axis=1).max()))
    by_feature = np.array(x.T, order="C")  # not a view, which would be read-only
    return Params(by_feature, 1.0 / (sigma * sigma), width, limit, budget, reach, squared)


def check_regression(spec: Policy, features: Features, sigma: float) -> None:
    """Check what the policies have in common."""
    object.__setattr__(spec, "features", Features(features))
    number(type(spec).__name__, "sigma", sigma, 0.0)
    if sigma == 0.0:
        raise invalid(type(spec).__name__, "sigma must be above 0", sigma)


@inline_kernel
def observe(params: Any, state: Any, ranking: Ints, clicks: Ints) -> None:
    """Add what was seen of a list, down to the first click."""
    n_features = state.gram.shape[0]
    for position in range(positions_seen(FIRST_CLICK, clicks)):
        item = ranking[position]
        for i in range(n_features):
            x = params.features[i, item]
            for j in range(i + 1):
                state.gram[i, j] += params.precision * (x * params.features[j, item])
            if clicks[position] == 1:
                state.response[i] += x


@lean_kernel
def fit(params: Any, state: Any) -> None:
    """Find θ̂ and W with WᵀW = M⁻¹, from the lower half of M.

    W is the inverse of the Cholesky factor, of which the upper half is 0; in the squared variant
    see `factor_pseudo_inverse`.
    """
    n = state.gram.shape[0]
    inverse = state.inverse
    if params.squared:
        factor_pseudo_inverse(state.gram, state.factor, inverse)
    else:
        factorise(state.gram, n, state.factor)
        _invert_factor(state.factor, inverse)
    for j in range(n):
        state.weights[0, j] = 0.0
    for i in range(n):
        columns = n if params.squared else i + 1
        part = 0.0
        for k in range(columns):
            part += inverse[i, k] * state.response[k]
        for j in range(columns):
            state.weights[0, j] += params.precision * (inverse[i, j] * part)


@lean_kernel
def _invert_factor(factor: Floats, inverse: Floats) -> None:
    """Write the inverse of a lower factor."""
    n = factor.shape[0]
    for j in range(n):
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, n):
            rest = 0.0
            for k in range(j, i):
                rest -= factor[i, k] * inverse[k, j]
            inverse[i, j] = rest / factor[i, i]


@lean_kernel
def perturb(state: Any, rng: np.random.Generator) -> None:
    """Add a normal draw of covariance M⁻¹ to θ̂: what is in row 1 of the weights."""
    n = state.gram.shape[0]
    for j in range(n):
        state.weights[1, j] = state.weights[0, j]
    for i in range(n):
        normal = rng.standard_normal()
        for j in range(i + 1):
            state.weights[1, j] += state.inverse[i, j] * normal


@lean_kernel
def rank_by_score(params: Any, state: Any, row: int, rng: np.random.Generator, out: Ints) -> None:
    """Write the items of the largest scores under a row of weights, best first, ties at random.

    Row 0 are those of `fit`, which must have been called.
    """
    n_items = params.features.shape[1]
    count = state.sizes[0]
    patient = count < n_items or n_items <= _FEW or state.sizes[1] < _PATIENCE
    if count == 0 or not patient or not _still_near(params, state, row, count):
        _choose_near(params, state)
        if not _still_near(params, state, row, state.sizes[0]):
            _take_all(params, state)
            _still_near(params, state, row, n_items)
    count = state.sizes[0]
    state.sizes[1] += 1
    draw_ties(state.value, rng, state.best, state.room, state.sizes[2], out)
    if count < n_items:
        for i in range(out.shape[0]):
            out[i] = state.near[out[i]]


@lean_kernel
def _still_near(params: Any, state: Any, row: int, count: int) -> bool:
    """Compute the scores of the near items, and say whether they are sure to hold the list."""
    n = state.gram.shape[0]
    if count == params.features.shape[1]:
        _score(params, state, params.features, row, count)
        _select(state, count)
        return True
    drift = 0.0
    size = 0.0
    for j in range(n):
        size += abs(state.weights[row, j]) + abs(state.near_weights[j])
        part = 0.0
        for i in range(j, n):
            part += state.near_factor[i, j] * (state.weights[row, i] - state.near_weights[i])
        drift += part * part
    if math.sqrt(drift) > params.budget:
        return False
    _score(params, state, state.near_features, row, count)
    # Scores are rounded: by far less than this.
    slip = 1e-12 * params.reach * size
    return bool(_select(state, count) > state.cut[0] + slip)


@inline_kernel
def _select(state: Any, count: int) -> float:
    """Sort out the best of the first items; return the least score of the list."""
    value = state.value[:count]
    found = contenders(value, value, state.best, state.room, state.kept)
    enter(value, state.best, state.room, found)
    state.sizes[2] = found
    return float(value[state.best[state.best.shape[0] - 1]])


@lean_kernel
def _score(params: Any, state: Any, features: Floats, row: int, count: int) -> None:
    """Compute the scores of the first items of a matrix, each by the same operations."""
    value = state.value
    _apply(features, state.weights, row, count, value)
    if params.width > 0.0:
        _widths(params, state, features, count)
        for item in range(count):
            value[item] = min(value[item] + params.width * state.work[0, item], params.limit)
    if params.squared:
        # While less than d items were seen, many bounds are equal but for rounding.
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
    # Loops from 0 on over rows that lie in one piece: what the compiler makes vectors of.
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
def _widths(params: Any, state: Any, features: Floats, count: int) -> None:
    """Write ‖x‖ in the norm of M⁻¹ of the first items, or ‖x‖², to row 0 of the work space."""
    for begin in range(0, count, _STRIPE):
        end = min(begin + _STRIPE, count)
        total = state.work[0, begin:end]
        part = state.work[1, begin:end]
        for i in range(total.shape[0]):
            total[i] = 0.0
        for row in range(features.shape[0]):
            columns = features.shape[0] if params.squared else row + 1
            _combine(features, state.inverse, row, columns, begin, end, part)
            for i in range(total.shape[0]):
                total[i] += part[i] * part[i]
        if not params.squared:
            for i in range(total.shape[0]):
                total[i] = math.sqrt(total[i])


@lean_kernel
def _take_all(params: Any, state: Any) -> None:
    state.sizes[0] = params.features.shape[1]
    state.sizes[1] = 0
    for i in range(state.best.shape[0]):
        state.best[i] = i


@lean_kernel
def _choose_near(params: Any, state: Any) -> None:
    """Choose the near items anew, or all if too many are near."""
    n_items = params.features.shape[1]
    n = state.gram.shape[0]
    _take_all(params, state)
    if n_items <= _FEW or params.squared:
        return
    _score(params, state, params.features, 0, n_items)
    needed = _select(state, n_items)
    # Norms are rounded too, by some ε times the condition of M, which its trace bounds.
    trace = 0.0
    for i in range(n):
        trace += state.gram[i, i]
    wide = (params.width + params.budget) * (1.0 + 1e-13 * trace)
    _apply(params.features, state.weights, 0, n_items, state.value)
    _widths(params, state, params.features, n_items)
    low = math.inf
    for item in range(n_items):
        state.value[item] += wide * state.work[0, item]
        low = min(low, state.value[item])
    reached = _count_from(state.value, needed)
    if reached * _SHARE > n_items:
        return
    # Below what is needed now, for later rounds may need less; but not too many.
    most = max(2 * reached, n_items // 16, 4 * state.best.shape[0])
    high = needed
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if _count_from(state.value, middle) > most:
            low = middle
        else:
            high = middle
    found = 0
    for item in range(n_items):
        if state.value[item] >= high:
            state.near[found] = item
            found += 1
    for f in range(n):
        for place in range(found):
            state.near_features[f, place] = params.features[f, state.near[place]]
        state.near_weights[f] = state.weights[0, f]
        for i in range(f, n):
            state.near_factor[i, f] = state.factor[i, f]
    for i in range(state.best.shape[0]):
        state.best[i] = i
    state.cut[0] = high
    state.sizes[0] = found


@lean_kernel
def _count_from(values: Floats, least: float) -> int:
    found = 0
    for value in values:
        found += value >= least
    return found
