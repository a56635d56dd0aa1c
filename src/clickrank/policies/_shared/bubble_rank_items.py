"""Optional abilities of BubbleRank: changing items, the distribution of lists, older files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._compile.jit import interpreted
from clickrank._core.arrays import Ints, numbers_of
from clickrank.errors import invalid
from clickrank.policies._shared.bubble_sort import begin_with, confidently_better
from clickrank.policies.capabilities import (
    ExactLists,
    HasMemo,
    KnowsItems,
    ReadsEarlierStates,
    refuse_new,
)
from clickrank.rankings.closed_form import Concatenation, ListSource
from clickrank.rankings.distributions import Mixture, RankingDistribution, UniformLists


class BubbleRankItems(HasMemo, ExactLists, KnowsItems, ReadsEarlierStates):
    """The abilities of BubbleRank besides ranking and learning."""

    def memo_limit(self, n_items: int) -> int:
        """Return an upper bound of the numbers in a memo."""
        return n_items + 1

    def relabelled(self: Any, origin: Ints, new: None = None) -> Any:
        """Return the spec for a catalogue whose item i is item ``origin[i]`` of this spec."""
        refuse_new(self, new)
        if self.initial is None:
            return self
        numbers = numbers_of(origin, max(*self.initial, *origin) + 1)[list(self.initial)]
        return dataclasses.replace(self, initial=numbers[numbers >= 0])

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos in which the item left out, if any, has its new number."""
        left_out = memos[:, -1]
        found = np.append(0, 1 + numbers)[left_out]
        found[(left_out > 0) & (found == 0)] = -1
        return np.column_stack([memos[:, :-1], found])

    def lists(self, source: ListSource) -> RankingDistribution:
        """Return the lists of pairs in random order, each by itself."""
        state, n_items, n_positions = source.state, source.n_items, source.n_positions
        if not source.params.given and state.rounds[0] == 0:
            return UniformLists(n_items, n_positions)
        offset = int(state.rounds[0] + source.cache.lists_since_feedback[0] + 1) % 2
        base = state.base.tolist()
        parts = [Mixture.unchecked([[base[0]]], n_items)] * offset
        for position in range(offset, n_positions - 1, 2):
            pair = base[position : position + 2]
            with interpreted():
                sure = confidently_better(state.wins, source.params.width, *pair)
            orders = [pair] if sure else [pair, pair[::-1]]
            parts.append(Mixture.unchecked(orders, n_items))
        if (n_positions - 1 - offset) % 2 == 0 and n_positions > offset:
            count = count_candidates(source.params, state)
            others = base[n_positions : n_positions + count]
            weights = [0.5] + [0.5 / count] * count if count else [1.0]
            last = [[x] for x in (base[n_positions - 1], *others)]
            parts.append(Mixture.unchecked(last, n_items, weights))
        return Concatenation(parts)

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics with the present name of a field."""
        return {"lists_since_feedback" if k == "waiting" else k: v for k, v in arrays.items()}


def distinct_items(owner: str, name: str, items: ArrayLike) -> tuple[int, ...]:
    """Check a list of items, as far as possible without the catalogue; return it as a tuple."""
    found = np.asarray(items)
    good = found.ndim == 1 and found.size > 0 and found.dtype.kind in "iu"
    if not good or found.min() < 0 or np.unique(found).size < found.size:
        raise invalid(owner, f"{name} must be a list of distinct integers of at least 0", items)
    return tuple(found.tolist())


def base_list(owner: str, initial: ArrayLike | None, n_items: int, n_positions: int) -> Ints:
    """Return the initial list, followed by all other items."""
    base = np.arange(n_items)
    if initial is not None:
        shown = np.asarray(initial, dtype=np.int64)[:n_positions]
        if shown.size < n_positions or shown.max() >= n_items:
            rule = f"initial must hold {n_positions} or more items between 0 and {n_items - 1}"
            raise invalid(owner, rule, initial)
        with interpreted():
            begin_with(shown, base)
    return base


def count_candidates(params: Any, state: Any) -> int:
    """Return how many items below the page may be better than the last one on it."""
    last, below = state.base[params.n_positions - 1], state.base[params.n_positions :]
    with interpreted():
        worse = confidently_better(state.wins, params.width, last, below)
    return int(below.size - worse.sum())
