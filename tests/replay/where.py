"""Entry points of the replay: the only lines to change when parts of the package move."""

from __future__ import annotations

import contextlib
import importlib
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[2]
#: Folder with the requests, the command lines and the recorded answers.
FOLDER = ROOT / "tests" / "data" / "replay"


def command_line() -> Any:
    """Return the command line as an installation finds it: by the script that pyproject names."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["clickrank"].partition(":")
    return getattr(importlib.import_module(module), name)


def service(store: str, now: Callable[[], int], seed: int, keys_required: bool) -> Any:
    """Return the service's application, on a store, a clock (in nanoseconds) and a seed."""
    from clickrank.service.api.application import make_app
    from clickrank.service.runtime.engine import Engine
    from clickrank.service.runtime.writer import Clock

    async def opened() -> Engine:
        clock = Clock(wall=now, steady=lambda: 0)
        return await Engine.open(store, clock=clock, seed=seed)

    return make_app(opened, keys_required)


@contextlib.contextmanager
def no_time_passes() -> Iterator[None]:
    """Make what the service does independent of how fast this machine is.

    It draws as many lists at once as it can in a moment, so that with a seed, too, lists depend on
    how long they take; now they take no time. And it looks only once a second which list is the
    best, by which it says whether a list explores; now it looks whenever something was learned.
    """
    with (
        mock.patch("time.perf_counter", return_value=time.perf_counter()),
        mock.patch("clickrank.service.runtime.ranker_cache.ESTIMATE_SECONDS", 0.0),
    ):
        yield
