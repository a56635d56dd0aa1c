"""PBM-PIE: shows the items that look best, and tries others at the last position only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints, IntStatistic, Vector
from clickrank._core.validate import check_float, check_int
from clickrank.numerics.pbm_kl_index import kl_ucb
from clickrank.policies._shared.rotation import rotate, rotations
from clickrank.policies.capabilities import ExactLists, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.registration import register
from clickrank.rankings.closed_form import ListSource
from clickrank.rankings.distributions import RankingDistribution
from clickrank.rankings.selection import place, prominence, top_k


class State(NamedTuple):
    """Counts by item and position."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions), S_kl
    misses: IntStatistic  # (n_items, n_positions), N_kl - S_kl
    seen: FloatStatistic  # (n_items,), views weighted by examination, Ñ_k


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    prominence: Ints  # (n_positions,), positions by decreasing examination
    exploration: float  # 1 + ε
    log_rounds: float  # log T; 0 if δ grows with t


@dataclass(frozen=True)
class PBMPIE(Policy, ItemsComeAndGo, ExactLists):
    """PBM-PIE ranks by plain estimates and explores only at the least examined position.

    There, with probability 1/2, it tries an item outside the list that could be better than the
    last item of the list: exploring where few people look costs little.

    Leaders: the items with the largest S_k/Ñ_k. B = {k not a leader : U_k(t, δ) ≥ estimate of the
    last leader}, with U_k of eq. 7 and δ = (1 + ε) log t, or (1 + ε) log T if `rounds` is given. If
    B is not empty, the last position shows a random item of B with probability 1/2.

    **Assumes**: position-based clicks, known examination. No horizon, unless `rounds` is given.

    **Source**: lagree2016, Algorithm 1.

    **Differences**: 1. δ = (1 + ε) log t, as in Theorem 11. The pseudocode has log T, which
    `rounds` = T gives: it explores more at first, and on the problem of Figure 1b its regret is
    83 ± 3 in 100,000 rounds, and 70 ± 3 with log t (60 runs, the experiment
    lagree-2016/figure-1b). 2. The first n_items rounds show each rotation of the catalogue once, as
    printed, in random order; with delayed feedback, until each has come back. 3. The exploring
    position is the least examined one, so that examination need not decrease. 4. Ties are broken at
    random. 5. If no q is within δ, because positions contradict each other, U_k is the q that fits
    best.

    **Complexity**: a round solves eq. 7, O(n_positions), for each item that is not a leader.

    **Guarantee**: regret (1 + ε)² log T · Σ_k κ_L(θ_L - θ_k)/d(κ_L θ_k, κ_L(θ_L - η)) + O(1) for
    ε > 0 (Theorem 11), optimal if the lower bound explores at the last position too. ε = 0 is the
    usual choice in experiments and has no proof.

    Parameters
    ----------
    examination
        Probability that each position is examined (κ), each above 0.
    epsilon
        Extra exploration ε ≥ 0.
    rounds
        T, the number of rounds to play, for the exploration of the pseudocode, (1 + ε) log T. The
        default is (1 + ε) log t.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("pbm-pie", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "pbm-pie"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("clicks", "misses", "seen")

    examination: Vector
    epsilon: float = 0.0
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "examination")
        check_float("PBMPIE", "epsilon", self.epsilon, 0.0)
        if self.rounds is not None:
            check_int("PBMPIE", "rounds", self.rounds, 1)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        examination = check_length(self, "examination", n_positions)
        log_rounds = 0.0 if self.rounds is None else math.log(self.rounds)
        return Params(examination, prominence(examination), 1.0 + self.epsilon, log_rounds)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
            seen=np.zeros(n_items),
        )

    def lists(self, source: ListSource) -> RankingDistribution | None:
        """Return the rotations that are left; None after them."""
        return rotations(source.state.clicks, source.state.misses, source.n_positions)


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the leaders, or an item of B in place of the last one; at first, rotations."""
    n_items = state.seen.shape[0]
    unstarted = 0  # items never shown at the first position
    for item in range(n_items):
        unstarted += state.clicks[item, 0] + state.misses[item, 0] == 0
    if unstarted > 0:
        rotate(state.clicks, state.misses, unstarted, rng, ranking)
        return

    mean = np.empty(n_items)
    for item in range(n_items):
        mean[item] = state.clicks[item].sum() / state.seen[item]
    leaders = np.empty_like(ranking)
    top_k(mean, rng, leaders)
    place(leaders, params.prominence, ranking)

    # If more rounds are played than `rounds`, δ grows with t again.
    log_t = math.log(state.rounds[0] + 1.0)
    delta = params.exploration * max(log_t, params.log_rounds)
    is_leader = np.zeros(n_items, dtype=np.bool_)
    for item in leaders:
        is_leader[item] = True
    promising = np.empty(n_items, dtype=np.int64)  # B
    size = 0
    for item in range(n_items):
        if not is_leader[item]:
            index = kl_ucb(state.clicks[item], state.misses[item], params.examination, delta)
            if index >= mean[leaders[-1]]:
                promising[size] = item
                size += 1
    if size > 0 and rng.random() < 0.5:
        ranking[params.prominence[-1]] = promising[int(rng.random() * size)]


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks, misses, and views weighted by examination."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
        state.seen[item] += params.examination[position]


register(PBMPIE, State, rank, update)
