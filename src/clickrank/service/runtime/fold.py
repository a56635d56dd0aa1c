"""Fold: computes the state of a context from its impression log.

Serving, verification and compaction all use these functions, so that they agree bit for bit.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from clickrank.errors import InvalidValue, invalid
from clickrank.learning import ContextState
from clickrank.learning.context_state import CLICKS, VIEWS
from clickrank.learning.packing import unpack
from clickrank.service.runtime.definitions import policy_of
from clickrank.service.store.database import StoreUnavailable
from clickrank.service.store.impression_log import ImpressionRow, StreamRow, read
from clickrank.service.store.rankers import Definition, RankerRow
from clickrank.service.store.snapshots import newest_snapshot

_log = logging.getLogger("clickrank.serve")
#: Number of impressions that are read and folded at once.
_BATCH_SIZE = 2000


class ImpressionsMissing(StoreUnavailable):
    """Impressions to fold are not in the log.

    If they were compacted meanwhile, the next attempt finds a snapshot instead.
    """


class Snapshot(NamedTuple):
    """The state of a context after its first ``seq`` impressions, for a version of its ranker."""

    state: ContextState
    seq: int
    version: int


def initial_state(definition: Definition) -> ContextState:
    """Return the state before the first impression."""
    began_without = definition.retired_at(definition.since)
    size = len(definition.items), definition.n_positions
    return ContextState(policy_of(definition), *size, definition.retired, began_without)


def load_snapshot(
    connection: sa.Connection,
    definition: Definition,
    version: int,
    stream: StreamRow,
    until: int | None = None,
    from_base: bool = False,
) -> Snapshot:
    """Return the state that follows from the log up to impression ``until``.

    By default this is the frontier. The fold starts from the newest stored snapshot that can be
    carried over to this version. With ``from_base`` it starts from the beginning of the log: from
    the initial state, or from the snapshot that replaces the compacted impressions. If that one
    cannot be read, `InvalidValue` is raised.
    """
    end, base_seq = stream.folded_seq if until is None else until, stream.base_seq
    found = newest_snapshot(connection, stream.id, base_seq, base_seq if from_base else end)
    state = None
    if found is not None and found[1] >= definition.since:
        try:
            state = stored_state(definition, found[2])
        except InvalidValue as error:  # damaged, or written by a version with other statistics
            if base_seq > 0 and found[0] == base_seq:
                raise _base_unreadable(stream, error) from error
            _log.warning(
                "Stream %d: its log is folded again from %d on, since the snapshot at %d cannot be "
                "read: %s", stream.id, base_seq, found[0], error,
            )  # fmt: skip
            if not from_base:
                return load_snapshot(connection, definition, version, stream, end, from_base=True)
    if found is not None and state is not None:
        snapshot = Snapshot(state, found[0], version)
    else:
        state = initial_state(definition)
        if base_seq > 0:  # keep the counts of views and clicks
            state = state.with_tally(_base_arrays(connection, stream))
        snapshot = Snapshot(state, base_seq, version)
    return fold_log(connection, definition, snapshot, stream.id, end)


def _base_arrays(connection: sa.Connection, stream: StreamRow) -> dict[str, NDArray[Any]]:
    base = newest_snapshot(connection, stream.id, stream.base_seq, stream.base_seq)
    if base is None:
        raise ImpressionsMissing(f"Store: stream {stream.id} was compacted meanwhile; try again.")
    try:
        return _stored_arrays(base[2])
    except InvalidValue as error:
        raise _base_unreadable(stream, error) from error


def _base_unreadable(stream: StreamRow, reason: InvalidValue) -> InvalidValue:
    return InvalidValue(
        f"Stream {stream.id}: the snapshot at {stream.base_seq} cannot be read, and the log cannot "
        f"be folded again, since the impressions up to it were compacted. {reason} "
        "Use a backup of the store, or the version of clickrank that wrote it."
    )


def _stored_arrays(packed: bytes) -> dict[str, NDArray[Any]]:
    arrays = unpack(packed)
    if not {VIEWS, CLICKS} <= set(arrays):
        rule = f"the statistics must include {VIEWS} and {CLICKS}"
        raise invalid("Snapshot", rule, sorted(arrays))
    return arrays


def stored_state(definition: Definition, packed: bytes) -> ContextState | None:
    """Return the state of a stored snapshot, for the items that the ranker has now.

    None means that the statistics cannot be carried over and the log must be folded again.
    """
    arrays = _stored_arrays(packed)
    n_items = arrays[VIEWS].shape[0]
    before = initial_state(definition.first_items(n_items)).restored(arrays)
    if n_items == len(definition.items):
        return before
    return before.with_items(policy_of(definition), len(definition.items), definition.retired)


def carried_over(row: RankerRow, snapshot: Snapshot) -> Snapshot | None:
    """Return a snapshot of an earlier version for this version of its ranker.

    None means that the statistics cannot be carried over and the log must be folded again.
    """
    definition = row.definition
    if snapshot.version < definition.since:
        return None
    n_items = len(definition.items)
    state = snapshot.state.with_items(policy_of(definition), n_items, definition.retired)
    return None if state is None else Snapshot(state, snapshot.seq, row.version)


def fold_log(
    connection: sa.Connection, definition: Definition, snapshot: Snapshot, stream_id: int, end: int
) -> Snapshot:
    """Return the snapshot with the logged impressions up to ``end`` folded in."""
    while snapshot.seq < end:
        last = min(snapshot.seq + _BATCH_SIZE, end)
        logged = read(connection, stream_id, snapshot.seq, last)
        if len(logged) != last - snapshot.seq:
            raise ImpressionsMissing(
                f"Store: stream {stream_id} was compacted meanwhile; try again."
            )
        snapshot = fold_impressions(definition, snapshot, logged, last)
    return snapshot


def fold_impressions(
    definition: Definition, snapshot: Snapshot, logged: Sequence[ImpressionRow], last: int
) -> Snapshot:
    """Return the snapshot with these impressions folded in; they must be in shown order.

    Versions never decrease in that order. A policy that may have to start again when items are
    retired does so at the first list that was chosen without them, whichever worker folds it.
    """
    state, begin = snapshot.state, 0
    for version, _ in definition.retirements:
        end = begin + sum(one.version < version for one in logged[begin:])
        state = _fold_rows(definition, state, logged[begin:end])
        if end < len(logged):
            state = state.going_on_without(definition.retired_at(version))
        begin = end
    return snapshot._replace(state=_fold_rows(definition, state, logged[begin:]), seq=last)


def _fold_rows(
    definition: Definition, state: ContextState, logged: Sequence[ImpressionRow]
) -> ContextState:
    """Return the state after these impressions.

    A memo describes the state that its list was chosen from. If the policy has started again since
    and the memo has lost its meaning, the list is treated as one that the page chose itself.
    """
    if not logged:
        return state
    clicks = np.zeros((len(logged), definition.n_positions), dtype=np.int64)
    for row, one in enumerate(logged):
        clicks[row, one.clicked] = 1
    since = definition.policy_since if state.memos_travel else definition.since
    usable = [one.would_show is None and one.version >= since for one in logged]
    memos = state.memos_now([one.memo for one in logged], usable)
    return state.fold([one.items for one in logged], memos, clicks, usable)
