"""Access control: API keys with roles, and, without keys, only requests to this machine's names."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Awaitable, Callable

from clickrank.service.api.asgi import Headers, Rejected
from clickrank.service.api.json_wording import quoted
from clickrank.service.schemas.fields import Role

KEY_SECONDS = 2.0  # for which the role of a key is cached
MOST_REMEMBERED = 1024
LONGEST_SECRET = 200

_ASK = ((b"www-authenticate", b"Bearer"),)


class Gate:
    """Raises for requests without access. The role of a secret is looked up every two seconds."""

    def __init__(
        self,
        keys_required: bool,
        role_of: Callable[[str], Awaitable[Role | None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keys_required = keys_required
        self._role_of = role_of
        self._clock = clock
        self._known: dict[bytes, tuple[float, Role | None]] = {}
        self._local_hosts: set[bytes] = set()

    def check_host(self, headers: Headers) -> None:
        """Refuse requests whose Host header names another machine, unless keys are required.

        A page of another site could let its own name resolve to this machine and make its visitors'
        browsers send requests here. Browsers send the name that they resolved as the Host header.
        """
        if self.keys_required:
            return
        host = headers.get(b"host", b"")
        if host in self._local_hosts:
            return
        if not is_local_name(host.decode("latin-1")):
            got = quoted(host.decode("latin-1"))
            rule = "Without keys the Host header must name this machine, as localhost does"
            raise Rejected("wrong_host", f"{rule}, got {got}.", 421)
        if len(self._local_hosts) < MOST_REMEMBERED:
            self._local_hosts.add(host)

    async def check_key(self, headers: Headers, role: Role | None) -> None:
        """Refuse requests whose key does not have the role; None allows requests without a key."""
        if role is None or not self.keys_required:
            return
        given = headers.get(b"authorization", b"")
        scheme, _, secret = given.partition(b" ")
        if scheme.lower() != b"bearer" or not secret:
            rule = "This route needs a key in the header `Authorization: Bearer <secret>`."
            raise Rejected("no_key", rule, 401, _ASK)
        held = await self._role(secret.strip())
        if held is None:
            raise Rejected("bad_key", "The key is unknown or revoked.", 401, _ASK)
        if role == "admin" and held != "admin":
            rule = f'This route needs a key with the role "admin", got "{held}".'
            raise Rejected("wrong_role", rule, 403)

    def forget(self) -> None:
        """Drop all cached roles, because a key was revoked."""
        self._known.clear()

    async def _role(self, secret: bytes) -> Role | None:
        now = self._clock()
        until, role = self._known.get(secret, (now, None))
        if now < until:
            return role
        if len(secret) > LONGEST_SECRET or not secret.isascii():
            return None
        role = await self._role_of(secret.decode("ascii"))
        if len(self._known) >= MOST_REMEMBERED:  # somebody is guessing keys
            self._known.clear()
        self._known[secret] = (now + KEY_SECONDS, role)
        return role


def is_local_name(host: str) -> bool:
    """Return whether a Host header can only mean this machine.

    >>> [is_local_name(h) for h in ("localhost:8765", "127.0.0.1", "[::1]:80", "shop.localhost")]
    [True, True, True, True]
    >>> [is_local_name(h) for h in ("", "evil.example", "localhost.evil.example", "10.0.0.1")]
    [False, False, False, False]
    """
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    else:
        name = host.rpartition(":")[0] if ":" in host else host
    name = name.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
