"""A ranker to embed: the caller's items, contexts, and clicks that come back later."""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank.beta import Beta
from clickrank.errors import InvalidValue, invalid
from clickrank.features import Features
from clickrank.policies import POLICIES, Policy
from clickrank.policies import policy as make_policy
from clickrank.policies.learner import plain_state
from clickrank.policies.propensities import ACCURACY
from clickrank.ranker import saved
from clickrank.ranker.learned import Learned, takes_candidates
from clickrank.ranker.log import Log
from clickrank.ranker.named import Item, ItemPropensities
from clickrank.types import Ints, shape, whole

#: How many lists may wait for their clicks; of more, the oldest are forgotten.
MOST_PENDING = 100_000


class Shown(NamedTuple):
    """A list to show."""

    id: str  # to be handed back with the clicks
    items: tuple[Item, ...]  # from the first position on
    context: str


class _Pending(NamedTuple):
    context: str
    ranking: Ints
    memo: Ints
    version: int  # of the catalogue


class Ranker:
    """Chooses lists of the caller's items, and learns from clicks which to show where.

    It may be used from several threads. It keeps everything in memory: `save` it now and then, or
    run the service, which keeps a log. At most 100,000 lists wait for their clicks; of more, the
    oldest are forgotten, and their clicks are refused.

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
        **settings: Any,
    ) -> None:
        """Start from nothing, or from the prior in the settings."""
        if isinstance(policy, Policy):
            if settings:
                rule = "settings must be left out with a policy that has its own"
                raise invalid("Ranker", rule, sorted(settings))
        else:
            policy = make_policy(policy, **settings)
        numbers = {item: number for number, item in enumerate(_distinct(items))}
        self.n_positions = shape("Ranker", len(numbers), n_positions)[1]
        seed = None if seed is None else whole("Ranker", "seed", seed, 0)
        self._numbers: dict[Item, int] = numbers
        self._ids: list[Item] = list(numbers)
        self._retired: frozenset[int] = frozenset()
        self._policy = policy
        self._rng = np.random.default_rng(seed)
        self._contexts: dict[str, Learned] = {}
        self._logs: dict[str, Log] = {}
        self._pending: OrderedDict[int, _Pending] = OrderedDict()
        self._version = 0
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
            allowed = None if candidates is None else self._found(_distinct(candidates))
            learned = self._contexts.get(context) or self._new()
            ranking, memo = learned.rank(self._rng, allowed)
            self._contexts.setdefault(context, learned)
            self._shown += 1
            self._pending[self._shown] = _Pending(context, ranking, memo, self._version)
            if len(self._pending) > MOST_PENDING:
                self._pending.popitem(last=False)
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
            allowed = None if candidates is None else self._found(_distinct(candidates))
            learned = self._contexts.get(context) or self._new()
            found = learned.propensities(allowed, whole("Ranker", "seed", seed, 0), accuracy)
            return ItemPropensities(found, self._ids)

    def update(self, shown_id: str, clicked: Iterable[Item] = ()) -> None:
        """Learn from the clicks on a list: all of them, at once. Nothing changes on an error."""
        with self._lock:
            number, pending = self._waiting(shown_id)
            items = [self._ids[i] for i in pending.ranking.tolist()]
            clicks = np.zeros(self.n_positions, dtype=np.int64)
            for item in _distinct(clicked, empty=True):
                if item not in items:
                    raise invalid("Ranker", f"clicked must be items shown, of {items}", item)
                clicks[items.index(item)] = 1
            learned = self._contexts[pending.context]
            memo, own = pending.memo, True
            if pending.version != self._version and not learned.memos_travel:
                memo, own = np.zeros(learned.memo_size, dtype=np.int64), False
            learned.learn(pending.ranking[None], memo[None], clicks[None], [own])
            if learned.memos_travel and not takes_candidates(self._policy):
                empty = Log(self.n_positions, learned.memo_size)
                self._logs.setdefault(pending.context, empty).add(pending.ranking, memo, clicks)
            del self._pending[number]

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
            found = _distinct(items)
            for item in found:
                if item in self._numbers and self._numbers[item] not in self._retired:
                    raise invalid("Ranker", "items must not be there already", item)
            new = [place for place, item in enumerate(found) if item not in self._numbers]
            told = self._told(len(found), new, prior=prior, features=features, scores=scores)
            origin = np.append(np.arange(len(self._ids)), np.full(len(new), -1))
            policy = self._policy
            if told is not None:
                policy = policy.relabelled(origin, told)
            elif new:
                policy = policy.relabelled(origin)
            back = {self._numbers[x] for x in found if x in self._numbers}
            self._change(policy, [found[place] for place in new], self._retired - back)

    def retire_items(self, items: Iterable[Item]) -> None:
        """Show these items no more, and keep their history; at least n_positions must be left."""
        with self._lock:
            gone = self._found(_distinct(items))
            already = self._retired.intersection(gone)
            if already:
                which = [self._ids[i] for i in sorted(already)]
                raise invalid("Ranker", "items must not be retired already", which)
            self._change(self._policy, [], self._retired | set(gone))

    def save(self, path: str | Path) -> None:
        """Write everything to a file; what was there is replaced at once, or stays."""
        with self._lock:
            policy, arrays = saved.policy_label(self._policy)
            waiting = list(self._pending.values())
            names = {name: i for i, name in enumerate(self._contexts)}
            label = {
                "policy": policy,
                "items": self._ids,
                "retired": sorted(self._retired),
                "n_positions": self.n_positions,
                "contexts": list(names),
                "logs": [name in self._logs for name in names],
                "generator": plain_state(self._rng.bit_generator.state),
                "salt": self._salt,
                "shown": self._shown,
                "version": self._version,
            }
            arrays["pending.number"] = np.array(list(self._pending), dtype=np.int64)
            columns = [(names[p.context], p.version, p.memo.size) for p in waiting]
            arrays["pending.columns"] = np.array(columns, dtype=np.int64).reshape(-1, 3)
            rows = [p.ranking for p in waiting]
            arrays["pending.rankings"] = np.array(rows, dtype=np.int64).reshape(
                -1, self.n_positions
            )
            memos = [p.memo for p in waiting]
            arrays["pending.memos"] = np.concatenate([np.zeros(0, dtype=np.int64), *memos])
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
        ranker._rng = _generator(label["generator"])
        for key in ("salt", "shown", "version"):
            setattr(ranker, f"_{key}", label[key])
        names = label["contexts"]
        for i, name in enumerate(names):
            state = _under(f"{i}.learned.", arrays)
            ranker._contexts[name] = ranker._new().restored(state)
            if label["logs"][i]:
                ranker._logs[name] = Log.of(_under(f"{i}.log.", arrays))
        columns, memos = arrays["pending.columns"], arrays["pending.memos"]
        ends = np.cumsum(columns[:, 2])
        for row, number in enumerate(arrays["pending.number"].tolist()):
            context, version, size = columns[row].tolist()
            memo = memos[ends[row] - size : ends[row]]
            ranking = arrays["pending.rankings"][row]
            ranker._pending[number] = _Pending(names[context], ranking, memo, version)
        return ranker

    def _new(self) -> Learned:
        return Learned(self._policy, len(self._ids), self.n_positions, self._retired)

    def _found(self, items: Sequence[Item]) -> list[int]:
        for item in items:
            if item not in self._numbers:
                raise invalid("Ranker", "items must be in the catalogue", item)
        return [self._numbers[item] for item in items]

    def _waiting(self, shown_id: object) -> tuple[int, _Pending]:
        salt, _, digits = shown_id.partition("-") if isinstance(shown_id, str) else ("", "", "")
        number = int(digits) if digits.isascii() and digits.isdigit() else 0
        if salt != self._salt or not 0 < number <= self._shown or digits != str(number):
            raise invalid("Ranker", "id must be that of a list it has chosen", shown_id)
        if number not in self._pending:
            rule = "id must be that of a list that waits for its clicks, not updated or forgotten"
            raise invalid("Ranker", rule, shown_id)
        return number, self._pending[number]

    def _told(self, count: int, new: list[int], **given: Any) -> Any:
        """Return what the policy is told of new items: the entries of what was given."""
        fields = {field.name for field in dataclasses.fields(self._policy)}
        told: Any = None
        for name, value in given.items():
            if value is None:
                continue
            if name not in fields:
                takers = [n for n, c in POLICIES.items() if name in _field_names(c)]
                raise InvalidValue(
                    f"Ranker: {self._policy.name} takes no {name}; those that do are "
                    f"{', '.join(takers)}."
                )
            if name == "prior":
                if not isinstance(value, Beta):
                    raise invalid("Ranker", "prior must be a clickrank.priors.Beta", value)
                alpha, beta = value.for_items(count, "Ranker")
                told = Beta(alpha[new], beta[new]) if new else None
                continue
            rows = Features(value).values if name == "features" else np.asarray(value)
            if rows.shape[:1] != (count,):
                raise invalid("Ranker", f"{name} must be of {count} items", rows.shape)
            told = rows[new] if new else None
        return told

    def _change(self, policy: Policy, new: list[Item], retired: frozenset[int]) -> None:
        """Go on with another catalogue, in all contexts or in none."""
        count = len(self._ids) + len(new)
        Learned(policy, count, self.n_positions, retired)  # raises if it cannot be
        changed = {}
        for context, learned in self._contexts.items():
            other = learned.with_items(policy, count, retired)
            if other is None:
                other = Learned(policy, count, self.n_positions, retired)
                if context in self._logs:
                    other.learn(**self._logs[context].arrays())
                other = other.with_tally(learned.statistics())
            changed[context] = other
        self._contexts = changed
        self._policy = policy
        self._retired = frozenset(retired)
        for item in new:
            self._numbers[item] = len(self._ids)
            self._ids.append(item)
        self._version += 1


def _distinct(items: Any, empty: bool = False) -> list[Item]:
    """Check and list the caller's ids."""
    rule = "items must be a sequence of distinct ids, text or whole numbers"
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise invalid("Ranker", rule, items)
    found = [int(x) if isinstance(x, np.integer) else x for x in items]
    for item in found:
        if isinstance(item, bool) or not isinstance(item, (str, int)):
            raise invalid("Ranker", rule, item)
    if len(set(found)) < len(found) or (not found and not empty):
        raise invalid("Ranker", rule, found)
    return [str(x) if isinstance(x, str) else x for x in found]


def _field_names(cls: type[Policy]) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


def _under(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}


def _generator(state: dict[str, Any]) -> np.random.Generator:
    rng = np.random.default_rng(0)
    rng.bit_generator.state = state
    return rng
