"""Attraction and examination of the position-based model, from clicks counted by cell.

A cell is an item at a position. In x = log θ and y = log κ the likelihood of the counts is concave,
so that Newton's method finds its maximum from anywhere; items are eliminated first, which leaves
one small system for the positions. All of it is a handful of array operations a step: nothing to
compile, well below a millisecond for a page of counts.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.errors import invalid
from clickrank.fit.pbm_problem import CellLikelihood
from clickrank.numerics.pbm_likelihood import PBMCells
from clickrank.numerics.pbm_maximum import NewtonBuffers, maximise_likelihood, newton_buffers

#: Views that each item is taken to have had more, clicked as the typical item is there.
ITEM_WEIGHT = 1.0
#: Clicks that each position is taken to have had where as many were to be expected.
POSITION_WEIGHT = 0.5
#: Misses added to each cell that was shown and, for θ < 1, to each item: no click rate is 1.
CELL_MISSES = 0.01
#: Twice the log-likelihood left to gain before the last step, which leaves about its square.
_CONVERGED = 1e-5


@dataclasses.dataclass(frozen=True, eq=False)
class PBMPageFit:
    """What `fit_pbm_page` found.

    Parameters
    ----------
    attraction
        θ of each item, beside the first position; for items not shown that of the typical item.
    examination
        κ of each position, 1 at the first. It may be above 1.
    attraction_error, examination_error
        Standard errors of log θ and log κ, both taken as unknown: a factor of about exp(± 2 errors)
        either way. Infinite for items not shown.
    inherited_error
        The part of the items' errors that comes from that of κ; 0 for items not shown.
    linked
        Whether clicks tell a position's κ: a chain of items that were shown at several positions
        and clicked leads from it to the first. Where not, κ and the θ of items shown only there are
        held by the shrinkage alone, and only their products mean something.
    objectives
        What was minimised, before the first step and after each but the last, below rounding.
    converged
        Whether the last step was below the tolerance.
    """

    attraction: Floats
    examination: Floats
    attraction_error: Floats
    examination_error: Floats
    inherited_error: Floats
    linked: NDArray[np.bool_]
    objectives: Floats
    converged: bool


def fit_pbm_page(views: ArrayLike, clicks: ArrayLike) -> PBMPageFit:
    """Estimate attraction and examination: the maximum of the shrunk likelihood of the counts.

    Σ_ik S_ik log θ_i κ_k + F_ik log(1 - θ_i κ_k), with κ = 1 at the first position, S clicks and F
    misses. What is added so that a maximum exists whatever the counts, is unique and finite: to
    each item one view, spread over the positions as its own and clicked as the typical item is
    there; to each position but the first half a click, where half a click was to be expected; to
    each cell shown, and to each item where κ = 1, 0.01 misses. A typical click rate is the mean
    over items, each counting with n / (n + 1) for its n views, so that it is not that of the few
    that are shown most.

    No step lowers this likelihood. Many items with a view or two each can bias it, as any maximum
    likelihood; the shrinkage has no bias of its own for lists chosen at random.

    Parameters
    ----------
    views
        How often each item was shown at each position, (n_items, n_positions).
    clicks
        And how often it was clicked there.

    Examples
    --------
    >>> fit = fit_pbm_page(views=[[2000, 1000], [1000, 2000]], clicks=[[600, 150], [200, 200]])
    >>> fit.attraction.round(2), fit.examination.round(2)
    (array([0.3, 0.2]), array([1. , 0.5]))
    """
    shown, clicked = _counts(views, clicks)
    n_items = shown.shape[0]
    totals = shown.sum(axis=1)
    rows = np.flatnonzero(totals)
    cells, x, y = _shrunk(shown[rows], clicked[rows])
    buffers = newton_buffers(x.size, y.size, cells.column.size)
    converged = kernel_for(_maximise, "")(cells, x, y, buffers)
    estimated = np.arange(y.size) > 0
    known, inherited, variance_y = CellLikelihood(cells, y.size).variances(
        x, y, estimated, POSITION_WEIGHT
    )
    weights = totals[rows] / (totals[rows] + 1.0)
    typical = np.exp(x) @ weights / weights.sum() if rows.size else 0.5
    attraction, error = np.full(n_items, typical), np.full(n_items, np.inf)
    attraction[rows], error[rows] = np.exp(x), np.sqrt(known + inherited)
    inherited_error = np.zeros(n_items)
    inherited_error[rows] = np.sqrt(inherited)
    return PBMPageFit(
        attraction,
        np.exp(y),
        error,
        np.sqrt(variance_y),
        inherited_error,
        _linked(shown > 0, clicked.sum(axis=1) > 0),
        buffers.losses[~np.isnan(buffers.losses)],
        converged,
    )


class _Shrunk(NamedTuple):
    """The counts of a page with what the shrinkage adds, and a point to start from."""

    cells: PBMCells
    x: Floats
    y: Floats


def _shrunk(views: Ints, clicks: Ints) -> _Shrunk:
    """Return the counts of items that were shown, with what the shrinkage adds."""
    seen = views > 0
    overall = (clicks.sum() + 0.5) / (views.sum() + 1.0)
    typical = (clicks / (views + 1.0)).sum(axis=0) + overall
    typical /= (views / (views + 1.0)).sum(axis=0) + 1.0
    added = ITEM_WEIGHT * views / views.sum(axis=1, keepdims=True)
    shrunk_views, shrunk_clicks = views + added, clicks + added * typical
    misses = np.where(seen, shrunk_views - shrunk_clicks + CELL_MISSES, 0.0)
    item_clicks = shrunk_clicks.sum(axis=1)
    position_clicks = shrunk_clicks.sum(axis=0) + POSITION_WEIGHT
    x = np.log(item_clicks / (shrunk_views.sum(axis=1) + CELL_MISSES))
    expected = np.exp(x) @ shrunk_views + POSITION_WEIGHT
    y = np.minimum(np.log(position_clicks / expected), 0.0)  # every click rate below 1
    y[0] = 0.0
    misses[:, 0] += CELL_MISSES  # at κ = 1, where an item need not have been shown
    seen[:, 0] = True
    item, position = np.nonzero(seen)
    first = np.searchsorted(item, np.arange(x.size + 1))
    return _Shrunk(PBMCells(first, position, shrunk_clicks[seen], misses[seen]), x, y)


def _maximise(cells: PBMCells, x: Floats, y: Floats, buffers: NewtonBuffers) -> bool:
    return maximise_likelihood(cells, POSITION_WEIGHT, _CONVERGED, x, y, buffers)


def _linked(seen: NDArray[np.bool_], clicked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the positions that clicked items shown at several of them link to the first."""
    links = seen[clicked].astype(np.float64)
    shared = links.T @ links > 0  # positions that have such an item in common
    linked: NDArray[np.bool_] = np.arange(seen.shape[1]) == 0
    while True:
        reached = linked | (shared[linked].sum(axis=0) > 0)
        if (reached == linked).all():
            return linked
        linked = reached


def _counts(views: ArrayLike, clicks: ArrayLike) -> tuple[Ints, Ints]:
    """Check the counts."""
    arrays = np.asarray(views), np.asarray(clicks)
    for name, array in zip(("views", "clicks"), arrays, strict=True):
        if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "iu":
            rule = f"{name} must be whole numbers, a row an item and a column a position"
            raise invalid("fit_pbm_page", rule, array.tolist())
    shown, clicked = (array.astype(np.int64) for array in arrays)
    if shown.shape != clicked.shape:
        rule = f"clicks must have the shape of views {shown.shape}"
        raise invalid("fit_pbm_page", rule, clicked.shape)
    wrong = (clicked < 0) | (clicked > shown)
    if wrong.any():
        i, k = (int(n) for n in np.argwhere(wrong)[0])
        rule = f"clicks[{i}, {k}] must be between 0 and views[{i}, {k}] ({shown[i, k]})"
        raise invalid("fit_pbm_page", rule, int(clicked[i, k]))
    return shown, clicked
