"""The caller's ids of items, what is given about them, and propensities by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clickrank._core.arrays import Floats
from clickrank._core.features import Features
from clickrank.errors import InvalidValue, invalid
from clickrank.learning.policy_propensities import Propensities
from clickrank.policies import POLICIES, Policy
from clickrank.policies.policy_spec import settings_of
from clickrank.stats.beta_prior import Beta

Item = str | int


class ItemPropensities:
    """The probability of each item at each position, by the caller's ids.

    See `clickrank.policies.Propensities`, which this is of.
    """

    def __init__(self, found: Propensities, ids: Sequence[Item]) -> None:
        """Keep them, with the id of each item."""
        self.exact, self.error, self.draws = found.exact, found.error, found.draws
        self._found = found
        self._ids = tuple(ids)

    @property
    def marginals(self) -> dict[Item, tuple[float, ...]]:
        """The probability of each item at each position, from the first one on."""
        rows = self._found.marginals.tolist()
        return {item: tuple(row) for item, row in zip(self._ids, rows, strict=True)}

    def of(self, items: Sequence[Item]) -> tuple[Floats, Floats]:
        """Return the probabilities of a list's items, and that a list begins as it does."""
        return self._found.of(self._ranking(items))

    def of_shown(self, items: Sequence[Item]) -> tuple[Floats, Floats]:
        """Return the same for the list that was then chosen, for a log: never 0."""
        return self._found.of_shown(self._ranking(items))

    def _ranking(self, items: Sequence[Item]) -> list[int]:
        numbers = {item: number for number, item in enumerate(self._ids)}
        for item in items:
            if item not in numbers:
                raise invalid("Ranker", "items must be in the catalogue", item)
        return [numbers[item] for item in items]


def distinct_items(items: Any, name: str = "items") -> list[Item]:
    """Check and list the caller's ids: at least one, and none twice."""
    rule = f"{name} must be a sequence of distinct ids, text or whole numbers"
    found = _ids_in(items, rule)
    if len(set(found)) < len(found) or not found:
        raise invalid("Ranker", rule, found)
    return found


def clicked_items(clicked: Any) -> list[Item]:
    """Check the ids of items that were clicked on, and list each once: people click twice."""
    rule = "clicked must be a sequence of ids, text or whole numbers"
    return list(dict.fromkeys(_ids_in(clicked, rule)))


def _ids_in(items: Any, rule: str) -> list[Item]:
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise invalid("Ranker", rule, items)
    found = [int(x) if isinstance(x, np.integer) else x for x in items]
    for item in found:
        if isinstance(item, bool) or not isinstance(item, (str, int)):
            raise invalid("Ranker", rule, item)
    return [str(x) if isinstance(x, str) else x for x in found]


def told_of(policy: Policy, count: int, new: list[int], given: dict[str, Any]) -> Any:
    """Return what a policy is given about new items: the entries of its prior, features or scores.

    ``given`` is by name, of ``count`` items; ``new`` are the places of those that are new.
    """
    told: Any = None
    for name, value in given.items():
        if value is None:
            continue
        if name not in _field_names(type(policy)):
            takers = [n for n, c in POLICIES.items() if name in _field_names(c)]
            raise InvalidValue(
                f"Ranker: {policy.name} takes no {name}; those that do are {', '.join(takers)}."
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


def _field_names(cls: type[Policy]) -> set[str]:
    return {field.name for field in settings_of(cls)}
