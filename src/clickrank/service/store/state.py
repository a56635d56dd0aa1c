"""From the log to what was learned: the one fold that serving, verifying and compacting share."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from clickrank.errors import InvalidValue
from clickrank.learning import Learned
from clickrank.service.store.database import StoreUnavailable
from clickrank.service.store.definition import Definition
from clickrank.service.store.impression_log import LoggedImpression, StreamRow, as_batch, read
from clickrank.service.store.packing import unpack
from clickrank.service.store.snapshots import newest_snapshot

_log = logging.getLogger("clickrank.serve")
#: Impressions read and folded at once.
_AT_ONCE = 2000


class NotOnRecord(StoreUnavailable):
    """Impressions to fold are not there; if they were compacted, a snapshot is, the next time."""


class Standing(NamedTuple):
    """What a stream has learned, up to which impression, for which version of its ranker."""

    learned: Learned
    seq: int
    version: int


def nothing_learned(definition: Definition) -> Learned:
    """Return what is known before the first impression."""
    began_without = definition.retired_at(definition.since)
    size = len(definition.items), definition.n_positions
    return Learned(definition.spec(), *size, definition.retired, began_without)


def load(
    connection: sa.Connection,
    definition: Definition,
    version: int,
    stream: StreamRow,
    until: int | None = None,
    from_base: bool = False,
) -> Standing:
    """Return what follows from the log up to an impression, by default the frontier.

    Starts from the newest snapshot that can be carried to this version, or ``from_base``: from
    nothing, or from the snapshot that stands for what was compacted away.
    """
    end = stream.folded_seq if until is None else until
    found = newest_snapshot(connection, stream.id, stream.base_seq if from_base else end)
    carried = None
    if found is not None and found[1] >= definition.since and found[0] >= stream.base_seq:
        try:
            carried = carried_snapshot(definition, unpack(found[2]))
        except InvalidValue as error:  # of a version with other statistics: the log is the truth
            if stream.base_seq > 0 and found[0] == stream.base_seq:
                raise  # the log no longer has what this snapshot stands for
            _log.warning(
                "Stream %d: its log is folded again from %d on, since the snapshot at %d cannot be "
                "read: %s", stream.id, stream.base_seq, found[0], error,
            )  # fmt: skip
            if not from_base:
                return load(connection, definition, version, stream, end, from_base=True)
    if found is not None and carried is not None:
        standing = Standing(carried, found[0], version)
    else:
        standing = Standing(nothing_learned(definition), stream.base_seq, version)
        base = newest_snapshot(connection, stream.id, stream.base_seq)
        if base is not None and base[0] == stream.base_seq:  # counted, though not learned from
            standing = standing._replace(learned=standing.learned.with_tally(unpack(base[2])))
    return forward(connection, definition, standing, stream.id, end)


def carried_snapshot(definition: Definition, arrays: dict[str, np.ndarray]) -> Learned | None:
    """Return a snapshot for the items of now; None if it must be refolded."""
    n_items = arrays["tally.views"].shape[0]
    before = nothing_learned(definition.first_items(n_items)).restored(arrays)
    if n_items == len(definition.items):
        return before
    return before.with_items(definition.spec(), len(definition.items), definition.retired)


def forward(
    connection: sa.Connection, definition: Definition, standing: Standing, stream_id: int, end: int
) -> Standing:
    """Return the standing with the impressions up to ``end`` folded in."""
    while standing.seq < end:
        last = min(standing.seq + _AT_ONCE, end)
        logged = read(connection, stream_id, standing.seq, last)
        if len(logged) != last - standing.seq:  # compacted away meanwhile
            raise NotOnRecord(f"Store: stream {stream_id} was compacted meanwhile; try again.")
        standing = fold(definition, standing, logged, last)
    return standing


def fold(
    definition: Definition, standing: Standing, logged: list[LoggedImpression], last: int
) -> Standing:
    """Return the standing with these impressions folded in, in shown order.

    Versions only grow in that order. A policy that may have to start again when items are retired
    does so at the first list that was chosen without them: whenever it is folded, and by whomever.
    """
    learned, begin = standing.learned, 0
    for version, _ in definition.retirements:
        end = begin + sum(one.version < version for one in logged[begin:])
        learned = _folded(definition, learned, logged[begin:end])
        if end < len(logged):
            learned = learned.going_on_without(definition.retired_at(version))
        begin = end
    return standing._replace(learned=_folded(definition, learned, logged[begin:]), seq=last)


def _folded(definition: Definition, learned: Learned, logged: list[LoggedImpression]) -> Learned:
    """Return what is learned from impressions too.

    A memo says something about the state that the list was chosen from. If that was begun anew
    since, and the memo does not make sense any more, the list counts as one of the page's own.
    """
    if not logged:
        return learned
    batch = as_batch(logged, definition.n_positions)
    since = definition.policy_since if learned.memos_travel else definition.since
    own = batch.own & (batch.versions >= since)
    memos = np.zeros((len(logged), learned.memo_size), dtype=np.int64)
    if learned.memo_size:
        for number in np.flatnonzero(own):
            memos[number] = learned.memo_now(batch.memos[number])
    return learned.fold(batch.rankings, memos, batch.clicks, own)
