"""Epochs: a list is shown again and again until it comes back without a click.

Under multinomial logit clicks an item of attraction α at a position of bias λ is clicked λα times
for every list without a click, on average, whatever else is shown: in each round

    P(click on it) = λα · P(no click).

So clicks on an item, divided by the biases of its positions summed over the lists without a click,
estimate α. If one list is shown until the first round without a click, its clicks until then are
geometric with mean λα (grant2020, Lemma 1); their sum over epochs is what its bounds are for.

An epoch ends when a list comes back without a click, and nothing is decided before. With feedback
at once this is the paper's scheme. With late feedback lists of several epochs are on their way:

- the number of the epoch travels in the memo, and only a click on a list of the present epoch makes
  that list the epoch's own, to be shown until the end; until then every list is chosen from all
  that is known by then, with ties (or draws) of its own;
- a list that comes back after its epoch has ended counts like any other: a click for its item, no
  click for all items shown. By the equation above this leaves estimates as unbiased as they were:
  added up in the order shown, Σ clicks - α Σ λ is a martingale, whatever the lists are. Leaving
  them out would waste all lists on their way; counting only whole epochs of them would keep short
  ones, with few clicks, more often than long ones;
- when a list comes back must not depend on its clicks, though. Where clicks come before no-clicks,
  each list without a click that is still on its way is missing, and Σ clicks - α Σ λ is too large
  by λα for each: by 2, on average, after four lists of one item with λ = α = 1 of which only clicks
  have come back. If lists are settled in the order shown, as `Ranker` and the service do, at most
  one is missing, the first that is on its way: at most λα, and 15/16 in that case, however many
  lists follow;
- whichever list has no click, the epoch ends: there is news to decide by.

A state has three statistics for this, see `no_epochs`: ``epoch``, ``begun`` and ``current``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Ints
from clickrank.policies.base import Policy
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo

#: The memo has the epoch's number modulo this: more than end while a list is on its way.
EPOCHS = 2**19


def no_epochs(n_positions: int) -> dict[str, Any]:
    """Return the three statistics before the first epoch.

    ``epoch`` (1,) counts the epochs that have ended, l - 1: lists that came back without a click.
    ``begun`` (1,) is 1 if a list of the present epoch has come back, with a click. ``current``
    (n_positions,) is that list.
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
        """Return one whole number: the epoch."""
        return 1

    def memo_limit(self, n_items: int) -> int:
        """Return the number that it is below."""
        return EPOCHS

    def mend(self, state: Any, numbers: Ints) -> None:
        """Go on with the epoch if all items of its list are there; else begin another."""
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
    """Settle a list; return whether it had no click, and so ended an epoch."""
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
