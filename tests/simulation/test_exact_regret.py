"""Exact expected regret of a tiny instance, by enumerating every history, against simulation.

Two items, one position: a policy is then the probability of showing item 0 after given counts,
which each function below computes from the paper's formula. The exact expectation over all
sequences of choices and clicks must agree with simulated runs within 5 standard errors (a false
alarm of each test below 1e-6).
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

import clickrank as cr
from clickrank._core.arrays import Floats
from tests.naive import index_by_bisection

KAPPA = 0.6
THETA = (0.8, 0.3)
HORIZON = 6
Counts = tuple[int, int, int, int]  # clicks and views of item 0, clicks and views of item 1
Chance = Callable[[Counts], float]


def prefers(one: float, two: float) -> float:
    return 1.0 if one > two else 0.0 if one < two else 0.5


def ucb(counts: Counts) -> float:
    s0, n0, s1, n1 = counts
    t = n0 + n1 + 1

    def bound(s: int, n: int) -> float:
        if n == 0:
            return math.inf
        seen = KAPPA * n
        return s / seen + math.sqrt(n / seen) * math.sqrt(math.log(t) / (2 * seen))

    return prefers(bound(s0, n0), bound(s1, n1))


def kl_index(s: int, n: int, t: int, kappa: float) -> float:
    if n == 0:
        return math.inf
    return index_by_bisection(np.array([s]), np.array([n]), np.array([kappa]), math.log(t))


def kl_ucb(counts: Counts) -> float:
    s0, n0, s1, n1 = counts
    t = n0 + n1 + 1
    return prefers(kl_index(s0, n0, t, KAPPA), kl_index(s1, n1, t, KAPPA))


def rba(counts: Counts) -> float:
    s0, n0, s1, n1 = counts
    t = n0 + n1 + 1
    return prefers(kl_index(s0, n0, t, 1.0), kl_index(s1, n1, t, 1.0))


def pie(counts: Counts) -> float:
    s0, n0, s1, n1 = counts
    if n0 == 0 or n1 == 0:
        return prefers(-n0, -n1)
    t = n0 + n1 + 1
    means = (s0 / (KAPPA * n0), s1 / (KAPPA * n1))
    chance = 0.0
    for leader, other, weight in ((0, 1, prefers(*means)), (1, 0, 1 - prefers(*means))):
        s, n = counts[2 * other], counts[2 * other + 1]
        tries = kl_index(s, n, t, KAPPA) >= means[leader]
        shows_leader = 0.5 if tries else 1.0
        chance += weight * (shows_leader if leader == 0 else 1 - shows_leader)
    return chance


def wins(one: Callable[[Floats], Floats], two: Callable[[Floats], Floats]) -> float:
    """P(X > Y) for independent draws of these densities (unnormalised) on [0, 1]."""
    x = np.linspace(0.0, 1.0, 20_001)
    f, g = one(x), two(x)
    below = integrate.cumulative_simpson(g, x=x, initial=0.0)
    return float(integrate.simpson(f * below, x=x) / (integrate.simpson(f, x=x) * below[-1]))


def ts(counts: Counts) -> float:
    s0, n0, s1, n1 = counts
    return wins(
        lambda x: x**s0 * (1 - KAPPA * x) ** (n0 - s0),
        lambda x: x**s1 * (1 - KAPPA * x) ** (n1 - s1),
    )


def bc_mp_ts(counts: Counts) -> float:
    s0, n0, s1, n1 = counts
    one = stats.beta(1 + s0, 1 + max(KAPPA * n0 - s0, 0))
    two = stats.beta(1 + s1, 1 + max(KAPPA * n1 - s1, 0))
    return wins(one.pdf, two.pdf)


CHANCES: dict[str, Chance] = {
    "pbm-ucb": ucb,
    "pbm-kl-ucb": kl_ucb,
    "rba-kl-ucb": rba,
    "pbm-pie": pie,
    "pbm-ts": ts,
    "bc-mp-ts": bc_mp_ts,
}


def exact_regret(chance: Chance) -> float:
    gap = KAPPA * (THETA[0] - THETA[1])

    @functools.cache
    def rest(counts: Counts) -> float:
        s0, n0, s1, n1 = counts
        if n0 + n1 == HORIZON:
            return 0.0
        p = chance(counts)
        total = (1 - p) * gap
        for click in (0, 1):
            for item, weight in ((0, p), (1, 1 - p)):
                q = KAPPA * THETA[item]
                q = q if click else 1 - q
                after = (s0 + click, n0 + 1, s1, n1) if item == 0 else (s0, n0, s1 + click, n1 + 1)
                if weight > 0:
                    total += weight * q * rest(after)
        return total

    return rest((0, 0, 0, 0))


@pytest.mark.parametrize("name", CHANCES)
def test_expected_regret(name: str) -> None:
    model = cr.clickmodels.PBM(THETA, [KAPPA])
    found = cr.simulate(name, model, HORIZON, runs=4_000, seed=1).regret[:, -1]
    error = found.std(ddof=1) / math.sqrt(found.size)
    assert abs(found.mean() - exact_regret(CHANCES[name])) < 5 * error
