"""Catalogue: the caller's ids of a ranker's items, which of them are retired, and propensities.

The library's `Ranker` and the service use the same checks of items and candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.features import Features
from clickrank.errors import InvalidValue, UnknownItem, did_you_mean, invalid
from clickrank.learning.policy_propensities import Propensities
from clickrank.policies import POLICIES, Policy
from clickrank.policies.policy_spec import settings_of
from clickrank.stats.beta_prior import Beta

Item = str | int
I = TypeVar("I", bound=Item)  # noqa: E741

#: In larger catalogues it takes too long to find the id that was probably meant.
_MOST_COMPARED = 1000


class Catalogue(Generic[I]):
    """The items of a ranker, numbered 0, 1, 2, … in the order in which they were added.

    Retired items keep their numbers. A catalogue does not change: `with_items` and `without`
    return others.

    Parameters
    ----------
    owner
        The name with which error messages begin.
    ids
        The caller's ids, which must be distinct.
    retired
        The numbers of the retired items.

    Examples
    --------
    >>> catalogue = Catalogue("Ranker", ["a", "b", "c"]).without(["b"])
    >>> catalogue.active_numbers(["c", "a"], "candidates")
    [2, 0]
    >>> catalogue.active_numbers(["b"], "candidates")
    Traceback (most recent call last):
    clickrank.errors.UnknownItem: Ranker: candidates must not be retired, got ['b'].
    """

    def __init__(self, owner: str, ids: Sequence[I], retired: Collection[int] = ()) -> None:
        self.owner = owner
        self.ids = ids
        self.retired = frozenset(retired)
        self.numbers: dict[I, int] = {item: number for number, item in enumerate(ids)}

    @property
    def active(self) -> tuple[I, ...]:
        """The items that may be shown, in the order in which they were added."""
        return tuple(x for number, x in enumerate(self.ids) if number not in self.retired)

    def numbers_of(self, items: Iterable[I], field: str = "items") -> list[int]:
        """Return the numbers of items, which may be retired; ``field`` is for the error."""
        found = []
        for item in items:
            number = self.numbers.get(item)
            if number is None:
                raise self._unknown(f"{field} must be among the items of the ranker", item)
            found.append(number)
        return found

    def active_numbers(self, items: Iterable[I], field: str) -> list[int]:
        """Return the numbers of distinct items that are not retired."""
        found = self.numbers_of(items, field)
        if not self.retired.isdisjoint(found):
            gone = [self.ids[number] for number in sorted(self.retired.intersection(found))]
            raise self._unknown(f"{field} must not be retired", gone)
        if len(set(found)) < len(found):
            shown = [self.ids[number] for number in found]
            raise invalid(self.owner, f"{field} must be distinct", shown)
        return found

    def with_items(self, items: Sequence[I]) -> Addition[I]:
        """Add items, and bring back those that are retired."""
        places = [place for place, item in enumerate(items) if item not in self.numbers]
        ids = [*self.ids, *(items[place] for place in places)]
        back = {self.numbers[item] for item in items if item in self.numbers}
        return Addition(Catalogue(self.owner, ids, self.retired - back), places, len(self.ids))

    def without(self, items: Iterable[I]) -> Catalogue[I]:
        """Retire items."""
        return Catalogue(self.owner, self.ids, self.retired.union(self.numbers_of(items)))

    def _unknown(self, rule: str, value: Any) -> UnknownItem:
        hint = ""
        if isinstance(value, str) and len(self.ids) <= _MOST_COMPARED:
            hint = did_you_mean(value, [x for x in self.ids if isinstance(x, str)])
        error = UnknownItem(f"{self.owner}: {rule}, got {value!r}.{hint and ' '}{hint}")
        error.owner, error.rule, error.value, error.hint = self.owner, rule, value, hint
        return error


class Addition(NamedTuple, Generic[I]):
    """The catalogue after items were added."""

    catalogue: Catalogue[I]
    new_places: list[int]  # of the new items among those given
    n_before: int

    @property
    def origin(self) -> Ints:
        """The former number of each item, -1 for a new one."""
        return np.append(np.arange(self.n_before), np.full(len(self.new_places), -1))


class ItemPropensities:
    """The probability of each item at each position, by the caller's ids.

    See `clickrank.learning.Propensities`, which has them by item number.
    """

    def __init__(self, found: Propensities, catalogue: Catalogue[Item]) -> None:
        """Combine propensities with the ids of the items."""
        self.exact, self.error, self.draws = found.exact, found.error, found.draws
        self._found = found
        self._catalogue = catalogue

    @property
    def marginals(self) -> dict[Item, tuple[float, ...]]:
        """The probability of each item at each position, from the first position on."""
        rows = self._found.marginals.tolist()
        return {item: tuple(row) for item, row in zip(self._catalogue.ids, rows, strict=True)}

    def of(self, items: Sequence[Item]) -> tuple[Floats, Floats]:
        """Return the probability of each item of a list, and of each beginning of the list."""
        return self._found.of(self._catalogue.numbers_of(items))

    def of_shown(self, items: Sequence[Item]) -> tuple[Floats, Floats]:
        """Return what `of` returns, for the log of a list that was shown: no probability is 0."""
        return self._found.of_shown(self._catalogue.numbers_of(items))


def distinct_items(owner: str, items: Any, field: str = "items") -> list[Item]:
    """Check ids from outside, and return them as a list: at least one, and each once."""
    rule = f"{field} must be a sequence of distinct ids, text or whole numbers"
    found = _ids_in(owner, items, rule)
    if not found:
        raise invalid(owner, rule, found)
    if len(set(found)) < len(found):
        twice = next(item for item, count in Counter(found).items() if count > 1)
        raise invalid(owner, f"{field} must be distinct", twice)
    return found


def clicked_items(owner: str, clicked: Any) -> list[Item]:
    """Check the ids of clicked items, and return each once: visitors click twice."""
    if isinstance(clicked, Mapping):  # its keys would all count as clicked
        rule = "clicked must be a sequence of item ids"
        raise invalid(owner, rule, clicked, "Pass only the ids that were clicked.")
    rule = "clicked must be a sequence of ids, text or whole numbers"
    return list(dict.fromkeys(_ids_in(owner, clicked, rule)))


def _ids_in(owner: str, items: Any, rule: str) -> list[Item]:
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise invalid(owner, rule, items)
    found = [int(x) if isinstance(x, np.integer) else x for x in items]
    for item in found:
        if isinstance(item, bool) or not isinstance(item, (str, int)):
            raise invalid(owner, rule, item)
    return [str(x) if isinstance(x, str) else x for x in found]


def new_item_settings(policy: Policy, count: int, new: list[int], given: dict[str, Any]) -> Any:
    """Return the prior, features or scores of new items, for `relabelled`; None without any.

    ``given`` holds these settings by name, for ``count`` items of which those at the places ``new``
    are new.
    """
    found: Any = None
    for name, value in given.items():
        if value is None:
            continue
        if name not in _setting_names(type(policy)):
            takers = [n for n, c in POLICIES.items() if name in _setting_names(c)]
            raise InvalidValue(
                f"Ranker: {policy.name} takes no {name}; those that do are {', '.join(takers)}."
            )
        if name == "prior":
            if not isinstance(value, Beta):
                raise invalid("Ranker", "prior must be a clickrank.priors.Beta", value)
            alpha, beta = value.for_items(count, "Ranker")
            found = Beta(alpha[new], beta[new]) if new else None
            continue
        rows = Features(value).values if name == "features" else np.asarray(value)
        if rows.shape[:1] != (count,):
            raise invalid("Ranker", f"{name} must have one entry per item ({count})", rows.shape)
        found = rows[new] if new else None
    return found


def _setting_names(cls: type[Policy]) -> set[str]:
    return {field.name for field in settings_of(cls)}
