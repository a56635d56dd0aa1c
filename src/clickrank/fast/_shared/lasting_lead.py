"""Proof that a list has the largest sum of KL indices in the rounds to come, too.

In most rounds the list of the last round is still the best, and only the counts of its own cells
have changed, where a cell is an item at a position. When a list leads, `prove` therefore stores by
how much its indices may fall before another list can come level, with the indices of all other
cells bounded for some rounds ahead. `lasts` then takes no logarithm.

Let a cell have S clicks and F misses, N = S + F, the mean m and the index U, the root of
Φ(p) = S log(m/p) + F log((1 - m)/(1 - p)) = δ. After a more clicks and b more misses, Taylor's
theorem in (S, F) bounds Φ at any p above m: the remainder has (aF - bS)²/(SFN), which is largest at
the old counts. Since log x ≤ x - 1, Φ(p) grows by at most

    e = a (m - p)/p + b (p - m)/(1 - p) + (aF - bS)²/(2SFN).

Φ is convex in p. Between any q > m and U its slope is at least that at q, so that U falls by at
most e divided by this slope, if that does not lead below q. The growth of δ only raises U.

Let c_k be the least lead over a list that differs at position k, and f_k the fall of the index
there. Over a list that differs at the positions D the lead is at least c = max_{k in D} c_k, and
falls by at most Σ_{k in D} f_k ≤ c Σ_{k in D} f_k/c_k. The list therefore leads while the sum of
f_k/c_k over all positions is below one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.kl_index_cache import KLIndices
from clickrank.numerics.kl_bounds import SLACK

#: The indices of other cells are bounded for this many rounds ahead. In as many rounds, the indices
#: of the list itself usually change by more than these bounds do.
AHEAD = 256


class LastingLead(NamedTuple):
    """By how much the indices of a list may fall, and what they have lost per click and miss."""

    rounds: Ints  # (2,), the first and the last number of rounds for which the proof holds
    margin: Floats  # (n_positions,), c_k above; this and the next ones by position
    clicks: Ints  # (n_positions,), S when the lead was proved
    misses: Ints  # (n_positions,), F
    by_click: Floats  # (n_positions,), (m - q)/q, a bound for p between q and U
    by_miss: Floats  # (n_positions,), (U - m)/(1 - U)
    bend: Floats  # (n_positions,), 1/(2SFN)
    share: Floats  # (n_positions,), 1/c_k, divided by Φ' at q
    most: Floats  # (n_positions,), e that leads to q


def no_lead(n_positions: int) -> LastingLead:
    """Return arrays without a proof."""
    return LastingLead(
        np.array([0, -1]),
        np.zeros(n_positions),
        np.zeros(n_positions, dtype=np.int64),
        np.zeros(n_positions, dtype=np.int64),
        *np.zeros((5, n_positions)),
    )


@inline_kernel
def end(lead: LastingLead) -> None:
    """Withdraw the proof: another cell was shown, or another list is considered."""
    lead.rounds[1] = -1


@inline_kernel
def survives_misses(margin: float, indices: KLIndices, state: Any, best: Ints) -> bool:
    """Return whether a proof may be worth its time: if some index that falls by U/N leaves a lead.

    This is about how far an index falls with one miss.
    """
    for position in range(best.shape[0]):
        arm = best[position], position
        if margin * (state.clicks[arm] + state.misses[arm]) > indices.value[arm]:
            return True
    return False


@lean_kernel
def prove(
    lead: LastingLead, clicks: Ints, misses: Ints, indices: KLIndices, best: Ints, rounds: int
) -> None:
    """Prove that a list leads for `AHEAD` rounds if its indices fall by little.

    ``lead.margin`` must have c_k for the whole time, and the indices of the list must be known
    exactly. There is no proof for cells without a click or without a miss.
    """
    end(lead)
    for position in range(best.shape[0]):
        arm = best[position], position
        upper = indices.value[arm]
        s, f = float(clicks[arm]), float(misses[arm])
        margin = lead.margin[position] - SLACK
        if s == 0.0 or f == 0.0 or upper >= 1.0:
            return
        mean = s / (s + f)
        low = max(upper - margin, 0.5 * (upper + mean))
        if low <= mean:
            return
        slope = f / (1.0 - low) - s / low
        lead.clicks[position] = clicks[arm]
        lead.misses[position] = misses[arm]
        lead.by_click[position] = (mean - low) / low
        lead.by_miss[position] = (upper - mean) / (1.0 - upper)
        lead.bend[position] = 0.5 / (s * f * (s + f))
        lead.share[position] = 1.0 / (margin * slope)
        lead.most[position] = (upper - low) * slope
    lead.rounds[0] = rounds
    lead.rounds[1] = rounds + AHEAD


@inline_kernel
def lasts(lead: LastingLead, clicks: Ints, misses: Ints, best: Ints, rounds: int) -> bool:
    """Return whether the list of the proof still has the largest sum, and no other one is tied."""
    if rounds > lead.rounds[1] or rounds < lead.rounds[0]:
        return False
    fallen = 0.0
    for position in range(best.shape[0]):
        s, f = lead.clicks[position], lead.misses[position]
        a = float(clicks[best[position], position] - s)
        b = float(misses[best[position], position] - f)
        turn = a * f - b * s
        growth = a * lead.by_click[position] + b * lead.by_miss[position]
        growth += lead.bend[position] * turn * turn
        if growth > lead.most[position]:
            return False
        fallen += max(growth, 0.0) * lead.share[position]
    return fallen < 1.0
