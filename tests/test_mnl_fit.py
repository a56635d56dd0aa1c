"""Estimates of the multinomial logit model: each the optimum of its own objective."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from clickrank.errors import InvalidValue
from clickrank.fit import MNLEpochFit, mnl_em, mnl_geometric
from clickrank.types import Floats


def simulated(
    seed: int, items: int, positions: int, lists: int, scale: float = 1.0
) -> tuple[Floats, Floats, Floats, Floats]:
    """Clicks and epochs of random lists, and what they were drawn with."""
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0.1, 1.0, items) * scale
    bias = np.r_[1.0, rng.uniform(0.1, 1.0, positions - 1)]
    clicks, epochs = np.zeros((items, positions)), np.zeros((items, positions))
    for _ in range(lists):
        shown = rng.permutation(items)[:positions]
        for position, item in enumerate(shown):
            epochs[item, position] += 1
            p = 1.0 / (1.0 + alpha[item] * bias[position])
            clicks[item, position] += rng.geometric(p) - 1
    return clicks, epochs, alpha, bias


def exponential_loss(z: Floats, n: Floats, m: Floats) -> float:
    return float((n * np.exp(-z) + m * z).sum())


def geometric_loss(z: Floats, n: Floats, m: Floats) -> float:
    return float(((n + m) * np.logaddexp(0, z) - n * z).sum())


def directly(
    loss: Any, slope: Any, n: Floats, m: Floats, reference: int, bounds: tuple[float, float]
) -> tuple[float, Floats, Floats]:
    """Minimise by a general method, in logarithms."""
    items, positions = n.shape

    def parts(v: Floats) -> tuple[Floats, Floats]:
        y = np.insert(v[items:], reference, 0.0)
        return v[:items], y

    def value(v: Floats) -> tuple[float, Floats]:
        x, y = parts(v)
        z = x[:, None] + y
        cells = slope(z, n, m)
        return loss(z, n, m), np.r_[cells.sum(1), np.delete(cells.sum(0), reference)]

    found = optimize.minimize(
        value,
        np.zeros(items + positions - 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[bounds] * (items + positions - 1),
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 30},
    )
    x, y = parts(found.x)
    return float(found.fun), np.exp(x), np.exp(y)


SHAPES = [(0, 5, 3, 60, 1.0), (1, 12, 4, 400, 0.5), (2, 20, 5, 40, 1.0), (3, 4, 4, 25, 1.0)]


@pytest.mark.parametrize(("seed", "items", "positions", "lists", "scale"), SHAPES)
@pytest.mark.parametrize(("least", "most"), [(1e-6, math.inf), (0.05, 1.0)])
def test_em_is_the_minimum_in_its_box(
    seed: int, items: int, positions: int, lists: int, scale: float, least: float, most: float
) -> None:
    n, m, _, _ = simulated(seed, items, positions, lists, scale)
    for reference in (0, positions - 1):
        fit = mnl_em(n, m, reference=reference, least=least, most=most)
        assert fit.converged
        bounds = (math.log(least), math.log(most) if most < math.inf else 50.0)
        best, alpha, bias = directly(
            exponential_loss, lambda z, n, m: m - n * np.exp(-z), n, m, reference, bounds
        )
        assert fit.objective <= best + 1e-9 * abs(best)
        np.testing.assert_allclose(fit.attraction, alpha, rtol=2e-4)
        np.testing.assert_allclose(fit.position_bias, bias, rtol=2e-4)
        assert fit.position_bias[reference] == 1.0
        outside = np.r_[fit.attraction, np.delete(fit.position_bias, reference)]
        assert outside.min() >= least * (1 - 1e-12)
        assert outside.max() <= most


@pytest.mark.parametrize(("seed", "items", "positions", "lists", "scale"), SHAPES)
def test_em_is_the_limit_of_the_printed_steps(
    seed: int, items: int, positions: int, lists: int, scale: float
) -> None:
    n, m, _, _ = simulated(seed, items, positions, lists, scale)
    for least, most in ((1e-3, math.inf), (0.05, 1.0)):
        newton = mnl_em(n, m, least=least, most=most)
        printed = mnl_em(n, m, least=least, most=most, solver="alternate", tolerance=1e-13)
        assert printed.converged
        assert newton.iterations < printed.iterations
        np.testing.assert_allclose(newton.attraction, printed.attraction, rtol=1e-9)
        np.testing.assert_allclose(newton.position_bias, printed.position_bias, rtol=1e-9)
        assert newton.at_bound == printed.at_bound


def test_the_printed_steps_never_raise_their_own_objective_but_can_lower_the_likelihood() -> None:
    """Lemma 2 of the source says that the likelihood grows: it does not in every step."""
    fell = 0
    for seed in range(10):
        n, m, _, _ = simulated(seed, 6, 3, 15)
        own, likelihood = math.inf, -math.inf
        for steps in range(1, 40):
            try:
                fit = mnl_em(n, m, solver="alternate", iterations=steps)
            except InvalidValue:
                break
            assert fit.objective <= own + 1e-9
            z = np.log(np.outer(fit.attraction, fit.position_bias))
            now = -geometric_loss(z, n, m)
            fell += now < likelihood - 1e-6
            own, likelihood = fit.objective, now
    assert fell > 0


@pytest.mark.parametrize(("seed", "items", "positions", "lists", "scale"), SHAPES)
def test_geometric_is_the_maximum_of_the_likelihood(
    seed: int, items: int, positions: int, lists: int, scale: float
) -> None:
    n, m, _, _ = simulated(seed, items, positions, lists, scale)
    for reference in (0, positions - 1):
        fit = mnl_geometric(n, m, reference=reference)
        assert fit.converged
        best, alpha, bias = directly(
            geometric_loss,
            lambda z, n, m: (n + m) / (1 + np.exp(-z)) - n,
            n,
            m,
            reference,
            (-30.0, 30.0),
        )
        assert fit.objective <= best + 1e-9 * abs(best)
        clicked = n.sum(1) > 0
        np.testing.assert_allclose(fit.attraction[clicked], alpha[clicked], rtol=2e-4)
        np.testing.assert_allclose(fit.position_bias, bias, rtol=2e-4)
        assert (fit.attraction[~clicked] == 0).all()


def test_the_two_estimates_differ_and_both_come_close_to_the_truth() -> None:
    n, m, alpha, bias = simulated(5, 6, 3, 40_000)
    one, two = mnl_em(n, m), mnl_geometric(n, m)
    for fit in (one, two):
        for found, truth, error in (
            (fit.attraction, alpha, fit.attraction_error),
            (fit.position_bias[1:], bias[1:], fit.position_bias_error[1:]),
        ):
            assert (np.abs(found - truth) < 5 * error).all()
            assert (error < 0.05 * truth).all()
    assert np.abs(one.attraction - two.attraction).max() > 1e-4


@pytest.mark.parametrize("fit", [mnl_em, mnl_geometric])
def test_standard_errors_are_the_spread_of_estimates(fit: Any) -> None:
    found: list[MNLEpochFit] = []
    rng = np.random.default_rng(0)
    alpha, bias = np.array([0.9, 0.5, 0.3]), np.array([1.0, 0.4])
    m = np.array([[150, 50], [100, 100], [50, 150]])
    for _ in range(600):
        n = rng.negative_binomial(m, 1.0 / (1.0 + np.outer(alpha, bias)))
        found.append(fit(n, m))
    for values, errors in (
        ([f.attraction for f in found], [f.attraction_error for f in found]),
        ([f.position_bias for f in found], [f.position_bias_error for f in found]),
    ):
        spread, said = np.std(values, axis=0), np.mean(errors, axis=0)
        # A standard deviation of 600 values is known to 3 %; the errors themselves to a few more.
        np.testing.assert_allclose(said, spread, rtol=0.15)
    assert found[0].position_bias_error[0] == 0.0


def test_an_item_without_clicks_is_at_the_bound() -> None:
    n, m = [[5, 2], [4, 3], [0, 0]], [[9, 9], [9, 9], [9, 9]]
    em = mnl_em(n, m, least=0.01)
    assert em.attraction[2] == 0.01
    assert em.at_bound == ("attraction[2]",)
    assert np.isnan(em.attraction_error[2])
    assert np.isfinite(em.attraction_error[:2]).all()
    assert mnl_geometric(n, m).attraction[2] == 0.0


def test_one_item_or_one_position() -> None:
    assert mnl_em([[3]], [[6]]).attraction[0] == pytest.approx(0.5)
    assert mnl_geometric([[3]], [[6]]).attraction[0] == pytest.approx(0.5)
    fit = mnl_geometric([[3], [1]], [[6], [4]])
    assert fit.attraction == pytest.approx([0.5, 0.25])
    assert fit.attraction_error == pytest.approx(np.sqrt([0.5 * 1.5 / 6, 0.25 * 1.25 / 4]))


def test_model() -> None:
    n, m, _, _ = simulated(6, 5, 3, 3000)
    fit = mnl_geometric(n, m, reference=2)
    assert fit.position_bias.max() > 1.0
    model = fit.model
    np.testing.assert_allclose(
        np.outer(model.attraction, model.position_bias),
        np.outer(fit.attraction, fit.position_bias),
    )
    assert model.position_bias.max() == 1.0
    with pytest.raises(InvalidValue, match=r"attraction\[0\] must be at most 1 .*most=1"):
        _ = mnl_em([[30, 9], [4, 3]], [[9, 9], [9, 9]]).model


@pytest.mark.parametrize("fit", [mnl_em, mnl_geometric])
@pytest.mark.parametrize(
    ("clicks", "epochs", "message"),
    [
        ([[3, 0], [0, 2]], [[5, 1], [1, 5]], r"positions \[1\] with items \[1\] apart"),
        ([[1, 2]], [[5, 5], [5, 5]], r"epochs must have the shape of clicks, \(1, 2\)"),
        ([[1, 2], [1, 1]], [[5, 0], [5, 5]], r"clicks\[0, 1\] must be 0 where epochs is 0"),
        ([[0.5, 2]], [[5, 5]], r"clicks must be whole numbers"),
        ([[1, 2], [0, 0]], [[5, 5], [0, 0]], r"none of items \[1\]"),
        ([[1, 0], [2, 0]], [[5, 0], [5, 0]], r"none at \[1\]"),
        ([1, 2], [3, 4], r"clicks must be a table"),
        ("many", [[1]], r"clicks must be a sequence of numbers"),
    ],
)
def test_what_is_wrong_is_said(fit: Any, clicks: Any, epochs: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        fit(clicks, epochs)


def test_settings_are_checked() -> None:
    for field, value in [
        ("reference", 2),
        ("least", 0.0),
        ("most", 0.5),
        ("solver", "magic"),
    ]:
        with pytest.raises(InvalidValue, match=f"mnl_em: {field} must be"):
            mnl_em([[1, 1], [1, 1]], [[2, 2], [2, 2]], **{field: value})  # type: ignore[arg-type]


def test_a_thousand_items_take_no_time() -> None:
    n, m, alpha, _ = simulated(9, 1000, 5, 6000)
    fit = mnl_em(n, m, least=1e-3)
    assert fit.converged
    assert fit.iterations < 40
    assert np.corrcoef(fit.attraction, alpha)[0, 1] > 0.5


def test_page_on_fitting_choices() -> None:
    page = Path(__file__).parent.parent / "docs" / "howto" / "fit-choices.md"
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        exec(block, names)
    truth, fit = names["truth"], names["fit"]
    # Lists are not epochs here, so the errors are approximate: 6 of them instead of 5.
    assert (abs(fit.attraction - truth.attraction) < 6 * fit.attraction_error).all()
    assert (abs(fit.position_bias - truth.position_bias) <= 6 * fit.position_bias_error).all()


def test_no_click_tells_nothing() -> None:
    with pytest.raises(InvalidValue, match="mnl_geometric: clicks must not all be 0"):
        mnl_geometric([[0, 0], [0, 0]], [[3, 4], [1, 2]])
