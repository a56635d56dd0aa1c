"""Ranker: ranks the caller's items in one process, and learns from feedback that comes later."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.features import Features
from clickrank._core.validate import check_int, check_shape
from clickrank.errors import invalid
from clickrank.learning import ranker_file as saved
from clickrank.learning.candidates import takes_candidates
from clickrank.learning.catalogue import (
    Catalogue,
    Item,
    ItemPropensities,
    clicked_items,
    distinct_items,
    new_item_settings,
)
from clickrank.learning.context_state import ContextState
from clickrank.learning.feedback_queue import (
    MOST_WAITING,
    FeedbackQueue,
    Pending,
    pending_arrays,
    pending_from_arrays,
)
from clickrank.learning.policy_propensities import ACCURACY
from clickrank.learning.refold_log import RefoldLog
from clickrank.learning.saved_state import generator_from, generator_state
from clickrank.policies import Policy
from clickrank.policies import policy as make_policy
from clickrank.policies.capabilities import relabelled
from clickrank.stats.beta_prior import Beta

#: Maximum number of lists that wait for feedback; beyond it, the oldest are dropped.
MOST_PENDING = 100_000


class Shown(NamedTuple):
    """A list to show."""

    id: str  # to be passed to `Ranker.update` with the clicks
    items: tuple[Item, ...]  # from the first position on
    context: str


class Ranker:
    """Ranks the caller's items, and learns from clicks which to show where.

    It may be used from several threads. It keeps everything in memory: `save` it regularly, or
    run the service, which keeps a log. At most 100,000 lists wait for feedback; beyond that, the
    oldest are dropped, and feedback on them is refused.

    Each context learns from its lists in the order shown. Otherwise it would be misled, since
    clicks come earlier than the absence of clicks. A list with feedback waits until the feedback on
    all earlier lists of its context has come. At most `most_waiting` lists wait; then the earliest
    list without feedback is skipped, and learned from later if its feedback comes.

    Parameters
    ----------
    policy
        A policy, or the name of one with its settings as further arguments.
    items
        The caller's ids of the items, text or whole numbers. A prior, features or scores among the
        settings must be in this order.
    n_positions
        The number of items in a list.
    seed
        Makes lists repeatable; without it, each ranker draws differently.
    most_waiting
        Maximum number of lists per context that wait for feedback on earlier lists; 0 to learn
        from feedback as it comes.

    Examples
    --------
    >>> ranker = Ranker("pb-mhb", items=["a", "b", "c", "d"], n_positions=3, seed=1)
    >>> shown = ranker.rank()
    >>> ranker.update(shown.id, clicked=[shown.items[0]])
    >>> ranker.add_items(["e"])
    >>> ranker.retire_items(["a"])
    >>> ranker
    Ranker('pb-mhb', 4 items, 1 retired, 3 positions, 1 context, 0 pending)
    """

    def __init__(
        self,
        policy: str | Policy,
        items: Iterable[Item],
        n_positions: int,
        seed: int | None = None,
        most_waiting: int = MOST_WAITING,
        **settings: Any,
    ) -> None:
        """Start without statistics, or from the prior in the settings."""
        if isinstance(policy, Policy):
            if settings:
                rule = "settings must be left out, because the policy already has its own"
                raise invalid("Ranker", rule, sorted(settings))
        elif not isinstance(policy, str):
            raise invalid("Ranker", "policy must be a policy or the name of one", policy)
        else:
            policy = make_policy(policy, **settings)
        ids = distinct_items("Ranker", items)
        self.n_positions = check_shape("Ranker", len(ids), n_positions)[1]
        seed = None if seed is None else check_int("Ranker", "seed", seed, 0)
        self._catalogue = Catalogue("Ranker", ids)
        self._policy = policy
        self._rng = np.random.default_rng(seed)
        self._contexts: dict[str, ContextState] = {}
        self._logs: dict[str, RefoldLog] = {}
        self._pending: OrderedDict[int, Pending] = OrderedDict()
        self._most_waiting = check_int("Ranker", "most_waiting", most_waiting, 0)
        self._queues: dict[str, FeedbackQueue] = {}
        self._version = 0
        self._began: dict[str, int] = {}  # the version at which a context last began again
        self._shown = 0
        # Part of each id, so that ids of other rankers or from before a restart are recognised.
        self._salt = secrets.token_hex(4)
        self._lock = threading.RLock()
        self._new_state()  # raises if the policy does not fit these items

    @property
    def policy(self) -> Policy:
        """The present policy; its prior, features or scores grow with the items."""
        return self._policy

    @property
    def items(self) -> tuple[Item, ...]:
        """Items that may be shown, in the order in which they were added."""
        return self._catalogue.active

    @property
    def retired(self) -> tuple[Item, ...]:
        """Items that are no longer shown, in the order in which they were added."""
        return tuple(self._catalogue.ids[i] for i in sorted(self._catalogue.retired))

    @property
    def contexts(self) -> tuple[str, ...]:
        """The contexts for which lists were chosen, in order of their first list."""
        return tuple(self._contexts)

    @property
    def pending(self) -> int:
        """The number of lists that wait for feedback."""
        return len(self._pending)

    def __repr__(self) -> str:
        """Summarise the ranker in one line."""
        count = len(self._contexts)
        return (
            f"Ranker({self._policy.name!r}, {len(self.items)} items, {len(self.retired)} retired, "
            f"{self.n_positions} positions, {count} context{'s' * (count != 1)}, "
            f"{self.pending} pending)"
        )

    def rank(self, candidates: Iterable[Item] | None = None, context: str = "") -> Shown:
        """Choose a list to show.

        ``candidates`` are the items to choose from, by default all; not every policy can choose
        from some. Each ``context``, such as a query, a page or a segment, learns separately.
        """
        if not isinstance(context, str):
            raise invalid("Ranker", "context must be text", context)
        with self._lock:
            allowed = self._allowed(candidates)
            state = self._contexts.get(context) or self._new_state()
            ranking, memo = state.rank(self._rng, allowed)
            self._contexts.setdefault(context, state)
            self._shown += 1
            self._pending[self._shown] = Pending(context, ranking, memo, self._version)
            self._queue(context).shown(self._shown)
            if len(self._pending) > MOST_PENDING:
                self._drop(next(iter(self._pending)))
            items = tuple(self._catalogue.ids[i] for i in ranking.tolist())
            return Shown(f"{self._salt}-{self._shown}", items, context)

    def propensities(
        self,
        candidates: Iterable[Item] | None = None,
        context: str = "",
        seed: int = 0,
        accuracy: float = ACCURACY,
    ) -> ItemPropensities:
        """Return the probability of each item at each position in the next list.

        The probabilities are exact if the policy's distribution is known. Otherwise they are
        shares of 0.25 / accuracy² lists, drawn with the seed, with standard errors of at most
        ``accuracy``. Nothing changes.
        """
        if not isinstance(context, str):
            raise invalid("Ranker", "context must be text", context)
        with self._lock:
            allowed = self._allowed(candidates)
            state = self._contexts.get(context) or self._new_state()
            found = state.propensities(allowed, check_int("Ranker", "seed", seed, 0), accuracy)
            return ItemPropensities(found, self._catalogue)

    def update(self, shown_id: str, clicked: Iterable[Item] = ()) -> None:
        """Report all clicks on a list. On an error, nothing changes.

        Several clicks on an item count as one. The ranker learns from them immediately if the
        feedback on all earlier lists of the context has come.
        """
        with self._lock:
            number, pending = self._waiting(shown_id)
            items = [self._catalogue.ids[i] for i in pending.ranking.tolist()]
            clicks = np.zeros(self.n_positions, dtype=np.int64)
            for item in clicked_items("Ranker", clicked):
                if item not in items:
                    raise invalid("Ranker", f"clicked must be among the items shown, {items}", item)
                clicks[items.index(item)] = 1
            del self._pending[number]
            answered = pending._replace(clicks=clicks)
            for settled in self._queue(pending.context).answered(number, answered):
                self._learn(settled)

    def forget(self, shown_id: str) -> None:
        """Drop a list that nobody has seen, so that other lists no longer wait for its feedback.

        For a list that was seen but not clicked, call `update` without clicks instead.
        """
        with self._lock:
            self._drop(self._waiting(shown_id)[0])

    def _drop(self, number: int) -> None:
        pending = self._pending.pop(number)
        for settled in self._queue(pending.context).gone(number):
            self._learn(settled)

    def _queue(self, context: str) -> FeedbackQueue:
        return self._queues.setdefault(context, FeedbackQueue(self._most_waiting))

    def _learn(self, settled: Pending) -> None:
        state, clicks = self._contexts[settled.context], settled.clicks
        assert clicks is not None, settled
        began = self._began.get(settled.context, 0)
        usable = [settled.version >= began or state.memos_travel]
        memos = state.memos_now([settled.memo], usable)
        state.update_many(settled.ranking[None], memos, clicks[None], usable)
        if state.memos_travel and not takes_candidates(self._policy):
            empty = RefoldLog(self.n_positions, state.memo_size)
            self._logs.setdefault(settled.context, empty).add(settled.ranking, memos[0], clicks)

    def add_items(
        self,
        items: Iterable[Item],
        prior: Beta | None = None,
        features: ArrayLike | Features | None = None,
        scores: ArrayLike | None = None,
    ) -> None:
        """Add items, or bring retired ones back with their history.

        If the policy has a prior, features or scores, these can be given with one entry per item
        (one prior may also hold for all). Entries of items that are brought back are ignored.
        Without a prior, new items get the one that holds for all items, or α = β = 1.
        """
        with self._lock:
            found, before = distinct_items("Ranker", items), self._catalogue
            for item in found:
                if item in before.numbers and before.numbers[item] not in before.retired:
                    raise invalid("Ranker", "items must not be in the catalogue already", item)
            added = before.with_items(found)
            given = {"prior": prior, "features": features, "scores": scores}
            settings = new_item_settings(self._policy, len(found), added.new_places, given)
            policy = self._policy
            if settings is not None or added.new_places:
                policy = relabelled(policy, added.origin, settings)
            self._change(policy, added.catalogue)

    def retire_items(self, items: Iterable[Item]) -> None:
        """Stop showing items, but keep their history; at least n_positions must remain."""
        with self._lock:
            gone, before = distinct_items("Ranker", items), self._catalogue
            already = [item for item in gone if before.numbers.get(item) in before.retired]
            if already:
                raise invalid("Ranker", "items must not be retired already", already)
            self._change(self._policy, before.without(gone))

    def save(self, path: str | Path) -> None:
        """Write everything to a file, which replaces an existing one only when it is complete.

        The folder of the file is made if it is missing.
        """
        with self._lock:
            policy, arrays = saved.policy_label(self._policy)
            names = {name: i for i, name in enumerate(self._contexts)}
            label = {
                "policy": policy,
                "items": list(self._catalogue.ids),
                "retired": sorted(self._catalogue.retired),
                "n_positions": self.n_positions,
                "contexts": list(names),
                "logs": [name in self._logs for name in names],
                "generator": generator_state(self._rng),
                "salt": self._salt,
                "shown": self._shown,
                "version": self._version,
                "began": self._began,
                "most_waiting": self._most_waiting,
            }
            held = {n: row for queue in self._queues.values() for n, row in queue.held.items()}
            for prefix, lists in (("pending", self._pending), ("held", held)):
                arrays |= pending_arrays(lists, list(names), self.n_positions, prefix)
            waits = [self._queue(p.context).waits_for(n) for n, p in self._pending.items()]
            arrays["pending.waits"] = np.array(waits, dtype=np.bool_)
            for name, i in names.items():
                for key, array in self._contexts[name].everything().items():
                    arrays[f"{i}.learned.{key}"] = array
                if name in self._logs:
                    for key, array in self._logs[name].arrays().items():
                        arrays[f"{i}.log.{key}"] = array
            saved.write(path, label, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Ranker:
        """Return the ranker that was saved; it goes on exactly as if it had not been saved."""
        label, arrays = saved.read(path)
        policy = saved.policy_from(label["policy"], arrays)
        ranker = cls(policy, label["items"], label["n_positions"])
        ranker._catalogue = Catalogue("Ranker", label["items"], label["retired"])
        ranker._rng = generator_from(label["generator"])
        for key in ("salt", "shown", "version", "began", "most_waiting"):
            setattr(ranker, f"_{key}", label[key])
        names = label["contexts"]
        for i, name in enumerate(names):
            state = _under(f"{i}.learned.", arrays)
            ranker._contexts[name] = ranker._new_state().restored(state)
            if label["logs"][i]:
                ranker._logs[name] = RefoldLog.of(_under(f"{i}.log.", arrays))
        waits = arrays["pending.waits"].tolist()
        for place, (number, row) in enumerate(
            pending_from_arrays(arrays, names, "pending", clicks=False)
        ):
            ranker._pending[number] = row
            if waits[place]:
                ranker._queue(row.context).shown(number)
        for number, row in pending_from_arrays(arrays, names, "held", clicks=True):
            ranker._queue(row.context).hold(number, row)
        return ranker

    def _new_state(self) -> ContextState:
        catalogue = self._catalogue
        size = len(catalogue.ids), self.n_positions
        return ContextState(self._policy, *size, catalogue.retired)

    def _allowed(self, candidates: Iterable[Item] | None) -> list[int] | None:
        if candidates is None:
            return None
        items = distinct_items("Ranker", candidates, "candidates")
        return self._catalogue.active_numbers(items, "candidates")

    def _waiting(self, shown_id: object) -> tuple[int, Pending]:
        if not isinstance(shown_id, str):
            raise invalid("Ranker", "id must be the id of a shown list, as in shown.id", shown_id)
        salt, _, digits = shown_id.partition("-")
        # Python converts no more than 4,300 digits, and no id of ours has 20.
        plain = digits.isascii() and digits.isdigit() and len(digits) < 20
        number = int(digits) if plain else 0
        if salt != self._salt or digits != str(number) or number not in self._pending:
            rule = "id must be the id of a list that waits for feedback"
            hint = "The list was never shown, already updated, or dropped."
            raise invalid("Ranker", rule, shown_id, hint)
        return number, self._pending[number]

    def _change(self, policy: Policy, catalogue: Catalogue[Item]) -> None:
        """Change policy and catalogue in all contexts; on an error, in none."""
        count, retired = len(catalogue.ids), catalogue.retired
        ContextState(policy, count, self.n_positions, retired)  # raises if they do not fit
        changed, began = {}, dict(self._began)
        for context, state in self._contexts.items():
            carried = state.with_items(policy, count, retired)
            other = None if carried is None else carried.going_on_without(retired)
            if other is None:
                other = ContextState(policy, count, self.n_positions, retired)
                if context in self._logs:
                    other.update_many(**self._logs[context].arrays())
                other = other.with_tally(state.statistics())
            if other is not carried:
                began[context] = self._version + 1
            changed[context] = other
        self._contexts, self._began = changed, began
        self._policy, self._catalogue = policy, catalogue
        self._version += 1


def _under(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
