"""Epochs of the policies for MNL clicks: a list is shown until it comes back without a click.

Under multinomial logit clicks, an item of attraction α at a position of bias λ gets on average λα
clicks per list without a click, whatever else is shown, because in each round

    P(click on it) = λα · P(no click).

The clicks on an item, divided by the sum of the biases of its positions over the lists without a
click, therefore estimate α. If one list is shown until the first round without a click, its clicks
until then are geometric with mean λα (grant2020, Lemma 1). The paper's bounds are for their sum
over epochs.

An epoch ends when a list comes back without a click, and nothing is decided before. With immediate
feedback this is the scheme of the paper. With late feedback, lists of several epochs are in flight:

- The memo holds the number of the epoch. Only a click on a list of the present epoch makes that
  list the list of the epoch, which is shown until the end. Until then every list is chosen from the
  statistics of that moment, with its own random ties or draws.
- A list that comes back after the end of its epoch counts like any other: a click counts for its
  item, and no click counts for all items shown. By the equation above the estimates stay unbiased:
  added up in the order shown, Σ clicks - α Σ λ is a martingale, whatever the lists are. Leaving
  these lists out would waste everything in flight; counting only whole epochs of them would favour
  short epochs, which have few clicks.
- The time at which a list comes back must not depend on its clicks, though. If clicks arrive before
  the lists without a click do, each list without a click that is in flight is missing, and
  Σ clicks - α Σ λ is too large by λα for each: by 2, on average, after four lists of one item with
  λ = α = 1 of which only clicks have come back. If lists are settled in the order shown, as in
  `Ranker` and in the service, at most one is missing, the first in flight. The excess is then at
  most λα, and 15/16 in this example, however many lists follow.
- Any list without a click ends the epoch, because it changes the estimates.

A state has three statistics for this, see `no_epochs`: ``epoch``, ``begun`` and ``current``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Ints
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo
from clickrank.policies.policy_spec import Policy

#: The memo holds the number of the epoch modulo this, which is more than end during any flight.
EPOCHS = 2**19


def no_epochs(n_positions: int) -> dict[str, Any]:
    """Return the three statistics before the first epoch.

    ``epoch`` (1,) counts the epochs that have ended, l - 1, which is the number of lists that came
    back without a click. ``begun`` (1,) is 1 if a list of the present epoch has come back with a
    click. ``current`` (n_positions,) is that list.
    """
    return {
        "epoch": np.zeros(1, dtype=np.int64),
        "begun": np.zeros(1, dtype=np.int64),
        "current": np.zeros(n_positions, dtype=np.int64),
    }


@dataclass(frozen=True)
class EpochPolicy(Policy, HasMemo, ItemsComeAndGo):
    """A policy that shows a list until it comes back without a click."""

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return 1: the memo holds the number of the epoch."""
        return 1

    def memo_limit(self, n_items: int) -> int:
        """Return the upper bound of that number."""
        return EPOCHS

    def mend(self, state: Any, numbers: Ints) -> None:
        """Continue the epoch if all items of its list are there; else begin another one."""
        current = numbers[state.current]
        if (current < 0).any():
            state.begun[0] = 0
            current = np.zeros_like(current)
        state.current[:] = current


@inline_kernel
def goes_on(epoch: Ints, begun: Ints, current: Ints, ranking: Ints, memo: Ints) -> bool:
    """Write the memo and, if the epoch has begun, its list; return whether it has."""
    memo[0] = epoch[0] % EPOCHS
    if begun[0] == 0:
        return False
    for position in range(ranking.shape[0]):
        ranking[position] = current[position]
    return True


@inline_kernel
def ends_epoch(
    epoch: Ints, begun: Ints, current: Ints, ranking: Ints, memo: Ints, clicks: Ints
) -> bool:
    """Settle a list; return whether it had no click, which ends an epoch."""
    clicked = 0
    for position in range(ranking.shape[0]):
        clicked |= clicks[position]
    if clicked == 0:
        epoch[0] += 1
        begun[0] = 0
        return True
    if begun[0] == 0 and memo[0] == epoch[0] % EPOCHS:
        begun[0] = 1
        for position in range(ranking.shape[0]):
            current[position] = ranking[position]
    return False
