"""Distributions of a random list that can be written down: what a policy says of its next one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.arrays import Floats, Ints


class Lists(Protocol):
    """A distribution of lists of distinct items."""

    def marginals(self, n_items: int) -> Floats:
        """Return the probability of each item (row) at each position (column)."""

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the probability that a list begins as ``ranking`` does, down to each position."""


class ListSource(Protocol):
    """A policy about to choose, see `clickrank.learning.chooser`."""

    n_items: int
    n_positions: int
    params: Any
    state: Any
    cache: Any

    def probe(self, params: Any = None) -> tuple[Ints, bool]:
        """Draw one list, and say whether luck had a part in it."""

    def keep(self, *names: str) -> None:
        """Let all draws begin with what the last one left in some fields, which must be caches."""


class Blocks:
    """Each position belongs to a block of items; in each block all orders are equally likely.

    Of a block with more items than positions, a random part is shown.

    Parameters
    ----------
    blocks
        The items of each block, no item in two of them.
    block_of
        The block that each position belongs to.
    """

    def __init__(self, blocks: Sequence[ArrayLike], block_of: Sequence[int]) -> None:
        """Keep them."""
        self.blocks = [np.asarray(block, dtype=np.int64) for block in blocks]
        self.block_of = list(block_of)

    def marginals(self, n_items: int) -> Floats:
        """Return the probability of each item at each position."""
        found = np.zeros((n_items, len(self.block_of)))
        for position, number in enumerate(self.block_of):
            block = self.blocks[number]
            found[block, position] = 1.0 / block.size
        return found

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the probability that a list begins as this one."""
        found = np.zeros(ranking.size)
        left = [set(block.tolist()) for block in self.blocks]
        chance = 1.0
        for position, item in enumerate(ranking.tolist()):
            block = left[self.block_of[position]]
            if item not in block:
                break
            chance /= len(block)
            block.remove(item)
            found[position] = chance
        return found


def partition(order: Ints, starts: Ints, n_positions: int) -> Blocks:
    """Return the lists that `draw_compatible` draws from."""
    blocks: list[Ints] = []
    block_of: list[int] = []
    while len(block_of) < n_positions:
        begin, end = int(starts[len(blocks)]), int(starts[len(blocks) + 1])
        block_of += [len(blocks)] * min(end - begin, n_positions - len(block_of))
        blocks.append(order[begin:end].copy())
    return Blocks(blocks, block_of)


def largest(values: Floats, positions: Ints) -> Blocks:
    """Return the lists of the largest values, ties at random, the j-th largest at positions[j]."""
    top = np.sort(values)[::-1][: positions.size]
    blocks, block_of = [], [0] * positions.size
    for j, position in enumerate(positions.tolist()):
        if j == 0 or top[j] != top[j - 1]:
            blocks.append(np.flatnonzero(values == top[j]))
        block_of[position] = len(blocks) - 1
    return Blocks(blocks, block_of)


class Few:
    """Lists written out, each with its probability."""

    def __init__(self, rankings: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Keep them; without weights all are equally likely."""
        self.rankings = np.atleast_2d(np.asarray(rankings, dtype=np.int64))
        count = self.rankings.shape[0]
        self.weights: Floats = (
            np.full(count, 1.0 / count) if weights is None else np.asarray(weights, np.float64)
        )

    def marginals(self, n_items: int) -> Floats:
        """Return the probability of each item at each position."""
        n_positions = self.rankings.shape[1]
        cells = (self.rankings * n_positions + np.arange(n_positions)).ravel()
        weights = np.repeat(self.weights, n_positions)
        found: Floats = np.bincount(cells, weights, n_items * n_positions).astype(np.float64)
        return found.reshape(n_items, n_positions)

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the probability that a list begins as this one."""
        same = np.logical_and.accumulate(self.rankings == ranking, axis=1)
        found: Floats = self.weights @ same
        return found


class Drawn:
    """Lists that were drawn: their shares stand for probabilities."""

    def __init__(self, rankings: Ints) -> None:
        """Keep them, one a row; they are many, so in few bytes."""
        largest = int(rankings.max(initial=0))
        self.rankings: NDArray[Any] = rankings.astype(np.min_scalar_type(largest))

    def counts(self, n_items: int) -> Ints:
        """Return how often each item was at each position."""
        n_positions = self.rankings.shape[1]
        cells = (self.rankings.astype(np.int64) * n_positions + np.arange(n_positions)).ravel()
        return np.bincount(cells, minlength=n_items * n_positions).reshape(n_items, n_positions)

    def marginals(self, n_items: int) -> Floats:
        """Return the share of each item at each position."""
        shares: Floats = self.counts(n_items) / self.rankings.shape[0]
        return shares

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the share of lists that begin as this one."""
        same = np.logical_and.accumulate(self.rankings == ranking, axis=1)
        shares: Floats = np.count_nonzero(same, axis=0) / self.rankings.shape[0]
        return shares


class Joined:
    """Stretches of neighbouring positions, filled independently of each other."""

    def __init__(self, parts: Sequence[tuple[Lists, int]]) -> None:
        """Keep the lists of each stretch with its number of positions, from the top down."""
        self.parts = list(parts)

    def marginals(self, n_items: int) -> Floats:
        """Return the probability of each item at each position."""
        return np.concatenate([part.marginals(n_items) for part, _ in self.parts], axis=1)

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the probability that a list begins as this one."""
        found = np.zeros(ranking.size)
        chance, begin = 1.0, 0
        for part, size in self.parts:
            end = begin + size
            found[begin:end] = chance * part.prefixes(ranking[begin:end])
            chance, begin = float(found[end - 1]), end
        return found


class Dealt:
    """All of some items and, for the places that these leave, random ones of others, shuffled."""

    def __init__(self, surely: Ints, others: Ints, n_positions: int) -> None:
        """Keep them; there are fewer to be shown surely than positions."""
        self.surely, self.others, self.n_positions = surely, others, n_positions
        self.drawn = n_positions - surely.size

    def marginals(self, n_items: int) -> Floats:
        """Return the probability of each item at each position."""
        found = np.zeros((n_items, self.n_positions))
        found[self.surely] = 1.0 / self.n_positions
        found[self.others] = self.drawn / self.others.size / self.n_positions
        return found

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the probability that a list begins as this one: all possible are as likely."""
        found = np.zeros(ranking.size)
        surely, others = self.surely.size, self.others.size
        drawn = 0
        whole = math.comb(others, self.drawn) * math.factorial(self.n_positions)
        for position, item in enumerate(ranking.tolist()):
            if item in self.others:
                drawn += 1
            elif item not in self.surely:
                break
            if drawn > self.drawn or position + 1 - drawn > surely:
                break
            left = self.n_positions - position - 1
            ways = math.comb(others - drawn, self.drawn - drawn) * math.factorial(left)
            found[position] = ways / whole
        return found


class Led:
    """A first item with given probabilities; below it all others are equally likely."""

    def __init__(self, first: Floats, n_positions: int) -> None:
        """Keep the probability of each item to be the first."""
        self.first, self.n_positions = first, n_positions

    def marginals(self, n_items: int) -> Floats:
        """Return the probability of each item at each position."""
        found = np.empty((n_items, self.n_positions))
        found[:, 0] = self.first
        found[:, 1:] = ((1.0 - self.first) / max(n_items - 1, 1))[:, None]
        return found

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the probability that a list begins as this one."""
        others = self.first.size - 1
        ways = np.array([float(math.perm(others, below)) for below in range(self.n_positions)])
        return np.asarray(self.first[ranking[0]] / ways)


class Replaced:
    """A list of which each position is replaced with the same probability.

    Random items, drawn one after the other from all that are not in the places kept, fill the
    places of those replaced.
    """

    def __init__(self, base: Ints, probability: float, n_items: int) -> None:
        """Keep the list, and the probability that the item at a position is replaced."""
        self.base = base
        self.probability = probability
        self.n_items = n_items

    def marginals(self, n_items: int) -> Floats:
        """Return the probability of each item at each position.

        With a position replaced, each item of the pool is equally likely there. An item of the list
        from another position is in the pool only if that one is replaced too.
        """
        n_positions, p = self.base.size, self.probability
        outside = p * self._share(1, n_positions - 1)
        elsewhere = p * p * self._share(2, n_positions - 2) if n_positions > 1 else 0.0
        found = np.full((n_items, n_positions), outside)
        found[self.base] = elsewhere
        found[self.base, np.arange(n_positions)] = (1.0 - p) + outside
        return found

    def _share(self, surely: int, others: int) -> float:
        """Return E[1 / size of the pool] when so many are replaced, and others perhaps."""
        least = self.n_items - self.base.size + surely
        chances = _binomial(others, self.probability)
        return sum(chance / (least + more) for more, chance in enumerate(chances))

    def prefixes(self, ranking: Ints) -> Floats:
        """Return the probability that a list begins as this one."""
        return np.array([self._prefix(ranking[: i + 1]) for i in range(ranking.size)])

    def _prefix(self, ranking: Ints) -> float:
        same = int(np.count_nonzero(ranking == self.base[: ranking.size]))
        other = ranking.size - same
        below = self.base[ranking.size :]
        freed = int(np.isin(below, ranking).sum())  # replaced below, as they are needed above
        least = self.n_items - self.base.size + other + freed
        total = 0.0
        for x, chance in enumerate(_binomial(same, self.probability)):
            for y, more in enumerate(_binomial(below.size - freed, self.probability)):
                # The first other + x draws from a pool of so many are those of the list.
                total += chance * more / math.perm(least + x + y, other + x)
        return float(self.probability ** (other + freed) * total)


def _binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(n + 1)]
