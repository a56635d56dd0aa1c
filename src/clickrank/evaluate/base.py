"""What all estimators by importance weights share: the checks, the value and its intervals."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from clickrank._core.arrays import Floats
from clickrank._core.validate import check_float, check_int
from clickrank.errors import CannotEvaluate, invalid
from clickrank.evaluate.few_clicks import few_clicks_notes, widened_if_few
from clickrank.evaluate.propensities import Chances, Source, propensities_of
from clickrank.evaluate.result import Estimate
from clickrank.evaluate.terms import Terms, joined
from clickrank.evaluate.usable_part import check_random, check_widths, pairs_of, usable
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution
from clickrank.stats.bootstrap import bootstrap_intervals
from clickrank.stats.intervals import Interval, empirical_bernstein

#: "clicks" of a list, or whether it has "any click".
Reward: TypeAlias = Literal["clicks", "any click"]

#: Weights average 1 if the log could have shown all that the target shows; below, it could not.
COVERED = 0.95
#: Standard errors that an average of weights may be off by.
ERRORS = 4.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimator(abc.ABC):
    """An estimator of what a target would have earned, from the log of another policy.

    Parameters
    ----------
    reward
        What counts: "clicks", or whether there is "any click".
    level
        How often the intervals are to hold the true value.
    repeats, seed
        How often the bootstrap draws, and what decides the draws.
    """

    #: Its registered name.
    name: ClassVar[str]
    #: What must hold for the value to be right, in a sentence.
    assumes: ClassVar[str]

    reward: Reward = "clicks"
    level: float = 0.95
    repeats: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings."""
        owner = type(self).__name__
        if self.reward not in ("clicks", "any click"):
            raise invalid(owner, "reward must be 'clicks' or 'any click'", self.reward)
        check_float(owner, "level", self.level, 0.5, 1.0 - 1e-9)
        check_int(owner, "repeats", self.repeats, 2)
        check_int(owner, "seed", self.seed, 0)

    @abc.abstractmethod
    def estimate(
        self,
        log: Impressions | Sequence[Impressions],
        target: RankingDistribution | Sequence[RankingDistribution],
    ) -> Estimate:
        """Return the value of a target with its intervals, or refuse with `CannotEvaluate`.

        Several queries are given as as many logs and targets; each impression counts the same.
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeightingEstimator(Estimator):
    """An estimator that weighs impressions by how much likelier the target makes them.

    Parameters
    ----------
    reward, level, repeats, seed
        See `Estimator`.
    propensities
        "logged", "estimated" from the log's frequencies, "uniform" if all lists were as likely, or
        the policy that chose them.
    self_normalised
        Whether to divide by the weights' own average instead of 1, which it is in expectation: a
        small bias, of the order of 1/n, for what is often much less variance.
    clip
        Weights above are cut to it: less variance, and a bias that a note of the result bounds.
    largest_weight
        The most that a weight can be, for empirical Bernstein's interval. Left out, it is ``clip``,
        or follows from the policy that chose the lists, or is the largest in the log, which bounds
        nothing for certain.
    least_effective
        Refuse if the effective sample size is below.
    """

    propensities: Source = "logged"
    self_normalised: bool = False
    clip: float | None = None
    largest_weight: float | None = None
    least_effective: float = 30.0

    #: Whether it needs to know what was shown together.
    needs_lists: ClassVar[bool] = True
    #: Whether "any click" can be told from its terms.
    knows_any_click: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        owner = type(self).__name__
        for name in ("clip", "largest_weight"):
            if getattr(self, name) is not None:
                check_float(owner, name, getattr(self, name), 1e-300)
        check_float(owner, "least_effective", self.least_effective, 0.0)
        if self.reward == "any click" and not self.knows_any_click:
            rule = "reward must be 'clicks': whether there is any click is no sum over positions"
            raise invalid(owner, rule, self.reward)

    @abc.abstractmethod
    def terms(self, log: Impressions, target: RankingDistribution) -> Terms:
        """Return the terms of each impression, without a look at whether the log suffices."""

    def estimate(
        self,
        log: Impressions | Sequence[Impressions],
        target: RankingDistribution | Sequence[RankingDistribution],
    ) -> Estimate:
        """Return the value of a target with its intervals, or refuse with `CannotEvaluate`.

        Several queries are given as as many logs and targets; each impression counts the same.
        """
        notes: list[str] = []
        found, earned = [], []
        pairs = pairs_of(log, target)
        check_widths([one for one, _ in pairs], type(self).__name__)
        for whole_log, wanted in pairs:
            one, about = usable(whole_log, self.propensities, self.needs_lists)
            check_random(one, wanted, self.propensities)
            found.append(self.terms(one, wanted))
            earned.append(rewards_of(one, self.reward))
            notes += [*wanted.notes, *about]
        terms = joined(found)
        size = smallest_effective(terms.full)
        notes += self._check(terms, size)
        columns, statistic = self._columns(terms, np.vstack(earned))
        value, gain = statistic(columns.mean(axis=0)).tolist()
        interval, gain_interval = bootstrap_intervals(
            columns, statistic, self.level, self.repeats, self.seed
        )
        most = float(earned[0].shape[1]) if self.reward == "clicks" else 1.0
        wide = widened_if_few(interval, value, terms.with_clicks, size, most, self.level)
        if wide != interval:
            gain_interval = Interval(
                min(gain_interval.low, gain + wide.low - value),
                max(gain_interval.high, gain + wide.high - value),
            )
            interval = wide
        notes += few_clicks_notes(terms.with_clicks)
        bernstein = None
        if not self.self_normalised and self.independent:
            bernstein = self._bernstein(terms)
            notes += self._about_bound(terms)
        return Estimate(
            estimator=self.label(),
            value=value,
            interval=interval,
            gain=gain,
            gain_interval=gain_interval,
            bernstein=bernstein,
            level=self.level,
            n=len(columns),
            effective_size=size,
            largest_weight=float(terms.full.max()),
            with_clicks=terms.with_clicks,
            assumes=self.assumes,
            notes=tuple(notes),
        )

    def _columns(self, terms: Terms, earned: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Return columns, and how their means give the value and what it is above the log's own.

        Each column of values is divided by how often it was there; self-normalised, by its weights.
        """
        parts = [terms.values]
        if self.self_normalised:
            parts.append(terms.weights)
        if terms.there is None:
            parts.append(earned.sum(axis=1, keepdims=True))
        else:
            parts += [terms.there, earned]
        ends = np.cumsum([part.shape[1] for part in parts])[:-1]

        def statistic(means: Floats) -> Floats:
            values, *others = np.split(means, ends, axis=-1)
            own = others[-1]
            if terms.there is not None:
                own = ratio(own, others[-2], where=others[-2])
                values = ratio(values, others[-2], where=others[-2])
            if self.self_normalised:
                weights = others[0]
                if terms.there is not None:
                    weights = ratio(weights, others[-2], where=others[-2])
                values = ratio(values, weights, where=weights)
            value = values.sum(axis=-1)
            return np.stack([value, value - own.sum(axis=-1)], axis=-1)

        return np.hstack(parts), statistic

    def _about_bound(self, terms: Terms) -> list[str]:
        """Say so if the largest weight, for empirical Bernstein's interval, is not certain."""
        if self.clip is not None or self.largest_weight is not None:
            return []
        where = "of draws of the policy" if terms.drawn else "of the log"
        if self.propensities != "logged" and not terms.drawn:
            return []
        return [
            f"The largest weight {where} was taken as the bound of all for empirical "
            "Bernstein's interval; give largest_weight if a larger one was possible."
        ]

    def _bernstein(self, terms: Terms) -> Interval:
        if terms.there is None:
            sums = terms.values.sum(axis=1)
            return empirical_bernstein(sums, terms.low, terms.high, self.level)
        # Each column from its own impressions, surer by as many as there are.
        width = terms.values.shape[1]
        level = 1.0 - (1.0 - self.level) / width
        ends = [
            empirical_bernstein(values[there > 0.0], terms.low, terms.high, level)
            for values, there in zip(terms.values.T, terms.there.T, strict=True)
        ]
        return Interval(sum(end.low for end in ends), sum(end.high for end in ends))

    def label(self) -> str:
        """Return its name, and how it differs from the plain one."""
        return f"{self.name}, self-normalised" if self.self_normalised else self.name

    def cut(self, weights: Floats) -> Floats:
        """Return the weights, those above ``clip`` cut to it."""
        return weights if self.clip is None else np.minimum(weights, self.clip)

    def bound(self, weights: Floats, possible: Floats | None) -> Floats:
        """Return the largest weight of each column: given, possible or in the log."""
        given = self.clip if self.clip is not None else self.largest_weight
        if given is not None:
            return np.full(weights.shape[1], given)
        return weights.max(axis=0) if possible is None else possible

    @property
    def counts(self) -> bool:
        """Whether its propensities are frequencies of the log."""
        return self.propensities == "estimated"

    @property
    def independent(self) -> bool:
        """Whether its terms are independent: not so if parts of them are fitted to the log."""
        return not self.counts

    def propensities_in(self, log: Impressions) -> Chances:
        """Return the log's propensities."""
        return propensities_of(log, self.propensities)

    def _check(self, terms: Terms, size: float) -> list[str]:
        """Refuse if the log cannot tell; return what is worth a note."""
        notes: list[str] = []
        full = terms.full
        if not (full > 0.0).any(axis=0).all():
            raise CannotEvaluate(
                "No overlap: at some position the log never shows anything that the policy would "
                "show (for this estimator: " + self.needs + ")."
            )
        if size < self.least_effective:
            raise CannotEvaluate(
                f"Too little overlap: the log tells as much as {size:.1f} lists of the policy "
                f"would (effective sample size), and at least {self.least_effective:g} are needed."
            )
        there = np.ones_like(full) if terms.there is None else terms.there
        counts = there.sum(axis=0)
        means = full.sum(axis=0) / counts
        errors = ERRORS * np.sqrt(((full - means * there) ** 2).sum(axis=0)) / counts
        if self.counts:
            errors = np.zeros_like(errors)
        lowest, highest = int(np.argmin(means + errors)), int(np.argmax(means - errors))
        if means[lowest] + errors[lowest] < COVERED:
            missing = 1.0 - means[lowest]
            why = "" if self.counts else ", or the propensities are too large"
            raise CannotEvaluate(
                f"No overlap: about {missing:.0%} of what the policy shows ({self.needs}) is "
                f"never shown in the log{why}."
            )
        if means[highest] - errors[highest] > 2.0 - COVERED:
            raise CannotEvaluate(
                f"The propensities do not fit the log: weights must average 1, and average "
                f"{means[highest]:.2f}."
            )
        if self.counts:
            notes.append(
                "Propensities are frequencies in this log, taken as exact: right if which list "
                "was shown had nothing to do with who saw it, and people click as they did."
            )
            if means[lowest] < 1.0 - 1e-9:
                missing = 1.0 - means[lowest]
                notes.append(f"{missing:.1%} of what the policy shows was never shown.")
        if self.clip is not None:
            lost = ((full - terms.weights).sum(axis=0) / counts).sum() * terms.scale
            share = float((full > self.clip).mean())
            notes.append(
                f"Weights above {self.clip:g} ({share:.2%} of them) are cut: a bias of at most "
                f"about {lost:.3g}."
            )
        return notes

    #: What must have been shown of what the target shows.
    needs: ClassVar[str]


def rewards_of(log: Impressions, reward: Reward) -> Floats:
    """Return what each position earned: its click, or whether it had the list's first click."""
    clicks = log.clicks.astype(np.float64)
    if reward == "clicks":
        return clicks
    before = np.cumsum(clicks, axis=1) - clicks
    return np.where(before == 0.0, clicks, 0.0)


def effective_size(weights: Floats) -> float:
    """Return the effective sample size: (Σ w)² / Σ w².

    >>> effective_size(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def smallest_effective(weights: Floats) -> float:
    """Return the smallest effective sample size of the columns."""
    return min(effective_size(column) for column in weights.T)


def ratio(above: Floats, below: Floats, where: Floats | None = None) -> Floats:
    """Return a ratio, 0 where ``where`` is: what the target never shows weighs nothing."""
    holds = (above if where is None else where) > 0.0
    with np.errstate(divide="ignore"):
        found: Floats = np.divide(above, below, out=np.zeros(holds.shape), where=holds)
    return found
