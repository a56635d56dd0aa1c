"""The store: what is on record, once, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from clickrank.errors import InvalidValue
from clickrank.service.runtime.compaction import compact
from clickrank.service.runtime.definitions import without_items
from clickrank.service.runtime.fold import load_snapshot
from clickrank.service.runtime.verification import verify
from clickrank.service.schemas.requests import RetiredItems
from clickrank.service.store.api_keys import has_admin, list_keys, make_key, revoke_key, role_of
from clickrank.service.store.database import Database
from clickrank.service.store.feedback import Answer, NewFeedback, record_feedback
from clickrank.service.store.frontier import move_frontier, settled_after
from clickrank.service.store.impression_log import (
    NewImpression,
    StreamRow,
    make_stream,
    record,
    stream_by_id,
)
from clickrank.service.store.packing import pack, unpack
from clickrank.service.store.rankers import (
    Definition,
    change_ranker,
    delete_ranker,
    find_ranker,
    insert_ranker,
)
from clickrank.service.store.snapshots import put_snapshot
from clickrank.service.store.tables import impressions, metadata, snapshots
from tests.service.stores import BACKENDS, store_url

ITEMS = ["a", "b", "c", "d"]
WINDOW = 1_000


@pytest.fixture(params=BACKENDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    made = Database(store_url(request.param, tmp_path))
    made.upgrade()
    yield made
    made.close()


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
            return record_feedback(connection, [new], lambda *_: numbers)[0]

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


def test_migrations_make_the_tables(database: Database) -> None:
    database.upgrade()  # again: nothing to do
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="Database: url must be"):
        Database(url)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="folder of an SQLite file must exist"):
        Database(f"sqlite:///{tmp_path}/no/store.db").upgrade()


def test_impressions_are_numbered_in_shown_order(database: Database) -> None:
    log = Log(database)
    assert log.show(log.impression("first-1", at=5), log.impression("second-1", at=3)) == [
        "new",
        "new",
    ]
    with database.reading() as connection:
        query = sa.select(impressions.c.seq, impressions.c.id, impressions.c.shown_at)
        rows = connection.execute(query.order_by(impressions.c.seq)).all()
    # Of a clock that was set back, the time stays.
    assert [tuple(row) for row in rows] == [(1, "first-1", 5), (2, "second-1", 5)]
    assert log.stream().next_seq == 3


def test_an_impression_sent_again_is_the_same(database: Database) -> None:
    log = Log(database)
    again = log.impression("same-one", items=[2, 3])
    assert log.show(log.impression("same-one"), again) == ["new", "before"]
    with database.writing() as connection:
        (found,) = record(connection, [again])
    assert (found.outcome, found.items) == ("before", [0, 1])
    assert log.stream().next_seq == 2


def test_what_cannot_be_recorded(database: Database) -> None:
    log = Log(database)
    with database.writing() as connection:
        other = make_stream(database, connection, log.ranker.id, "other")
    assert other is not None
    assert log.show(log.impression("first-1")) == ["new"]
    assert log.show(log.impression("first-1", stream_id=other.id)) == ["taken"]
    assert log.show(log.impression("second-1", version=2)) == ["stale"]
    assert log.show(log.impression("second-1", ranker_id=99)) == ["gone"]
    assert log.stream().next_seq == 2


def test_clicks_count_once(database: Database) -> None:
    log = Log(database)
    log.show(log.impression("first-1"))
    assert log.click("first-1", ["b"]).clicked == [1]
    assert log.click("first-1", ["b", "a", "b"]).clicked == [0, 1]
    assert log.click("first-1", []).clicked == [0, 1]


def test_clicks_that_are_refused(database: Database) -> None:
    log = Log(database)
    log.show(log.impression("first-1", at=10), log.impression("second-1", at=10))
    assert log.click("no-such-one", ["a"]).refused == "unknown"
    for wrong in ("c", "nothing"):
        answer = log.click("first-1", ["a", wrong])
        assert (answer.refused, answer.wrong) == ("impossible", wrong)
    # Final: what is on record may come again, nothing else.
    assert log.click("first-1", ["a"], final=True).settled
    assert log.click("first-1", ["a"], final=True) == log.click("first-1", [])
    assert log.click("first-1", ["b"]).refused == "late"
    # The window has closed.
    assert not log.click("second-1", ["a"], at=10 + WINDOW - 1).settled
    assert log.click("second-1", ["b"], at=10 + WINDOW).refused == "late"
    assert log.click("second-1", ["a"], at=10 + WINDOW).settled


def test_the_frontier_stops_at_what_has_not_settled(database: Database) -> None:
    log = Log(database)
    log.show(*(log.impression(f"number-{i}", at=i) for i in range(4)))
    log.click("number-0", ["a"], final=True)
    log.click("number-2", [], final=True)
    assert log.fold(now=10)
    assert log.stream().folded_seq == 1  # number-2 waits for number-1: shown order
    assert not log.fold(now=10)
    assert log.fold(now=1 + WINDOW)
    assert log.stream().folded_seq == 3
    assert log.click("number-0", ["b"], at=5).refused == "late"  # folded: frozen


def test_the_frontier_moves_once(database: Database) -> None:
    log = Log(database)
    log.show(log.impression("first-1"), log.impression("second-1"))
    stream = log.stream()
    with database.reading() as connection:
        step = settled_after(connection, stream, WINDOW, 2 * WINDOW, 100)
    assert step.until == 2
    with database.writing() as connection:
        assert move_frontier(database, connection, stream, step, 0)
    with database.writing() as connection:  # another worker, with the same step
        assert not move_frontier(database, connection, stream, step, 0)
    assert log.stream().folded_seq == 2


def test_a_click_between_reading_and_moving_is_not_lost(database: Database) -> None:
    log = Log(database)
    log.show(log.impression("first-1"))
    stream = log.stream()
    with database.reading() as connection:
        step = settled_after(connection, stream, WINDOW, 2 * WINDOW, 100)
    log.click("first-1", ["a"], at=1)  # by a worker whose clock is behind
    with database.writing() as connection:
        assert not move_frontier(database, connection, stream, step, 0)
    assert log.fold(now=2 * WINDOW)
    with database.reading() as connection:
        learned = load_snapshot(connection, definition(), 1, log.stream()).state
    assert learned.clicks.sum() == 1


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


@pytest.mark.parametrize("policy", ["pb-mhb", "bubblerank", "grab", "toprank", "unirank"])
def test_fold_equals_snapshot(database: Database, policy: str) -> None:
    settings = {"horizon": 1000} if policy in ("bubblerank", "toprank") else {}
    log = Log(database, definition(policy, **settings))
    played(log, 45)
    log.snapshot()
    found = verify(database)
    assert found.problems == []
    assert (found.streams, found.impressions, found.snapshots) == (1, 45, 2)
    # Other items: what can be carried is, the rest is folded anew, and both are the fold.
    since = {"since": 2} if policy == "bubblerank" else {}
    log.change(items=[*ITEMS, "e"], **since)
    played(log, 30, begin=45, seed=1)
    log.snapshot()
    since = {"since": 3} if policy == "bubblerank" else {}
    log.change(retired=[1], **since)
    played(log, 30, begin=75, seed=2)
    log.snapshot()
    found = verify(database)
    assert found.problems == []
    assert found.snapshots >= 1
    with database.reading() as connection:
        query = sa.select(impressions.c["items"]).where(impressions.c.version == 3)
        assert not any("1" in row[0] for row in connection.execute(query))


def test_a_policy_that_has_dropped_an_item_goes_on_without_it(database: Database) -> None:
    """Each stream starts again only if it must, at the first list chosen without the item."""
    features = np.eye(4).tolist()
    log = Log(database, definition("recurrank", features=features, failure=1.0))

    def retire(item: str) -> None:
        made = without_items(log.ranker, RetiredItems([item]))
        log.change(**{name: getattr(made, name) for name in made.__struct_fields__})

    def state() -> dict[str, Any]:
        with database.reading() as connection:
            row = log.ranker
            found = load_snapshot(connection, row.definition, row.version, log.stream())
        return found.state.statistics()

    played(log, 40, likes={"a", "b"})
    assert (state()["order"] >= 0).sum() == 2
    log.snapshot()
    retire("d")
    before = state()
    played(log, 10, begin=40, likes={"a", "b"})
    assert state()["views"].sum() == before["views"].sum() + 10
    log.snapshot()
    retire("a")  # which is shown: the next lists are chosen from nothing, without it
    played(log, 1, begin=50, likes={"b"})
    assert state()["began.with"].tolist() == [1, 2]
    assert (state()["phase"].max(), state()["views"].sum()) == (1, 1)
    played(log, 20, begin=51, likes={"b"})
    log.snapshot()
    found = verify(database)
    assert (found.problems, found.snapshots) == ([], 2)
    # The snapshot from before is carried too, and gives the same.
    with database.writing() as connection:
        connection.execute(sa.delete(snapshots).where(snapshots.c.seq > 50))
    assert verify(database).problems == []
    assert state()["began.with"].tolist() == [1, 2]


def test_verify_finds_what_is_wrong(database: Database) -> None:
    log = Log(database)
    played(log, 30)
    log.snapshot()
    assert verify(database).problems == []
    with database.writing() as connection:
        connection.execute(
            sa.update(impressions).where(impressions.c.seq == 3).values({"items": "[3,2]"})
        )
    assert any("differs from the snapshot" in text for text in verify(database).problems)
    with database.writing() as connection:
        connection.execute(sa.delete(impressions).where(impressions.c.seq == 30))
    assert any("30 impressions expected" in text for text in verify(database).problems)


def test_a_snapshot_of_another_layout_is_folded_again(database: Database) -> None:
    """The log is the truth; only where it was compacted away is there nothing else to go by."""
    log = Log(database, definition("pb-mhb"))
    played(log, 30)
    log.snapshot()

    def learned() -> bytes:
        with database.reading() as connection:
            found = load_snapshot(
                connection, log.ranker.definition, log.ranker.version, log.stream()
            )
        return pack(found.state.statistics())

    def rename_a_field() -> None:
        with database.writing() as connection:
            for row in connection.execute(sa.select(snapshots)).all():
                arrays = unpack(row.statistics)
                arrays["once"] = arrays.pop("clicks")
                own = (snapshots.c.stream_id == row.stream_id) & (snapshots.c.seq == row.seq)
                connection.execute(sa.update(snapshots).where(own).values(statistics=pack(arrays)))

    before = learned()
    rename_a_field()
    assert learned() == before
    assert any("cannot be read" in text for text in verify(database).problems)
    with database.writing() as connection:  # the first ones are from the day before
        first = impressions.c.seq <= 10
        connection.execute(sa.update(impressions).where(~first).values(shown_at=100))
    assert compact(database, before=50).impressions == 10
    assert learned() == before  # the base can be read, and the log has what followed
    log.snapshot()
    compact(database, before=10**6)
    assert learned() == before
    rename_a_field()
    with pytest.raises(InvalidValue, match="the statistics must be"):
        learned()


def test_compacting_changes_nothing_that_was_learned(database: Database) -> None:
    log = Log(database, definition("pb-mhb"))
    for i in range(4):
        played(log, 10, begin=10 * i, seed=i)
        with database.writing() as connection:  # a day later
            days = sa.update(impressions).where(impressions.c.shown_at == 0)
            connection.execute(days.values(shown_at=(i + 1) * 100))
    log.show(log.impression("not-settled", at=100))

    def learned() -> bytes:
        with database.reading() as connection:
            row = log.ranker
            found = load_snapshot(
                connection, row.definition, row.version, log.stream(), from_base=True
            )
        return pack(found.state.statistics())

    before = learned()
    done = compact(database, before=250)
    assert (done.streams, done.impressions) == (1, 20)
    assert learned() == before
    assert log.stream().base_seq == 20
    assert verify(database).problems == []
    assert compact(database, before=250).impressions == 0
    assert compact(database, before=10**6).impressions == 20  # what has not settled stays
    assert learned() == before
    assert log.click("not-settled", ["a"], at=101).clicked == [0]
    played(log, 10, begin=50, seed=9)
    assert verify(database).problems == []


def test_what_was_compacted_still_counts_for_a_policy_that_starts_anew(database: Database) -> None:
    log = Log(database, definition("bubblerank", horizon=1000))
    played(log, 10)
    assert compact(database, before=10**6).impressions == 10
    log.change(items=[*ITEMS, "e"], since=2)
    played(log, 5, begin=10)
    log.snapshot()
    with database.reading() as connection:
        snapshot = load_snapshot(connection, log.ranker.definition, 2, log.stream())
    assert snapshot.state.views.sum() == 2 * 15
    assert verify(database).problems == []


def test_old_snapshots_are_let_go(database: Database) -> None:
    log = Log(database)
    for i in range(5):
        played(log, 3, begin=3 * i)
        log.snapshot()
    with database.reading() as connection:
        seqs = connection.scalars(sa.select(snapshots.c.seq).order_by(snapshots.c.seq)).all()
    assert seqs == [12, 15]


def test_deleting_takes_everything(database: Database) -> None:
    log = Log(database)
    played(log, 30)
    number = log.ranker.id
    with database.writing() as connection:
        delete_ranker(connection, number)
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            assert connection.scalar(sa.select(sa.func.count()).select_from(table)) == 0, table
    again = Log(database)  # numbers are not used again
    assert again.ranker.id > number


def test_keys(database: Database) -> None:
    with database.writing() as connection:
        _, secret = make_key(connection, "shop", "rank")
        assert not has_admin(connection)
        admin, other = make_key(connection, "me", "admin")
        assert has_admin(connection)
        assert (role_of(connection, secret), role_of(connection, other)) == ("rank", "admin")
        assert role_of(connection, "crk_wrong") is None
        revoked = revoke_key(connection, admin.id)
        assert revoked is not None
        assert revoke_key(connection, admin.id) == revoked  # again: as it was
        assert revoke_key(connection, 99) is None
        assert role_of(connection, other) is None
        assert not has_admin(connection)
        assert [row.revoked_at is None for row in list_keys(connection)] == [True, False]
        # Only a hash is kept.
        kept = connection.execute(sa.text("SELECT * FROM keys")).all()
        assert secret not in str(kept)
        with pytest.raises(InvalidValue, match="role must be one of"):
            make_key(connection, "x", "root")


def test_packing() -> None:
    arrays = {"x": np.arange(6).reshape(2, 3), "empty": np.zeros((0, 4)), "one": np.array(2.5)}
    packed = pack(arrays)
    assert pack(dict(reversed(arrays.items()))) == packed
    found = unpack(packed)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
        assert found[name].shape == array.shape
    with pytest.raises(InvalidValue, match="another checksum"):
        unpack(packed[:-1] + b"x")
    with pytest.raises(InvalidValue, match="another checksum"):
        unpack(b"")
