"""Priors learned from history: the spread of the click rates of other items or queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, expit

from clickrank.beta import LARGEST_WEIGHT, Beta
from clickrank.errors import invalid
from clickrank.types import Floats, Ints, number, numbers

Counts: TypeAlias = "ArrayLike | Sequence[ArrayLike] | Mapping[Any, ArrayLike]"

_OWNER = "from_history"
#: The least that a learned prior is worth. Rates that are all 0 or 1 would ask for 0 views.
SMALLEST_WEIGHT = 0.01


def from_history(clicks: Counts, views: Counts, largest_weight: float | None = None) -> Beta:
    """Return the Beta distribution under which the counts of other items are most likely.

    The click rate of each item is taken for a draw from Beta(α, β), and its clicks for a binomial
    draw with that rate: α and β maximise Π_i B(α + c_i, β + v_i − c_i) / B(α, β) for c_i clicks in
    v_i views (empirical Bayes). A new item, of which nothing is known but that it is one of their
    kind, then starts with this prior. A view is one in which the item was surely looked at.

    Parameters
    ----------
    clicks, views
        How often each item was clicked and viewed: whole numbers, as many of the one as of the
        other. Also one vector a query, as a list or by name: all are taken together.
    largest_weight
        The most that the prior may be worth. Rates that differ less than chance would make them
        differ have their maximum at infinity. By default the number of all views: no prior knows
        more than what it was learned from.

    Raises
    ------
    InvalidValue
        Also if nothing can be learned: no click, no view without a click, or no item that was
        viewed twice (the weight shows only in items that were).

    Notes
    -----
    For a fixed weight α + β the likelihood has one maximum in the mean, and along these maxima
    the derivative by the weight changes its sign once: both are found by bracketing. The weight is
    at least 0.01.

    Examples
    --------
    >>> prior = from_history(clicks=[0, 3, 1, 8, 2, 0, 1], views=[10, 12, 9, 20, 11, 7, 30])
    >>> prior.mean.round(3), prior.weight.round(1)
    (np.float64(0.147), np.float64(8.5))
    """
    won, seen = _pooled(clicks, views)
    total = int(seen.sum())
    for rule, amount in (
        ("views must hold a view", total),
        ("clicks must hold a click", int(won.sum())),
        ("there must be a view without a click", int((seen - won).sum())),
        ("there must be an item viewed at least twice", int(seen.max(initial=0)) - 1),
    ):
        if amount <= 0:
            raise invalid(_OWNER, f"{rule}, or nothing can be learned", f"{total} views")
    most = min(float(total), LARGEST_WEIGHT)
    if largest_weight is not None:
        most = number(_OWNER, "largest_weight", largest_weight, SMALLEST_WEIGHT, LARGEST_WEIGHT)
    mean, weight = _likeliest(_Tally.of(won), _Tally.of(seen - won), _Tally.of(seen), most)
    return Beta(mean * weight, (1.0 - mean) * weight)


class _Tally(NamedTuple):
    """The distinct counts above 0 and how often each occurs: all that the likelihood needs."""

    counts: Floats
    times: Floats

    @classmethod
    def of(cls, counts: Ints) -> _Tally:
        found, times = np.unique(counts[counts > 0], return_counts=True)
        return cls(found.astype(np.float64), times.astype(np.float64))

    def rise(self, x: float) -> float:
        """Return Σ ψ(x + count) − ψ(x), the derivative of Σ log Γ(x + count) − log Γ(x)."""
        counts = self.counts
        if x < 100.0:
            rises = digamma(x + counts) - digamma(x)
        else:
            # By the asymptotic series, each term on its own: no cancellation however large x.
            ratio, y = counts / x, x + counts
            rises = np.log1p(ratio) + ratio / (2.0 * y) + ratio * (x + y) / (12.0 * x * y * y)
            rises -= ratio * (x + y) * (x * x + y * y) / (120.0 * x**3 * y**4)
        return float(np.dot(self.times, rises))


def _likeliest(won: _Tally, lost: _Tally, seen: _Tally, most: float) -> tuple[float, float]:
    """Return the mean and the weight of largest likelihood."""
    from scipy.optimize import brentq

    def mean_at(weight: float) -> float:
        """Return log(mean / (1 − mean)) where the derivative by the mean is 0."""

        def slope(x: float) -> float:
            up, down = won.rise(weight * float(expit(x))), lost.rise(weight * float(expit(-x)))
            return math.log(up) - math.log(down)  # nearly linear in x

        return float(brentq(slope, -60.0, 60.0, xtol=1e-13))

    def slope(log_weight: float) -> float:
        """Return the derivative by the weight along those means, over its largest part."""
        weight = math.exp(log_weight)
        x = mean_at(weight)
        mean, rest = float(expit(x)), float(expit(-x))
        gain = mean * won.rise(weight * mean) + rest * lost.rise(weight * rest)
        return gain / seen.rise(weight) - 1.0

    low, high = math.log(SMALLEST_WEIGHT), math.log(most)
    if slope(low) <= 0.0:
        best = low
    elif slope(high) >= 0.0:
        best = high
    else:
        best = float(brentq(slope, low, high, xtol=1e-12))
    weight = min(math.exp(best), most)
    return float(expit(mean_at(weight))), weight


def _pooled(clicks: Counts, views: Counts) -> tuple[Ints, Ints]:
    """Check the counts and return those of all queries as two vectors."""
    if isinstance(clicks, Mapping) != isinstance(views, Mapping):
        raise invalid(_OWNER, "clicks and views must both be by name, or neither", type(views))
    if isinstance(clicks, Mapping) and isinstance(views, Mapping):
        if clicks.keys() != views.keys():
            odd = next(iter(clicks.keys() ^ views.keys()))
            raise invalid(_OWNER, "clicks and views must have the same names", odd)
        groups: Iterable[tuple[str, ArrayLike, ArrayLike]] = (
            (f"[{name!r}]", clicks[name], views[name]) for name in clicks
        )
    elif _by_query(clicks) and _by_query(views):
        groups = _paired(list(clicks), list(views))  # type: ignore[arg-type]
    else:
        groups = [("", clicks, views)]  # type: ignore[list-item]
    pairs = [_checked(label, won, seen) for label, won, seen in groups]
    if not pairs:
        raise invalid(_OWNER, "clicks and views must not be empty", pairs)
    return np.concatenate([won for won, _ in pairs]), np.concatenate([seen for _, seen in pairs])


def _by_query(counts: object) -> bool:
    return isinstance(counts, Sequence) and any(np.ndim(entry) for entry in counts)


def _paired(
    clicks: list[ArrayLike], views: list[ArrayLike]
) -> Iterator[tuple[str, ArrayLike, ArrayLike]]:
    if len(clicks) != len(views):
        sizes = (len(clicks), len(views))
        raise invalid(_OWNER, "clicks and views must be of as many queries", sizes)
    for i, (won, seen) in enumerate(zip(clicks, views, strict=True)):
        yield f"[{i}]", won, seen


def _checked(label: str, clicks: ArrayLike, views: ArrayLike) -> tuple[Ints, Ints]:
    won, seen = numbers(_OWNER, f"clicks{label}", clicks), numbers(_OWNER, f"views{label}", views)
    won, seen = won.ravel(), seen.ravel()
    if won.size != seen.size:
        rule = f"clicks{label} and views{label} must hold as many numbers"
        raise invalid(_OWNER, rule, (won.size, seen.size))
    for name, counts in (("clicks", won), ("views", seen)):
        good = (counts >= 0.0) & (counts < 2.0**53) & (counts == np.floor(counts))
        if not good.all():
            where = int(np.argmin(good))
            rule = f"{name}{label}[{where}] must be a whole number of at least 0"
            raise invalid(_OWNER, rule, float(counts[where]))
    if (won > seen).any():
        where = int(np.argmax(won > seen))
        rule = f"clicks{label}[{where}] must be at most views{label}[{where}] ({seen[where]:.0f})"
        raise invalid(_OWNER, rule, int(won[where]))
    return won.astype(np.int64), seen.astype(np.int64)
