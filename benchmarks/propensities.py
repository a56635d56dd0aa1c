"""Benchmark of propensities: how long each policy takes to compute them, as a table.

    python benchmarks/propensities.py

10 items, 5 positions, standard errors of at most 1 %: before the first round, and after some rounds
on one position-based page (or one that the policy assumes). The floor is 20 ms. The best of several
times counts, in processor time, which is the time on an idle machine. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from clickrank.checks.playing import by_name, matched_model, play
from clickrank.learning import Learner
from clickrank.policies import POLICIES, Policy, policy

ITEMS, POSITIONS, FLOOR_MS = 10, 5, 20.0
AFTER = (0, 30, 1000)


def make(name: str, rounds: int) -> Learner:
    """Return a learner that has played some rounds."""
    cls = POLICIES[name]
    model = matched_model(cls, ITEMS, POSITIONS)
    spec: Policy
    if name == "ensemble":
        spec = policy(name, scores=[0.5, *(i / ITEMS for i in range(1, ITEMS))])
    else:
        spec = by_name(cls)(model, 10_000)
    learner = Learner(spec, ITEMS, model.n_positions, seed=0)
    play(learner, model, rounds, seed=0)
    return learner


def measure(learner: Learner, repeats: int) -> tuple[float, str]:
    """Return the best time in milliseconds, and whether they are exact."""
    found = learner.propensities()  # compiles
    best = float("inf")
    for seed in range(repeats):
        begin = time.thread_time()
        found = learner.propensities(seed)
        found.of_shown(list(range(learner.n_positions)))
        best = min(best, time.thread_time() - begin)
    return 1e3 * best, "exact" if found.exact else f"± {found.error:.4f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a policy is slower than the floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="policies; by default all")
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args(arguments)
    columns = [f"after {rounds}" for rounds in AFTER]
    table = Table("policy", *columns, title=f"ms for {ITEMS} × {POSITIONS}, floor {FLOOR_MS:g}")
    slow = []
    for name in options.names or POLICIES:
        cells = []
        for rounds in AFTER:
            took, how = measure(make(name, rounds), options.repeats)
            cells.append(f"{took:.2f} {how}")
            if took > FLOOR_MS:
                slow.append(name)
        table.add_row(name, *cells)
        print(name, *cells, file=sys.stderr, flush=True)
    Console(width=100).print(table)
    if slow:
        print(f"slower than the floor: {', '.join(dict.fromkeys(slow))}")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
