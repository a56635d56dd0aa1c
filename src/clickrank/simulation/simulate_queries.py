"""`simulate_many`: simulates a policy on many click models of different sizes, one per query.

The work is cut into *slices*: some runs of some queries, about a second of work for one worker. The
cuts do not change the results: seed, number of the query and number of the run decide everything
that is random in a run.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.progress import Tick, progress_bar
from clickrank._core.validate import check_int
from clickrank.clickmodels.click_model import ClickModel
from clickrank.errors import ClickRankError, invalid
from clickrank.policies.policy_spec import Policy
from clickrank.simulation.many_results import Key, ManyResults, Rows, stacked
from clickrank.simulation.saved_slices import SavedRows
from clickrank.simulation.simulate_runs import Job, RunPlan, check_applies, plan_of, resolve
from clickrank.simulation.slices import (
    Caller,
    Instance,
    PlayedSlice,
    Slice,
    WaitingRuns,
    play_slice,
)
from clickrank.simulation.worker_pools import Pool, active_pool

PolicyFactory: TypeAlias = Callable[[Key, ClickModel], Policy | str]

SLICE_SECONDS = 1.0  # of work for one worker: long compared with its overhead, short if lost
TRIES = 3  # for a slice whose worker was lost


class LostSlice(ClickRankError, RuntimeError):
    """A slice was lost with its worker several times."""


class QueryFailed(ClickRankError, RuntimeError):
    """A query failed with another error, for example in a policy_factory; the cause is chained."""


class PartialResults(UserWarning):
    """Some of the requested results are missing."""


def simulate_many(
    policy_factory: PolicyFactory | Mapping[Key, Policy | str] | Policy | str,
    models: Mapping[Key, ClickModel] | Sequence[ClickModel],
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
    counted_positions: int | None = None,
    folder: str | Path | None = None,
    label: str | None = None,
) -> ManyResults:
    """Simulate a policy on many click models, one per query, each from its first round.

    The seed, the number of the query in the order given and the number of the run decide everything
    that is random: the numbers are the same on any number of threads and on a cluster, and those of
    a query do not change when others are added after it. Policies simulated with the same seed on
    the same models meet the same users, query by query. (`simulate` has no number of a query, and
    gives other numbers for the same seed.)

    Runs on all cores of this machine, or within ``joblib.parallel_config("dask")`` or ``("ray")``
    on a cluster, see ``docs/howto/clusters.md``. Ctrl-C returns the finished runs, with a warning.

    Parameters
    ----------
    policy_factory
        A function of key and click model that returns a policy or the name of one; a mapping from
        keys to policies; or one policy, or the name of one, for all queries. Parameters that a
        policy given by name must know are taken from each model.
    models
        The click models by key, a string or an integer; a sequence has the keys 0, 1, 2, ...
    horizon, runs, seed, checkpoints, delay, batch, progress, allow_mismatch, counted_positions
        As for `simulate`; ``runs`` is the number of runs per query.
    threads
        Maximum number of slices to play at once; by default one per core, of this machine or of
        the cluster.
    folder
        Where to save finished runs. The same call completes an interrupted simulation, even after a
        crash, and with more ``runs`` plays only the new ones. Every simulation has its own folder
        in there, named by a hash of everything that decides its numbers.
    label
        Name of the policy in tables; by default its registered name.

    Examples
    --------
    >>> import clickrank as cr
    >>> models = {
    ...     "red shoes": cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5]),
    ...     "tea": cr.clickmodels.PBM([0.5, 0.1, 0.3, 0.2], [0.9, 0.5, 0.3]),
    ... }
    >>> results = cr.simulate_many("pbm-ucb", models, horizon=1000, runs=2, seed=0)
    >>> results["tea"].regret.shape == (2, results.checkpoints.size)
    True
    >>> list(results.regret_by_query)
    ['red shoes', 'tea']
    """
    owner = "simulate_many"
    plan = plan_of(owner, horizon, seed, delay, batch, checkpoints, counted_positions)
    runs = check_int(owner, "runs", runs, 1)
    given: object = label
    if given is not None and not (isinstance(given, str) and given):
        raise invalid(owner, "label must be a string", given)
    instances = instances_of(policy_factory, models, plan, allow_mismatch)
    names = list(dict.fromkeys(instance.policy.name for instance in instances))
    name = names[0] if len(names) == 1 else f"{len(names)} policies"
    label = name if label is None else label
    saved = None if folder is None else SavedRows.of(Path(folder), name, instances, plan)
    parts = [] if saved is None else saved.load(runs)
    waiting = WaitingRuns(instances, runs, stacked(parts, plan.checkpoints.size))
    interrupted = False
    taken_over = runs * len(instances) - waiting.runs
    with progress_bar(label, plan.horizon * runs * len(instances), progress) as tick:
        tick(plan.horizon * taken_over)
        if waiting.runs:

            def land(rows: Rows) -> None:
                parts.append(rows)
                if saved is not None:
                    saved.add(rows)

            interrupted = play_slices(plan, waiting, active_pool(owner, threads), land, tick)
    rows = stacked(parts, plan.checkpoints.size)
    if interrupted and not rows.run.size:
        raise KeyboardInterrupt
    if saved is not None and not interrupted:
        saved.finish()
    results = ManyResults(
        keys=[instance.key for instance in instances],
        label=label,
        policies=[repr(instance.policy) for instance in instances],
        models=[repr(instance.model) for instance in instances],
        checkpoints=plan.checkpoints,
        rows=rows,
        seed=plan.seed,
        wanted=runs,
        taken_over=taken_over,
    )
    if interrupted:
        how = "" if folder is None else "; the same call completes them"
        message = f"simulate_many was {results.missing}{how}."
        warnings.warn(message, PartialResults, stacklevel=2)
    return results


def instances_of(
    factory: PolicyFactory | Mapping[Key, Policy | str] | Policy | str,
    models: Mapping[Key, ClickModel] | Sequence[ClickModel],
    plan: RunPlan,
    allow_mismatch: bool,
) -> list[Instance]:
    """Make the policies, check everything that can be checked before anything runs, and compile."""
    owner = "simulate_many"
    pairs: Iterable[tuple[object, object]]
    if isinstance(models, Mapping):
        pairs = models.items()
    elif isinstance(models, Sequence):
        pairs = enumerate(models)
    else:
        raise invalid(owner, "models must be a mapping or a sequence of click models", models)
    found: list[Instance] = []
    compiled: set[tuple[type, type]] = set()
    for number, (given, model) in enumerate(pairs):
        if isinstance(given, bool) or not isinstance(given, (str, int, np.integer)):
            raise invalid(owner, "keys must be strings or integers", given)
        key = given if isinstance(given, str) else int(given)
        try:
            if not isinstance(model, ClickModel):
                raise invalid(owner, "each model must be a click model", model)
            policy = resolve(_policy_for(factory, key, model), model, plan.horizon)
            check_applies(policy, model, allow_mismatch)
            job = Job.of(policy, model, plan, (number,))
            if (type(policy), type(model)) not in compiled:
                compiled.add((type(policy), type(model)))
                job.compile()
        except Exception as error:
            raise _of_query(key, error) from error
        found.append(Instance(number, key, policy, model))
    if not found:
        raise invalid(owner, "models must not be empty", models)
    return found


def _policy_for(
    factory: PolicyFactory | Mapping[Key, Policy | str] | Policy | str,
    key: Key,
    model: ClickModel,
) -> Policy | str:
    if isinstance(factory, Mapping):
        if key not in factory:
            raise invalid("simulate_many", "there must be a policy for each key", key)
        return factory[key]
    if isinstance(factory, (Policy, str)):
        return factory
    if callable(factory):
        return factory(key, model)
    raise invalid(
        "simulate_many",
        "policy_factory must be a policy, the name of one, a mapping from keys to policies, "
        "or a function of key and click model",
        factory,
    )


def _of_query(key: Key, error: Exception) -> ClickRankError:
    """Return an error that names the query; errors of clickrank keep their class."""
    if isinstance(error, ClickRankError):
        return type(error)(f"Query {key!r}: {error}")
    return QueryFailed(f"Query {key!r} failed: {error!r}.")


def play_slices(
    plan: RunPlan, waiting: WaitingRuns, pool: Pool, land: Callable[[Rows], None], tick: Tick
) -> bool:
    """Play all slices, and pass on rows as they come; return whether it was interrupted."""
    stop = threading.Event()
    caller = Caller(stop, tick) if pool.shared else None
    flying: dict[Future[PlayedSlice], Slice] = {}
    again: deque[Slice] = deque()  # lost with a worker, or left over
    pace: float | None = None  # seconds per run of the last slices: later queries may be larger

    def take() -> Slice:
        # Smaller towards the end, so that all workers finish at about the same time.
        share = -(-waiting.runs // (4 * pool.workers))
        size = 1 if pace is None else max(1, min(share, int(SLICE_SECONDS / pace)))
        return waiting.take(size, 2 * SLICE_SECONDS)

    def settle(future: Future[PlayedSlice]) -> None:
        nonlocal pace
        part = flying.pop(future)
        try:
            played = future.result()
        except (Exception, CancelledError) as error:
            if stop.is_set():
                return
            if part.lost + 1 == TRIES:
                keys = [instance.key for instance, _ in part.units]
                raise LostSlice(
                    f"simulate_many: a slice was lost {TRIES} times with its worker "
                    f"({len(keys)} queries from {keys[0]!r} on): {error!r}."
                ) from error
            again.append(part._replace(lost=part.lost + 1))
            return
        rows = played.rows
        if rows.run.size:
            land(rows)
            if not pool.shared:
                tick(plan.horizon * rows.run.size)
            latest = max(played.seconds / rows.run.size, 1e-6)
            pace = latest if pace is None else (pace + latest) / 2
        if played.error is not None:
            raise _of_query(played.key, played.error) from played.error
        if rows.run.size < part.runs:
            done = set(zip(rows.instance.tolist(), rows.run.tolist(), strict=True))
            again.append(part.without(done))

    try:
        while True:
            while len(flying) < 2 * pool.workers and (again or waiting.runs):
                part = again.popleft() if again else take()
                flying[pool.submit(play_slice, plan, part, caller)] = part
            if not flying:
                return False
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                settle(future)
    except KeyboardInterrupt:
        stop.set()
        # Threads notice at once; slices in flight elsewhere are cancelled.
        for future in list(flying):
            if future.done() or (pool.shared and not future.cancel()):
                settle(future)
        return True
    finally:
        stop.set()
        pool.close()
