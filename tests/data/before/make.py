"""Write saved rankers and a store into an archive, and what is expected of them beside it.

The files were written by clickrank 0.1.0, at the commit 152d00f, when a policy's
state still held its statistics and its scratch together. They show that later versions open what
earlier ones wrote, so do not write them again: give the files of a later format another folder.
The archive keeps them as they were written; most of their bytes are zeros.

    PYTHONPATH=. python tests/data/before/make.py
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from clickrank.ranker import takes_candidates
from clickrank.serve.engine import Engine
from clickrank.store import Database
from clickrank.wire import Clicks, NewItems, NewRanker, RankRequest, RetiredItems
from tests.test_files_from_before import LATER, WRITTEN, clock_at, goes_on, read_store, settled

import clickrank as cr
from clickrank.policies import POLICIES, Policy

HERE = Path(__file__).parent
ITEMS = ["a", "b", "c", "d", "e", "f"]
ATTRACTION = {"a": 0.1, "b": 0.6, "c": 0.2, "d": 0.5, "e": 0.05, "f": 0.3, "g": 0.7}
EXAMINATION = [1.0, 0.6, 0.3]
FEATURES = [[(7 * i + 4 * j) % 11 / 11.0 for j in range(3)] for i in range(7)]
SCORES = [0.3, 0.2, 0.5, 0.1, 0.25, 0.4, 0.6]
LISTS = 60


def settings_of(cls: type[Policy]) -> dict[str, Any]:
    """Return what a policy must be told."""
    told: dict[str, Any] = {
        "best_ranking": [1, 3, 5],
        "click_model": "dctr",
        "examination": EXAMINATION,
        "position_bias": EXAMINATION,
        "satisfaction": EXAMINATION,
    }
    known = ("click_model",) if "click_model" in cls.assumes.known else cls.assumes.known
    settings = {name: told[name] for name in known}
    if cls.assumes.horizon:
        settings["horizon"] = 1000
    if cls.assumes.features:
        settings["features"] = FEATURES[:6]
    if cls.name == "ensemble":
        settings["scores"] = SCORES[:6]
    return settings


def clicked_of(items: list[str], users: np.random.Generator) -> list[str]:
    """Return which items a visitor clicks on."""
    pairs = zip(items, EXAMINATION, strict=False)
    return [item for item, seen in pairs if users.random() < ATTRACTION[item] * seen]


def make_ranker(place: int, name: str) -> tuple[cr.Ranker, list[str]]:
    """Return a ranker that has learned, and the ids of its lists without clicks."""
    cls = POLICIES[name]
    n_positions = 1 if cls.assumes.positions == "one" else 3
    ranker = cr.Ranker(name, ITEMS, n_positions, seed=place, **settings_of(cls))
    users = np.random.default_rng(100 + place)
    contexts = ["", "shoes"] if place % 2 else [""]
    waiting = []
    for number in range(LISTS):
        if number == 20 and place % 3 != 1 and takes_candidates(cls):
            told: dict[str, Any] = {"features": FEATURES[6:]} if cls.assumes.features else {}
            told |= {"scores": SCORES[6:]} if name == "ensemble" else {}
            ranker.add_items(["g"], **told)
        if number == 40 and place % 3 != 2 and name != "oracle":
            ranker.retire_items(["c"])
        shown = ranker.rank(context=contexts[number % len(contexts)])
        if number in (50, 57):
            waiting.append(shown.id)
        else:
            ranker.update(shown.id, clicked_of([str(item) for item in shown.items], users))
    return ranker, waiting


def make_rankers(folder: Path, names: Collection[str] = tuple(POLICIES)) -> dict[str, Any]:
    """Save a ranker of each policy; return what is expected of them once loaded."""
    found = {}
    for place, name in enumerate(POLICIES):
        if name not in names:
            continue
        ranker, waiting = make_ranker(place, name)
        path = folder / f"{name}.ranker"
        ranker.save(path)
        found[name] = goes_on(cr.Ranker.load(path), waiting)
        print(found[name]["repr"])
    return found


RANKERS = {
    "front": NewRanker("front", ITEMS, 3, "pb-mhb"),
    "grid": NewRanker("grid", ITEMS, 3, "grab"),
    "mail": NewRanker("mail", ITEMS, 3, "thompson", {"click_model": "dctr"}),
    "search": NewRanker("search", ITEMS, 3, "toprank", {"horizon": 1000}),
    "stages": NewRanker("stages", ITEMS, 3, "batchrank", {"horizon": 1000}),
}


async def write_store(url: str, rankers: Mapping[str, NewRanker]) -> None:
    """Serve lists of some rankers, in two contexts each, twice: the first time makes snapshots."""
    users = np.random.default_rng(0)
    for session in range(2):
        engine = await Engine.open(url, clock=clock_at(WRITTEN + session))
        engine._rng = np.random.default_rng(session)
        try:
            for name, new in rankers.items():
                if session == 0:
                    await engine.create(new)
                elif name in ("front", "mail"):
                    await engine.add_items(name, NewItems(["g"]))
                    await engine.retire_items(name, RetiredItems(["c"]))
                elif name in ("grid", "stages"):
                    await engine.retire_items(name, RetiredItems(["c"]))
                for context in ("", "shoes"):
                    for number in range(LISTS):
                        shown = await engine.rank(name, RankRequest(context=context))
                        # The last lists of the second time wait for the end of their window.
                        final = session == 0 or number < LISTS - 8
                        items = [str(item) for item in shown.items]
                        await engine.click(shown.id, Clicks(clicked_of(items, users), final=final))
                    count = LISTS if session == 0 else 2 * LISTS - 8
                    await settled(engine, name, context, count)
        finally:
            await engine.close()


async def close_windows(url: str, streams: list[str]) -> None:
    """Fold the lists that wait."""
    engine = await Engine.open(url, clock=clock_at(LATER))
    try:
        for key in streams:
            name, context = key.split(" / ")
            await settled(engine, name, context, 2 * LISTS)
    finally:
        await engine.close()


def make_store(folder: Path, rankers: Mapping[str, NewRanker] = RANKERS) -> dict[str, Any]:
    """Write the store; return what is expected of it as it is, and after all windows."""
    path = folder / "store.db"
    asyncio.run(write_store(f"sqlite:///{path}", rankers))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other = folder / "later.db"
    shutil.copy(path, other)
    written = store_content(path)
    asyncio.run(close_windows(f"sqlite:///{other}", list(written)))
    return {"written": written, "later": store_content(other)}


def store_content(path: Path) -> dict[str, Any]:
    """Return what a store holds."""
    database = Database(f"sqlite:///{path}")
    try:
        return read_store(database)
    finally:
        database.close()


def write_archive(paths: Iterable[Path], to: Path) -> None:
    """Write files into an archive in a folder."""
    with zipfile.ZipFile(to / "files.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(paths):
            archive.write(path, path.name)


def write_expected(found: dict[str, Any], to: Path) -> None:
    """Write what is expected of the files into a folder."""
    (to / "expected.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def main() -> None:
    """Write everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {"rankers": make_rankers(folder), "store": make_store(folder)}
        write_archive([*folder.glob("*.ranker"), folder / "store.db"], HERE)
    write_expected(found, HERE)


if __name__ == "__main__":
    main()
