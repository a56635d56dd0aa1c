"""Propensities by the caller's ids."""

from __future__ import annotations

from collections.abc import Sequence

from clickrank.errors import invalid
from clickrank.policies import Propensities
from clickrank.types import Floats

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
