"""Rounds: the one compiled loop in which a policy ranks and learns, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clickrank._compile.callbacks import NO_CALLBACK, Callback, Held, call, generator_at
from clickrank._compile.jit import entry_point, kernel_for
from clickrank._core.arrays import Ints
from clickrank.policies.contract import ANY_ITEMS, Request, code_of, rank, update
from clickrank.policies.policy_spec import Policy


def play(
    params: Any,
    state: Any,
    cache: Any,
    request: Request,
    rng: int,
    show: Callback,
    rankings: Ints,
    memos: Ints,
    clicks: Ints,
    shown: int,
    settled: int,
    rounds: int,
    delay: int,
    batch: int,
) -> None:
    """Play ``rounds`` rounds, after learning from the feedback that is due before them.

    Feedback on a round arrives ``delay`` rounds later, and the policy receives it when the number
    of rounds is a multiple of ``batch``. Impressions settle in the order they were shown.

    The loop has one call of `rank`, one call of `update` and nothing that depends on the type of a
    click model. A policy is therefore compiled once, for simulations with any click model, for
    learners that only rank (``delay`` is at least ``rounds``) and for learners that only learn
    (no rounds).

    Parameters
    ----------
    rng
        The address of the policy's generator, see `Held`. It is not read if there are no rounds.
    show
        Called with each ranking; it writes the clicks.
    rankings, memos, clicks
        A ring buffer of the impressions without feedback, one per row. It has at least
        ``delay + batch`` rows, or one per round if nothing settles. The positions are in the
        policy's order.
    shown, settled
        The number of rounds played before, and the number of these that the policy has learned
        from.
    """
    # Counters instead of remainders: a division costs as much as ranking a few items.
    slots = max(rankings.shape[0], 1)
    new = shown % slots
    old = settled % slots
    batched = shown % batch
    due = shown - batched - delay
    end = shown + rounds
    while True:
        while settled < due:
            update(params, state, cache, rankings[old], memos[old], clicks[old])
            settled += 1
            old = old + 1 if old + 1 < slots else 0
        if shown == end:
            break
        rank(params, state, cache, request, generator_at(rng), rankings[new], memos[new])
        if show.code != 0:
            call(show, rankings[new], clicks[new])
        new = new + 1 if new + 1 < slots else 0
        shown += 1
        batched += 1
        if batched == batch:
            batched = 0
            due = shown - delay


def settled_after(shown: int, delay: int, batch: int) -> int:
    """Return the number of rounds that a policy has learned from after ``shown`` rounds."""
    return max(shown - shown % batch - delay, 0)


def compiled_play(policy: Policy) -> Callable[..., None]:
    """Return `play` compiled for a policy."""
    return kernel_for(play, code_of(policy), lean=True)


class RankLoop:
    """Ranks in the compiled loop of a policy, which it enters without Numba's dispatcher.

    The types of params, state and cache must be the same in all calls.
    """

    def __init__(self, policy: Policy, n_positions: int, memo_size: int) -> None:
        """Compile nothing yet."""
        self._policy, self._n_positions, self._memo_size = policy, n_positions, memo_size
        self._enter: Callable[..., None] | None = None
        self._held: Held | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies find the machine code and the generator's address again."""
        return RankLoop, (self._policy, self._n_positions, self._memo_size)

    def rank(
        self,
        fixed: tuple[Any, Any, Any],
        rng: np.random.Generator,
        n: int,
        request: Request = ANY_ITEMS,
        show: Callback = NO_CALLBACK,
    ) -> tuple[Ints, Ints]:
        """Return ``n`` rankings and their memos, one per row.

        ``fixed`` holds params, state and cache. `Learner` and `Chooser` check the arguments.
        """
        rankings = np.empty((n, self._n_positions), dtype=np.int64)
        memos = np.zeros((n, self._memo_size), dtype=np.int64)
        held = self._held
        if held is None or held.value is not rng:
            # Another thread may replace the attribute; the local variable keeps this one alive.
            held = self._held = Held(rng)
        rest = request, held.address, show, rankings, memos, rankings, 0, 0, n, n, 1
        if self._enter is None:
            self._enter = entry_point(compiled_play(self._policy), *fixed, *rest)
        self._enter(*fixed, *rest)
        return rankings, memos


def learning_arguments(rankings: Ints, memos: Ints, clicks: Ints) -> tuple[Any, ...]:
    """Return the arguments of `play`, after params, state and cache, to learn from rankings."""
    n = rankings.shape[0]
    return ANY_ITEMS, 0, NO_CALLBACK, rankings, memos, clicks, n, 0, 0, 0, 1
