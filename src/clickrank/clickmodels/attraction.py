"""Attraction as a linear function of item features."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, frozen, numbers, probabilities
from clickrank.errors import invalid


class LinearAttraction:
    """Attraction of item a = ⟨features of a, weights⟩ (li2019, eq. 3).

    Any click model accepts it instead of a vector of attractions.

    Parameters
    ----------
    features
        Matrix of shape (n_items, n_features).
    weights
        Vector of length n_features (θ* in li2019).

    Examples
    --------
    >>> LinearAttraction([[1.0, 0.0], [0.5, 0.5]], [0.2, 0.6]).values
    array([0.2, 0.4])
    """

    def __init__(self, features: ArrayLike, weights: ArrayLike) -> None:
        """Check shapes, and that every attraction is a probability."""
        owner = "LinearAttraction"
        self.features: Floats = frozen(numbers(owner, "features", features))
        self.weights: Floats = frozen(numbers(owner, "weights", weights))
        if self.features.ndim != 2 or self.features.size == 0:
            shape = self.features.shape
            raise invalid(owner, "features must be a non-empty matrix (items × features)", shape)
        if self.weights.shape != self.features.shape[1:]:
            rule = f"weights must hold one number per feature ({self.features.shape[1]})"
            raise invalid(owner, rule, self.weights.shape)
        if not (np.isfinite(self.features).all() and np.isfinite(self.weights).all()):
            raise invalid(owner, "features and weights must be finite", "NaN or infinity")
        values = self.features @ self.weights
        # Eq. 12 gives attractions of 0 and 1 up to rounding: allow a few ulps, no more.
        rounding = 8 * np.finfo(np.float64).eps
        near = np.where((values > 1) & (values <= 1 + rounding), 1.0, values)
        near = np.where((near < 0) & (near >= -rounding), 0.0, near)
        self.values: Floats = frozen(probabilities(owner, "⟨features, weights⟩", near))

    @classmethod
    def normalised(cls, vectors: ArrayLike, weights: ArrayLike) -> LinearAttraction:
        """Map vectors and weights by x ↦ (x/(√2‖x‖), 1/√2), so that attractions are in [0, 1].

        This is eq. 12 of li2019.

        >>> LinearAttraction.normalised(
        ...     [[3.0, 0.0], [0.0, 2.0], [-1.0, 0.0]], [5.0, 0.0]
        ... ).values.round(12)
        array([1. , 0.5, 0. ])
        """
        return cls(_on_sphere(vectors), _on_sphere(np.asarray(weights)[None])[0])


def _on_sphere(vectors: ArrayLike) -> Floats:
    x = numbers("LinearAttraction", "vectors", vectors)
    norms = np.sqrt((x * x).sum(axis=1, keepdims=True))
    if not (norms > 0).all():
        raise invalid("LinearAttraction", "vectors to normalise must not be zero", "a zero vector")
    constant = np.full((x.shape[0], 1), np.sqrt(0.5))
    out: Floats = np.hstack([x / (np.sqrt(2.0) * norms), constant])
    return out


def attraction_of(owner: str, attraction: ArrayLike | LinearAttraction) -> Floats:
    """Return a checked copy of a vector of attractions, or the values of a `LinearAttraction`."""
    if isinstance(attraction, LinearAttraction):
        return attraction.values.copy()
    return probabilities(owner, "attraction", attraction)
