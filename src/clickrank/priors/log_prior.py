"""Priors from a log of the same items: the clicks and the examinations of each item."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, bounded_vector
from clickrank._core.validate import check_float
from clickrank.clickmodels import CLICK_MODELS
from clickrank.errors import DoesNotApply, InvalidValue, invalid
from clickrank.logs import Counts
from clickrank.logs.cascade_examination import examined_displays
from clickrank.priors.history_prior import from_history
from clickrank.stats.beta_prior import LARGEST_WEIGHT, Beta

_OWNER = "from_log"


def from_log(
    counts: Counts,
    click_model: str,
    *,
    query: str | None = None,
    items: Sequence[str] | None = None,
    examination: ArrayLike | None = None,
    start: Beta | None = None,
    temper: float = 1.0,
) -> Beta:
    """Return the prior that adds the logged clicks of each item to α, and its misses to β.

    A miss is an examination without a click. The click model says which displays were examined, so
    that an item shown further down the list does not seem less attractive:

    - "dctr": every display was examined.
    - "cascade", "dcm": displays with no click above them were examined. Those after a click may not
      have been, or are known to have been only because another click followed.
    - "pbm": a display at position l counts as κ_l examinations, the probability that it was
      examined. Clicks divided by examinations are then the pooled estimate of the attraction, which
      is unbiased (lagree2016, eq. 2), whatever the positions of the item.

    **Source**: kveton2022, section 1, where click models of logged data are the first of two ways
    to obtain a prior.

    Parameters
    ----------
    counts
        The counts of the log, as ``clickrank.logs.open_log(...).counts()`` returns them.
    click_model
        The click model: "dctr", "cascade", "dcm" or "pbm".
    query
        The query of the items; it may be left out if the log has only one.
    items
        The names of the items in the order of the catalogue. Items that are not in the log get
        ``start``. By default the items of the query, sorted.
    examination
        For "pbm" only: the examination κ of each position, above 0; for example
        ``clickrank.fit.fit_pbm(counts).examination``.
    start
        The prior before the log. By default it is learned from the click rates of the items of the
        query (see `from_history`), so that an item with few examinations stays near their mean.
    temper
        The weight of one examination, above 0 and at most 1. Use less than 1 if people or items
        have changed since.

    Raises
    ------
    InvalidValue
        If an argument is invalid, or if ``start`` is left out and the log is too small to learn it.

    Examples
    --------
    >>> lists, clicks = [[0, 1]] * 20 + [[1, 0]] * 20, [[1, 0]] * 9 + [[0, 1]] * 2 + [[0, 0]] * 29
    >>> counts = Counts.of_lists(lists, clicks)
    >>> from_log(counts, "dctr", start=Beta(1, 9))
    Beta(alpha=(10.0, 3.0), beta=(40.0, 47.0))
    >>> from_log(counts, "pbm", examination=[1.0, 0.5], start=Beta(1, 9))
    Beta(alpha=(10.0, 3.0), beta=(30.0, 37.0))
    """
    one_query = _of_one_query(counts, query)
    if click_model not in models_with_examination():
        rule = f"click_model must be one of {', '.join(models_with_examination())}"
        raise invalid(_OWNER, rule, click_model)
    scale = check_float(_OWNER, "temper", temper, 0.0, 1.0)
    if scale == 0.0:
        raise invalid(_OWNER, "temper must be above 0", temper)
    examined, clicks = _examinations(one_query, click_model, examination)
    base = _learned_start(examined, clicks) if start is None else start
    if base.n_items is not None:
        raise invalid(_OWNER, "start must be one Beta distribution for all items", start)
    names = [str(name) for name in one_query.pair_item.tolist()]
    # In the position-based model there may be more clicks than expected examinations.
    misses = np.maximum(examined - clicks, 0.0)
    if items is not None:
        clicks, misses = (_sorted_as(names, list(items), each) for each in (clicks, misses))
    return base.updated(scale * clicks, scale * misses)


def models_with_examination() -> list[str]:
    """Return the click models that can say which displays were examined.

    >>> models_with_examination()
    ['dctr', 'cascade', 'dcm', 'pbm']
    """
    ways = ("all", "no click above", "by position")
    return [n for way in ways for n, cls in CLICK_MODELS.items() if cls.examined_displays == way]


def _of_one_query(counts: Counts, query: str | None) -> Counts:
    if not isinstance(counts, Counts):
        raise invalid(_OWNER, "counts must be a clickrank.logs.Counts", counts)
    if query is not None:
        return counts.of_query(query)
    if counts.queries.size != 1:
        rule = f"query must be given, because the log has {counts.queries.size} queries"
        raise invalid(_OWNER, rule)
    return counts


def _examinations(
    counts: Counts, click_model: str, examination: ArrayLike | None
) -> tuple[Floats, Floats]:
    """Return how often each item was examined, and how often it was then clicked."""
    which = CLICK_MODELS[click_model].examined_displays
    if which != "by position" and examination is not None:
        rule = f"examination must be left out with click_model={click_model!r}"
        raise invalid(_OWNER, rule, examination)
    if which == "no click above":
        if counts.sessions is None:
            known = [n for n in models_with_examination() if CLICK_MODELS[n].independent_positions]
            others = " or ".join(repr(name) for name in known)
            raise DoesNotApply(
                f"{_OWNER}: with click_model={click_model!r} the log must have lists, and this one "
                f"has only displays and clicks by position. Use {others}, or a log with an id for "
                "each list."
            )
        return examined_displays(counts, counts.sessions)
    weight = np.ones(counts.n_positions)
    if which == "by position":
        if examination is None:
            raise invalid(_OWNER, f"examination must be given with click_model={click_model!r}")
        weight = bounded_vector(_OWNER, "examination", examination, 0.0, 1.0, open_low=True)
        if weight.size != counts.n_positions:
            rule = f"examination must have one entry per position ({counts.n_positions})"
            raise invalid(_OWNER, rule, weight.size)
    cells, n = counts.cells, counts.n_pairs
    examined = np.bincount(cells.pair, cells.shown * weight[cells.position], n)
    clicks = np.bincount(cells.pair, cells.clicked, n)
    return examined.astype(np.float64, copy=False), clicks.astype(np.float64, copy=False)


def _learned_start(examined: Floats, clicks: Floats) -> Beta:
    """Return the distribution of the click rates of these items."""
    views = np.maximum(np.rint(examined), clicks)
    try:
        return from_history(clicks, views, largest_weight=min(views.sum(), LARGEST_WEIGHT))
    except InvalidValue as error:
        raise InvalidValue(
            f"{_OWNER}: start must be given, as in start=Beta(1, 9), because the log is too small "
            f"to learn it. {error}"
        ) from error


def _sorted_as(names: list[str], items: list[str], counts: Floats) -> Floats:
    """Return the counts in the order of the catalogue, 0 for items that are not in the log."""
    if len(set(items)) < len(items) or not items:
        raise invalid(_OWNER, "items must have at least one name, and no name twice", items)
    found = dict(zip(names, counts.tolist(), strict=True))
    return np.array([found.get(str(item), 0.0) for item in items])
