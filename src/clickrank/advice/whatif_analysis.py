"""`whatif`: what each policy would have earned on a log's queries, and which one to choose."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from clickrank._core.validate import check_float, check_int
from clickrank.advice.diagnosis import TEST_SHARE, Diagnosis, Say, diagnose, known_models
from clickrank.advice.play import (
    AS_GOOD,
    Earning,
    Group,
    Plan,
    Played,
    check_policies,
    equals,
    grouped,
    play_policies,
    players,
)
from clickrank.advice.played_queries import Protocol, Query, most_frequent, prepare
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.logs import Counts
from clickrank.policies import POLICIES
from clickrank.stats.intervals import MeanInterval

#: How many policies that are as good a recommendation names.
MOST_NAMED = 6
#: How many queries are looked at to find one that can be played on.
LOOKS = 5


class Outcome(NamedTuple):
    """What came of a group of queries: what policies earn, and which were left out and why."""

    group: Group
    played: Played
    skipped: dict[str, str]

    @property
    def unit(self) -> str:
        """What is earned."""
        return {"clicks": "clicks", "any click": "clicks"}.get(
            self.group.reward, "satisfied visits"
        )

    def amount(self, value: float, sign: str = "") -> str:
        """Write an amount with as many decimals as today's earnings call for."""
        today = self.group.today
        decimals = max(3, 3 - math.floor(math.log10(today))) if today > 0 else 4
        return f"{value:{sign}.{decimals}f}"

    def percent(self, gain: float) -> float:
        """Return a gain beside what today's lists earn."""
        today = self.group.today
        return 100.0 * gain / today if today > 0 else math.inf


@dataclasses.dataclass(frozen=True, eq=False)
class WhatIf:
    """What policies would have earned, and what to choose.

    Parameters
    ----------
    diagnosis
        What the log says of how people click.
    outcomes
        A part for each click model that queries were fitted with.
    left_out
        Queries that were not played on, with the reason.
    protocol, plan
        How it was done.
    """

    diagnosis: Diagnosis
    outcomes: tuple[Outcome, ...]
    left_out: dict[str, str]
    protocol: Protocol
    plan: Plan

    @property
    def interrupted(self) -> bool:
        """Whether policies are missing because it was stopped."""
        return any(outcome.played.unfinished for outcome in self.outcomes)

    def recommendation(self) -> list[str]:
        """Say in words what to do."""
        if self.interrupted:
            return [
                "No recommendation yet: it was interrupted before all policies had played. The "
                "same command does the rest."
            ]
        if not self.diagnosis.tells_items:
            return [
                "Keep today's order, and gather more lists: no click model foretells more than the "
                "click rate of each position does, so that of items this log says nothing that "
                "lasts. What policies earn on such models is no reason to choose one."
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
        """Say what all of it rests on."""
        protocol, plan = self.protocol, self.plan
        told = sorted(
            {t for o in self.outcomes for e in o.played.earnings for t in e.player.told}
            - {"horizon", "today's order"}
        )
        said = [
            "People click as the fitted models say, whatever is shown, and do not change.",
            "What was shown where had nothing to do with who was looking. Where lists were made "
            "for each person, an item shown to those who want it looks better than it is to all.",
            f"Only the first {protocol.positions} positions count, and only the "
            f"{protocol.items} most attractive items of a query that were shown "
            f"{protocol.min_shown:,} times or more are there to choose from: with more items "
            "learning costs more.",
            f"Each query is learned by itself, from nothing, in {plan.horizon:,} lists, and clicks "
            "are known before the next list. All queries count the same.",
            "Intervals are for these queries. They hold the chance in runs and the error of the "
            "fits (the log drawn again from itself, and fitted anew), not that another click model "
            "might be right.",
            "What the best list seems to gain is lowered by what such a list, picked because it "
            "seems good, is overrated by in logs drawn again.",
        ]
        said += self._lengths()
        if told:
            said.append(
                f"Policies that are told {' or '.join(told)} are told it as fitted, without error."
            )
        return said

    def _lengths(self) -> list[str]:
        """Say which lists are too short to be compared."""
        queries = [q for outcome in self.outcomes for q in outcome.group.queries]
        shorter = sum(q.today.shorter for q in queries)
        if not shorter:
            return []
        return [
            f"Lists are compared at equal length: {shorter:,} of {sum(q.lists for q in queries):,} "
            "lists are shorter than those that policies show, the positions that at least half of "
            "a query's lists fill. They are left out of what today's order earns, not of the fit."
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
    """Fit the best click model of each query, and play policies on it against today's order.

    Parameters
    ----------
    counts
        The log.
    policies
        Names of policies; by default all, and those that do not apply are told with the reason.
    models
        Names of the click models to choose from; by default all that fit the log.
    protocol
        Which queries, items and positions are taken.
    plan
        How long and how often policies are played. With a folder, finished runs are kept, and the
        same call completes what was interrupted.
    test_share
        Share of the lists that click models are chosen on.
    say
        Is called with a line of text whenever there is something to tell.

    Ctrl-C ends with the policies that are finished.
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
        say(f"query {name!r} …")
        try:
            part = counts.of_query(name)
            queries.append(prepare(part, fitting, found.winner, protocol, test_share, plan.seed))
        except InvalidValue as error:
            left_out[name] = str(error)
    if not queries:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in left_out.items())
        raise DoesNotApply(f"whatif: no query can be played on: {reasons}.")
    return WhatIf(found, _outcomes(queries, chosen, plan, say), left_out, protocol, plan)


def _outcomes(
    queries: Sequence[Query], chosen: Sequence[str] | None, plan: Plan, say: Say
) -> tuple[Outcome, ...]:
    outcomes: list[Outcome] = []
    for group in grouped(queries):
        field, skipped = players(group, chosen, plan.horizon)
        if any(outcome.played.unfinished for outcome in outcomes):  # it was stopped
            played = Played((), tuple(player.name for player in field))
        else:
            say(f"{group.fit}: {_queries([q.name for q in group.queries])}")
            played = play_policies(group, field, plan, say)
            skipped |= played.too_slow
        outcomes.append(Outcome(group, played, skipped))
    if not any(outcome.played.earnings for outcome in outcomes):
        if any(outcome.played.unfinished for outcome in outcomes):
            raise KeyboardInterrupt
        reasons = "; ".join(dict.fromkeys(r for o in outcomes for r in o.skipped.values()))
        raise DoesNotApply(f"whatif: no policy applies: {reasons}")
    return tuple(outcomes)


def recommended(outcome: Outcome, horizon: int) -> list[str]:
    """Say what to do on the queries of one click model."""
    group, earnings, unit = outcome.group, outcome.played.earnings, outcome.unit
    room = group.headroom
    today = f"today's order earns {outcome.amount(group.today)} {unit} a list"
    if not earnings:
        return [f"No policy was played to the end; {today}."]
    learners = [e for e in earnings if POLICIES[e.name].beats_uniform]
    if not learners:
        names = ", ".join(e.name for e in earnings)
        return [
            f"No policy that learns was played, only {names}: name others (--policies). "
            f"{_cap(today)}; the best list of the fit would gain {_gain(outcome, room)}."
        ]
    same = equals(learners, group.today)
    # Of equals, the one that must be told least: what it is told here is right, as it never is.
    best = min(same, key=lambda e: (bool(e.player.doubts), len(e.player.told)))
    rank = "the best of the policies"
    if best is not same[0]:
        rank = f"as good as the best of the policies, {same[0].name}, as far as can be told"
    if room.low <= 0.0:
        ahead = best.gain.mean > 0.0
        return [
            f"Keep today's order: the log does not show that any list is better. {_cap(today)}; "
            f"the best list of the fit would gain {_gain(outcome, room)}, which may be nothing.",
            f"{'It is not sure that learning pays' if ahead else 'Learning would cost'}: "
            f"{best.name}, {rank}, is {_cost(best, unit)}, and ends at "
            f"{_gain(outcome, best.gain)}.",
        ]
    if best.gain.low <= 0.0:
        return [
            f"Keep today's order, or show the best list of the fit ({_gain(outcome, room)}) and "
            f"measure it: no policy surely earns more than today's within {horizon:,} lists of a "
            f"query. {_cap(today)}.",
            f"{best.name}, {rank}, would gain {_gain(outcome, best.gain)} over that time. Learning "
            "goes on: with more lists it may pay.",
        ]
    said = [
        f"Use {best.name}: {_gain(outcome, best.gain)} over {horizon:,} lists of a query, "
        f"{best.gain.mean * horizon:,.0f} {unit} more; {today}."
    ]
    if len(same) > 1:
        others = [e.name for e in same if e is not best]
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        names = ", ".join(others[:MOST_NAMED])
        said.append(f"As good, to {100 * AS_GOOD:g} % or as far as can be told: {names}{more}.")
    if best.overtakes == 1:
        said.append("Learning costs next to nothing: it is ahead of today's order at once.")
    elif best.cost >= 1.0:
        said.append(
            f"Learning costs: it is {_cost(best, unit)}, and has made up for it after "
            f"{best.overtakes or horizon:,} lists."
        )
    else:
        said.append(
            f"Learning costs next to nothing: it has overtaken today's order after "
            f"{best.overtakes or horizon:,} lists."
        )
    said.append(
        f"The best list of the fit, shown from the start, would gain {_gain(outcome, room)}; it "
        "needs no learning, and never finds out where the fit is wrong or people change."
    )
    seen, places = (
        sum(q.seen for q in group.queries),
        sum(q.model.n_positions for q in group.queries),
    )
    if 2 * seen < places:
        said.append(
            f"Mind that this reaches beyond the log: {seen} of the {places} items in the best "
            "lists were shown often enough at the position they have there. Try it on a part of "
            "the visitors first."
        )
    if best.player.doubts:
        said.append(f"{best.name} is not made for this: {best.player.doubts}.")
    return said


def _gain(outcome: Outcome, gain: MeanInterval[float]) -> str:
    low, high = outcome.percent(gain.low), outcome.percent(gain.high)
    return (
        f"{outcome.amount(gain.mean, '+')} {outcome.unit} a list "
        f"({outcome.percent(gain.mean):+.1f} %, from {low:+.1f} to {high:+.1f})"
    )


def _cost(earning: Earning, unit: str) -> str:
    if earning.cost == 0.0:
        return "never behind today's order"
    return f"up to {earning.cost:,.3g} {unit} a query behind today's order"


def _cap(text: str) -> str:
    return text[0].upper() + text[1:]


def _queries(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{'Query' if len(names) == 1 else 'Queries'} {shown}{more}"


def _outcome_facts(outcome: Outcome) -> dict[str, Any]:
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
                "told": list(e.player.told),
                "doubts": e.player.doubts,
                "by_query": e.by_query,
            }
            for e in outcome.played.earnings
        ],
        "skipped": outcome.skipped,
        "unfinished": list(outcome.played.unfinished),
    }
