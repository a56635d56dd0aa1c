"""The benchmark runs, and judges what it finds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks import speed, start
from clickrank.policies import POLICIES
from clickrank.policies.contract import has_fast_kernels


def test_benchmark_runs(tmp_path: Path) -> None:
    assert set(speed.QUICK.names()) == set(speed.FULL.names()) == set(POLICIES) - speed.LEFT_OUT
    own = ("oracle", "pbm-ucb", "toprank", "osub")
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
    floors = [s for s in found["speeds"] if s["floor"] is not None]
    fast = [name for name in own if has_fast_kernels(POLICIES[name])]
    assert len(whats) == len(set(whats)) == len(floors) + len(fast) + 2
    assert fast
    console = Console(width=120, record=True, quiet=True)
    for table in speed.tables(report):
        console.print(table)


def test_verdicts() -> None:
    speeds = [
        speed.Speed("pbm-ucb", 10, 5, 0.3, 0.3, 1.0, 0.4),
        speed.Speed("uniform", 10, 5, 0.3),
        speed.Speed("pbm-ucb", 120, 10, 3.0, 4.5, 1.5),
        speed.Speed("grab", 10, 5, 3.0, 3.6, 1.2, 2.0),
    ]
    threads = speed.Threads("pbm-ucb", 2.0, 1.0, 2.0, cores=1)
    start = speed.Start(0.5, 0.3, {"pbm-ucb": 0.3}, 0.3)
    verdicts = {v.what: v.met for v in speed.judge(speeds, threads, start)}
    assert verdicts == {
        "pbm-ucb, 10 × 5: µs per round": True,
        "grab, 10 × 5: µs per round": False,
        "pbm-ucb: times its reference": True,  # at one of its sizes
        "grab: times its reference": False,
        "two threads: times one": None,  # there is one core
        "known pair: seconds to start": False,
    }


def test_the_start_of_every_command_is_measured() -> None:
    asked = start.questions()
    for one in (("-c", "import clickrank"), ("-c", "import clickrank.client")):
        assert one in asked
    for words in (("--help",), ("--version",), ("compare", "--help"), ("keys", "--help")):
        assert ("-m", "clickrank", *words) in asked
    assert start.processor_seconds(("-c", "pass"), repeats=1) > 0
