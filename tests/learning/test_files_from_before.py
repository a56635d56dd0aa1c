"""Saved rankers and stores that earlier versions wrote open, and go on as they would have.

The files are in folders of `tests/data`; `make.py` in each says which version wrote them. They must
never be written again by a later version: then they would show nothing.
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
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from numpy.typing import NDArray
from typer.testing import CliRunner

import clickrank as cr
from clickrank.learning import ContextState, takes_candidates
from clickrank.service.runtime.engine import Engine
from clickrank.service.runtime.fold import load_snapshot
from clickrank.service.runtime.verification import verify
from clickrank.service.runtime.writer import Clock
from clickrank.service.schemas.requests import Clicks, RankRequest
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import StreamRow
from clickrank.service.store.rankers import ranker_by_id
from clickrank.service.store.tables import impressions, snapshots, streams
from tests.paths import DATA
from tests.replay.where import command_line, no_time_passes

#: From the oldest version to the newest.
FOLDERS = ("before", "at_bf3a85a", "at_38c3e8f")
NEWEST = FOLDERS[-1]
STORES = [
    *((folder, "store") for folder in FOLDERS),
    ("at_bf3a85a", "plans"),
]
#: Microseconds since 1970 at which the store was written, and a time after all its windows.
WRITTEN, LATER = 1_700_000_000_000_000, 1_800_000_000_000_000


@functools.cache
def expected(folder: str) -> Any:
    path = DATA / folder / "expected.json"
    return json.loads(path.read_text()) if path.exists() else {"rankers": {}, "store": {}}


def unpacked(folder: str, name: str, to: Path) -> Path:
    """Return the path of a file of an archive, written into a folder as it was."""
    with zipfile.ZipFile(DATA / folder / "files.zip") as archive:
        return Path(archive.extract(name, to))


def digest(array: NDArray[Any]) -> str:
    """Return a digest of an array: its type, its shape and its numbers."""
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    text = f"{little.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(text + little.tobytes()).hexdigest()[:12]


def statistics(learned: ContextState) -> dict[str, str]:
    """Return digests of what was learned, by name."""
    return {name: digest(array) for name, array in sorted(learned.statistics().items())}


#: Statistics that had another layout or name in files older than the newest, by policy. That they
#: were converted rightly shows in the lists that follow, in the tests of these policies and, for a
#: store, in the log: folded again, it gives the same.
CONVERTED = {
    "pmed": ("lists", "weights"),
    "recurrank": ("clicks", "order", "restarts", "views"),
    "toprank": ("wins",),
}
#: The policies of the stores' rankers that are concerned.
POLICY_OF = {"plans": "pmed", "rows": "recurrank", "search": "toprank"}


def still_there(
    found: dict[str, Any], want: dict[str, Any], name: str, folder: str
) -> dict[str, Any]:
    """Leave out what is no statistic any more, because it is computed from the others."""
    if folder == NEWEST:
        return want
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


@pytest.mark.parametrize(
    ("folder", "name"),
    [(folder, name) for folder in FOLDERS for name in expected(folder)["rankers"]],
)
def test_a_saved_ranker_goes_on(folder: str, name: str, tmp_path: Path) -> None:
    want = expected(folder)["rankers"][name]
    ranker = cr.Ranker.load(unpacked(folder, f"{name}.ranker", tmp_path))
    found = goes_on(ranker, want["waiting"])
    for key, value in found.items():
        if "statistics" in key:
            old = {c: still_there(value[c], want[key][c], name, folder) for c in value}
            assert value == old, f"{name}: {key}"
        else:
            assert value == want[key], f"{name}: {key}"
    assert set(found) == set(want)
    if takes_candidates(ranker.policy):
        some = ranker.items[1 : 2 + ranker.n_positions]
        for context in ranker.contexts:
            assert set(ranker.rank(some, context).items) <= set(some)


@pytest.mark.parametrize(("folder", "count"), [*zip(FOLDERS, (38, 4, 38), strict=True)])
def test_every_saved_ranker_is_loaded(folder: str, count: int) -> None:
    with zipfile.ZipFile(DATA / folder / "files.zip") as archive:
        saved = {Path(name).stem for name in archive.namelist() if name.endswith(".ranker")}
    assert saved == set(expected(folder)["rankers"])
    assert len(saved) == count


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
            snapshot = load_snapshot(
                connection, ranker.definition, ranker.version, stream, from_base=from_base
            )
            found[f"{ranker.name} / {stream.context}"] = {
                "impressions": count(impressions),
                "folded": stream.folded_seq,
                "snapshots": count(snapshots),
                "statistics": statistics(snapshot.state),
            }
    return found


def assert_same(found: dict[str, Any], want: dict[str, Any], folder: str) -> None:
    """Compare streams, but for what is no statistic any more."""
    assert set(found) == set(want)
    for name, stream in found.items():
        old = dict(want[name])
        policy = POLICY_OF.get(name.partition(" / ")[0], "")
        old["statistics"] = still_there(stream["statistics"], old["statistics"], policy, folder)
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
        await asyncio.sleep(0.1)


async def lists_that_follow(url: str, names: list[str]) -> dict[str, list[str]]:
    """Return the next lists of each stream, without clicks between them."""
    found: dict[str, list[str]] = {}
    with no_time_passes():
        engine = await Engine.open(url, clock=clock_at(LATER), seed=7)
        try:
            for key in names:  # else what is learned from would depend on when
                name, context = key.split(" / ")
                count = (await engine.report(name, context)).impressions
                await settled(engine, name, context, count)
            for key in names:
                name, context = key.split(" / ")
                shown = [await engine.rank(name, RankRequest(context=context)) for _ in range(6)]
                found[key] = ["".join(one.items) for one in shown]
        finally:
            await engine.close()
    return found


def exported(store: Path, name: str, folder: Path) -> Path:
    """Return the path of a ranker's log, exported by the command."""
    path = folder / f"{name}.parquet"
    words = ["export", name, "--out", str(path), "--store", f"sqlite:///{store}"]
    result = CliRunner().invoke(command_line(), words)
    assert result.exit_code == 0, result.output
    return path


def test_the_store_is_exported_as_it_was(tmp_path: Path) -> None:
    store = unpacked(NEWEST, "store.db", tmp_path)
    for name in ("front", "odds"):
        want = pq.read_table(unpacked(NEWEST, f"{name}.parquet", tmp_path / "then"))
        found = pq.read_table(exported(store, name, tmp_path))
        assert found.schema.equals(want.schema)
        assert found.to_pylist() == want.to_pylist()


def test_the_store_shows_the_same_lists(tmp_path: Path) -> None:
    want = expected(NEWEST)["store"]["lists"]
    url = f"sqlite:///{unpacked(NEWEST, 'store.db', tmp_path)}"
    assert asyncio.run(lists_that_follow(url, list(want))) == want


@pytest.mark.parametrize(("folder", "name"), STORES)
def test_the_store_opens(folder: str, name: str, tmp_path: Path) -> None:
    database = Database(f"sqlite:///{unpacked(folder, f'{name}.db', tmp_path)}")
    try:
        database.upgrade()
        want = expected(folder)[name]["written"]
        one, two = read_store(database), read_store(database, from_base=True)
        assert one == two
        assert_same(one, want, folder)
        found = verify(database)
        assert found.problems == []
        assert found.snapshots == sum(each["snapshots"] for each in want.values())
        assert found.snapshots > 0
    finally:
        database.close()


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_store_serves(folder: str, tmp_path: Path) -> None:
    store = f"sqlite:///{unpacked(folder, 'store.db', tmp_path)}"
    want = expected(folder)["store"]
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
        assert_same({key: {**after[key], "snapshots": None} for key in later}, later, folder)
        asyncio.run(go_on())
        assert verify(database).problems == []
        one, two = read_store(database), read_store(database, from_base=True)
        assert one == two
        for key, each in want["later"].items():
            assert one[key]["impressions"] == each["impressions"] + 20
    finally:
        database.close()
