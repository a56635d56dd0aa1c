"""Saved rankers and a store that an earlier version wrote open, and go on as they would have.

The files are in `tests/data/before`; `make.py` there says which version wrote them. They must never
be written again by a later version: then they would show nothing.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from numpy.typing import NDArray

import clickrank as cr
from clickrank.ranker import Learned, takes_candidates
from clickrank.serve.clock import Clock
from clickrank.serve.engine import Engine
from clickrank.store import Database, verify
from clickrank.store.log import StreamRow
from clickrank.store.rankers import ranker_by_id
from clickrank.store.state import load
from clickrank.store.tables import impressions, snapshots, streams
from clickrank.wire import Clicks, RankRequest

FOLDER = Path(__file__).parent / "data" / "before"
#: Microseconds since 1970 at which the store was written, and a time after all its windows.
WRITTEN, LATER = 1_700_000_000_000_000, 1_800_000_000_000_000


@functools.cache
def expected() -> Any:
    path = FOLDER / "expected.json"
    return json.loads(path.read_text()) if path.exists() else {"rankers": {}}


def unpacked(name: str, folder: Path) -> Path:
    """Return the path of a file of the archive, written into a folder as it was."""
    with zipfile.ZipFile(FOLDER / "files.zip") as archive:
        return Path(archive.extract(name, folder))


def digest(array: NDArray[Any]) -> str:
    """Return a digest of an array: its type, its shape and its numbers."""
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    text = f"{little.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(text + little.tobytes()).hexdigest()[:12]


def statistics(learned: Learned) -> dict[str, str]:
    """Return digests of what was learned, by name."""
    return {name: digest(array) for name, array in sorted(learned.statistics().items())}


#: Statistics that have another layout or name now, by policy. That they were converted rightly
#: shows in the lists that follow, in the tests of these policies and, for a store, in the log:
#: folded again, it gives the same.
CONVERTED = {
    "pmed": ("lists", "weights"),
    "recurrank": ("clicks", "order", "restarts", "views"),
    "toprank": ("wins",),
}


def still_there(found: dict[str, Any], want: dict[str, Any], name: str) -> dict[str, Any]:
    """Leave out what is no statistic any more, because it is computed from the others."""
    kept = {field: value for field, value in want.items() if field in found}
    return {**kept, **{field: found[field] for field in CONVERTED.get(name, ())}}


def goes_on(ranker: cr.Ranker, waiting: list[str]) -> dict[str, Any]:
    """Return what a ranker knows, and what it shows next.

    The lists of these ids still wait for their clicks.
    """
    found: dict[str, Any] = {
        "repr": repr(ranker),
        "items": list(ranker.items),
        "retired": list(ranker.retired),
        "waiting": waiting,
        "statistics": {name: statistics(ranker._contexts[name]) for name in ranker.contexts},
        "next": {},
        "later": {},
    }
    shown = []
    for context in ranker.contexts:
        shown += [ranker.rank(context=context) for _ in range(5)]
        found["next"][context] = ["".join(map(str, one.items)) for one in shown[-5:]]
    for number in waiting:
        ranker.update(number)
    for one in shown:
        ranker.update(one.id, one.items[:1])
    for context in ranker.contexts:
        lists = [ranker.rank(context=context) for _ in range(5)]
        found["later"][context] = ["".join(map(str, one.items)) for one in lists]
    found["statistics later"] = {n: statistics(ranker._contexts[n]) for n in ranker.contexts}
    return found


@pytest.mark.parametrize("name", expected()["rankers"])
def test_a_saved_ranker_goes_on(name: str, tmp_path: Path) -> None:
    want = expected()["rankers"][name]
    ranker = cr.Ranker.load(unpacked(f"{name}.ranker", tmp_path))
    found = goes_on(ranker, want["waiting"])
    for key, value in found.items():
        if "statistics" in key:
            old = {c: still_there(value[c], want[key][c], name) for c in value}
            assert value == old, f"{name}: {key}"
        else:
            assert value == want[key], f"{name}: {key}"
    assert set(found) == set(want)
    if takes_candidates(ranker.policy):
        some = ranker.items[1 : 2 + ranker.n_positions]
        for context in ranker.contexts:
            assert set(ranker.rank(some, context).items) <= set(some)


def test_every_saved_ranker_is_loaded() -> None:
    with zipfile.ZipFile(FOLDER / "files.zip") as archive:
        saved = {name.removesuffix(".ranker") for name in archive.namelist()} - {"store.db"}
    assert saved == set(expected()["rankers"])
    assert len(saved) == 38


def read_store(database: Database, from_base: bool = False) -> dict[str, Any]:
    """Return what a store holds, and what follows from it by stream.

    ``from_base`` folds the log from nothing instead of going on from a snapshot.
    """
    found: dict[str, Any] = {}
    with database.reading() as connection:
        query = sa.select(*(streams.c[name] for name in StreamRow._fields)).order_by(streams.c.id)
        for row in connection.execute(query).all():
            stream = StreamRow(*row)
            ranker = ranker_by_id(connection, stream.ranker_id)
            assert ranker is not None
            count = functools.partial(_count, connection, stream.id)
            standing = load(
                connection, ranker.definition, ranker.version, stream, from_base=from_base
            )
            found[f"{ranker.name} / {stream.context}"] = {
                "impressions": count(impressions),
                "folded": stream.folded_seq,
                "snapshots": count(snapshots),
                "statistics": statistics(standing.learned),
            }
    return found


def assert_same(found: dict[str, Any], want: dict[str, Any]) -> None:
    """Compare streams, but for what is no statistic any more."""
    assert set(found) == set(want)
    for name, stream in found.items():
        old = dict(want[name])
        policy = "toprank" if name.startswith("search") else ""
        old["statistics"] = still_there(stream["statistics"], old["statistics"], policy)
        assert stream == old, name


def _count(connection: sa.Connection, stream_id: int, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table).where(table.c.stream_id == stream_id)
    return connection.scalar(query) or 0


def clock_at(microseconds: int) -> Clock:
    """Return a clock that stands still."""
    return Clock(microseconds, wall=lambda: 1000 * microseconds, steady=lambda: 0)


async def settled(engine: Engine, name: str, context: str, count: int) -> None:
    """Wait until this many impressions are folded."""
    deadline = time.monotonic() + 30.0
    while (await engine.report(name, context)).settled < count:
        assert time.monotonic() < deadline, (name, context)
        await asyncio.sleep(0.02)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Return the address of a copy of the store."""
    return f"sqlite:///{unpacked('store.db', tmp_path)}"


def test_the_store_opens(store: str) -> None:
    database = Database(store)
    try:
        database.upgrade()
        want = expected()["store"]["written"]
        one, two = read_store(database), read_store(database, from_base=True)
        assert one == two
        assert_same(one, want)
        found = verify(database)
        assert found.problems == []
        assert found.snapshots == sum(each["snapshots"] for each in want.values())
        assert found.snapshots > 0
    finally:
        database.close()


def test_the_store_serves(store: str) -> None:
    want = expected()["store"]
    names = [key.split(" / ") for key in want["later"]]

    async def serve() -> None:
        engine = await Engine.open(store, clock=clock_at(LATER))
        try:
            for name, context in names:  # the windows of all lists have closed
                await settled(engine, name, context, want["later"][f"{name} / {context}"]["folded"])
        finally:
            await engine.close()

    async def go_on() -> None:
        engine = await Engine.open(store, clock=clock_at(LATER + 1))
        try:
            for name, context in names:
                before = want["later"][f"{name} / {context}"]["folded"]
                for _ in range(20):
                    shown = await engine.rank(name, RankRequest(context=context))
                    assert len(set(shown.items)) == 3
                    await engine.click(shown.id, Clicks(shown.items[:1], final=True))
                await settled(engine, name, context, before + 20)
        finally:
            await engine.close()

    asyncio.run(serve())
    database = Database(store)
    try:
        after = read_store(database)
        later = {key: {**each, "snapshots": None} for key, each in want["later"].items()}
        assert_same({key: {**after[key], "snapshots": None} for key in later}, later)
        asyncio.run(go_on())
        assert verify(database).problems == []
        one, two = read_store(database), read_store(database, from_base=True)
        assert one == two
        for key, each in want["later"].items():
            assert one[key]["impressions"] == each["impressions"] + 20
    finally:
        database.close()
