"""Worker pools that play slices of a simulation: threads, processes, or workers of a cluster.

`joblib.parallel_config` decides; without it, these are threads of this process. Slices are
submitted as `concurrent.futures` rather than through `joblib.Parallel`, which abandons the whole
call for one lost worker, and on Ray returns results only once all are there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]
from joblib.parallel import get_active_backend  # type: ignore[import-untyped]

from clickrank._core.validate import check_int
from clickrank.errors import invalid
from clickrank.simulation.simulate_runs import default_threads


class Pool(NamedTuple):
    """Workers that play slices."""

    workers: int
    #: Whether they share the memory of this process, and see its stop flag.
    shared: bool
    submit: Callable[..., Future[Any]]
    #: Cancels slices that have not begun.
    close: Callable[[], None]


def active_pool(owner: str, threads: int | None) -> Pool:
    """Return the workers that `joblib.parallel_config` asks for, by default threads.

    ``threads`` limits how many slices are played at once.
    """
    limit = None if threads is None else check_int(owner, "threads", threads, 1)
    # Asked to prefer threads, joblib returns them unless another backend was chosen; but it forgets
    # a number of workers that was chosen without a backend.
    backend, _ = get_active_backend(prefer="threads")
    if limit is None:
        _, limit = get_active_backend()
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend":
        return _dask(backend, limit)
    if kind == "RayBackend":
        return _ray(backend, limit)
    if limit is None:
        limit = default_threads()
    elif limit < 0:  # in joblib's convention, all of them, or all but some
        limit = max(1, default_threads() + 1 + limit)
    if kind in ("ThreadingBackend", "SequentialBackend"):
        if kind == "SequentialBackend":
            limit = 1
        executor = ThreadPoolExecutor(limit)
        return Pool(
            workers=limit,
            shared=True,
            submit=executor.submit,
            close=lambda: executor.shutdown(cancel_futures=True),
        )
    if kind == "LokyBackend":
        return _processes(limit)
    rule = "the backend of joblib.parallel_config must be threading, loky, dask or ray"
    raise invalid(owner, rule, kind)


def _processes(limit: int) -> Pool:
    def submit(function: Callable[..., Any], *args: Any) -> Future[Any]:
        # Fetched every time, because it is a new one after a process was lost.
        executor = get_reusable_executor(max_workers=limit)
        future: Future[Any] = executor.submit(function, *args)
        flying.append(future)
        return future

    def close() -> None:
        for future in flying:
            future.cancel()

    flying: list[Future[Any]] = []
    return Pool(limit, shared=False, submit=submit, close=close)


def _dask(backend: Any, limit: int | None) -> Pool:
    # Dask plays slices again that were lost with a worker, three times by default.
    executor = backend.client.get_executor(pure=False, **backend.submit_kwargs)
    cores = backend.effective_n_jobs(-1)  # waits for the first worker
    workers = cores if limit is None or limit < 0 else min(cores, limit)
    return Pool(
        workers, shared=False, submit=executor.submit, close=lambda: executor.shutdown(wait=False)
    )


def _ray(backend: Any, limit: int | None) -> Pool:
    import ray

    if not ray.is_initialized():
        ray.init()
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    cores = max(1, int(resources.get("CPU", 1)))
    workers = cores if limit is None or limit < 0 else min(cores, limit)
    # Tasks rather than joblib's actors: a free worker takes the next one, and a killed worker is
    # replaced. Lost slices are submitted again by our own count.
    options = {"max_retries": 0, **(backend.ray_remote_args or {})}
    flying: dict[Future[Any], Any] = {}
    known: dict[Callable[..., Any], Any] = {}  # each function is sent to the cluster once

    def submit(function: Callable[..., Any], *args: Any) -> Future[Any]:
        if function not in known:
            known[function] = ray.remote(function).options(**options)
        task = known[function].remote(*args)
        future: Future[Any] = task.future()
        flying[future] = task
        future.add_done_callback(lambda done: flying.pop(done, None))
        return future

    def close() -> None:
        for task in list(flying.values()):
            ray.cancel(task)

    return Pool(workers, shared=False, submit=submit, close=close)
