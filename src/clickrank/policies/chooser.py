"""A policy about to choose: lists drawn from one and the same state, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._jit import entry_point, kernel_for
from clickrank.policies.base import Policy, code_of, rank
from clickrank.types import Ints, statistic_fields

Words = NDArray[np.uint64]

#: For `draw_lists`, where nothing is to be restored.
NOTHING: Words = np.zeros(0, dtype=np.uint64)


class Chooser:
    """Draws lists with a copy of a state's scratch; its statistics are shared, not copied.

    `Policy.lists` may read ``state``: what `rank` writes there is that of the last draw.
    """

    def __init__(
        self, policy: Policy, n_items: int, n_positions: int, params: Any, state: Any
    ) -> None:
        """Copy the scratch."""
        self.policy, self.params = policy, params
        self.n_items, self.n_positions = n_items, n_positions
        self.state, self._scratch = with_own_scratch(state)
        self._kept_state, self._kept = with_own_scratch(state)
        self._memo_size = policy.memo_size(n_items, n_positions)
        self._enter: Callable[..., None] | None = None

    def draw(self, rng: np.random.Generator, n: int, params: Any = None) -> Ints:
        """Return ``n`` lists, one a row, each drawn from the state that was given."""
        self.reset()
        rankings = np.empty((n, self.n_positions), dtype=np.int64)
        memos = np.zeros((n, self._memo_size), dtype=np.int64)
        params = self.params if params is None else params
        kept = self._kept if self.policy.rank_remembers else NOTHING
        arguments = (params, self.state, rng, rankings, memos, self._scratch, kept)
        if self._enter is None:
            self._enter = entry_point(kernel_for(draw_lists, code_of(self.policy)), *arguments)
        self._enter(*arguments)
        return rankings

    def probe(self, params: Any = None) -> tuple[Ints, bool]:
        """Draw one list, and say whether luck had a part in it."""
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        ranking = self.draw(rng, 1, params)[0]
        return ranking, bool(rng.bit_generator.state != before)

    def keep(self, *names: str) -> None:
        """Let all draws begin with what the last one left in some fields, which must be caches."""
        for name in names:
            getattr(self._kept_state, name)[...] = getattr(self.state, name)

    def reset(self) -> None:
        """Make the scratch what it was in the state that was given."""
        self._scratch[:] = self._kept


def with_own_scratch(state: Any) -> tuple[Any, Words]:
    """Return the state with a copy of its scratch, and the buffer that all of it lies in.

    One buffer, as compiled code then needs no loop over fields of different types to restore it.
    """
    statistics = set(statistic_fields(type(state)))
    fields = {k: v for k, v in state._asdict().items() if k not in statistics}
    sizes = [-(-array.nbytes // 8) for array in fields.values()]
    words: Words = np.zeros(sum(sizes), dtype=np.uint64)
    made, begin = {}, 0
    for (name, array), size in zip(fields.items(), sizes, strict=True):
        room = words[begin : begin + size].view(np.uint8)[: array.nbytes]
        made[name] = room.view(array.dtype).reshape(array.shape)
        made[name][...] = array
        begin += size
    return state._replace(**made), words


def draw_lists(
    params: Any,
    state: Any,
    rng: np.random.Generator,
    rankings: Ints,
    memos: Ints,
    scratch: Words,
    kept: Words,
) -> None:
    """Write lists and their memos, one a row; before each but the first, ``scratch`` is restored.

    Nothing is restored if nothing is ``kept``: then each list goes on from the one before.
    """
    for i in range(rankings.shape[0]):
        if i > 0:
            for j in range(kept.shape[0]):
                scratch[j] = kept[j]
        rank(params, state, rng, rankings[i], memos[i])
