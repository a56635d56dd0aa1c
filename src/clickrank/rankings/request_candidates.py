"""Candidates: the items that a request allows."""

from __future__ import annotations

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Ints


@inline_kernel
def n_candidates(candidates: Ints, n_items: int) -> int:
    """Return the number of items that a request allows: all items if it names none."""
    return candidates.shape[0] if candidates.shape[0] > 0 else n_items


@inline_kernel
def candidate(candidates: Ints, i: int) -> int:
    """Return the i-th item that a request allows, in increasing order.

    A policy that draws random numbers for each item must draw them for the candidates only. Its
    lists are then the same as in a catalogue without the other items.
    """
    return candidates[i] if candidates.shape[0] > 0 else i
