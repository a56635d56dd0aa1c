"""Benchmark of `simulate_many`: its cost beyond the loop. `python benchmarks/many.py --help`."""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import clickrank as cr


class Cost(NamedTuple):
    """Seconds of one call: wall-clock time, processor time, and processor time in the loop."""

    policy: str
    threads: int
    clock: float
    processor: float
    loop: float
    runs: int

    @property
    def percent(self) -> float:
        """The cost beyond the loop, in per cent of the loop."""
        return 100 * (self.processor / self.loop - 1)

    @property
    def milliseconds(self) -> float:
        """The cost beyond the loop per run."""
        return 1e3 * (self.processor - self.loop) / self.runs


def measure(policy: str, n_queries: int, runs: int, horizon: int, threads: int) -> Cost:
    """Time one call on cascade models of 120 items and 10 positions."""
    rng = np.random.default_rng(0)
    models = [cr.clickmodels.Cascade(rng.uniform(0, 0.5, 120), 10) for _ in range(n_queries)]
    cr.simulate_many(policy, models[:1], horizon, 1)  # compiles
    clock, processor = time.perf_counter(), time.process_time()
    results = cr.simulate_many(policy, models, horizon, runs, threads=threads)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return Cost(policy, threads, clock, processor, results.seconds, results.runs)


def main(arguments: list[str] | None = None) -> list[Cost]:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", default="uniform,toprank")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3, help="the least cost counts")
    given = parser.parse_args(arguments)
    table = Table("policy", "threads", "clock s", "processor s", "loop s", "beyond %", "ms per run")
    best = []
    for policy in given.policies.split(","):
        for threads in (1, 2):
            costs = [
                measure(policy, given.queries, given.runs, given.horizon, threads)
                for _ in range(given.repeats)
            ]
            cost = min(costs, key=lambda cost: cost.milliseconds)
            best.append(cost)
            numbers = (cost.clock, cost.processor, cost.loop, cost.percent, cost.milliseconds)
            table.add_row(policy, str(threads), *(f"{x:.3g}" for x in numbers))
    Console().print(table)
    return best


if __name__ == "__main__":
    main()
