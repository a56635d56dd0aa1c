"""Fits of the multinomial logit model to two tables: clicks and epochs by item and position.

The epoch policies store these tables only, and use these estimators. If the lists are known, use
`fit_mnl`, which maximises the likelihood and has standard errors.

An epoch shows one list repeatedly until nobody clicks. Then the clicks on item j at position k in
an epoch have a geometric distribution with mean α_j λ_k, whatever the other items are. The counts
of one epoch are not independent, although grant2020 treats them so: they have a negative
multinomial distribution with covariances μ_i μ_j, because a long epoch has many clicks on all of
its items.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, frozen, numbers
from clickrank._core.validate import check_float, check_int
from clickrank.clickmodels import MNL
from clickrank.errors import invalid
from clickrank.fit.fitted_model import linked_positions
from clickrank.numerics.mnl_objective import (
    MOST_STEPS,
    Objective,
    Tables,
    fit_tables,
    no_tables,
    table_loss,
)

SOLVERS = ("newton", "alternate")


@dataclasses.dataclass(frozen=True, eq=False)
class MNLEpochFit:
    """Estimates of `mnl_em` and `mnl_composite`.

    There are no standard errors: counts of items in the same list depend on each other, and the
    tables do not say which items were shown together. `fit_mnl` computes errors from the lists.

    Parameters
    ----------
    attraction
        α of each item. It may be above 1 if there are few clicks.
    position_bias
        λ of each position, 1 at the reference.
    objective
        The objective at the estimates, without terms that do not depend on them.
    iterations
        Number of steps taken.
    converged
        Whether the last step was below the tolerance.
    at_bound
        Names of estimates that are at a bound, such as "attraction[3]".
    """

    attraction: Floats
    position_bias: Floats
    objective: float
    iterations: int
    converged: bool
    at_bound: tuple[str, ...]

    @functools.cached_property
    def model(self) -> MNL:
        """The click model of the estimates, scaled so that the largest bias is 1."""
        scale = float(self.position_bias.max())
        attraction = self.attraction * scale
        if not attraction.max() <= 1.0:
            where = int(np.argmax(attraction))
            rule = f"attraction[{where}] must be at most 1 if the largest bias is 1"
            hint = "pass most=1 to mnl_em, or use more clicks"
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
    """Estimate attraction and position bias by the alternating scheme of grant2020.

    Given attractions, λ_k = Σ_j N_jk / α_j / Ñ_k; given biases, α_j = Σ_k N_jk / λ_k / Ñ_j; and so
    on in turn. Both steps lower the same convex objective,

    Σ_jk N_jk / (α_j λ_k) + Σ_j Ñ_j log α_j + Σ_k Ñ_k log λ_k,

    the negative log-likelihood of *exponential* counts with these means. The estimates are
    consistent, with about 1.4 times the variance of the maximum of the likelihood (`fit_mnl`), and
    twice the variance for some parameters if items were mostly shown at one position.

    **Source**: grant2020, Algorithm 1, eq. 5 and 6, footnote 4.

    **Differences**: 1. Newton's method reaches the limit of the scheme, which is unique, in about
    10 steps; ``solver="alternate"`` takes the printed steps. 2. Estimates are at least ``least``,
    which the source suggests for items without clicks. Such an item counts in the epochs Ñ_k, as
    printed, and biases all other estimates: leave it out, or use another estimator. 3. The source
    calls the limit the maximum of eq. 50 (Lemma 2), but a step can lower eq. 50, whose maximum is
    `mnl_composite`; and it calls eq. 50 the likelihood, which `fit_mnl` maximises.

    Parameters
    ----------
    clicks
        N_jk: clicks by item and position, in complete epochs.
    epochs
        Ñ_jk: complete epochs that showed the item at the position.
    reference
        The position whose bias is 1: clicks determine products α_j λ_k only.
    least, most
        Bounds of the estimates, except for the reference: least > 0, most ≥ 1. In the source,
        parameters are at most 1.
    solver
        "newton" or "alternate".
    tolerance
        The alternating steps end when no estimate changes by more than this.
    iterations
        Maximum number of alternating steps.

    Examples
    --------
    >>> fit = mnl_em(clicks=[[8, 3], [4, 3]], epochs=[[20, 10], [10, 20]])
    >>> fit.attraction.round(3), fit.position_bias.round(3)
    (array([0.455, 0.322]), array([1.  , 0.53]))
    """
    counts, shown = _counts("mnl_em", clicks, epochs)
    first = check_int("mnl_em", "reference", reference, 0, counts.shape[1] - 1)
    least = check_float("mnl_em", "least", least, 1e-300, 1.0)
    if most != math.inf:
        most = check_float("mnl_em", "most", most, 1.0)
    if solver not in SOLVERS:
        raise invalid("mnl_em", f"solver must be one of {', '.join(SOLVERS)}", solver)
    _check_identified("mnl_em", counts, first)
    order = np.r_[first, np.delete(np.arange(counts.shape[1]), first)]
    n, m = counts[:, order], shown[:, order]
    low, high = math.log(least), math.log(most)
    objective = Objective(0, 0.0, 0.0, 1, low, high, low, high)
    if solver == "newton":
        x, y, steps, converged = _minimise(n, m, objective)
        alpha, bias = _exp_within(x, least, most), _exp_within(y, least, most)
        bias[0] = 1.0
    else:
        tolerance = check_float("mnl_em", "tolerance", tolerance, 0.0)
        most_steps = check_int("mnl_em", "iterations", iterations, 1)
        alpha, bias, steps, converged = _alternate(n, m, least, most, tolerance, most_steps)
    loss = _loss(n, m, objective, np.log(alpha), np.log(bias))
    bias = bias[np.argsort(order)]
    held_items = (alpha <= least) | (alpha >= most)
    held_positions = (bias <= least) | (bias >= most)
    held_positions[first] = False
    return _result(alpha, bias, loss, steps, converged, held_items, held_positions)


def mnl_composite(clicks: ArrayLike, epochs: ArrayLike, *, reference: int = 0) -> MNLEpochFit:
    """Estimate attraction and position bias by the composite likelihood of the counts.

    Each count is geometric with mean α_j λ_k. If the counts of one epoch were independent, the
    negative log-likelihood would be

    Σ_jk (N_jk + Ñ_jk) log(1 + α_j λ_k) − N_jk log(α_j λ_k),

    that of a logistic regression of clicks against epochs, with an effect for each item and each
    position. It is convex in the logarithms, and Newton's method finds its minimum. An item or a
    position without clicks has the estimate 0.

    The counts are not independent, so that this is not the maximum of their likelihood, which needs
    the lists (`fit_mnl`). The estimate is consistent, with a variance up to 10 % larger. The lists
    need not have been shown in epochs: in any round P(click) = α_j λ_k P(no click), and Ñ counts
    the lists without a click.

    **Source**: grant2020, eq. 50.

    Parameters
    ----------
    clicks, epochs, reference
        As for `mnl_em`.

    Examples
    --------
    >>> fit = mnl_composite(clicks=[[8, 3], [4, 3]], epochs=[[20, 10], [10, 20]])
    >>> fit.attraction.round(3), fit.position_bias.round(3)
    (array([0.437, 0.332]), array([1.   , 0.542]))
    >>> fit.model
    MNL(...)
    """
    counts, shown = _counts("mnl_composite", clicks, epochs)
    first = check_int("mnl_composite", "reference", reference, 0, counts.shape[1] - 1)
    if not counts.any():
        raise invalid("mnl_composite", "clicks must not all be 0", "no click")
    _check_identified("mnl_composite", counts, first)
    items, positions = counts.sum(axis=1) > 0, counts.sum(axis=0) > 0
    kept = np.r_[first, np.setdiff1d(np.flatnonzero(positions), first)]
    n, m = counts[np.ix_(items, kept)], shown[np.ix_(items, kept)]
    free = Objective(1, 0.0, 0.0, 1, -math.inf, math.inf, -math.inf, math.inf)
    x, y, steps, converged = _minimise(n, m, free)
    loss = _loss(n, m, free, x, y)
    alpha, bias = np.zeros(items.size), np.zeros(positions.size)
    alpha[items], bias[kept] = np.exp(x), np.exp(y)
    return _result(alpha, bias, loss, steps, converged, ~items, bias == 0.0)


def _minimise(n: Floats, m: Floats, objective: Objective) -> tuple[Floats, Floats, int, bool]:
    """Return the logarithms at the minimum, the number of steps, and whether it was reached."""
    with np.errstate(divide="ignore"):
        x = np.log(n.sum(axis=1) / m.sum(axis=1))
    y = np.zeros(n.shape[1])
    steps = kernel_for(_solve, "")(_tables(n, m), objective, x, y)
    return x, y, steps, steps < MOST_STEPS


def _loss(n: Floats, m: Floats, objective: Objective, x: Floats, y: Floats) -> float:
    """Return the objective."""
    return kernel_for(_evaluate, "")(_tables(n, m), objective, x, y)


def _tables(n: Floats, m: Floats) -> Tables:
    tables = no_tables(*n.shape)
    tables.n[:], tables.m[:] = n, m
    return tables


def _solve(tables: Tables, objective: Objective, x: Floats, y: Floats) -> int:
    return fit_tables(tables, objective, x, y)


def _evaluate(tables: Tables, objective: Objective, x: Floats, y: Floats) -> float:
    return table_loss(tables, objective, x, y, 0.0)


def _exp_within(logarithms: Floats, least: float, most: float) -> Floats:
    """Return e^x; exactly the bound if x is at the logarithm of a bound."""
    values: Floats = np.exp(logarithms)
    values[logarithms <= math.log(least)] = least
    values[logarithms >= math.log(most)] = most
    return values


def _alternate(
    counts: Floats,
    shown: Floats,
    least: float,
    most: float,
    tolerance: float,
    iterations: int,
) -> tuple[Floats, Floats, int, bool]:
    """Take the printed steps from α = 1, with a bias of 1 at the first position."""
    item_epochs, position_epochs = shown.sum(axis=1), shown.sum(axis=0)
    alpha, bias = np.ones(item_epochs.size), np.ones(position_epochs.size)
    for step in range(1, iterations + 1):
        previous = alpha, bias
        bias = np.clip((counts / alpha[:, None]).sum(axis=0) / position_epochs, least, most)
        bias[0] = 1.0
        alpha = np.clip((counts / bias).sum(axis=1) / item_epochs, least, most)
        if max(np.abs(alpha - previous[0]).max(), np.abs(bias - previous[1]).max()) <= tolerance:
            return alpha, bias, step, True
    return alpha, bias, iterations, False


def _result(
    attraction: Floats,
    bias: Floats,
    loss: float,
    steps: int,
    converged: bool,
    held_items: NDArray[np.bool_],
    held_positions: NDArray[np.bool_],
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
    )


def _counts(owner: str, clicks: ArrayLike, epochs: ArrayLike) -> tuple[Floats, Floats]:
    """Check and copy the two tables."""
    n, m = numbers(owner, "clicks", clicks), numbers(owner, "epochs", epochs)
    for name, table in (("clicks", n), ("epochs", m)):
        if table.ndim != 2 or table.size == 0:
            rule = f"{name} must be a table with one row per item and one column per position"
            raise invalid(owner, rule, f"shape {table.shape}")
        if not (np.isfinite(table) & (table >= 0) & (table == np.floor(table))).all():
            raise invalid(owner, f"{name} must be whole numbers of at least 0", table.tolist())
    if n.shape != m.shape:
        raise invalid(owner, f"epochs must have the shape of clicks, {n.shape}", m.shape)
    if (n[m == 0] > 0).any():
        where = tuple(int(i) for i in np.argwhere((m == 0) & (n > 0))[0])
        rule = f"clicks[{where[0]}, {where[1]}] must be 0 if epochs is 0 (unfinished epochs?)"
        raise invalid(owner, rule, int(n[where]))
    if (m.sum(axis=1) == 0).any():
        rule = "every item must have been shown in a complete epoch; leave out the others"
        raise invalid(owner, rule, f"none of items {np.flatnonzero(m.sum(axis=1) == 0).tolist()}")
    if (m.sum(axis=0) == 0).any():
        rule = "every position must have been used in a complete epoch"
        raise invalid(owner, rule, f"none at {np.flatnonzero(m.sum(axis=0) == 0).tolist()}")
    return n, m


def _check_identified(owner: str, counts: Floats, reference: int) -> None:
    """Raise an error unless clicked cells link all positions with clicks to the reference."""
    clicked = counts > 0
    item, position = np.nonzero(clicked)
    group = linked_positions(item, position, counts.shape[1])
    apart = np.flatnonzero(clicked.any(axis=0) & (group != group[reference]))
    if apart.size:
        lost = np.flatnonzero(clicked[:, apart].any(axis=1))
        rule = (
            f"clicks must link every position to the reference {reference}: an item clicked at "
            "both, or a chain of such items; show the same items at several positions"
        )
        got = f"positions {apart.tolist()} with items {lost.tolist()} not linked"
        raise invalid(owner, rule, got)
