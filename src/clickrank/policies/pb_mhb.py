"""PB-MHB: Thompson sampling of items and positions by Metropolis-Hastings."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clickrank._jit import inline_kernel
from clickrank._select import place, renew_top_k
from clickrank.beta import UNIFORM, Beta
from clickrank.errors import invalid
from clickrank.numerics.truncated_normal import log_mass_ratio, sample_truncated_normal
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.policies.crossing import cross
from clickrank.policies.pb_mhb_start import start
from clickrank.policies.proposals import logit_walk, max_pos, needed, pseudo_view
from clickrank.policies.walk import best_by, take_over
from clickrank.types import FloatScratch, Ints, IntScratch, IntStatistic, number, whole

PROPOSALS = (
    "truncated-gaussian",
    "logit-gaussian",
    "pseudo-view",
    "max-pos",
    "logit-gaussian-printed",
)
STARTS = ("warm", "random")
UNIT_POSITIONS = ("first", "largest")

_TRUNCATED, _LOGIT, _PSEUDO_VIEW, _MAX_POS, _LOGIT_PRINTED = range(5)
_LOG_2 = math.log(2.0)


class Params(NamedTuple):
    """Constants."""

    proposal: int  # place in PROPOSALS
    width: float  # c
    steps: int  # m
    random_start: int  # 1 if each round draws a new particle to start from, else 0
    largest: int  # 1 if the largest κ is 1, 0 if the first is
    prior_clicks: Ints  # (n_items,), α - 1
    prior_misses: Ints  # (n_items,), β - 1


class State(NamedTuple):
    """Clicks and misses, and the particle (θ, κ) that walks about their posterior."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions), S_ik
    misses: IntStatistic  # (n_items, n_positions), F_ik
    item_clicks: IntStatistic  # (n_items,), S_i = Σ_k S_ik
    position_clicks: IntStatistic  # (n_positions,), S_k = Σ_i S_ik
    started: IntScratch  # (1,), 1 if there is a particle, else 0
    attraction: FloatScratch  # (n_items,), the particle's θ
    examination: FloatScratch  # (n_positions,), the particle's κ; one of them is 1
    miss_logs: FloatScratch  # (n_items, n_positions), log(1 - θ_i κ_k) of the particle
    room: FloatScratch  # (n_items,), such logarithms of a candidate
    system_buffer: FloatScratch  # (n_positions + 1, n_positions), see `walk.maximum`
    best: IntScratch  # (n_positions,), items by decreasing θ
    order: IntScratch  # (n_positions,), positions by decreasing κ


@dataclass(frozen=True)
class PBMHB(Policy):
    """PB-MHB draws attractions and examinations from their joint posterior, and sorts by them.

    Nothing need be known of the positions. The posterior is no known distribution; a random walk
    that has it for its limit goes on by a few steps in each round.

    π(θ, κ) ∝ Π_ik (θ_i κ_k)^{S_ik} (1 - θ_i κ_k)^{F_ik} on [0, 1], where the largest κ is 1. A step
    moves each θ_i and then each κ_k but the largest: a candidate x' drawn from q(· | x) replaces x
    with probability min(1, π(x') q(x | x') / (π(x) q(x' | x))). One position, drawn at random, may
    become the largest or cease to be. The best item goes to the position of the largest κ.

    **Assumes**: position-based clicks; any position may be looked at most. No horizon. With
    unit_position="first", that the first position is looked at most.

    **Source**: gauthier2022, Algorithms 7 and 8, eq. 4.2 to 4.6; first in gauthier2021a.

    **Differences**: 1. The text sets κ_1 to 1, so that no other position can be looked at more: on
    a page where one is, it loses linearly. Only products θ_i κ_k can be learned, so some κ has to
    be fixed; here it is the largest, whichever that is. A priori each position is as likely to be
    it, the other κ and all θ are uniform, and whenever the data leave no doubt that the first is
    the largest, the posterior is the text's (`policies/crossing.py` derives the step that changes
    the largest). Not knowing the first to be the largest costs little: at 100,000 rounds and 60
    runs 105 ± 4 instead of 100 ± 3 clicks on the thesis's website, 411 ± 16 instead of 448 ± 18
    with θ close to one, 31 ± 1 instead of 26 ± 1 with θ close to zero. unit_position="first" is the
    text's rule. 2. logit-gaussian: the text takes the ratio of the proposals for 1. It is that of
    densities in the logit; in θ, where the posterior is uniform a priori, the ratio is θ'(1 -
    θ')/(θ(1 - θ)). Without it the walk has the limit π/Π x(1 - x) over all variables x, which has
    no finite mass: κ_k runs off to 1, and θ to 0 for an item without a click. The factor is
    included; "logit-gaussian-printed" leaves it out. 3. pseudo-view: the Beta distribution's second
    parameter is max(Ñ - S + 1, 1), and the printed ratio has Ñ - S for its exponent, without the
    maximum. The density drawn from is used in both. 4. max-pos: candidates above 1 have posterior
    density 0 and are refused; ties for the most used position or item are broken at random. 5. A
    candidate that rounds to 0 or 1 is refused. 6. The truncated Gaussian is drawn exactly, but not
    by drawing normals until one is inside, which takes 2.5 c/√t of them. 7. t is one more than the
    rounds that have come back. 8. The first particle is drawn from the prior. One that has to start
    later, in a new process, would take thousands of rounds from a random place: it starts at the
    maximum of the likelihood (each item has 0.05 clicks and misses more at each position, so that
    there is one), items that were never shown at a draw from their prior, and items with a prior
    where the posterior is largest given κ. 9. A prior, which the text does not have: Beta(1 + S, 1
    + F) counts as S clicks and F misses at a position that everybody looks at. Its α and β are
    whole numbers of at least 1.

    **Complexity**: m (n_items + n_positions - 1) candidates per round, or one more. The posterior
    of a candidate takes one logarithm for each miss count other than 0, but by Jensen's inequality
    it is at most S log θ' + F log(1 - θ' Σ F_k κ_k / F), F = Σ F_k, and most candidates are so bad
    that this refuses them. The lists are exactly those without the shortcut.

    **Guarantee**: none proved.

    Parameters
    ----------
    proposal
        How candidates are drawn: "truncated-gaussian" and "logit-gaussian" step from the present
        value; "pseudo-view" and "max-pos" draw from Beta distributions of the counts;
        "logit-gaussian-printed" is the source's rule for the logit.
    width
        c > 0: the Gaussian steps have deviation c/√t, as has the step that may change the largest
        κ. 1000 and 10,000 are good for the truncated Gaussian on all data of the source, 1 to 10
        for the logit.
    steps
        Steps m ≥ 1 of the walk in each round.
    start
        "warm": the walk goes on from its last particle; "random": it starts from a uniform one in
        each round, which takes many more steps.
    prior
        A `clickrank.priors.Beta` of whole numbers; by default every attraction is as likely.
    unit_position
        The position whose κ is 1: the "largest", whichever it is, or the "first", as in the source.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("pb-mhb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "pb-mhb"
    assumes = Assumes(click_models=("pbm",), priors=True)
    rank_remembers = True
    by_item = ("clicks", "misses", "item_clicks")

    proposal: str = "truncated-gaussian"
    width: float = 1000.0
    steps: int = 1
    start: str = "warm"
    prior: Beta = UNIFORM
    unit_position: str = "largest"

    def __post_init__(self) -> None:
        """Check the parameters."""
        for field, known in (
            ("proposal", PROPOSALS),
            ("start", STARTS),
            ("unit_position", UNIT_POSITIONS),
        ):
            if getattr(self, field) not in known:
                rule = f"{field} must be one of {', '.join(known)}"
                raise invalid("PBMHB", rule, getattr(self, field))
        # A smaller step would be lost in rounding: the walk would stand still.
        number("PBMHB", "width", self.width, 1e-9)
        whole("PBMHB", "steps", self.steps, 1)
        if not isinstance(self.prior, Beta):
            raise invalid("PBMHB", "prior must be a clickrank.priors.Beta", self.prior)
        for name in ("alpha", "beta"):
            values = np.atleast_1d(getattr(self.prior, name))
            wrong = (values < 1) | (values != np.floor(values))
            if wrong.any():
                rule = f"prior must have whole numbers of at least 1 for {name}"
                raise invalid("PBMHB", rule, float(values[int(np.argmax(wrong))]))
        if self.unit_position == "first":
            assumes = dataclasses.replace(type(self).assumes, positions="first")
            object.__setattr__(self, "assumes", assumes)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        alpha, beta = self.prior.for_items(n_items, "PBMHB")
        return Params(
            proposal=PROPOSALS.index(self.proposal),
            width=float(self.width),
            steps=int(self.steps),
            random_start=STARTS.index(self.start),
            largest=UNIT_POSITIONS.index(self.unit_position),
            prior_clicks=(alpha - 1.0).astype(np.int64),
            prior_misses=(beta - 1.0).astype(np.int64),
        )

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
            item_clicks=np.zeros(n_items, dtype=np.int64),
            position_clicks=np.zeros(n_positions, dtype=np.int64),
            started=np.zeros(1, dtype=np.int64),
            attraction=np.zeros(n_items),
            examination=np.zeros(n_positions),
            miss_logs=np.zeros((n_items, n_positions)),
            room=np.zeros(n_items),
            system_buffer=np.zeros((n_positions + 1, n_positions)),
            best=np.zeros(n_positions, dtype=np.int64),
            order=np.zeros(n_positions, dtype=np.int64),
        )

    def relabelled(self, origin: Ints, new: Beta | None = None) -> PBMHB:
        """Return the spec for a catalogue whose item i is this spec's item ``origin[i]``."""
        prior = self.prior.relabelled(origin, new)
        return self if prior is self.prior else dataclasses.replace(self, prior=prior)

    def mend(self, state: State, numbers: Ints) -> None:
        """Count the clicks at each position anew."""
        state.position_clicks[:] = state.clicks.sum(axis=0)

    def walk_on(self, learner: Any, former: Any) -> None:
        """Take over the particle."""
        state: State = learner.state
        alpha, beta = self.prior.for_items(state.item_clicks.size, "PBMHB")
        wins, losses = alpha + state.item_clicks, beta + state.misses.sum(axis=1)
        take_over(state, former.state, wins / (wins + losses))
        state.miss_logs[...] = np.log1p(-np.outer(state.attraction, state.examination))

    def best_of(self, state: State, allowed: Ints) -> Ints:
        """Return the best list of some items by the particle that `rank` drew."""
        return best_by(state.attraction, state.order, allowed)


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    if state.started[0] == 0 or params.random_start == 1:
        start(params, state, rng)
    deviation = params.width / math.sqrt(state.rounds[0] + 1.0)
    for _ in range(params.steps):
        step(params, deviation, state, rng)
    renew_top_k(state.attraction, rng, state.best)
    renew_top_k(state.examination, rng, state.order)
    place(state.best, state.order, ranking)


@inline_kernel
def step(params: Params, deviation: float, state: State, rng: np.random.Generator) -> None:
    """Move each θ_i and then each κ_k but that which is 1, once.

    Both are moves of some x whose density is Π_j (x w_j)^{S_j} (1 - x w_j)^{F_j}: for a θ the j are
    the positions and w is κ, and the other way round. Σ_j F_j log(1 - x w_j), Σ_j F_j and
    Σ_j F_j w_j come first, as they are all that most candidates need. If the largest κ is 1, one
    position, drawn at random, may become the largest or cease to be.
    """
    proposal = params.proposal
    n_items, n_positions = state.miss_logs.shape
    theta, kappa = state.attraction, state.examination
    clicks, misses, logs = state.clicks, state.misses, state.miss_logs
    # Bounds of the truncated Gaussian's correction, which is needed itself for few candidates: a
    # mean at the edge loses half of the mass, and the logarithm of the mass has a slope of at most
    # 1/2 in μ/σ², as the mean of the truncated distribution is between μ and 1/2.
    largest = min(_LOG_2, 0.5 / (deviation * deviation))
    for i in range(n_items):
        now, missed, weighted = 0.0, 0, 0.0
        for k in range(n_positions):
            now += misses[i, k] * logs[i, k]
            missed += misses[i, k]
            weighted += misses[i, k] * kappa[k]
        total = state.item_clicks[i] + params.prior_clicks[i]
        more = params.prior_misses[i]
        if more > 0:  # the prior's misses, where κ is 1
            now += more * math.log(1.0 - theta[i])
            missed += more
            weighted += more
        other, correction = 0.0, largest
        if proposal == _TRUNCATED:
            other = sample_truncated_normal(theta[i], deviation, rng)
        elif proposal == _LOGIT:
            other, correction = logit_walk(theta[i], deviation, rng)
        elif proposal == _PSEUDO_VIEW:
            other, correction = pseudo_view(
                theta[i], clicks[i], misses[i], kappa, params.prior_clicks[i], more, rng
            )
        elif proposal == _MAX_POS:
            other, correction = max_pos(
                theta[i], clicks[i], misses[i], kappa, params.prior_clicks[i], more, rng
            )
        else:
            other, correction = logit_walk(theta[i], deviation, rng)[0], 0.0
        least = needed(theta[i], other, total, now, missed, weighted, correction, rng)
        if least <= 0.0:
            if proposal == _TRUNCATED:
                correction = log_mass_ratio(theta[i], other, deviation)
            then = more * math.log(1.0 - other) if more > 0 else 0.0
            for k in range(n_positions):
                state.room[k] = math.log(1.0 - other * kappa[k])
                then += misses[i, k] * state.room[k]
            gain = total * (math.log(other) - math.log(theta[i]))
            if least < gain + (then - now) + correction:
                theta[i] = other
                for k in range(n_positions):
                    logs[i, k] = state.room[k]
    crossing = -1
    if params.largest == 1 and n_positions > 1:
        crossing = int(rng.random() * n_positions)
    for k in range(n_positions):
        if k == crossing:
            cross(k, deviation, params, state, rng)
            continue
        if kappa[k] == 1.0:
            continue
        now, missed, weighted = 0.0, 0, 0.0
        for i in range(n_items):
            now += misses[i, k] * logs[i, k]
            missed += misses[i, k]
            weighted += misses[i, k] * theta[i]
        total = state.position_clicks[k]
        other, correction = 0.0, largest
        if proposal == _TRUNCATED:
            other = sample_truncated_normal(kappa[k], deviation, rng)
        elif proposal == _LOGIT:
            other, correction = logit_walk(kappa[k], deviation, rng)
        elif proposal == _PSEUDO_VIEW:
            other, correction = pseudo_view(kappa[k], clicks[:, k], misses[:, k], theta, 0, 0, rng)
        elif proposal == _MAX_POS:
            other, correction = max_pos(kappa[k], clicks[:, k], misses[:, k], theta, 0, 0, rng)
        else:
            other, correction = logit_walk(kappa[k], deviation, rng)[0], 0.0
        least = needed(kappa[k], other, total, now, missed, weighted, correction, rng)
        if least <= 0.0:
            if proposal == _TRUNCATED:
                correction = log_mass_ratio(kappa[k], other, deviation)
            then = 0.0
            for i in range(n_items):
                state.room[i] = math.log(1.0 - theta[i] * other)
                then += misses[i, k] * state.room[i]
            gain = total * (math.log(other) - math.log(kappa[k]))
            if least < gain + (then - now) + correction:
                kappa[k] = other
                for i in range(n_items):
                    logs[i, k] = state.room[i]


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        click = clicks[position]
        state.clicks[item, position] += click
        state.misses[item, position] += 1 - click
        state.item_clicks[item] += click
        state.position_clicks[position] += click


register(PBMHB, State, _rank, _update, lean=True)
