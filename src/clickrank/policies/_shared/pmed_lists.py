"""What PMED says of its next list."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import interpreted
from clickrank.numerics.pbm_likelihood import estimate_pbm
from clickrank.rankings.lists import Few, Lists, ListSource


class QueuedLists:
    """The next list is one of the queue, each as likely as the others."""

    def lists(self, source: ListSource) -> Lists | None:
        """Return the lists of the queue; None if it is empty and items or positions are tied."""
        cache = source.cache
        if cache.size[0] > 0:
            return Few(cache.queue[: cache.size[0]].copy())
        shown, _ = source.probe()
        fitted = cache
        if not hasattr(cache, "log_theta"):
            with interpreted():
                fitted = estimate_pbm(source.state.clicks, source.state.misses)
        values = {*fitted.log_theta.tolist()}, {*fitted.log_kappa.tolist()}
        if (len(values[0]), len(values[1])) == (source.n_items, source.n_positions):
            return Few(np.concatenate([shown[None], cache.queue[: cache.size[0]]]))
        source.keep("fitted", "x", "y")  # which the estimates, as they are rounded, do not show
        return None
