"""Off-policy estimators: exact expectations on tiny logging policies, intervals, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickrank._core.arrays import Floats
from clickrank.clickmodels import DCM, MNL, PBM, ClickModel
from clickrank.errors import CannotEvaluate
from clickrank.evaluate import (
    CascadeDR,
    DirectMethod,
    DocumentIPS,
    ItemPositionIPS,
    ListIPS,
    Mixture,
    PositionBasedIPS,
    PseudoInverse,
    RankingDistribution,
    Replay,
    RewardInteractionIPS,
    WeightingEstimator,
)
from clickrank.logs import Impressions
from clickrank.rankings.enumeration import all_rankings

N_ITEMS, N_POSITIONS = 4, 3
ATTRACTION = [0.5, 0.3, 0.7, 0.2]
NAMES = np.array(["a", "b", "c", "d"])
MODELS: dict[str, ClickModel] = {
    "pbm": PBM(ATTRACTION, [0.9, 0.5, 0.6]),
    "dctr": PBM(ATTRACTION, [1.0, 1.0, 1.0]),
    "cascade": DCM(ATTRACTION, [1.0, 1.0, 1.0]),  # the same, with kernels that are needed anyway
    "dcm": DCM(ATTRACTION, [0.8, 0.5, 0.3]),
    "mnl": MNL(ATTRACTION, [1.0, 0.5, 0.7]),
}
EVERY = all_rankings(N_ITEMS, N_POSITIONS)
CLICKS = np.array(list(itertools.product([0, 1], repeat=N_POSITIONS)), dtype=np.uint8)


def mixture(seed: int, keep: float = 1.0) -> Mixture:
    """Some distribution over all lists; with keep below 1, only over some of them."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(len(EVERY)))
    chances[rng.random(len(EVERY)) > keep] = 0.0
    return Mixture(EVERY, N_ITEMS, chances / chances.sum())


LOGGING = mixture(1)
TARGETS = {
    "fixed": Mixture([[2, 0, 3]], N_ITEMS),
    "mixture": mixture(2),
    "sparse": mixture(3, keep=0.3),
}


def everything(model: ClickModel, logging: Mixture = LOGGING) -> tuple[Impressions, Floats]:
    """Every impression that can happen, once, and how likely it is."""
    lists = np.repeat(logging.rankings, len(CLICKS), axis=0)
    clicks = np.tile(CLICKS, (len(logging.rankings), 1))
    chance = np.repeat(logging.probabilities, len(CLICKS))
    chance = chance * [np.exp(model.log_prob(a, c)) for a, c in zip(lists, clicks, strict=True)]
    marginal = logging.marginals()[lists, range(N_POSITIONS)]
    prefix = logging.prefix_probabilities(lists)
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    return Impressions(NAMES, lists, clicks, marginal, prefix), chance


def true_value(model: ClickModel, target: RankingDistribution, reward: str = "clicks") -> float:
    lists = target.as_mixture()
    values = []
    for ranking in lists.rankings:
        none = np.zeros(N_POSITIONS, dtype=np.int64)
        if reward == "clicks":
            values.append(model.click_probabilities(ranking).sum())
        else:
            values.append(1.0 - np.exp(model.log_prob(ranking, none)))
    return float(lists.probabilities @ np.array(values))


#: Each with the click models under which it must be unbiased, and those under which it is not.
CASES: list[tuple[WeightingEstimator, list[str], list[str]]] = [
    (ListIPS(), ["pbm", "dctr", "cascade", "dcm", "mnl"], []),
    (RewardInteractionIPS(), ["pbm", "dctr", "cascade", "dcm"], ["mnl"]),
    (ItemPositionIPS(), ["pbm", "dctr"], ["cascade", "dcm", "mnl"]),
    (PositionBasedIPS(examination=[1.8, 1.0, 1.2], propensities=LOGGING), ["pbm"], ["dctr", "dcm"]),
    (DocumentIPS(propensities=LOGGING), ["dctr"], ["pbm", "cascade"]),
    # Of a cascade, whether there is a click follows from the one item that is left out: a sum.
    (PseudoInverse(propensities=LOGGING), ["pbm", "dctr", "cascade"], []),
]
UNBIASED = [(e, m) for e, good, _ in CASES for m in good]
BIASED = [(e, m) for e, _, bad in CASES for m in bad]


def expectation(
    estimator: WeightingEstimator, model: ClickModel, target: RankingDistribution
) -> float:
    log, chance = everything(model)
    return float(chance @ estimator.terms(log, target).values.sum(axis=1))


@pytest.mark.parametrize("wanted", TARGETS)
@pytest.mark.parametrize(("estimator", "model"), UNBIASED, ids=lambda x: getattr(x, "name", x))
def test_exactly_unbiased(estimator: WeightingEstimator, model: str, wanted: str) -> None:
    target = TARGETS[wanted]
    found = expectation(estimator, MODELS[model], target)
    assert found == pytest.approx(true_value(MODELS[model], target), abs=1e-12)


@pytest.mark.parametrize(("estimator", "model"), BIASED, ids=lambda x: getattr(x, "name", x))
def test_biased_where_its_assumption_fails(estimator: WeightingEstimator, model: str) -> None:
    """Otherwise the assumption that it states would not be needed."""
    off = [
        expectation(estimator, MODELS[model], target) - true_value(MODELS[model], target)
        for target in TARGETS.values()
    ]
    assert np.abs(off).max() > 0.01


def test_pseudo_inverse_is_biased_where_rewards_are_no_sum() -> None:
    """By some thousandths, while exact expectations are off by 1e-12 at most."""
    estimator = PseudoInverse(propensities=LOGGING)
    for model in ("dcm", "mnl"):
        for target in TARGETS.values():
            found = expectation(estimator, MODELS[model], target)
            assert abs(found - true_value(MODELS[model], target)) > 5e-4


def test_pseudo_inverse_needs_a_combination_of_what_was_shown_and_its_policy() -> None:
    """A log of three lists tells the value of any list that is a combination of them, no other."""
    few = Mixture([[0, 1, 2], [1, 0, 2], [0, 1, 3]], N_ITEMS)
    log, chance = everything(MODELS["pbm"], few)
    target = Mixture([[1, 0, 3]], N_ITEMS)  # the second and the third, less the first
    terms = PseudoInverse(propensities=few).terms(log, target)
    found = float(chance @ terms.values.sum(axis=1))
    assert found == pytest.approx(true_value(MODELS["pbm"], target), abs=1e-12)
    assert [terms.uncut_weights.min(), terms.low] == pytest.approx([-3.0, -9.0])
    for wanted in ([1, 2, 0], [3, 1, 2]):
        with pytest.raises(CannotEvaluate, match="not a combination"):
            PseudoInverse(propensities=few).terms(log, Mixture([wanted], N_ITEMS))
    with pytest.raises(CannotEvaluate, match="shown together") as refused:
        PseudoInverse().terms(log, target)
    for source in ("uniform", "estimated"):  # in Python, and on the command line
        assert f"'{source}' (--propensities {source})" in str(refused.value)
    same = PseudoInverse(propensities="estimated").terms(log, target)  # each list as often
    np.testing.assert_allclose(same.uncut_weights, terms.uncut_weights, atol=1e-9)


@pytest.mark.parametrize("model", ["pbm", "cascade", "dcm"])
@pytest.mark.parametrize("cls", [ListIPS, RewardInteractionIPS])
def test_any_click_exactly_unbiased(cls: type[WeightingEstimator], model: str) -> None:
    for target in TARGETS.values():
        found = expectation(cls(reward="any click"), MODELS[model], target)
        truth = true_value(MODELS[model], target, "any click")
        assert found == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize(("estimator", "model"), UNBIASED, ids=lambda x: getattr(x, "name", x))
def test_weights_have_expectation_one(estimator: WeightingEstimator, model: str) -> None:
    log, chance = everything(MODELS[model])
    for target in TARGETS.values():
        means = chance @ estimator.terms(log, target).weights
        assert means == pytest.approx(np.ones(means.size), abs=1e-12)


@pytest.mark.parametrize("guess", ["pbm", "mnl"])
@pytest.mark.parametrize("model", ["pbm", "cascade", "dcm"])
def test_doubly_robust_exactly_unbiased_whatever_the_model(model: str, guess: str) -> None:
    for reward in ("clicks", "any click"):
        estimator = CascadeDR(model=MODELS[guess], reward=reward)
        for target in TARGETS.values():
            found = expectation(estimator, MODELS[model], target)
            assert found == pytest.approx(true_value(MODELS[model], target, reward), abs=1e-12)


def variance(
    estimator: WeightingEstimator, model: ClickModel, target: RankingDistribution
) -> float:
    log, chance = everything(model)
    values = estimator.terms(log, target).values.sum(axis=1)
    return float(chance @ values**2 - (chance @ values) ** 2)


def test_each_assumption_and_a_good_model_save_variance() -> None:
    """On position-based clicks, computed exactly: the more is assumed, the smaller the variance."""
    model = MODELS["pbm"]
    by_assumption = (
        PositionBasedIPS(examination=[0.9, 0.5, 0.6], propensities=LOGGING),
        ItemPositionIPS(),
        RewardInteractionIPS(),
        ListIPS(),
    )
    for target in (TARGETS["fixed"], TARGETS["sparse"]):
        found = [variance(estimator, model, target) for estimator in by_assumption]
        assert found == sorted(found)
        robust = variance(CascadeDR(model=model), model, target)
        assert robust < variance(RewardInteractionIPS(), model, target)


def test_direct_method_is_right_with_the_right_model() -> None:
    model = MODELS["dcm"]
    log, _ = everything(model)
    for reward in ("clicks", "any click"):
        for target in TARGETS.values():
            found = DirectMethod(model=model, reward=reward).estimate(log, target)
            assert found.value == pytest.approx(true_value(model, target, reward), abs=1e-12)
            assert found.interval is None


def test_replay_keeps_each_list_as_often_as_the_target_shows_it() -> None:
    """Exactly: an impression is kept with probability π(A) c / μ(A), so the average is right."""
    model, target = MODELS["mnl"], TARGETS["mixture"]
    log, chance = everything(model)
    replay = Replay()
    _, share = replay.acceptance_rates(log)
    keeping = replay.keep_probabilities(log, target)
    kept = chance * keeping
    assert kept.sum() == pytest.approx(share, abs=1e-12)
    value = kept @ log.clicks.sum(axis=1) / kept.sum()
    assert value == pytest.approx(true_value(model, target), abs=1e-12)
    # And so it does: each impression 2,000 times, five standard errors.
    order = np.repeat(np.arange(len(keeping)), 2000)
    chosen = replay.kept(log, target, order, np.random.default_rng(0))
    often = np.bincount(chosen, minlength=keeping.size) / 2000
    assert (np.abs(often - keeping) <= 5 * np.sqrt(keeping / 2000)).all()
