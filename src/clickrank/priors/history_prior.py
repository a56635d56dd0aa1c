"""Priors from history: the distribution of the click rates of other items or queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, expit, gammaln

from clickrank._core.arrays import Floats, Ints, numbers
from clickrank._core.validate import check_float
from clickrank.errors import invalid
from clickrank.stats.beta_prior import LARGEST_WEIGHT, Beta

Counts: TypeAlias = "ArrayLike | Sequence[ArrayLike] | Mapping[Any, ArrayLike]"

_OWNER = "from_history"
#: The smallest weight of a learned prior, in views. If all rates are 0 or 1, the best weight is 0.
SMALLEST_WEIGHT = 0.01
# The number of weights that are tried to separate the maxima from each other.
_STEPS = 40
# With more distinct counts than this, similar counts are merged.
_MANY = 20_000


def from_history(clicks: Counts, views: Counts, largest_weight: float | None = None) -> Beta:
    """Return the Beta distribution that maximises the likelihood of the counts of other items.

    The click rate of each item is modelled as a draw from Beta(α, β), and its clicks as a binomial
    draw with that rate. α and β maximise Π_i B(α + c_i, β + v_i − c_i) / B(α, β) for c_i clicks in
    v_i views (empirical Bayes). The result is the prior of a new item of the same kind. Only count
    views in which the item was examined.

    Parameters
    ----------
    clicks, views
        The number of clicks and of views of each item. Either one vector of whole numbers, or one
        vector per query, in a list or a mapping; the items of all queries are then pooled.
    largest_weight
        The largest weight of the prior, in views. If the rates differ less than by chance, the
        likelihood is largest for an infinite weight. The default is the total number of views,
        because a prior cannot say more than the data from which it was learned.

    Raises
    ------
    InvalidValue
        If the counts are invalid, or if nothing can be learned from them: there is no click, no
        view without a click, or no item that was viewed twice (only such items say something about
        the weight).

    Notes
    -----
    For a fixed weight α + β, the likelihood has one maximum in the mean. As a function of the
    weight it may have several maxima, and with few items often one more at infinity. All of them
    are found, including 0.01 and the largest weight, and the best is returned.

    Examples
    --------
    >>> prior = from_history(clicks=[0, 3, 1, 8, 2, 0, 1], views=[10, 12, 9, 20, 11, 7, 30])
    >>> prior.mean.round(3), prior.weight.round(1)
    (np.float64(0.147), np.float64(8.5))
    """
    won, seen = _pooled(clicks, views)
    total = int(seen.sum())
    for rule, amount in (
        ("there must be at least one view", total),
        ("there must be at least one click", int(won.sum())),
        ("there must be at least one view without a click", int((seen - won).sum())),
        ("at least one item must have been viewed twice", int(seen.max(initial=0)) - 1),
    ):
        if amount <= 0:
            raise invalid(_OWNER, f"{rule} to learn from", f"{total} views")
    most = min(float(total), LARGEST_WEIGHT)
    if largest_weight is not None:
        most = check_float(
            _OWNER, "largest_weight", largest_weight, SMALLEST_WEIGHT, LARGEST_WEIGHT
        )
    likelihood = _Likelihood(Tally.of(won), Tally.of(seen - won), Tally.of(seen))
    weight = likelihood.best_weight(most)
    mean, rest = likelihood.mean(weight)
    return Beta(mean * weight, rest * weight)


class Tally(NamedTuple):
    """The distinct counts above 0, and how often each occurs, which the likelihood depends on."""

    counts: Floats
    times: Floats

    @classmethod
    def of(cls, counts: Ints) -> Tally:
        """Return the distinct counts; if there are very many, similar ones are merged."""
        found, times = np.unique(counts[counts > 0], return_counts=True)
        if found.size <= _MANY:
            return cls(found.astype(np.float64), times.astype(np.float64))
        # Counts that differ by less than 1/2000 are replaced by their mean; those below 2,000 stay
        # separate. This changes derivatives by at most a millionth.
        start = np.flatnonzero(np.diff(np.floor(2000.0 * np.log(found)), prepend=-1.0))
        together = np.add.reduceat(times, start).astype(np.float64)
        return cls(np.add.reduceat(times * found, start) / together, together)

    def rise(self, x: float) -> float:
        """Return Σ ψ(x + count) − ψ(x), the derivative of Σ log Γ(x + count) − log Γ(x)."""
        counts = self.counts
        if x < 100.0:
            rises = digamma(x + counts) - digamma(x)
        else:
            # By the asymptotic series, term by term, which does not cancel even if x is large.
            ratio, y = counts / x, x + counts
            near, far = 1.0 / (x * x), 1.0 / (y * y)
            # 1/x² − 1/y² and 1/x⁴ − 1/y⁴
            square = ratio * (x + y) / x * far
            rises = np.log1p(ratio) + 0.5 * ratio / y + square * (1 / 12 - (near + far) / 120)
        return float(np.dot(self.times, rises))

    def log_rise(self, x: float) -> float:
        """Return Σ log Γ(x + count) − log Γ(x) − count · log x."""
        counts = self.counts
        if x < 100.0:
            rises = gammaln(x + counts) - gammaln(x) - counts * math.log(x)
        else:
            y = x + counts
            rises = (y - 0.5) * np.log1p(counts / x) - counts
            rises -= counts / (12.0 * x * y) - (1.0 / x**3 - 1.0 / y**3) / 360.0
        return float(np.dot(self.times, rises))


class _Likelihood(NamedTuple):
    """The likelihood as a function of the weight, with the best mean for each weight."""

    won: Tally
    lost: Tally
    seen: Tally

    def mean(self, weight: float) -> tuple[float, float]:
        """Return the mean at which the derivative is 0, and 1 minus this mean."""
        from scipy.optimize import brentq

        def slope(x: float) -> float:
            up = self.won.rise(weight * float(expit(x)))
            down = self.lost.rise(weight * float(expit(-x)))
            return math.log(up) - math.log(down)  # nearly linear in x, the log odds

        x = float(brentq(slope, -60.0, 60.0, xtol=1e-13))
        return float(expit(x)), float(expit(-x))

    def slope(self, log_weight: float) -> float:
        """Return the derivative with respect to the weight, divided by its negative part."""
        weight = math.exp(log_weight)
        mean, rest = self.mean(weight)
        gain = mean * self.won.rise(weight * mean) + rest * self.lost.rise(weight * rest)
        return gain / self.seen.rise(weight) - 1.0

    def value(self, log_weight: float) -> float:
        """Return the log-likelihood."""
        weight = math.exp(log_weight)
        mean, rest = self.mean(weight)
        clicks, misses = (float(np.dot(t.counts, t.times)) for t in (self.won, self.lost))
        binomial = clicks * math.log(mean) + misses * math.log(rest)
        gains = self.won.log_rise(weight * mean) + self.lost.log_rise(weight * rest)
        return binomial + gains - self.seen.log_rise(weight)

    def best_weight(self, most: float) -> float:
        """Return the weight up to ``most`` with the largest likelihood, of all maxima."""
        from scipy.optimize import brentq

        logs = np.linspace(math.log(SMALLEST_WEIGHT), math.log(most), _STEPS).tolist()
        slopes = [self.slope(log_weight) for log_weight in logs]
        maxima = [
            float(brentq(self.slope, low, high, xtol=1e-12))
            for (low, high), (up, down) in zip(pairwise(logs), pairwise(slopes), strict=True)
            if up > 0.0 > down
        ]
        maxima += [logs[0]] * (slopes[0] <= 0.0) + [logs[-1]] * (slopes[-1] >= 0.0)
        best = max(maxima, key=self.value)
        return most if best == logs[-1] else math.exp(best)


def _pooled(clicks: Counts, views: Counts) -> tuple[Ints, Ints]:
    """Check the counts, and return the clicks and views of all queries as two vectors."""
    if isinstance(clicks, Mapping) != isinstance(views, Mapping):
        raise invalid(_OWNER, "clicks and views must both be mappings, or neither", type(views))
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
        raise invalid(_OWNER, "clicks and views must have the same number of queries", sizes)
    for i, (won, seen) in enumerate(zip(clicks, views, strict=True)):
        yield f"[{i}]", won, seen


def _checked(label: str, clicks: ArrayLike, views: ArrayLike) -> tuple[Ints, Ints]:
    won, seen = numbers(_OWNER, f"clicks{label}", clicks), numbers(_OWNER, f"views{label}", views)
    won, seen = won.ravel(), seen.ravel()
    if won.size != seen.size:
        rule = f"clicks{label} and views{label} must have the same length"
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
