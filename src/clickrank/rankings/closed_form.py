"""Distributions over rankings with probabilities in closed form, which policies state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints
from clickrank.rankings.distributions import RankingDistribution


class ListSource(Protocol):
    """A policy that is about to choose a list, see `clickrank.learning.chooser`."""

    n_items: int
    n_positions: int
    params: Any
    state: Any
    cache: Any

    def probe(self, params: Any = None) -> tuple[Ints, bool]:
        """Draw one list, and return it with whether random numbers were used."""

    def keep(self, *names: str) -> None:
        """Start all draws with the values that the last one wrote to some fields of the cache."""


class ShuffledBlocks(RankingDistribution):
    """Each position belongs to a block of items, and in each block all orders are equally likely.

    If a block has more items than positions, a random part of it is shown.

    Parameters
    ----------
    blocks
        The items of each block. No item is in two blocks.
    block_of
        The number of the block that each position belongs to.
    n_items
        Number of items to choose from.
    """

    def __init__(self, blocks: Sequence[ArrayLike], block_of: Sequence[int], n_items: int) -> None:
        """Store the blocks."""
        self.blocks = [np.asarray(block, dtype=np.int64) for block in blocks]
        self.block_of = list(block_of)
        self.n_items, self.n_positions = n_items, len(self.block_of)

    @classmethod
    def of_partition(cls, order: Ints, starts: Ints, n_positions: int) -> ShuffledBlocks:
        """Return the lists that `draw_compatible` draws from."""
        blocks: list[Ints] = []
        block_of: list[int] = []
        while len(block_of) < n_positions:
            begin, end = int(starts[len(blocks)]), int(starts[len(blocks) + 1])
            block_of += [len(blocks)] * min(end - begin, n_positions - len(block_of))
            blocks.append(order[begin:end].copy())
        return cls(blocks, block_of, order.size)

    @classmethod
    def of_scores(cls, scores: Floats, positions: Ints) -> ShuffledBlocks:
        """Return the lists with the j-th largest score at positions[j], ties in random order."""
        top = np.sort(scores)[::-1][: positions.size]
        blocks, block_of = [], [0] * positions.size
        for j, position in enumerate(positions.tolist()):
            if j == 0 or top[j] != top[j - 1]:
                blocks.append(np.flatnonzero(scores == top[j]))
            block_of[position] = len(blocks) - 1
        return cls(blocks, block_of, scores.size)

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        found = np.zeros((self.n_items, self.n_positions))
        for position, number in enumerate(self.block_of):
            block = self.blocks[number]
            found[block, position] = 1.0 / block.size
        return found

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""
        found = np.zeros(ranking.size)
        remaining = [set(block.tolist()) for block in self.blocks]
        probability = 1.0
        for position, item in enumerate(ranking.tolist()):
            block = remaining[self.block_of[position]]
            if item not in block:
                break
            probability /= len(block)
            block.remove(item)
            found[position] = probability
        return found


class Concatenation(RankingDistribution):
    """Independent distributions, each for a stretch of neighbouring positions."""

    def __init__(self, parts: Sequence[RankingDistribution]) -> None:
        """Store the distribution of each stretch, from the top down."""
        self.parts = list(parts)
        self.n_items = self.parts[0].n_items
        self.n_positions = sum(part.n_positions for part in self.parts)

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        return np.concatenate([part.marginals() for part in self.parts], axis=1)

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""
        found = np.zeros(ranking.size)
        probability, begin = 1.0, 0
        for part in self.parts:
            end = begin + part.n_positions
            found[begin:end] = probability * part.prefixes(ranking[begin:end])
            probability, begin = float(found[end - 1]), end
        return found


class ShuffledSample(RankingDistribution):
    """Some items that are always shown, and a random sample of others, all in random order.

    Parameters
    ----------
    always
        The items that are always shown, fewer than there are positions.
    others
        The items that the other positions are filled from.
    n_positions, n_items
        Length of a list, and number of items to choose from.
    """

    def __init__(self, always: Ints, others: Ints, n_positions: int, n_items: int) -> None:
        """Store the items."""
        self.always, self.others = always, others
        self.n_items, self.n_positions = n_items, n_positions
        self.n_sampled = n_positions - always.size

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        found = np.zeros((self.n_items, self.n_positions))
        found[self.always] = 1.0 / self.n_positions
        found[self.others] = self.n_sampled / self.others.size / self.n_positions
        return found

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it.

        All possible lists are equally likely, so that they are counted.
        """
        found = np.zeros(ranking.size)
        n_always, n_others = self.always.size, self.others.size
        sampled = 0
        n_lists = math.comb(n_others, self.n_sampled) * math.factorial(self.n_positions)
        for position, item in enumerate(ranking.tolist()):
            if item in self.others:
                sampled += 1
            elif item not in self.always:
                break
            if sampled > self.n_sampled or position + 1 - sampled > n_always:
                break
            below = self.n_positions - position - 1
            ways = math.comb(n_others - sampled, self.n_sampled - sampled) * math.factorial(below)
            found[position] = ways / n_lists
        return found


class RandomFirstItem(RankingDistribution):
    """A first item with given probabilities, and below it all other items equally likely.

    Parameters
    ----------
    first
        Probability of each item to be the first, (n_items,).
    n_positions
        Length of a list.
    """

    def __init__(self, first: Floats, n_positions: int) -> None:
        """Store the probabilities."""
        self.first = first
        self.n_items, self.n_positions = first.size, n_positions

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        found = np.empty((self.n_items, self.n_positions))
        found[:, 0] = self.first
        found[:, 1:] = ((1.0 - self.first) / max(self.n_items - 1, 1))[:, None]
        return found

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""
        others = self.n_items - 1
        ways = np.array([float(math.perm(others, below)) for below in range(self.n_positions)])
        return np.asarray(self.first[ranking[0]] / ways)


class RandomReplacements(RankingDistribution):
    """A list in which each position is replaced, independently and with the same probability.

    The positions replaced are filled with random items, drawn one after the other from all items
    that are not at the other positions.

    Parameters
    ----------
    base
        The list.
    probability
        Probability that the item at a position is replaced.
    n_items
        Number of items to choose from.
    """

    def __init__(self, base: Ints, probability: float, n_items: int) -> None:
        """Store the list and the probability."""
        self.base = base
        self.probability = probability
        self.n_items, self.n_positions = n_items, base.size

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions).

        At a position that is replaced, each item of the pool is equally likely. An item of the list
        from another position is in the pool only if that position is replaced too.
        """
        n_positions, p = self.n_positions, self.probability
        outside = p * self._mean_inverse_pool(1, n_positions - 1)
        elsewhere = p * p * self._mean_inverse_pool(2, n_positions - 2) if n_positions > 1 else 0.0
        found = np.full((self.n_items, n_positions), outside)
        found[self.base] = elsewhere
        found[self.base, np.arange(n_positions)] = (1.0 - p) + outside
        return found

    def _mean_inverse_pool(self, replaced: int, others: int) -> float:
        """Return E[1 / size of the pool], where ``replaced`` positions are and others may be."""
        least = self.n_items - self.n_positions + replaced
        weights = _binomial(others, self.probability)
        return sum(weight / (least + more) for more, weight in enumerate(weights))

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""
        return np.array([self._prefix(ranking[: i + 1]) for i in range(ranking.size)])

    def _prefix(self, ranking: Ints) -> float:
        """Return the probability that a list begins with these items."""
        same = int(np.count_nonzero(ranking == self.base[: ranking.size]))
        other = ranking.size - same
        below = self.base[ranking.size :]
        freed = int(np.isin(below, ranking).sum())  # replaced below, as they are shown above
        least = self.n_items - self.n_positions + other + freed
        total = 0.0
        for x, weight in enumerate(_binomial(same, self.probability)):
            for y, more in enumerate(_binomial(below.size - freed, self.probability)):
                # The first other + x draws from a pool of least + x + y items are the prefix.
                total += weight * more / math.perm(least + x + y, other + x)
        return float(self.probability ** (other + freed) * total)


def _binomial(n: int, p: float) -> list[float]:
    """Return the probability of 0, 1, …, n successes in n trials."""
    return [math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(n + 1)]
