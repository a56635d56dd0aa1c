"""Optional abilities of BatchRank: retired items, the distribution of lists, and older files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints
from clickrank.policies.capabilities import DropsItems, ExactLists, HasMemo, ReadsEarlierStates
from clickrank.rankings.closed_form import (
    Concatenation,
    ListSource,
    ShuffledBlocks,
    ShuffledSample,
)
from clickrank.rankings.distributions import RankingDistribution

#: Number of stages of a batch. The last needs over 2**53 views of an item, so that none follows.
STAGES = 26


class BatchRankItems(HasMemo, DropsItems, ExactLists, ReadsEarlierStates):
    """The abilities of BatchRank besides ranking and learning."""

    def memo_limit(self, n_items: int) -> int:
        """Return an upper bound of the memo: there are fewer than 2 · n_items batches."""
        return 2 * STAGES * n_items + 1

    def dropped(self, state: Any) -> Ints:
        """Return the items that were eliminated."""
        return np.setdiff1d(np.arange(state.order.size), state.order)

    def lists(self, source: ListSource) -> RankingDistribution:
        """Return the lists of batches in random order, the lowest one by its deck."""
        state, cache, n_positions = source.state, source.cache, source.n_positions
        parts: list[RankingDistribution] = []
        first = 0
        while first < n_positions:
            number = state.number[first]
            size = int((state.number == number).sum())
            end = first + size
            items = state.order[first:end].copy()
            if end == n_positions and (state.order >= 0).sum() > end:
                items = state.order[first:][state.order[first:] >= 0]
                deck, to_deal = cache.deck[: items.size].copy(), int(cache.to_deal[0])
                if cache.dealing[0] != number:  # a new deck: items shown less often come first
                    behind = state.views[items] == state.views[items].min()
                    deck, to_deal = np.append(items[behind], items[~behind]), int(behind.sum())
                items = deck[:to_deal]
                if to_deal < size:
                    parts.append(ShuffledSample(items, deck[to_deal:], size, source.n_items))
                    break
            parts.append(ShuffledBlocks([items], [0] * size, source.n_items))
            first = end
        return Concatenation(parts)

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics with today's names, and with -1 for eliminated items."""
        if "alive" not in arrays:
            return dict(arrays)
        order = arrays["order"].copy()
        order[arrays["alive"][0] :] = -1
        renamed = {"to_deal" if name == "left" else name: a for name, a in arrays.items()}
        return {**renamed, "order": order}
