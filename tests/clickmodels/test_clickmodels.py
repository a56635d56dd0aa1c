"""Click models: the shipped checks on every registered one, identities, known values, errors.

Run as a script, this file prints what the models answer; one test compares it with Numba off.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import clickrank
from clickrank import checks
from clickrank._core.arrays import Floats, Ints
from clickrank.checks import click_model_checks as rules
from clickrank.clickmodels import (
    CLICK_MODELS,
    DBN,
    DCM,
    DCTR,
    MNL,
    PBM,
    UBM,
    Cascade,
    ClickModel,
    LinearAttraction,
)
from clickrank.errors import InvalidValue, UnknownName

NAMES = list(CLICK_MODELS)
#: Those whose items have an attraction.
ATTRACTIVE = [name for name in NAMES if name != "click-matrix"]
# Items × positions: some items left out, one position, all items shown, nothing to choose, more.
SHAPES = [(4, 3), (3, 1), (3, 3), (1, 1), (6, 2)]


def vectors(n_positions: int) -> list[Ints]:
    return [np.array(c) for c in itertools.product((0, 1), repeat=n_positions)]


def rankings(model: ClickModel) -> list[Ints]:
    return [np.array(r) for r in itertools.permutations(range(model.n_items), model.n_positions)]


def assert_same_model(one: ClickModel, two: ClickModel) -> None:
    """Assert that all verbs of two models agree, on all rankings and click vectors."""
    for ranking in rankings(one):
        for clicks in vectors(one.n_positions):
            a, b = one.log_prob(ranking, clicks), two.log_prob(ranking, clicks)
            assert a == b or abs(a - b) <= 1e-12, (ranking, clicks)
        marginals = one.click_probabilities(ranking) - two.click_probabilities(ranking)
        assert np.abs(marginals).max() <= 1e-12
        assert abs(one.value(ranking) - two.value(ranking)) <= 1e-12
    assert abs(one.best_value() - two.best_value()) <= 1e-12


# Conformance


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_registered_models_pass_all_checks(name: str, shape: tuple[int, int]) -> None:
    for model in checks.example_models(CLICK_MODELS[name], *shape, seed=1):
        checks.check_click_model(model)


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_have_their_sections(name: str) -> None:
    text = inspect.getdoc(CLICK_MODELS[name]) or ""
    assert "**Source**" in text
    assert "Examples\n--------" in text
    _, _, described = text.partition("Parameters\n----------\n")
    for parameter in inspect.signature(CLICK_MODELS[name]).parameters:
        assert f"{parameter}\n    " in described


def test_every_check_is_exported() -> None:
    defined = {f for n, f in vars(rules).items() if n.startswith("check_")}
    assert defined == {*checks.CLICK_MODEL_CHECKS, checks.check_click_model}


class _Liar(PBM):
    """A PBM of which one verb is broken by each of its subclasses."""

    def relabelled(self, order: Ints) -> Self:
        return type(self)(self.attraction[order], self.examination)


class _Nameless(_Liar):
    is_a = ("cascade",)


class _Overconfident(_Liar):
    def log_prob(self, ranking: Any, clicks: Any) -> float:
        return super().log_prob(ranking, clicks) + 1e-9


class _WrongMarginals(_Liar):
    def click_probabilities(self, ranking: Any) -> Floats:
        return super().click_probabilities(ranking)[::-1].copy()


class _WrongReward(_Liar):
    reward = "any click"


class _Unsatisfiable(_Liar):
    reward = "satisfaction"  # the number of clicks exceeds the probability of any


class _WorstFirst(_Liar):
    def best_ranking(self) -> Ints:
        return super().best_ranking()[::-1].copy()


class _IgnoresLabels(_Liar):
    def relabelled(self, order: Ints) -> Self:
        return self


class _OneUniformForTheList(_Liar):
    """The mistake of the thesis's simulator: clicks at different positions are dependent."""

    def sample(self, ranking: Any, rng: Any, n: int | None = None) -> Ints:
        p = self.click_probabilities(ranking)
        draws = np.random.default_rng(rng).random((1 if n is None else n, 1))
        clicks: Ints = (draws < p).astype(np.int64)
        return clicks[0] if n is None else clicks


class _Unrepeatable(_Liar):
    def sample(self, ranking: Any, rng: Any, n: int | None = None) -> Ints:
        return super().sample(ranking, np.random.default_rng(), n)


class _StopsDrawing(_Liar):
    def sample(self, ranking: Any, rng: Any, n: int | None = None) -> Ints:
        generator = np.random.default_rng(rng)
        clicks = super().sample(ranking, generator, n)
        if clicks.sum() > 0:
            generator.random()
        return clicks


class _Clobbers(_Liar):
    kept = np.zeros(2)

    def click_probabilities(self, ranking: Any) -> Floats:
        self.kept[:] = super().click_probabilities(ranking) if self.kept[0] >= 0 else -1
        return self.kept


class _Swallows(_Liar):
    def value(self, ranking: Any) -> float:
        return super().value([int(item) % self.n_items for item in ranking])


@pytest.mark.parametrize(
    ("check", "liar", "message"),
    [
        (rules.check_declarations, _Nameless, "is_a ('cascade',) lacks the model's own name"),
        (rules.check_probabilities_sum_to_one, _Overconfident, "expected 1.0 for [0, 1]"),
        (rules.check_marginals, _WrongMarginals, "[0.2, 0.25], expected [0.25, 0.2"),
        (rules.check_value, _WrongReward, "value is the expected any click: 0.45, expected 0.3999"),
        (rules.check_value, _Unsatisfiable, "0.45 is not between 0 and P(any click) 0.3999"),
        (rules.check_best_ranking, _WorstFirst, "0.65, expected 0.7 for [0, 2]"),
        (rules.check_relabelling, _IgnoresLabels, "relabelling: 0.45, expected"),
        (rules.check_sampler, _OneUniformForTheList, "[0, 0] drawn"),
        (rules.check_same_seed, _Unrepeatable, "draw "),
        (rules.check_uniforms, _StopsDrawing, "2 for ranking [0, 1], clicks [0, 0]; 3 for"),
        (rules.check_inputs_untouched, _Clobbers, "answer of click_probabilities changes"),
        (rules.check_bad_input, _Swallows, "value took ranking"),
    ],
)
def test_each_check_finds_what_it_is_for(
    check: Callable[[ClickModel], None], liar: type[PBM], message: str
) -> None:
    model = liar(attraction=[0.5, 0.2, 0.4], examination=[0.5, 1.0])
    with pytest.raises(AssertionError) as raised:
        check(model)
    assert str(raised.value).startswith(f"{liar.__name__}(n_items=3, n_positions=2): ")
    assert message in str(raised.value)


def test_each_check_has_a_liar() -> None:
    marks = getattr(test_each_check_finds_what_it_is_for, "pytestmark", [])
    assert {case[0] for case in marks[0].args[1]} == set(checks.CLICK_MODEL_CHECKS)


def test_checks_refuse_what_cannot_be_enumerated() -> None:
    with pytest.raises(InvalidValue) as raised:
        checks.check_click_model(DCTR(np.full(20, 0.5), 10))
    rule = "DCTR: a model to check must have at most 100000 pairs of ranking and click vector"
    assert str(raised.value) == f"{rule}, got {math.perm(20, 10) * 2**10}."


def test_examples_of_unknown_parameters_are_refused() -> None:
    class Strange(PBM):
        def __init__(self, attraction: Any, curiosity: float) -> None:
            raise NotImplementedError

    with pytest.raises(InvalidValue) as raised:
        checks.example_models(Strange, 3, 2, seed=0)
    assert str(raised.value) == (
        "Strange: parameters must be among attraction, continuation, examination, "
        "examination_after, item_satisfaction, n_positions, position_bias, probabilities, "
        "satisfaction for examples to be made (otherwise make instances and pass them to "
        "check_click_model), got 'curiosity'."
    )


# Identities


@pytest.mark.parametrize("name", NAMES)
def test_special_cases_are_what_they_claim(name: str) -> None:
    """DCM with satisfaction 1 = cascade, PBM with examination 1 = document model."""
    for model in checks.example_models(CLICK_MODELS[name], 4, 3, seed=2):
        for wider in (CLICK_MODELS[other] for other in model.is_a):
            parameters = inspect.signature(wider).parameters
            build: Any = wider
            assert_same_model(model, build(**{key: getattr(model, key) for key in parameters}))


def test_nested_models_are_declared() -> None:
    assert Cascade.is_a == ("cascade", "dcm", "dbn", "ubm")
    assert DCTR.is_a == ("dctr", "pbm", "ubm")
    assert PBM.is_a == ("pbm", "ubm")


def test_dcm_with_satisfaction_one_is_the_cascade() -> None:
    attraction = [0.3, 0.9, 0.0, 0.6]
    assert_same_model(DCM(attraction, [1.0, 1.0, 1.0]), Cascade(attraction, 3))


def test_pbm_with_examination_one_is_the_document_model() -> None:
    attraction = [0.3, 0.9, 0.0, 0.6]
    pbm, dctr = PBM(attraction, [1.0, 1.0, 1.0]), DCTR(attraction, 3)
    assert_same_model(pbm, dctr)
    assert np.array_equal(pbm.sample([0, 1, 3], 5, 100), dctr.sample([0, 1, 3], 5, 100))


def test_dcm_with_satisfaction_zero_is_the_document_model_in_clicks() -> None:
    dcm, dctr = DCM([0.3, 0.9, 0.6], [0.0, 0.0]), DCTR([0.3, 0.9, 0.6], 2)
    for ranking, clicks in itertools.product(rankings(dcm), vectors(2)):
        assert abs(dcm.log_prob(ranking, clicks) - dctr.log_prob(ranking, clicks)) <= 1e-12
        assert dcm.value(ranking) == 0.0


@pytest.mark.parametrize("bias", [1.0, 0.25])
def test_mnl_with_equal_bias_is_the_classic_mnl(bias: float) -> None:
    attraction = np.array([0.3, 0.9, 0.0, 0.6])
    model = MNL(attraction, [bias] * 3)
    for ranking in rankings(model):
        weights = bias * attraction[ranking]
        for clicks in vectors(3):
            p = {0: 1.0, 1: float(weights @ clicks)}.get(int(clicks.sum()), 0.0)
            p /= 1.0 + float(weights.sum())
            want = math.log(p) if p > 0 else -math.inf
            got = model.log_prob(ranking, clicks)
            assert got == want or abs(got - want) <= 1e-12


def test_dcm_against_the_sum_over_all_user_behaviours() -> None:
    """Enumerate attractions and satisfactions, play each user, and collect the probabilities."""
    attraction, satisfaction = np.array([0.5, 0.2, 0.7, 1.0]), np.array([0.3, 0.9, 0.6])
    model = DCM(attraction, satisfaction)
    for ranking in rankings(model):
        law: dict[tuple[int, ...], float] = {}
        satisfied = 0.0
        for y, v in itertools.product(vectors(3), vectors(3)):
            p = np.where(y == 1, attraction[ranking], 1 - attraction[ranking]).prod()
            p *= np.where(v == 1, satisfaction, 1 - satisfaction).prod()
            clicks = [0, 0, 0]
            for position in range(3):
                clicks[position] = int(y[position])
                if y[position] and v[position]:
                    satisfied += p
                    break
            law[tuple(clicks)] = law.get(tuple(clicks), 0.0) + p
        assert abs(model.value(ranking) - satisfied) <= 1e-12
        for clicks_, p in law.items():
            assert abs(math.exp(model.log_prob(ranking, clicks_)) - p) <= 1e-12


def test_dcm_best_ranking_matches_by_rank() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        model = DCM(rng.random(5).round(1), rng.random(3).round(1))
        factors = (
            np.prod(1 - model.satisfaction * model.attraction[ranking])
            for ranking in rankings(model)
        )
        assert abs(model.best_value() - (1 - min(factors))) <= 1e-12


def test_ubm_of_its_special_cases() -> None:
    attraction = [0.3, 0.9, 0.0, 0.6]
    pbm = UBM(attraction, [[0.9], [0.5, 0.5], [0.2, 0.2, 0.2]])
    assert_same_model(pbm, PBM(attraction, [0.9, 0.5, 0.2]))
    assert_same_model(UBM(attraction, [[1], [1, 0], [1, 0, 0]]), Cascade(attraction, 3))


def test_dbn_with_continuation_one_and_items_alike_is_a_dcm() -> None:
    attraction = [0.3, 0.9, 0.0, 0.6]
    assert_same_model(DBN(attraction, [0.7] * 4, 3), DCM(attraction, [0.7] * 3))
    assert_same_model(DBN(attraction, [1.0] * 4, 3), Cascade(attraction, 3))


def test_dbn_against_the_sum_over_all_user_behaviours() -> None:
    """Enumerate attractions, satisfactions and continuations, and play each user."""
    attraction, satisfaction = np.array([0.5, 0.2, 0.7, 1.0]), np.array([0.3, 0.9, 0.6, 0.4])
    model = DBN(attraction, satisfaction, 3, 0.8)
    for ranking in rankings(model):
        law: dict[tuple[int, ...], float] = {}
        satisfied = 0.0
        a, s = attraction[ranking], satisfaction[ranking]
        for y, v, g in itertools.product(vectors(3), vectors(3), vectors(3)):
            p = np.where(y == 1, a, 1 - a).prod() * np.where(v == 1, s, 1 - s).prod()
            p *= np.where(g == 1, 0.8, 0.2).prod()
            clicks = [0, 0, 0]
            for position in range(3):
                clicks[position] = int(y[position])
                happy = y[position] == 1 and v[position] == 1
                satisfied += p * happy
                if happy or not g[position]:
                    break
            law[tuple(clicks)] = law.get(tuple(clicks), 0.0) + p
        assert abs(model.value(ranking) - satisfied) <= 1e-12
        for clicks_, p in law.items():
            assert abs(math.exp(model.log_prob(ranking, clicks_)) - p) <= 1e-12


def test_ubm_search_finds_the_best_of_all_rankings() -> None:
    """With examination of any shape, where exchanges alone may end elsewhere."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        model = UBM(rng.random(6).round(1), np.tril(rng.random((4, 4)).round(1)))
        assert model.best_is_proven()
        most = max(model.value(ranking) for ranking in rankings(model))
        assert abs(model.best_value() - most) <= 1e-12


def test_ubm_may_be_best_without_the_most_attractive_items() -> None:
    """A click at the first position hides two that are seen otherwise."""
    model = UBM([1.0, 1.0, 0.5, 0.0], [[1.0], [1.0, 0.0], [0.0, 0.0, 1.0]])
    assert model.best_ranking()[0] == 3
    assert model.best_value() == 2.0


def test_ubm_best_ranking_of_a_long_list_is_an_exchange_optimum() -> None:
    rng = np.random.default_rng(4)
    model = UBM(rng.random(14), np.tril(rng.random((10, 10))))
    assert not model.best_is_proven()
    best = model.best_ranking()
    order = np.concatenate([best, np.setdiff1d(np.arange(14), best)])
    for i, j in itertools.combinations(range(14), 2):
        if i < 10:
            other = order.copy()
            other[[i, j]] = order[[j, i]]
            assert model.value(other[:10]) <= model.value(best) + 1e-12


def test_pages_cut_after_their_first_positions() -> None:
    for name in ("ubm", "dbn"):
        for model in checks.example_models(CLICK_MODELS[name], 4, 3, seed=8):
            kept = model.click_probabilities([2, 0, 1])[:2]
            assert np.abs(model.first_positions(2).click_probabilities([2, 0]) - kept).max() < 1e-15


# Known values


@pytest.mark.parametrize(
    ("model", "marginals", "value", "best", "law"),
    [
        (
            PBM([0.5, 0.2], [1.0, 0.5]),
            [0.5, 0.1],
            0.6,
            [0, 1],
            {(0, 0): 0.45, (1, 0): 0.45, (0, 1): 0.05, (1, 1): 0.05},
        ),
        (
            DCTR([0.5, 0.2], 2),
            [0.5, 0.2],
            0.7,
            [0, 1],
            {(0, 0): 0.4, (1, 0): 0.4, (0, 1): 0.1, (1, 1): 0.1},
        ),
        (
            Cascade([0.5, 0.2], 2),
            [0.5, 0.1],
            0.6,
            [0, 1],
            {(0, 0): 0.4, (1, 0): 0.5, (0, 1): 0.1, (1, 1): 0.0},
        ),
        (
            DCM([0.5, 0.2, 0.4], [0.5, 0.25, 1.0]),
            [0.5, 0.15, 0.285],
            0.5725,
            [2, 1, 0],
            {(0, 0, 0): 0.24, (1, 0, 0): 0.37, (0, 1, 1): 0.03, (1, 1, 1): 0.015},
        ),
        (
            MNL([1.0, 0.5], [1.0, 0.5]),
            [4 / 9, 1 / 9],
            5 / 9,
            [0, 1],
            {(0, 0): 4 / 9, (1, 0): 4 / 9, (0, 1): 1 / 9, (1, 1): 0.0},
        ),
        (
            UBM([0.5, 0.2], [[1.0], [0.5, 0.25]]),
            [0.5, 0.075],
            0.575,
            [0, 1],
            {(0, 0): 0.45, (1, 0): 0.475, (0, 1): 0.05, (1, 1): 0.025},
        ),
        (
            DBN([0.5, 0.2, 0.4], [0.5, 0.0, 1.0], 2, 0.5),
            [0.5, 0.075],
            0.25,
            [2, 0],
            {(0, 0): 0.45, (1, 0): 0.475, (0, 1): 0.05, (1, 1): 0.025},
        ),
    ],
    ids=lambda case: case.name if isinstance(case, ClickModel) else "",
)
def test_values_computed_by_hand(
    model: ClickModel,
    marginals: list[float],
    value: float,
    best: list[int],
    law: dict[tuple[int, ...], float],
) -> None:
    shown = list(range(model.n_positions))
    assert np.abs(model.click_probabilities(shown) - marginals).max() <= 1e-15
    assert abs(model.value(shown) - value) <= 1e-15
    assert model.best_ranking().tolist() == best
    for clicks, p in law.items():
        assert abs(math.exp(model.log_prob(shown, clicks)) - p) <= 1e-15


def test_certain_users() -> None:
    """With probabilities of 0 and 1 there is nothing random left."""
    assert PBM([1.0, 1.0], [1.0, 0.0]).sample([0, 1], 0).tolist() == [1, 0]
    assert DCTR([1.0, 0.0, 1.0], 3).sample([0, 1, 2], 0).tolist() == [1, 0, 1]
    assert Cascade([0.0, 1.0, 1.0], 3).sample([0, 1, 2], 0).tolist() == [0, 1, 0]
    assert DCM([1.0, 1.0, 1.0], [0.0, 1.0, 0.0]).sample([0, 1, 2], 0).tolist() == [1, 1, 0]
    assert MNL([0.0, 0.0], [1.0, 1.0]).sample([0, 1], 0).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("model", "uniforms"),
    [
        (PBM([0.5, 0.2, 0.1, 0.7], [1.0, 0.5, 0.2]), 3),
        (DCTR([0.5, 0.2, 0.1, 0.7], 3), 3),
        (Cascade([0.5, 0.2, 0.1, 0.7], 3), 3),
        (DCM([0.5, 0.2, 0.1, 0.7], [0.5, 0.5, 0.5]), 6),
        (MNL([0.5, 0.2, 0.1, 0.7], [1.0, 0.5, 0.2]), 1),
        (UBM([0.5, 0.2, 0.1, 0.7], [[1.0], [0.5, 0.2], [0.3, 0.4, 0.5]]), 3),
        (DBN([0.5, 0.2, 0.1, 0.7], [0.5, 0.5, 0.5, 0.5], 3, 0.5), 6),
    ],
    ids=lambda case: case.name if isinstance(case, ClickModel) else "",
)
def test_uniforms_a_round(model: ClickModel, uniforms: int) -> None:
    rng = np.random.default_rng(0)
    model.sample([0, 1, 2], rng, 10)
    assert rng.random() == np.random.default_rng(0).random(10 * uniforms + 1)[-1]


def test_sample_shapes() -> None:
    model = DCTR([0.5, 0.2, 0.1], 2)
    assert model.sample([0, 1], 0).shape == (2,)
    assert model.sample([0, 1], 0, 1).shape == (1, 2)
    assert model.sample([0, 1], 0, 0).shape == (0, 2)
    assert model.sample([0, 1], 0).dtype == np.int64


# What the constructors take, and keep


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_copied_and_read_only(name: str) -> None:
    build: Any = CLICK_MODELS[name]
    given = checks.example_parameters(build, 4, 3, seed=4)[0]
    model = build(**given)
    before = model.click_probabilities([0, 1, 2])
    for value in given.values():
        if isinstance(value, np.ndarray):
            value[:] = 0.125
    assert np.array_equal(model.click_probabilities([0, 1, 2]), before)
    kept = [getattr(model, key) for key, value in given.items() if isinstance(value, np.ndarray)]
    for array in (*model.params, *kept):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.125


@pytest.mark.parametrize("name", ATTRACTIVE)
def test_attraction_may_be_linear_in_features(name: str) -> None:
    build: Any = CLICK_MODELS[name]
    linear = LinearAttraction([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.2, 0.2]], [0.3, 0.8])
    for given in checks.example_parameters(build, 4, 3, seed=5):
        one = build(**{**given, "attraction": linear})
        assert_same_model(one, build(**{**given, "attraction": linear.values}))


def test_ones_of_special_cases() -> None:
    assert DCTR([0.5, 0.2, 0.1], 2).examination.tolist() == [1.0, 1.0]
    assert Cascade([0.5, 0.2, 0.1], 2).satisfaction.tolist() == [1.0, 1.0]
    with pytest.raises(AttributeError):
        DCTR([0.5, 0.2, 0.1], 2).examination = np.zeros(2)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Cascade([0.5, 0.2, 0.1], 2).satisfaction = np.zeros(2)  # type: ignore[misc]


# Errors


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises(InvalidValue) as raised:
        call()
    return str(raised.value)


VECTORS = [
    (name, parameter)
    for name in NAMES
    for parameter, value in checks.example_parameters(CLICK_MODELS[name], 4, 3, 0)[0].items()
    if isinstance(value, np.ndarray) and value.ndim == 1
]


@pytest.mark.parametrize(("name", "parameter"), VECTORS)
def test_bad_vectors(name: str, parameter: str) -> None:
    build: Any = CLICK_MODELS[name]
    owner = build.__name__
    given = checks.example_parameters(build, 4, 3, seed=0)[0]

    def message(value: object) -> str:
        return message_of(lambda: build(**{**given, parameter: value}))

    rule = "must be between 0 and 1"
    numbers = [-0.1, 1.5, math.nan, math.inf, -math.inf]
    if parameter == "position_bias":
        rule = "must be above 0 and at most 1"
        numbers.append(0.0)
    for number in numbers:
        assert message([0.5, number, 0.5]) == f"{owner}: {parameter}[1] {rule}, got {number!r}."
    for words in ("high", ["0.5"], ["a", "b", "c"], [[0.5], [0.5, 0.5]], [0.5, {}], None):
        want = f"{owner}: {parameter} must be a sequence of numbers, got {words!r}."
        assert message(words) == want
    for misshapen in ([], [[0.5, 0.5, 0.5]], 0.5):
        want = f"{owner}: {parameter} must be a non-empty vector, got {misshapen!r}."
        assert message(misshapen) == want


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (0.5, "examination_after must be rows of numbers, one row per position, got 0.5."),
        (
            [0.5, 0.5],
            "examination_after must be rows of numbers, one row per position, got [0.5, 0.5].",
        ),
        ([], "examination_after must be rows of numbers, one row per position, got []."),
        ([[1.0], [0.5]], "examination_after[1] must have 2 entries, one for no click above and "),
        ([[1.0], [0.5, "a"]], "examination_after[1] must be a sequence of numbers, got [0.5, 'a']"),
        ([[1.0], [0.5, 1.5]], "examination_after[1][1] must be between 0 and 1, got 1.5."),
        ([[1.0], [math.nan, 0.5]], "examination_after[1][0] must be between 0 and 1, got nan."),
        (np.ones((2, 2)), "examination_after[0][1] must be 0: no click is above, got 1.0."),
    ],
)
def test_bad_examination_after(rows: Any, rule: str) -> None:
    assert message_of(lambda: UBM([0.5, 0.2], rows)).startswith(f"UBM: {rule}")


def test_bad_parameters_of_the_dbn() -> None:
    build: Any = DBN
    want = "DBN: item_satisfaction must have one entry per item (2), got 1."
    assert message_of(lambda: build([0.5, 0.2], [0.5], 2)) == want
    want = "DBN: continuation must be a number between 0 and 1, got 1.5."
    assert message_of(lambda: build([0.5, 0.2], [0.5, 0.5], 2, 1.5)) == want


@pytest.mark.parametrize("name", ATTRACTIVE)
def test_more_positions_than_items(name: str) -> None:
    build: Any = CLICK_MODELS[name]
    given = checks.example_parameters(build, 4, 3, seed=0)[0]
    want = f"{build.__name__}: n_positions must be between 1 and n_items (2), got 3."
    assert message_of(lambda: build(**{**given, "attraction": [0.5, 0.25]})) == want


@pytest.mark.parametrize("cls", [DCTR, Cascade, DBN])
@pytest.mark.parametrize("n_positions", [0, -1, 1.5, "2", None, True, math.nan])
def test_bad_number_of_positions(cls: type[ClickModel], n_positions: object) -> None:
    build: Any = partial(DBN, item_satisfaction=[0.5, 0.5]) if cls is DBN else cls
    want = f"n_positions must be a whole number of at least 1, got {n_positions!r}."
    assert (
        message_of(lambda: build([0.5, 0.2], n_positions=n_positions)) == f"{cls.__name__}: {want}"
    )


def test_whole_floats_are_numbers_of_positions() -> None:
    build: Any = DCTR
    assert build([0.5, 0.2], 2.0).n_positions == 2


BAD_RANKINGS = [
    ([0, 0], "ranking must hold distinct items between 0 and 2, got [0, 0]."),
    ([0, 3], "ranking must hold distinct items between 0 and 2, got [0, 3]."),
    ([-1, 0], "ranking must hold distinct items between 0 and 2, got [-1, 0]."),
    ([0], "ranking must hold 2 whole numbers, got [0]."),
    ([0, 1, 2], "ranking must hold 2 whole numbers, got [0, 1, 2]."),
    ([0.0, 1.0], "ranking must hold 2 whole numbers, got [0.0, 1.0]."),
    (np.array([0.0, 1.0]), "ranking must hold 2 whole numbers, got [0.0, 1.0]."),
    ([[0, 1]], "ranking must hold 2 whole numbers, got [[0, 1]]."),
    (["a", "b"], "ranking must hold 2 whole numbers, got ['a', 'b']."),
    ([], "ranking must hold 2 whole numbers, got []."),
    (None, "ranking must hold 2 whole numbers, got None."),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("ranking", "rule"), BAD_RANKINGS)
def test_bad_rankings(name: str, ranking: Any, rule: str) -> None:
    model = checks.example_models(CLICK_MODELS[name], 3, 2, seed=0)[0]
    want = f"{type(model).__name__}: {rule}"
    assert message_of(lambda: model.value(ranking)) == want
    assert message_of(lambda: model.click_probabilities(ranking)) == want
    assert message_of(lambda: model.log_prob(ranking, [0, 0])) == want
    assert message_of(lambda: model.sample(ranking, 0)) == want


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("clicks", "rule"),
    [
        ([0, 2], "clicks must be 0 or 1, got [0, 2]."),
        ([-1, 0], "clicks must be 0 or 1, got [-1, 0]."),
        ([0.0, 1.0], "clicks must hold 2 whole numbers, got [0.0, 1.0]."),
        ([1], "clicks must hold 2 whole numbers, got [1]."),
        ([1, 0, 0], "clicks must hold 2 whole numbers, got [1, 0, 0]."),
        ("01", "clicks must hold 2 whole numbers, got '01'."),
    ],
)
def test_bad_clicks(name: str, clicks: Any, rule: str) -> None:
    model = checks.example_models(CLICK_MODELS[name], 3, 2, seed=0)[0]
    want = f"{type(model).__name__}: {rule}"
    assert message_of(lambda: model.log_prob([0, 1], clicks)) == want


def test_booleans_are_clicks() -> None:
    model = DCTR([0.5, 0.25], 2)
    assert model.log_prob([0, 1], [True, False]) == model.log_prob([0, 1], [1, 0])


def test_bad_number_of_draws() -> None:
    model = DCTR([0.5, 0.25], 2)
    want = "DCTR: n must be a whole number of at least 0, got -1."
    assert message_of(lambda: model.sample([0, 1], 0, -1)) == want


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownName) as raised:
        CLICK_MODELS["cascades"]
    assert str(raised.value) == "Unknown click model 'cascades'. Did you mean 'cascade'?"


# Compiled and not


def transcript() -> str:
    """Return everything that the models answer, floats in hexadecimal."""
    lines = []
    for name, shape in itertools.product(CLICK_MODELS, [(4, 3), (1, 1)]):
        for model in checks.example_models(CLICK_MODELS[name], *shape, seed=6):
            lines.append(f"{model!r} {model.best_ranking().tolist()} {model.best_value().hex()}")
            for ranking in rankings(model):
                logs = [model.log_prob(ranking, c).hex() for c in vectors(model.n_positions)]
                marginals = [p.hex() for p in model.click_probabilities(ranking).tolist()]
                clicks = model.sample(ranking, 7, 50).tolist()
                lines.append(f"{model.value(ranking).hex()} {marginals} {logs} {clicks}")
    return "\n".join(lines)


def test_compiled_equals_pure_python_bit_for_bit() -> None:
    root = str(Path(clickrank.__file__ or "").parents[1])
    pure = subprocess.run(
        [sys.executable, "-W", "error", __file__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert pure.stdout.splitlines() == transcript().splitlines()


if __name__ == "__main__":
    print(transcript())
