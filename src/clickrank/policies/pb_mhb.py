"""PB-MHB: Thompson sampling of items and positions by Metropolis-Hastings."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank._core.validate import check_choice, check_float, check_int
from clickrank.policies._shared.crossing import cross
from clickrank.policies._shared.metropolis_hastings import PROPOSALS, move
from clickrank.policies._shared.particle import Particle, no_particle, take_over
from clickrank.policies._shared.particle_start import start_metropolis
from clickrank.policies.capabilities import HasPrior, ItemsComeAndGo, Walks
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.stats.beta_prior import UNIFORM, Beta, check_counts

STARTS = ("warm", "random")
UNIT_POSITIONS = ("first", "largest")


class State(NamedTuple):
    """Clicks and misses."""

    rounds: IntStatistic  # (1,), t - 1; counts do not determine it once items are removed
    clicks: IntStatistic  # (n_items, n_positions), S_ik
    misses: IntStatistic  # (n_items, n_positions), F_ik


class Params(NamedTuple):
    """Constants."""

    proposal: int  # index in PROPOSALS
    width: float  # c
    steps: int  # m
    random_start: int  # 1 if each round draws a new particle to start from, else 0
    largest: int  # 1 if the largest κ is 1, 0 if the first is
    prior_clicks: Ints  # (n_items,), clicks that represent the prior Beta(α, β): α - 1
    prior_misses: Ints  # (n_items,), misses that represent it: β - 1


@dataclass(frozen=True)
class PBMHB(Policy, ItemsComeAndGo, Walks, HasPrior):
    """PB-MHB draws attractions and examinations from their joint posterior, and sorts by them.

    Positions need not be known. The posterior is no known distribution; a random walk that has it
    as its limit takes a few steps in each round.

    π(θ, κ) ∝ Π_ik (θ_i κ_k)^{S_ik} (1 - θ_i κ_k)^{F_ik} on [0, 1], where the largest κ is 1. A step
    moves each θ_i, then each κ_k but the largest: a candidate x' drawn from q(· | x) replaces x
    with probability min(1, π(x') q(x | x') / (π(x) q(x' | x))). One position, drawn at random, is
    moved in another way in each step: it may become the largest, or stop being it. Items by
    decreasing θ go to positions by decreasing κ.

    **Assumes**: position-based clicks; any position may be examined most. No horizon. With
    unit_position="first", that the first position is examined most.

    **Source**: gauthier2022, Algorithms 7 and 8, eq. 4.2 to 4.6; first in gauthier2021a.

    **Differences**: 1. The paper sets κ_1 to 1, so that no other position can be examined more: on
    a page where one is, the printed rule has linear regret. Only products θ_i κ_k can be learned,
    so that some κ has to be fixed; here it is the largest, whichever that is. A priori each
    position is equally likely to be the largest; the other κ and all θ are uniform. Whenever the
    data leave no doubt that the first is the largest, the posterior is that of the paper
    (`policies/_shared/crossing.py` derives the step that changes the largest; it is always a
    truncated Gaussian). unit_position="first" is the rule of the paper. 2. logit-gaussian: the
    paper takes the ratio of the proposals as 1. That is the ratio of densities in the logit; in θ,
    which is uniform a priori, the ratio is θ'(1 - θ')/(θ(1 - θ)). Without it the walk has the limit
    π/Π x(1 - x) over all variables x, which cannot be normalised: κ_k runs off to 1, and θ to 0 for
    an item without a click. The factor is included; "logit-gaussian-printed" leaves it out. 3.
    pseudo-view: the second parameter of the Beta distribution is max(Ñ - S + 1, 1), and the printed
    ratio has Ñ - S as its exponent, without the maximum. The density drawn from is used in both. 4.
    max-pos: candidates above 1 have posterior density 0 and are refused; ties for the most used
    position or item are broken at random. 5. A candidate that rounds to 0 or 1 is refused. 6. Wide
    steps of the truncated Gaussian are drawn exactly by rejection from the uniform distribution:
    normal draws would mostly fall outside, and take 2.5 c/√t draws. 7. t is one more than the
    number of rounds that have come back. 8. The first particle is drawn from the prior. One that
    has to start later, in a new process, would take thousands of rounds from a random place: it
    starts at the maximum of the likelihood (with 0.05 further clicks and misses per item and
    position, so that there is one). Items that were never shown start at a draw from their prior.
    Items with a prior start where the posterior is largest given κ. 9. A prior, which the paper
    does not have: Beta(1 + S, 1 + F) counts as S clicks and F misses at a position that is always
    examined. Its α and β are integers of at least 1. With start="random" the start is uniform
    whatever the prior. 10. Items may be added or removed, and a list may be limited to some of them
    (candidates). The walk always covers all items; an added item starts at its posterior mean.

    **Complexity**: m (n_items + n_positions - 1) candidates per round, and one more if the position
    that may become the largest is the one with κ = 1. Each candidate takes two logarithms per miss
    count.

    **Guarantee**: none proved.

    **Observed**: the cost of not knowing that the first position is the largest, as clicks lost
    in 100,000 rounds (means of 60 runs with their standard errors): 105 ± 4 instead of 100 ± 3 on
    the website of gauthier2022, 411 ± 16 instead of 448 ± 18 with θ close to one, and 31 ± 1
    instead of 26 ± 1 with θ close to zero.

    Parameters
    ----------
    proposal
        How candidates are drawn: "truncated-gaussian" and "logit-gaussian" step from the present
        value; "pseudo-view" and "max-pos" draw from Beta distributions of the counts;
        "logit-gaussian-printed" is the paper's rule for the logit.
    width
        c > 0: the Gaussian steps have standard deviation c/√t, and so has the step that may change
        the largest κ. 1000 and 10,000 are good for the truncated Gaussian on all data of the paper,
        1 to 10 for the logit.
    steps
        Steps m ≥ 1 of the walk in each round.
    start
        "warm": the walk continues from its last particle; "random": it starts from a uniform one in
        each round, which takes many more steps.
    prior
        A `clickrank.priors.Beta` of integers; the default is the uniform prior.
    unit_position
        The position with κ = 1: the "largest", whichever it is, or the "first", as in the paper.

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
    by_item = ("clicks", "misses")

    proposal: str = "truncated-gaussian"
    width: float = 1000.0
    steps: int = 1
    start: str = "warm"
    prior: Beta = UNIFORM
    unit_position: str = "largest"

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_choice("PBMHB", "proposal", self.proposal, PROPOSALS)
        check_choice("PBMHB", "start", self.start, STARTS)
        check_choice("PBMHB", "unit_position", self.unit_position, UNIT_POSITIONS)
        # A smaller step would be lost in rounding, and the walk would not move.
        check_float("PBMHB", "width", self.width, 1e-9)
        check_int("PBMHB", "steps", self.steps, 1)
        check_counts("PBMHB", self.prior)
        if self.unit_position == "first":
            assumes = dataclasses.replace(type(self).assumes, positions="first")
            object.__setattr__(self, "assumes", assumes)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        prior_clicks, prior_misses = self.prior.counts(n_items, "PBMHB")
        return Params(
            proposal=PROPOSALS.index(self.proposal),
            width=float(self.width),
            steps=int(self.steps),
            random_start=STARTS.index(self.start),
            largest=UNIT_POSITIONS.index(self.unit_position),
            prior_clicks=prior_clicks,
            prior_misses=prior_misses,
        )

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
        )

    def walk_on(self, learner: Any, former: Any) -> None:
        """Take over the particle of another learner."""
        take_over(learner, former, learner.state.clicks.sum(axis=1), self.prior)


def score(
    params: Params,
    state: State,
    cache: Particle,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Move the particle by m steps, and write its θ and κ."""
    if cache.started[0] == 0 or params.random_start == 1:
        start_metropolis(params, state, cache, rng)
    deviation = params.width / math.sqrt(state.rounds[0] + 1.0)
    for _ in range(params.steps):
        step(params, deviation, state, cache, rng)
    items[:] = cache.attraction
    positions[:] = cache.examination


@lean_kernel
def step(
    params: Params, deviation: float, state: State, particle: Particle, rng: np.random.Generator
) -> None:
    """Move each θ_i once, and then each κ_k except the one that is fixed at 1.

    If the largest κ is 1, one position, drawn at random, may become the largest or cease to be.
    """
    clicks, misses = state.clicks, state.misses
    theta, kappa = particle.attraction, particle.examination
    for i in range(theta.shape[0]):
        prior = params.prior_clicks[i], params.prior_misses[i]
        theta[i] = move(
            params.proposal, theta[i], clicks[i], misses[i], kappa, prior, deviation, rng
        )
    crossing = -1
    if params.largest == 1 and kappa.shape[0] > 1:
        crossing = int(rng.random() * kappa.shape[0])
    for k in range(kappa.shape[0]):
        counts = clicks[:, k], misses[:, k]
        if k == crossing:
            cross(params, k, *counts, theta, kappa, deviation, rng)
        elif kappa[k] < 1.0:
            kappa[k] = move(params.proposal, kappa[k], *counts, theta, (0, 0), deviation, rng)


def update(
    params: Params, state: State, cache: Particle, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses by item and position."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]


register(PBMHB, State, score=score, update=update, cache=Particle, build=no_particle)
