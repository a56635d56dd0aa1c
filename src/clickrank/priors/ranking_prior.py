"""Priors from a ranking, such as the current order of a page."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import ranking_of
from clickrank._core.validate import check_int
from clickrank.errors import invalid
from clickrank.stats.beta_prior import Beta


def from_ranking(ranking: ArrayLike, weight: float = 10, n_items: int | None = None) -> Beta:
    """Return a prior whose means put the items in this order, best first.

    The item of rank r counts as clicked in weight/r of ``weight`` views, in addition to
    α = β = 1. Clicks are rounded to whole numbers, which some policies need, so that neighbouring
    ranks may have the same mean: with a weight of 10, ranks 3 and 4 both count as clicked 3 times.
    A larger weight separates them. The means fall like 1/r: steeply at the top of the list and
    slowly further down. They are high on purpose: a policy prefers the items in this order at
    first, and a few dozen views of each item replace it by the real click rates.

    Parameters
    ----------
    ranking
        The numbers of the items, best first; or the number of items, if item 0 is best.
    weight
        The weight in views per item, a whole number of at least 1.
    n_items
        The size of the catalogue; items that are not in the ranking share the rank after the last.

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
        raise invalid(owner, "ranking must have at least one item", ranking)
    rank = np.full(count, size + 1.0)
    rank[ranking_of(owner, ranking, count, size)] = np.arange(1.0, size + 1.0)
    clicks = np.floor(views / rank + 0.5)
    return Beta(1.0 + clicks, 1.0 + views - clicks)
