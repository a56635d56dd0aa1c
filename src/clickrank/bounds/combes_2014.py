"""The bound of combes2014: one position, and click rates that are unimodal on a known graph."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clickrank._core.arrays import Vector, probabilities
from clickrank.bounds.divergence import bernoulli_kl
from clickrank.errors import invalid
from clickrank.numerics.undirected_graph import checked_graph, line_graph, peak_besides


def unimodal_lower_bound(rates: Vector, neighbours: Sequence[Sequence[int]] | None = None) -> float:
    """Return the constant C such that no uniformly efficient policy beats C·log T.

    Σ_k Δ_k/d(μ_k, μ*) over the neighbours k of the best item, Δ_k = μ* - μ_k. Other items do not
    add to it, as unimodality rules them out. OSUB reaches it: its regret is at most
    (1 + ε) C·log T + O(log log T) for every ε > 0.

    Parameters
    ----------
    rates
        The click rates μ of the items, unimodal on the graph: every item but the best has a
        neighbour with a larger click rate.
    neighbours
        For each item the numbers of its neighbours, as for `clickrank.policies.OSUB`. By default
        the graph is a line, in which each item is a neighbour of the next.

    Examples
    --------
    >>> round(unimodal_lower_bound([0.1, 0.2, 0.5, 0.4, 0.3]), 2)
    6.52
    """
    owner = "unimodal_lower_bound"
    mu = probabilities(owner, "rates", rates)
    line = line_graph(range(mu.size))
    graph = line if neighbours is None else checked_graph(owner, neighbours)
    if len(graph) != mu.size:
        raise invalid(owner, f"neighbours must have one entry per item ({mu.size})", len(graph))
    peak = peak_besides(graph, mu)
    if peak is not None:
        rule = f"rates[{peak}] must be below the rate of a neighbour, as it is not the largest"
        raise invalid(owner, rule, float(mu[peak]))
    best = int(np.argmax(mu))
    return math.fsum((mu[best] - mu[k]) / bernoulli_kl(mu[k], mu[best]) for k in graph[best])
