"""What a log cannot show, whichever click model is fitted to it."""

from __future__ import annotations

import numpy as np

from clickrank.fit.fitted_model import models_of_positions
from clickrank.logs import Counts
from clickrank.logs.counts import NOTHING

#: With fewer clicks than this, a position's effect is estimated poorly.
FEW_CLICKS = 50


def limits_of(counts: Counts) -> list[str]:
    """Return sentences on what cannot be learned from the log because of how it was collected.

    >>> from clickrank.logs import Counts
    >>> for sentence in limits_of(Counts.of_lists([[0, 1]] * 200, [[1, 0]] * 200)):
    ...     print(sentence)
    Every item was always shown at the same position: this log cannot show whether people click
    on an item for itself or for its position. Show some lists in another order.
    There are no clicks, or fewer than 50, at positions 2: estimates for them are uncertain.
    No list has two clicks: models that allow one click at most and models that allow more are
    hard to tell apart.
    """
    found = [_order(counts)]
    cells = counts.cells
    if counts.sessions is None:
        found.append(
            "The log does not say which items were shown together: only models in which a click "
            f"does not depend on the items above ({models_of_positions('and')}) can be fitted, and "
            "clicks at different positions are assumed to be independent."
        )
    clicks = np.bincount(cells.position, cells.clicked, counts.n_positions)
    few = [str(k + 1) for k in np.flatnonzero(clicks < FEW_CLICKS)]
    if clicks.sum() < FEW_CLICKS:
        found.append(f"The log has {int(clicks.sum()):,} clicks, too few for reliable estimates.")
    elif few:
        found.append(
            f"There are no clicks, or fewer than {FEW_CLICKS}, at positions {', '.join(few)}: "
            "estimates for them are uncertain."
        )
    if counts.sessions is not None and int(clicks.sum()) >= FEW_CLICKS:
        several = int(counts.sessions.times[counts.sessions.clicks.sum(axis=1) > 1].sum())
        if not several:
            found.append(
                "No list has two clicks: models that allow one click at most and models that allow "
                "more are hard to tell apart."
            )
        lengths = (counts.sessions.items != NOTHING).sum(axis=1)
        if lengths.size and lengths.max() == 1:
            found.append("Every list has one item: nothing can be learned about lists.")
    return [sentence for sentence in found if sentence]


def always_one_order(counts: Counts) -> bool:
    """Whether there are several positions and every item was always shown at the same one."""
    places = np.bincount(counts.cells.pair[counts.cells.shown > 0], minlength=counts.n_pairs)
    return counts.n_positions > 1 and places.size > 0 and int(places.max(initial=0)) <= 1


def _order(counts: Counts) -> str:
    """Return a sentence if items were hardly ever shown at more than one position."""
    cells = counts.cells
    shown = cells.shown > 0
    places = np.bincount(cells.pair[shown], minlength=counts.n_pairs)
    if not places.size or counts.n_positions == 1:
        return ""
    if always_one_order(counts):
        return (
            "Every item was always shown at the same position: this log cannot show whether people "
            "click on an item for itself or for its position. Show some lists in another order."
        )
    moved = places > 1
    share = float(cells.shown[moved[cells.pair]].sum() / max(cells.shown.sum(), 1))
    # A display is evidence on position effects if its item was also shown elsewhere. The smaller
    # of the two numbers of displays bounds how much evidence there is.
    usual = np.zeros(counts.n_pairs, dtype=np.int64)
    np.maximum.at(usual, cells.pair, cells.shown)
    elsewhere = int(cells.shown.sum() - usual.sum())
    if share < 0.5 or elsewhere < 0.01 * cells.shown.sum():
        return (
            f"Items hardly moved: {100 * elsewhere / max(int(cells.shown.sum()), 1):.1f} % of the "
            "displays show an item away from its usual position, and only these separate the "
            "effect of a position from that of an item."
        )
    return ""
