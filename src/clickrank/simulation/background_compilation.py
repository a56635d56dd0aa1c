"""Compilation in the background: loops needed later are compiled while simulations run.

Compiling the loop of one policy and one click model takes seconds on one core, and a simulation
does not hold the interpreter's lock. On two cores or more, both run at the same time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from clickrank.clickmodels import ClickModel
from clickrank.policies import Policy
from clickrank.simulation.simulate_runs import simulate

Pair = tuple[Policy, ClickModel]


@contextmanager
def compiling_in_background(pairs: Iterable[Pair]) -> Iterator[threading.Event]:
    """Compile loops in the order given, in a thread that stops when the block is left.

    The event is set once all are compiled.
    """
    kinds: dict[tuple[type, type], Pair] = {}
    for pair in pairs:
        kinds.setdefault((type(pair[0]), type(pair[1])), pair)
    stop, compiled = threading.Event(), threading.Event()

    def compile_all() -> None:
        for policy, model in kinds.values():
            if stop.is_set():
                break
            # One round. A policy that fails here fails again in its simulation, which reports it.
            try:
                simulate(policy, model, 1, threads=1, progress=False, allow_mismatch=True)
            except Exception:
                continue
        compiled.set()

    thread = threading.Thread(target=compile_all, name="clickrank-compile")
    thread.start()
    try:
        yield compiled
    finally:
        stop.set()
        thread.join()
