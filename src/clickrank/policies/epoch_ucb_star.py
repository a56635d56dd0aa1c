"""Epoch-UCB*: Epoch-UCB for unknown position biases with a narrower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clickrank._core.validate import check_bool
from clickrank.policies.epoch_ucb_unknown import EpochUCBUnknown, Params, State, rank, update
from clickrank.policies.registration import register


@dataclass(frozen=True)
class EpochUCBStar(EpochUCBUnknown):
    """Epoch-UCB* is Epoch-UCB for unknown position biases with bounds a seventeenth as wide.

    α_j + 0.5 √(β_j² log(√J · l)) in epoch l, with J items; α_j and β_j as in `EpochUCBUnknown`.

    **Assumes**: multinomial logit clicks. The first position's bias counts as 1; with ``most`` = 1,
    no other is more prominent. No horizon.

    **Source**: grant2020, section 6.

    **Differences**: 1. The root in log(√(J l)) may or may not cover l. It does not in the source's
    proof of Corollary 6, where the same letters equal log(J l²)/2, and therefore not here;
    ``whole_root`` makes it cover l. 2. The ``estimator`` is "composite" unless it is set to "em",
    as printed: it has less variance, and half the regret or less on the source's problems, see
    below. 3. The differences of `EpochUCBUnknown`.

    **Complexity**: as for `EpochUCBUnknown`.

    **Guarantee**: none proved. A good item with bad luck in its first epochs may not be shown again
    for a very long time, because its bound is narrow.

    **Observed**: mean regrets of 40 runs on the source's problems, ± half the length of their 95 %
    intervals, and in brackets the 95 % quantile of the runs, by ``clickrank reproduce grant-2020
    --scale paper`` (``figure-1`` is (a), ``figure-2`` (b), ``figure-3`` and ``ceiling`` are (c)).
    With "em" and without a ceiling, 3 of 40 runs of (c) have as much regret in the second half of
    the rounds as with a wrong item in the list.

    ======================  ===============  ===============  ===============
    estimator, ceiling      (a), T = 50000   (b), T = 50000   (c), T = 8000
    ======================  ===============  ===============  ===============
    composite, no           279 ± 21 (372)   54 ± 24 (98)     39 ± 3 (51)
    composite, yes          not measured     not measured     42 ± 4 (60)
    em, no                  536 ± 31 (677)   108 ± 13 (178)   110 ± 14 (182)
    em, yes                 not measured     not measured     117 ± 10 (159)
    ======================  ===============  ===============  ===============

    Parameters
    ----------
    estimator
        "composite", or "em" as printed.
    ceiling
        Whether attractions and indices are limited to 1.
    least
        ε: the smallest estimate of an attraction or a bias, above 0.
    most
        The largest estimate of a bias relative to that of the first position: at least 1.
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
    estimator: str = "composite"
    whole_root: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_bool("EpochUCBStar", "whole_root", self.whole_root)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        # log(√J · l) = log(J l²)/2, log(√(J l)) = log(J l)/2.
        narrower = super().params(n_items, n_positions)
        return narrower._replace(width=0.5 * math.sqrt(0.5), squared=0 if self.whole_root else 1)


register(EpochUCBStar, State, rank, update)
