"""A policy about to choose: lists drawn from one and the same state, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.callbacks import NO_CALLBACK, Held, callback, data_at, numbers_at
from clickrank._compile.jit import entry_point, inline_kernel, tell_apart
from clickrank._core.arrays import Ints
from clickrank.learning.caches import Words, copied
from clickrank.learning.rounds import compiled_play, to_rank
from clickrank.policies.base import Policy
from clickrank.policies.capabilities import memo_size
from clickrank.policies.contract import (
    ANY_ITEMS,
    Request,
    Scores,
    new_cache,
    plain_kernels,
)


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
        self._draws: Held | None = None  # made when first needed

    def draw(self, rng: np.random.Generator, n: int, params: Any = None) -> Ints:
        """Return ``n`` lists, one per row, each drawn from the state that was given."""
        self.reset()
        rankings = np.empty((n, self.n_positions), dtype=np.int64)
        memos = np.zeros((n, self._memo_size), dtype=np.int64)
        params = self.params if params is None else params
        restoring = NO_CALLBACK
        if self.policy.rank_remembers:
            if self._draws is None:
                left = np.zeros(1, dtype=np.int64)
                self._draws = Held(_Draws(left, self._words, self._kept))
            self._draws.value.left[0] = n
            restoring = callback(_restore, _restore_at, self._draws, "")
        held = Held(rng)
        rest = to_rank(self.request, held, rankings, memos, restoring)
        arguments = params, self.state, self.cache, *rest
        if self._enter is None:
            self._enter = entry_point(compiled_play(self.policy), *arguments)
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


class _Draws(NamedTuple):
    """What lists are drawn from, one and the same each time."""

    left: Ints  # (1,): how many are still to be drawn
    words: Words  # all of the cache
    kept: Words  # what it was


tell_apart(_Draws)


@inline_kernel
def _restore(draws: _Draws, ranking: Ints, clicks: Ints) -> None:
    """Restore the cache after each list, but for the last one, whose cache may be read."""
    draws.left[0] -= 1
    if draws.left[0] > 0:
        for i in range(draws.words.shape[0]):
            draws.words[i] = draws.kept[i]


def _restore_at(draws: Any, n: int, ranking: Any, clicks: Any) -> None:
    _restore(data_at(draws), numbers_at(ranking, n), numbers_at(clicks, n))
