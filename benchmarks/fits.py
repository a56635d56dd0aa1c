"""How long each click model takes to fit to a million lists of ten results.

    python benchmarks/fits.py [LISTS]

A hundred queries of fifty items each, clicks of a dependent click model, on one core. Each fit is
made once to have its code compiled or loaded, and then timed: the best of three, in seconds of the
processor, which other work on the machine does not slow.
"""

from __future__ import annotations

import dataclasses
import sys
import time

import numpy as np

from clickrank.clickmodels import DCM
from clickrank.fit import FITS, fit
from clickrank.logs import Counts
from clickrank.logs.counts import texts

QUERIES, ITEMS, POSITIONS = 100, 50, 10


def log(lists: int, seed: int = 0) -> Counts:
    """Draw lists of random items, and the clicks on them."""
    rng = np.random.default_rng(seed)
    attraction = rng.beta(1.0, 4.0, QUERIES * ITEMS)
    satisfaction = 0.8 - 0.05 * np.arange(POSITIONS)
    query = rng.integers(0, QUERIES, lists)
    shown = np.argsort(rng.random((lists, ITEMS), dtype=np.float32), axis=1)[:, :POSITIONS]
    shown += query[:, None] * ITEMS
    model = DCM(attraction, satisfaction)
    clicks = (rng.random(shown.shape) < model.attraction[shown]).astype(np.uint8)
    satisfied = clicks * (rng.random(shown.shape) < satisfaction)
    clicks[np.cumsum(satisfied, axis=1) - satisfied > 0] = 0
    begun = time.process_time()
    counts = Counts.of_lists(shown, clicks, names=[str(i) for i in range(QUERIES * ITEMS)])
    print(f"counting {time.process_time() - begun:6.2f} s")
    return dataclasses.replace(
        counts,
        queries=texts([str(q) for q in range(QUERIES)]),
        pair_query=np.repeat(np.arange(QUERIES), ITEMS),
    )


def main(lists: int) -> None:
    """Print the times."""
    counts = log(lists)
    small = counts.of_query("0")
    for name in FITS:
        found = fit(name, small)
        taken = []
        for _ in range(3):
            begun = time.process_time()
            found = fit(name, counts)
            taken.append(time.process_time() - begun)
        steps = found.log_likelihoods.size
        print(f"{name:8} {min(taken):6.2f} s  {steps} steps, converged: {found.converged}")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
