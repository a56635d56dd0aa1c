"""`simulate`: simulates one policy on one click model, in many runs."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._compile import jit
from clickrank._compile.callbacks import Held
from clickrank._core.arrays import Floats, Ints
from clickrank._core.progress import Tick, progress_bar
from clickrank._core.rng import streams
from clickrank._core.validate import check_int
from clickrank.clickmodels.click_model import ClickModel
from clickrank.clickmodels.click_model import code_of as model_code
from clickrank.errors import does_not_apply, invalid
from clickrank.learning.learner import Learner
from clickrank.learning.rounds import compiled_play, settled_after
from clickrank.policies.capabilities import relabelled, relabelled_positions
from clickrank.policies.contract import ANY_ITEMS
from clickrank.policies.policy_spec import Policy
from clickrank.policies.policy_spec import policy as make_policy
from clickrank.simulation.simulation_result import Result
from clickrank.simulation.visits import showing, users_of

jit.start()

LOOK_SECONDS = 0.05  # between two checks of the stop flag


def simulate(
    policy: Policy | str,
    model: ClickModel,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    *,
    checkpoints: ArrayLike | None = None,
    delay: int = 0,
    batch: int = 1,
    threads: int | None = None,
    progress: bool | None = None,
    allow_mismatch: bool = False,
    run_ids: Sequence[int] | None = None,
    counted_positions: int | None = None,
) -> Result:
    """Let a policy learn on simulated users, and measure its regret against the best ranking.

    The same seed gives the same numbers whatever the number of threads, and policies simulated
    with the same seed meet the same users. In every run the items are relabelled at random, and so
    are the positions if neither the click model nor the policy assumes an order of them, so that no
    policy profits from the order in which it meets them. The users and the regret are those of the
    page as it was given. Ctrl-C returns the finished runs.

    Parameters
    ----------
    policy
        A policy, or the name of one; then parameters that it must know are taken from the model.
    model
        The click model.
    horizon
        Number of rounds.
    runs
        Number of independent runs.
    seed
        Decides, together with the number of the run, everything that is random.
    checkpoints
        Rounds at which to record the regret; by default about ten per decade. The horizon is added.
    delay
        Feedback on a round arrives this many rounds later, whether there was a click or not.
    batch
        Feedback is handed over every ``batch`` rounds, in the order of the rounds.
    threads
        How many runs to play at once; by default one per core.
    progress
        Whether to show a progress bar; by default if the standard error stream is a terminal.
    allow_mismatch
        Run the policy even if it does not assume the clicks of this model.
    run_ids
        Play only these runs, to complete a simulation that was interrupted.
    counted_positions
        Measure the regret on this many positions from the top, against the best list for them; by
        default on all. The policy still learns from clicks at every position.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> result = cr.simulate("pbm-ucb", model, horizon=1000, runs=2, seed=0)
    >>> result.regret.shape == (2, result.checkpoints.size)
    True
    """
    plan = plan_of("simulate", horizon, seed, delay, batch, checkpoints, counted_positions)
    runs = check_int("simulate", "runs", runs, 1)
    count = check_int("simulate", "threads", default_threads() if threads is None else threads, 1)
    if not isinstance(model, ClickModel):
        raise invalid("simulate", "model must be a click model", model)
    spec = resolve(policy, model, plan.horizon)
    check_applies(spec, model, allow_mismatch)
    if run_ids is not None and len(run_ids) == 0:
        raise invalid("simulate", "run_ids must not be empty", run_ids)
    ids: Sequence[int] = range(runs)
    if run_ids is not None:
        ids = [check_int("simulate", "run", run, 0) for run in run_ids]
        if len(set(ids)) < len(ids):
            raise invalid("simulate", "run_ids must be distinct", ids)
    job = Job.of(spec, model, plan)
    job.compile()
    with progress_bar(spec.name, plan.horizon * len(ids), progress) as tick:
        played = _play_all(job, ids, count, tick)
    done = sorted(played)
    return Result(
        policy=repr(spec),
        model=repr(model),
        checkpoints=plan.checkpoints,
        regret=np.array([played[run].regret for run in done]),
        run_ids=np.array(done, dtype=np.int64),
        seed=plan.seed,
        seconds=sum(played[run].seconds for run in done),
        wanted=runs,
    )


def resolve(policy: Policy | str, model: ClickModel, horizon: int) -> Policy:
    """Return the policy itself, or the one of that name with the parameters that it must know."""
    if isinstance(policy, str):
        return make_policy(policy, model=model, horizon=horizon)
    if isinstance(policy, Policy):
        return policy
    raise invalid("simulate", "policy must be a policy or the name of one", policy)


def check_applies(policy: Policy, model: ClickModel, allow_mismatch: bool) -> None:
    """Raise if the policy cannot run on the model, or assumes other clicks."""
    reason = policy.why_not(model)
    if reason is not None and not allow_mismatch:
        rule = f"does not apply to the click model {model.name!r}: {reason}"
        hint = "Pass allow_mismatch=True to run it anyway."
        raise does_not_apply(type(policy).__name__, rule, hint)
    Learner(policy, model.n_items, model.n_positions)  # its checks name what does not fit


class RunPlan(NamedTuple):
    """The settings that decide the numbers of a simulation, besides policy and click model."""

    seed: int
    delay: int
    batch: int
    checkpoints: Ints
    counted_positions: int | None

    @property
    def horizon(self) -> int:
        """The last round."""
        return int(self.checkpoints[-1])


def plan_of(
    owner: str,
    horizon: object,
    seed: object,
    delay: object,
    batch: object,
    checkpoints: ArrayLike | None,
    counted_positions: int | None,
) -> RunPlan:
    """Check the settings that all simulations share, and return them."""
    rounds = check_int(owner, "horizon", horizon, 1)
    return RunPlan(
        seed=check_int(owner, "seed", seed, 0),
        delay=check_int(owner, "delay", delay, 0, rounds),
        batch=check_int(owner, "batch", batch, 1, rounds),
        checkpoints=recording_rounds(rounds, checkpoints, owner),
        counted_positions=counted_positions,
    )


def recording_rounds(horizon: int, checkpoints: ArrayLike | None, owner: str = "simulate") -> Ints:
    """Return increasing rounds from 1 to the horizon, which is always included.

    >>> recording_rounds(30, None)
    array([ 1,  2,  3,  4,  5,  6,  8, 10, 13, 16, 20, 25, 30])
    """
    if checkpoints is None:
        exponents = np.arange(0, 10 * np.log10(horizon) + 1e-9) / 10
        rounds = np.round(10**exponents).astype(np.int64)
    else:
        given = np.asarray(checkpoints)
        if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
            raise invalid(owner, "checkpoints must be a vector of rounds", checkpoints)
        if given.min() < 1 or given.max() > horizon:
            rule = f"checkpoints must lie between 1 and the horizon ({horizon})"
            raise invalid(owner, rule, [int(given.min()), int(given.max())])
        rounds = given.astype(np.int64)
    return np.unique(np.append(rounds, horizon))


def default_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Played(NamedTuple):
    """The outcome of a run."""

    regret: Floats
    seconds: float


class Job(NamedTuple):
    """The parts that all runs of a policy on a click model share."""

    policy: Policy
    model: ClickModel
    plan: RunPlan
    #: Precedes the number of the run in the path of its random streams.
    instance: tuple[int, ...]
    best: float
    counted: int
    #: Number of first positions that are not moved; the others are shuffled in every run.
    fixed: int
    #: The loop, compiled for the policy.
    compiled: Callable[..., None]

    @classmethod
    def of(
        cls, policy: Policy, model: ClickModel, plan: RunPlan, instance: tuple[int, ...] = ()
    ) -> Job:
        """Prepare the runs of a policy that applies to the model."""
        m = plan.counted_positions
        counted = model if m is None else model.first_positions(m)
        return cls(
            policy=policy,
            model=model,
            plan=plan,
            instance=instance,
            best=counted.best_value(),
            counted=counted.n_positions,
            fixed=_fixed_positions(policy, model),
            compiled=compiled_play(policy),
        )

    def compile(self) -> None:
        """Play no round, so that compilation is finished before the clock starts."""
        self.play(0, lambda done: None, threading.Event(), horizon=0)

    def play(
        self,
        run: int,
        tick: Tick,
        stop: threading.Event,
        horizon: int | None = None,
        first: int = 64,
    ) -> Played | None:
        """Play one run; return None if it was stopped before its end.

        ``first`` is the number of rounds before the first check of the stop flag.
        """
        seed, delay, batch, checkpoints, _ = self.plan
        rng = streams(seed, *self.instance, run)
        order = rng.items.permutation(self.model.n_items)
        positions = np.arange(self.model.n_positions)
        rng.items.shuffle(positions[self.fixed :])
        policy = relabelled_positions(relabelled(self.policy, order), positions)
        learner = Learner(policy, self.model.n_items, self.model.n_positions)
        model = self.model.relabelled(order)
        users = users_of(model, rng.users, positions, self.best, self.counted, checkpoints)
        # Both are used by their addresses: these variables keep them alive.
        held_users, held_rng = Held(users, model_code(model)), Held(rng.policy)
        fixed = learner.params, learner.state, learner.cache, ANY_ITEMS
        show = showing(held_users, model)
        flying = in_flight(learner, delay + batch)
        shown = 0
        left = int(checkpoints[-1]) if horizon is None else horizon
        seconds = 0.0
        rounds = min(left, first)
        while True:
            if stop.is_set():
                return None
            # The clock decides when to check the stop flag again. What is reported is processor
            # time, which other work and compilation at the same time do not lengthen.
            begin, used = time.perf_counter(), time.thread_time()
            settled = settled_after(shown, delay, batch)
            self.compiled(
                *fixed, held_rng.address, show, *flying, shown, settled, rounds, delay, batch
            )
            took = time.perf_counter() - begin
            seconds += time.thread_time() - used
            shown += rounds
            left -= rounds
            tick(rounds)
            if left == 0:
                return Played(users.regret, seconds)
            grown = min(8.0, LOOK_SECONDS / max(took, 1e-6))
            rounds = min(left, max(1, int(rounds * grown)))


def in_flight(learner: Learner, slots: int) -> tuple[Ints, Ints, Ints]:
    """Return empty rankings, memos and clicks for that many impressions in flight."""
    sizes = learner.n_positions, learner.memo_size, learner.n_positions
    rankings, memos, clicks = (np.zeros((slots, size), dtype=np.int64) for size in sizes)
    return rankings, memos, clicks


def _fixed_positions(policy: Policy, model: ClickModel) -> int:
    """Return how many of the first positions must not be moved in a run.

    These are all positions if people read from the top, if the policy assumes an order, or if it
    runs on clicks that it does not assume: then its lists may be good only because of the order.
    """
    if model.reads_in_order or policy.why_not(model) is not None:
        return model.n_positions
    fixed = {"any": 0, "first": 1, "one": 1, "decreasing": model.n_positions}
    return fixed[policy.assumes.positions]


def _play_all(job: Job, ids: Sequence[int], threads: int, tick: Tick) -> dict[int, Played]:
    stop = threading.Event()
    played: dict[int, Played] = {}
    flying: dict[Future[Played | None], int] = {}

    def land(done: Iterable[Future[Played | None]]) -> None:
        for future in done:
            result = future.result()  # an error in a run ends the simulation
            if result is not None:
                played[flying[future]] = result
            del flying[future]

    waiting = iter(ids)
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                # Only a few runs at a time, so that memory does not grow with their number.
                for run in itertools.islice(waiting, 4 * threads - len(flying)):
                    flying[pool.submit(job.play, run, tick, stop)] = run
                if not flying:
                    break
                land(wait(flying, return_when=FIRST_COMPLETED).done)
        except KeyboardInterrupt:
            stop.set()
            land(wait(flying).done)
        except BaseException:
            stop.set()
            raise
    if not played:
        raise KeyboardInterrupt
    return played
