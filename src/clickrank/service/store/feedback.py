"""Feedback: logs the clicks on impressions, each once, and refuses invalid ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from clickrank.service.store.database import PreparedInsert, PreparedList
from clickrank.service.store.impression_log import NewImpression, lock_rankers, lock_streams
from clickrank.service.store.tables import clicks, finals, impressions, rankers, streams

_numbers = msgspec.json.Decoder(list[int])


class NewFeedback(NamedTuple):
    """Clicks on the items of an impression, by the caller's ids."""

    impression_id: str
    clicked: list[str]
    final: bool
    clicked_at: int


class ShownImpression(NamedTuple):
    """The impression that feedback refers to."""

    id: str
    stream_id: int
    seq: int
    items: list[int]
    shown_at: int
    ranker_id: int
    window: int
    version: int  # of the ranker, at present


class Answer(NamedTuple):
    """The answer to feedback: all positions clicked so far, or the reason for refusing it."""

    refused: str | None  # "unknown", "impossible", "late"
    shown: ShownImpression | None = None
    clicked: Sequence[int] = ()
    settled: bool = False
    wrong: str | None = None  # the item that was not shown


_SHOWN = PreparedList(
    lambda ids: (
        sa.select(
            impressions.c.id,
            impressions.c.stream_id,
            impressions.c.seq,
            impressions.c["items"],
            impressions.c.shown_at,
            streams.c.ranker_id,
            rankers.c.window,
            rankers.c.version,
        )
        .select_from(
            impressions.join(streams, streams.c.id == impressions.c.stream_id).join(
                rankers, rankers.c.id == streams.c.ranker_id
            )
        )
        .where(impressions.c.id.in_(ids))
    )
)
_CLICKED = PreparedList(
    lambda ids: (
        sa.select(impressions.c.id, clicks.c.position)
        .select_from(
            impressions.join(
                clicks,
                sa.and_(
                    clicks.c.stream_id == impressions.c.stream_id,
                    clicks.c.seq == impressions.c.seq,
                ),
            )
        )
        .where(impressions.c.id.in_(ids))
    )
)
_FINAL = PreparedList(
    lambda ids: (
        sa.select(impressions.c.id)
        .select_from(
            impressions.join(
                finals,
                sa.and_(
                    finals.c.stream_id == impressions.c.stream_id,
                    finals.c.seq == impressions.c.seq,
                ),
            )
        )
        .where(impressions.c.id.in_(ids))
    )
)
_INSERT_CLICK = PreparedInsert(clicks)
_INSERT_FINAL = PreparedInsert(finals)


def find_shown(connection: sa.Connection, ids: Sequence[str]) -> dict[str, ShownImpression]:
    """Return the logged impressions with these ids."""
    found = {}
    for row in _SHOWN.rows(connection, {*ids}):
        number, stream_id, seq, items, *rest = row
        found[number] = ShownImpression(number, stream_id, seq, _numbers.decode(items), *rest)
    return found


def lock_all(
    connection: sa.Connection, new: Sequence[NewImpression], clicked: Sequence[NewFeedback]
) -> None:
    """Lock all rows for a transaction with both, in the one order that avoids deadlocks."""
    shown = find_shown(connection, [one.impression_id for one in clicked])
    lock_rankers(connection, {one.ranker_id for one in new})
    numbers = {one.stream_id for one in new} | {one.stream_id for one in shown.values()}
    lock_streams(connection, numbers)


def record_feedback(
    connection: sa.Connection,
    new: Sequence[NewFeedback],
    shown: Mapping[str, ShownImpression],
    numbers: Mapping[int, Mapping[str, int]],
) -> list[Answer]:
    """Log clicks on impressions that `find_shown` found in the same transaction.

    ``numbers`` has, for the id of each of their rankers, the numbers of its items by name.
    Clicks that are logged already change nothing. Once an impression has settled (because its
    caller said so, its window has ended or it is folded in) further clicks are late.
    """
    rows = lock_streams(connection, {one.stream_id for one in shown.values()})
    clicked = {one.id: set[int]() for one in shown.values()}
    closed = {one.id: False for one in shown.values()}
    for number, position in _CLICKED.rows(connection, shown.keys()):
        clicked[number].add(position)
    for (number,) in _FINAL.rows(connection, shown.keys()):
        closed[number] = True
    answers: list[Answer] = []
    new_clicks: list[dict[str, Any]] = []
    new_finals: list[dict[str, Any]] = []
    for one in new:
        found = shown.get(one.impression_id)
        if found is None or found.stream_id not in rows:
            answers.append(Answer("unknown"))
            continue
        own = numbers[found.ranker_id]
        wrong = next((item for item in one.clicked if own.get(item) not in found.items), None)
        if wrong is not None:
            answers.append(Answer("impossible", found, wrong=wrong))
            continue
        positions = {found.items.index(own[item]) for item in one.clicked}
        folded = found.seq <= rows[found.stream_id].folded_seq
        settled = closed[found.id] or folded or found.shown_at + found.window <= one.clicked_at
        added = positions - clicked[found.id]
        if settled and added:
            answers.append(Answer("late", found))
            continue
        place_of: dict[str, Any] = {"stream_id": found.stream_id, "seq": found.seq}
        new_clicks += [
            {**place_of, "position": position, "clicked_at": one.clicked_at}
            for position in sorted(added)
        ]
        clicked[found.id] |= added
        if one.final and not settled:
            new_finals.append({**place_of, "at": one.clicked_at})
            closed[found.id] = settled = True
        answers.append(Answer(None, found, sorted(clicked[found.id]), settled))
    if new_clicks:
        _INSERT_CLICK.each(connection, new_clicks)
    if new_finals:
        _INSERT_FINAL.each(connection, new_finals)
    return answers
