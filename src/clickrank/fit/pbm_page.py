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

from clickrank._core.arrays import Floats, Ints
from clickrank.errors import invalid

#: Views that each item is taken to have had more, clicked as the typical item is there.
ITEM_WEIGHT = 1.0
#: Clicks that each position is taken to have had where as many were to be expected.
POSITION_WEIGHT = 0.5
#: Misses added to each cell that was shown and, for θ < 1, to each item: no click rate is 1.
CELL_MISSES = 0.01
_MOST_STEPS = 100
#: Twice the log-likelihood left to gain; one more step leaves about the square of it.
_CONVERGED = 1e-5
#: What sums of counts may be off by, beside themselves.
_ROUNDING = 1e-13


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
    problem = _Problem(shown[rows], clicked[rows])
    x, y, objectives, converged = problem.solved()
    own, inherited, variance_y = problem.variances(x, y)
    weights = totals[rows] / (totals[rows] + 1.0)
    typical = np.exp(x) @ weights / weights.sum() if rows.size else 0.5
    attraction, error = np.full(n_items, typical), np.full(n_items, np.inf)
    attraction[rows], error[rows] = np.exp(x), np.sqrt(own + inherited)
    inherited_error = np.zeros(n_items)
    inherited_error[rows] = np.sqrt(inherited)
    return PBMPageFit(
        attraction,
        np.exp(y),
        error,
        np.sqrt(variance_y),
        inherited_error,
        _linked(shown > 0, clicked.sum(axis=1) > 0),
        np.array(objectives),
        converged,
    )


class _Curvature(NamedTuple):
    """The objective around a point."""

    slope_x: Floats
    slope_y: Floats
    of_items: Floats  # second derivatives in x, which are on the diagonal
    part: Floats  # those in x and y, beside the item's
    of_positions: Floats  # what those in y are when x follows


class _Problem:
    """The loss of the counts of items that were shown, and Newton's steps on it."""

    def __init__(self, views: Ints, clicks: Ints) -> None:
        seen = views > 0
        # Cells not shown are moved far from a click rate of 1, where they count for nothing.
        self.offset = np.where(seen, 0.0, -50.0)
        overall = (clicks.sum() + 0.5) / (views.sum() + 1.0)
        typical = (clicks / (views + 1.0)).sum(axis=0) + overall
        typical /= (views / (views + 1.0)).sum(axis=0) + 1.0
        more = ITEM_WEIGHT * views / views.sum(axis=1, keepdims=True)
        self.views = views + more
        self.clicks = clicks + more * typical
        self.misses = np.where(seen, self.views - self.clicks + CELL_MISSES, 0.0)
        self.item_clicks = self.clicks.sum(axis=1)
        self.position_clicks = self.clicks.sum(axis=0) + POSITION_WEIGHT

    def solved(self) -> tuple[Floats, Floats, list[float], bool]:
        """Return the minimum and the losses on the way."""
        x = np.log(self.item_clicks / (self.views.sum(axis=1) + CELL_MISSES))
        expected = np.exp(x) @ self.views + POSITION_WEIGHT
        y = np.minimum(np.log(self.position_clicks / expected), 0.0)  # every click rate below 1
        y[0] = 0.0
        losses = [self.loss(x, y)]
        for _ in range(_MOST_STEPS):
            step_x, step_y, decrement = self.step(x, y)
            size = self._reach(x, y, step_x, step_y)
            # Below the rounding of the loss no step can be judged; the last one is good.
            if decrement < max(_CONVERGED, 1e-15 * abs(losses[-1])) and size == 1.0:
                return x + step_x, y + step_y, losses, True
            loss = self.loss(x + size * step_x, y + size * step_y)
            while not loss <= losses[-1] - 0.1 * size * decrement:
                size *= 0.5
                if size < 1e-9:  # no decrease to be seen
                    return x, y, losses, False
                loss = self.loss(x + size * step_x, y + size * step_y)
            x, y = x + size * step_x, y + size * step_y
            losses.append(loss)
        return x, y, losses, False

    def loss(self, x: Floats, y: Floats) -> float:
        """Return the negative of the shrunk log-likelihood; infinite outside its domain."""
        z = x[:, None] + y + self.offset
        if z.size and (z.max() >= 0.0 or x.max() >= 0.0):
            return np.inf
        total = self.item_clicks @ x + self.position_clicks[1:] @ y[1:]
        total += (self.misses * np.log(-np.expm1(z))).sum()
        total += CELL_MISSES * np.log(-np.expm1(x)).sum()
        return float(POSITION_WEIGHT * np.exp(y[1:]).sum() - total)

    def curvature(self, x: Floats, y: Floats) -> _Curvature:
        """Return the slopes and the second derivatives, items eliminated."""
        odds = 1.0 / np.expm1(-(x[:, None] + y + self.offset))  # p / (1 - p)
        bend = self.misses * odds
        odds_alone = 1.0 / np.expm1(-x)
        alone = CELL_MISSES * odds_alone
        pull = POSITION_WEIGHT * np.exp(y)
        slope_x = self.item_clicks - bend.sum(axis=1) - alone
        slope_y = self.position_clicks - bend.sum(axis=0) - pull
        bend *= 1.0 + odds
        alone *= 1.0 + odds_alone
        of_items = bend.sum(axis=1) + alone
        part = bend / of_items[:, None]
        # What is left for the positions is minus what each pair of them shares, and on the diagonal
        # the sum of that and of what holds each: no difference of large numbers, which would lose
        # a weak link between positions of many views.
        shared = bend.T @ part
        np.fill_diagonal(shared, 0.0)
        held = (shared.sum(axis=1) + alone @ part + pull) * (1.0 + _ROUNDING)
        return _Curvature(slope_x, slope_y, of_items, part, np.diag(held) - shared)

    def step(self, x: Floats, y: Floats) -> tuple[Floats, Floats, float]:
        """Return Newton's step, with y[0] held, and twice the decrease to expect."""
        slope_x, slope_y, of_items, part, of_positions = self.curvature(x, y)
        step_y = np.zeros_like(y)
        step_y[1:] = np.linalg.solve(of_positions[1:, 1:], (slope_y - slope_x @ part)[1:])
        step_x = slope_x / of_items - part @ step_y
        return step_x, step_y, float(slope_x @ step_x + slope_y[1:] @ step_y[1:])

    def variances(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the variances of x with y known, what y's add to them, and those of y."""
        _, _, of_items, part, of_positions = self.curvature(x, y)
        inverse = np.zeros((y.size, y.size))
        inverse[1:, 1:] = np.linalg.inv(of_positions[1:, 1:])
        inherited = np.maximum(((part @ inverse) * part).sum(axis=1), 0.0)
        return 1.0 / of_items, inherited, np.diag(inverse).copy()

    def _reach(self, x: Floats, y: Floats, step_x: Floats, step_y: Floats) -> float:
        """Return how much of a step stays well within the domain, at most 1."""
        rate = (step_x[:, None] + step_y) / -(x[:, None] + y + self.offset)
        most = max(rate.max(initial=0.0), (step_x / -x).max(initial=0.0))
        return 1.0 if most <= 0.9 else float(0.9 / most)


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
