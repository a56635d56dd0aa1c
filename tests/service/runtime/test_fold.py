"""The state follows from the log: folding, verification and compaction agree bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from clickrank.errors import InvalidValue
from clickrank.learning.packing import pack, unpack
from clickrank.service.runtime.compaction import compact
from clickrank.service.runtime.definitions import without_items
from clickrank.service.runtime.fold import ImpressionsMissing, load_snapshot
from clickrank.service.runtime.verification import verify
from clickrank.service.schemas.requests import RetiredItems
from clickrank.service.store.database import Database
from clickrank.service.store.frontier import move_frontier, settled_after
from clickrank.service.store.tables import impressions, snapshots
from tests.service.stream_log import ITEMS, WINDOW, Log, definition, played


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


@pytest.mark.parametrize("policy", ["pb-mhb", "bubblerank", "grab", "toprank", "unirank"])
def test_fold_equals_snapshot(database: Database, policy: str) -> None:
    settings = {"horizon": 1000} if policy in ("bubblerank", "toprank") else {}
    log = Log(database, definition(policy, **settings))
    played(log, 45)
    log.snapshot()
    found = verify(database)
    assert found.problems == []
    assert (found.streams, found.impressions, found.snapshots) == (1, 45, 2)
    # Other items: what can be carried is, the rest is folded again, and both are the fold.
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


def with_another_field(packed: bytes) -> bytes:
    arrays = unpack(packed)
    arrays["once"] = arrays.pop("clicks")
    return pack(arrays)


def without_counts(packed: bytes) -> bytes:
    return pack({k: array for k, array in unpack(packed).items() if not k.startswith("tally.")})


def cut_off(packed: bytes) -> bytes:
    return packed[:-7]


def with_another_byte(packed: bytes) -> bytes:
    return packed[:50] + bytes([packed[50] ^ 4]) + packed[51:]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (with_another_field, "the statistics must be"),
        (without_counts, "the statistics must include tally.views"),
        (cut_off, "another checksum"),
        (with_another_byte, "another checksum"),
    ],
)
def test_a_snapshot_that_cannot_be_read_is_folded_again(
    database: Database, damage: Callable[[bytes], bytes], reason: str
) -> None:
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

    def damage_all() -> None:
        with database.writing() as connection:
            for row in connection.execute(sa.select(snapshots)).all():
                own = (snapshots.c.stream_id == row.stream_id) & (snapshots.c.seq == row.seq)
                packed = damage(row.statistics)
                connection.execute(sa.update(snapshots).where(own).values(statistics=packed))

    before = learned()
    damage_all()
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
    damage_all()
    rule = "the snapshot at 30 cannot be read, and the log cannot be folded again"
    with pytest.raises(InvalidValue, match=f"{rule}.* were compacted.*{reason}.* Use a backup"):
        learned()
    assert any(rule in text for text in verify(database).problems)
    log.change(since=2)  # a policy that starts again would still need the counts
    if damage is not with_another_field:
        with pytest.raises(InvalidValue, match=f"{rule}.* were compacted.*{reason}"):
            learned()


def test_a_base_that_is_missing_is_never_replaced_by_nothing(database: Database) -> None:
    """While a compaction runs, a reader may know an earlier base, whose snapshot is gone."""
    log = Log(database, definition("pb-mhb"))
    played(log, 10)
    compact(database, before=10**6)
    early = log.stream()
    played(log, 10, begin=10)
    with database.writing() as connection:
        connection.execute(sa.delete(snapshots))
    for from_base in (False, True):
        with database.reading() as connection, pytest.raises(ImpressionsMissing, match="try again"):
            load_snapshot(connection, log.ranker.definition, 1, early, 20, from_base)
    assert any("was compacted meanwhile" in text for text in verify(database).problems)


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


def test_what_was_compacted_still_counts_for_a_policy_that_starts_again(database: Database) -> None:
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
