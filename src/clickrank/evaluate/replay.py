"""Replay: a policy runs over the log, and is rewarded where it chooses the list that was shown.

V̂ = average reward of the impressions i with π_i's list equal to A_i, each taken with probability
c / μ(A_i), where c is the smallest propensity  (lihong2011; dudik2012)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float
from clickrank.errors import CannotEvaluate, invalid
from clickrank.evaluate.estimate import Estimate
from clickrank.evaluate.estimator import LEAST_COVERAGE, TOLERATED_ERRORS, Estimator, rewards_of
from clickrank.evaluate.few_clicks import few_clicks_notes, widened_if_few
from clickrank.evaluate.log_propensities import Source, known_policy, propensities_of
from clickrank.evaluate.usable_impressions import check_random, pairs_of, usable
from clickrank.learning import Learner
from clickrank.logs import Impressions
from clickrank.policies import Policy
from clickrank.policies.contract import ANY_ITEMS, Request, code_of, rank, update
from clickrank.rankings.distributions import RankingDistribution, UniformLists
from clickrank.stats.bootstrap import bootstrap_interval
from clickrank.stats.intervals import Interval, difference_interval


@dataclass(frozen=True, kw_only=True)
class Replay(Estimator):
    """Replay: keep the impressions whose list is the one that the policy chooses.

    For each impression the policy chooses a list. If it is the list that was shown, its clicks
    count, and a policy that learns is updated with them. Otherwise the impression is skipped. The
    value is the average reward of the impressions kept.

    If the log's lists were drawn uniformly, the impressions kept are as if the policy had been
    running, learning included. Otherwise an impression is kept only with probability c / μ(A),
    where μ(A) is the propensity of its list and c the smallest propensity, so that every list is
    kept equally often. With N possible lists about one impression in N is kept: replay is for small
    pages. The expected share kept is c for every policy whose lists the log could show. A smaller
    share is refused.

    **Source**: lihong2011, Algorithm 3. For other than uniform logs: dudik2012, section 3.

    **Differences**: lists take the place of single items. Comparing single positions would keep
    more impressions, but a policy that learns from lists cannot learn from parts of them; for a
    policy that does not learn, `ItemPositionIPS` does so with less variance.

    Parameters
    ----------
    propensities
        "logged", "estimated", "uniform", or the policy that chose the log's lists.
    floor
        The smallest propensity that a list could have (c); by default the smallest in the log.
    least_effective
        Smallest number of impressions kept that is not refused.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    """

    propensities: Source = "logged"
    floor: float | None = None
    least_effective: float = 30.0

    name = "replay"
    assumes = "Holds however people click, if each list could be shown to anybody."

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        owner = type(self).__name__
        check_float(owner, "least_effective", self.least_effective, 0.0)
        if self.floor is not None:
            check_float(owner, "floor", self.floor, 1e-300, 1.0)

    def estimate(
        self,
        log: Impressions | Sequence[Impressions],
        target: RankingDistribution | Policy | Sequence[RankingDistribution | Policy],
    ) -> Estimate:
        """Return the value of a target, or of a policy that learns during the log.

        For several queries, give one log and one target per query. A policy learns each query
        separately.
        """
        pairs, notes = pairs_to_replay(log, target, self.propensities)
        rewards, logged = self.replayed(pairs, self.rng())
        if any(isinstance(wanted, Policy) for _, wanted in pairs):
            notes.append(
                f"The policy learned from the {rewards.size} impressions kept; the interval does "
                "not cover how another run of the policy would differ."
            )
        interval = bootstrap_interval(
            rewards[:, None], lambda means: means[..., 0], self.level, self.repeats, self.seed
        )
        return self._result(float(rewards.mean()), interval, rewards, logged, pairs, notes)

    def _result(
        self,
        value: float,
        interval: Interval,
        rewards: Floats,
        logged: Floats,
        pairs: Sequence[tuple[Impressions, RankingDistribution | Policy]],
        notes: list[str],
    ) -> Estimate:
        """Return the estimate, from the rewards of the impressions kept and of all impressions."""
        with_clicks = int((rewards > 0.0).sum())
        most = self.largest_reward(max(one.rankings.shape[1] for one, _ in pairs))
        interval = widened_if_few(interval, value, with_clicks, rewards.size, most, self.level)
        return Estimate(
            estimator=self.name,
            value=value,
            interval=interval,
            gain=value - float(logged.mean()),
            gain_interval=difference_interval(value, interval, logged, self.level),
            bernstein=None,
            level=self.level,
            n=logged.size,
            effective_size=float(rewards.size),
            largest_weight=logged.size / rewards.size,
            with_clicks=with_clicks,
            assumes=self.assumes,
            notes=(*notes, *few_clicks_notes(with_clicks)),
        )

    def replayed(
        self,
        pairs: Sequence[tuple[Impressions, RankingDistribution | Policy]],
        rng: np.random.Generator,
    ) -> tuple[Floats, Floats]:
        """Return the rewards of the impressions kept and of all; raise if too few are kept."""
        kept: list[Floats] = []
        every: list[Floats] = []
        expected = variance = 0.0
        for one, wanted in pairs:
            earned = rewards_of(one, self.reward).sum(axis=1)
            kept.append(earned[self.kept(one, wanted, np.arange(earned.size), rng)])
            every.append(earned)
            share = self.acceptance_rates(one)[1]
            expected += earned.size * share
            variance += earned.size * share * (1.0 - share)
        rewards, logged = np.concatenate(kept), np.concatenate(every)
        if rewards.size < max(self.least_effective, 1):
            raise CannotEvaluate(
                f"Too little overlap: of {logged.size} impressions {rewards.size} can be kept, and "
                f"at least {max(self.least_effective, 1):g} are needed. An impression is kept if "
                "the policy chooses its list; frequent lists are kept as often as the rarest."
            )
        error = TOLERATED_ERRORS * math.sqrt(max(variance, 0.0))
        if rewards.size < LEAST_COVERAGE * expected - error:
            missing = 1.0 - rewards.size / expected
            raise CannotEvaluate(
                f"No overlap: about {100 * missing:.0f} % of what the policy shows "
                "(whole lists) is never shown in the log, or the propensities are too large."
            )
        if rewards.size > (2.0 - LEAST_COVERAGE) * expected + error:
            raise CannotEvaluate(
                f"The propensities do not fit the log: {expected:.0f} impressions should be kept, "
                f"but {rewards.size} are."
            )
        return rewards, logged

    def rng(self) -> np.random.Generator:
        """Return a generator other than the one that may have made a log with the same seed."""
        return np.random.default_rng([self.seed, 11])

    def kept(
        self,
        log: Impressions,
        target: RankingDistribution | Policy,
        order: Ints,
        rng: np.random.Generator,
    ) -> Ints:
        """Return which of the impressions in ``order`` are kept, in this order."""
        if isinstance(target, Policy):
            probabilities, _ = self.acceptance_rates(log)
            drawn = rng.random(order.size) < probabilities[order]
            return _played(target, log, order, drawn, rng)
        return order[rng.random(order.size) < self.keep_probabilities(log, target)[order]]

    def keep_probabilities(self, log: Impressions, target: RankingDistribution) -> Floats:
        """Return the probability that each impression is kept, π(A) c / μ(A)."""
        return self.acceptance_rates(log)[0] * target.prefix_probabilities(log.rankings)[:, -1]

    def acceptance_rates(self, log: Impressions) -> tuple[Floats, float]:
        """Return c / μ(A) of each impression, and c.

        c / μ(A) is the probability that an impression is kept if the policy chooses its list. c is
        also the expected share of the log that is kept, whatever the policy shows.
        """
        if isinstance(known_policy(log, self.propensities), UniformLists):
            n, width = log.rankings.shape
            return np.ones(n), 1.0 / math.perm(len(log.items), width)
        logged = propensities_of(log, self.propensities).prefixes()[:, -1]
        floor = float(logged.min()) if self.floor is None else self.floor
        if floor > logged.min() * (1.0 + 1e-9):
            rule = f"floor must be at most the log's smallest propensity ({logged.min():.3g})"
            raise invalid(type(self).__name__, rule, floor)
        return floor / logged, floor


def pairs_to_replay(
    log: Impressions | Sequence[Impressions],
    target: RankingDistribution | Policy | Sequence[RankingDistribution | Policy],
    source: Source,
) -> tuple[list[tuple[Impressions, RankingDistribution | Policy]], list[str]]:
    """Return each query's log with its target or policy, and notes on impressions left out."""
    logs = [log] if isinstance(log, Impressions) else list(log)
    wanted = [target] if isinstance(target, (RankingDistribution, Policy)) else list(target)
    stand_in = [
        w if isinstance(w, RankingDistribution) else UniformLists(len(o.items), o.rankings.shape[1])
        for o, w in zip(logs, wanted, strict=False)
    ]
    if len(logs) != len(wanted):
        raise invalid("estimate", f"there must be one target per log ({len(logs)})", len(wanted))
    found: list[tuple[Impressions, RankingDistribution | Policy]] = []
    notes: list[str] = []
    for (whole_log, other), wish in zip(pairs_of(logs, stand_in), wanted, strict=True):
        one, about = usable(whole_log, source, lists=True)
        notes += [*other.notes, *about]
        check_random(one, other, source)
        found.append((one, wish))
    return found, notes


def _played(
    policy: Policy, log: Impressions, order: Ints, drawn: Any, rng: np.random.Generator
) -> Ints:
    """Return the impressions that a policy keeps which learns from them."""
    learner = Learner(policy, len(log.items), log.rankings.shape[1])
    kept = np.empty(order.size, dtype=np.int64)
    count = kernel_for(_play, code_of(policy))(
        learner.params,
        learner.state,
        learner.cache,
        ANY_ITEMS,
        rng,
        log.rankings,
        log.clicks.astype(np.int64),
        order,
        drawn,
        np.zeros(learner.n_positions, dtype=np.int64),
        np.zeros(learner.memo_size, dtype=np.int64),
        kept,
    )
    return kept[:count]


def _play(
    params: Any,
    state: Any,
    cache: Any,
    request: Request,
    rng: np.random.Generator,
    rankings: Ints,
    clicks: Ints,
    order: Ints,
    drawn: Any,
    ranking: Ints,
    memo: Ints,
    kept: Ints,
) -> int:
    """Write the impressions kept, and return their number."""
    count = 0
    for turn in range(order.shape[0]):
        # The impression would be skipped whatever the policy chose.
        if not drawn[turn]:
            continue
        i = order[turn]
        rank(params, state, cache, request, rng, ranking, memo)
        same = True
        for k in range(ranking.shape[0]):
            same = same and ranking[k] == rankings[i, k]
        if same:
            update(params, state, cache, ranking, memo, clicks[i])
            kept[count] = i
            count += 1
    return count
