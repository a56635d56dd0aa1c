"""Leading singular vector of a matrix without negative entries, rounded so that equal entries tie.

The vector is the limit of power iteration on the Gram matrix from the vector of ones. It has no
negative entry and is defined even if the largest singular value is not simple. Its entries are
rounded to multiples of 2^-26, so that they do not depend on where the iteration started.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats

_GRID = 2.0**26
# Squarings of the Gram matrix: 16 equal 2^16 steps of power iteration. Singular values that agree
# to four digits are not fully separated, but then neither of their vectors is meaningful.
_SQUARINGS = 16
_ITERATIONS = 40
_CONVERGED = 1e-14


@kernel
def leading_singular_vectors(matrix: Floats, left: Floats, right: Floats) -> None:
    """Write the leading singular vectors of a matrix; the left one is not normalised."""
    n_rows, n_columns = matrix.shape
    gram = np.empty((n_columns, n_columns))
    for k in range(n_columns):
        for j in range(n_columns):
            gram[k, j] = 0.0
            for i in range(n_rows):
                gram[k, j] += matrix[i, k] * matrix[i, j]
    guess = np.full(n_columns, n_columns**-0.5)
    leading_vector(gram, guess, np.empty((2, n_columns, n_columns)), right)
    for i in range(n_rows):
        left[i] = 0.0
        for k in range(n_columns):
            left[i] += matrix[i, k] * right[k]


@kernel
def leading_vector(gram: Floats, guess: Floats, powers: Floats, out: Floats) -> None:
    """Write the leading unit eigenvector of a Gram matrix, rounded; ones if the matrix is 0.

    ``guess`` is the vector to start from, without negative entries; it is overwritten with the
    guess for the next call. It affects the time, not the result. ``powers`` is a buffer for two
    matrices.
    """
    n = gram.shape[0]
    trace = 0.0
    for k in range(n):
        trace += gram[k, k]
    if trace <= 0.0:
        for k in range(n):
            out[k] = 1.0
        return
    if not _iterate(gram, guess, powers[0, 0], out):
        _square(gram, trace, powers, guess)
        for k in range(n):
            out[k] = math.floor(guess[k] * _GRID + 0.5) / _GRID


@kernel
def _iterate(gram: Floats, vector: Floats, image: Floats, out: Floats) -> bool:
    """Try power iteration from a vector; return whether the rounded result is certain.

    All other eigenvalues are at most √(‖G‖² - λ²). If that is below λ/2, then λ is the largest, and
    the vector is off by at most its residual divided by the distance between the eigenvalues.
    """
    n = vector.shape[0]
    value = 0.0
    residual = math.inf
    for _ in range(_ITERATIONS):
        value = 0.0
        square = 0.0
        for k in range(n):
            total = 0.0
            for j in range(n):
                total += gram[k, j] * vector[j]
            image[k] = total
            value += total * vector[k]
            square += total * total
        residual = 0.0
        for k in range(n):
            off = image[k] - value * vector[k]
            residual += off * off
        if not value > 0.0:
            return False
        if residual <= (_CONVERGED * value) ** 2:
            break
        scale = 1.0 / math.sqrt(square)
        for k in range(n):
            vector[k] = image[k] * scale
    if not residual <= (_CONVERGED * value) ** 2:
        return False
    norm = 0.0
    for k in range(n):
        for j in range(n):
            norm += gram[k, j] * gram[k, j]
    if norm - value * value > 0.25 * value * value:
        return False
    error = 8.0 * _CONVERGED * _GRID  # twice the proven bound, which covers rounding errors
    for k in range(n):
        x = vector[k] * _GRID
        whole = math.floor(x + 0.5)
        if math.fabs(x - whole) > 0.5 - error:
            return False
        out[k] = whole / _GRID
    return True


@kernel
def _square(gram: Floats, trace: float, powers: Floats, out: Floats) -> None:
    """Write the unit vector that G^(2^16) makes of the vector of ones."""
    n = out.shape[0]
    now, then = 0, 1
    for k in range(n):
        for j in range(n):
            powers[now, k, j] = gram[k, j] / trace
    for _ in range(_SQUARINGS):
        trace = 0.0
        for k in range(n):
            for j in range(n):
                total = 0.0
                for i in range(n):
                    total += powers[now, k, i] * powers[now, i, j]
                powers[then, k, j] = total
            trace += powers[then, k, k]
        for k in range(n):
            for j in range(n):
                powers[then, k, j] /= trace
        now, then = then, now
        if trace >= 1.0 - 1e-15:  # Σ λ² of a matrix with Σ λ = 1: one eigenvalue remains
            break
    norm = 0.0
    for k in range(n):
        total = 0.0
        for j in range(n):
            total += powers[now, k, j]
        out[k] = total
        norm += total * total
    norm = math.sqrt(norm)
    for k in range(n):
        out[k] /= norm
