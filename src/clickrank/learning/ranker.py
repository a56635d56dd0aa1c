"""A ranker to embed: the caller's items, contexts, and clicks that come back later."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.features import Features
from clickrank._core.validate import check_int, check_shape
from clickrank.errors import invalid
from clickrank.learning import ranker_file as saved
from clickrank.learning.candidates import takes_candidates
from clickrank.learning.context_state import ContextState
from clickrank.learning.in_order import MOST_WAITING, InOrder, Pending, packed, unpacked
from clickrank.learning.item_ids import (
    Item,
    ItemPropensities,
    clicked_items,
    distinct_items,
    told_of,
)
from clickrank.learning.policy_propensities import ACCURACY
from clickrank.learning.refold_log import RefoldLog
from clickrank.learning.saved_state import generator_from, generator_state
from clickrank.policies import Policy
from clickrank.policies import policy as make_policy
from clickrank.policies.capabilities import relabelled
from clickrank.stats.beta_prior import Beta

#: How many lists may wait for their clicks; of more, the oldest are forgotten.
MOST_PENDING = 100_000


class Shown(NamedTuple):
    """A list to show."""

    id: str  # to be handed back with the clicks
    items: tuple[Item, ...]  # from the first position on
    context: str


class Ranker:
    """Chooses lists of the caller's items, and learns from clicks which to show where.

    It may be used from several threads. It keeps everything in memory: `save` it now and then, or
    run the service, which keeps a log. At most 100,000 lists wait for their clicks; of more, the
    oldest are forgotten, and their clicks are refused.

    Each context learns from its lists in the order shown, as clicks that come before no-clicks
    would mislead it: a list whose clicks have come waits until those of all earlier lists of its
    context have, too. At most `most_waiting` lists wait; then the earliest list without clicks is
    passed over, and learned from later if its clicks come.

    Parameters
    ----------
    policy
        A policy's name, with its settings as further arguments; or a policy.
    items
        The caller's own ids, text or whole numbers. A prior, features or scores among the settings
        are in this order.
    n_positions
        How many items a list has.
    seed
        Makes lists repeatable; without it no two rankers draw the same.
    most_waiting
        How many lists of a context, with clicks, may wait for those of earlier lists; 0 to learn
        from clicks as they come.

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
        """Start from nothing, or from the prior in the settings."""
        if isinstance(policy, Policy):
            if settings:
                rule = "settings must be left out with a policy that has its own"
                raise invalid("Ranker", rule, sorted(settings))
        else:
            policy = make_policy(policy, **settings)
        numbers = {item: number for number, item in enumerate(distinct_items(items))}
        self.n_positions = check_shape("Ranker", len(numbers), n_positions)[1]
        seed = None if seed is None else check_int("Ranker", "seed", seed, 0)
        self._numbers: dict[Item, int] = numbers
        self._ids: list[Item] = list(numbers)
        self._retired: frozenset[int] = frozenset()
        self._policy = policy
        self._rng = np.random.default_rng(seed)
        self._contexts: dict[str, ContextState] = {}
        self._logs: dict[str, RefoldLog] = {}
        self._pending: OrderedDict[int, Pending] = OrderedDict()
        self._most_waiting = check_int("Ranker", "most_waiting", most_waiting, 0)
        self._queues: dict[str, InOrder] = {}
        self._version = 0
        self._began: dict[str, int] = {}  # the version at which a context last started again
        self._shown = 0
        # So that an id of another ranker, or from before a restart, is not taken for one of these.
        self._salt = secrets.token_hex(4)
        self._lock = threading.RLock()
        self._new()  # raises if the policy is not of these items

    @property
    def policy(self) -> Policy:
        """The policy as it is now: with more items its prior, features or scores grow."""
        return self._policy

    @property
    def items(self) -> tuple[Item, ...]:
        """Items that may be shown, in the order in which they were added."""
        return tuple(x for i, x in enumerate(self._ids) if i not in self._retired)

    @property
    def retired(self) -> tuple[Item, ...]:
        """Items that are not shown any more, in the same order."""
        return tuple(self._ids[i] for i in sorted(self._retired))

    @property
    def contexts(self) -> tuple[str, ...]:
        """The contexts that lists were asked for, in order."""
        return tuple(self._contexts)

    @property
    def pending(self) -> int:
        """How many lists wait for their clicks."""
        return len(self._pending)

    def __repr__(self) -> str:
        """Say what it is of, in one line."""
        count = len(self._contexts)
        return (
            f"Ranker({self._policy.name!r}, {len(self.items)} items, {len(self._retired)} retired, "
            f"{self.n_positions} positions, {count} context{'s' * (count != 1)}, "
            f"{self.pending} pending)"
        )

    def rank(self, candidates: Iterable[Item] | None = None, context: str = "") -> Shown:
        """Choose a list to show.

        ``candidates`` are the items to choose from, for policies that can; by default all. Each
        ``context``, a query or a page or a segment, learns for itself.
        """
        if not isinstance(context, str):
            raise invalid("Ranker", "context must be text", context)
        with self._lock:
            allowed = self._allowed(candidates)
            learned = self._contexts.get(context) or self._new()
            ranking, memo = learned.rank(self._rng, allowed)
            self._contexts.setdefault(context, learned)
            self._shown += 1
            self._pending[self._shown] = Pending(context, ranking, memo, self._version)
            self._queue(context).shown(self._shown)
            if len(self._pending) > MOST_PENDING:
                self._drop(next(iter(self._pending)))
            items = tuple(self._ids[i] for i in ranking.tolist())
            return Shown(f"{self._salt}-{self._shown}", items, context)

    def propensities(
        self,
        candidates: Iterable[Item] | None = None,
        context: str = "",
        seed: int = 0,
        accuracy: float = ACCURACY,
    ) -> ItemPropensities:
        """Return the probability of each item at each position, in the list `rank` would give now.

        Exact where the policy's lists are known, else shares of 0.25 / accuracy² lists drawn by the
        seed, with standard errors of at most ``accuracy``. Nothing changes.
        """
        if not isinstance(context, str):
            raise invalid("Ranker", "context must be text", context)
        with self._lock:
            allowed = self._allowed(candidates)
            learned = self._contexts.get(context) or self._new()
            found = learned.propensities(allowed, check_int("Ranker", "seed", seed, 0), accuracy)
            return ItemPropensities(found, self._ids)

    def update(self, shown_id: str, clicked: Iterable[Item] = ()) -> None:
        """Take in the clicks on a list: all of them, at once. Nothing changes on an error.

        Several clicks on an item count as one. They are learned from at once if those of all
        earlier lists of the context have come.
        """
        with self._lock:
            number, pending = self._waiting(shown_id)
            items = [self._ids[i] for i in pending.ranking.tolist()]
            clicks = np.zeros(self.n_positions, dtype=np.int64)
            for item in clicked_items(clicked):
                if item not in items:
                    raise invalid("Ranker", f"clicked must be items shown, of {items}", item)
                clicks[items.index(item)] = 1
            del self._pending[number]
            answered = pending._replace(clicks=clicks)
            for settled in self._queue(pending.context).answered(number, answered):
                self._learn(settled)

    def forget(self, shown_id: str) -> None:
        """Learn nothing from a list, say because nobody has seen it; others wait for it no longer.

        A list that was seen and not clicked on is not to be forgotten: `update` it without clicks.
        """
        with self._lock:
            self._drop(self._waiting(shown_id)[0])

    def _drop(self, number: int) -> None:
        pending = self._pending.pop(number)
        for settled in self._queue(pending.context).gone(number):
            self._learn(settled)

    def _queue(self, context: str) -> InOrder:
        return self._queues.setdefault(context, InOrder(self._most_waiting))

    def _learn(self, settled: Pending) -> None:
        learned, clicks = self._contexts[settled.context], settled.clicks
        assert clicks is not None, settled
        began = self._began.get(settled.context, 0)
        usable = [settled.version >= began or learned.memos_travel]
        memos = learned.memos_now([settled.memo], usable)
        learned.update_many(settled.ranking[None], memos, clicks[None], usable)
        if learned.memos_travel and not takes_candidates(self._policy):
            empty = RefoldLog(self.n_positions, learned.memo_size)
            self._logs.setdefault(settled.context, empty).add(settled.ranking, memos[0], clicks)

    def add_items(
        self,
        items: Iterable[Item],
        prior: Beta | None = None,
        features: ArrayLike | Features | None = None,
        scores: ArrayLike | None = None,
    ) -> None:
        """Add items, or bring retired ones back with their history.

        Of a policy that knows its items by a prior, features or scores, so many entries as there
        are items may be given (a prior may hold for all); those of items that come back are not
        used. Without a prior, new items have the one that holds for all, or α = β = 1.
        """
        with self._lock:
            found = distinct_items(items)
            for item in found:
                if item in self._numbers and self._numbers[item] not in self._retired:
                    raise invalid("Ranker", "items must not be there already", item)
            new = [place for place, item in enumerate(found) if item not in self._numbers]
            given = {"prior": prior, "features": features, "scores": scores}
            told = told_of(self._policy, len(found), new, given)
            origin = np.append(np.arange(len(self._ids)), np.full(len(new), -1))
            policy = self._policy
            if told is not None:
                policy = relabelled(policy, origin, told)
            elif new:
                policy = relabelled(policy, origin)
            back = {self._numbers[x] for x in found if x in self._numbers}
            self._change(policy, [found[place] for place in new], self._retired - back)

    def retire_items(self, items: Iterable[Item]) -> None:
        """Show these items no more, and keep their history; at least n_positions must be left."""
        with self._lock:
            gone = self._found(distinct_items(items))
            already = self._retired.intersection(gone)
            if already:
                which = [self._ids[i] for i in sorted(already)]
                raise invalid("Ranker", "items must not be retired already", which)
            self._change(self._policy, [], self._retired | set(gone))

    def save(self, path: str | Path) -> None:
        """Write everything to a file; what was there is replaced at once, or stays."""
        with self._lock:
            policy, arrays = saved.policy_label(self._policy)
            names = {name: i for i, name in enumerate(self._contexts)}
            label = {
                "policy": policy,
                "items": self._ids,
                "retired": sorted(self._retired),
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
                arrays |= packed(lists, list(names), self.n_positions, prefix)
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
        """Return the ranker that was saved; it goes on as if nothing had happened."""
        label, arrays = saved.read(path)
        policy = saved.policy_from(label["policy"], arrays)
        ranker = cls(policy, label["items"], label["n_positions"])
        ranker._retired = frozenset(label["retired"])
        ranker._rng = generator_from(label["generator"])
        for key in ("salt", "shown", "version", "began", "most_waiting"):
            setattr(ranker, f"_{key}", label[key])
        names = label["contexts"]
        for i, name in enumerate(names):
            state = _under(f"{i}.learned.", arrays)
            ranker._contexts[name] = ranker._new().restored(state)
            if label["logs"][i]:
                ranker._logs[name] = RefoldLog.of(_under(f"{i}.log.", arrays))
        waits = arrays["pending.waits"].tolist()
        for place, (number, row) in enumerate(unpacked(arrays, names, "pending", clicks=False)):
            ranker._pending[number] = row
            if waits[place]:
                ranker._queue(row.context).shown(number)
        for number, row in unpacked(arrays, names, "held", clicks=True):
            ranker._queue(row.context).hold(number, row)
        return ranker

    def _new(self) -> ContextState:
        return ContextState(self._policy, len(self._ids), self.n_positions, self._retired)

    def _allowed(self, candidates: Iterable[Item] | None) -> list[int] | None:
        if candidates is None:
            return None
        found = self._found(distinct_items(candidates, "candidates"), "candidates")
        gone = self._retired.intersection(found)
        if gone:
            which = [self._ids[i] for i in sorted(gone)]
            raise invalid("Ranker", "candidates must not be retired", which)
        return found

    def _found(self, items: Sequence[Item], name: str = "items") -> list[int]:
        for item in items:
            if item not in self._numbers:
                raise invalid("Ranker", f"{name} must be in the catalogue", item)
        return [self._numbers[item] for item in items]

    def _waiting(self, shown_id: object) -> tuple[int, Pending]:
        salt, _, digits = shown_id.partition("-") if isinstance(shown_id, str) else ("", "", "")
        number = int(digits) if digits.isascii() and digits.isdigit() else 0
        if salt != self._salt or not 0 < number <= self._shown or digits != str(number):
            raise invalid("Ranker", "id must be that of a list it has chosen", shown_id)
        if number not in self._pending:
            rule = "id must be that of a list that waits for its clicks, not updated or forgotten"
            raise invalid("Ranker", rule, shown_id)
        return number, self._pending[number]

    def _change(self, policy: Policy, new: list[Item], retired: frozenset[int]) -> None:
        """Go on with another catalogue, in all contexts or in none."""
        count = len(self._ids) + len(new)
        ContextState(policy, count, self.n_positions, retired)  # raises if it cannot be
        changed, began = {}, dict(self._began)
        for context, learned in self._contexts.items():
            carried = learned.with_items(policy, count, retired)
            other = None if carried is None else carried.going_on_without(retired)
            if other is None:
                other = ContextState(policy, count, self.n_positions, retired)
                if context in self._logs:
                    other.update_many(**self._logs[context].arrays())
                other = other.with_tally(learned.statistics())
            if other is not carried:
                began[context] = self._version + 1
            changed[context] = other
        self._contexts, self._began = changed, began
        self._policy = policy
        self._retired = frozenset(retired)
        for item in new:
            self._numbers[item] = len(self._ids)
            self._ids.append(item)
        self._version += 1


def _under(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
