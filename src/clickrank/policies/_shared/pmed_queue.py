"""PMED's queue: the distribution of its next list, and states of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import interpreted
from clickrank.numerics.pbm_maximum import estimate_pbm
from clickrank.policies.capabilities import ExactLists, ReadsEarlierStates
from clickrank.rankings.closed_form import ListSource
from clickrank.rankings.distributions import Mixture


class PMEDQueue(ExactLists, ReadsEarlierStates):
    """The next list is drawn from the queue, with equal probabilities."""

    def lists(self, source: ListSource) -> Mixture | None:
        """Return the lists of the queue; None if it is empty and items or positions are tied."""
        cache = source.cache
        if cache.size[0] > 0:
            return Mixture.unchecked(cache.queue[: cache.size[0]].copy(), source.n_items)
        shown, _ = source.probe()
        estimates = cache  # of the fast kernels, where the probe has written them
        if not hasattr(cache, "log_theta"):
            with interpreted():
                estimates = estimate_pbm(source.state.clicks, source.state.misses)
        values = {*estimates.log_theta.tolist()}, {*estimates.log_kappa.tolist()}
        if (len(values[0]), len(values[1])) == (source.n_items, source.n_positions):
            lists = np.concatenate([shown[None], cache.queue[: cache.size[0]]])
            return Mixture.unchecked(lists, source.n_items)
        source.keep("fitted", "x", "y")  # which the estimates, as they are rounded, do not show
        return None

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics in which lists outside the plan are 0 and have no weight.

        Earlier versions counted the lists of the plan, with -1 if there was no plan.
        """
        arrays = dict(arrays)
        if "n_lists" in arrays:
            found = int(arrays["n_lists"][0])
            lists, weights = arrays["lists"].copy(), arrays["weights"].copy()
            lists[max(found, 0) :] = 0
            weights[max(found, 0) :] = 0.0
            if found < 0:
                weights[0] = -1.0
            arrays |= {"lists": lists, "weights": weights}
        return arrays
