"""The loop: rank, click, learn. One function for every policy and click model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank.clickmodels.base import sample, value
from clickrank.policies.contract import Request, rank, update
from clickrank.types import Floats, Ints


class Progress(NamedTuple):
    """How far a run is, and what it has in flight: all that `advance` keeps between calls."""

    counters: Ints  # (3,): rounds shown, impressions settled, checkpoints passed
    total: Floats  # (1,): cumulative expected regret
    rankings: Ints  # (slots, n_positions): impressions in flight, a ring, as the policy made them
    memos: Ints  # (slots, memo size)
    clicks: Ints  # (slots, n_positions), in the policy's order of positions
    page: Ints  # (2, n_positions): the current ranking and its clicks, in the page's order


def new_progress(n_positions: int, memo_size: int, delay: int, batch: int) -> Progress:
    """Return the progress of a run that has not begun."""
    slots = delay + batch
    return Progress(
        counters=np.zeros(3, dtype=np.int64),
        total=np.zeros(1),
        rankings=np.zeros((slots, n_positions), dtype=np.int64),
        memos=np.zeros((slots, memo_size), dtype=np.int64),
        clicks=np.zeros((slots, n_positions), dtype=np.int64),
        page=np.zeros((2, n_positions), dtype=np.int64),
    )


def advance(
    policy_params: Any,
    state: Any,
    cache: Any,
    request: Request,
    model_params: Any,
    best: float,
    policy_rng: np.random.Generator,
    user_rng: np.random.Generator,
    positions: Ints,
    progress: Progress,
    rounds: int,
    delay: int,
    batch: int,
    checkpoints: Ints,
    regret: Floats,
    counted: int,
) -> None:
    """Play some rounds; write the cumulative regret into ``regret`` at each checkpoint passed.

    Feedback on a round arrives ``delay`` rounds later, and is handed over when the number of rounds
    is a multiple of ``batch``; impressions settle in the order they were shown. The policy's
    position k is the page's position ``positions[k]``. Regret is that of the first ``counted``
    positions of the page.
    """
    shown, settled, passed = progress.counters
    total = progress.total[0]
    slots = progress.rankings.shape[0]
    page, page_clicks = progress.page[0], progress.page[1]
    # Counters instead of remainders: a division costs as much as ranking a few items.
    new = shown % slots
    old = settled % slots
    batched = shown % batch
    for t in range(shown + 1, shown + rounds + 1):
        ranking = progress.rankings[new]
        rank(policy_params, state, cache, request, policy_rng, ranking, progress.memos[new])
        for k in range(positions.shape[0]):
            page[positions[k]] = ranking[k]
        sample(model_params, page, user_rng, page_clicks)
        for k in range(positions.shape[0]):
            progress.clicks[new, k] = page_clicks[positions[k]]
        total += best - value(model_params, page[:counted])
        new = new + 1 if new + 1 < slots else 0
        batched += 1
        if batched == batch:
            batched = 0
            while settled < t - delay:
                update(
                    policy_params,
                    state,
                    cache,
                    progress.rankings[old],
                    progress.memos[old],
                    progress.clicks[old],
                )
                settled += 1
                old = old + 1 if old + 1 < slots else 0
        if t == checkpoints[passed]:
            regret[passed] = total
            passed += 1
    progress.counters[0] = shown + rounds
    progress.counters[1] = settled
    progress.counters[2] = passed
    progress.total[0] = total
