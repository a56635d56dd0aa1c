"""Replay: a policy runs over the log, and counts where it would have shown the same list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clickrank._jit import kernel_for
from clickrank.errors import CannotEvaluate, invalid
from clickrank.evaluate.base import Estimator, check_random, pairs_of, rewards_of
from clickrank.evaluate.intervals import above, bootstrap
from clickrank.evaluate.propensities import Source, known_policy, propensities_of
from clickrank.evaluate.result import Estimate
from clickrank.evaluate.targets import Target, UniformLists
from clickrank.evaluate.usable import usable
from clickrank.logs import Impressions
from clickrank.policies import Learner, Policy
from clickrank.policies.base import rank, source_of, update
from clickrank.types import Floats, Ints, number


@dataclass(frozen=True, kw_only=True)
class Replay(Estimator):
    """Replay: keep the impressions whose list is the one that the policy chooses.

    Impression by impression the policy chooses a list. If it is the one that was shown, its clicks
    count, and a policy that learns learns from it; else the impression is passed over. The value
    is the average reward of what was kept.

    If the log's lists were drawn uniformly, what is kept happens just as if the policy had been
    running, learning included. If they were drawn otherwise, an impression is kept only with
    probability c / μ(A), where c is the smallest propensity: every list is then kept as often. Of
    N possible lists about one impression in N is left: for small pages.

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
        number(owner, "least_effective", self.least_effective, 0.0)
        if self.floor is not None:
            number(owner, "floor", self.floor, 1e-300, 1.0)

    def estimate(
        self,
        log: Impressions | Sequence[Impressions],
        target: Target | Policy | Sequence[Target | Policy],
    ) -> Estimate:
        """Return the value of a target, or of a policy that learns on its way.

        Several queries are given as as many logs and targets; each learns for itself.
        """
        rng = np.random.default_rng(self.seed)
        kept: list[Floats] = []
        all_rewards: list[Floats] = []
        learns = False
        for one, wanted in pairs_to_replay(log, target, self.propensities):
            learns = learns or isinstance(wanted, Policy)
            order = np.arange(len(one.rankings))
            chosen = self.kept(one, wanted, order, rng)
            earned = rewards_of(one, self.reward).sum(axis=1)
            kept.append(earned[chosen])
            all_rewards.append(earned)
        rewards, own = np.concatenate(kept), np.concatenate(all_rewards)
        n = own.size
        if rewards.size < max(self.least_effective, 1):
            raise CannotEvaluate(
                f"Too little overlap: the policy chose the list that was shown in {rewards.size} "
                f"of {n} impressions, and at least {max(self.least_effective, 1):g} are needed."
            )
        notes = []
        if learns:
            notes.append(
                f"The policy learned from {rewards.size} impressions, the ones kept; the interval "
                "is of this one run of it."
            )
        interval = bootstrap(
            rewards[:, None], lambda means: means[..., 0], self.level, self.repeats, self.seed
        )
        return Estimate(
            estimator=self.name,
            value=float(rewards.mean()),
            interval=interval,
            gain=float(rewards.mean() - own.mean()),
            gain_interval=above(float(rewards.mean()), interval, own, self.level),
            bernstein=None,
            level=self.level,
            n=n,
            effective_size=float(rewards.size),
            largest_weight=n / rewards.size,
            assumes=self.assumes,
            notes=tuple(notes),
        )

    def kept(
        self, log: Impressions, target: Target | Policy, order: Ints, rng: np.random.Generator
    ) -> Ints:
        """Return which impressions are kept, of those in ``order``, in this order."""
        chances, _ = self.chances(log)
        drawn = rng.random(order.size) < chances[order]
        if isinstance(target, Policy):
            return _played(target, log, order, drawn, rng)
        wanted = target.prefix_probabilities(log.rankings)[:, -1]
        return order[drawn & (rng.random(order.size) < wanted[order])]

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
    target: Target | Policy | Sequence[Target | Policy],
    source: Source,
) -> list[tuple[Impressions, Target | Policy]]:
    """Return each query's log with its target or policy, checked."""
    logs = [log] if isinstance(log, Impressions) else list(log)
    wanted = [target] if isinstance(target, (Target, Policy)) else list(target)
    stand_in = [
        w if isinstance(w, Target) else UniformLists(len(o.items), o.rankings.shape[1])
        for o, w in zip(logs, wanted, strict=False)
    ]
    if len(logs) != len(wanted):
        raise invalid("estimate", f"there must be a target a log ({len(logs)})", len(wanted))
    found: list[tuple[Impressions, Target | Policy]] = []
    for (whole_log, other), wish in zip(pairs_of(logs, stand_in), wanted, strict=True):
        one, _ = usable(whole_log, source, lists=True)
        check_random(one, other, source)
        found.append((one, wish))
    return found


def _played(
    policy: Policy, log: Impressions, order: Ints, drawn: Any, rng: np.random.Generator
) -> Ints:
    learner = Learner(policy, len(log.items), log.rankings.shape[1])
    kept = np.empty(order.size, dtype=np.int64)
    count = kernel_for(_play, source_of(policy))(
        learner.params,
        learner.state,
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
        rank(params, state, rng, ranking, memo)
        same = True
        for k in range(ranking.shape[0]):
            same = same and ranking[k] == rankings[i, k]
        if same:
            update(params, state, ranking, memo, clicks[i])
            kept[count] = i
            count += 1
    return count
