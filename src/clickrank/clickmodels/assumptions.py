"""`check_assumptions`: which assumptions of gauthier2022 hold for a click model, over all lists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, numbers
from clickrank.clickmodels.click_model import ClickModel
from clickrank.errors import invalid

#: Values closer than this count as equal.
EQUAL = 1e-12
MOST_LISTS = 5000
MOST_POSITIONS = 6

List: TypeAlias = tuple[int, ...]


class Finding(NamedTuple):
    """Whether an assumption holds."""

    holds: bool
    #: A sentence with the items and lists that contradict it; empty if it holds.
    witness: str = ""


def check_assumptions(model: ClickModel, order: ArrayLike | None = None) -> dict[int, Finding]:
    """Return which of Assumptions 1 to 5 hold for a click model, with a witness if one does not.

    1. Relaxed unimodality: for every list that is not optimal, and each order of its positions by
       decreasing click probability, one of GRAB's exchanges leads to a better list.
    2. Strict weak order: items have a preferential attachment g. Any numbers are one, so it always
       holds; 4 and 5 say whether g is useful.
    3. Strict total order: no two items have the same g.
    4. Optimal reward: every list of items by decreasing g, ties in any order, is optimal.
    5. Order identifiability: if g(i) > g(j), then i gets more clicks than j on average over any
       list that shows at least one of them and the list with both exchanged.

    **Source**: gauthier2022, sections 3.1 and 5.1.

    Parameters
    ----------
    model
        The click model, with at most 5,000 lists and 6 positions.
    order
        g, one number per item. The default is the model's attraction or, if it has none, the mean
        difference of clicks in Assumption 5 over all lists and all other items.

    Examples
    --------
    >>> from clickrank.clickmodels import PBM
    >>> found = check_assumptions(PBM([0.5, 0.3, 0.3], [0.4, 0.9]))
    >>> [number for number, finding in found.items() if finding.holds]
    [1, 2, 5]
    >>> found[4].witness
    'list (0, 1) is ordered by g and earns 0.47, the best list 0.57'
    """
    owner = "check_assumptions"
    n_lists = math.perm(model.n_items, model.n_positions)
    if n_lists > MOST_LISTS or model.n_positions > MOST_POSITIONS:
        rule = f"the model must have at most {MOST_LISTS} lists and {MOST_POSITIONS} positions"
        raise invalid(owner, rule, (n_lists, model.n_positions))
    lists = list(itertools.permutations(range(model.n_items), model.n_positions))
    rates = {one: model.click_probabilities(one) for one in lists}
    values = {one: model.value(one) for one in lists}
    if order is not None:
        g = numbers(owner, "order", order)
        if g.size != model.n_items:
            raise invalid(owner, f"order must have one number per item ({model.n_items})", g.size)
    else:
        known: Floats | None = getattr(model, "attraction", None)
        g = _mean_differences(model.n_items, rates) if known is None else known
    return {
        1: _relaxed_unimodality(model.n_items, rates, values),
        2: Finding(True),
        3: _total_order(g),
        4: _optimal_reward(g, values),
        5: _identifiability(g, rates),
    }


def _relaxed_unimodality(
    n_items: int, rates: dict[List, Floats], values: dict[List, float]
) -> Finding:
    best = max(values.values())
    for one, value in values.items():
        if value >= best - EQUAL:
            continue
        for positions in itertools.permutations(range(len(one))):
            falls = rates[one][list(positions)]
            if (np.diff(falls) > EQUAL).any():
                continue
            around = _neighbours(one, positions, n_items)
            if not any(values[other] > value + EQUAL for other in around):
                where = tuple(k + 1 for k in positions)
                return Finding(False, f"list {one} earns {value:.6g}, the best list {best:.6g}, "
                               f"and no exchange by positions {where} improves it")  # fmt: skip
    return Finding(True)


def _neighbours(one: List, positions: tuple[int, ...], n_items: int) -> Iterator[List]:
    """Yield GRAB's neighbours of a list."""
    for k, other in itertools.pairwise(positions):
        swapped = list(one)
        swapped[k], swapped[other] = one[other], one[k]
        yield tuple(swapped)
    for item in set(range(n_items)) - set(one):
        replaced = list(one)
        replaced[positions[-1]] = item
        yield tuple(replaced)


def _total_order(g: Floats) -> Finding:
    for i, j in itertools.combinations(range(g.size), 2):
        if abs(g[i] - g[j]) <= EQUAL:
            return Finding(False, f"items {i} and {j} are equivalent, g = {g[i]:.6g}")
    return Finding(True)


def _optimal_reward(g: Floats, values: dict[List, float]) -> Finding:
    best = max(values.values())
    for one, value in values.items():
        shown = g[list(one)]
        not_shown = np.delete(g, list(one))
        ordered = (np.diff(shown) <= EQUAL).all() and (not_shown <= shown[-1] + EQUAL).all()
        if ordered and value < best - EQUAL:
            return Finding(
                False, f"list {one} is ordered by g and earns {value:.6g}, the best list {best:.6g}"
            )
    return Finding(True)


def _identifiability(g: Floats, rates: dict[List, Floats]) -> Finding:
    for i, j in itertools.permutations(range(g.size), 2):
        if g[i] <= g[j] + EQUAL:
            continue
        for one in rates:
            if i in one or j in one:
                difference = _difference(i, j, one, rates)
                # If clicks differ on average, they differ with a probability above 0.
                if difference <= EQUAL:
                    return Finding(
                        False,
                        f"g({i}) > g({j}), but exchanging them in list {one} gives item {i} "
                        f"{difference:+.6g} clicks more than item {j}",
                    )
    return Finding(True)


def _difference(i: int, j: int, one: List, rates: dict[List, Floats]) -> float:
    """Return E[c_i - c_j], averaged over a list and the list with items i and j exchanged."""
    names = {i: j, j: i}
    total = 0.0
    for shown in (one, tuple(names.get(item, item) for item in one)):
        for item, rate in zip(shown, rates[shown], strict=True):
            total += float(rate) * ((item == i) - (item == j))
    return total / 2.0


def _mean_differences(n_items: int, rates: dict[List, Floats]) -> Floats:
    g = np.zeros(n_items)
    for i, j in itertools.permutations(range(n_items), 2):
        g[i] += sum(_difference(i, j, one, rates) for one in rates)
    found: Floats = np.round(g / len(rates), 12)
    return found
