"""The NumPy counterparts are the same policies, and the benchmark runs."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

import clickrank as cr

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # benchmarks is not installed

from benchmarks import numpy_policies, speed
from benchmarks.numpy_policies import NUMPY_POLICIES
from clickrank.numerics.posterior import log_density
from clickrank.policies import POLICIES
from tests.twins.base import index_by_bisection

ATTRACTION = np.array([0.6, 0.45, 0.3, 0.1])
EXAMINATION = np.array([0.9, 0.5])


def test_every_policy_has_a_counterpart_or_a_floor() -> None:
    own = {n for n, cls in POLICIES.items() if cls.__module__.startswith("clickrank.")}
    # Of which nobody asked how fast they are.
    beyond = {"oracle", "batchrank", "bubblerank", "dcm-kl-ucb", "greedy", "ensemble"}
    floors = {name for _, case in speed.CATALOGUES.values() for name in case}
    assert own - {*NUMPY_POLICIES, *speed.FLOORS, *speed.SEARCH_FLOORS, *floors} == beyond


@pytest.mark.parametrize("name", NUMPY_POLICIES)
def test_same_regret(name: str) -> None:
    """Mean regrets within 5 standard errors: each fails by chance once in a million."""
    horizon, runs = 200, 20
    theirs = []
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        policy = NUMPY_POLICIES[name](ATTRACTION.size, EXAMINATION)
        attraction = rng.permutation(ATTRACTION)
        theirs.append(numpy_policies.simulate(policy, attraction, horizon, rng))
    model = cr.clickmodels.PBM(ATTRACTION, EXAMINATION)
    ours = cr.simulate(name, model, horizon, runs=500, seed=5).regret[:, -1]
    error = math.sqrt(np.var(theirs, ddof=1) / runs + ours.var(ddof=1) / ours.size)
    assert abs(np.mean(theirs) - ours.mean()) < 5 * error


def test_same_index() -> None:
    rng = np.random.default_rng(0)
    examination = np.array([1.0, 0.6, 0.3])
    views = rng.integers(0, 30, (40, 3))
    clicks = rng.binomial(views, np.outer(rng.random(40), examination))
    for delta in (0.0, 0.5, 5.0):
        found = numpy_policies.kl_index(clicks, views - clicks, examination, delta)
        want = [
            index_by_bisection(s, n, examination, delta) for s, n in zip(clicks, views, strict=True)
        ]
        assert found == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize(
    ("clicks", "misses"),
    [([0, 0], [0, 0]), ([3, 1], [10, 4]), ([0, 0], [20, 5]), ([8, 6], [1, 3]), ([30, 25], [5, 40])],
)
def test_same_posterior(clicks: list[int], misses: list[int]) -> None:
    """Draws of PBM-TS against the integrated density; fails by chance once in a million."""
    policy = numpy_policies.PBMTS(3000, EXAMINATION)
    policy.clicks[:], policy.misses[:] = clicks, misses
    policy.prepare(np.arange(3000))
    grid = np.linspace(0.0, 1.0, 20_001)
    counts = np.array(misses)
    log = np.array([log_density(sum(clicks), counts, EXAMINATION, x) for x in grid])
    cdf = np.cumsum(np.exp(log - log.max()))
    draws = policy.draw(np.random.default_rng(1))
    found = stats.kstest(draws, lambda x: np.interp(x, grid, cdf / cdf[-1]))
    assert found.pvalue > 1e-6


def test_benchmark_runs(tmp_path: Path) -> None:
    assert set(speed.QUICK.names()) == set(speed.FULL.names()) >= {*NUMPY_POLICIES, "oracle"}
    own = ("oracle", "pbm-kl-ucb", "pbm-ucb", "toprank", "cascade-ucb1")
    sizes = (speed.Size(10, 5, 200, 5), speed.Size(12, 5, 100, 2))
    tiny = speed.Plan(sizes, 1, 2, 100, 1, 50, 1, 1, 50, 20, policies=own)
    report = speed.measure(tiny, quick=True, show=False)
    speed.write(report, tmp_path / "results" / "speed.json")
    found = json.loads((tmp_path / "results" / "speed.json").read_text())
    assert {s["policy"] for s in found["speeds"]} == set(own)
    assert all(s["microseconds"] > 0 for s in found["speeds"])
    assert set(found["start"]["pairs"]) == set(own)
    assert found["threads"]["speedup"] > 0
    assert found["machine"]["versions"]["numpy"] == np.__version__
    whats = [v["what"] for v in found["verdicts"]]
    assert len(whats) == len(set(whats)) == 2 * 2 + 2 + 1 + 3 + 3
    console = Console(width=120, record=True, quiet=True)
    for table in speed.tables(report):
        console.print(table)


def test_verdicts() -> None:
    speeds = [
        speed.Speed("pbm-ucb", 10, 5, 0.3, 30.0, 100.0, True, 0.4),
        speed.Speed("uniform", 10, 5, 0.3, 3.0, 10.0, False, None),
        speed.Speed("pbm-ucb", 120, 10, 3.0, 30.0, 10.0, True, None),
    ]
    threads = speed.Threads("pbm-ucb", 2.0, 1.0, 2.0, cores=1)
    start = speed.Start(0.5, 0.3, {"pbm-ucb": 0.3}, 0.3)
    verdicts = {v.what: v.met for v in speed.judge(speeds, threads, start)}
    assert verdicts == {
        "pbm-ucb, 10 × 5: µs a round": True,
        "pbm-ucb: times NumPy": True,
        "mean: times NumPy": True,
        "two threads: times one": None,  # there is one core
        "known pair: seconds to start": False,
    }
