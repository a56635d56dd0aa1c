"""The service logs how probable its lists were, when asked to."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

import clickrank
from clickrank.service.runtime.engine import Engine
from clickrank.service.runtime.fold import Snapshot
from clickrank.service.runtime.propensity_cache import PropensityCache
from clickrank.service.schemas.requests import Clicks, RankerChange, RankRequest
from clickrank.service.store.database import Database
from clickrank.service.store.tables import impressions, snapshots, streams
from tests.service.runtime.test_engine import ITEMS, new, run
from tests.service.stores import BACKENDS, store_url


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return store_url(request.param, tmp_path)


async def exported(engine: Engine) -> list[dict[str, Any]]:
    """Return the log of the ranker, one row per position."""
    import pyarrow.parquet

    content = b"".join([chunk async for chunk in engine.export("shop")])
    return pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()


async def chances(engine: Engine) -> list[tuple[list[float | None], list[float | None]]]:
    """Return the two columns, by impression."""
    rows = await exported(engine)
    by_list = [list(group) for _, group in itertools.groupby(rows, lambda r: r["impression_id"])]
    return [
        ([r["propensity"] for r in one], [r["prefix_propensity"] for r in one]) for one in by_list
    ]


def test_exact_ones_are_logged_when_asked_for(url: str) -> None:
    async def test(engine: Engine) -> None:
        made, _ = await engine.create(new())
        assert not made.log_propensities
        await engine.rank("shop", RankRequest())
        changed = await engine.change("shop", RankerChange(log_propensities=True))
        assert (changed.log_propensities, changed.version) == (True, 2)
        for _ in range(2):
            await engine.rank("shop", RankRequest())
        await engine.rank("shop", RankRequest(candidates=ITEMS[:4]))
        await engine.change("shop", RankerChange(log_propensities=False))
        await engine.rank("shop", RankRequest())
        nothing = ([None] * 3, [None] * 3)
        one_of_all = (pytest.approx([1 / 6] * 3), pytest.approx([1 / 6, 1 / 30, 1 / 120]))
        one_of_four = (pytest.approx([1 / 4] * 3), pytest.approx([1 / 4, 1 / 12, 1 / 24]))
        expected = [nothing, one_of_all, one_of_all, one_of_four, nothing]
        assert await chances(engine) == expected

    run(url, test)


def test_drawn_ones_are_of_the_state_that_chose_the_list(url: str) -> None:
    """PB-MHB's particle walks with each list: no two have the same propensities."""

    async def test(engine: Engine) -> None:
        await engine.create(new(policy="pb-mhb", log_propensities=True))
        for _ in range(12):
            shown = await engine.rank("shop", RankRequest())
            await engine.click(shown.id, Clicks(shown.items[:1], final=True))
        found = await chances(engine)
        assert len(found) == 12
        for marginal, prefix in found:
            first = np.array(prefix, dtype=float)
            assert (np.diff(first) <= 0).all()
            assert (first >= 1 / 2501).all()  # it was shown: one of 2501 at least
            assert (first <= np.array(marginal, dtype=float)).all()
            assert marginal[0] == prefix[0]
        assert len({tuple(marginal) for marginal, _ in found}) > 6

    run(url, test)


def test_the_page_s_own_list_has_none(tmp_path: Path) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new(mode="shadow", log_propensities=True))
        await engine.rank("shop", RankRequest(current=ITEMS[:3]))
        assert await chances(engine) == [([None] * 3, [None] * 3)]

    run(store_url("sqlite", tmp_path), test)


def test_drawn_once_for_all_lists_of_a_standing() -> None:
    policy = clickrank.policy("thompson", click_model="cascade")
    snapshot = Snapshot(clickrank.learning.ContextState(policy, 6, 3), 0, 1)
    odds, rng = PropensityCache(), np.random.default_rng(0)
    found = odds.of(7, snapshot, rng, None)
    assert not found.exact
    assert odds.of(7, snapshot, rng, None) is found
    assert odds.of(8, snapshot, rng, None) is not found
    assert odds.of(7, snapshot, rng, np.array([0, 2, 4])) is not found
    later = snapshot._replace(seq=1)
    assert odds.of(7, later, rng, None) is not found


def test_a_log_from_before_is_brought_up_to_date(url: str) -> None:
    """Impressions of the first version of the tables stay, without propensities."""
    database = Database(url)
    try:
        with database.writing() as connection:
            upgrade_to(connection, "0001")
            columns = [
                column["name"] for column in sa.inspect(connection).get_columns("impressions")
            ]
            assert "propensities" not in columns
            add(connection)
        database.upgrade()
        with database.reading() as connection:
            rows = connection.execute(sa.select(impressions.c.id, impressions.c.propensities)).all()
        assert [tuple(row) for row in rows] == [("an-old-one", None)]
    finally:
        database.close()


def test_snapshots_of_other_statistics_are_made_again(url: str) -> None:
    """Only those stay that stand for impressions which are no longer in the log."""
    database = Database(url)
    try:
        with database.writing() as connection:
            upgrade_to(connection, "0002")
            add(connection)
            connection.execute(sa.update(streams).values(base_seq=7))
            for seq in (7, 8, 9):
                row = {"stream_id": 1, "seq": seq, "version": 1, "at": 0, "statistics": b""}
                connection.execute(sa.insert(snapshots).values(row))
        database.upgrade()
        with database.reading() as connection:
            assert connection.scalars(sa.select(snapshots.c.seq)).all() == [7]
    finally:
        database.close()


def upgrade_to(connection: sa.Connection, revision: str) -> None:
    """Bring the tables to an earlier version."""
    config = Config()
    folder = Path(clickrank.__file__).parent / "service" / "store" / "migrations"
    config.set_main_option("script_location", str(folder))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def add(connection: sa.Connection) -> None:
    """Put a ranker, a stream and an impression into the tables of the first version."""
    for statement in (
        'INSERT INTO rankers (id, name, version, "window", definition, created_at, changed_at) '
        "VALUES (1, 'shop', 1, 1, '{}', 0, 0)",
        "INSERT INTO streams (id, ranker_id, context, next_seq, folded_seq, base_seq, last_at, "
        "folded_at) VALUES (1, 1, '', 2, 0, 0, 0, 0)",
        "INSERT INTO impressions (stream_id, seq, id, version, state_seq, shown_at, items, memo, "
        "exploring) VALUES (1, 1, 'an-old-one', 1, 0, 0, '[0]', '[]', false)",
    ):
        connection.exec_driver_sql(statement)
