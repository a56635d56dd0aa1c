"""Which items a request lets a policy show."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import kernel
from clickrank.types import Ints


@kernel
def candidates_or_all(candidates: Ints, n_items: int) -> Ints:
    """Return the candidates of a request, or all items if it names none, in increasing order.

    A policy that draws random numbers for each item must draw for these alone, so that its lists
    are those of a catalogue without the other items.
    """
    return candidates if candidates.shape[0] > 0 else np.arange(n_items)
