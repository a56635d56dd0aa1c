"""Evaluation of a policy with several estimators, and the verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from clickrank._core.arrays import Floats
from clickrank._core.defaults import DEFAULT_CLICK_MODEL
from clickrank._core.validate import check_float
from clickrank.clickmodels import CLICK_MODELS
from clickrank.errors import CannotEvaluate, invalid, unknown
from clickrank.evaluate.bootstrapped_replay import BootstrappedReplay
from clickrank.evaluate.cascade_dr import CascadeDR
from clickrank.evaluate.direct_method import DirectMethod
from clickrank.evaluate.document_ips import DocumentIPS
from clickrank.evaluate.estimate import Estimate
from clickrank.evaluate.estimator import Estimator, Reward, rewards_of
from clickrank.evaluate.frozen_policy import learned
from clickrank.evaluate.item_position_ips import ItemPositionIPS
from clickrank.evaluate.list_ips import ListIPS
from clickrank.evaluate.policy_verdict import verdict
from clickrank.evaluate.position_based_ips import PositionBasedIPS
from clickrank.evaluate.pseudo_inverse_estimator import PseudoInverse
from clickrank.evaluate.replay import Replay
from clickrank.evaluate.reward_interaction_ips import RewardInteractionIPS
from clickrank.evaluate.usable_impressions import check_widths, has_lists, part
from clickrank.evaluate.weighting import WeightingEstimator
from clickrank.fit import fit, fit_pbm
from clickrank.logs import Counts, Impressions
from clickrank.policies import POLICIES, Policy, policy
from clickrank.rankings.distributions import RankingDistribution
from clickrank.stats.bootstrap import bootstrap_interval
from clickrank.stats.intervals import Interval

#: Estimators by name. `clickrank.evaluate.policy_verdict` says which of them decides.
ESTIMATORS: dict[str, type[Estimator]] = {
    cls.name: cls
    for cls in (
        ListIPS,
        Replay,
        CascadeDR,
        RewardInteractionIPS,
        ItemPositionIPS,
        PseudoInverse,
        PositionBasedIPS,
        DocumentIPS,
        DirectMethod,
        BootstrappedReplay,
    )
}
#: Prefix of the names of self-normalised estimators.
SELF_NORMALISED = "sn-"
#: The estimators that are used by default. The document-based one is left out: nearly always some
#: positions are examined more than others, which contradicts its assumption.
ALL = (
    "list-ips",
    "sn-list-ips",
    "replay",
    "cascade-dr",
    "sn-cascade-dr",
    "rips",
    "sn-rips",
    "item-position-ips",
    "sn-item-position-ips",
    "pseudo-inverse",
    "sn-pseudo-inverse",
    "position-based-ips",
    "sn-position-based-ips",
    "direct",
    "bootstrapped-replay",
)
Wanted: TypeAlias = RankingDistribution | Policy


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The estimates of one target, and the verdict.

    Parameters
    ----------
    logged, logged_interval
        Average reward of the log's lists on the impressions evaluated, with its interval.
    estimates
        Estimates by name of the estimator.
    refused
        Why other estimators have no estimate, by name.
    n
        Number of impressions that the target is evaluated on.
    learned_from
        Number of earlier impressions that a policy has learned from; 0 if it has not.
    verdict
        Sentences that say whether the target is better than the log's lists, and what is assumed.
    """

    logged: float
    logged_interval: Interval
    estimates: dict[str, Estimate]
    refused: dict[str, str]
    n: int
    learned_from: int
    verdict: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "logged": self.logged,
            "logged_interval": list(self.logged_interval),
            "estimates": {name: found.to_dict() for name, found in self.estimates.items()},
            "refused": self.refused,
            "n": self.n,
            "learned_from": self.learned_from,
            "verdict": list(self.verdict),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings of `evaluate`.

    Parameters
    ----------
    propensities
        "logged", "estimated", or "uniform" if all lists were equally likely.
    reward, level, seed
        See `clickrank.evaluate.Estimator`.
    clip
        See `clickrank.evaluate.WeightingEstimator`.
    split
        Share of the log, from its start, that a policy learns from before it is evaluated on the
        rest.
    model
        The click model to fit for the direct and the doubly robust estimator.
    """

    propensities: Literal["logged", "estimated", "uniform"] = "logged"
    reward: Reward = "clicks"
    level: float = 0.95
    seed: int = 0
    clip: float | None = None
    split: float = 0.5
    model: str = DEFAULT_CLICK_MODEL


def evaluate(
    logs: Impressions | Sequence[Impressions],
    target: Wanted | Sequence[Wanted],
    estimators: Sequence[str] = ALL,
    settings: EvaluationSettings | None = None,
) -> Evaluation:
    """Evaluate a target, or a policy that learns, with several estimators.

    A policy first learns from the earlier part of each log, and is then evaluated on the rest
    without learning further. Only replay lets it learn over the whole log.

    Parameters
    ----------
    logs, target
        One log per query, and one target or policy per query or one for all.
    estimators
        Names from `ESTIMATORS`, with the prefix "sn-" for self-normalised estimators.
    settings
        The settings; by default those of `EvaluationSettings()`.
    """
    chosen = EvaluationSettings() if settings is None else settings
    check_float("evaluate", "split", chosen.split, 0.0, 1.0 - 1e-9)
    every = [logs] if isinstance(logs, Impressions) else list(logs)
    single = isinstance(target, (RankingDistribution, Policy))
    wanted: list[Wanted] = [target] * len(every) if single else list(target)  # type: ignore[list-item, arg-type]
    if not every or len(every) != len(wanted):
        rule = f"there must be at least one log, and one target per log ({len(every)})"
        raise invalid("evaluate", rule, len(wanted))
    check_widths(every, "evaluate")
    learns = any(isinstance(w, Policy) for w in wanted)
    cut = [round(len(o.rankings) * chosen.split) if learns else 0 for o in every]
    later = [part(o, slice(c, None)) for o, c in zip(every, cut, strict=True)]
    late_targets: list[RankingDistribution] = []
    why_not_frozen = ""
    try:
        late_targets = [
            w
            if isinstance(w, RankingDistribution)
            else learned(w, part(o, slice(0, c)), chosen.seed)
            for o, w, c in zip(every, wanted, cut, strict=True)
        ]
    except CannotEvaluate as reason:
        why_not_frozen = str(reason)
    estimates: dict[str, Estimate] = {}
    refused: dict[str, str] = {}
    for name in estimators:
        try:
            made = _made(name, chosen, later)
            if isinstance(made, Replay):
                estimates[name] = made.estimate(every, wanted)
            elif why_not_frozen:
                refused[name] = why_not_frozen
            else:
                estimates[name] = _fitted_noted(made.estimate(later, late_targets), made)
        except CannotEvaluate as reason:
            refused[name] = str(reason)
    value, interval = _logged(later, chosen)
    return Evaluation(
        value,
        interval,
        estimates,
        refused,
        sum(len(o.rankings) for o in later),
        sum(cut),
        verdict(estimates, refused, sum(cut)),
    )


def fitted_policy(name: str, log: Impressions, split: float) -> Policy:
    """Return a policy for a log, with the length of the log as its horizon.

    If it must know the examination of positions, this is fitted to the first part of the log.
    """
    early = part(log, slice(0, max(round(len(log.rankings) * split), 1)))
    model = None
    assumes = POLICIES[name].assumes
    if "examination" in assumes.known:
        names = assumes.click_models or CLICK_MODELS
        by_position = (n for n in names if CLICK_MODELS[n].examined_displays == "by position")
        found = next(by_position, DEFAULT_CLICK_MODEL)
        model = fit(found, early.counts()).model()
    return policy(name, model=model, horizon=max(len(log.rankings), 1))


def _logged(logs: Sequence[Impressions], settings: EvaluationSettings) -> tuple[float, Interval]:
    """Return the average reward of the logs' lists, with its interval."""
    rewards = np.vstack([rewards_of(one, settings.reward) for one in logs])
    there = np.vstack([(one.rankings >= 0).astype(np.float64) for one in logs])
    if all(has_lists(one) for one in logs):  # shorter lists have no clicks below their end
        there = np.ones_like(there)
    width = rewards.shape[1]

    def statistic(means: np.ndarray[Any, Any]) -> Any:
        return (means[..., :width] / np.maximum(means[..., width:], 1e-300)).sum(axis=-1)

    columns = np.hstack([rewards, there])
    found = bootstrap_interval(columns, statistic, settings.level, seed=settings.seed)
    return float(statistic(columns.mean(axis=0))), found


def _made(name: str, settings: EvaluationSettings, logs: Sequence[Impressions]) -> Estimator:
    """Return the estimator of this name, or raise."""
    check_estimator(name)
    plain = name.removeprefix(SELF_NORMALISED)
    cls = ESTIMATORS[plain]
    given: dict[str, Any] = {
        "reward": settings.reward,
        "level": settings.level,
        "seed": settings.seed,
    }
    if issubclass(cls, (WeightingEstimator, Replay)):
        given["propensities"] = settings.propensities
    if issubclass(cls, WeightingEstimator):
        given |= {"self_normalised": plain != name, "clip": settings.clip}
        if settings.reward == "any click" and not cls.knows_any_click:
            raise CannotEvaluate("The reward 'any click' is not a sum over items at positions.")
    if cls in (DirectMethod, CascadeDR):
        given["model"] = settings.model
    if cls is PositionBasedIPS:
        given["examination"] = examination(logs)
    return cls(**given)


def _fitted_noted(found: Estimate, estimator: Estimator) -> Estimate:
    """Add a note that examination was fitted, which the interval ignores."""
    if type(estimator) is not PositionBasedIPS:
        return found
    note = (
        "Examination was fitted to the same impressions and is taken as exact: the interval does "
        "not cover its error."
    )
    return dataclasses.replace(found, notes=(*found.notes, note))


def check_estimator(name: str) -> None:
    """Raise an error unless there is an estimator of this name."""
    names = [
        *ESTIMATORS,
        *(SELF_NORMALISED + n for n, c in ESTIMATORS.items() if issubclass(c, WeightingEstimator)),
    ]
    if name not in names:
        alike = name.startswith(SELF_NORMALISED)  # otherwise each would be suggested twice
        raise unknown(
            "estimator", name, [n for n in names if n.startswith(SELF_NORMALISED) == alike]
        )


def examination(logs: Sequence[Impressions]) -> Floats:
    """Return the examination of each position, fitted to all queries together.

    `PositionBasedIPS`, which needs it, is defined on the position-based model.
    """
    if not all(has_lists(one) for one in logs):
        raise CannotEvaluate("Examination is fitted to whole lists, but the log has none.")
    width = max(o.rankings.shape[1] for o in logs)
    rows, clicks, first = [], [], 0
    for one in logs:
        missing = width - one.rankings.shape[1]
        shown = np.where(one.rankings >= 0, one.rankings + first, -1)
        rows.append(np.pad(shown, ((0, 0), (0, missing)), constant_values=-1))
        clicks.append(np.pad(one.clicks, ((0, 0), (0, missing))))
        first += len(one.items)
    found = fit_pbm(Counts.of_lists(np.vstack(rows), np.vstack(clicks)))
    if np.unique(found.part).size > 1 or not (found.examination > 0.0).all():
        raise CannotEvaluate(
            "The log does not determine the examination of each position: no clicked items link "
            "all positions, or a position was never clicked."
        )
    return found.examination
