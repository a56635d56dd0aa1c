"""Playing policies on the fitted queries of a log, and what each earns against today's order."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.progress import Say
from clickrank.advice.played_queries import Query
from clickrank.clickmodels import ClickModel
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.policies import POLICIES, Policy
from clickrank.policies import policy as make_policy
from clickrank.simulation import ManyResults, PartialResults, simulate, simulate_many
from clickrank.simulation.background_compilation import compiling_in_background
from clickrank.simulation.many_results import Key
from clickrank.simulation.simulate_runs import check_applies, default_threads
from clickrank.stats.intervals import NORMAL_95, MeanInterval, pooled_interval, standard_error

#: Two policies count as equally good if they differ by less than this share of today's reward.
AS_GOOD = 0.01
#: Rounds of the short run that measures the speed of a policy.
TRIAL = 5_000


class Plan(NamedTuple):
    """How long and how often policies are played.

    With ``patience``, a policy that would take more seconds than that is skipped and reported.
    """

    horizon: int = 100_000
    runs: int = 10
    seed: int = 0
    threads: int | None = None
    progress: bool | None = None
    folder: Path | None = None
    patience: float | None = None


class Player(NamedTuple):
    """A policy for each query, what it is given, and which of its assumptions do not hold."""

    name: str
    policies: dict[Key, Policy | str]
    given: tuple[str, ...]
    doubts: str


class Group(NamedTuple):
    """Queries with the same click model, so that their rewards are counted in the same way."""

    fit: str
    reward: str
    queries: tuple[Query, ...]

    @property
    def today(self) -> float:
        """The reward of today's lists by the fitted models, as the mean over queries."""
        return float(np.mean([q.today.value for q in self.queries]))

    @property
    def clicks(self) -> float:
        """The counted clicks per list, as the mean over queries."""
        return float(np.mean([q.today.clicks for q in self.queries]))

    @property
    def headroom(self) -> MeanInterval[float]:
        """The gain per list from showing the best list of each query."""
        return pooled_interval(
            float(np.mean([q.headroom for q in self.queries])),
            np.array([q.error for q in self.queries]),
        )


class Earning(NamedTuple):
    """The reward of one policy, as the mean over the queries of a group.

    Parameters
    ----------
    player
        The policy.
    gain
        Reward per list above that of today's lists, over the whole horizon.
    checkpoints, curve
        Cumulative reward above that of today's lists at some rounds; ``low`` and ``high`` are its
        interval over runs.
    cost
        The cost of learning: the largest cumulative loss against today's order at any round.
    overtakes
        The round from which it has earned more than today's order; None if not within the horizon.
    by_query
        The gain on each query.
    regret
        Regret at the horizon, (queries, runs).
    """

    player: Player
    gain: MeanInterval[float]
    checkpoints: Ints
    curve: Floats
    low: Floats
    high: Floats
    cost: float
    overtakes: int | None
    by_query: dict[str, float]
    regret: Floats

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.player.name


class PlayedPolicies(NamedTuple):
    """The rewards of the policies that finished, the best first, and the names of the others."""

    earnings: tuple[Earning, ...]
    unfinished: tuple[str, ...] = ()
    too_slow: dict[str, str] = {}  # noqa: RUF012 (never changed)


def grouped(queries: Sequence[Query]) -> list[Group]:
    """Group queries by click model, the largest group first."""
    fits = list(dict.fromkeys(q.fit for q in queries))
    parts = [tuple(q for q in queries if q.fit == fit) for fit in fits]
    groups = [Group(part[0].fit, part[0].model.reward, part) for part in parts]
    return sorted(groups, key=lambda group: -len(group.queries))


def players(
    group: Group, names: Sequence[str] | None, horizon: int
) -> tuple[list[Player], dict[str, str]]:
    """Return the policies that can be played on all queries, and why each of the others cannot.

    Some policies are played although an assumption does not hold, which is reported as a doubt.
    One case is a policy with the right click model that expects positions to be examined in
    another order than the fitted one: the order of two positions is often due to chance. The other
    is a click model that hardly any policy assumes: a policy is then given the parameters of the
    nearest model that it does assume. The best list has a separate row and is not played.
    """
    found, skipped = [], {}
    for name in [n for n, cls in POLICIES.items() if not cls.is_oracle] if names is None else names:
        policies: dict[Key, Policy | str] = {}
        doubts: list[str] = []
        told_of = group.queries[0].model
        try:
            for query in group.queries:
                policies[query.name], doubt, told_of = _playing(name, query, horizon)
                doubts += [doubt] * bool(doubt)
        except InvalidValue as error:
            skipped[name] = error.reason
            continue
        many = f" ({len(doubts)} of {len(group.queries)} queries)" if doubts else ""
        assumes, starting_list = POLICIES[name].assumes, POLICIES[name].starting_list
        given = [key for key in assumes.known if key != "click_model" and hasattr(told_of, key)]
        given += ["horizon"] * assumes.horizon + ["today's order"] * bool(starting_list)
        found.append(Player(name, policies, tuple(given), doubts[0] + many if doubts else ""))
    return found, skipped


def why_not_played(name: str, reason: str) -> str:
    """Return a sentence that says why a policy is not played, with its name instead of its class.

    >>> why_not_played("pbm-ucb", "PBMUCB: examination must be given.")
    'pbm-ucb: examination must be given.'
    """
    for owner in (POLICIES[name].__name__, name):
        reason = reason.removeprefix(f"{owner}: ")
    return f"{name}: {reason.rstrip('.')}."


def _playing(name: str, query: Query, horizon: int) -> tuple[Policy, str, ClickModel]:
    """Return a policy for a query, an assumption that does not hold, and the model it is given."""
    model, doubt = query.model, ""
    if not _covers(name, model):
        doubt = f"it assumes {' or '.join(POLICIES[name].assumes.click_models)} clicks, not "
        doubt += query.fit
        near = [other for other in query.stand_ins if _covers(name, other)]
        if not near:
            raise DoesNotApply(doubt)
        model = near[0]
    starting_list = POLICIES[name].starting_list
    start: dict[str, Any] = {starting_list: query.today.order} if starting_list else {}
    made = make_policy(name, model=model, horizon=horizon, **start)
    doubt = doubt or made.why_not(model) or ""
    check_applies(made, query.model, allow_mismatch=bool(doubt))
    return made, doubt, model


def _covers(name: str, model: ClickModel) -> bool:
    covered = POLICIES[name].assumes.click_models
    return not covered or bool(set(covered) & set(model.is_a))


def play_policies(group: Group, field: Sequence[Player], plan: Plan, say: Say) -> PlayedPolicies:
    """Play all policies on the same users of each query; Ctrl-C returns those that finished."""
    models: dict[Key, ClickModel] = {query.name: query.model for query in group.queries}
    earnings: list[Earning] = []
    too_slow: dict[str, str] = {}
    first = group.queries[0]
    ahead = ((_playing(player.name, first, plan.horizon)[0], first.model) for player in field)
    with compiling_in_background(ahead):
        for i, player in enumerate(field, 1):
            results = None
            with contextlib.suppress(KeyboardInterrupt):
                reason = _too_slow(player, first, plan, len(models))
                if reason:
                    too_slow[player.name] = reason
                    continue
                say(
                    f"[{i}/{len(field)}] {player.name}: {len(models)} "
                    f"{'query' if len(models) == 1 else 'queries'}, {plan.runs:,} runs of "
                    f"{plan.horizon:,} lists each"
                )
                results = _simulated(player, models, plan)
                if results.taken_over:
                    total = plan.runs * len(models)
                    say(f"  {results.taken_over:,} of {total:,} runs were saved by an earlier call")
            if results is None or results.interrupted:
                left = tuple(p.name for p in field[i - 1 :])
                return PlayedPolicies(_sorted(earnings), left, too_slow)
            earnings.append(earned(group, player, results))
    return PlayedPolicies(_sorted(earnings), (), too_slow)


def _too_slow(player: Player, query: Query, plan: Plan, n_queries: int) -> str:
    """Return how long a policy would take if that is too long, estimated from a short run."""
    if plan.patience is None:
        return ""
    rounds = min(plan.horizon, TRIAL)
    trial = simulate(
        player.policies[query.name], query.model, rounds, seed=plan.seed, threads=1,
        progress=False, allow_mismatch=bool(player.doubts),
    )  # fmt: skip
    threads = default_threads() if plan.threads is None else plan.threads
    work = 1e-6 * trial.microseconds_per_round * plan.horizon * plan.runs * n_queries
    if work / threads <= plan.patience:
        return ""
    return f"it would take about {work / threads / 60:.0f} minutes; name it to play it anyway"


def _sorted(earnings: Sequence[Earning]) -> tuple[Earning, ...]:
    return tuple(sorted(earnings, key=lambda e: -e.gain.mean))


def _simulated(player: Player, models: dict[Key, ClickModel], plan: Plan) -> ManyResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartialResults)  # the caller reports it
        return simulate_many(
            player.policies,
            models,
            plan.horizon,
            plan.runs,
            plan.seed,
            threads=plan.threads,
            progress=plan.progress,
            allow_mismatch=bool(player.doubts),
            folder=plan.folder,
            label=player.name,
        )


def earned(group: Group, player: Player, results: ManyResults) -> Earning:
    """Convert regret against each query's best list into gain over today's lists."""
    queries, rounds = group.queries, results.checkpoints
    headroom = np.array([q.headroom for q in queries])
    regret = np.array([results[q.name].regret for q in queries])  # (queries, runs, checkpoints)
    runs, horizon = regret.shape[1], int(rounds[-1])
    ahead = headroom.mean() * rounds - regret.mean(axis=(0, 1))
    spread = standard_error(regret, axis=1) if runs > 1 else np.inf * regret[:, 0]
    of_runs = np.sqrt((spread**2).sum(axis=0)) / len(queries)
    last = regret[:, :, -1] / horizon
    errors = np.hypot([q.error for q in queries], spread[:, -1] / horizon)
    gains = headroom - last.mean(axis=1)
    return Earning(
        player=player,
        gain=pooled_interval(float(gains.mean()), errors),
        checkpoints=rounds,
        curve=ahead,
        low=ahead - NORMAL_95 * of_runs,
        high=ahead + NORMAL_95 * of_runs,
        cost=float(max(0.0, -ahead.min())),
        overtakes=_overtakes(rounds, ahead),
        by_query={q.name: float(g) for q, g in zip(queries, gains, strict=True)},
        regret=regret[:, :, -1],
    )


def _overtakes(rounds: Ints, ahead: Floats) -> int | None:
    """Return the round from which a curve stays above 0, interpolated between checkpoints.

    >>> _overtakes(np.array([1, 10, 20]), np.array([-1.0, -1.0, 1.0]))
    15
    >>> _overtakes(np.array([1, 10]), np.array([1.0, 2.0]))
    1
    """
    behind = np.flatnonzero(ahead < 0.0)
    if not behind.size:
        return 1
    i = int(behind[-1])
    if i + 1 == rounds.size:
        return None
    part = ahead[i] / (ahead[i] - ahead[i + 1])
    return int(np.ceil(rounds[i] + part * (rounds[i + 1] - rounds[i])))


def equals(earnings: Sequence[Earning], today: float) -> list[Earning]:
    """Return the first policy, which is the best, and those that are practically as good.

    They are behind by less than the share `AS_GOOD` of today's reward, or not significantly. All
    policies met the same users, so runs are compared pairwise.
    """
    best = earnings[0]
    found = [best]
    for other in earnings[1:]:
        behind = (other.regret - best.regret) / int(best.checkpoints[-1])
        errors = standard_error(behind, axis=1)
        gap = pooled_interval(float(behind.mean()), errors)
        if gap.low <= 0.0 or gap.mean < AS_GOOD * today:
            found.append(other)
    return found


def check_policies(names: Sequence[str]) -> None:
    """Raise an error if a name is not that of a policy."""
    for name in names:
        POLICIES[name]
    if not names:
        raise DoesNotApply("whatif: policies must name a policy.")
