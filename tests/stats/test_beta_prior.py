"""The Beta prior as a value."""

import numpy as np
import pytest
from scipy import stats

from clickrank.errors import InvalidValue
from clickrank.priors import Beta


def test_moments_and_quantiles_are_scipys() -> None:
    prior = Beta([0.3, 2.0, 50.0], [1.7, 3.0, 7.0])
    frozen = stats.beta(prior.alpha, prior.beta)
    np.testing.assert_allclose(prior.mean, frozen.mean(), rtol=1e-13)
    np.testing.assert_allclose(prior.variance, frozen.var(), rtol=1e-13)
    np.testing.assert_allclose(prior.quantile(0.9), frozen.ppf(0.9), rtol=1e-10)


def test_a_number_stands_for_every_item() -> None:
    everywhere = Beta(1, 10)
    assert everywhere.n_items is None
    alpha, beta = everywhere.for_items(3)
    assert alpha.tolist() == [1.0] * 3
    assert beta.tolist() == [10.0] * 3
    assert everywhere.relabelled(np.array([2, 0, 1])) is everywhere
    assert Beta([1, 2], 3).beta == (3.0, 3.0)
    assert Beta() == Beta(1.0, 1.0)
    assert hash(Beta([1, 2], [3, 4])) == hash(Beta((1.0, 2.0), np.array([3.0, 4.0])))


def test_widened_and_sharpened_keep_the_mean() -> None:
    prior = Beta([1.0, 6.0], [4.0, 2.0])
    for other, factor in ((prior.widened(4), 0.25), (prior.sharpened(3), 3.0)):
        np.testing.assert_allclose(other.mean, prior.mean, rtol=1e-14)
        np.testing.assert_allclose(other.weight, factor * prior.weight, rtol=1e-14)
    assert prior.sharpened(8).widened(8) == prior


def test_pseudo_counts_add_up() -> None:
    prior = Beta([1.0, 2.0], [3.0, 4.0])
    assert prior.updated([1, 0], [0, 2]) == Beta([2.0, 2.0], [3.0, 6.0])
    assert prior.updated(1, 1) == Beta([2.0, 3.0], [4.0, 5.0])
    assert Beta().updated([3, 0], [7, 10]) == Beta([4.0, 1.0], [8.0, 11.0])


def test_relabelled_and_sampled() -> None:
    prior = Beta([1e6, 1.0, 2e6], [1e6, 1e6, 1e6])
    order = np.array([2, 0, 1])
    assert prior.relabelled(order) == Beta([2e6, 1e6, 1.0], [1e6, 1e6, 1e6])
    np.testing.assert_allclose(prior.sample(3, 0), prior.mean, atol=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beta(0, 1), "Beta: alpha must be above 0, got 0."),
        (lambda: Beta([1, -2], 1), "Beta: alpha[1] must be above 0 and at most 1e+15, got -2.0."),
        (lambda: Beta([1, float("nan")], 1), "alpha[1] must be above 0"),
        (
            lambda: Beta(1, "x"),  # type: ignore[arg-type]
            "Beta: beta must be a number",
        ),
        (lambda: Beta([1, 2], [1, 2, 3]), "must have the same length, got (2, 3)."),
        (lambda: Beta([], 1), "Beta: alpha must be a number or a non-empty vector"),
        (lambda: Beta([1, 2], 1).for_items(3), "Beta: prior must have 3 items, or hold for all"),
        (lambda: Beta.from_mean([0.2, 1.0], 3), "mean must be above 0 and below 1, got 1.0."),
        (lambda: Beta().updated(-1, 0), "clicks must be a number or a vector of at least 0"),
        (lambda: Beta().widened(0), "factor must be above 0"),
        (
            lambda: Beta([1, 2], 1).updated([1, 2, 3], 0),
            "clicks must have the same number",
        ),
        (
            lambda: Beta(1, 1).updated([1, 2], [1]),
            "clicks and misses must have the same",
        ),
        (
            lambda: Beta.from_mean([0.1, 0.2], [1, 2, 3]),
            "mean and weight must have the same",
        ),
        (lambda: Beta().quantile(2.0), "Beta: p must be a number between 0 and 1, got 2.0."),
        (lambda: Beta([1, 2], 1).relabelled(np.array([1, 1])), "of 2 items, each at most once"),
        (lambda: Beta([1, 2], 1).relabelled(np.array([2])), "of 2 items, each at most once"),
    ],
)
def test_errors_say_what_is_wrong(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidValue) as error:
        make()
    assert message in str(error.value)
