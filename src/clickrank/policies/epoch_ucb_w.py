"""Epoch-UCB-W: Epoch-UCB with the wider bounds that were known before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._select import prominence
from clickrank.errors import invalid
from clickrank.policies.base import Assumes, Policy, check_length, register, set_probabilities
from clickrank.policies.epoch_ucb import Params, count_clicks, nothing_known, rank_by_bounds
from clickrank.policies.epochs import EPOCHS
from clickrank.types import FloatScratch, FloatStatistic, IntScratch, IntStatistic, Vector


class State(NamedTuple):
    """The same as in Epoch-UCB."""

    epoch: IntStatistic  # (1,), l - 1; this and the next two: see `epochs`
    begun: IntStatistic  # (1,)
    current: IntStatistic  # (n_positions,)
    clicks: IntStatistic  # (n_items,), Σ n
    exposure: FloatStatistic  # (n_items,), Λ_j: biases of its positions in lists without a click
    mean: FloatStatistic  # (n_items,), ᾱ_j; infinite before the first such list
    share: FloatStatistic  # (n_items,), 1/Λ_j; 0 before it
    width: FloatStatistic  # (n_items,), √(min(1, 2ᾱ_j)/Λ_j); 0 before it
    bound: FloatScratch  # (n_items,), the index
    best: IntScratch  # (n_positions,), items by decreasing index, tied ones by number
    room: IntScratch  # (2, n_items); this and the next: see `contenders`
    kept: FloatScratch  # (n_positions,)


@dataclass(frozen=True)
class EpochUCBW(Policy):
    """Epoch-UCB-W is Epoch-UCB with larger constants, for comparison.

    ᾱ_j + √(48 min(1, 2ᾱ_j) log(√J·l/√2) / Λ_j) + 48 log(√J·l/√2) / Λ_j in epoch l; the rest is as
    in `EpochUCB`. Its logarithm is half of the one there, so its bounds are those with 24 for 4.

    **Assumes**: multinomial logit clicks, known position bias. No horizon.

    **Source**: grant2020, section 6, after the bounds of agrawal2019.

    **Differences**: 1. Those of `EpochUCB`. 2. The print leaves open whether the first root covers
    l too. The constants of agrawal2019 say no; with `whole_root` it does.

    **Complexity**: as `EpochUCB`.

    **Guarantee**: regret O(√(n_items · T log(n_items · T) · max λ / min λ)), by the proof for
    `EpochUCB` with larger constants; none with `whole_root`.

    Parameters
    ----------
    position_bias
        Prominence of each position (λ), above 0 and at most 1; it need not decrease.
    whole_root
        Whether the logarithm is log(√(J l)/√2).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ucb-w", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ucb-w"
    assumes = Assumes(click_models=("mnl",), known=("position_bias",))

    position_bias: Vector
    whole_root: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "position_bias")
        if not isinstance(self.whole_root, (bool, np.bool_)):
            raise invalid("EpochUCBW", "whole_root must be True or False", self.whole_root)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        bias = check_length(self, "position_bias", n_positions)
        # 48 log √x = 24 log x, for x = J l²/2 or J l/2.
        return Params(bias, prominence(bias), 24.0, n_items / 2.0, 0 if self.whole_root else 1)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(**nothing_known(n_items, n_positions))

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number: the epoch."""
        return 1

    def memo_limit(self, n_items: int) -> int:
        """Return what it is below."""
        return EPOCHS


register(EpochUCBW, State, rank_by_bounds, count_clicks, lean=True)
