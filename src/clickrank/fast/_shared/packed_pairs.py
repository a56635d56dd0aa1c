"""TopRank's pairs in a form in which a click changes one number, instead of one per item.

W_ij is how often i was clicked and j was not, while both were in one block of the partition shown.
A click on i usually adds 1 to W_ij for all j of its block. While i and j share a block, the matrix
therefore holds W_ij - c_i (which may be negative), where c_i counts the clicks on i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from clickrank._core.arrays import IntStatistic
from clickrank.policies._shared.top_rank_items import with_clicks
from clickrank.policies.top_rank import State


class PackedState(NamedTuple):
    """The statistics of TopRank, with W in another form."""

    rounds: IntStatistic  # (1,), as in the plain state
    clicks: IntStatistic  # (n_items,), as in the plain state: c_i
    wins: IntStatistic  # (n_items, n_items), W_ij - c_i if i and j share a block, else W_ij
    beats: IntStatistic  # (n_items, n_items), as in the plain state


def pack_pairs(state: State) -> PackedState:
    """Return the packed form of a plain state."""
    wins = with_clicks(state.won, state.clicks, state.beats, -1)
    return PackedState(state.rounds, state.clicks, wins, state.beats)


def unpack_pairs(state: Any) -> State:
    """Return the plain form of a state that has the fields of a packed one."""
    won = with_clicks(state.wins, state.clicks, state.beats, 1)
    return State(state.rounds, state.clicks, won, state.beats)
