"""Compiles what comes later while the simulations before it run.

Compiling the loop of a policy and a click model takes seconds, and keeps one core busy; simulations
need no interpreter. On two cores or more the one hides behind the other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from clickrank.clickmodels import ClickModel
from clickrank.policies import Policy
from clickrank.simulation import simulate

Pair = tuple[Policy, ClickModel]


@contextmanager
def compiled_ahead(pairs: Iterable[Pair]) -> Iterator[threading.Event]:
    """Compile loops in the order given beside what is done meanwhile, and stop when it is done.

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
            # One round; a policy that fails will fail again where somebody looks.
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
