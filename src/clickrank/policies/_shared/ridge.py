"""Ridge regression of clicks on the features of the examined items.

With M = I + Σ x xᵀ/σ² over the examined items and B = Σ x over the clicked ones, θ̂ = M⁻¹B/σ²
estimates the weights, and the norm of x with respect to M⁻¹ is the uncertainty about an item.
Without the identity, the pseudo-inverse of Σ x xᵀ/σ² replaces M⁻¹. There is one column of features
per item.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank._core.features import Features
from clickrank._core.validate import check_float
from clickrank.errors import invalid
from clickrank.numerics.cholesky import factorise
from clickrank.policies._shared.observation import FIRST_CLICK, positions_seen
from clickrank.policies.policy_spec import Policy


def check_regression(spec: Policy, features: Features, sigma: float) -> None:
    """Check the settings that these policies have in common."""
    object.__setattr__(spec, "features", Features(features))
    check_float(type(spec).__name__, "sigma", sigma, 0.0)
    if sigma == 0.0:
        raise invalid(type(spec).__name__, "sigma must be above 0", sigma)


def features_by_column(spec: Policy, features: Features, n_items: int) -> Floats:
    """Return the features with one column per item."""
    x = features.for_items(type(spec).__name__, n_items)
    return np.array(x.T, order="C")  # a copy, because a view would be read-only


@inline_kernel
def observe(
    features: Floats, precision: float, gram: Floats, response: Floats, ranking: Ints, clicks: Ints
) -> None:
    """Add the items of a list, down to the first click, to the lower half of M and to B."""
    for position in range(positions_seen(FIRST_CLICK, clicks)):
        item = ranking[position]
        for i in range(response.shape[0]):
            x = features[i, item]
            for j in range(i + 1):
                gram[i, j] += precision * (x * features[j, item])
            if clicks[position] == 1:
                response[i] += x


@lean_kernel
def invert_factor(gram: Floats, factor: Floats, inverse: Floats) -> None:
    """Write the Cholesky factor of M and its inverse W, so that WᵀW = M⁻¹, from M's lower half.

    Only the lower half of both is written.
    """
    n = gram.shape[0]
    factorise(gram, n, factor)
    for j in range(n):
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, n):
            rest = 0.0
            for k in range(j, i):
                rest -= factor[i, k] * inverse[k, j]
            inverse[i, j] = rest / factor[i, i]


@lean_kernel
def fit(inverse: Floats, response: Floats, precision: float, weights: Floats) -> None:
    """Write θ̂ = WᵀW B/σ²; both halves of W are read."""
    n = response.shape[0]
    for j in range(n):
        weights[j] = 0.0
    for i in range(n):
        part = 0.0
        for k in range(n):
            part += inverse[i, k] * response[k]
        for j in range(n):
            weights[j] += precision * (inverse[i, j] * part)


@lean_kernel
def perturb(inverse: Floats, weights: Floats, rng: np.random.Generator, out: Floats) -> None:
    """Write a normal draw with mean θ̂ and covariance M⁻¹ = WᵀW, where W has only a lower half."""
    n = weights.shape[0]
    for j in range(n):
        out[j] = weights[j]
    for i in range(n):
        normal = rng.standard_normal()
        for j in range(i + 1):
            out[j] += inverse[i, j] * normal


@lean_kernel
def predict(features: Floats, weights: Floats, item: int) -> float:
    """Return ⟨x, θ⟩ of an item."""
    total = 0.0
    for f in range(weights.shape[0]):
        total += weights[f] * features[f, item]
    return total


@lean_kernel
def squared_norm(features: Floats, inverse: Floats, item: int) -> float:
    """Return xᵀ M⁻¹ x = ‖W x‖² of an item; both halves of W are read."""
    total = 0.0
    for i in range(inverse.shape[0]):
        part = predict(features, inverse[i], item)
        total += part * part
    return total
