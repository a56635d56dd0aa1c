"""The base class of estimators by importance weights: checks, value and intervals."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from clickrank._core.arrays import Floats
from clickrank._core.validate import check_float
from clickrank.errors import CannotEvaluate, invalid
from clickrank.evaluate.estimate import Estimate
from clickrank.evaluate.estimator import (
    LEAST_COVERAGE,
    TOLERATED_ERRORS,
    Estimator,
    Logs,
    Targets,
    rewards_of,
)
from clickrank.evaluate.few_clicks import few_clicks_notes, widened_if_few
from clickrank.evaluate.log_propensities import (
    LogPropensities,
    Source,
    known_policy,
    propensities_of,
)
from clickrank.evaluate.usable_impressions import check_random, check_widths, pairs_of, usable
from clickrank.evaluate.weighted_terms import WeightedTerms, joined
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution
from clickrank.stats.bootstrap import bootstrap_intervals
from clickrank.stats.intervals import Interval, empirical_bernstein


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeightingEstimator(Estimator):
    """An estimator that weights impressions by how much likelier the target makes them.

    Parameters
    ----------
    reward, level, repeats, seed
        See `Estimator`.
    propensities
        "logged", "estimated" from the log's frequencies, "uniform" if all lists were equally
        likely, or the policy that chose the lists.
    self_normalised
        Whether to divide by the average of the weights instead of by 1, its expectation. This adds
        a small bias, of the order of 1/n, and often removes much of the variance.
    clip
        Larger weights are cut to this number. This reduces the variance and adds a bias, which a
        note of the result bounds.
    largest_weight
        An upper bound of all weights, for the empirical Bernstein interval. By default it is
        ``clip``, or follows from the policy that chose the lists, or is the largest weight in the
        log, which is no certain bound.
    least_effective
        Smallest effective sample size that is not refused.
    """

    propensities: Source = "logged"
    self_normalised: bool = False
    clip: float | None = None
    largest_weight: float | None = None
    least_effective: float = 30.0

    #: What the log must have shown of the target's lists, for error messages.
    needs: ClassVar[str]
    #: Whether it needs to know which items were shown together.
    needs_lists: ClassVar[bool] = True
    #: Whether it can estimate the reward "any click".
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
            rule = "reward must be 'clicks': 'any click' is not a sum over positions"
            raise invalid(owner, rule, self.reward)

    @abc.abstractmethod
    def terms(self, log: Impressions, target: RankingDistribution) -> WeightedTerms:
        """Return the terms of each impression, without checking that the log is sufficient."""

    def estimate(self, log: Logs, target: Targets) -> Estimate:
        """Return the value of a target with its intervals, or raise `CannotEvaluate`.

        For several queries, give one log and one target per query. Every impression has the same
        weight.
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
        size = smallest_effective_size(terms.uncut_weights)
        notes += self._check(terms, size)
        columns, statistic = self._columns(terms, np.vstack(earned))
        value, gain = statistic(columns.mean(axis=0)).tolist()
        interval, gain_interval = bootstrap_intervals(
            columns, statistic, self.level, self.repeats, self.seed
        )
        most = self.largest_reward(earned[0].shape[1])
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
            notes += self._bound_notes(terms)
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
            largest_weight=float(terms.uncut_weights.max()),
            with_clicks=terms.with_clicks,
            assumes=self.assumes,
            notes=tuple(notes),
        )

    def _columns(
        self, terms: WeightedTerms, earned: Floats
    ) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Return columns, and the function from their means to the value and to the gain.

        Each column of values is divided by the share of impressions that have it and, if the
        estimator is self-normalised, by its average weight.
        """
        parts = [terms.values]
        if self.self_normalised:
            parts.append(terms.weights)
        if terms.observed is None:
            parts.append(earned.sum(axis=1, keepdims=True))
        else:
            parts += [terms.observed, earned]
        ends = np.cumsum([part.shape[1] for part in parts])[:-1]

        def statistic(means: Floats) -> Floats:
            values, *others = np.split(means, ends, axis=-1)
            logged = others[-1]
            if terms.observed is not None:
                logged = ratio(logged, others[-2], where=others[-2])
                values = ratio(values, others[-2], where=others[-2])
            if self.self_normalised:
                weights = others[0]
                if terms.observed is not None:
                    weights = ratio(weights, others[-2], where=others[-2])
                values = ratio(values, weights, where=weights)
            value = values.sum(axis=-1)
            return np.stack([value, value - logged.sum(axis=-1)], axis=-1)

        return np.hstack(parts), statistic

    def _bound_notes(self, terms: WeightedTerms) -> list[str]:
        """Return a note if the bound of the weights is not certain."""
        if self.clip is not None or self.largest_weight is not None:
            return []
        where = "of draws of the policy" if terms.drawn else "of the log"
        if self.propensities != "logged" and not terms.drawn:
            return []
        return [
            f"The empirical Bernstein interval uses the largest weight {where} as the bound of "
            "all weights. It is too short if a larger weight was possible."
        ]

    def _bernstein(self, terms: WeightedTerms) -> Interval:
        """Return the empirical Bernstein interval of the value."""
        if terms.observed is None:
            sums = terms.values.sum(axis=1)
            return empirical_bernstein(sums, terms.low, terms.high, self.level)
        # Each column has its impressions. By the union bound all intervals hold together.
        width = terms.values.shape[1]
        level = 1.0 - (1.0 - self.level) / width
        ends = [
            empirical_bernstein(values[observed > 0.0], terms.low, terms.high, level)
            for values, observed in zip(terms.values.T, terms.observed.T, strict=True)
        ]
        return Interval(sum(end.low for end in ends), sum(end.high for end in ends))

    def label(self) -> str:
        """Return its name, with "self-normalised" if it is."""
        return f"{self.name}, self-normalised" if self.self_normalised else self.name

    def cut(self, weights: Floats) -> Floats:
        """Return the weights, with those above ``clip`` cut to it."""
        return weights if self.clip is None else np.minimum(weights, self.clip)

    def bound(self, weights: Floats, possible: Floats | None) -> Floats:
        """Return the largest weight of each column: given, possible or in the log."""
        given = self.clip if self.clip is not None else self.largest_weight
        if given is not None:
            return np.full(weights.shape[1], given)
        return weights.max(axis=0) if possible is None else possible

    def prefix_bounds(
        self, log: Impressions, target: RankingDistribution
    ) -> tuple[Floats | None, bool]:
        """Return the largest weight of a prefix by position, and whether only draws were compared.

        None stands for weights that are not known, because the log's policy is not.
        """
        logging = known_policy(log, self.propensities)
        if logging is None:
            return None, False
        found = target.as_mixture(self.seed)
        lists = found.rankings
        ours, theirs = target.prefix_probabilities(lists), logging.prefix_probabilities(lists)
        return np.asarray(ratio(ours, theirs).max(axis=0)), not found.exact

    @property
    def counts(self) -> bool:
        """Whether the propensities are frequencies in the log."""
        return self.propensities == "estimated"

    @property
    def independent(self) -> bool:
        """Whether the terms are independent, which they are unless parts are fitted to the log."""
        return not self.counts

    def propensities_in(self, log: Impressions) -> LogPropensities:
        """Return the propensities of the log's lists."""
        return propensities_of(log, self.propensities)

    def _check(self, terms: WeightedTerms, size: float) -> list[str]:
        """Raise if the log cannot tell the value, and return notes otherwise."""
        notes: list[str] = []
        uncut = terms.uncut_weights
        if not (uncut > 0.0).any(axis=0).all():
            raise CannotEvaluate(
                "No overlap: at some position the log never shows anything that the policy would "
                f"show (this estimator compares {self.needs})."
            )
        if size < self.least_effective:
            raise CannotEvaluate(
                f"Too little overlap: the log is worth {size:.1f} lists of the policy (effective "
                f"sample size), and at least {self.least_effective:g} are needed."
            )
        observed = np.ones_like(uncut) if terms.observed is None else terms.observed
        counts = observed.sum(axis=0)
        means = uncut.sum(axis=0) / counts
        spread = np.sqrt(((uncut - means * observed) ** 2).sum(axis=0))
        errors = TOLERATED_ERRORS * spread / counts
        if self.counts:
            errors = np.zeros_like(errors)
        lowest, highest = int(np.argmin(means + errors)), int(np.argmax(means - errors))
        if means[lowest] + errors[lowest] < LEAST_COVERAGE:
            missing = 1.0 - means[lowest]
            why = "" if self.counts else ", or the propensities are too large"
            raise CannotEvaluate(
                f"No overlap: about {100 * missing:.0f} % of what the policy shows ({self.needs}) "
                f"is never shown in the log{why}."
            )
        if means[highest] - errors[highest] > 2.0 - LEAST_COVERAGE:
            raise CannotEvaluate(
                "The propensities do not fit the log: the importance weights should average 1, but "
                f"average {means[highest]:.2f}."
            )
        if self.counts:
            notes.append(
                "Propensities are frequencies in this log and are taken as exact. This is right if "
                "the choice of the list did not depend on the visitor, and if people's behaviour "
                "did not change."
            )
            if means[lowest] < 1.0 - 1e-9:
                missing = 1.0 - means[lowest]
                notes.append(f"{100 * missing:.1f} % of what the policy shows was never shown.")
        if self.clip is not None:
            lost = ((uncut - terms.weights).sum(axis=0) / counts).sum() * terms.largest_factor
            share = float((uncut > self.clip).mean())
            notes.append(
                f"Weights above {self.clip:g} ({100 * share:.2f} % of them) are cut, with a bias "
                f"of at most about {lost:.3g}."
            )
        return notes


def effective_size(weights: Floats) -> float:
    """Return the effective sample size (Σ w)² / Σ w².

    >>> effective_size(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def smallest_effective_size(weights: Floats) -> float:
    """Return the smallest effective sample size of the columns."""
    return min(effective_size(column) for column in weights.T)


def ratio(numerator: Floats, denominator: Floats, where: Floats | None = None) -> Floats:
    """Return a ratio, and 0 where ``where``, by default the numerator, is not above 0."""
    positive = (numerator if where is None else where) > 0.0
    with np.errstate(divide="ignore"):
        found: Floats = np.divide(
            numerator, denominator, out=np.zeros(positive.shape), where=positive
        )
    return found
