"""Beta distributions of item attractions, as priors or posteriors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from clickrank._core.arrays import Floats, Ints, Vector, numbers, origin_of
from clickrank._core.validate import LARGEST, check_float, check_int
from clickrank.errors import invalid

#: Largest parameter. With a larger one the distribution would be a point for all purposes.
LARGEST_WEIGHT = 1e15


@dataclass(frozen=True)
class Beta:
    """A Beta(α, β) distribution of the attraction of each item.

    α and β count clicks and misses as if they had been observed. Two numbers instead of two vectors
    hold for every item of any catalogue. Instances are immutable values: they can be compared,
    hashed and printed, and methods return new ones.

    Parameters
    ----------
    alpha, beta
        The parameters, above 0: vectors with one entry per item, or numbers.

    Examples
    --------
    >>> prior = Beta([1.0, 8.0], [9.0, 2.0])
    >>> prior.mean
    array([0.1, 0.8])
    >>> prior.updated(clicks=[0, 1], misses=[1, 0])
    Beta(alpha=(1.0, 9.0), beta=(10.0, 2.0))
    >>> Beta.from_mean([0.1, 0.8], weight=10) == prior
    True
    >>> prior.widened(2)
    Beta(alpha=(0.5, 4.0), beta=(4.5, 1.0))
    """

    alpha: float | Vector = 1.0
    beta: float | Vector = 1.0

    def __post_init__(self) -> None:
        """Check the parameters, and store them as numbers or tuples."""
        alpha, beta = (_positive(name, getattr(self, name)) for name in ("alpha", "beta"))
        if alpha.ndim == beta.ndim == 1 and alpha.size != beta.size:
            sizes = (alpha.size, beta.size)
            raise invalid("Beta", "alpha and beta must have the same length", sizes)
        for name, values in zip(("alpha", "beta"), np.broadcast_arrays(alpha, beta), strict=True):
            object.__setattr__(self, name, _plain(values))

    @classmethod
    def from_mean(cls, mean: ArrayLike, weight: ArrayLike) -> Beta:
        """Return the prior with these means that is worth ``weight`` views."""
        means = numbers("Beta", "mean", mean)
        weights = _positive("weight", weight)
        good = (means > 0) & (means < 1)
        if not good.all():
            wrong = float(means.ravel()[int(np.argmin(good))])
            raise invalid("Beta", "mean must be above 0 and below 1", wrong)
        _same_length(means, weights, "mean and weight")
        alpha: Floats = means * weights
        return cls(_plain(alpha), _plain(weights - alpha))

    @property
    def n_items(self) -> int | None:
        """Number of items; None if the prior holds for every item."""
        return len(self.alpha) if isinstance(self.alpha, tuple) else None

    @property
    def weight(self) -> Floats:
        """Number of views that it is worth, α + β."""
        return np.add(self.alpha, self.beta, dtype=np.float64)

    @property
    def mean(self) -> Floats:
        """The expected attraction, α/(α + β)."""
        found: Floats = np.asarray(self.alpha) / self.weight
        return found

    @property
    def variance(self) -> Floats:
        """The variance of the attraction."""
        found: Floats = self.mean * (1.0 - self.mean) / (self.weight + 1.0)
        return found

    def quantile(self, p: float) -> Floats:
        """Return the quantile of each item's attraction at probability ``p``."""
        level = check_float("Beta", "p", p, 0.0, 1.0)
        return np.asarray(betaincinv(self.alpha, self.beta, level), dtype=np.float64)

    def updated(self, clicks: ArrayLike, misses: ArrayLike) -> Beta:
        """Return the posterior after further clicks and misses, which may be pseudo-counts."""
        alpha, beta = np.asarray(self.alpha, dtype=np.float64), np.asarray(self.beta)
        wins, losses = (_counts(k, v) for k, v in (("clicks", clicks), ("misses", misses)))
        _same_length(wins, losses, "clicks and misses")
        for name, counts in (("clicks", wins), ("misses", losses)):
            _same_length(alpha, counts, f"the prior and {name}")
        return Beta(_plain(alpha + wins), _plain(beta + losses))

    def sharpened(self, factor: float) -> Beta:
        """Return a prior with equal means that is worth ``factor`` times as many views."""
        scale = _factor(factor)
        return Beta(_plain(np.asarray(self.alpha) * scale), _plain(np.asarray(self.beta) * scale))

    def widened(self, factor: float) -> Beta:
        """Return a prior with equal means that is worth ``factor`` times fewer views."""
        return self.sharpened(1.0 / _factor(factor))

    def relabelled(self, origin: Ints, new: Beta | None = None) -> Beta:
        """Return the prior for a catalogue whose item i is item ``origin[i]`` of this one.

        -1 stands for a new item. ``new`` is the prior of the new items, in their order. By default
        they have the prior that holds for every item or, if there is none, α = β = 1.

        >>> Beta([1.0, 8.0], [9.0, 2.0]).relabelled(np.array([1, -1]))
        Beta(alpha=(8.0, 1.0), beta=(2.0, 1.0))
        """
        if self.n_items is None and new is None:
            return self
        origin = origin_of("Beta", origin, self.n_items or LARGEST)
        fresh = np.flatnonzero(origin < 0)
        # Every run of a simulation does this, so that the checks, passed already, are left out.
        made = object.__new__(Beta)
        given = (new or UNIFORM).for_items(fresh.size, "Beta") if fresh.size else ((), ())
        for name, values in zip(("alpha", "beta"), given, strict=True):
            before = np.asarray(getattr(self, name))
            found = before[origin] if before.ndim else np.full(origin.size, before)
            found[fresh] = values
            object.__setattr__(made, name, tuple(found.tolist()))
        return made

    def for_items(self, n_items: int, owner: str = "Beta") -> tuple[Floats, Floats]:
        """Return α and β with one entry per item, or raise in the name of ``owner``."""
        count = check_int(owner, "n_items", n_items, 1)
        if self.n_items not in (None, count):
            raise invalid(owner, f"prior must have {count} items, or hold for all", self.n_items)
        return np.full(count, self.alpha, dtype=np.float64), np.full(count, self.beta)

    def counts(self, n_items: int, owner: str = "Beta") -> tuple[Ints, Ints]:
        """Return the clicks α - 1 and misses β - 1 that turn a uniform prior into this one."""
        alpha, beta = self.for_items(n_items, owner)
        return (alpha - 1.0).astype(np.int64), (beta - 1.0).astype(np.int64)

    def sample(self, n_items: int, rng: np.random.Generator | int) -> Floats:
        """Draw an attraction for each item."""
        drawn: Floats = np.random.default_rng(rng).beta(*self.for_items(n_items))
        return drawn


def check_counts(owner: str, prior: object) -> None:
    """Raise unless a prior is a Beta whose α and β are integers of at least 1."""
    if not isinstance(prior, Beta):
        raise invalid(owner, "prior must be a clickrank.priors.Beta", prior)
    for name in ("alpha", "beta"):
        values = np.atleast_1d(getattr(prior, name))
        wrong = (values < 1) | (values != np.floor(values))
        if wrong.any():
            rule = f"prior must have whole numbers of at least 1 for {name}"
            raise invalid(owner, rule, float(values[int(np.argmax(wrong))]))


def _positive(name: str, value: ArrayLike) -> Floats:
    """Check a number or a vector above 0."""
    if np.ndim(value) == 0:
        single = check_float("Beta", name, value, 0.0, LARGEST_WEIGHT)
        if single <= 0.0:
            raise invalid("Beta", f"{name} must be above 0", value)
        return np.asarray(single)
    array = numbers("Beta", name, value)
    if array.ndim != 1 or array.size == 0:
        raise invalid("Beta", f"{name} must be a number or a non-empty vector", value)
    good = (array > 0) & (array <= LARGEST_WEIGHT)  # false for NaN
    if not good.all():
        where = int(np.argmin(good))
        rule = f"{name}[{where}] must be above 0 and at most {LARGEST_WEIGHT:g}"
        raise invalid("Beta", rule, float(array[where]))
    return array


def _factor(factor: float) -> float:
    found = check_float("Beta", "factor", factor, 0.0)
    if found == 0.0:
        raise invalid("Beta", "factor must be above 0", factor)
    return found


def _same_length(a: Floats, b: Floats, names: str) -> None:
    if a.ndim == b.ndim == 1 and a.size != b.size:
        raise invalid("Beta", f"{names} must have the same number of items", (a.size, b.size))


def _counts(name: str, value: ArrayLike) -> Floats:
    array = numbers("Beta", name, value)
    if array.ndim > 1 or not (array >= 0).all():
        raise invalid("Beta", f"{name} must be a number or a vector of at least 0", value)
    return array


def _plain(values: Floats) -> float | tuple[float, ...]:
    return tuple(values.tolist()) if values.ndim else float(values)


#: Every attraction is equally likely: the default prior of policies.
UNIFORM = Beta()
