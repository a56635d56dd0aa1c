"""All estimators on one log and one policy, and what they say together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from clickrank._core.validate import check_float
from clickrank.errors import CannotEvaluate, UnknownName, invalid, unknown
from clickrank.evaluate.base import Estimator, Reward, rewards_of
from clickrank.evaluate.bootstrapped_replay import BootstrappedReplay
from clickrank.evaluate.cascade_dr import CascadeDR
from clickrank.evaluate.direct import DirectMethod
from clickrank.evaluate.frozen_policy import learned
from clickrank.evaluate.item_position_ips import ItemPositionIPS
from clickrank.evaluate.list_ips import ListIPS
from clickrank.evaluate.position_based import DocumentIPS, PositionBasedIPS
from clickrank.evaluate.pseudo_inverse import PseudoInverse
from clickrank.evaluate.replay import Replay
from clickrank.evaluate.result import Estimate
from clickrank.evaluate.reward_interaction import RewardInteractionIPS
from clickrank.evaluate.usable_part import check_widths, has_lists, part
from clickrank.evaluate.verdicts import verdict
from clickrank.fit import fit
from clickrank.logs import Counts, Impressions
from clickrank.policies import POLICIES, Policy, policy
from clickrank.rankings.distributions import RankingDistribution
from clickrank.stats.bootstrap import bootstrap_interval
from clickrank.stats.intervals import Interval

#: Estimators by name. Which of them decides is in `clickrank.evaluate.verdicts`.
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
#: Before the name of an estimator: divided by its own weights.
SELF_NORMALISED = "sn-"
_WEIGHTING = (
    ListIPS,
    CascadeDR,
    RewardInteractionIPS,
    ItemPositionIPS,
    PseudoInverse,
    PositionBasedIPS,
)
#: What "all" means. Not by document: whoever looks at some positions more, as nearly all do,
#: contradicts it.
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
    """What all estimators say of one target.

    Parameters
    ----------
    logged, logged_interval
        What the lists of the log earned, on average, where the target is evaluated.
    estimates
        By the name of the estimator.
    refused
        Why others have no answer.
    n
        How many impressions the target is evaluated on.
    learned_from
        How many impressions before those a policy has learned from; 0 if it has not.
    verdict
        Sentences: better than the log's own lists or not, and what that assumes.
    """

    logged: float
    logged_interval: Interval
    estimates: dict[str, Estimate]
    refused: dict[str, str]
    n: int
    learned_from: int
    verdict: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
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
class Settings:
    """How `evaluate` goes about it.

    Parameters
    ----------
    propensities
        "logged", "estimated" or "uniform" (all lists were equally likely).
    reward, level, seed
        See `clickrank.evaluate.Estimator`.
    clip
        See `clickrank.evaluate.WeightingEstimator`.
    split
        The share of the log, from its start, that a policy learns from before it is evaluated on
        the rest.
    model
        The click model to fit for the direct and the doubly robust estimator.
    """

    propensities: Literal["logged", "estimated", "uniform"] = "logged"
    reward: Reward = "clicks"
    level: float = 0.95
    seed: int = 0
    clip: float | None = None
    split: float = 0.5
    model: str = "pbm"


def evaluate(
    logs: Impressions | Sequence[Impressions],
    target: Wanted | Sequence[Wanted],
    estimators: Sequence[str] = ALL,
    settings: Settings | None = None,
) -> Evaluation:
    """Evaluate a target, or a policy that learns, with several estimators.

    A policy first learns from the earlier part of each log. Then it is evaluated on the rest as it
    stands, learning no more; only replay lets it learn from the start, over all of the log.

    Parameters
    ----------
    logs, target
        A log a query, and a target or a policy for each; or one for all.
    estimators
        Names out of `ESTIMATORS`, with "sn-" before those that are to be self-normalised.
    settings
        By default those of `Settings`.
    """
    chosen = Settings() if settings is None else settings
    check_float("evaluate", "split", chosen.split, 0.0, 1.0 - 1e-9)
    every = [logs] if isinstance(logs, Impressions) else list(logs)
    single = isinstance(target, (RankingDistribution, Policy))
    wanted: list[Wanted] = [target] * len(every) if single else list(target)  # type: ignore[list-item, arg-type]
    if not every or len(every) != len(wanted):
        rule = f"there must be a log, and a target for each of {len(every)}"
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
        verdict(estimates, refused, value),
    )


def fitted_policy(name: str, log: Impressions, split: float) -> Policy:
    """Make a policy for a log; what it must know of the page is fitted to the log's first part.

    Its horizon, if it needs one, is the length of the log.
    """
    early = part(log, slice(0, max(round(len(log.rankings) * split), 1)))
    model = None
    if "examination" in POLICIES[name].assumes.known:
        model = fit("pbm", early.counts()).model()
    return policy(name, model=model, horizon=max(len(log.rankings), 1))


def _logged(logs: Sequence[Impressions], settings: Settings) -> tuple[float, Interval]:
    """Return what the log's own lists earned."""
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


def _made(name: str, settings: Settings, logs: Sequence[Impressions]) -> Estimator:
    """Return the estimator of this name, or refuse."""
    plain = name.removeprefix(SELF_NORMALISED)
    cls = ESTIMATORS.get(plain)
    if cls is None or (plain != name and not issubclass(cls, _WEIGHTING)):
        raise _no_such(name)
    given: dict[str, Any] = {
        "reward": settings.reward,
        "level": settings.level,
        "seed": settings.seed,
    }
    if issubclass(cls, (*_WEIGHTING, Replay)):
        given["propensities"] = settings.propensities
    if issubclass(cls, _WEIGHTING):
        given |= {"self_normalised": plain != name, "clip": settings.clip}
        if settings.reward == "any click" and not cls.knows_any_click:
            raise CannotEvaluate("Whether there is any click is no sum over items at positions.")
    if cls in (DirectMethod, CascadeDR):
        given["model"] = settings.model
    if cls is PositionBasedIPS:
        given["examination"] = examination(logs)
    return cls(**given)


def _fitted_noted(found: Estimate, estimator: Estimator) -> Estimate:
    """Say that examination is not known but fitted, which the interval does not know."""
    if type(estimator) is not PositionBasedIPS:
        return found
    note = (
        "Examination was fitted to the same impressions, and is taken as exact: the interval does "
        "not know how far it is off."
    )
    return dataclasses.replace(found, notes=(*found.notes, note))


def _no_such(name: str) -> UnknownName:
    names = [
        *ESTIMATORS,
        *(SELF_NORMALISED + n for n, c in ESTIMATORS.items() if issubclass(c, _WEIGHTING)),
    ]
    return unknown("estimator", name, names)


def examination(logs: Sequence[Impressions]) -> Any:
    """Return how much each position is looked at, by the position-based model of all queries."""
    if not all(has_lists(one) for one in logs):
        raise CannotEvaluate("Examination is fitted to whole lists, and the log has none.")
    width = max(o.rankings.shape[1] for o in logs)
    rows, clicks, first = [], [], 0
    for one in logs:
        room = width - one.rankings.shape[1]
        shown = np.where(one.rankings >= 0, one.rankings + first, -1)
        rows.append(np.pad(shown, ((0, 0), (0, room)), constant_values=-1))
        clicks.append(np.pad(one.clicks, ((0, 0), (0, room))))
        first += len(one.items)
    found: Any = fit("pbm", Counts.of_lists(np.vstack(rows), np.vstack(clicks)))
    if np.unique(found.part).size > 1 or not (found.examination > 0.0).all():
        raise CannotEvaluate(
            "The log does not tell how much each position is looked at: no items that were clicked "
            "link all positions, or one was never clicked."
        )
    return found.examination
