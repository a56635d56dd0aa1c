"""Estimates of the multinomial logit model: each the optimum of its own objective."""

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from clickrank._core.arrays import Floats
from clickrank.clickmodels import MNL
from clickrank.errors import InvalidValue
from clickrank.fit import fit_mnl, mnl_composite, mnl_em
from clickrank.logs import Counts
from tests.paths import DOCS


def epoch(rng: np.random.Generator, weights: Floats) -> Any:
    """The clicks on a list until nobody clicks: how many there are, and then on which items."""
    none = 1.0 / (1.0 + weights.sum())
    return rng.multinomial(rng.geometric(none) - 1, weights / weights.sum())


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
        epochs[shown, np.arange(positions)] += 1
        clicks[shown, np.arange(positions)] += epoch(rng, alpha[shown] * bias)
    return clicks, epochs, alpha, bias


def exponential_loss(z: Floats, n: Floats, m: Floats) -> float:
    return float((n * np.exp(-z) + m * z).sum())


def composite_loss(z: Floats, n: Floats, m: Floats) -> float:
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


SHAPES = [(0, 5, 3, 60, 1.0), (1, 12, 4, 400, 0.5), (2, 20, 5, 40, 1.0), (4, 4, 4, 40, 1.0)]


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
            now = -composite_loss(z, n, m)
            fell += now < likelihood - 1e-6
            own, likelihood = fit.objective, now
    assert fell > 0


@pytest.mark.parametrize(("seed", "items", "positions", "lists", "scale"), SHAPES)
def test_composite_is_the_minimum_of_its_objective(
    seed: int, items: int, positions: int, lists: int, scale: float
) -> None:
    n, m, _, _ = simulated(seed, items, positions, lists, scale)
    for reference in (0, positions - 1):
        fit = mnl_composite(n, m, reference=reference)
        assert fit.converged
        best, alpha, bias = directly(
            composite_loss,
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


ALPHA, BIAS = np.array([0.6, 0.5, 0.3, 0.4]), np.array([1.0, 0.4, 0.6])


def log_of_epochs(seed: int, n_epochs: int) -> tuple[Counts, Floats, Floats]:
    """A log of lists, each shown until nobody clicked, and its two tables."""
    rng = np.random.default_rng(seed)
    clicks, epochs = np.zeros((4, 3)), np.zeros((4, 3))
    lists, marks = [], []
    for _ in range(n_epochs):
        shown = rng.permutation(4)[:3]
        found = epoch(rng, ALPHA[shown] * BIAS)
        clicks[shown, np.arange(3)] += found
        epochs[shown, np.arange(3)] += 1
        rows = np.vstack([np.repeat(np.eye(3, dtype=int), found, axis=0), np.zeros(3, dtype=int)])
        lists.append(np.tile(shown, (len(rows), 1)))
        marks.append(rows)
    return Counts.of_lists(np.vstack(lists), np.vstack(marks)), clicks, epochs


def likelihood(counts: Counts, attraction: Floats, bias: Floats) -> float:
    """The log-likelihood of a log, list by list, as grant2020, eq. 3 has it."""
    sessions = counts.sessions
    assert sessions is not None
    total = 0.0
    model = MNL(attraction, bias)
    for items, clicks, times in zip(sessions.items, sessions.clicks, sessions.times, strict=True):
        each = model.click_probabilities(items)
        chance = each[clicks == 1].sum() if clicks.any() else 1.0 - each.sum()
        total += int(times) * math.log(float(chance))
    return total


def test_counts_of_one_epoch_depend_on_each_other() -> None:
    """Covariance μ_i μ_j, which the source takes for 0 (Lemma 1): by rounds of the click model."""
    model, rng = MNL([0.8, 0.6], [1.0, 0.9]), np.random.default_rng(1)
    found = []
    for _ in range(4000):
        counts = np.zeros(2)
        while (clicks := model.sample([0, 1], rng)).any():
            counts += clicks
        found.append(counts)
    products = np.prod(np.array(found) - [0.8, 0.54], axis=1)
    error = products.std() / math.sqrt(len(products))
    assert products.mean() > 5 * error
    assert abs(products.mean() - 0.8 * 0.54) < 5 * error


def test_the_likelihood_is_maximised_by_the_fit_of_lists_alone() -> None:
    counts, clicks, epochs = log_of_epochs(0, 500)
    best = fit_mnl(counts, tolerance=1e-9)
    most = likelihood(counts, best.attraction, best.position_bias)
    assert most == pytest.approx(best.log_likelihood, rel=1e-9)
    for other in (mnl_composite(clicks, epochs), mnl_em(clicks, epochs)):
        assert likelihood(counts, other.attraction, other.position_bias) < most - 1e-3
    for j in range(4):
        for step in (-0.01, 0.01):
            moved = best.attraction + step * np.eye(4)[j]
            assert likelihood(counts, moved, best.position_bias) < most


def test_what_each_estimator_is_worth_in_real_epochs() -> None:
    """The errors of the likelihood are its spread; the two estimators from tables spread more."""
    runs = 200
    fits = []
    values: list[list[Floats]] = [[], [], []]
    for seed in range(runs):
        counts, clicks, epochs = log_of_epochs(seed, 150)
        fits.append(fit_mnl(counts))
        estimates: list[Any] = [fits[-1], mnl_composite(clicks, epochs), mnl_em(clicks, epochs)]
        for fit, found in zip(estimates, values, strict=True):
            found.append(np.r_[fit.attraction, fit.position_bias[1:]])
    said = np.mean([np.r_[f.attraction_error, f.position_bias_error[1:]] for f in fits], axis=0)
    spreads = np.std(values, axis=1)
    # A standard deviation of 200 values is known to 5 %, and so is a mean of six that are related.
    np.testing.assert_allclose(said, spreads[0], rtol=0.2)
    assert 0.92 < (said / spreads[0]).mean() < 1.08
    composite, em = ((spreads[i] / spreads[0]) ** 2 for i in (1, 2))
    assert 1.0 < composite.mean() < 1.2
    assert 1.2 < em.mean() < 2.0
    # All three tend to the truth; at 150 epochs they are biased by a few hundredths.
    error = spreads / math.sqrt(runs)
    assert (np.abs(np.mean(values, axis=1) - np.r_[ALPHA, BIAS[1:]]) < 5 * error + 0.03).all()


def test_an_item_without_clicks_is_at_the_bound() -> None:
    n, m = [[5, 2], [4, 3], [0, 0]], [[9, 9], [9, 9], [9, 9]]
    em = mnl_em(n, m, least=0.01)
    assert em.attraction[2] == 0.01
    assert em.at_bound == ("attraction[2]",)
    assert mnl_composite(n, m).attraction[2] == 0.0


def test_one_item_or_one_position() -> None:
    assert mnl_em([[3]], [[6]]).attraction[0] == pytest.approx(0.5)
    assert mnl_composite([[3]], [[6]]).attraction[0] == pytest.approx(0.5)
    fit = mnl_composite([[3], [1]], [[6], [4]])
    assert fit.attraction == pytest.approx([0.5, 0.25])


def test_model() -> None:
    n, m, _, _ = simulated(6, 5, 3, 3000)
    fit = mnl_composite(n, m, reference=2)
    assert fit.position_bias.max() > 1.0
    model = fit.model
    np.testing.assert_allclose(
        np.outer(model.attraction, model.position_bias),
        np.outer(fit.attraction, fit.position_bias),
    )
    assert model.position_bias.max() == 1.0
    with pytest.raises(InvalidValue, match=r"attraction\[0\] must be at most 1 .*most=1"):
        _ = mnl_em([[30, 9], [4, 3]], [[9, 9], [9, 9]]).model


@pytest.mark.parametrize("fit", [mnl_em, mnl_composite])
@pytest.mark.parametrize(
    ("clicks", "epochs", "message"),
    [
        ([[3, 0], [0, 2]], [[5, 1], [1, 5]], r"positions \[1\] with items \[1\] not linked"),
        ([[1, 2]], [[5, 5], [5, 5]], r"epochs must have the shape of clicks, \(1, 2\)"),
        ([[1, 2], [1, 1]], [[5, 0], [5, 5]], r"clicks\[0, 1\] must be 0 if epochs is 0"),
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
    page = DOCS / "howto" / "fit-choices.md"
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        exec(block, names)
    truth, fit = names["truth"], names["fit"]
    assert (abs(fit.attraction - truth.attraction) < 5 * fit.attraction_error).all()
    assert (abs(fit.position_bias - truth.position_bias) <= 5 * fit.position_bias_error).all()


def test_no_click_tells_nothing() -> None:
    with pytest.raises(InvalidValue, match="mnl_composite: clicks must not all be 0"):
        mnl_composite([[0, 0], [0, 0]], [[3, 4], [1, 2]])
