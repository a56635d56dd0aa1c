"""A prior for each item from its own clicks: what a log of the page says already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, bounded_vector
from clickrank._core.validate import check_float
from clickrank.errors import DoesNotApply, InvalidValue, invalid
from clickrank.logs import Counts
from clickrank.logs.cascade_examination import examined_displays
from clickrank.priors.history_prior import from_history
from clickrank.stats.beta_prior import LARGEST_WEIGHT, Beta

_OWNER = "from_log"
#: How people click, as far as it decides what they looked at.
CLICK_MODELS = ("dctr", "cascade", "dcm", "pbm")


def from_log(
    counts: Counts,
    click_model: Literal["dctr", "cascade", "dcm", "pbm"],
    *,
    query: str | None = None,
    items: Sequence[str] | None = None,
    examination: ArrayLike | None = None,
    start: Beta | None = None,
    temper: float = 1.0,
) -> Beta:
    """Return the prior that counts each item's logged clicks and looks: α + clicks, β + misses.

    The click model decides what was looked at, so that an item that was shown further down is not
    taken for one that nobody likes:

    - "dctr": every display is a look.
    - "cascade", "dcm": displays with no click above them. Later ones may not have been seen, or
      are known to have been seen only because a click followed.
    - "pbm": a display at position l counts as κ_l of a look, its probability of being looked at.
      Clicks divided by looks are then the pooled estimate of the attraction, which is unbiased
      (lagree2016, eq. 2), whatever positions an item was shown at.

    **Source**: kveton2022, section 1: click models of logged data are the first of two ways to a
    prior.

    Parameters
    ----------
    counts
        The log, as ``clickrank.logs.open_log(...).counts()`` returns it.
    click_model
        How people click: "dctr", "cascade", "dcm" or "pbm".
    query
        Which query's items; may be left out if the log has only one.
    items
        The items' names in the order of the catalogue. Those that are not in the log get ``start``.
        By default the query's items in the order of their text.
    examination
        With "pbm" only: κ of each position, above 0; for example
        ``clickrank.fit.fit_pbm(counts).examination``.
    start
        What was known before the log. By default the spread of the click rates of the query's items
        themselves, see `from_history`: few looks then move an item little from what is usual.
    temper
        What one look of the log counts, above 0 and at most 1. Take less than 1 if people or items
        have changed since.

    Raises
    ------
    InvalidValue
        Also if ``start`` is left out and the log is too small to learn it from.

    Examples
    --------
    >>> lists, clicks = [[0, 1]] * 20 + [[1, 0]] * 20, [[1, 0]] * 9 + [[0, 1]] * 2 + [[0, 0]] * 29
    >>> counts = Counts.of_lists(lists, clicks)
    >>> from_log(counts, "dctr", start=Beta(1, 9))
    Beta(alpha=(10.0, 3.0), beta=(40.0, 47.0))
    >>> from_log(counts, "pbm", examination=[1.0, 0.5], start=Beta(1, 9))
    Beta(alpha=(10.0, 3.0), beta=(30.0, 37.0))
    """
    known = _of_one_query(counts, query)
    if click_model not in CLICK_MODELS:
        raise invalid(_OWNER, f"click_model must be one of {', '.join(CLICK_MODELS)}", click_model)
    scale = check_float(_OWNER, "temper", temper, 0.0, 1.0)
    if scale == 0.0:
        raise invalid(_OWNER, "temper must be above 0", temper)
    looks, clicks = _looks(known, click_model, examination)
    base = _spread(looks, clicks) if start is None else start
    if base.n_items is not None:
        raise invalid(_OWNER, "start must be one Beta distribution for all items", start)
    names = [str(name) for name in known.pair_item.tolist()]
    # In the position-based model there may be more clicks than expected looks.
    misses = np.maximum(looks - clicks, 0.0)
    if items is not None:
        clicks, misses = (_in_order(names, list(items), each) for each in (clicks, misses))
    return base.updated(scale * clicks, scale * misses)


def _of_one_query(counts: Counts, query: str | None) -> Counts:
    if not isinstance(counts, Counts):
        raise invalid(_OWNER, "counts must be a clickrank.logs.Counts", counts)
    if query is not None:
        return counts.of_query(query)
    if counts.queries.size != 1:
        raise invalid(_OWNER, f"query must be given, as the log has {counts.queries.size}", query)
    return counts


def _looks(
    counts: Counts, click_model: str, examination: ArrayLike | None
) -> tuple[Floats, Floats]:
    """Return how often each item was looked at, and the clicks then."""
    if click_model != "pbm" and examination is not None:
        rule = f"examination must be left out with click_model={click_model!r}"
        raise invalid(_OWNER, rule, examination)
    if click_model in ("cascade", "dcm"):
        if counts.sessions is None:
            raise DoesNotApply(
                f"{_OWNER}: with click_model={click_model!r} the log must have whole lists, and "
                "this one has displays and clicks by position only. Use 'pbm' or 'dctr', or a log "
                "with an id for each list."
            )
        return examined_displays(counts, counts.sessions)
    looked = np.ones(counts.n_positions)
    if click_model == "pbm":
        if examination is None:
            raise invalid(_OWNER, "examination must be given with click_model='pbm'", None)
        looked = bounded_vector(_OWNER, "examination", examination, 0.0, 1.0, open_low=True)
        if looked.size != counts.n_positions:
            rule = f"examination must have one entry per position ({counts.n_positions})"
            raise invalid(_OWNER, rule, looked.size)
    cells, n = counts.cells, counts.n_pairs
    looks = np.bincount(cells.pair, cells.shown * looked[cells.position], n)
    clicks = np.bincount(cells.pair, cells.clicked, n)
    return looks.astype(np.float64, copy=False), clicks.astype(np.float64, copy=False)


def _spread(looks: Floats, clicks: Floats) -> Beta:
    """Return how the click rates of these items spread."""
    views = np.maximum(np.rint(looks), clicks)
    try:
        return from_history(clicks, views, largest_weight=min(views.sum(), LARGEST_WEIGHT))
    except InvalidValue as error:
        raise InvalidValue(
            f"{_OWNER}: start must be given, as in start=Beta(1, 9): the log is too small to learn "
            f"it from. {error}"
        ) from error


def _in_order(names: list[str], items: list[str], counts: Floats) -> Floats:
    """Return the counts in the order of the catalogue, 0 for items that are not in the log."""
    if len(set(items)) < len(items) or not items:
        raise invalid(_OWNER, "items must be distinct names, at least one", items)
    found = dict(zip(names, counts.tolist(), strict=True))
    return np.array([found.get(str(item), 0.0) for item in items])
