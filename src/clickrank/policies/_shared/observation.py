"""Which positions of a list were surely looked at, told from the clicks.

Items there showed whether they are attractive; the others showed nothing. A list without a click
was looked at to its end, in every rule (kveton2022, sections 4 to 6).
"""

from __future__ import annotations

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Ints

#: The whole list: document-based clicks.
EVERYTHING = 0
#: Down to the first click: cascade clicks. In a dependent click model, what is certain whatever
#: came later, so that estimates from it have no bias.
FIRST_CLICK = 1
#: Down to the last click: dependent clicks as kveton2022 and katariya2016 count them. An item
#: between two clicks counts only because a click followed, so it looks more attractive than it is.
LAST_CLICK = 2

#: The two rules for a dependent click model, by the names that specs take.
DEPENDENT_RULES = {"last-click": LAST_CLICK, "first-click": FIRST_CLICK}

#: What everybody who uses the default rule must know.
LAST_CLICK_CAUTION = (
    'With dependent clicks ("dcm"), items count as seen down to the last click by default, as in '
    "the papers. This makes items further down look more attractive than they are, and regret "
    'grows linearly in the long run. observe="first-click" has no bias and is recommended for long '
    "horizons: a few thousand rounds or more where clicks further down satisfy less."
)


@inline_kernel
def positions_seen(rule: int, clicks: Ints) -> int:
    """Return how many positions from the top were looked at (S_t)."""
    n_positions = int(clicks.shape[0])
    if rule == EVERYTHING:
        return n_positions
    seen = n_positions
    for position in range(n_positions):
        if clicks[position] == 1:
            seen = position + 1
            if rule == FIRST_CLICK:
                break
    return seen
