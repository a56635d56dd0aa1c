"""OSUB: explores only the neighbours, in a given graph, of the item that looks best."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import IntParticle, Ints, IntStatistic
from clickrank._core.validate import check_float
from clickrank.errors import invalid
from clickrank.numerics.kl_bounds import kl_upper
from clickrank.numerics.undirected_graph import (
    checked_graph,
    line_graph,
    packed_graph,
    peak_besides,
    relabelled_graph,
)
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo, KnowsItems, ReadsEarlierStates
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, KnownModel, Policy
from clickrank.policies.registration import register
from clickrank.rankings.selection import top_k


class State(NamedTuple):
    """Counts by item; there is only one position."""

    clicks: IntStatistic  # (n_items,)
    misses: IntStatistic  # (n_items,), views without a click; N_k = clicks + misses
    led: IntStatistic  # (n_items,), rounds in which the item was the leader, l_k


class Params(NamedTuple):
    """Constants. The neighbours of item k are ``neighbours[begins[k]:begins[k + 1]]``."""

    neighbours: Ints  # (twice the number of edges,), neighbours of all items
    begins: Ints  # (n_items + 1,), start of the neighbours of each item, and the end of the last
    degree: int  # γ, the largest number of neighbours
    loglog: float  # c


class InFlight(NamedTuple):
    """Rounds in flight, as far as this worker can count them."""

    lists_since_feedback: IntParticle  # (1,), lists made since feedback last came back


@dataclass(frozen=True)
class OSUB(Policy, HasMemo, ItemsComeAndGo, KnowsItems, ReadsEarlierStates):
    """OSUB shows one item, the one that looks best or one of its neighbours in a given graph.

    The leader L has the largest click rate μ̂_k. Every (γ + 1)-th of its rounds shows the leader,
    where γ is the largest number of neighbours in the graph; the others show the largest index

        b_k = sup{q ≥ μ̂_k : N_k d(μ̂_k, q) ≤ log l + c log log l}

    among the leader and its neighbours, where N_k is how often k was shown and l - 1 how often L
    has led.

    **Assumes**: one position, and clicks that are unimodal on the graph: every item but the best
    has a neighbour that is clicked more often. Any click model. No horizon.

    **Source**: combes2014; gauthier2022, Algorithm 5.

    **Differences**: 1. log log l is taken as 0 up to l = e. 2. Items never shown have click rate 0
    and index 1; ties are broken at random. 3. With delayed feedback only rounds that have come back
    count, except for the turns of the leader: there, lists made since count too. 4. Items may
    come and go, or be candidates for one list only. The neighbours of an item that goes become
    neighbours of each other, which preserves unimodality: a path of increasing click rates that led
    through the item goes past it, and if it was the best, the second best was its neighbour. A new
    item goes to the end of the line that is the graph by default; in any other graph its neighbours
    must be given. All counts are kept, because they are those of single items.

    **Complexity**: O(n_items) per round for the leader, and at most γ + 1 indices.

    **Guarantee**: regret at most (1 + ε) C log T + O(log log T) for every ε > 0, with
    C = Σ_k Δ_k/d(μ_k, μ*) over the neighbours k of the best item only, μ* its click rate and
    Δ_k = μ* - μ_k. This is the best possible constant (combes2014), see
    `clickrank.bounds.unimodal_lower_bound`. The cost of the climb to the best item is in the last
    term; it is large if neighbours differ little. Regret may be linear if clicks are not
    unimodal.

    Parameters
    ----------
    neighbours
        The numbers of the neighbours of each item. An edge may be given at one end or at both.
        All items must be connected. The default is a line: each item and the next.
    loglog
        c. The default is that of gauthier2022, as in GRAB.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.1, 0.3, 0.8, 0.4], [1.0])
    >>> cr.simulate("osub", model, horizon=100, runs=2, seed=0).runs
    2
    >>> star = cr.policies.OSUB(neighbours=[[1, 2, 3], [], [], []])
    >>> star.neighbours
    ((1, 2, 3), (0,), (0,), (0,))
    """

    name = "osub"
    assumes = Assumes(positions="one")
    rank_remembers = True
    by_item = ("clicks", "misses", "led")

    neighbours: Sequence[Sequence[int]] | None = None
    loglog: float = 3.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_float("OSUB", "loglog", self.loglog, 0.0)
        if self.neighbours is not None:
            object.__setattr__(self, "neighbours", checked_graph("OSUB", self.neighbours))

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        if n_positions != 1:
            raise invalid("OSUB", "n_positions must be 1", n_positions)
        graph = line_graph(range(n_items)) if self.neighbours is None else self.neighbours
        if len(graph) != n_items:
            rule = f"neighbours must have one entry per item ({n_items})"
            raise invalid("OSUB", rule, len(graph))
        return Params(*packed_graph(graph), max(map(len, graph)), float(self.loglog))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        clicks, misses, led = (np.zeros(n_items, dtype=np.int64) for _ in range(3))
        return State(clicks, misses, led)

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return 1: the memo holds the leader."""
        return 1

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos in which the leader has its new number."""
        return numbers[memos]

    def relabelled(self, origin: Ints, new: Sequence[Sequence[int]] | None = None) -> OSUB:
        """Return the spec for a catalogue whose item i is item ``origin[i]`` of this spec.

        ``new`` has the neighbours of each new item, as numbered in that catalogue.
        """
        graph = relabelled_graph("OSUB", self.neighbours, origin, new)
        return dataclasses.replace(self, neighbours=graph)

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics with the present name of a field."""
        return {"lists_since_feedback" if k == "ahead" else k: v for k, v in arrays.items()}

    def why_not(self, model: KnownModel) -> str | None:
        """Return why the policy's assumptions do not hold for a click model; None if they do."""
        reason = super().why_not(model)
        attraction = getattr(model, "attraction", None)
        if reason is not None or attraction is None:
            return reason
        peak = peak_besides(self.neighbours or line_graph(range(len(attraction))), attraction)
        neighbour = f"it assumes that item {peak} has a more attractive neighbour in its graph"
        return None if peak is None else neighbour


def build(params: Params, state: State) -> InFlight:
    """Return a cache with nothing in flight."""
    return InFlight(np.zeros(1, dtype=np.int64))


def rank(
    params: Params,
    state: State,
    cache: InFlight,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the leader if it is its turn, else the largest index among it and its neighbours."""
    n_items = state.clicks.shape[0]
    rate = np.zeros(n_items)
    for item in range(n_items):
        views = state.clicks[item] + state.misses[item]
        if views > 0:
            rate[item] = state.clicks[item] / views
    top_k(rate, rng, ranking)
    leader = ranking[0]
    memo[0] = leader
    # Lists in flight count too. Otherwise, with feedback in batches, the number of settled rounds
    # might be a multiple of γ + 1 for a whole batch, or never.
    turn = (state.led[leader] + cache.lists_since_feedback[0]) % (params.degree + 1)
    cache.lists_since_feedback[0] += 1
    if turn == 0:
        return
    delta = math.log(state.led[leader] + 1.0)
    if delta > 1.0:
        delta += params.loglog * math.log(delta)
    index = np.full(n_items, -math.inf)
    index[leader] = kl_upper(state.clicks[leader], state.misses[leader], delta)
    for item in params.neighbours[params.begins[leader] : params.begins[leader + 1]]:
        index[item] = kl_upper(state.clicks[item], state.misses[item], delta)
    top_k(index, rng, ranking)


def update(
    params: Params, state: State, cache: InFlight, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the click or the miss, and the round of the leader."""
    cache.lists_since_feedback[0] = 0
    state.led[memo[0]] += 1
    state.clicks[ranking[0]] += clicks[0]
    state.misses[ranking[0]] += 1 - clicks[0]


register(OSUB, State, rank, update, cache=InFlight, build=build)
