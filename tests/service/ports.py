"""Find a port for a service that is restarted on the same port."""

from __future__ import annotations

import random
import socket

# Below those that the system gives to outgoing connections (from 32768 on, on Linux): none of these
# can take the port while the service is not running.
_LOW, _HIGH = 20_000, 32_000


def free_port() -> int:
    """Return a port of this machine on which nobody listens."""
    while True:
        port = random.SystemRandom().randrange(_LOW, _HIGH)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
