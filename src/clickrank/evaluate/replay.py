"""Replay: a policy runs over the log, and counts where it would have shown the same list."""

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
from clickrank.evaluate.base import COVERED, ERRORS, Estimator, rewards_of
from clickrank.evaluate.few_clicks import few_clicks_notes, widened_if_few
from clickrank.evaluate.propensities import Source, known_policy, propensities_of
from clickrank.evaluate.result import Estimate
from clickrank.evaluate.usable_part import check_random, pairs_of, usable
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

    Impression by impression the policy chooses a list. If it is the one that was shown, its clicks
    count, and a policy that learns learns from it; else the impression is passed over. The value
    is the average reward of what was kept.

    If the log's lists were drawn uniformly, what is kept happens just as if the policy had been
    running, learning included. If they were drawn otherwise, an impression is kept only with
    probability c / μ(A), where c is the smallest propensity: every list is then kept as often. Of
    N possible lists about one impression in N is left: for small pages. Whatever the policy shows,
    the share kept is c if the log could show it: with less, it is refused.

    **Source**: lihong2011, Algorithm 3. For other than uniform logs: dudik2012, section 3.

    **Differences**: lists take the place of single items. Counting items at single positions that
    happen to be the same would keep more, but a policy that learns from lists cannot learn from
    parts of them; of a policy that does not learn, `ItemPositionIPS` does it with less variance.

    Parameters
    ----------
    propensities
        "logged", "estimated", "uniform", or the policy that chose the log's lists.
    floor
        The smallest propensity that a list could have (c); the smallest in the log if left out.
    least_effective
        Refuse if fewer impressions are kept.
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
        """Return the value of a target, or of a policy that learns on its way.

        Several queries are given as as many logs and targets; each learns for itself.
        """
        pairs, notes = pairs_to_replay(log, target, self.propensities)
        rewards, own = self.replayed(pairs, self.rng())
        if any(isinstance(wanted, Policy) for _, wanted in pairs):
            notes.append(
                f"The policy learned from {rewards.size} impressions, the ones kept; the interval "
                "is of this one run of it."
            )
        interval = bootstrap_interval(
            rewards[:, None], lambda means: means[..., 0], self.level, self.repeats, self.seed
        )
        return self.told(float(rewards.mean()), interval, rewards, own, pairs, notes)

    def told(
        self,
        value: float,
        interval: Interval,
        kept: Floats,
        own: Floats,
        pairs: Sequence[tuple[Impressions, RankingDistribution | Policy]],
        notes: list[str],
    ) -> Estimate:
        """Return the result; ``kept`` are the rewards of the impressions kept, ``own`` of all."""
        with_clicks = int((kept > 0.0).sum())
        most = self.most(pairs)
        interval = widened_if_few(interval, value, with_clicks, kept.size, most, self.level)
        return Estimate(
            estimator=self.name,
            value=value,
            interval=interval,
            gain=value - float(own.mean()),
            gain_interval=difference_interval(value, interval, own, self.level),
            bernstein=None,
            level=self.level,
            n=own.size,
            effective_size=float(kept.size),
            largest_weight=own.size / kept.size,
            with_clicks=with_clicks,
            assumes=self.assumes,
            notes=(*notes, *few_clicks_notes(with_clicks)),
        )

    def replayed(
        self,
        pairs: Sequence[tuple[Impressions, RankingDistribution | Policy]],
        rng: np.random.Generator,
    ) -> tuple[Floats, Floats]:
        """Return the rewards of what is kept, and of all; refuse if the logs cannot tell."""
        kept: list[Floats] = []
        every: list[Floats] = []
        expected = variance = 0.0
        for one, wanted in pairs:
            earned = rewards_of(one, self.reward).sum(axis=1)
            kept.append(earned[self.kept(one, wanted, np.arange(earned.size), rng)])
            every.append(earned)
            share = self.chances(one)[1]
            expected += earned.size * share
            variance += earned.size * share * (1.0 - share)
        rewards, own = np.concatenate(kept), np.concatenate(every)
        if rewards.size < max(self.least_effective, 1):
            raise CannotEvaluate(
                f"Too little overlap: of {own.size} impressions {rewards.size} can be kept, and at "
                f"least {max(self.least_effective, 1):g} are needed. One is kept if the policy "
                "chose the list that was shown; of lists that the log shows often, only as many "
                "as of the rarest."
            )
        error = ERRORS * math.sqrt(max(variance, 0.0))
        if rewards.size < COVERED * expected - error:
            raise CannotEvaluate(
                f"No overlap: about {1.0 - rewards.size / expected:.0%} of what the policy shows "
                "(whole lists) is never shown in the log, or the propensities are too large."
            )
        if rewards.size > (2.0 - COVERED) * expected + error:
            raise CannotEvaluate(
                f"The propensities do not fit the log: {expected:.0f} impressions should be kept, "
                f"and {rewards.size} are."
            )
        return rewards, own

    def rng(self) -> np.random.Generator:
        """Return its draws, apart from those that the same seed may have made a log with."""
        return np.random.default_rng([self.seed, 11])

    def most(self, pairs: Sequence[tuple[Impressions, RankingDistribution | Policy]]) -> float:
        """Return what a list may at most earn."""
        return float(max(o.rankings.shape[1] for o, _ in pairs)) if self.reward == "clicks" else 1.0

    def kept(
        self,
        log: Impressions,
        target: RankingDistribution | Policy,
        order: Ints,
        rng: np.random.Generator,
    ) -> Ints:
        """Return which impressions are kept, of those in ``order``, in this order."""
        if isinstance(target, Policy):
            chances, _ = self.chances(log)
            return _played(target, log, order, rng.random(order.size) < chances[order], rng)
        return order[rng.random(order.size) < self.keeping(log, target)[order]]

    def keeping(self, log: Impressions, target: RankingDistribution) -> Floats:
        """Return with what probability each impression is kept, π(A) c / μ(A)."""
        return self.chances(log)[0] * target.prefix_probabilities(log.rankings)[:, -1]

    def chances(self, log: Impressions) -> tuple[Floats, float]:
        """Return with what probability each impression may be kept, c / μ(A), and c itself.

        c is also the share of the log that is kept, whatever the policy shows.
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
    """Return each query's log with its target or policy, checked; and notes on what is left out."""
    logs = [log] if isinstance(log, Impressions) else list(log)
    wanted = [target] if isinstance(target, (RankingDistribution, Policy)) else list(target)
    stand_in = [
        w if isinstance(w, RankingDistribution) else UniformLists(len(o.items), o.rankings.shape[1])
        for o, w in zip(logs, wanted, strict=False)
    ]
    if len(logs) != len(wanted):
        raise invalid("estimate", f"there must be a target a log ({len(logs)})", len(wanted))
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
    count = 0
    for turn in range(order.shape[0]):
        # Without a draw the policy is not asked: it would be passed over whatever it chose.
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
