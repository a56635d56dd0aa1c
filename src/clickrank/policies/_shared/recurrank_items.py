"""Optional abilities of RecurRank: features, dropped items, the next list, and older files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import interpreted
from clickrank._core.arrays import Ints
from clickrank.policies._shared.position_intervals import interval
from clickrank.policies.capabilities import (
    DropsItems,
    ExactLists,
    HasFeatures,
    HasMemo,
    ReadsEarlierStates,
)
from clickrank.rankings.closed_form import Concatenation, ListSource, RandomFirstItem
from clickrank.rankings.distributions import Mixture, RankingDistribution

#: After this many changes of the catalogue, no earlier list is still in flight.
RESTARTS = 16
#: More phases than there will be: the 27th alone takes more rounds than an integer can count.
PHASES = 32
#: Upper bound of the random number in a memo.
SALTS = 2**16


class RecurRankItems(HasMemo, DropsItems, ExactLists, HasFeatures, ReadsEarlierStates):
    """Features follow their items, dropped items may go, and the next list is predictable."""

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one number per position, for what is measured there, and one random number."""
        return n_positions + 1

    def memo_limit(self: Any, n_items: int) -> int:
        """Return an upper bound of both kinds of numbers."""
        d: int = self.features.n_features
        return max(SALTS, RESTARTS * PHASES * (d * (d + 1) // 2))

    def dropped(self, state: Any) -> Ints:
        """Return the items that are in no interval."""
        return np.setdiff1d(np.arange(state.order.size), state.order)

    def lists(self, source: ListSource) -> RankingDistribution:
        """Return the lists of intervals, each with what it measures first."""
        shown, _ = source.probe()  # which leaves the decks without the cards of this list
        state, planned = source.state, source.cache.planned.copy()
        parts: list[RankingDistribution] = []
        for first in np.flatnonzero(state.phase).tolist():
            with interpreted():
                items, end = interval(state.order, state.phase, first)
            if items.size == 1:
                parts.append(Mixture.unchecked([items], source.n_items))
                continue
            planned[shown[first]] += 1
            measured = items[planned[items] > 0]
            chances = planned[measured] / planned[measured].sum()
            if state.phase[first] == 1:
                led = np.bincount(measured, chances, source.n_items).astype(np.float64)
                parts.append(RandomFirstItem(led, end - first))
                continue
            rows = [[item, *items[items != item][: end - first - 1]] for item in measured]
            parts.append(Mixture.unchecked(rows, source.n_items, chances))
        return Concatenation(parts)

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics in today's form, with one entry per item.

        Earlier versions had one entry per interval and per item of its design, which they stored
        too; views of earlier phases counted among those of the present phase where they matter.
        """
        arrays = dict(arrays)
        if "chosen" not in arrays:
            return arrays
        order, past = arrays["order"].copy(), arrays["past"]
        order[arrays["alive"][0] :] = -1
        found = {name: np.zeros_like(order) for name in ("views", "clicks", "planned")}
        for first, size in enumerate(arrays["support"]):
            measured = arrays["chosen"][first, :size]
            for name in found.keys() & arrays.keys():
                found[name][measured] = arrays[name][first, :size]
            if past.size:
                found["views"][measured] -= past[0, measured]
                found["clicks"][measured] -= past[1, measured]
        if "planned" not in arrays:
            del found["planned"]
        else:
            found["instance"] = arrays["planning"]
        return {**arrays, **found, "order": order, "restarts": arrays["epoch"]}
