"""What to evaluate: the log's own policy, or a fixed list, as a distribution over rankings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank.errors import CannotEvaluate, invalid
from clickrank.logs import Impressions
from clickrank.rankings.distributions import Marginals, Mixture, RankingDistribution
from clickrank.rankings.enumeration import item_shares


def shown_in(log: Impressions, names: NDArray[Any] | None = None) -> RankingDistribution:
    """Return the average policy of a log, estimated by the frequencies of its lists.

    Parameters
    ----------
    log
        The log of the policy.
    names
        The items of the log to evaluate on, if it is another log. Items are numbered in that order,
        and an item that is not among them is refused.

    Examples
    --------
    >>> log = Impressions.of_arrays([[0, 1]], [[0, 0]], names=["b", "c"])
    >>> shown_in(log, names=np.array(["a", "b", "c"])).marginals().argmax(axis=0)
    array([1, 2])
    """
    rankings, called = log.rankings, log.items
    if names is not None:
        shown = np.flatnonzero(np.bincount(rankings[rankings >= 0], minlength=len(called)))
        # The last entry stands for positions without an item, which have the number -1.
        numbers = np.full(len(called) + 1, -1, dtype=np.int64)
        numbers[shown] = _numbers(called[shown].tolist(), names)
        rankings, called = numbers[rankings], names
    if (rankings >= 0).all():
        return Mixture(rankings, len(called), names=called)
    return Marginals(item_shares(len(called), rankings), called)


def fixed_list(items: Sequence[Any], names: NDArray[Any]) -> Mixture:
    """Return the target that always shows one list, given by the names of its items.

    >>> fixed_list(["c", "a"], np.array(["a", "b", "c"])).rankings
    array([[2, 0]])
    """
    return Mixture([_numbers(items, names)], len(names), names=names)


def _numbers(items: Sequence[Any], names: NDArray[Any]) -> list[int]:
    """Return the number of each item among the names, or raise."""
    numbers = {str(name): number for number, name in enumerate(names.tolist())}
    for item in items:
        if str(item) not in numbers:
            raise CannotEvaluate(f"No overlap: the log never shows the item {str(item)!r}.")
    return [numbers[str(item)] for item in items]


def check_of_log(target: RankingDistribution, log: Impressions, owner: str) -> None:
    """Raise if a target has other items or positions than a log."""
    n_items, width = len(log.items), log.rankings.shape[1]
    if (target.n_items, target.n_positions) != (n_items, width):
        rule = f"the policy must have the {n_items} items and {width} positions of the log"
        raise invalid(owner, rule, (target.n_items, target.n_positions))
    if target.names is None or target.names is log.items:
        return
    pairs = zip(target.names.tolist(), log.items.tolist(), strict=True)
    for number, (mine, other) in enumerate(pairs):
        if str(mine) != str(other):
            rule = f"item {number} of the policy must be item {number} of the log, {str(other)!r}"
            raise invalid(owner, rule, str(mine))
