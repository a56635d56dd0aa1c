"""PBM-PIE: show the items that look best, and try others at the last position only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._select import place, prominence, renew_top_k
from clickrank.numerics.kl_index import SLACK
from clickrank.policies._shared.rotation import rotate, rotations
from clickrank.policies.base import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.contract import Request, register
from clickrank.policies.kl_counts import count, no_counts, refresh, upper
from clickrank.rankings.lists import Lists, ListSource
from clickrank.types import (
    Floats,
    FloatScratch,
    FloatStatistic,
    Ints,
    IntScratch,
    IntStatistic,
    Vector,
    number,
    whole,
)


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    prominence: Ints  # (n_positions,), positions by decreasing examination
    exploration: float  # 1 + ε
    log_rounds: float  # log T; 0 if δ grows with t


class State(NamedTuple):
    """Counts by item and position, estimates, and the index last computed for each item."""

    rounds: IntStatistic  # (1,), t - 1
    unstarted: IntStatistic  # (1,), items never shown at the first position: rotations to play
    total: IntStatistic  # (n_items,), S_k
    seen: FloatStatistic  # (n_items,), Ñ_k
    mean: FloatStatistic  # (n_items,), S_k / Ñ_k
    clicks: IntStatistic  # (n_items, n_positions), S_kl
    misses: IntStatistic  # (n_items, n_positions), N_kl - S_kl
    constant: FloatStatistic  # (n_items, n_positions); this and the next four: see kl_counts
    stale: IntScratch  # (n_items,)
    value: FloatScratch  # (n_items,), U_k when it was last computed
    rate: FloatScratch  # (n_items,)
    until: FloatScratch  # (n_items,)
    is_leader: IntScratch  # (n_items,), 1 for the items of the list of leaders, else 0
    best: IntScratch  # (n_positions,), the leaders
    promising: IntScratch  # (n_items,), the set B, in its first places


@dataclass(frozen=True)
class PBMPIE(Policy):
    """PBM-PIE ranks by plain estimates and explores at the least examined position alone.

    There, with probability 1/2, it tries an item outside the list that could be better than the
    list's last: trying things where few people look costs little.

    Leaders: the items of the largest S_k/Ñ_k. B = {k not a leader : U_k(t, δ) ≥ estimate of the
    last leader}, with U_k of eq. 7 and δ = (1 + ε) log t, or (1 + ε) log T if `rounds` is given. If
    B is not empty, the last position shows a random item of B with probability 1/2.

    **Assumes**: position-based clicks, known examination. No horizon, unless `rounds` is given.

    **Source**: lagree2016, Algorithm 1.

    **Differences**: 1. δ = (1 + ε) log t, as in Theorem 11. The pseudocode has log T, which
    `rounds` = T gives: it explores more at first, and on the problem of Figure 1b it loses 83 ± 3
    in 100,000 rounds where log t loses 70 ± 3 (60 runs, the experiment lagree-2016/figure-1b).
    2. The first n_items rounds play each rotation of the catalogue once, as printed, in random
    order; with delayed feedback, until each has come back. 3. The exploring position is the least
    examined one, so that examination need not decrease. 4. Ties are broken at random. 5. Where
    no q is within δ, as positions contradict each other, U_k is the q that fits best.

    **Complexity**: O(n_items) comparisons a round. U_k is needed only on one side or the other of a
    threshold; its tangent in δ decides that unless they are close, so eq. 7 is rarely solved. The
    ranking is exactly that of the policy which solves it for all.

    **Guarantee**: regret (1 + ε)² log T · Σ_k κ_L(θ_L - θ_k)/d(κ_L θ_k, κ_L(θ_L - η)) + O(1) for
    ε > 0 (Theorem 11), optimal where the lower bound explores at the last position too. ε = 0 is
    the usual choice in experiments and has no proof.

    Parameters
    ----------
    examination
        Probability that each position is looked at (κ), each above 0.
    epsilon
        Extra exploration ε ≥ 0.
    rounds
        T, the number of rounds to play, for the exploration of the pseudocode, (1 + ε) log T; left
        open, (1 + ε) log t.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("pbm-pie", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "pbm-pie"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("total", "seen", "mean", "clicks", "misses", "constant")

    examination: Vector
    epsilon: float = 0.0
    rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "examination")
        number("PBMPIE", "epsilon", self.epsilon, 0.0)
        if self.rounds is not None:
            whole("PBMPIE", "rounds", self.rounds, 1)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        examination = check_length(self, "examination", n_positions)
        log_rounds = 0.0 if self.rounds is None else math.log(self.rounds)
        return Params(examination, prominence(examination), 1.0 + self.epsilon, log_rounds)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            unstarted=np.full(1, n_items, dtype=np.int64),
            total=np.zeros(n_items, dtype=np.int64),
            seen=np.zeros(n_items),
            mean=np.zeros(n_items),
            **no_counts(n_items, n_positions),
            is_leader=np.zeros(n_items, dtype=np.int64),
            best=np.zeros(n_positions, dtype=np.int64),
            promising=np.zeros(n_items, dtype=np.int64),
        )

    def mend(self, state: State, numbers: Ints) -> None:
        """Count the rotations to play anew."""
        state.unstarted[0] = np.count_nonzero(state.clicks[:, 0] + state.misses[:, 0] == 0)

    def lists(self, source: ListSource) -> Lists | None:
        """Return the rotations left to show; later the lists are not known."""
        return rotations(source.state.clicks, source.state.misses, source.n_positions)


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    n_items = state.mean.shape[0]
    if state.unstarted[0] > 0:
        rotate(state.clicks, state.misses, state.unstarted[0], rng, ranking)
        return
    for item in state.best:
        state.is_leader[item] = 0
    renew_top_k(state.mean, rng, state.best)
    for item in state.best:
        state.is_leader[item] = 1
    place(state.best, params.prominence, ranking)

    # If more rounds are played than were announced, δ grows with t again.
    log_t = math.log(state.rounds[0] + 1.0)
    delta = params.exploration * max(log_t, params.log_rounds)
    needed = state.mean[state.best[-1]]
    size = 0
    for item in range(n_items):
        if state.is_leader[item] == 1:
            continue
        if state.stale[item] == 0:
            if upper(state, item, delta) < needed:
                continue
            # The index grows with δ: if the old one was enough, so is the new one.
            enough = state.value[item] - SLACK >= needed
        else:
            enough = False
        if enough or refresh(state, params.examination, item, delta) >= needed:
            state.promising[size] = item
            size += 1
    if size > 0 and rng.random() < 0.5:
        ranking[params.prominence[-1]] = state.promising[int(rng.random() * size)]


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    first = ranking[0]
    if state.clicks[first, 0] + state.misses[first, 0] == 0:
        state.unstarted[0] -= 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        count(state, params.examination, item, position, clicks[position])
        state.total[item] += clicks[position]
        state.seen[item] += params.examination[position]
        state.mean[item] = state.total[item] / state.seen[item]


register(PBMPIE, State, _rank, _update)
