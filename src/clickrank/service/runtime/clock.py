"""The time of the service, which never goes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Clock:
    """Microseconds since 1970; goes on at its own pace while the machine's clock is behind it.

    A machine's clock may be set back. Windows would then close late by as much, and lists seem to
    be shown before those that were. After a start it begins where the log ends, if that is later.

    Parameters
    ----------
    floor
        What it is at least.
    wall, steady
        The machine's clock and a clock that is never set, in nanoseconds.
    """

    def __init__(
        self,
        floor: int = 0,
        wall: Callable[[], int] = time.time_ns,
        steady: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Begin now."""
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._last = floor
        self._last_steady = steady() // 1000

    def now(self) -> int:
        """Return the time."""
        with self._lock:
            steady = self._steady() // 1000
            carried = self._last + steady - self._last_steady
            self._last = max(self._wall() // 1000, carried)
            self._last_steady = steady
            return self._last
