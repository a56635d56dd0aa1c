"""The Bayes regret bounds of kveton2022: by hand, in both directions, and where they fail."""

import math

import pytest

from clickrank.bounds import cascade_bayes_bound, dcm_bayes_bound, dctr_bayes_bound
from clickrank.errors import InvalidValue
from clickrank.priors import Beta


def test_by_hand() -> None:
    # log(1/δ) = 1; widths 1/2 + 1/4 make 1 + (8/2)(3/4) = 4; √(2·2·2·8) = 8.
    prior = Beta([1.0, 3.0], [1.0, 1.0])
    delta = math.exp(-1.0)
    by_hand = 8.0 * math.sqrt(math.log(4.0)) + 2 * 2 * delta * 8
    for bound in (dctr_bayes_bound, cascade_bayes_bound):
        assert bound(prior, 2, 2, 8, failure=delta) == pytest.approx(by_hand, rel=1e-14)


def test_default_failure_is_one_over_the_horizon() -> None:
    prior = Beta(2.0, 3.0)
    assert dctr_bayes_bound(prior, 5, 2, 100) == dctr_bayes_bound(prior, 5, 2, 100, failure=0.01)
    satisfaction = [0.4, 0.2]
    assert dcm_bayes_bound(prior, 5, satisfaction, 100) == (
        dcm_bayes_bound(prior, 5, satisfaction, 100, failure=0.01)
    )
    # 2 L δ n = 2 L is all that is left of a prior that knows everything.
    sure = Beta(1e14, 1e14)
    assert dctr_bayes_bound(sure, 5, 2, 100) == pytest.approx(10.0, rel=1e-3)


def test_dependent_clicks_by_hand() -> None:
    # α + β + 1 = 50·log n: the reach is 1/10, on top of the mean 0.2: θ_UCB = 0.3 for n = 100.
    weight = 50 * math.log(100) - 1
    prior = Beta(0.2 * weight, 0.8 * weight)
    one = math.sqrt(2 * 4 * 100 * math.log(50)) * math.sqrt(math.log1p(100 / weight))
    inner = 0.3 * one + 0.1 * math.sqrt(2) * one + 0.5 * math.sqrt(3) * one + 2 * 4 * 0.02 * 100
    found = dcm_bayes_bound(prior, 4, [0.9, 0.6, 0.5], 100, failure=0.02)
    assert found == pytest.approx(inner / 0.7**2 + 4, rel=1e-12)


def test_sure_satisfaction_is_the_cascade() -> None:
    prior = Beta([20.0, 30.0, 10.0, 5.0], [200.0, 300.0, 150.0, 70.0])
    reach = [
        a / (a + b) + math.sqrt(math.log(200) / (2 * (a + b + 1)))
        for a, b in zip((20, 30, 10, 5), (200, 300, 150, 70), strict=True)
    ]
    eta = (1 - max(reach)) ** 2
    expected = cascade_bayes_bound(prior, 4, 3, 200) / eta + 4
    assert dcm_bayes_bound(prior, 4, [1.0] * 3, 200) == pytest.approx(expected, rel=1e-12)
    assert dcm_bayes_bound(prior, 4, [0.5] * 3, 200) < expected
    assert dcm_bayes_bound(prior, 4, [1.0, 1.0, 0.0], 200) < expected


def test_narrower_priors_have_lower_bounds() -> None:
    weights = (1.0, 2.0, 10.0, 100.0, 1000.0)
    for bound in (dctr_bayes_bound, cascade_bayes_bound):
        found = [bound(Beta(0.1 * w, 0.9 * w), 30, 3, 500) for w in weights]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == len(found)
        # one item's width alone, positions, items, rounds
        prior = Beta([1.0, 1.0, 1.0], 5.0)
        narrower = Beta([1.0, 1.0, 1.0], [5.0, 5.0, 6.0])
        assert bound(narrower, 3, 2, 500) < bound(prior, 3, 2, 500) < bound(prior, 3, 3, 500)
        assert bound(prior, 3, 2, 500) < bound(prior, 3, 2, 600)
        assert bound(Beta(1, 5), 3, 2, 500) < bound(Beta(1, 5), 4, 2, 500)
    spread = [dcm_bayes_bound(Beta(w, 9 * w), 30, [0.5] * 3, 500) for w in (5.0, 10.0, 100.0)]
    assert spread == sorted(spread, reverse=True)


def test_priors_that_say_nothing() -> None:
    """As α and β go to 0 the bound grows as √log(1/(α + β)); showing each item once stops that."""
    for bound, lost in ((dctr_bayes_bound, 6), (cascade_bayes_bound, 5)):
        vague = [bound(Beta(w, w), 5, 3, 500) for w in (1e-3, 1e-30, 1e-100, 1e-300)]
        assert vague == sorted(vague)
        main = [each - 2 * 5 for each in vague]  # without 2 L δ n
        growth = math.sqrt(math.log1p(500 / 2e-300) / math.log1p(500 / 2e-30))
        assert main[3] / main[1] == pytest.approx(growth, rel=1e-12)
        # One observation of each item is a prior of one view more, for the clicks that it cost.
        known = bound(Beta(0.5, 0.5), 5, 3, 500)
        once = bound(Beta(1e-300, 1e-300), 5, 3, 500, shown_once=True)
        assert once == pytest.approx(known + lost, rel=1e-12)
        assert once < vague[0]


def test_without_guarantee_the_bound_is_infinite() -> None:
    wide = Beta(1.0, 1.0)  # 1/2 + √(log 500 / 6) > 1
    assert dcm_bayes_bound(wide, 30, [0.5, 0.5], 500) == math.inf
    # With a single position there is no factor 1/η.
    single = dcm_bayes_bound(wide, 30, [0.5], 500)
    explored = math.sqrt(2 * 30 * 500 * math.log(500) * math.log1p(500 / 2))
    assert single == pytest.approx(0.5 * explored + 2 * 30 + 30, rel=1e-12)
    one_bad = Beta([10.0, 10.0, 1.0], [100.0, 100.0, 1.0])
    assert dcm_bayes_bound(one_bad, 3, [0.5, 0.5], 500) == math.inf


def test_wrong_values() -> None:
    prior = Beta(1.0, 10.0)
    with pytest.raises(InvalidValue, match=r"satisfaction\[2\] does, got \[0.5, 0.4, 0.6\]"):
        dcm_bayes_bound(prior, 5, [0.5, 0.4, 0.6], 100)
    with pytest.raises(InvalidValue, match="satisfaction\\[0\\] must be between 0 and 1"):
        dcm_bayes_bound(prior, 5, [1.5], 100)
    with pytest.raises(InvalidValue, match="n_positions must be between 1 and n_items"):
        dcm_bayes_bound(prior, 2, [0.5] * 3, 100)
    with pytest.raises(InvalidValue, match="dctr_bayes_bound: n_positions must be between"):
        dctr_bayes_bound(prior, 2, 3, 100)
    with pytest.raises(InvalidValue, match="failure must be above 0"):
        cascade_bayes_bound(prior, 5, 2, 100, failure=0.0)
    with pytest.raises(InvalidValue, match="cascade_bayes_bound: horizon"):
        cascade_bayes_bound(prior, 5, 2, 0)
    with pytest.raises(InvalidValue, match="must have 5 items"):
        dctr_bayes_bound(Beta([1.0, 2.0], 3.0), 5, 2, 100)
    with pytest.raises(InvalidValue, match="prior must be a Beta"):
        dctr_bayes_bound((1.0, 2.0), 5, 2, 100)  # type: ignore[arg-type]
