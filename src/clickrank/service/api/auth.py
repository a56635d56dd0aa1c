"""API keys: finds the role of a request's key, and refuses requests without access."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from clickrank.service.api.asgi import Headers, Rejected
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
