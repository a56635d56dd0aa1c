"""The loop: rank, show, learn. One function for every policy, wherever it is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clickrank._compile.callbacks import NO_CALLBACK, Callback, Held, call, generator_at
from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Ints
from clickrank.policies.base import Policy
from clickrank.policies.contract import ANY_ITEMS, Request, code_of, rank, update


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
    """Play some rounds, after learning from whatever feedback is due before them.

    Feedback on a round arrives ``delay`` rounds later, and is handed over when the number of rounds
    is a multiple of ``batch``; impressions settle in the order they were shown.

    There is one call of `rank` here and one of `update`, and nothing that depends on the types of
    users, so that a policy is compiled once: for simulations on any click model, for learners that
    only rank (with a ``delay`` of more rounds than are played), or only learn (no rounds).

    Parameters
    ----------
    rng
        The address of the policy's generator, see `Held`; not read if there are no rounds.
    show
        Is called with each ranking, and writes its clicks.
    rankings, memos, clicks
        Impressions in flight, one per row, a ring: at least ``delay + batch`` rows, or one for each
        round where nothing settles. The positions are in the policy's order.
    shown, settled
        How many rounds were played before, and of how many the policy has learned.
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
    """Return of how many rounds a policy has learned when that many were played."""
    return max(shown - shown % batch - delay, 0)


def compiled_play(policy: Policy) -> Callable[..., None]:
    """Return `play` as it is compiled for a policy."""
    return kernel_for(play, code_of(policy), lean=True)


def to_rank(
    request: Request, rng: Held, rankings: Ints, memos: Ints, show: Callback = NO_CALLBACK
) -> tuple[Any, ...]:
    """Return what `play` is given besides params, state and cache to write lists, one per row."""
    n = rankings.shape[0]
    return request, rng.address, show, rankings, memos, rankings, 0, 0, n, n, 1


def to_learn(rankings: Ints, memos: Ints, clicks: Ints) -> tuple[Any, ...]:
    """Return what `play` is given besides params, state and cache to learn from lists."""
    n = rankings.shape[0]
    return ANY_ITEMS, 0, NO_CALLBACK, rankings, memos, clicks, n, 0, 0, 0, 1
