"""API keys: random secrets with roles, of which the store keeps only hashes."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import NamedTuple

import sqlalchemy as sa

from clickrank.errors import invalid
from clickrank.service.store.tables import keys

ROLES = ("rank", "admin")
_PREFIX = "crk_"


class KeyRow(NamedTuple):
    """A key, without its secret."""

    id: int
    name: str
    role: str
    created_at: int
    revoked_at: int | None


_COLUMNS = [keys.c[name] for name in KeyRow._fields]


def _hash(secret: str) -> str:
    # A secret of 256 random bits needs no slow hash.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def make_key(connection: sa.Connection, name: str, role: str) -> tuple[KeyRow, str]:
    """Make a key, and return it with its secret, which is not stored."""
    if role not in ROLES:
        raise invalid("keys", f"role must be one of {', '.join(ROLES)}", role)
    if not name or len(name) > 100:
        raise invalid("keys", "name must have 1 to 100 characters", name)
    secret = _PREFIX + secrets.token_urlsafe(32)
    row = {"name": name, "role": role, "hash": _hash(secret), "created_at": time.time_ns() // 1000}
    made = connection.execute(sa.insert(keys).values(row).returning(*_COLUMNS)).one()
    return KeyRow(*made), secret


def list_keys(connection: sa.Connection) -> list[KeyRow]:
    """Return all keys, including revoked ones."""
    return [KeyRow(*row) for row in connection.execute(sa.select(*_COLUMNS).order_by(keys.c.id))]


def revoke_key(connection: sa.Connection, key_id: int) -> KeyRow | None:
    """Revoke a key for good; None if there is no key with that id."""
    now = time.time_ns() // 1000
    unrevoked = (keys.c.id == key_id) & keys.c.revoked_at.is_(None)
    connection.execute(sa.update(keys).where(unrevoked).values(revoked_at=now))
    row = connection.execute(sa.select(*_COLUMNS).where(keys.c.id == key_id)).one_or_none()
    return None if row is None else KeyRow(*row)


def role_of(connection: sa.Connection, secret: str) -> str | None:
    """Return the role of the key with this secret; None if there is no valid one."""
    query = sa.select(keys.c.role).where(keys.c.hash == _hash(secret), keys.c.revoked_at.is_(None))
    return connection.scalar(query)


def has_admin(connection: sa.Connection) -> bool:
    """Return whether there is a valid key with the role admin."""
    query = sa.select(keys.c.id).where(keys.c.role == "admin", keys.c.revoked_at.is_(None))
    return connection.execute(query.limit(1)).first() is not None
