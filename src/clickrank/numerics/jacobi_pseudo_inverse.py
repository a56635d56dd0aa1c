"""Pseudo-inverse of a small positive semi-definite matrix, by Jacobi's rotations."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats

#: Eigenvalues below this share of the largest one are rounding errors and count as 0.
CUTOFF = 1e-12
_SWEEPS = 60  # passes over all pairs of coordinates; about ten suffice


@lean_kernel
def factor_pseudo_inverse(matrix: Floats, work: Floats, factor: Floats) -> None:
    """Write W with WᵀW = S†, where S is the matrix, whose lower half is read.

    A row of W is an eigenvector divided by the square root of its eigenvalue, or 0. ``work`` has
    the shape of the matrix and is overwritten.
    """
    n = matrix.shape[0]
    for i in range(n):
        for j in range(n):
            work[i, j] = matrix[max(i, j), min(i, j)]
            factor[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        turned = False
        for p in range(n):
            for q in range(p + 1, n):
                # Relative to both, so that small eigenvalues are as precise as large ones.
                if abs(work[p, q]) > 1e-16 * math.sqrt(abs(work[p, p] * work[q, q])):
                    _rotate(work, factor, p, q)
                    turned = True
        if not turned:
            break
    largest = 0.0
    for i in range(n):
        largest = max(largest, work[i, i])
    for i in range(n):
        scale = 0.0
        if work[i, i] > CUTOFF * largest:
            scale = 1.0 / math.sqrt(work[i, i])
        for j in range(n):
            factor[i, j] *= scale


@lean_kernel
def _rotate(work: Floats, vectors: Floats, p: int, q: int) -> None:
    """Rotate coordinates p and q so that the entry between them becomes 0."""
    n = work.shape[0]
    ratio = (work[q, q] - work[p, p]) / (2.0 * work[p, q])
    tangent = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for k in range(n):
        x, y = work[k, p], work[k, q]
        work[k, p] = cosine * x - sine * y
        work[k, q] = sine * x + cosine * y
    for k in range(n):
        x, y = work[p, k], work[q, k]
        work[p, k] = cosine * x - sine * y
        work[q, k] = sine * x + cosine * y
        x, y = vectors[p, k], vectors[q, k]
        vectors[p, k] = cosine * x - sine * y
        vectors[q, k] = sine * x + cosine * y
    work[p, q] = 0.0
    work[q, p] = 0.0
