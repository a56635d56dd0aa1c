"""Benchmark of simulation speed: `make bench`, or `python benchmarks/speed.py --quick`.

It measures the time of a round for each policy, with its fast kernels and with its plain ones; the
gain of a second thread; and the time of a new process until its first simulation. Other work on the
machine only ever makes things slower, so that everything is measured several times in turn, and the
best time counts.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

# In a script, sys.path has the folder of the script, not the one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import clickrank as cr
from clickrank.clickmodels import MNL, PBM, Cascade, LinearAttraction
from clickrank.policies import POLICIES
from clickrank.policies.contract import has_fast_kernels
from clickrank.simulation.simulate_runs import default_threads

#: The largest allowed microseconds per round of a policy with 10 items and 5 positions.
FLOORS = {
    "pbm-ucb": 0.4,
    "pbm-pie": 1.5,
    "bc-mp-ts": 1.5,
    "rba-kl-ucb": 4.0,
    "pbm-kl-ucb": 5.0,
    "pbm-ts": 5.0,
    "comb-ucb1": 1.0,
    "kl-comb-ucb": 4.0,
    "epsilon-greedy": 1.5,
    "grab": 2.0,
    "osub": 1.0,
    "s-grab": 3.0,
    "toprank": 1.0,
    "unirank": 2.5,
    "pb-lb": 1.5,
    "pb-mhb": 4.0,
    "pmed": 2000.0,
    "thompson": 5.0,
    "bayes-ucb": 60.0,
    "epoch-ucb": 0.5,
    "epoch-ucb-w": 0.5,
    "epoch-ts": 1.5,
    "epoch-ts-unknown": 100.0,
    "epoch-ucb-unknown": 100.0,
    "epoch-ucb-star": 100.0,
    "mnl-bandit": 2.0,
    "recurrank": 2.0,
}
#: Not measured: no click model has its scores, and it computes nothing.
LEFT_OUT = {"ensemble"}
#: Measured at the first shape only: its plans are for dozens of items.
SMALL_ONLY = {"pmed"}
#: As FLOORS, at 1,000 items and 10 positions, on average from the first round on.
LARGE_FLOORS = {"toprank": 20.0, "unirank": 20.0}
#: As FLOORS, for web search: 120 items, 10 positions, cascade clicks, 5,000 rounds.
SEARCH_FLOORS = {"cascade-ucb1": 0.6, "cascade-kl-ucb": 4.0, "bayes-ucb": 6.0, "thompson": 15.0}
#: Measured with them: the oracle shows the time of the loop itself.
SEARCH_BESIDE = ("oracle", "dcm-kl-ucb")
#: As FLOORS, for large catalogues with features (li2019): clicks, items and floors of each case.
#: A slowdown after the rounds of the plan, of up to 5,000,000 in li2019, is not seen here.
CATALOGUES: dict[str, tuple[int, dict[str, float]]] = {
    "cascade": (
        10_000,
        {"recurrank": 4.0, "cascade-lin-ucb": 120.0, "cascade-lin-ts": 120.0, "toprank": 40.0},
    ),
    "pbm": (
        10_000,
        {"recurrank": 2.0, "cascade-lin-ucb": 120.0, "cascade-lin-ts": 120.0, "toprank": 20.0},
    ),
    "dctr": (
        1_000,
        {"recurrank": 1.5, "cascade-lin-ucb": 15.0, "cascade-lin-ts": 15.0, "toprank": 10.0},
    ),
}
#: How often each attraction occurs among the results of a query; most are irrelevant.
GRADES = {0.0: 0.52, 0.2: 0.32, 0.4: 0.13, 0.8: 0.02, 1.0: 0.01}
#: How many times faster than the reference a fast file must be, at one of the sizes at least.
RATIO = 1.3
SPEEDUP = 1.8
START_SECONDS = 0.2

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"


class Size(NamedTuple):
    """One shape, and the number of rounds that are played with it."""

    n_items: int
    n_positions: int
    horizon: int
    reference_horizon: int


class Plan(NamedTuple):
    """How much is measured."""

    sizes: tuple[Size, ...]
    repeats: int
    thread_runs: int
    thread_horizon: int
    start_repeats: int
    large_horizon: int
    search_queries: int = 4
    search_runs: int = 10
    search_horizon: int = 5_000
    catalogue_horizon: int = 500_000
    #: Names of the policies; empty means all that clickrank ships.
    policies: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Return the names of the policies to measure."""
        own = [n for n, cls in POLICIES.items() if cls.__module__.startswith("clickrank.")]
        return list(self.policies) or [n for n in own if n not in LEFT_OUT]


FULL = Plan(
    (Size(10, 5, 200_000, 50_000), Size(120, 10, 30_000, 2_000)), 5, 4, 150_000, 3, 1_000_000
)
QUICK = Plan(
    (Size(10, 5, 20_000, 2_000), Size(120, 10, 3_000, 200)), 3, 4, 60_000, 1, 20_000, 2, 4,
    catalogue_horizon=20_000,
)  # fmt: skip


class Speed(msgspec.Struct):
    """Microseconds per round of one policy at one shape; without a fast file, no ratio."""

    policy: str
    n_items: int
    n_positions: int
    microseconds: float
    reference_microseconds: float | None = None
    ratio: float | None = None
    floor: float | None = None
    case: str = ""


class Threads(msgspec.Struct):
    """Wall-clock seconds of the same work on one thread and on two."""

    policy: str
    one: float
    two: float
    speedup: float
    cores: int


class Start(msgspec.Struct):
    """Seconds in a new process: to import, and then to simulate ten rounds of a compiled pair."""

    import_clickrank: float
    import_numba: float
    pairs: dict[str, float]
    slowest: float


class Machine(msgspec.Struct):
    """The machine, and how busy it was (load averages over one minute)."""

    processor: str
    cores: int
    system: str
    load_before: float
    load_after: float
    versions: dict[str, str]


class Verdict(msgspec.Struct):
    """One requirement, and whether it was met; None if it cannot be measured here."""

    what: str
    wanted: str
    got: float | None
    met: bool | None


class Report(msgspec.Struct):
    """All measurements, as in the JSON file."""

    machine: Machine
    quick: bool
    speeds: list[Speed]
    threads: Threads
    start: Start
    verdicts: list[Verdict]


def page(n_items: int, n_positions: int) -> PBM:
    """Return users of a page of that shape; with features, for policies that need some."""
    features = np.column_stack([np.ones(n_items), np.linspace(0.0, 1.0, n_items)])
    return PBM(LinearAttraction(features, [0.5, -0.45]), np.linspace(1.0, 0.2, n_positions))


def catalogue(clicks: str, n_items: int) -> PBM | Cascade:
    """Return users of many items, attractive by 5 features, and a list of 10."""
    rng = np.random.default_rng(0)
    vectors, weights = rng.standard_normal((n_items, 4)), rng.standard_normal(4)
    attraction = LinearAttraction.normalised(vectors, weights)
    if clicks == "cascade":
        return Cascade(attraction, 10)
    return PBM(attraction, 1.0 / np.arange(1, 11) if clicks == "pbm" else np.ones(10))


def kind(name: str) -> type[PBM] | type[MNL]:
    """Return the click model for a policy, which must have the parameters that the policy knows."""
    return MNL if "mnl" in POLICIES[name].assumes.click_models else PBM


def query(seed: int) -> Cascade:
    """Return users of a web search."""
    grades = np.random.default_rng(seed).choice([*GRADES], 120, p=[*GRADES.values()])
    return Cascade(grades, 10)


def measure_rounds(plan: Plan, bar: Progress) -> list[Speed]:
    """Measure each policy and, if it has a fast file, its reference, in turn.

    The reference plays fewer rounds, so that the fast kernels are measured on that many rounds too:
    a policy gets slower or faster while it learns.
    """
    names = plan.names()
    best: dict[tuple[str, Size, str], float] = {}
    task = bar.add_task("rounds", total=plan.repeats * len(plan.sizes) * len(names))
    for repeat in range(plan.repeats):
        for size in plan.sizes:
            model = page(size.n_items, size.n_positions)
            for name in names:
                if name in SMALL_ONLY and size is not plan.sizes[0]:
                    continue
                users = model if kind(name) is PBM else MNL(model.attraction, model.examination)
                if POLICIES[name].assumes.positions == "one":
                    users = users.first_positions(1)
                times = {"ours": ours(name, users, size.horizon, repeat)}
                if has_fast_kernels(POLICIES[name]):
                    for whose in ("fast", "reference"):
                        reference = whose == "reference"
                        few = size.reference_horizon
                        times[whose] = ours(name, users, few, repeat, reference=reference)
                for whose, took in times.items():
                    key = (name, size, whose)
                    best[key] = min(best.get(key, took), took)
                bar.advance(task)
    speeds = []
    for size in plan.sizes:
        for name in names:
            if (name, size, "ours") not in best:
                continue
            took, other = best[name, size, "ours"], best.get((name, size, "reference"))
            speeds.append(
                Speed(
                    policy=name,
                    n_items=size.n_items,
                    n_positions=size.n_positions,
                    microseconds=took,
                    reference_microseconds=other,
                    ratio=None if other is None else other / best[name, size, "fast"],
                    floor=FLOORS.get(name) if size is plan.sizes[0] else None,
                )
            )
    return speeds


def measure_large(plan: Plan, bar: Progress) -> list[Speed]:
    """Measure the policies for large catalogues, once, because it is an average anyway."""
    names = [name for name in LARGE_FLOORS if name in plan.names()]
    task = bar.add_task("large", total=len(names))
    speeds = []
    for name in names:
        took = ours(name, page(1000, 10), plan.large_horizon, seed=0)
        speeds.append(Speed(name, 1000, 10, took, floor=LARGE_FLOORS[name]))
        bar.advance(task)
    return speeds


def measure_search(plan: Plan, bar: Progress) -> list[Speed]:
    """Measure the policies for web search, on several queries, from the first round on."""
    names = [name for name in (*SEARCH_BESIDE, *SEARCH_FLOORS) if name in plan.names()]
    task = bar.add_task("search", total=plan.repeats * plan.search_queries)
    best = dict.fromkeys(itertools.product(names, range(plan.search_queries)), float("inf"))
    for repeat, number in itertools.product(range(plan.repeats), range(plan.search_queries)):
        for name in names:
            took = ours(name, query(number), plan.search_horizon, repeat, plan.search_runs)
            best[name, number] = min(best[name, number], took)
        bar.advance(task)
    speeds = []
    for name in names:
        took = float(np.mean([best[name, number] for number in range(plan.search_queries)]))
        floor = SEARCH_FLOORS.get(name)
        speeds.append(Speed(name, 120, 10, took, floor=floor, case="web search"))
    return speeds


def measure_catalogues(plan: Plan, bar: Progress) -> list[Speed]:
    """Measure the policies for large catalogues with features, once."""
    cases = [
        (clicks, n_items, name, floor)
        for clicks, (n_items, floors) in CATALOGUES.items()
        for name, floor in floors.items()
        if name in plan.names()
    ]
    task = bar.add_task("catalogues", total=len(cases))
    speeds = []
    for clicks, n_items, name, floor in cases:
        took = ours(name, catalogue(clicks, n_items), plan.catalogue_horizon, seed=0)
        case = f"features, {clicks}"
        speeds.append(Speed(name, n_items, 10, took, floor=floor, case=case))
        bar.advance(task)
    return speeds


def ours(
    name: str,
    model: PBM | MNL | Cascade,
    horizon: int,
    seed: int,
    runs: int = 1,
    reference: bool = False,
) -> float:
    """Return the microseconds per round, on one thread."""
    policy = cr.policy(name, model=model, horizon=horizon, reference=reference)
    result = cr.simulate(
        policy, model, horizon, runs, seed=seed, threads=1, progress=False, allow_mismatch=True
    )
    return result.microseconds_per_round


def measure_threads(plan: Plan, bar: Progress, policy: str = "pbm-kl-ucb") -> Threads:
    """Measure the same runs on one thread and on two, in turn."""
    model = page(10, 5)
    best = {1: float("inf"), 2: float("inf")}
    task = bar.add_task("threads", total=2 * plan.repeats)
    for _ in range(plan.repeats):
        for threads in (1, 2):
            begin = time.perf_counter()
            cr.simulate(
                policy, model, plan.thread_horizon, plan.thread_runs,
                threads=threads, progress=False,
            )  # fmt: skip
            best[threads] = min(best[threads], time.perf_counter() - begin)
            bar.advance(task)
    return Threads(policy, best[1], best[2], best[1] / best[2], default_threads())


_START = """
import time
begin = time.perf_counter()
import numba
after_numba = time.perf_counter()
import clickrank as cr
cr.clickmodels, cr.simulate  # imported when they are first used
imported = time.perf_counter()
attraction = cr.clickmodels.LinearAttraction([[1, 0], [1, 1], [1, 2]], [0.5, -0.1])
model = cr.clickmodels.{model}(attraction, [0.9, 0.5][:{n_positions}])
before = time.perf_counter()
cr.simulate({name!r}, model, horizon=10, allow_mismatch=True)
print(after_numba - begin, imported - begin, time.perf_counter() - before)
"""


def measure_start(plan: Plan, bar: Progress) -> Start:
    """Measure new processes, one per policy; the first fills the cache and is not counted.

    The imports are the same in all of them.
    """
    names = plan.names()
    numba_seconds = import_seconds = float("inf")
    pairs = dict.fromkeys(names, float("inf"))
    task = bar.add_task("start", total=(1 + plan.start_repeats) * len(names))
    for repeat in range(1 + plan.start_repeats):
        for name in names:
            numba_took, import_took, took = new_process(name)
            if repeat > 0:
                numba_seconds = min(numba_seconds, numba_took)
                import_seconds = min(import_seconds, import_took)
                pairs[name] = min(pairs[name], took)
            bar.advance(task)
    return Start(import_seconds, numba_seconds, pairs, max(pairs.values()))


def new_process(name: str) -> tuple[float, float, float]:
    """Return the seconds to import Numba, the simulator (with Numba), and to simulate."""
    one = POLICIES[name].assumes.positions == "one"
    code = _START.format(name=name, model=kind(name).__name__, n_positions=1 if one else 2)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    numba_took, import_took, took = map(float, done.stdout.split())
    return numba_took, import_took, took


def judge(speeds: list[Speed], threads: Threads, start: Start) -> list[Verdict]:
    """Compare the numbers with the requirements."""
    verdicts = [
        Verdict(
            f"{s.policy}, {shape(s)}: µs per round",
            f"≤ {s.floor:g}",
            s.microseconds,
            s.microseconds <= s.floor,
        )
        for s in speeds
        if s.floor is not None
    ]
    ratios: dict[str, float] = {}
    for s in speeds:
        if s.ratio is not None:
            ratios[s.policy] = max(s.ratio, ratios.get(s.policy, 0.0))
    verdicts += [
        Verdict(f"{name}: times its reference", f"≥ {RATIO:g}", ratio, ratio >= RATIO)
        for name, ratio in ratios.items()
    ]
    cores = threads.cores >= 2
    verdicts += [
        Verdict(
            "two threads: times one",
            f"≥ {SPEEDUP:g}",
            threads.speedup if cores else None,
            threads.speedup >= SPEEDUP if cores else None,
        ),
        Verdict(
            "known pair: seconds to start",
            f"< {START_SECONDS:g}",
            start.slowest,
            start.slowest < START_SECONDS,
        ),
    ]
    return verdicts


def measure(plan: Plan, quick: bool, show: bool = True) -> Report:
    """Measure everything."""
    load = load_average()
    with Progress(console=Console(stderr=True), disable=not show) as bar:
        speeds = measure_rounds(plan, bar) + measure_large(plan, bar)
        speeds += measure_search(plan, bar) + measure_catalogues(plan, bar)
        threads = measure_threads(plan, bar)
        start = measure_start(plan, bar)
    machine = Machine(
        processor=processor(),
        cores=default_threads(),
        system=platform.platform(),
        load_before=load,
        load_after=load_average(),
        versions={
            "python": platform.python_version(),
            "clickrank": cr.__version__,
            **{m: sys.modules[m].__version__ for m in ("numba", "numpy", "scipy")},
        },
    )
    verdicts = judge(speeds, threads, start)
    return Report(machine, quick, speeds, threads, start, verdicts)


def load_average() -> float:
    """Return how many processes were ready to run in the last minute; -1 if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else -1.0


def processor() -> str:
    """Return the name of the processor."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def tables(report: Report) -> list[Table]:
    """Return the tables that are printed."""
    rounds = Table(title="Microseconds per round", title_justify="left")
    heads = ("policy", "items × positions", "fast", "reference", "ratio", "floor", "")
    for i, head in enumerate(heads):
        rounds.add_column(head, justify="left" if i == 0 else "right")
    for s in report.speeds:
        rounds.add_row(
            s.policy,
            shape(s),
            f"{s.microseconds:.2f}",
            "–" if s.reference_microseconds is None else f"{s.reference_microseconds:,.2f}",
            "–" if s.ratio is None else f"{s.ratio:,.1f}",
            "" if s.floor is None else f"{s.floor:g}",
            "" if s.floor is None else mark(s.microseconds <= s.floor),
        )
    start = Table(title="A new process, seconds", title_justify="left")
    start.add_column("step")
    start.add_column("best", justify="right")
    start.add_row("import the simulator", f"{report.start.import_clickrank:.3f}")
    start.add_row("  of which import numba", f"{report.start.import_numba:.3f}")
    for name, took in report.start.pairs.items():
        start.add_row(f"then {name}, ten rounds", f"{took:.3f}")
    verdict = Table(title="Requirements", title_justify="left")
    for i, head in enumerate(("what", "wanted", "got", "")):
        verdict.add_column(head, justify="left" if i == 0 else "right")
    for v in report.verdicts:
        verdict.add_row(v.what, v.wanted, "–" if v.got is None else f"{v.got:.2f}", mark(v.met))
    return [rounds, start, verdict]


def shape(speed: Speed) -> str:
    """Return the size of the page, and its kind if it is not the usual one."""
    return " ".join(filter(None, (speed.case, f"{speed.n_items} × {speed.n_positions}")))


def mark(met: bool | None) -> str:
    """Return a verdict as a word."""
    return "–" if met is None else "[green]yes[/]" if met else "[red]no[/]"


def write(report: Report, path: Path) -> None:
    """Write the report as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="Measure the speed of the simulation.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds: less exact")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    chosen = parser.parse_args(arguments)
    report = measure(QUICK if chosen.quick else FULL, chosen.quick)
    console = Console()
    for table in tables(report):
        console.print(table)
    m = report.machine
    console.print(
        f"{m.processor}, {m.cores} cores; load {m.load_before:.1f} before, "
        f"{m.load_after:.1f} after (on an idle machine: 0, and about 1)."
    )
    write(report, chosen.out)
    console.print(f"Wrote {chosen.out}.")


if __name__ == "__main__":
    main()
