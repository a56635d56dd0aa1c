"""Small naive computations that tests compare numerics and formulas with: slow, and plain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from clickrank._core.arrays import Floats, Ints

# Sorting.


def drawn_sort(values: Sequence[float], k: int, rng: np.random.Generator) -> list[int]:
    """Return the top k; each place of a tie is drawn from the tied items that are left."""
    out: list[int] = []
    while len(out) < k:
        value = max(values[item] for item in range(len(values)) if item not in out)
        group = [item for item in range(len(values)) if values[item] == value]
        for i in range(min(k - len(out), len(group))):
            if len(group) - i > 1:
                other = i + int(rng.random() * (len(group) - i))
                group[i], group[other] = group[other], group[i]
            out.append(group[i])
    return out


# Divergences and the indices that follow from them.


def kl(p: float, q: float) -> float:
    """Return the Kullback-Leibler divergence of two Bernoulli distributions."""
    total = 0.0
    if p > 0:
        total += math.inf if q <= 0 else p * math.log(p / q)
    if p < 1:
        total += math.inf if q >= 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return total


def index_by_bisection(clicks: Ints, views: Ints, kappa: Floats, delta: float) -> float:
    """Return the largest q ≤ 1 with Σ n d(s/n, κq) ≤ δ, right of the minimum of that sum."""
    rows = zip(clicks.tolist(), views.tolist(), kappa.tolist(), strict=True)
    seen = [(n, s / n, k) for s, n, k in rows if n > 0]

    def phi(q: float) -> float:
        return math.fsum([n * kl(mean, k * q) for n, mean, k in seen])

    low, high = 0.0, 1.0
    for _ in range(90):  # the minimum, by ternary search on a convex function
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if phi(a) < phi(b):
            high = b
        else:
            low = a
    low = (low + high) / 2
    if phi(1.0) <= max(delta, phi(low)):  # feasible, or the minimum itself
        return 1.0
    high = 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):  # there is no number between them
            break
        if phi(middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def upper_by_bisection(clicks: int, views: int, delta: float) -> float:
    """Return the largest q with n d(c/n, q) ≤ δ, infinite for n = 0."""
    if views == 0:
        return math.inf
    low, high = clicks / views, 1.0
    if views * kl(low, high) <= delta:
        return high
    mean = low
    for _ in range(100):
        middle = (low + high) / 2
        if views * kl(mean, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


# Posteriors and matrices.


def mixture(beta: float, doubtful: list[tuple[int, float]], alpha: float) -> tuple[Floats, Floats]:
    """Return weights and second parameters of the Betas that the posterior is a mixture of.

    A miss at a position of examination κ was looked at, which adds 1 to β, or it was not:
    1 - κx = κ(1 - x) + (1 - κ).
    """
    weights = np.ones(1)
    for misses, kappa in doubtful:
        for _ in range(misses):
            weights = np.append((1.0 - kappa) * weights, 0.0) + np.append(0.0, kappa * weights)
    betas = beta + np.arange(weights.size, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(weights) + special.betaln(alpha, betas)
    scaled: Floats = np.exp(logs - logs.max())
    return scaled / scaled.sum(), betas


def leading_right_vector(rates: Floats) -> Floats:
    """Return 2^16 steps of power iteration on the Gram matrix, from ones; rounded to 2^-26."""
    _, values, vectors = np.linalg.svd(rates)
    if values[0] == 0.0:
        return np.ones(rates.shape[1])
    weights = (values / values[0]) ** (2 * 2**16)
    parts = vectors[: values.size]
    vector: Floats = (weights * parts.sum(axis=1)) @ parts
    rounded: Floats = np.floor(vector / np.linalg.norm(vector) * 2.0**26 + 0.5) / 2.0**26
    return rounded


# Ordered partitions, and what TopRank and UniRank count.


def peel(n_items: int, superiors: dict[int, set[int]]) -> list[list[int]]:
    """Take off, again and again, the items that none beats of those left; a circle stays whole."""
    left = set(range(n_items))
    blocks = []
    while left:
        free = {i for i in left if not superiors[i] & left} or set(left)
        blocks.append(sorted(free))
        left -= free
    return blocks


def numbered(subsets: list[list[int]], n_items: int) -> list[int]:
    """Return the number of each item's subset, from 1; 0 for items in none."""
    found = [0] * n_items
    for number, subset in enumerate(subsets, start=1):
        for item in subset:
            found[item] = number
    return found


class TopRankPairs:
    """S, N and the edges of TopRank, counted pair by pair as its definition says."""

    def __init__(self, n_items: int, failure: float | None = None, guess: int = 0) -> None:
        """Start; with δ = ``failure``, or with doubling, from a ``guess`` of the horizon."""
        self.n_items, self.failure, self.guess = n_items, failure, guess
        self.epoch = 0
        self.forget()

    def forget(self) -> None:
        """Begin an epoch."""
        self.settled = 0
        self.s = np.zeros((self.n_items, self.n_items), dtype=np.int64)
        self.n = np.zeros((self.n_items, self.n_items), dtype=np.int64)
        self.superiors: dict[int, set[int]] = {i: set() for i in range(self.n_items)}

    def memo(self) -> list[int]:
        """Return the block of each item, from 0, and with doubling the epoch."""
        blocks = [d - 1 for d in numbered(peel(self.n_items, self.superiors), self.n_items)]
        return [*blocks, self.epoch] if self.guess else blocks

    def edges(self) -> set[tuple[int, int]]:
        """Return all (i, j) where i beats j."""
        return {(i, j) for j, above in self.superiors.items() for i in above}

    def update(self, ranking: Ints, memo: Ints, clicks: Ints) -> None:
        """Count one list, which was shown with the partition of its memo."""
        if self.guess and memo[-1] != self.epoch:
            return
        block = memo.tolist()
        c = [0] * self.n_items
        for item, click in zip(ranking.tolist(), clicks.tolist(), strict=True):
            c[item] = click
        for i in range(self.n_items):
            for j in range(self.n_items):
                if block[i] != block[j] or c[i] == c[j]:
                    continue  # U = 0: neither S nor N changes, nor what they prove
                self.s[i, j] += c[i] - c[j]
                self.n[i, j] += 1
                if self.s[i, j] >= self.width(int(self.n[i, j])):
                    self.superiors[j].add(i)
        self.settled += 1
        if self.guess and self.settled == self.guess * 2**self.epoch:
            self.epoch += 1
            self.forget()

    def width(self, n: int) -> float:
        """Return √(2n log(c √n / δ))."""
        delta = self.failure or 1.0 / float(self.guess * 2**self.epoch)
        c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
        return math.sqrt(2 * n * math.log(c / delta * math.sqrt(n)))


def dominates(wins: Ints, t: int, i: int, j: int) -> bool:
    """Return whether UniRank's s̃_ij ≥ 0 in round t."""
    trials = wins[i, j] + wins[j, i]
    if trials == 0:
        return False
    loglog = math.log(math.log(t)) if t > math.e else 0.0
    return bool((wins[i, j] - wins[j, i]) / trials - math.sqrt(loglog / trials) >= 0)


def elicit(wins: Ints, t: int, n_positions: int) -> tuple[list[list[int]], list[int]]:
    """Return the subsets of UniRank's Algorithm 11 that are shown, and the last one."""
    rest = list(range(len(wins)))
    subsets: list[list[int]] = []
    while rest and sum(map(len, subsets)) < n_positions:
        best = [j for j in rest if not any(dominates(wins, t, i, j) for i in rest)] or rest
        subsets.append(best)
        rest = [j for j in rest if j not in best]
    return subsets, rest


def pair_index(wins: Ints, i: int, j: int, led: int) -> float:
    """Return UniRank's s̲_ij, by bisection, for a leader of ``led`` rounds."""
    trials = int(wins[i, j] + wins[j, i])
    if trials == 0 or led == 0 or wins[i, j] == 0:
        return -1.0
    mean = float(wins[i, j]) / trials
    budget = math.log(led) + (3 * math.log(math.log(led)) if led > math.e else 0.0)
    if budget == 0.0:
        return 2 * mean - 1
    low, high = 0.0, mean
    for _ in range(100):
        middle = (low + high) / 2
        if trials * kl(mean, middle) <= budget:
            high = middle
        else:
            low = middle
    return 2 * high - 1
