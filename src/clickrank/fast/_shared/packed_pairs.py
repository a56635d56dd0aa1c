"""TopRank's pairs in a form in which a click changes one number, instead of one per item.

W_ij is how often i was clicked and j was not, while both were in one block of the partition played.
A click on i usually adds 1 to W_ij for all j of its block. So while i and j share a block, the
matrix holds W_ij - c_i (it may be negative), where c_i counts the clicks on i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from clickrank._core.arrays import IntStatistic
from clickrank.policies._shared.top_rank_items import with_clicks
from clickrank.policies.top_rank import State


class PackedState(NamedTuple):
    """The statistics of TopRank, with W in another form."""

    rounds: IntStatistic  # (1,), as of the plain state
    clicks: IntStatistic  # (n_items,), as of the plain state: c_i
    wins: IntStatistic  # (n_items, n_items), W_ij - c_i if i and j share a block, else W_ij
    beats: IntStatistic  # (n_items, n_items), as of the plain state


def pack_pairs(state: State) -> PackedState:
    """Return the form of a plain state that the fast kernels run on."""
    wins = with_clicks(state.won, state.clicks, state.beats, -1)
    return PackedState(state.rounds, state.clicks, wins, state.beats)


def unpack_pairs(state: Any) -> State:
    """Return the plain state of one that has the fields of a packed one."""
    won = with_clicks(state.wins, state.clicks, state.beats, 1)
    return State(state.rounds, state.clicks, won, state.beats)
