"""The store: impressions, clicks, frontiers, snapshots, keys and packed arrays."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from clickrank.errors import InvalidValue
from clickrank.service import store
from clickrank.service.store.api_keys import has_admin, list_keys, make_key, revoke_key, role_of
from clickrank.service.store.database import Database
from clickrank.service.store.frontier import move_frontier, settled_after
from clickrank.service.store.impression_log import (
    make_stream,
    record,
)
from clickrank.service.store.rankers import (
    delete_ranker,
)
from clickrank.service.store.tables import impressions, metadata, snapshots
from tests.service.stream_log import WINDOW, Log, played


def test_migrations_make_the_tables(database: Database) -> None:
    database.upgrade()  # again: nothing to do
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("nonsense", "url must look like sqlite:///clickrank.db or postgresql://"),
        ("mysql://x/y", "url must name an SQLite file or a PostgreSQL database"),
        ("sqlite://", "url must name an SQLite file or a PostgreSQL database"),
        ("sqlite:///:memory:", "url must name an SQLite file or a PostgreSQL database"),
    ],
)
def test_other_databases_are_refused(url: str, rule: str) -> None:
    with pytest.raises(InvalidValue, match=f"Database: {rule}"):
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
    # Final: clicks that are stored may be sent again, but no others.
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


def test_the_store_never_calls_back_up() -> None:
    """Nobody hands it a function to call; statements are prepared in its database alone."""
    for module in pkgutil.iter_modules(store.__path__, f"{store.__name__}."):
        if module.ispkg or module.name.endswith(".database"):
            continue
        found = importlib.import_module(module.name)
        for name, function in inspect.getmembers(found, inspect.isfunction):
            types = map(str, function.__annotations__.values())
            assert not any("Callable" in one for one in types), f"{module.name}.{name}"
