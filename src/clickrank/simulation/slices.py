"""Slices of a large simulation: some runs of some queries, and the function that plays them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from clickrank._core.progress import Tick
from clickrank.clickmodels.click_model import ClickModel
from clickrank.policies.policy_spec import Policy
from clickrank.simulation.many_results import Key, Rows
from clickrank.simulation.simulate_runs import LOOK_SECONDS, Job, RunPlan


class Instance(NamedTuple):
    """One query: its number, the policy that learns on it, and its click model."""

    number: int
    key: Key
    policy: Policy
    model: ClickModel


class Slice(NamedTuple):
    """Some runs of some queries, the time for them, and how often they were lost."""

    units: tuple[tuple[Instance, tuple[int, ...]], ...]
    #: No further run begins after this many seconds: queries may be slower than earlier ones.
    seconds: float
    lost: int = 0

    @property
    def runs(self) -> int:
        """Number of runs to play."""
        return sum(len(runs) for _, runs in self.units)

    def without(self, done: Collection[tuple[int, int]]) -> Slice:
        """Return the slice without some runs, given by number of query and run."""
        left = (
            (instance, tuple(run for run in runs if (instance.number, run) not in done))
            for instance, runs in self.units
        )
        return self._replace(units=tuple((instance, runs) for instance, runs in left if runs))


class PlayedSlice(NamedTuple):
    """The finished rows of a slice, and the error that ended it, if any, with its query."""

    rows: Rows
    seconds: float
    key: Key = ""
    error: Exception | None = None


class Caller(NamedTuple):
    """What a thread shares with its caller; workers in other processes have no such object."""

    stop: threading.Event
    tick: Tick


class WaitingRuns:
    """The runs that were not handed to a worker yet, in order."""

    def __init__(self, instances: Sequence[Instance], runs: int, have: Rows) -> None:
        """Leave out the runs that are finished."""
        done = np.zeros((len(instances), runs), dtype=bool)
        done[have.instance, have.run] = True
        self._units = deque(
            (instance, deque(np.flatnonzero(~done[instance.number]).tolist()))
            for instance in instances
            if not done[instance.number].all()
        )
        self.runs = int(done.size - done.sum())

    def take(self, runs: int, seconds: float) -> Slice:
        """Return that many runs as a slice to be played for that long, and remove them here."""
        units = []
        while runs and self._units:
            instance, ids = self._units[0]
            some = tuple(ids.popleft() for _ in range(min(runs, len(ids))))
            units.append((instance, some))
            runs -= len(some)
            self.runs -= len(some)
            if not ids:
                self._units.popleft()
        return Slice(tuple(units), seconds)


def play_slice(plan: RunPlan, part: Slice, caller: Caller | None) -> PlayedSlice:
    """Play the runs of a slice until its time is over, at least one of them unless stopped.

    An error of a run is returned; an exception means that the worker was lost.
    """
    stop, tick = caller or Caller(threading.Event(), _nothing)
    names: list[tuple[int, int]] = []
    regret, seconds = [], []
    key: Key = ""
    failed: Exception | None = None
    begin = 0.0
    rounds = 64
    over = False
    try:
        for instance, runs in part.units:
            key = instance.key
            job = Job.of(instance.policy, instance.model, plan, (instance.number,))
            if not begin:
                if caller is None:
                    job.compile()  # or load the code that was compiled elsewhere
                begin = time.perf_counter()
            for run in runs:
                played = job.play(run, tick, stop, first=rounds)
                if played is None:
                    break
                names.append((instance.number, run))
                regret.append(played.regret)
                seconds.append(played.seconds)
                # Short runs in one piece: entering compiled code takes as long as many rounds.
                rounds = max(64, int(plan.horizon * LOOK_SECONDS / max(played.seconds, 1e-6)))
                over = time.perf_counter() - begin >= part.seconds
                if over:
                    break
            if over or stop.is_set():
                break
    except Exception as error:
        failed = error
    numbers = np.array(names, dtype=np.int64).reshape(-1, 2)
    rows = Rows(
        instance=numbers[:, 0],
        run=numbers[:, 1],
        regret=np.array(regret).reshape(-1, plan.checkpoints.size),
        seconds=np.array(seconds, dtype=np.float64),
    )
    return PlayedSlice(rows, time.perf_counter() - begin, key, failed)


def _nothing(done: int) -> None:
    """Ignore progress, which nobody sees."""
