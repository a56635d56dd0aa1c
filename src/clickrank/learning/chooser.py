"""Chooser: draws lists from one state of a policy, without changing that state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.callbacks import NO_CALLBACK, Held, callback, data_at, numbers_at
from clickrank._compile.jit import inline_kernel, tell_apart
from clickrank._core.arrays import Ints
from clickrank.learning.caches import Words, copied
from clickrank.learning.rounds import RankLoop
from clickrank.policies.capabilities import memo_size
from clickrank.policies.contract import (
    ANY_ITEMS,
    Request,
    Scores,
    new_cache,
    plain_kernels,
)
from clickrank.policies.policy_spec import Policy


class Chooser:
    """Draws lists with a copy of a policy's cache; the statistics are shared, not copied.

    `ExactLists` may read ``state`` and ``cache``, which hold what `rank` wrote in the last draw.
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
        """Copy the cache, which `rank` may change."""
        self.policy, self.params, self.request = policy, params, request
        self.n_items, self.n_positions = n_items, n_positions
        self.state = state
        self.cache, self._words = copied(cache)
        self._first_cache, self._first_words = copied(cache)
        self._loop = RankLoop(policy, n_positions, memo_size(policy, n_items, n_positions))
        self._draws: Held | None = None  # made when first needed

    def draw(self, rng: np.random.Generator, n: int, params: Any = None) -> Ints:
        """Return ``n`` lists, one per row, each drawn from the state that was given."""
        self.reset()
        params = self.params if params is None else params
        restoring = NO_CALLBACK
        if self.policy.rank_remembers:
            if self._draws is None:
                remaining = np.zeros(1, dtype=np.int64)
                self._draws = Held(_Draws(remaining, self._words, self._first_words))
            self._draws.value.remaining[0] = n
            restoring = callback(_restore, _restore_at, self._draws, "")
        fixed = params, self.state, self.cache
        return self._loop.rank(fixed, rng, n, self.request, restoring)[0]

    def with_plain_kernels(self) -> Chooser:
        """Return a chooser from the same state that runs the kernels of the policy's own file."""
        kernels = plain_kernels(self.state)
        if kernels.score is not None and isinstance(self.cache, Scores):
            return self
        size = self.n_items, self.n_positions
        cache = new_cache(kernels, self.params, self.state, *size)
        return Chooser(self.policy, *size, self.params, self.state, cache, self.request)

    def probe(self, params: Any = None) -> tuple[Ints, bool]:
        """Draw one list, and return it with whether a random number was drawn for it."""
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        ranking = self.draw(rng, 1, params)[0]
        return ranking, bool(rng.bit_generator.state != before)

    def keep(self, *names: str) -> None:
        """Let later draws begin with what the last draw wrote to these fields of the cache.

        Fields that the kernels in use do not have are ignored.
        """
        for name in set(names) & set(self.cache._fields):
            getattr(self._first_cache, name)[...] = getattr(self.cache, name)

    def reset(self) -> None:
        """Restore the cache that every draw begins with."""
        self._words[:] = self._first_words


class _Draws(NamedTuple):
    """The cache that lists are drawn with, and its content before each draw."""

    remaining: Ints  # (1,): the number of lists still to be drawn
    words: Words  # the content of the cache
    first_words: Words  # its content before each draw


tell_apart(_Draws)


@inline_kernel
def _restore(draws: _Draws, ranking: Ints, clicks: Ints) -> None:
    """Restore the cache after each list except the last, whose cache may be read."""
    draws.remaining[0] -= 1
    if draws.remaining[0] > 0:
        for i in range(draws.words.shape[0]):
            draws.words[i] = draws.first_words[i]


def _restore_at(draws: Any, n: int, ranking: Any, clicks: Any) -> None:
    _restore(data_at(draws), numbers_at(ranking, n), numbers_at(clicks, n))
