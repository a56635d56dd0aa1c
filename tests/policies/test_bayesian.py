"""BayesUCB, Thompson sampling, Greedy and Ensemble: exact posteriors, exact draws, the priors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

import clickrank as cr
from clickrank._core.arrays import Floats
from clickrank.checks import kernel_checks as kernels
from clickrank.checks import policy_checks as checks
from clickrank.clickmodels import DCM, DCTR, MNL, PBM, Cascade, ClickModel
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.learning import Learner
from clickrank.learning.carry_over import carry
from clickrank.policies import (
    BayesUCB,
    Ensemble,
    Greedy,
    HasCautions,
    Policy,
    Request,
    ThompsonSampling,
)
from clickrank.policies._shared.observation import DEPENDENT_RULES, positions_seen
from clickrank.policies.capabilities import relabelled
from clickrank.priors import Beta
from tests.naive import mixture

PRIOR = Beta([2.0, 1.0, 3.0], [3.0, 2.0, 1.0])
#: Lists of two of three items, and the clicks on them.
LOG = [([0, 1], [0, 1]), ([2, 0], [0, 0]), ([1, 2], [1, 0]), ([0, 2], [0, 1]), ([1, 0], [0, 0])]
BOTH = ([2, 1], [1, 1])  # which a cascade does not have
EXAMINATION = [0.75, 1.0]


def exact_moments(log: list[Any], probability: Any) -> Floats:
    """E[θ_i^m | log] for m = 1, 2: integrals of polynomials over the cube, by enough nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(14)
    x, w = 0.5 * (nodes + 1.0), 0.5 * weights
    alpha, beta = PRIOR.for_items(3)
    moments, total = np.zeros((2, 3)), 0.0
    for cell in itertools.product(range(x.size), repeat=3):
        theta = x[list(cell)]
        mass = float(np.prod(w[list(cell)] * theta ** (alpha - 1) * (1 - theta) ** (beta - 1)))
        for shown, clicks in log:
            mass *= probability(theta, shown, clicks)
        total += mass
        moments += mass * np.array([theta, theta**2])
    return moments / total


def beta_moments(learner: Learner) -> Floats:
    a = learner.params.alpha + learner.state.clicks
    b = learner.params.beta + learner.state.misses
    return np.array([a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))])


def fed(spec: Any, log: list[Any], n_items: int = 3) -> Learner:
    learner = Learner(spec, n_items, len(log[0][0]) if log else 2)
    for shown, clicks in log:
        learner.update(shown, [], clicks)
    return learner


def attracted(theta: Floats, shown: list[int], clicks: list[int]) -> float:
    """Everything was looked at."""
    looked = zip(shown, clicks, strict=True)
    return float(np.prod([theta[i] if c else 1 - theta[i] for i, c in looked]))


def first_click(theta: Floats, shown: list[int], clicks: list[int]) -> float:
    """The probability that the first click is where it is, whatever comes after it."""
    upto = clicks.index(1) + 1 if 1 in clicks else len(clicks)
    return attracted(theta, shown[:upto], clicks[:upto])


def position_based(theta: Floats, shown: list[int], clicks: list[int]) -> float:
    rates = [k * theta[i] for k, i in zip(EXAMINATION, shown, strict=True)]
    return float(np.prod([r if c else 1 - r for r, c in zip(rates, clicks, strict=True)]))


def test_the_likelihoods_are_the_models() -> None:
    theta = np.array([0.3, 0.6, 0.8])
    for shown, clicks in [*LOG, BOTH]:
        for p, model in (
            (attracted, DCTR(theta, 2)),
            (first_click, Cascade(theta, 2)),
            (position_based, PBM(theta, EXAMINATION)),
        ):
            if sum(clicks) < 2 or not isinstance(model, Cascade):
                want = np.exp(model.log_prob(shown, clicks))
                assert p(theta, shown, clicks) == pytest.approx(want, rel=1e-12)
        # The dependent model: all click vectors with this first click together.
        dependent = DCM(theta, [0.7, 0.4])
        begin = clicks[: clicks.index(1) + 1] if 1 in clicks else clicks
        alike = [v for v in itertools.product((0, 1), repeat=2) if list(v[: len(begin)]) == begin]
        want = sum(np.exp(dependent.log_prob(shown, v)) for v in alike)
        assert first_click(theta, shown, clicks) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "probability", "log"),
    [
        ({"click_model": "dctr"}, attracted, [*LOG, BOTH]),
        ({"click_model": "cascade"}, first_click, LOG),
        ({"click_model": "dcm", "observe": "first-click"}, first_click, [*LOG, BOTH]),
    ],
    ids=["dctr", "cascade", "dcm"],
)
def test_posterior_is_exact(settings: Any, probability: Any, log: list[Any]) -> None:
    learner = fed(ThompsonSampling(prior=PRIOR, **settings), log)
    np.testing.assert_allclose(beta_moments(learner), exact_moments(log, probability), rtol=1e-10)


def test_position_based_posterior_is_exact() -> None:
    log = [*LOG, BOTH]
    spec = BayesUCB("pbm", PRIOR, EXAMINATION, failure=0.1)
    learner = fed(spec, log)
    learner.rank()
    found = np.zeros((2, 3))
    for item in range(3):
        alpha = PRIOR.for_items(3)[0][item] + learner.state.clicks[item]
        doubtful, certain = learner.state.misses[item].tolist()
        weights, betas = mixture(PRIOR.for_items(3)[1][item] + certain, [(doubtful, 0.75)], alpha)
        mean = alpha / (alpha + betas)
        found[:, item] = weights @ mean, weights @ (mean * (alpha + 1) / (alpha + betas + 1))
        tail = weights @ special.betaincc(alpha, betas, learner.cache.bound[item])
        assert tail == pytest.approx(0.1, rel=1e-9)
    np.testing.assert_allclose(found, exact_moments(log, position_based), rtol=1e-10)


@pytest.mark.parametrize(
    ("observe", "rates"),
    [("last-click", [0.4, 0.440, 0.542]), ("first-click", [0.4, 0.4, 0.4])],
)
def test_what_a_dependent_click_model_shows(observe: Any, rates: list[float]) -> None:
    """Clicks over observations by position, over all click vectors: the paper's rule is biased."""
    model = DCM([0.4] * 3, [0.5] * 3)
    clicks, views = np.zeros(3), np.zeros(3)
    for vector in itertools.product((0, 1), repeat=3):
        learner = fed(ThompsonSampling("dcm", observe=observe), [([0, 1, 2], list(vector))])
        p = np.exp(model.log_prob([0, 1, 2], vector))
        clicks += p * learner.state.clicks
        views += p * (learner.state.clicks + learner.state.misses)
    np.testing.assert_allclose(clicks / views, rates, atol=5e-4)


def test_thompson_shows_lists_as_often_as_they_are_best() -> None:
    """Frequencies of all orders against integrals, within 5 standard deviations."""
    draws = 20_000
    for alpha, beta in (([0.3, 2.0, 0.6], [2.0, 8.0, 0.4]), ([1.0, 5.0, 3.0], [1.0, 4.0, 0.7])):
        learner = Learner(ThompsonSampling("dctr", Beta(alpha, beta)), 3, 3, seed=1)
        shown = [tuple(learner.rank()[0].tolist()) for _ in range(draws)]
        laws = [stats.beta(a, b) for a, b in zip(alpha, beta, strict=True)]
        for order in itertools.permutations(range(3)):
            best, middle, worst = (laws[i] for i in order)
            p = integrate.quad(
                # by the quantile of the one in the middle: its density has poles
                lambda u: best.sf(middle.ppf(u)) * worst.cdf(middle.ppf(u)),  # noqa: B023
                0.0, 1.0, epsabs=1e-7, limit=200,
            )[0]  # fmt: skip
            assert abs(shown.count(order) / draws - p) < 5 * np.sqrt(p * (1 - p) / draws), order


@pytest.mark.parametrize(
    ("alpha", "beta", "clicks", "misses"),
    [
        (0.4, 1.0, 0, [2, 0, 0]),  # from the prior, with few misses
        (0.4, 1.5, 0, [40, 9, 0]),  # of the order of 1/misses
        (0.9, 1.0, 0, [3, 0, 0]),  # where that is not small
        (0.2, 3.0, 3, [20, 10, 2]),  # with clicks: under a hat
        (1.2, 1.0, 0, [0, 5, 1]),
        (6.5, 2.5, 0, [0, 0, 4]),  # a Beta distribution
        (0.4, 0.3, 0, [1, 0, 0]),  # with a pole at 1, and one at 0
        (0.4, 0.05, 0, [30, 9, 0]),
        (1.0, 0.5, 9, [0, 20, 0]),  # with a pole at 1 alone
        (2.0, 0.1, 300, [150, 90, 0]),  # and a narrow mode
        (3.0, 0.5, 4, [6, 0, 1]),  # a certain miss takes the pole away
    ],
)
def test_draws_of_the_position_based_posterior(
    alpha: float, beta: float, clicks: int, misses: list[int]
) -> None:
    """Against the exact mixture of Beta distributions; a false alarm has probability 1e-6."""
    kappa = [0.8, 0.3, 1.0]
    learner = Learner(ThompsonSampling("pbm", Beta(alpha, beta), kappa), 3, 3, seed=2)
    learner.state.clicks[0] = clicks
    learner.state.misses[0] = misses
    odds = np.array([(learner.rank(), learner.cache.odds_buffer[0])[1] for _ in range(10_000)])
    weights, betas = mixture(beta + misses[2], [(misses[0], 0.8), (misses[1], 0.3)], alpha + clicks)

    def cdf(x: Any) -> Any:
        return special.betainc(alpha + clicks, betas, np.reshape(x, (-1, 1))) @ weights

    assert stats.kstest(odds / (1.0 + odds), cdf).pvalue > 1e-6


@pytest.mark.parametrize("name", ["thompson", "bayes-ucb"])
@pytest.mark.parametrize("told", [{"click_model": "dcm"}, {"click_model": "pbm"}], ids=str)
def test_lists_of_some_items_are_those_of_a_catalogue_without_the_others(
    name: str, told: dict[str, Any]
) -> None:
    """Nothing is drawn for items that are no candidates, so that later draws are the same."""
    if told["click_model"] == "pbm":
        told = {**told, "examination": EXAMINATION}
    prior = Beta([2.0, 1.0, 0.5, 3.0], [3.0, 2.0, 0.7, 1.0])
    spec = cr.policy(name, horizon=100, prior=prior, **told)
    learner, some = fed(spec, [*LOG, BOTH], n_items=4), np.array([0, 2, 3])
    alone = Learner(relabelled(spec, some), 3, 2)
    carry(alone, learner.state, 4, some)
    ours, theirs = np.random.default_rng(6), np.random.default_rng(6)
    for _ in range(50):
        shown = learner.rank(ours, Request(some))[0]
        assert shown.tolist() == some[alone.rank(theirs)[0]].tolist()


@pytest.mark.parametrize("cls", [ThompsonSampling, BayesUCB])
def test_contract_under_position_based_clicks(cls: type[Policy]) -> None:
    """The shipped checks play document-based clicks; here the same with the other state."""

    def make(model: ClickModel, horizon: int) -> Policy:
        kappa = np.linspace(0.5, 1.0, model.n_positions)
        kappa[-1] = 0.9 if model.n_positions == 1 else 1.0
        told: dict[str, Any] = {"click_model": "pbm", "examination": kappa, "prior": Beta(0.5, 1.5)}
        return cr.policy(cls.name, horizon=horizon, **told)

    for check in (
        checks.check_state_fields, checks.check_parameters, checks.check_valid_rankings,
        checks.check_rank_keeps_statistics, checks.check_inputs_untouched,
        checks.check_save_and_restore, checks.check_replay, checks.check_lost_cache,
        checks.check_bad_feedback, checks.check_extreme_clicks, kernels.check_plain_python,
        kernels.check_same_as_reference, kernels.check_dropped_cache,
    ):  # fmt: skip
        check(cls, make)


def test_the_best_goes_to_the_most_examined_position() -> None:
    prior = Beta([90.0, 10.0, 50.0], [10.0, 90.0, 50.0])
    kappa = [0.2, 0.9, 0.5]
    for spec in (ThompsonSampling("pbm", prior, kappa), BayesUCB("pbm", prior, kappa, failure=0.1)):
        assert Learner(spec, 3, 3).rank()[0].tolist() == [1, 0, 2]


def test_dependent_clicks_whose_satisfaction_increases() -> None:
    """The best item goes where clicks satisfy most; if that is unknown, they refuse."""
    model = DCM([0.6, 0.4, 0.2], [0.2, 0.9])
    prior = Beta([60.0, 40.0, 20.0], [40.0, 60.0, 80.0])
    for name in ("thompson", "bayes-ucb"):
        told: Any = cr.policy(name, model=model, horizon=100, prior=prior)
        assert told.why_not(model) is None
        shown = [Learner(told, 3, 2, seed).rank()[0].tolist() for seed in range(20)]
        assert shown.count([1, 0]) > 15
        untold: Any = cr.policy(name, horizon=100, click_model="dcm")
        assert "it assumes that this decreases, not [0.2, 0.9]" in str(untold.why_not(model))
        assert untold.why_not(DCM([0.6, 0.4, 0.2], [0.9, 0.9])) is None
        with pytest.raises(InvalidValue, match=r"one entry per position \(3"):
            Learner(told, 3, 3)


def observed_rate(model: DCM, ranking: list[int], position: int, observe: str) -> float:
    """The click rate of an item among the lists in which it counts as seen, by enumeration."""
    seen = clicked = 0.0
    for clicks in itertools.product((0, 1), repeat=model.n_positions):
        chance = math.exp(model.log_prob(ranking, clicks))
        rule = DEPENDENT_RULES[observe]
        if position < positions_seen(rule, np.array(clicks)):
            seen += chance
            clicked += chance * clicks[position]
    return clicked / seen


def test_what_the_last_click_makes_of_attraction() -> None:
    """Down to the last click, a worse item at the second position looks better than the first."""
    model = DCM([0.45, 0.4, 0.1], [0.5, 0.2])
    assert observed_rate(model, [0, 1], 0, "last-click") == pytest.approx(0.45)
    assert observed_rate(model, [0, 1], 1, "last-click") == pytest.approx(0.31 / 0.64)
    assert observed_rate(model, [0, 1], 1, "first-click") == pytest.approx(0.4)


def test_regret_is_linear_down_to_the_last_click_and_flat_down_to_the_first() -> None:
    """Satisfaction decreases, as Corollary 3 of kveton2022 asks; so the order matters."""
    model = DCM([0.5, 0.45, 0.4, 0.35, 0.3, 0.25], [0.8, 0.6, 0.4, 0.2])
    rounds = 40_000
    late = {}
    for observe in ("last-click", "first-click"):
        spec = cr.policy("thompson", model=model, observe=observe)
        found = cr.simulate(
            spec, model, rounds, 12, seed=3, checkpoints=[rounds // 4, rounds], progress=False
        )
        late[observe] = (found.regret[:, 1] - found.regret[:, 0]) / (0.75 * rounds)
    # With these seeds 0.0036 ± 0.0001 per round against 0.0002 ± 0.0001: the limit is more than
    # ten standard errors from either.
    assert late["last-click"].mean() > 0.002
    assert late["first-click"].mean() < 0.001


def test_the_default_for_dependent_clicks_is_warned_of() -> None:
    (caution,) = ThompsonSampling.cautions
    assert 'observe="first-click"' in caution
    assert "linearly" in caution
    for name in ("thompson", "bayes-ucb", "dcm-kl-ucb"):
        known: Any = {} if name == "dcm-kl-ucb" else {"click_model": "dcm"}
        default = cr.policy(name, horizon=10, **known)
        other = cr.policy(name, horizon=10, observe="first-click", **known)
        assert isinstance(default, HasCautions)
        assert isinstance(other, HasCautions)
        assert default.warnings() == [caution]
        assert other.warnings() == []
    assert ThompsonSampling("cascade").warnings() == []
    assert not isinstance(cr.policy("pbm-ts", examination=[1.0, 0.5]), HasCautions)


def test_priors_are_relabelled() -> None:
    order = np.array([2, 0, 1])
    prior = Beta([90.0, 10.0, 50.0], [10.0, 90.0, 50.0])
    for spec in (
        ThompsonSampling("dctr", prior), BayesUCB("dctr", prior, failure=0.1),
        Greedy(prior), Ensemble([0.9, 0.1, 0.5]),
    ):  # fmt: skip
        assert Learner(spec, 3, 3).rank()[0].tolist() == [0, 2, 1]
        # Item i of the new catalogue is item order[i] of the old one.
        assert Learner(spec.relabelled(order), 3, 3).rank()[0].tolist() == [1, 0, 2]
    flat = ThompsonSampling("dctr")
    assert flat.relabelled(order) == flat


def test_late_feedback_counts_as_early_feedback() -> None:
    """What is learned is a sum over lists: in any order, with any number of them in flight."""
    for settings in ({"click_model": "dcm"}, {"click_model": "pbm", "examination": EXAMINATION}):
        made = [fed(ThompsonSampling(prior=PRIOR, **settings), log) for log in (LOG, LOG[::-1])]
        one, two = (each.statistics() for each in made)
        assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(
    "model",
    [DCTR([0.5, 0.2], 1), Cascade([0.5, 0.2], 1), DCM([0.5, 0.2], [0.5]), PBM([0.5, 0.2], [0.5])],
    ids=lambda model: model.name,
)
def test_told_by_the_model(model: ClickModel) -> None:
    kinds = {"dctr", "cascade", "dcm", "pbm"}
    for name in ("thompson", "bayes-ucb"):
        spec: Any = cr.policy(name, model=model, horizon=100)
        assert spec.click_model == model.name
        assert spec.examination == ((0.5,) if model.name == "pbm" else None)
        assert spec.why_not(model) is None
        for other in kinds - set(model.is_a):
            told: dict[str, Any] = {"examination": [0.5]} if other == "pbm" else {}
            wrong = cr.policy(name, horizon=100, click_model=other, **told)
            assert f"its click_model is {other}, not" in str(wrong.why_not(model))


def test_errors_are_kind() -> None:
    with pytest.raises(DoesNotApply, match="click_model must be one of dctr, cascade, dcm, pbm"):
        cr.policy("thompson", model=MNL([0.5, 0.4], [1.0]))
    for wrong, message in (
        ({"click_model": 3}, "click_model must be a string"),
        ({"click_model": "pbm"}, "examination must be given"),
        ({"click_model": "cascade", "examination": [1.0]}, "examination must be left out"),
        ({"click_model": "dctr", "prior": 0.5}, "prior must be a clickrank.priors.Beta"),
        ({"click_model": "dcm", "observe": "all"}, "observe must be 'last-click' or 'first-click'"),
        ({"click_model": "dcm", "satisfaction": [2.0]}, r"satisfaction\[0\] must be between"),
        ({"click_model": "dctr", "satisfaction": [0.2, 0.5]}, "satisfaction must be left out"),
        ({"click_model": "dctr", "failure": 1.0}, "failure must be above 0 and below 1"),
        ({"click_model": "dctr", "failure": None}, "horizon must be given, or failure"),
    ):
        with pytest.raises(InvalidValue, match=f"BayesUCB: {message}"):
            BayesUCB(**{"failure": 0.1, **wrong})  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="prior must have 4 items, or hold for all, got 3"):
        Learner(ThompsonSampling("dctr", PRIOR), 4, 2)
    with pytest.raises(DoesNotApply, match=r"got 'casade'\. Did you mean 'cascade'\?$"):
        cr.policy("thompson", click_model="casade")
    with pytest.raises(InvalidValue, match=r"Ensemble: scores\[1, 0\] must be between 0 and 1"):
        Ensemble([[0.5, 0.1], [1.5, 0.1]])
    with pytest.raises(InvalidValue, match="Greedy: prior must have 4 items"):
        Learner(Greedy(PRIOR), 4, 2)
    with pytest.raises(InvalidValue, match=r"Ensemble: scores must have one entry per item \(4\)"):
        Learner(Ensemble([0.5, 0.1]), 4, 2)


def test_greedy_and_ensemble_never_learn() -> None:
    for spec in (Greedy(Beta([1, 8, 3], [9, 2, 3])), Ensemble([[0.1, 0.8, 0.4], [0.1, 0.8, 0.6]])):
        learner = Learner(spec, 3, 2)
        for _ in range(20):
            ranking, memo = learner.rank()
            assert ranking.tolist() == [1, 2]
            learner.update(ranking, memo, [0, 0])
    tied = Learner(Greedy(), 3, 1, seed=0)
    assert {int(tied.rank()[0][0]) for _ in range(60)} == {0, 1, 2}


def test_a_right_prior_helps() -> None:
    """Regret of paired runs falls by 5 standard errors at least, and by 1."""
    attraction = np.array([0.5, 0.35, 0.3, 0.2, 0.15, 0.1, 0.1, 0.05])
    model = DCTR(attraction, 3)  # as in the shipped checks, so that it is compiled already
    prior = Beta.from_mean(attraction, weight=30)
    for name in ("thompson", "bayes-ucb"):
        flat, sharp = (
            cr.simulate(
                cr.policy(name, model=model, horizon=500, prior=p),
                model, 500, runs=30, seed=3, threads=1,
            ).regret[:, -1]
            for p in (Beta(), prior)
        )  # fmt: skip
        gain = flat - sharp
        assert gain.mean() > max(1.0, 5 * gain.std(ddof=1) / np.sqrt(gain.size)), name
