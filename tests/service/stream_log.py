"""A ranker with one stream in a store, and short ways to write to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from clickrank.learning.packing import pack
from clickrank.service.runtime.fold import load_snapshot
from clickrank.service.store.database import Database
from clickrank.service.store.feedback import Answer, NewFeedback, find_shown, record_feedback
from clickrank.service.store.frontier import move_frontier, settled_after
from clickrank.service.store.impression_log import (
    NewImpression,
    StreamRow,
    make_stream,
    record,
    stream_by_id,
)
from clickrank.service.store.rankers import (
    Definition,
    change_ranker,
    find_ranker,
    insert_ranker,
)
from clickrank.service.store.snapshots import put_snapshot

ITEMS = ["a", "b", "c", "d"]
WINDOW = 1_000


def definition(policy: str = "uniform", **settings: Any) -> Definition:
    return Definition(policy, settings, n_positions=2, mode="live", items=ITEMS)


class Log:
    """A ranker with one stream, and short ways to write to it."""

    def __init__(self, database: Database, defined: Definition | None = None) -> None:
        self.database = database
        with database.writing() as connection:
            self.ranker = insert_ranker(connection, "shop", WINDOW, defined or definition(), 0)
            made = make_stream(database, connection, self.ranker.id, "")
        assert made is not None
        self.stream_id = made.id

    def impression(self, name: str, at: int = 0, **other: Any) -> NewImpression:
        fields = {
            "id": name,
            "given": True,
            "ranker_id": self.ranker.id,
            "version": self.ranker.version,
            "stream_id": self.stream_id,
            "state_seq": 0,
            "shown_at": at,
            "items": [0, 1],
            "memo": [],
            "would_show": None,
            "exploring": False,
        }
        return NewImpression(**{**fields, **other})

    def show(self, *new: NewImpression) -> list[str]:
        with self.database.writing() as connection:
            return [found.outcome for found in record(connection, new)]

    def click(self, name: str, clicked: list[str], final: bool = False, at: int = 1) -> Answer:
        new = NewFeedback(name, clicked, final, at)
        numbers = {item: number for number, item in enumerate(self.ranker.definition.items)}
        with self.database.writing() as connection:
            shown = find_shown(connection, [name])
            return record_feedback(connection, [new], shown, {self.ranker.id: numbers})[0]

    def stream(self) -> StreamRow:
        with self.database.reading() as connection:
            found = stream_by_id(connection, self.stream_id)
        assert found is not None
        return found

    def fold(self, now: int, most: int = 100) -> bool:
        stream = self.stream()
        with self.database.reading() as connection:
            step = settled_after(connection, stream, self.ranker.window, now, most)
        with self.database.writing() as connection:
            return bool(step.logged) and move_frontier(self.database, connection, stream, step, now)

    def snapshot(self) -> None:
        ranker, stream = self.ranker, self.stream()
        with self.database.reading() as connection:
            snapshot = load_snapshot(connection, ranker.definition, ranker.version, stream)
        packed = pack(snapshot.state.statistics())
        with self.database.writing() as connection:
            put_snapshot(
                self.database,
                connection,
                stream.id,
                snapshot.seq,
                snapshot.version,
                0,
                packed,
            )

    def change(self, **fields: Any) -> None:
        with self.database.writing() as connection:
            row = find_ranker(connection, "shop", change=True)
            assert row is not None
            after = Definition(
                **{
                    **{f: getattr(row.definition, f) for f in row.definition.__struct_fields__},
                    **fields,
                }
            )
            self.ranker = change_ranker(connection, row, row.window, after, 0, {})


def played(log: Log, n: int, begin: int = 0, seed: int = 0, likes: set[str] | None = None) -> None:
    """Play visitors on what the log says at the time, final after a while.

    They click at random, or on all that they like.
    """
    rng = np.random.default_rng(seed)
    ranker = log.ranker
    for i in range(begin, begin + n):
        with log.database.reading() as connection:
            snapshot = load_snapshot(connection, ranker.definition, ranker.version, log.stream())
        ranking, memo = snapshot.state.rank(rng)
        shown = {"items": ranking.tolist(), "memo": memo.tolist(), "state_seq": snapshot.seq}
        log.show(log.impression(f"number-{i}", **shown))
        names = [ranker.definition.items[k] for k in ranking]
        names = [x for x in names if (rng.random() < 0.4 if likes is None else x in likes)]
        log.click(f"number-{i}", names, final=True)
        if i % 7 == 0:
            log.fold(now=2)
        if i % 20 == 0:
            log.snapshot()
    log.fold(now=2)
