"""Epoch-UCB* for unknown position biases: the same estimates, a narrower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from clickrank.policies.base import Assumes, KnownModel, Policy, register
from clickrank.policies.epoch_ucb_unknown import (
    Params,
    bounds_of,
    check_guard,
    check_switch,
    count_epochs,
    nothing_counted,
    rank_by_sensitivity,
    too_prominent,
)
from clickrank.policies.epochs import EPOCHS
from clickrank.types import FloatScratch, IntScratch, IntStatistic


class State(NamedTuple):
    """As the state of `EpochUCBUnknown`."""

    epoch: IntStatistic  # (1,)
    begun: IntStatistic  # (1,)
    current: IntStatistic  # (n_positions,)
    clicks: IntStatistic  # (n_items, n_positions)
    epochs: IntStatistic  # (n_items, n_positions)
    stale: IntScratch  # (1,)
    counts: FloatScratch  # (n_items, n_positions)
    item_epochs: FloatScratch  # (n_items,)
    position_epochs: FloatScratch  # (n_positions,)
    log_bias: FloatScratch  # (n_positions,)
    attraction: FloatScratch  # (n_items,)
    other_bias: FloatScratch  # (n_positions,)
    other_attraction: FloatScratch  # (n_items,)
    enough: FloatScratch  # (n_items,)
    squares: FloatScratch  # (n_items,)
    bound: FloatScratch  # (n_items,)
    best: IntScratch  # (n_positions,)
    order: IntScratch  # (n_positions,)
    room: FloatScratch  # see `minimise_scaling`


@dataclass(frozen=True)
class EpochUCBStar(Policy):
    """Epoch-UCB* is Epoch-UCB for unknown position biases with a bound a seventeenth as wide.

    α_j + 0.5 √(β_j² log(√J · l)) in epoch l, with J items; α_j and β_j as in `EpochUCBUnknown`.

    **Assumes**: multinomial logit clicks. The first position's bias counts as 1; with ``most`` = 1,
    no other is more prominent. No horizon.

    **Source**: grant2020, section 6.

    **Differences**: 1. The root in log(√(J l)) may cover l or not. It does not in the source's
    proof of Corollary 6, where the same letters equal log(J l²)/2, and so not here either;
    ``whole_root`` makes it. 2. As for `EpochUCBUnknown`.

    **Complexity**: as `EpochUCBUnknown`.

    **Guarantee**: none proved. A good item whose first epochs went badly may not come back for a
    very long time, as its bound is narrow. Without the ``ceiling`` some runs do keep to a list
    with a bad item: see `EpochUCBUnknown`.

    Parameters
    ----------
    least
        ε: the smallest estimate of an attraction or a bias, above 0.
    most
        The largest estimate of a bias, beside that of the first position: at least 1.
    ceiling
        Whether attractions and indices are kept at or below 1: see there for what it does.
    whole_root
        Whether the root covers l too: log(√(J l)).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ucb-star", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ucb-star"
    assumes = Assumes(click_models=("mnl",))

    least: float = 0.01
    most: float = 1.0
    ceiling: bool = True
    whole_root: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_guard(self, self.least, self.most, self.ceiling)
        check_switch("EpochUCBStar", "whole_root", self.whole_root)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        # log(√J · l) = log(J l²)/2, log(√(J l)) = log(J l)/2.
        squared = 0 if self.whole_root else 1
        bounds = bounds_of(self.least, self.most, self.ceiling)
        return Params(0.5 * math.sqrt(0.5), squared, *bounds)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(**nothing_counted(n_items, n_positions))

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number: the epoch."""
        return 1

    def memo_limit(self, n_items: int) -> int:
        """Return what it is below."""
        return EPOCHS

    def why_not(self, model: KnownModel) -> str | None:
        """Say why the assumptions do not hold for a click model; None if they do."""
        return super().why_not(model) or too_prominent(model, self.most)


register(EpochUCBStar, State, rank_by_sensitivity, count_epochs, lean=True)
