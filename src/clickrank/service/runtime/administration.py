"""Administration: creates, changes, lists and deletes rankers; makes, lists and revokes keys."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import sqlalchemy as sa

from clickrank.errors import ClickRankError, GivenName, invalid
from clickrank.service.runtime import definitions
from clickrank.service.runtime.fold import initial_state
from clickrank.service.runtime.ranker_cache import RankerCache, unknown_ranker
from clickrank.service.runtime.refusals import Refused, quoted
from clickrank.service.runtime.writer import Clock
from clickrank.service.schemas.answers import (
    ItemEntry,
    ItemPage,
    Key,
    Keys,
    MadeKey,
    RankerInfo,
    RankerPage,
)
from clickrank.service.schemas.fields import Role
from clickrank.service.schemas.requests import (
    NewItems,
    NewKey,
    NewRanker,
    RankerChange,
    RetiredItems,
)
from clickrank.service.store import api_keys as key_store
from clickrank.service.store import rankers as ranker_store
from clickrank.service.store.rankers import Definition, RankerRow


class Administration:
    """The part of an `Engine` that answers the routes for administrators."""

    def __init__(self, cache: RankerCache, clock: Clock) -> None:
        """Share the rankers in memory and the clock of the engine."""
        self.clock = clock
        self._cache = cache
        self._store = cache.store

    # Rankers

    async def create(self, new: NewRanker) -> tuple[RankerInfo, bool]:
        """Create a ranker; return False if an identical one already exists, which is no error."""
        definition = await self._store.compiling(functools.partial(definitions.define, new))
        window = new.window * 1_000_000
        # Kernels are compiled now, so that the first visitor does not wait for them.
        await self._store.compiling(functools.partial(_warm_up, new.name, definition))
        at = self.clock.now()

        def insert(connection: sa.Connection) -> tuple[RankerRow, bool]:
            row = ranker_store.find_ranker(connection, new.name)
            if row is not None:
                return row, False
            return (
                ranker_store.insert_ranker(connection, new.name, window, definition, at),
                True,
            )

        try:
            row, made = await self._store.write(insert)
        except sa.exc.IntegrityError:  # another worker inserted it first
            row, made = await self._store.write(insert)
        if not made and (row.version != 1 or (row.window, row.definition) != (window, definition)):
            text = f"There is already a different ranker named {quoted(new.name)}."
            raise Refused("name_taken", text, 409)
        return definitions.described(row), made

    async def ranker(self, name: str) -> RankerInfo:
        """Return a ranker."""
        return definitions.described(await self._cache.row(name))

    async def rankers(self, after: str, limit: int) -> RankerPage:
        """Return at most ``limit`` rankers whose names come after ``after``, sorted by name."""
        rows = await self._store.read(lambda c: ranker_store.list_rankers(c, after, limit + 1))
        more = len(rows) > limit
        rows = rows[:limit]
        return RankerPage(
            [definitions.described(row) for row in rows], rows[-1].name if more else None
        )

    async def change(self, name: str, change: RankerChange) -> RankerInfo:
        """Change window, mode, policy or settings."""
        return await self._change(
            name, lambda row: definitions.changed(row, change), {"set": change}
        )

    async def add_items(self, name: str, new: NewItems) -> RankerInfo:
        """Add items, or bring retired ones back."""
        return await self._change(
            name, lambda row: (row.window, definitions.with_items(row, new)), {"add": new}
        )

    async def retire_items(self, name: str, retired: RetiredItems) -> RankerInfo:
        """Retire items, which are then no longer shown."""
        return await self._change(
            name,
            lambda row: (row.window, definitions.without_items(row, retired)),
            {"retire": retired},
        )

    async def _change(
        self,
        name: str,
        change: Callable[[RankerRow], tuple[int, Definition]],
        note: dict[str, Any],
    ) -> RankerInfo:
        # Tried before the transaction, because it may compile kernels while others wait to write.
        row = await self._cache.row(name)
        _, definition = await self._store.compiling(functools.partial(change, row))
        if definition.since != row.definition.since:
            await self._store.compiling(functools.partial(_warm_up, name, definition))
        at = self.clock.now()

        def write(connection: sa.Connection) -> RankerRow | None:
            locked = ranker_store.find_ranker(connection, name, change=True)
            if locked is None:
                return None
            window, definition = change(locked)
            if (window, definition) == (locked.window, locked.definition):
                return locked
            other_policy = definition.policy_since > locked.definition.policy_since
            if other_policy and locked.version != row.version:
                text = "The ranker was changed while its new policy was compiled; try again."
                raise Refused("changed_meanwhile", text, 409)
            return ranker_store.change_ranker(connection, locked, window, definition, at, note)

        changed = await self._store.write(write)
        if changed is None:
            raise unknown_ranker(name)
        self._cache.take(changed)
        return definitions.described(changed)

    async def delete(self, name: str) -> None:
        """Delete a ranker with its whole log."""

        def write(connection: sa.Connection) -> bool:
            locked = ranker_store.find_ranker(connection, name, change=True)
            if locked is not None:
                ranker_store.delete_ranker(connection, locked.id)
            return locked is not None

        found = await self._store.write(write)
        self._cache.forget(name)
        if not found:
            raise unknown_ranker(name)

    async def items(self, name: str, after: int, limit: int) -> ItemPage:
        """Return at most ``limit`` items in the order they were added, from number ``after`` on."""
        row = await self._cache.row(name)
        retired = frozenset(row.definition.retired)
        some = row.definition.items[after : after + limit]
        entries = [ItemEntry(item, after + i in retired) for i, item in enumerate(some)]
        more = after + limit < len(row.definition.items)
        return ItemPage(entries, after + limit if more else None)

    # Keys

    async def keys(self) -> Keys:
        """Return all keys, without their secrets."""
        return Keys([_key(row) for row in await self._store.read(key_store.list_keys)])

    async def make_key(self, new: NewKey) -> MadeKey:
        """Make a key, and return it with its secret."""
        row, secret = await self._store.write(lambda c: key_store.make_key(c, new.name, new.role))
        key = _key(row)
        return MadeKey(key.id, key.name, key.role, key.created, key.revoked, secret)

    async def revoke_key(self, key_id: int) -> Key:
        """Revoke a key."""
        row = None
        if 0 < key_id < 2**31:
            row = await self._store.write(lambda c: key_store.revoke_key(c, key_id))
        if row is None:
            raise Refused("unknown_key", f"There is no key {key_id}.", 404)
        return _key(row)

    async def role_of(self, secret: str) -> Role | None:
        """Return the role of the key with this secret; None if there is no valid one."""
        found = await self._store.read(lambda c: key_store.role_of(c, secret))
        return cast("Role | None", found)

    async def has_admin(self) -> bool:
        """Return whether there is a valid key with the role admin."""
        return await self._store.read(key_store.has_admin)


def _warm_up(name: str, definition: Definition) -> None:
    """Compile the kernels, which also shows whether the policy works with its settings."""
    try:
        initial_state(definition).prepare()
    except ClickRankError:
        raise
    except (ValueError, ArithmeticError) as error:
        rule = f"settings must have values that {definition.policy!r} supports"
        raise invalid(GivenName(name), rule, definition.settings) from error


def _key(row: key_store.KeyRow) -> Key:
    revoked = None if row.revoked_at is None else row.revoked_at / 1e6
    role: Any = row.role
    return Key(row.id, row.name, role, row.created_at / 1e6, revoked)
