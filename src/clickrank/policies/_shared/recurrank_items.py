"""What RecurRank says of its items and of its next list."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from clickrank._compile.jit import interpreted
from clickrank.features import Features
from clickrank.policies._shared.intervals import interval
from clickrank.rankings.lists import Few, Joined, Led, Lists, ListSource
from clickrank.types import Ints

if TYPE_CHECKING:
    from clickrank.policies.recurrank import RecurRank

#: After this many changes of the catalogue, no list from before is still on its way.
RESTARTS = 16
#: More phases than there will be: the 27th alone takes more rounds than can be counted.
PHASES = 32
#: The random number of a memo is below this.
SALTS = 2**16


class RecurRankItems:
    """Features follow their items, dropped items may go, and the next list's chances are known."""

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number per position, what is measured there, and a random one."""
        return n_positions + 1

    def memo_limit(self: RecurRank, n_items: int) -> int:
        """Return what both kinds of numbers are below."""
        d = self.features.n_features
        return max(SALTS, RESTARTS * PHASES * (d * (d + 1) // 2))

    def relabelled(
        self: RecurRank, origin: Ints, new: ArrayLike | Features | None = None
    ) -> RecurRank:
        """Return the spec for a catalogue whose item i is this spec's item ``origin[i]``."""
        features = self.features.relabelled(origin, None if new is None else Features(new))
        return replace(self, features=features)

    def dropped(self, state: Any) -> Ints:
        """Return the items that are in no interval any more."""
        return np.setdiff1d(np.arange(state.order.size), state.order)

    def lists(self, source: ListSource) -> Lists:
        """Return the lists of intervals, each with what it measures first."""
        shown, _ = source.probe()  # which leaves the decks without the cards of this list
        state, planned = source.state, source.cache.planned.copy()
        parts: list[tuple[Lists, int]] = []
        for first in np.flatnonzero(state.phase):
            with interpreted():
                items, end = interval(state.order, state.phase, first)
            if items.size == 1:
                parts.append((Few([items]), 1))
                continue
            planned[shown[first]] += 1
            measured = items[planned[items] > 0]
            chances = planned[measured] / planned[measured].sum()
            if state.phase[first] == 1:
                led = np.bincount(measured, chances, source.n_items).astype(np.float64)
                parts.append((Led(led, end - first), end - first))
                continue
            rows = [[item, *items[items != item][: end - first - 1]] for item in measured]
            parts.append((Few(rows, chances), end - first))
        return Joined(parts)
