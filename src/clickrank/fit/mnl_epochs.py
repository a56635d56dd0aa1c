"""Attraction and position bias of the multinomial logit model, from clicks counted by epoch.

An epoch shows one list again and again until nobody clicks. Then the clicks on item j at position k
in an epoch have a geometric distribution of mean α_j λ_k, whatever else is in the list.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._jit import kernel_for
from clickrank.clickmodels import MNL
from clickrank.errors import invalid
from clickrank.numerics.mnl_scaling import MOST_STEPS, Box, minimise_scaling, room_shape
from clickrank.types import Floats, frozen, number, numbers, whole

SOLVERS = ("newton", "alternate")


@dataclasses.dataclass(frozen=True, eq=False)
class MNLEpochFit:
    """What `mnl_em` and `mnl_geometric` found.

    Parameters
    ----------
    attraction
        α of each item. It may be above 1 where clicks are few.
    position_bias
        λ of each position, 1 at the reference.
    objective
        What was minimised, at the estimates, without terms that do not depend on them.
    iterations
        Steps taken.
    converged
        Whether the last step was below the tolerance.
    at_bound
        Names of estimates that a bound holds, such as "attraction[3]".
    attraction_error, position_bias_error
        Standard errors if counts are geometric, of estimates that no bound holds; else NaN. 0 for
        the bias of the reference.
    """

    attraction: Floats
    position_bias: Floats
    objective: float
    iterations: int
    converged: bool
    at_bound: tuple[str, ...]
    attraction_error: Floats
    position_bias_error: Floats

    @functools.cached_property
    def model(self) -> MNL:
        """The click model of the estimates, scaled so that the largest bias is 1."""
        scale = float(self.position_bias.max())
        attraction = self.attraction * scale
        if not attraction.max() <= 1.0:
            where = int(np.argmax(attraction))
            rule = f"attraction[{where}] must be at most 1 beside a largest bias of 1"
            hint = "give mnl_em the bound most=1, or more clicks"
            raise invalid("MNLEpochFit", f"{rule} ({hint})", float(attraction[where]))
        return MNL(attraction, self.position_bias / scale)


def mnl_em(
    clicks: ArrayLike,
    epochs: ArrayLike,
    *,
    reference: int = 0,
    least: float = 1e-6,
    most: float = math.inf,
    solver: str = "newton",
    tolerance: float = 1e-10,
    iterations: int = 100_000,
) -> MNLEpochFit:
    """Estimate attraction and position bias as the alternating scheme of grant2020 does.

    Given attractions, λ_k = Σ_j N_jk / α_j / Ñ_k; given biases, α_j = Σ_k N_jk / λ_k / Ñ_j; and so
    on in turn. Both steps lower the same convex objective,

    Σ_jk N_jk / (α_j λ_k) + Σ_j Ñ_j log α_j + Σ_k Ñ_k log λ_k,

    the negative log-likelihood of *exponential* counts with these means. Counts are geometric, for
    which `mnl_geometric` is the maximum of the likelihood; the two differ, though both tend to the
    truth, and a step of the scheme can lower the geometric likelihood.

    **Source**: grant2020, Algorithm 1, eq. 5 and 6, footnote 4.

    **Differences**: 1. Newton's method goes to the scheme's limit, which is unique, in some 10
    steps; ``solver="alternate"`` takes the printed ones. 2. Estimates are kept at or above
    ``least``, which the source offers as a remedy for items without clicks; such an item counts in
    the epochs Ñ_k, as printed, and biases all else: leave it out, or use `mnl_geometric`. 3. The
    source calls the limit the maximum of the geometric likelihood (Lemma 2), which it is not.

    Parameters
    ----------
    clicks
        N_jk: clicks by item and position, in complete epochs.
    epochs
        Ñ_jk: complete epochs that showed the item at the position.
    reference
        The position whose bias is 1: clicks tell products α_j λ_k only.
    least, most
        Bounds of the estimates, but for the reference: least > 0, most ≥ 1. The source's parameters
        are at most 1.
    solver
        "newton" or "alternate".
    tolerance
        The alternate steps end when no estimate changes by more.
    iterations
        The most alternate steps.

    Examples
    --------
    >>> fit = mnl_em(clicks=[[8, 3], [4, 3]], epochs=[[20, 10], [10, 20]])
    >>> fit.attraction.round(3), fit.position_bias.round(3)
    (array([0.455, 0.322]), array([1.  , 0.53]))
    """
    counts, shown = _counts("mnl_em", clicks, epochs)
    first = whole("mnl_em", "reference", reference, 0, counts.shape[1] - 1)
    least = number("mnl_em", "least", least, 1e-300, 1.0)
    if most != math.inf:
        most = number("mnl_em", "most", most, 1.0)
    if solver not in SOLVERS:
        raise invalid("mnl_em", f"solver must be one of {', '.join(SOLVERS)}", solver)
    _check_identified("mnl_em", counts, first)
    order = np.r_[first, np.delete(np.arange(counts.shape[1]), first)]
    n, m = np.ascontiguousarray(counts[:, order]), shown.sum(axis=0)[order]
    rows = shown.sum(axis=1)
    if solver == "newton":
        alpha, y = np.ones(rows.size), np.zeros(m.size)
        room = np.zeros(room_shape(m.size))
        solve = kernel_for(_solve, "")
        steps = solve(n, rows, m, Box(least, most, least, most), y, alpha, room)
        bias, converged = np.exp(y), steps < MOST_STEPS
        bias[y <= math.log(least)] = least
        bias[y >= math.log(most)] = most
    else:
        tolerance = number("mnl_em", "tolerance", tolerance, 0.0)
        most_steps = whole("mnl_em", "iterations", iterations, 1)
        alpha, bias, steps, converged = _alternate(n, rows, m, least, most, tolerance, most_steps)
    back = np.argsort(order)
    bias = bias[back]
    held_items = (alpha <= least) | (alpha >= most)
    held_positions = (bias <= least) | (bias >= most)
    mean = np.outer(alpha, bias)
    # The slope of a cell is Ñ - N/γ, of variance Ñ (1 + 1/γ) if N is geometric.
    errors = _errors(
        alpha,
        bias,
        first,
        counts / mean,
        shown * (1.0 + 1.0 / mean),
        held_items,
        held_positions,
    )
    held_positions[first] = False
    loss = float((counts / mean).sum() + (shown * np.log(mean)).sum())
    return _result(alpha, bias, loss, steps, converged, held_items, held_positions, errors)


def mnl_geometric(clicks: ArrayLike, epochs: ArrayLike, *, reference: int = 0) -> MNLEpochFit:
    """Estimate attraction and position bias by the maximum of the likelihood.

    Counts are geometric with means α_j λ_k, so that the negative log-likelihood is

    Σ_jk (N_jk + Ñ_jk) log(1 + α_j λ_k) - N_jk log(α_j λ_k),

    that of a logistic regression with an effect for each item and each position: clicks against
    epochs. It is convex in the logarithms, and Newton's method finds its minimum. An item or a
    position without clicks has the estimate 0.

    **Source**: grant2020, eq. 50.

    Parameters
    ----------
    clicks, epochs, reference
        As for `mnl_em`.

    Examples
    --------
    >>> fit = mnl_geometric(clicks=[[8, 3], [4, 3]], epochs=[[20, 10], [10, 20]])
    >>> fit.attraction.round(3), fit.position_bias.round(3)
    (array([0.437, 0.332]), array([1.   , 0.542]))
    >>> fit.model
    MNL(...)
    """
    counts, shown = _counts("mnl_geometric", clicks, epochs)
    first = whole("mnl_geometric", "reference", reference, 0, counts.shape[1] - 1)
    if not counts.any():
        raise invalid("mnl_geometric", "clicks must not all be 0", "no click")
    _check_identified("mnl_geometric", counts, first)
    items, positions = counts.sum(axis=1) > 0, counts.sum(axis=0) > 0
    n, m = counts[np.ix_(items, positions)], shown[np.ix_(items, positions)]
    base = int(positions[:first].sum())
    x = np.log(n.sum(axis=1) / m.sum(axis=1))
    y = np.zeros(n.shape[1])
    loss = _geometric_loss(n, m, x, y)
    steps, converged = 0, False
    while not converged and steps < 100:
        steps += 1
        p = 1.0 / (1.0 + np.exp(-(x[:, None] + y)))
        slope = (n + m) * p - n
        dx, dy = _newton(slope, (n + m) * p * (1.0 - p), base)
        longest = max(np.abs(dx).max(), np.abs(dy).max())
        size = 1.0
        after = _geometric_loss(n, m, x - dx, y - dy)
        # A step this small is good, though the loss no longer shows it.
        while longest > 1e-6 and not after <= loss and size > 1e-9:
            size /= 2.0
            after = _geometric_loss(n, m, x - size * dx, y - size * dy)
        x, y, loss = x - size * dx, y - size * dy, after
        converged = bool(longest < 1e-9)
    alpha, bias = np.zeros(items.size), np.zeros(positions.size)
    alpha[items], bias[positions] = np.exp(x), np.exp(y)
    p = np.outer(alpha, bias) / (1.0 + np.outer(alpha, bias))
    bend = (counts + shown) * p * (1.0 - p)
    errors = _errors(alpha, bias, first, bend, shown * p, ~items, ~positions)
    return _result(alpha, bias, loss, steps, converged, ~items, ~positions, errors)


def _solve(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    box: Box,
    y: Floats,
    attraction: Floats,
    room: Floats,
) -> int:
    return minimise_scaling(
        counts, item_epochs, position_epochs, box, 0.0, y, attraction, False, room
    )


def _alternate(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    least: float,
    most: float,
    tolerance: float,
    iterations: int,
) -> tuple[Floats, Floats, int, bool]:
    """Take the printed steps from α = 1, the first position's bias being 1."""
    alpha, bias = np.ones(item_epochs.size), np.ones(position_epochs.size)
    for step in range(1, iterations + 1):
        then = alpha, bias
        bias = np.clip((counts / alpha[:, None]).sum(axis=0) / position_epochs, least, most)
        bias[0] = 1.0
        alpha = np.clip((counts / bias).sum(axis=1) / item_epochs, least, most)
        if max(np.abs(alpha - then[0]).max(), np.abs(bias - then[1]).max()) <= tolerance:
            return alpha, bias, step, True
    return alpha, bias, iterations, False


def _newton(slope: Floats, bend: Floats, held: int) -> tuple[Floats, Floats]:
    """Return Newton's step for effects of items and positions, that of one position being held."""
    dx, dy = slope.sum(axis=1), slope.sum(axis=0)
    rows = bend.sum(axis=1)
    schur = np.diag(bend.sum(axis=0)) - bend.T @ (bend / rows[:, None])
    right = dy - bend.T @ (dx / rows)
    free = np.arange(dy.size) != held
    step = np.zeros(dy.size)
    step[free] = np.linalg.solve(schur[np.ix_(free, free)], right[free])
    return (dx - bend @ step) / rows, step


def _geometric_loss(counts: Floats, shown: Floats, x: Floats, y: Floats) -> float:
    z = x[:, None] + y
    return float(((counts + shown) * np.logaddexp(0.0, z) - counts * z).sum())


def _errors(
    attraction: Floats,
    bias: Floats,
    first: int,
    bend: Floats,
    noise: Floats,
    held_items: NDArray[np.bool_],
    held_positions: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """Return standard errors: B⁻¹ V B⁻¹ of the slopes' curvature B and variance V, in logarithms.

    Both matrices have a diagonal block for items and one for positions, and a value for each cell.
    """
    n_items = attraction.size
    held = np.r_[held_items, held_positions]
    held[n_items + first] = True
    free = ~held

    def blocks(cells: Floats) -> Floats:
        whole_matrix = np.block(
            [[np.diag(cells.sum(axis=1)), cells], [cells.T, np.diag(cells.sum(axis=0))]]
        )
        part: Floats = whole_matrix[np.ix_(free, free)]
        return part

    errors = np.full(free.size, np.nan)
    inverse = np.linalg.inv(blocks(bend))
    errors[free] = np.sqrt(np.diag(inverse @ blocks(noise) @ inverse))
    errors *= np.r_[attraction, bias]
    errors[n_items + first] = 0.0
    return errors[:n_items], errors[n_items:]


def _result(
    attraction: Floats,
    bias: Floats,
    loss: float,
    steps: int,
    converged: bool,
    held_items: NDArray[np.bool_],
    held_positions: NDArray[np.bool_],
    errors: tuple[Floats, Floats],
) -> MNLEpochFit:
    held = [f"attraction[{j}]" for j in np.flatnonzero(held_items)]
    held += [f"position_bias[{k}]" for k in np.flatnonzero(held_positions)]
    return MNLEpochFit(
        frozen(attraction),
        frozen(bias),
        loss,
        int(steps),
        bool(converged),
        tuple(held),
        frozen(errors[0]),
        frozen(errors[1]),
    )


def _counts(owner: str, clicks: ArrayLike, epochs: ArrayLike) -> tuple[Floats, Floats]:
    """Check and copy the two tables."""
    n, m = numbers(owner, "clicks", clicks), numbers(owner, "epochs", epochs)
    for name, table in (("clicks", n), ("epochs", m)):
        if table.ndim != 2 or table.size == 0:
            rule = f"{name} must be a table of items by positions"
            raise invalid(owner, rule, f"shape {table.shape}")
        if not (np.isfinite(table) & (table >= 0) & (table == np.floor(table))).all():
            raise invalid(owner, f"{name} must be whole numbers of at least 0", table.tolist())
    if n.shape != m.shape:
        raise invalid(owner, f"epochs must have the shape of clicks, {n.shape}", m.shape)
    if (n[m == 0] > 0).any():
        where = tuple(int(i) for i in np.argwhere((m == 0) & (n > 0))[0])
        rule = f"clicks[{where[0]}, {where[1]}] must be 0 where epochs is 0 (unfinished epochs?)"
        raise invalid(owner, rule, n[where])
    if (m.sum(axis=1) == 0).any():
        rule = "every item must have been shown in a complete epoch; leave out the others"
        raise invalid(owner, rule, f"none of items {np.flatnonzero(m.sum(axis=1) == 0).tolist()}")
    if (m.sum(axis=0) == 0).any():
        rule = "every position must have been used in a complete epoch"
        raise invalid(owner, rule, f"none at {np.flatnonzero(m.sum(axis=0) == 0).tolist()}")
    return n, m


def _check_identified(owner: str, counts: Floats, reference: int) -> None:
    """Clicked cells must link all items and positions that have clicks to the reference."""
    clicked = counts > 0
    positions = np.arange(counts.shape[1]) == reference
    while True:
        items = clicked[:, positions].any(axis=1)
        reached = positions | clicked[items].any(axis=0)
        if (reached == positions).all():
            break
        positions = reached
    apart = np.flatnonzero(clicked.any(axis=0) & ~positions)
    if apart.size:
        lost = np.flatnonzero(clicked[:, apart].any(axis=1))
        rule = (
            f"clicks must link every position to the reference {reference}: an item clicked at "
            "both, or a chain of such items; show the same items at several positions"
        )
        got = f"positions {apart.tolist()} with items {lost.tolist()} apart"
        raise invalid(owner, rule, got)
