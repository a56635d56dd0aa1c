"""Settler: the thread that folds settled impressions, moves frontiers and writes snapshots."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable

from clickrank.learning.packing import pack
from clickrank.service.runtime.ranker_cache import LoadedStream
from clickrank.service.runtime.refusals import Unavailable
from clickrank.service.runtime.writer import Clock, Writer
from clickrank.service.store.database import Database, StoreUnavailable
from clickrank.service.store.frontier import lagging, move_frontier, moved_since, settled_after
from clickrank.service.store.impression_log import stream_by_id
from clickrank.service.store.rankers import ranker_by_id
from clickrank.service.store.snapshots import put_snapshot

log = logging.getLogger("clickrank.serve")

#: Maximum number of impressions per transaction, which must be short since others write too.
MOST_AT_ONCE = 500
#: Seconds between two rounds, and between two rounds that look at all streams.
PAUSE = 0.1
LOOK = 1.0
#: A snapshot is written after this many impressions, or after this many seconds if there are any.
SNAPSHOT_IMPRESSIONS = 5_000
SNAPSHOT_SECONDS = 60.0
#: Maximum difference between the clocks of workers, in microseconds.
CLOCKS_APART = 300_000_000


class Settler:
    """Folds the settled impressions of all streams; each worker has one.

    Parameters
    ----------
    loaded
        Returns the stream with an id if it is in memory.
    """

    def __init__(
        self,
        database: Database,
        writer: Writer,
        clock: Clock,
        loaded: Callable[[int], LoadedStream | None],
    ) -> None:
        """Start the thread."""
        self._database = database
        self._writer = writer
        self._clock = clock
        self._loaded = loaded
        self._lock = threading.Lock()
        self._news: set[int] = set()
        # When the next impression of a stream settles, and the version of the ranker.
        self._due: dict[int, tuple[int, int]] = {}
        self._looked_at = 0.0
        self._moved_at = 0
        self._snapshot_due: set[int] = set()
        self._stopping = threading.Event()
        self.folded = 0  # impressions, by this worker
        self._thread = threading.Thread(target=self._work, name="clickrank-settler", daemon=True)
        self._thread.start()

    def notify(self, stream_id: int) -> None:
        """Take note that an impression of a stream has become final."""
        with self._lock:
            self._news.add(stream_id)

    def close(self) -> None:
        """Fold the impressions that have settled, write snapshots and stop the thread."""
        self._stopping.set()
        self._thread.join()
        try:
            self.round(look=True)
            self._write_snapshots(all_of_them=True)
        except (StoreUnavailable, Unavailable) as error:
            log.warning(
                "Some impressions are not folded yet; they will be folded at the next start: %s",
                error,
            )
        except Exception:  # the log is complete without this
            log.exception("Some impressions are not folded yet.")

    def _work(self) -> None:
        while not self._stopping.wait(PAUSE):
            try:
                self.round(look=time.monotonic() >= self._looked_at + LOOK)
                self._write_snapshots()
            except (StoreUnavailable, Unavailable) as error:
                log.warning("Folding must wait: %s", error)
                self._stopping.wait(1.0)
            except Exception:
                log.exception("Folding failed and will be tried again.")
                self._stopping.wait(1.0)

    def round(self, look: bool) -> None:
        """Move the frontiers that can be moved; with ``look`` those of all streams."""
        due: set[int] = set()
        if look:
            self._looked_at = time.monotonic()
            now = self._clock.now()
            self._follow_others()
            with self._database.reading() as connection:
                waiting = dict(lagging(connection))
            # Times that were computed with the window of another version are not valid.
            self._due = {
                number: (at, version)
                for number, (at, version) in self._due.items()
                if waiting.get(number) == version
            }
            due = {number for number in waiting if self._due.get(number, (0, 0))[0] <= now}
        with self._lock:
            news, self._news = self._news | due, set()
        for number in sorted(news):
            try:
                self._advance(number)
            except (StoreUnavailable, Unavailable):
                with self._lock:
                    self._news |= news
                raise
            except Exception:  # other streams go on; this one is tried again in a later round
                log.exception("Stream %d cannot be folded now.", number)

    def _advance(self, number: int) -> None:
        while True:
            now = self._clock.now()
            with self._database.reading() as connection:
                stream = stream_by_id(connection, number)
                ranker = stream and ranker_by_id(connection, stream.ranker_id)
                if stream is None or ranker is None:
                    return
                step = settled_after(connection, stream, ranker.window, now, MOST_AT_ONCE)
            self._due.pop(number, None)
            if step.closes_at is not None:
                self._due[number] = (step.closes_at, ranker.version)
            if not step.logged:
                return
            move = functools.partial(
                move_frontier, self._database, stream=stream, step=step, now=now
            )
            if not self._writer.run(move).result():
                continue  # another worker moved it, or a click came: look again
            self.folded += len(step.logged)
            loaded = self._loaded(number)
            if loaded is not None:
                if not loaded.fold_settled(ranker, stream.folded_seq, step.logged, step.until):
                    loaded.catch_up(self._database, ranker)
                self._snapshot_due.add(number)
            if step.closes_at is not None:
                return

    def _follow_others(self) -> None:
        """Fold in what other workers have settled."""
        since, self._moved_at = self._moved_at, self._clock.now() - CLOCKS_APART
        with self._database.reading() as connection:
            moved = moved_since(connection, since)
            for number, ranker_id, folded_seq in moved:
                loaded = self._loaded(number)
                if loaded is not None and loaded.snapshot.seq < folded_seq:
                    ranker = ranker_by_id(connection, ranker_id)
                    if ranker is None:
                        continue
                    try:
                        loaded.catch_up(self._database, ranker)
                        self._snapshot_due.add(number)
                    except (StoreUnavailable, Unavailable):
                        raise
                    except Exception:
                        log.exception("Stream %d cannot be folded now.", number)

    def _write_snapshots(self, all_of_them: bool = False) -> None:
        for number in sorted(self._snapshot_due):
            stream = self._loaded(number)
            if stream is None:
                self._snapshot_due.discard(number)
                continue
            behind = stream.snapshot.seq - stream.saved_seq
            late = time.monotonic() >= stream.saved_at + SNAPSHOT_SECONDS
            if behind and (all_of_them or behind >= SNAPSHOT_IMPRESSIONS or late):
                self.save_snapshot(stream)
            if stream.snapshot.seq == stream.saved_seq:
                self._snapshot_due.discard(number)

    def save_snapshot(self, stream: LoadedStream) -> None:
        """Write a snapshot of a stream."""
        snapshot = stream.snapshot
        packed = pack(snapshot.state.statistics())
        put = functools.partial(
            put_snapshot,
            self._database,
            stream_id=stream.id,
            seq=snapshot.seq,
            version=snapshot.version,
            at=self._clock.now(),
            statistics=packed,
        )
        self._writer.run(put).result()
        stream.saved_seq = snapshot.seq
        stream.saved_at = time.monotonic()
