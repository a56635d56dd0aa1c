"""Observation rules: which positions of a list were certainly examined, given its clicks.

Only these positions show whether their items are attractive. Without a click, a list was examined
to its end under every rule (kveton2022, sections 4 to 6).
"""

from __future__ import annotations

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Ints

#: The whole list, for document-based clicks.
EVERYTHING = 0
#: Down to the first click, for cascade clicks. In a dependent click model these positions are
#: certain whatever came later, so that estimates from them have no bias.
FIRST_CLICK = 1
#: Down to the last click: dependent clicks as counted by kveton2022 and katariya2016. An item
#: between two clicks counts only because a click followed, which makes it look too attractive.
LAST_CLICK = 2

#: The two rules for a dependent click model, by the values of the setting ``observe``.
DEPENDENT_RULES = {"last-click": LAST_CLICK, "first-click": FIRST_CLICK}

#: A warning for everybody who uses the default rule.
LAST_CLICK_CAUTION = (
    'With dependent clicks ("dcm"), items count as seen down to the last click by default, as in '
    "the papers. This makes items further down look more attractive than they are, and regret "
    'grows linearly in the long run. observe="first-click" has no bias and is recommended for long '
    "horizons: a few thousand rounds or more where clicks further down satisfy less."
)


@inline_kernel
def positions_seen(rule: int, clicks: Ints) -> int:
    """Return how many positions were examined, counted from the top (S_t)."""
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
