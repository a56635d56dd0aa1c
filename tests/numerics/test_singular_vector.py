"""The leading vector against LAPACK, whatever it starts from, and ε_n-greedy's random items."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickrank._core.arrays import Floats
from clickrank.checks.kernel_checks import assert_same_rounds
from clickrank.clickmodels import PBM
from clickrank.learning import Learner
from clickrank.numerics.singular_vector import leading_vector
from clickrank.policies import EpsilonGreedy
from tests.naive import leading_right_vector


def leading(rates: Floats, guess: Floats) -> Floats:
    n = rates.shape[1]
    out = np.empty(n)
    start = guess / np.linalg.norm(guess)
    leading_vector(rates.T @ rates, start, np.empty((2, n, n)), out)
    return out


@st.composite
def rate_matrices(draw: st.DrawFn) -> Floats:
    """Rates of counts, small ones often: they tie, and make singular values that are not single."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    most = draw(st.sampled_from([1, 2, 5, 10**6]))
    views = st.integers(0, most)
    table = np.zeros((rows, columns))
    for i in range(rows):
        for k in range(columns):
            n = draw(views)
            table[i, k] = draw(st.integers(0, n)) / n if n else 0.0
    return table


@settings(max_examples=600, deadline=None, derandomize=True)
@given(rate_matrices(), st.integers(0, 2**32 - 1))
def test_leading_vector(rates: Floats, seed: int) -> None:
    """One multiple of 2^-26 is what rounding at the edge of a cell may do to LAPACK's vector."""
    rng = np.random.default_rng(seed)
    n = rates.shape[1]
    found = leading(rates, np.ones(n))
    want = leading_right_vector(rates)
    assert np.abs(found - want).max() <= 2.0**-26
    for guess in np.array([rng.random(n) + 1e-3, np.eye(n)[0], want + 1e-9]):
        assert leading(rates, guess).tolist() == found.tolist()


def test_leading_vector_of_noisy_products() -> None:
    """Where power iteration succeeds, which is nearly always in practice: equal to LAPACK's."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        product = np.outer(rng.random(10), rng.random(5))
        rates = rng.binomial(500, product) / 500
        found = leading(rates, rng.random(5) + 0.1)
        assert np.abs(found - leading_right_vector(rates)).max() <= 2.0**-26
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-7)


def test_start_at_the_wrong_block() -> None:
    """A start without any part in the leading direction must be noticed."""
    rates = np.diag([0.5, 0.9, 0.1])
    assert leading(rates, np.array([1.0, 0.0, 0.0])).tolist() == [0.0, 1.0, 0.0]


def test_equal_singular_values_are_shared() -> None:
    found = leading(np.diag([0.5, 0.5, 0.1]), np.array([1.0, 0.0, 0.0]))
    assert found[0] == found[1] == pytest.approx(0.5**0.5, abs=1e-8)
    assert found[2] == 0.0
    assert leading(np.zeros((2, 3)), np.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_each_item_is_replaced_with_probability_epsilon() -> None:
    """Positions keep the greedy item, or draw it again, with probability 1 - ε + ε·E[1/pool]."""
    learner = Learner(EpsilonGreedy(exploration=30.0), 4, 2, seed=0)
    for ranking, click in (([0, 1], 1), ([1, 2], 0), ([2, 3], 0), ([3, 0], 0), ([0, 2], 1)):
        for _ in range(20):
            learner.update(ranking, [], [click, click])
    epsilon = 30.0 / 101.0
    counts = np.zeros((4, 4))
    trials = 40_000
    rng = np.random.default_rng(1)
    for _ in range(trials):
        a, b = learner.rank(rng)[0]
        counts[a, b] += 1
    greedy = np.unravel_index(counts.argmax(), counts.shape)
    want = np.zeros((4, 4))
    for a in range(4):
        for b in range(4):
            if a == b:
                continue
            first, second = int(a == greedy[0]), int(b == greedy[1])
            want[a, b] += (1 - epsilon) ** 2 * first * second
            want[a, b] += (1 - epsilon) * epsilon * (first + second) / 3
            want[a, b] += epsilon**2 / 12
    error = np.sqrt(want * (1 - want) / trials)
    assert (np.abs(counts / trials - want) <= 5.5 * error).all()  # 12 cells: below 1e-6


def test_all_random_before_c() -> None:
    learner = Learner(EpsilonGreedy(exploration=50.0), 3, 2, seed=0)
    for _ in range(49):
        learner.update([0, 1], [], [1, 1])
    rng = np.random.default_rng(2)
    counts = np.zeros((3, 3))
    for _ in range(6000):
        a, b = learner.rank(rng)[0]
        counts[a, b] += 1
    assert (np.abs(counts[~np.eye(3, dtype=bool)] - 1000) < 5.5 * np.sqrt(6000 * 5 / 36)).all()


@pytest.mark.parametrize("exploration", [1.0, 30.0])
def test_the_start_of_the_fit_does_not_matter(exploration: float) -> None:
    """Dropping the cache before every ranking changes none: the fit is the same from any start."""
    users = PBM([0.5, 0.4, 0.4, 0.2, 0.1], [0.5, 1.0, 0.7])
    kept, fresh = (Learner(EpsilonGreedy(exploration), 5, 3) for _ in range(2))
    assert_same_rounds(kept, fresh, users, 2000, "from another start", seed=4, drop=True)
