"""A policy about to choose: lists drawn from one and the same state, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clickrank._compile.jit import entry_point, kernel_for
from clickrank.learning.caches import Words, copied
from clickrank.policies.base import Policy
from clickrank.policies.capabilities import memo_size
from clickrank.policies.contract import (
    ANY_ITEMS,
    Request,
    Scores,
    code_of,
    new_cache,
    plain_kernels,
    rank,
)
from clickrank.types import Ints

#: For `draw_lists`, where nothing is to be restored.
NOTHING: Words = np.zeros(0, dtype=np.uint64)


class Chooser:
    """Draws lists with a copy of a policy's cache; its statistics are shared, not copied.

    `ExactLists` may read ``state`` and ``cache``; what `rank` writes there is of the last draw.
    """

    def __init__(
        self,
        policy: Policy,
        n_items: int,
        n_positions: int,
        params: Any,
        state: Any,
        cache: Any,
        request: Request = ANY_ITEMS,
    ) -> None:
        """Copy what `rank` may change."""
        self.policy, self.params, self.request = policy, params, request
        self.n_items, self.n_positions = n_items, n_positions
        self.state = state
        self.cache, self._words = copied(cache)
        self._kept_cache, self._kept = copied(cache)
        self._memo_size = memo_size(policy, n_items, n_positions)
        self._enter: Callable[..., None] | None = None

    def draw(self, rng: np.random.Generator, n: int, params: Any = None) -> Ints:
        """Return ``n`` lists, one per row, each drawn from the state that was given."""
        self.reset()
        rankings = np.empty((n, self.n_positions), dtype=np.int64)
        memos = np.zeros((n, self._memo_size), dtype=np.int64)
        params = self.params if params is None else params
        kept = self._kept if self.policy.rank_remembers else NOTHING
        arguments = (
            params, self.state, self.cache, self.request, rng, rankings, memos, self._words, kept,
        )  # fmt: skip
        if self._enter is None:
            self._enter = entry_point(kernel_for(draw_lists, code_of(self.policy)), *arguments)
        self._enter(*arguments)
        return rankings

    def with_plain_kernels(self) -> Chooser:
        """Return a chooser from the same state that runs the kernels of the policy's own file."""
        kernels = plain_kernels(self.state)
        if kernels.score is not None and isinstance(self.cache, Scores):
            return self
        size = self.n_items, self.n_positions
        cache = new_cache(kernels, self.params, self.state, *size)
        return Chooser(self.policy, *size, self.params, self.state, cache, self.request)

    def probe(self, params: Any = None) -> tuple[Ints, bool]:
        """Draw one list, and say whether luck had a part in it."""
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        ranking = self.draw(rng, 1, params)[0]
        return ranking, bool(rng.bit_generator.state != before)

    def keep(self, *names: str) -> None:
        """Let all draws begin with what the last one left in some fields, which must be caches.

        Fields that the kernels in use do not have are left out.
        """
        for name in set(names) & set(self.cache._fields):
            getattr(self._kept_cache, name)[...] = getattr(self.cache, name)

    def reset(self) -> None:
        """Make the cache what it was in the state that was given."""
        self._words[:] = self._kept


def draw_lists(
    params: Any,
    state: Any,
    cache: Any,
    request: Request,
    rng: np.random.Generator,
    rankings: Ints,
    memos: Ints,
    words: Words,
    kept: Words,
) -> None:
    """Write lists and their memos, one per row; before each but the first, restore the cache.

    All of the cache lies in ``words``. Nothing is restored if nothing is ``kept``: then each list
    goes on from the one before.
    """
    for i in range(rankings.shape[0]):
        if i > 0:
            for j in range(kept.shape[0]):
                words[j] = kept[j]
        rank(params, state, cache, request, rng, rankings[i], memos[i])
