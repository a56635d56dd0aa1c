"""What-if analysis: what each policy would have earned on a log's queries, and which to use."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from clickrank._core.progress import Say
from clickrank._core.validate import check_float, check_int
from clickrank.advice.diagnosis import TEST_SHARE, Diagnosis, diagnose, known_models
from clickrank.advice.play import (
    AS_GOOD,
    Earning,
    Group,
    Plan,
    PlayedPolicies,
    check_policies,
    equals,
    grouped,
    play_policies,
    players,
    why_not_played,
)
from clickrank.advice.played_queries import Protocol, Query, most_frequent, prepare
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.logs import Counts
from clickrank.policies import POLICIES
from clickrank.stats.intervals import MeanInterval

#: Maximum number of equally good policies that a recommendation names.
MOST_NAMED = 6
#: Queries tried for each query to be played on, as some cannot be.
LOOKS = 5


class GroupOutcome(NamedTuple):
    """The result for one group of queries: rewards of policies, and why others were skipped."""

    group: Group
    played: PlayedPolicies
    skipped: dict[str, str]

    @property
    def unit(self) -> str:
        """The unit of the reward."""
        return {"clicks": "clicks", "any click": "clicks"}.get(
            self.group.reward, "satisfied visits"
        )

    def amount(self, value: float, sign: str = "") -> str:
        """Format an amount, with enough decimals for the size of today's reward."""
        today = self.group.today
        decimals = max(3, 3 - math.floor(math.log10(today))) if today > 0 else 4
        return f"{value:{sign}.{decimals}f}"

    def percent(self, gain: float) -> float:
        """Return a gain in percent of today's reward."""
        today = self.group.today
        return 100.0 * gain / today if today > 0 else math.inf


@dataclasses.dataclass(frozen=True, eq=False)
class WhatIf:
    """What policies would have earned, and which to use.

    Parameters
    ----------
    diagnosis
        How people click in this log.
    outcomes
        One result per click model that queries were fitted with.
    left_out
        Queries that were not played on, each with the reason.
    protocol, plan
        Which queries were used, and how policies were played.
    """

    diagnosis: Diagnosis
    outcomes: tuple[GroupOutcome, ...]
    left_out: dict[str, str]
    protocol: Protocol
    plan: Plan

    @property
    def interrupted(self) -> bool:
        """Whether policies are missing because the analysis was interrupted."""
        return any(outcome.played.unfinished for outcome in self.outcomes)

    def recommendation(self) -> list[str]:
        """Return sentences: what to do."""
        if self.interrupted:
            return [
                "No recommendation yet: the analysis was interrupted before all policies had "
                "played. Run the same command again to play the rest."
            ]
        if not self.diagnosis.tells_items:
            return [
                "Keep today's order, and collect more lists: no click model predicts clicks better "
                "than the click rate of each position does, so this log says nothing reliable "
                "about items. The rewards of policies on such models are no reason to choose one."
            ]
        said = []
        for outcome in self.outcomes:
            sentences = recommended(outcome, self.plan.horizon)
            if len(self.outcomes) > 1:
                names = [q.name for q in outcome.group.queries]
                sentences[0] = f"{_queries(names)} ({outcome.group.fit}): {sentences[0]}"
            said += sentences
        return said

    def assumptions(self) -> list[str]:
        """Return sentences: what the results assume."""
        protocol, plan = self.protocol, self.plan
        given = sorted(
            {t for o in self.outcomes for e in o.played.earnings for t in e.player.given}
            - {"horizon", "today's order"}
        )
        said = [
            "People click as the fitted models predict, whatever is shown, and do not change.",
            "The lists in the log did not depend on the person who saw them. If lists were "
            "personalised, an item that was shown to people who want it looks better than it is.",
            f"Only the first {protocol.positions} positions are used, and policies choose from the "
            f"{protocol.items} most attractive items of a query that were shown at least "
            f"{protocol.min_shown:,} times. With more items, learning costs more.",
            f"Each query is learned separately, from scratch, in {plan.horizon:,} lists, and "
            "clicks arrive before the next list is shown. All queries have the same weight.",
            "Intervals are for these queries. They cover the randomness of runs and the error of "
            "the fits (by a bootstrap of the log), but not the choice of the click model.",
            "The list that looks best in a fit is overrated. Its gain is lowered by the mean "
            "amount by which such a list is overrated in the bootstrap.",
        ]
        said += self._lengths()
        if given:
            said.append(
                f"Policies that need {' or '.join(given)} are given the fitted values, as if they "
                "had no error."
            )
        return said

    def _lengths(self) -> list[str]:
        """Return a sentence on lists that are too short to be compared, if there are any."""
        queries = [q for outcome in self.outcomes for q in outcome.group.queries]
        shorter = sum(q.today.shorter for q in queries)
        if not shorter:
            return []
        return [
            f"Lists are compared at equal length: {shorter:,} of {sum(q.lists for q in queries):,} "
            "lists are shorter than those that policies show, whose length at least half of a "
            "query's lists reach. They count for the fit, but not for the reward of today's order."
        ]

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "recommendation": self.recommendation(),
            "assumptions": self.assumptions(),
            "horizon": self.plan.horizon,
            "runs": self.plan.runs,
            "seed": self.plan.seed,
            "protocol": self.protocol._asdict(),
            "models": [_outcome_facts(outcome) for outcome in self.outcomes],
            "left_out": self.left_out,
            "diagnosis": self.diagnosis.facts(),
            "interrupted": self.interrupted,
        }


def whatif(
    counts: Counts,
    *,
    policies: Iterable[str] | None = None,
    models: Iterable[str] | None = None,
    protocol: Protocol | None = None,
    plan: Plan | None = None,
    test_share: float = TEST_SHARE,
    say: Say = lambda text: None,
) -> WhatIf:
    """Fit the best click model to each query, and play policies on it against today's order.

    Parameters
    ----------
    counts
        The counts of the log.
    policies
        Names of policies; by default all. Those that do not apply are reported with the reason.
    models
        Names of the click models to choose from; by default all that can be fitted.
    protocol
        Which queries, items and positions are used.
    plan
        How long and how often policies are played. With a folder, finished runs are saved, and the
        same call continues after an interruption.
    test_share
        Share of the lists held out for choosing click models.
    say
        Called with one line of text for each step.

    Ctrl-C returns the policies that are finished.
    """
    protocol, plan = protocol or Protocol(), plan or Plan()
    for name, value in protocol._asdict().items():
        check_int("whatif", name, value, 0 if name in ("min_shown", "resamples") else 1)
    check_int("whatif", "runs", plan.runs, 2)
    check_int("whatif", "horizon", plan.horizon, 2)
    check_float("whatif", "test_share", test_share, 0.0, 1.0)
    chosen = None if policies is None else list(dict.fromkeys(policies))
    if chosen is not None:
        check_policies(chosen)
    names = known_models("whatif", models)
    found = diagnose(counts, models=names, test_share=test_share, seed=plan.seed, say=say)
    fitting = [name for name in names if name not in found.left_out]
    queries: list[Query] = []
    left_out: dict[str, str] = {}
    for name in most_frequent(counts, LOOKS * protocol.queries):
        if len(queries) == protocol.queries:
            break
        say(f"fitting query {name!r} …")
        try:
            part = counts.of_query(name)
            queries.append(prepare(part, fitting, found.winner, protocol, test_share, plan.seed))
        except InvalidValue as error:
            left_out[name] = str(error)
    if not queries:
        reasons = " ".join(f"{name!r}: {reason.rstrip('.')}." for name, reason in left_out.items())
        raise DoesNotApply(f"whatif: no query can be played on. {reasons}")
    return WhatIf(found, _outcomes(queries, chosen, plan, say), left_out, protocol, plan)


def _outcomes(
    queries: Sequence[Query], chosen: Sequence[str] | None, plan: Plan, say: Say
) -> tuple[GroupOutcome, ...]:
    outcomes: list[GroupOutcome] = []
    for group in grouped(queries):
        field, skipped = players(group, chosen, plan.horizon)
        if any(outcome.played.unfinished for outcome in outcomes):  # it was stopped
            played = PlayedPolicies((), tuple(player.name for player in field))
        else:
            say(f"{group.fit}: {_queries([q.name for q in group.queries])}")
            played = play_policies(group, field, plan, say)
            skipped |= played.too_slow
        outcomes.append(GroupOutcome(group, played, skipped))
    if not any(outcome.played.earnings for outcome in outcomes):
        if any(outcome.played.unfinished for outcome in outcomes):
            raise KeyboardInterrupt
        reasons = [why_not_played(*one) for outcome in outcomes for one in outcome.skipped.items()]
        raise DoesNotApply(f"whatif: no policy applies. {' '.join(dict.fromkeys(reasons))}")
    return tuple(outcomes)


def recommended(outcome: GroupOutcome, horizon: int) -> list[str]:
    """Return sentences: what to do on the queries of one click model."""
    group, earnings, unit = outcome.group, outcome.played.earnings, outcome.unit
    headroom = group.headroom
    today = f"today's order earns {outcome.amount(group.today)} {unit} per list"
    if not earnings:
        return [f"No policy finished; {today}."]
    learners = [e for e in earnings if POLICIES[e.name].beats_uniform]
    if not learners:
        names = ", ".join(e.name for e in earnings)
        return [
            f"No policy that learns was played, only {names}: name others with --policies. "
            f"{_cap(today)}; the best list of the fit would gain {_gain(outcome, headroom)}."
        ]
    same = equals(learners, group.today)
    # Of equally good policies, the one that must be given least: real parameters are never exact.
    best = min(same, key=lambda e: (bool(e.player.doubts), len(e.player.given)))
    rank = "the best of the policies"
    if best is not same[0]:
        rank = f"not distinguishable from the best of the policies, {same[0].name}"
    if headroom.low <= 0.0:
        return [
            f"Keep today's order: the log does not show that any list is better. {_cap(today)}; "
            f"the best list of the fit would gain {_gain(outcome, headroom)}, which may be chance.",
            f"{'Learning may not pay' if best.gain.mean > 0.0 else 'Learning would cost'}: "
            f"{best.name}, {rank}, is {_cost(best, unit)}, and ends with "
            f"{_gain(outcome, best.gain)}.",
        ]
    if best.gain.low <= 0.0:
        return [
            f"Keep today's order, or show the best list of the fit ({_gain(outcome, headroom)}) "
            f"and measure it: no policy earns significantly more than today's order within "
            f"{horizon:,} lists per query. {_cap(today)}.",
            f"{best.name}, {rank}, would gain {_gain(outcome, best.gain)} over that time. Learning "
            "continues: with more lists it may pay.",
        ]
    said = [
        f"Use {best.name}: {_gain(outcome, best.gain)} over {horizon:,} lists per query, "
        f"{best.gain.mean * horizon:,.0f} {unit} more; {today}."
    ]
    if len(same) > 1:
        others = [e.name for e in same if e is not best]
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        names = ", ".join(others[:MOST_NAMED])
        said.append(f"Not distinguishable, or within {100 * AS_GOOD:g} %: {names}{more}.")
    if best.overtakes == 1:
        said.append(
            "Learning costs almost nothing: the policy is ahead of today's order from the start."
        )
    elif best.cost >= 1.0:
        said.append(
            f"Learning has a cost: the policy is {_cost(best, unit)}, and has made up for it "
            f"after {best.overtakes or horizon:,} lists."
        )
    else:
        said.append(
            f"Learning costs almost nothing: the policy has overtaken today's order after "
            f"{best.overtakes or horizon:,} lists."
        )
    said.append(
        f"The best list of the fit, shown from the start, would gain {_gain(outcome, headroom)}. "
        "It needs no learning, but does not adapt if the fit is wrong or people change."
    )
    seen, places = (
        sum(q.seen for q in group.queries),
        sum(q.model.n_positions for q in group.queries),
    )
    if 2 * seen < places:
        said.append(
            f"This extrapolates from the log: only {seen} of the {places} items in the best lists "
            "were shown often enough at their position there. Test it on some of the visitors "
            "first."
        )
    if best.player.doubts:
        said.append(f"An assumption of {best.name} does not hold: {best.player.doubts}.")
    return said


def _gain(outcome: GroupOutcome, gain: MeanInterval[float]) -> str:
    low, high = outcome.percent(gain.low), outcome.percent(gain.high)
    return (
        f"{outcome.amount(gain.mean, '+')} {outcome.unit} per list "
        f"({outcome.percent(gain.mean):+.1f} %, from {low:+.1f} to {high:+.1f})"
    )


def _cost(earning: Earning, unit: str) -> str:
    if earning.cost == 0.0:
        return "never behind today's order"
    return f"up to {earning.cost:,.3g} {unit} per query behind today's order"


def _cap(text: str) -> str:
    return text[0].upper() + text[1:]


def _queries(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{'Query' if len(names) == 1 else 'Queries'} {shown}{more}"


def _outcome_facts(outcome: GroupOutcome) -> dict[str, Any]:
    group = outcome.group
    return {
        "model": group.fit,
        "unit": outcome.unit,
        "today": group.today,
        "clicks_counted": group.clicks,
        "best_list": group.headroom._asdict(),
        "queries": [
            {
                "query": q.name,
                "lists": q.lists,
                "why": q.why,
                "items": [str(item) for item in q.items],
                "positions": q.model.n_positions,
                "best_list": [str(q.items[i]) for i in q.model.best_ranking()],
                "today": q.today.value,
                "clicks_counted": q.today.clicks,
                "shorter_lists": q.today.shorter,
                "best_list_seen": q.seen,
                "headroom": q.headroom,
                "optimism": q.optimism,
                "error": q.error if math.isfinite(q.error) else None,
            }
            for q in group.queries
        ],
        "policies": [
            {
                "policy": e.name,
                "gain": e.gain._asdict(),
                "gain_percent": outcome.percent(e.gain.mean),
                "total": e.gain.mean * int(e.checkpoints[-1]),
                "cost": e.cost,
                "overtakes": e.overtakes,
                "told": list(e.player.given),
                "doubts": e.player.doubts,
                "by_query": e.by_query,
            }
            for e in outcome.played.earnings
        ],
        "skipped": outcome.skipped,
        "unfinished": list(outcome.played.unfinished),
    }
