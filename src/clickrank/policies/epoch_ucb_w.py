"""Epoch-UCB-W: Epoch-UCB with the wider bounds of earlier work."""

from __future__ import annotations

from dataclasses import dataclass

from clickrank._core.validate import check_bool
from clickrank.policies.epoch_ucb import EpochUCB, Params, State, rank, update
from clickrank.policies.registration import register


@dataclass(frozen=True)
class EpochUCBW(EpochUCB):
    """Epoch-UCB-W is Epoch-UCB with larger constants, for comparison.

    ᾱ_j + √(48 min(1, 2ᾱ_j) log(√J·l/√2) / Λ_j) + 48 log(√J·l/√2) / Λ_j in epoch l; the rest is as
    in `EpochUCB`. The logarithm is half of the one there, so that its bounds have 24 in place of 4.

    **Assumes**: multinomial logit clicks, known position bias. No horizon.

    **Source**: grant2020, section 6, after the bounds of agrawal2019.

    **Differences**: 1. Those of `EpochUCB`. 2. The paper leaves open whether the first root covers
    l too. According to the constants of agrawal2019 it does not; with `whole_root` it does.

    **Complexity**: as for `EpochUCB`.

    **Guarantee**: regret O(√(n_items · T log(n_items · T) · max λ / min λ)), by the proof for
    `EpochUCB` with larger constants; none with `whole_root`.

    Parameters
    ----------
    position_bias
        Bias of each position (λ), above 0 and at most 1; it need not decrease.
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
    whole_root: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_bool("EpochUCBW", "whole_root", self.whole_root)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        # 48 log √x = 24 log x, for x = J l²/2 or J l/2.
        wider = super().params(n_items, n_positions)
        return wider._replace(exploration=24.0, squared=0 if self.whole_root else 1)


register(EpochUCBW, State, rank, update)
