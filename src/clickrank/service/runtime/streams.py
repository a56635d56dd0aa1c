"""Rankers in memory: what is needed to choose a list without asking the store."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints
from clickrank.errors import UnknownName
from clickrank.service.runtime.context_report import Best
from clickrank.service.runtime.fold import (
    Snapshot,
    carried_over,
    fold_impressions,
    fold_log,
    load_snapshot,
)
from clickrank.service.runtime.propensity_cache import PropensityCache
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import LoggedImpression, StreamRow, stream_by_id
from clickrank.service.store.packing import pack_propensities
from clickrank.service.store.rankers import RankerRow, ranker_by_id

#: Seconds between two looks at which list is best: it changes slowly, and takes a while to find.
_LOOK_AGAIN = 1.0
#: Lists that are drawn at once, and seconds that it may take: others wait meanwhile.
_MOST_DRAWN = 16
_DRAW_SECONDS = 0.0002
#: A context whose lists take longer, twice in a row, is ranked in a thread: others need not wait.
_SLOW_SECONDS = 0.005


class Chosen(NamedTuple):
    """A list that was chosen."""

    snapshot: Snapshot  # that it is from
    ranking: list[int]
    memo: list[int]
    propensities: bytes | None  # if asked for


class Stream:
    """One context of a ranker: its snapshot, and what is estimated of its items.

    The snapshot is replaced, never changed: the thread that ranks takes it as it is, while another
    makes the next one.
    """

    def __init__(self, row: StreamRow, snapshot: Snapshot) -> None:
        """Take the snapshot for now."""
        self.id = row.id
        self.context = row.context
        self.changing = threading.Lock()  # held by whoever makes the next snapshot
        # Not known: of a service that is often killed none would be written, and all refolded.
        self.saved_seq = 0
        self.saved_at = time.monotonic()
        self.snapshot = snapshot
        self.size = snapshot.state.nbytes  # when it was loaded
        self._looked_at = 0.0
        self._best: Best | None = None
        self._has_candidates = False
        self._drawn_from: Snapshot | None = None  # these are for the thread that ranks
        self._drawn: list[tuple[list[int], list[int]]] = []
        self._draw = 1
        self.turns = asyncio.Lock()  # of those who rank in a thread
        self._long = 0  # lists in a row that took long
        snapshot.state.prepare()
        self.look()

    @property
    def is_slow(self) -> bool:
        """Whether lists take so long that they are to be chosen in a thread; it stays so."""
        return self._long >= 2

    def choose(
        self, rng: np.random.Generator, candidates: Ints | None, odds: PropensityCache | None = None
    ) -> Chosen:
        """Return a list and its memo, and the snapshot that they are from.

        While the snapshot stays as it is, lists of all items are drawn some at a time. With
        ``odds`` come the propensities, of the state just before the list is drawn.
        """
        snapshot = self.snapshot
        began = time.perf_counter()
        if candidates is not None or odds is not None:
            packed = None
            found = None if odds is None else odds.of(self.id, snapshot, rng, candidates)
            ranking, memo = snapshot.state.rank(rng, candidates)
            if found is not None:
                packed = pack_propensities(*found.of_shown(ranking))
            self._note(time.perf_counter() - began)
            return Chosen(snapshot, ranking.tolist(), memo.tolist(), packed)
        if self._drawn_from is not snapshot:
            self._drawn_from, self._drawn, self._draw = snapshot, [], 1
        if not self._drawn:
            rankings, memos = snapshot.state.rank_many(rng, self._draw)
            self._drawn = list(zip(rankings.tolist(), memos.tolist(), strict=True))
            self._drawn.reverse()
            seconds = time.perf_counter() - began
            self._note(seconds)
            if seconds < _DRAW_SECONDS:
                self._draw = min(2 * self._draw, _MOST_DRAWN)
        return Chosen(snapshot, *self._drawn.pop(), None)

    def _note(self, seconds: float) -> None:
        if not self.is_slow:
            self._long = self._long + 1 if seconds > _SLOW_SECONDS else 0

    def replace(self, snapshot: Snapshot) -> None:
        """Go on with another snapshot."""
        other_items = snapshot.version != self.snapshot.version
        self.snapshot = snapshot
        if other_items or time.monotonic() >= self._looked_at + _LOOK_AGAIN:
            self.look()

    def look(self) -> None:
        """Estimate anew which list is best."""
        learned = self.snapshot.state
        active = np.ones(learned.n_items, dtype=np.bool_)
        active[list(learned.retired)] = False
        best = _best_of(self.snapshot)
        self.best: list[int] = best.among(active).tolist()
        # It takes as much memory as what was learned, and only lists of candidates need it.
        self._best = best if self._has_candidates else None
        self._looked_at = time.monotonic()

    def is_best(self, shown: list[int], candidates: Ints | None) -> bool:
        """Tell whether a list is the best by what is known, of the candidates if given."""
        if candidates is None:
            return shown == self.best
        self._has_candidates = True
        best = self._best
        if best is None:
            best = self._best = _best_of(self.snapshot)
        allowed = np.zeros(best.n_items, dtype=np.bool_)
        if candidates.max() >= best.n_items:
            return False  # items that have just come
        allowed[candidates] = True
        found: list[int] = best.among(allowed).tolist()
        return shown == found

    def fold_settled(
        self, row: RankerRow, before: int, logged: list[LoggedImpression], last: int
    ) -> bool:
        """Fold in impressions that follow ``before``; False if they are not what comes next."""
        with self.changing:
            snapshot = self.snapshot
            if snapshot.seq != before or snapshot.version != row.version:
                return False
            self.replace(fold_impressions(row.definition, snapshot, logged, last))
            return True

    def catch_up(self, database: Database, row: RankerRow) -> None:
        """Fold in what the store has up to the frontier, for this version of the ranker."""
        with self.changing, database.reading() as connection:
            found = stream_by_id(connection, self.id)
            if found is None:
                return
            snapshot = self.snapshot
            if row.version < snapshot.version:  # it went on since the caller looked
                newest = ranker_by_id(connection, found.ranker_id)
                if newest is None:
                    return
                row = newest
            if snapshot.version < row.version:
                snapshot = carried_over(row, snapshot) or load_snapshot(
                    connection, row.definition, row.version, found
                )
            if snapshot.seq < found.base_seq:  # compacted away before it was folded here
                snapshot = load_snapshot(connection, row.definition, row.version, found)
            if snapshot.seq < found.folded_seq:
                snapshot = fold_log(connection, row.definition, snapshot, self.id, found.folded_seq)
            if snapshot is not self.snapshot:
                self.replace(snapshot)


def _best_of(snapshot: Snapshot) -> Best:
    learned = snapshot.state
    return Best(learned.views.astype(np.int64), learned.clicks.astype(np.int64))


class RankerVersion(NamedTuple):
    """A ranker at one version, with what is looked up in it."""

    row: RankerRow
    numbers: dict[str, int]
    retired: frozenset[int]

    def number(self, item: str) -> int:
        """Return the number of an item that may be shown."""
        found = self.numbers.get(item, -1)
        if found < 0:
            raise UnknownName(f"{self.row.name}: unknown item {item!r}.")
        if found in self.retired:
            raise UnknownName(f"{self.row.name}: item {item!r} is retired.")
        return found


class LoadedRanker:
    """A ranker with the contexts that are in memory."""

    def __init__(self, row: RankerRow) -> None:
        """Begin without contexts."""
        self.streams: dict[str, Stream] = {}
        self.take(row)

    def take(self, row: RankerRow) -> None:
        """Take over a new version, at once; its streams follow when they are next used."""
        numbers = {item: number for number, item in enumerate(row.definition.items)}
        self.current = RankerVersion(row, numbers, frozenset(row.definition.retired))

    @property
    def row(self) -> RankerRow:
        """The ranker as it is known here."""
        return self.current.row
