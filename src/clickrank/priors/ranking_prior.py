"""A prior from a ranking: the order of the page today."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import ranking_of
from clickrank._core.validate import check_int
from clickrank.errors import invalid
from clickrank.stats.beta_prior import Beta


def from_ranking(ranking: ArrayLike, weight: float = 10, n_items: int | None = None) -> Beta:
    """Return the prior of items in this order, best first.

    The item of rank r counts as clicked in weight/r of ``weight`` views, rounded to whole clicks,
    as some policies need them, on top of α = β = 1. So means fall as 1/r does: steep where the
    list is seen, flat where it is not. They are meant to be high: items start in this order, and a
    few dozen views of each put their real click rate in place of it.

    Parameters
    ----------
    ranking
        Item numbers, best first; or how many items there are, if their numbers are in this order.
    weight
        How many views of each item it is worth, a whole number of at least 1.
    n_items
        Size of the catalogue; items that are not in the ranking share the rank after its last.

    Examples
    --------
    >>> from_ranking([2, 0, 1], weight=6)
    Beta(alpha=(4.0, 3.0, 7.0), beta=(4.0, 5.0, 1.0))
    >>> from_ranking(2, weight=6) == from_ranking([0, 1], weight=6)
    True
    """
    owner = "from_ranking"
    views = check_int(owner, "weight", weight, 1)
    if np.ndim(ranking) == 0:
        ranking = np.arange(check_int(owner, "ranking", ranking, 1))
    size = np.size(ranking)
    count = size if n_items is None else check_int(owner, "n_items", n_items, 1)
    if size == 0:
        raise invalid(owner, "ranking must hold at least one item", ranking)
    rank = np.full(count, size + 1.0)
    rank[ranking_of(owner, ranking, count, size)] = np.arange(1.0, size + 1.0)
    clicks = np.floor(views / rank + 0.5)
    return Beta(1.0 + clicks, 1.0 + views - clicks)
