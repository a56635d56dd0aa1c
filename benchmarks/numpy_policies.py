"""The same policies in plain NumPy: what clickrank's kernels are measured against.

Each class is written from the formulas in the docstring of its counterpart, with arrays over items
wherever that is natural. Where there was a choice, the faster way was taken: Newton's method
instead of bisection, one sort a round, no loop over items.
"""

from __future__ import annotations

import abc
import math

import numpy as np
from numpy.typing import NDArray

from clickrank.types import Floats, Ints

Bools = NDArray[np.bool_]

# Attractions are kept this far from 0 and 1, where logarithms end.
EDGE = 1e-12


def top(scores: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Return the k items of the largest scores, best first, ties at random."""
    return np.lexsort((rng.random(scores.size), -scores))[:k]


def kl_index(clicks: Ints, misses: Ints, kappa: Floats, delta: float) -> Floats:
    """Solve eq. 7 of 001 for each row of counts (rows, positions); infinite without a view.

    Newton's method on sqrt(Φ) - sqrt(δ) for all rows at once, halving the bracket of a row where a
    step would leave it. Where no q has Φ(q) ≤ δ, the index is the minimum of Φ.
    """
    counts = clicks + misses
    views = np.maximum(counts, 1)
    # A count of one in the logarithm where there is none: 0 · log 1 is 0.
    constant = clicks * np.log(np.maximum(clicks, 1) / (kappa * views))
    constant = (constant + misses * np.log(np.maximum(misses, 1) / views)).sum(axis=1)
    total = clicks.sum(axis=1)
    weighted = misses * kappa
    seen = np.maximum(total + weighted.sum(axis=1), 1e-9)
    mean = total / seen
    q = mean + np.sqrt(2.0 * delta * mean / seen) + delta / seen
    q = np.minimum(q, 0.5 * (mean + 1.0))
    almost_one = 1.0 - EDGE
    unseen = 1.0 - almost_one * kappa
    at_one = constant - total * math.log(almost_one) - misses @ np.log(unseen) <= delta
    at_one |= weighted @ (1.0 / unseen) <= total / almost_one
    index = np.ones(total.size)
    index[counts.sum(axis=1) == 0] = math.inf

    root = math.sqrt(delta)
    rows = np.flatnonzero(~at_one)
    new = np.clip(q[rows], EDGE, almost_one)
    low, high = np.zeros(rows.size), np.ones(rows.size)
    total, misses, weighted, constant = total[rows], misses[rows], weighted[rows], constant[rows]
    for _ in range(100):
        q = new
        unseen = 1.0 - np.multiply.outer(q, kappa)
        phi = constant - total * np.log(q) - (misses * np.log(unseen)).sum(axis=1)
        slope = (weighted / unseen).sum(axis=1) - total / q
        rising = slope > 0.0
        left = (phi <= delta) | ~rising
        low, high = np.where(left, q, low), np.where(left, high, q)
        size = np.sqrt(np.maximum(phi, 0.0))
        new = q - 2.0 * size * (size - root) / np.where(rising, slope, 1.0)
        inside = rising & (new >= low) & (new <= high)
        new = np.where(inside, new, 0.5 * (low + high))
        lost = np.flatnonzero(~inside & (phi > delta))
        if lost.size:  # perhaps no q fits: Newton towards the one that fits best
            at = q[lost]
            curvature = (weighted[lost] * kappa / unseen[lost] ** 2).sum(axis=1)
            best = at - slope[lost] / (curvature + total[lost] / at**2)
            good = (best > EDGE) & (best < almost_one)
            new[lost[good]] = best[good]
        open_rows = np.abs(new - q) >= 1e-9
        left_over = np.count_nonzero(open_rows)
        if 2 * left_over <= rows.size:  # go on with the few that need it
            index[rows] = new
            if left_over == 0:
                break
            rows, new, low, high = rows[open_rows], new[open_rows], low[open_rows], high[open_rows]
            total, misses = total[open_rows], misses[open_rows]
            weighted, constant = weighted[open_rows], constant[open_rows]
    index[rows] = new
    return index


class NumpyPolicy(abc.ABC):
    """A policy for a page with known examination."""

    #: Whether it is only a yardstick: the mean ratio is over the policies that learn.
    baseline = False

    def __init__(self, n_items: int, examination: Floats) -> None:
        """Start learning from nothing."""
        self.n_items, self.n_positions = n_items, examination.size
        self.kappa = examination
        self.t = 1
        # The j-th best item goes to the j-th most examined position.
        self.places = np.argsort(-examination, kind="stable")

    @abc.abstractmethod
    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking."""

    @abc.abstractmethod
    def update(self, ranking: Ints, clicks: Bools) -> None:
        """Learn from the clicks on the last ranking."""

    def placed(self, best: Ints) -> Ints:
        """Return the ranking that shows these items, best first, by prominence of positions."""
        ranking = np.empty(self.n_positions, dtype=np.int64)
        ranking[self.places] = best
        return ranking


class Uniform(NumpyPolicy):
    """A random list every round."""

    baseline = True

    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking."""
        return rng.permutation(self.n_items)[: self.n_positions]

    def update(self, ranking: Ints, clicks: Bools) -> None:
        """Learn nothing."""
        self.t += 1


class Pooled(NumpyPolicy):
    """Counts of each item over all positions."""

    def __init__(self, n_items: int, examination: Floats) -> None:
        """Start learning from nothing."""
        super().__init__(n_items, examination)
        self.clicks = np.zeros(n_items)
        self.views = np.zeros(n_items)
        self.seen = np.zeros(n_items)

    def update(self, ranking: Ints, clicks: Bools) -> None:
        """Count; the items of a ranking are distinct, so that += counts each."""
        self.t += 1
        self.clicks[ranking] += clicks
        self.views[ranking] += 1.0
        self.seen[ranking] += self.kappa


class PBMUCB(Pooled):
    """S/Ñ + sqrt(N/Ñ) · sqrt(log t/(2 Ñ))."""

    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking."""
        seen = np.maximum(self.seen, 1e-9)
        scores = (self.clicks + np.sqrt(self.views * (0.5 * math.log(self.t)))) / seen
        if self.t <= self.n_items:
            scores[self.views == 0] = math.inf
        return self.placed(top(scores, self.n_positions, rng))


class BCMPTS(Pooled):
    """θ ~ Beta(1 + S, 1 + max(Ñ - S, 0))."""

    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking; draws do not tie."""
        draws = rng.beta(1.0 + self.clicks, 1.0 + np.maximum(self.seen - self.clicks, 0.0))
        return self.placed(np.argsort(-draws)[: self.n_positions])


class ByPosition(NumpyPolicy):
    """Counts of each item at each position."""

    def __init__(self, n_items: int, examination: Floats) -> None:
        """Start learning from nothing."""
        super().__init__(n_items, examination)
        self.clicks = np.zeros((n_items, self.n_positions), dtype=np.int64)
        self.misses = np.zeros((n_items, self.n_positions), dtype=np.int64)
        self.positions = np.arange(self.n_positions)

    def update(self, ranking: Ints, clicks: Bools) -> None:
        """Count."""
        self.t += 1
        self.clicks[ranking, self.positions] += clicks
        self.misses[ranking, self.positions] += ~clicks


class PBMKLUCB(ByPosition):
    """The KL index of eq. 7."""

    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking."""
        scores = kl_index(self.clicks, self.misses, self.kappa, math.log(self.t))
        return self.placed(top(scores, self.n_positions, rng))


class PBMPIE(ByPosition):
    """Leaders by S/Ñ; at the least examined position, half the time, a promising other item."""

    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking."""
        views = self.clicks + self.misses
        unstarted = np.flatnonzero(views[:, 0] == 0)
        if unstarted.size:
            rotation: Ints = (rng.choice(unstarted) + self.positions) % self.n_items
            return rotation
        means = self.clicks.sum(axis=1) / (views @ self.kappa)
        leaders = top(means, self.n_positions, rng)
        ranking = self.placed(leaders)
        others = np.delete(np.arange(self.n_items), leaders)
        if others.size:
            delta = math.log(self.t)
            bounds = kl_index(self.clicks[others], self.misses[others], self.kappa, delta)
            promising = others[bounds >= means[leaders[-1]]]
            if promising.size and rng.random() < 0.5:
                ranking[self.places[-1]] = rng.choice(promising)
        return ranking


class PBMTS(ByPosition):
    """Exact posterior draws by rejection from the Beta of the most used position (001, section 4).

    θ = X/κ_m with X ~ Beta(1 + S_m, 1 + F_m) has the density of position m's counts; it is accepted
    with the ratio of the other positions' likelihood to its maximum, and rejected above one.
    """

    def __init__(self, n_items: int, examination: Floats) -> None:
        """Start learning from nothing: the maxima of the likelihoods of no counts are 0."""
        super().__init__(n_items, examination)
        self.proposal = np.ones((n_items, 2))
        self.used = np.full(n_items, examination[0])  # κ_m
        self.clicks_left = np.zeros(n_items)
        self.misses_left = np.zeros((n_items, self.n_positions))
        self.largest = np.zeros(n_items)

    def update(self, ranking: Ints, clicks: Bools) -> None:
        """Count, and prepare the draws of the items whose counts have changed."""
        super().update(ranking, clicks)
        self.prepare(ranking)

    def prepare(self, items: Ints) -> None:
        """Choose the proposals of these items, and bound what they leave out."""
        s, f = self.clicks[items], self.misses[items]
        rows = np.arange(items.size)
        m = (s + f).argmax(axis=1)
        self.proposal[items] = np.stack([1.0 + s[rows, m], 1.0 + f[rows, m]], axis=1)
        self.used[items] = self.kappa[m]
        left = f.astype(np.float64)
        left[rows, m] = 0.0
        total = (s.sum(axis=1) - s[rows, m]).astype(np.float64)
        self.clicks_left[items], self.misses_left[items] = total, left
        mode = self.mode(total, left)
        self.largest[items] = self.log_likelihood(total, left, mode[:, None])[:, 0]

    def mode(self, clicks: Floats, misses: Floats) -> Floats:
        """Maximise S log θ + Σ F log(1 - κθ) over (0, 1], by Newton on θ times its derivative."""
        weighted = misses * self.kappa
        x = (clicks + 1e-12) / (clicks + weighted.sum(axis=1) + 1e-12)
        low, high = np.full(x.size, EDGE), np.full(x.size, 1.0 - EDGE)
        new: Floats = np.clip(x, low, high)
        for _ in range(60):
            x = new
            unseen = 1.0 - np.multiply.outer(x, self.kappa)
            parts = weighted / unseen
            value = clicks - x * parts.sum(axis=1)
            slope = (parts / unseen).sum(axis=1)
            low, high = np.where(value > 0.0, x, low), np.where(value > 0.0, high, x)
            new = x + value / np.maximum(slope, 1e-12)
            new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
            if np.abs(new - x).max() < 1e-7:  # the maximum is off by the square of that
                break
        return new

    def log_likelihood(self, clicks: Floats, misses: Floats, x: Floats) -> Floats:
        """Log-likelihood of counts (rows), (rows, positions) at attractions (rows, draws)."""
        unseen = 1.0 - x[:, :, None] * self.kappa
        miss: Floats = np.matmul(np.log(unseen), misses[:, :, None])[:, :, 0]
        return clicks[:, None] * np.log(x) + miss

    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking; draws do not tie."""
        return self.placed(np.argsort(-self.draw(rng))[: self.n_positions])

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw from each posterior, several proposals at once for items that have no draw yet."""
        draws = np.empty(self.n_items)
        open_items = np.arange(self.n_items)
        tries = 4
        while open_items.size:
            a, b = self.proposal[open_items].T
            shape = (open_items.size, tries)
            x = rng.beta(a[:, None], b[:, None], shape) / self.used[open_items, None]
            inside = x < 1.0
            np.clip(x, EDGE, 1.0 - EDGE, out=x)
            ratio = self.log_likelihood(
                self.clicks_left[open_items], self.misses_left[open_items], x
            )
            ratio -= self.largest[open_items, None]
            good = inside & (np.log(rng.random(shape)) <= ratio)
            first = good.argmax(axis=1)
            found = good.any(axis=1)
            draws[open_items[found]] = x[found, first[found]]
            open_items = open_items[~found]
            tries = min(4 * tries, 1024)
        return draws


class RBAKLUCB(NumpyPolicy):
    """A KL-UCB bandit for each position."""

    def __init__(self, n_items: int, examination: Floats) -> None:
        """Start learning from nothing."""
        super().__init__(n_items, examination)
        self.rewards = np.zeros((self.n_positions, n_items), dtype=np.int64)
        self.failures = np.zeros((self.n_positions, n_items), dtype=np.int64)
        self.certain = np.ones(1)
        self.positions = np.arange(self.n_positions)
        self.choices = np.zeros(self.n_positions, dtype=np.int64)

    def rank(self, rng: np.random.Generator) -> Ints:
        """Choose a ranking; a choice already shown above is replaced by a random item."""
        rewards, failures = self.rewards.reshape(-1, 1), self.failures.reshape(-1, 1)
        index = kl_index(rewards, failures, self.certain, math.log(self.t))
        index = index.reshape(self.n_positions, self.n_items)
        tied = index == index.max(axis=1, keepdims=True)
        self.choices = (tied * rng.random(index.shape)).argmax(axis=1)
        ranking: list[int] = []
        for choice in self.choices.tolist():
            shown = choice
            while shown in ranking:
                shown = int(rng.integers(self.n_items))
            ranking.append(shown)
        return np.array(ranking)

    def update(self, ranking: Ints, clicks: Bools) -> None:
        """Reward a bandit only if its own choice was shown and clicked."""
        self.t += 1
        reward = clicks & (ranking == self.choices)
        self.rewards[self.positions, self.choices] += reward
        self.failures[self.positions, self.choices] += ~reward


#: The counterparts by the registered names; "oracle" has nothing to learn or choose.
NUMPY_POLICIES: dict[str, type[NumpyPolicy]] = {
    "bc-mp-ts": BCMPTS,
    "pbm-kl-ucb": PBMKLUCB,
    "pbm-pie": PBMPIE,
    "pbm-ts": PBMTS,
    "pbm-ucb": PBMUCB,
    "rba-kl-ucb": RBAKLUCB,
    "uniform": Uniform,
}


def simulate(
    policy: NumpyPolicy, attraction: Floats, horizon: int, rng: np.random.Generator
) -> float:
    """Let a policy meet position-based users; return its cumulative expected regret."""
    kappa = policy.kappa
    best = float(np.sort(attraction)[::-1][: kappa.size] @ np.sort(kappa)[::-1])
    regret = 0.0
    for _ in range(horizon):
        ranking = policy.rank(rng)
        p = kappa * attraction[ranking]
        policy.update(ranking, rng.random(kappa.size) < p)
        regret += best - float(p.sum())
    return regret
