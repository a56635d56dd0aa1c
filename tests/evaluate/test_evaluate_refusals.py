"""Logs that do not cover a target, few clicks, names of items, and verdicts by chance."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import binom

import clickrank as cr
from clickrank._core.arrays import Ints
from clickrank.clickmodels import PBM
from clickrank.errors import CannotEvaluate, InvalidValue
from clickrank.evaluate import (
    ESTIMATORS,
    BootstrappedReplay,
    CascadeDR,
    DirectMethod,
    Estimator,
    Evaluation,
    EvaluationSettings,
    Interval,
    ItemPositionIPS,
    ListIPS,
    Marginals,
    Mixture,
    RankingDistribution,
    Replay,
    UniformLists,
    evaluate,
    fixed_list,
    learned,
    part,
    shown_in,
)
from clickrank.evaluate.evaluation import ALL
from clickrank.evaluate.policy_verdict import verdict
from clickrank.logs import Impressions
from clickrank.rankings.enumeration import all_rankings

TWO = np.array([[0, 1], [1, 0]])


def log_of(
    lists: Ints,
    n: int,
    seed: int,
    rates: float | list[float] = 0.3,
    names: str = "abc",
    logged: bool = True,
) -> Impressions:
    """Lists drawn uniformly from these; clicks with these rates at each position."""
    rng = np.random.default_rng(seed)
    shown = lists[rng.integers(0, len(lists), n)]
    clicks = (rng.random(shown.shape) < np.asarray(rates)).astype(np.uint8)
    drawn = Mixture(lists, len(names))
    return Impressions(
        np.array(list(names)),
        shown,
        clicks,
        drawn.marginals()[shown, range(shown.shape[1])] if logged else None,
        drawn.prefix_probabilities(shown) if logged else None,
    )


def refusal(estimator: Estimator, log: Impressions, target: RankingDistribution) -> str:
    with pytest.raises(CannotEvaluate) as found:
        estimator.estimate(log, target)
    return str(found.value)


@pytest.mark.parametrize("estimator", [ListIPS(), Replay(), BootstrappedReplay(resamples=5)])
def test_what_is_never_shown_is_refused_by_the_share_kept(estimator: Estimator) -> None:
    log = log_of(TWO, 2000, seed=0)
    half = Mixture([[0, 1], [2, 0]], 3)
    assert "of what the policy shows (whole lists) is never" in refusal(estimator, log, half)
    assert estimator.estimate(log, Mixture(TWO, 3, [0.9, 0.1])).n == 2000


def test_replay_refuses_propensities_that_do_not_fit() -> None:
    log = log_of(TWO, 2000, seed=0)
    always = Mixture([[0, 1]], 3)
    assert "do not fit the log: 333 imp" in refusal(Replay(propensities="uniform"), log, always)


def test_direct_method_refuses_items_never_shown() -> None:
    log = log_of(TWO, 500, seed=0)
    direct = DirectMethod(refits=2)
    most = Mixture([[0, 1], [2, 0]], 3, [0.88, 0.12])  # 6 % of the items
    assert "about 6 % of the items that the policy shows" in refusal(direct, log, most)
    some = Mixture([[0, 1], [2, 0]], 3, [0.92, 0.08])
    assert direct.estimate(log, some).notes[0].startswith("4.00 % of the items")
    none = direct.estimate(log, Mixture(TWO, 3))
    assert not any("never shown" in note for note in none.notes)
    known = DirectMethod(model=PBM([0.3, 0.3, 0.3], [1.0, 1.0]))
    assert known.estimate(log, most).value == pytest.approx(0.6)


def test_bootstrapped_replay_refuses_by_what_the_log_itself_keeps() -> None:
    """One of 24 lists: of 400 some 17, though each log drawn from it keeps 400."""
    log = log_of(all_rankings(4, 3), 400, seed=1, names="abcd")
    found = refusal(BootstrappedReplay(resamples=5), log, Mixture([[0, 1, 2]], 4))
    assert found.startswith("Too little overlap: of ")


def zero_clicks() -> Evaluation:
    """The target's list was shown 40 times, without a click; the other had some."""
    many = Impressions(
        np.array(["a", "b"]),
        np.repeat(TWO, [1500, 40], axis=0),
        np.vstack([np.repeat([[1, 0], [0, 0]], [15, 1485], axis=0), np.zeros((40, 2))]).astype(
            np.uint8
        ),
    )
    names = ("list-ips", "cascade-dr", "item-position-ips", "direct")
    replays = ("replay", "bootstrapped-replay")
    settings = EvaluationSettings(propensities="estimated")
    return evaluate(many, Mixture([[1, 0]], 2), (*names, *replays), settings)


def test_no_click_is_no_certainty() -> None:
    """Of 40 lists without a click the share may be up to 8.8 %, at each of two positions."""
    found = zero_clicks()
    assert len(found.estimates) == 6
    for name, estimate in found.estimates.items():
        assert estimate.with_clicks == 0, name
        assert estimate.interval == pytest.approx((0.0, 2 * (1 - 0.025 ** (1 / 40)))), name
        assert estimate.gain_interval is not None
        assert estimate.gain_interval.high > 0.16
        assert any("Only 0 impressions" in note for note in estimate.notes), name
    assert all("Not distinguishable from today's" in sentence for sentence in found.verdict)


def test_values_that_are_all_the_same_are_no_certainty() -> None:
    log = log_of(TWO, 100, seed=0, rates=1.0)
    interval = Replay(reward="any click").estimate(log, Mixture([[0, 1]], 3)).interval
    assert interval is not None
    assert 0.85 < interval.low < 0.95
    assert interval.high == 1.0


ONE_OF_SIX = Mixture([[2, 0]], 3)


def false_verdicts(runs: int, names: tuple[str, ...]) -> tuple[int, int]:
    """Count verdicts by the first and by any estimator, where all items are the same."""
    first = any_of_them = 0
    settings = EvaluationSettings(propensities="uniform")
    for seed in range(runs):
        log = log_of(all_rankings(3, 2), 600, seed, rates=[0.3, 0.15], logged=False)
        said = evaluate(log, ONE_OF_SIX, names, dataclasses.replace(settings, seed=seed)).verdict
        decided = ["than today's by" in s and "Not disting" not in s for s in said]
        first += decided[0]
        any_of_them += any(decided)
    return first, any_of_them


@pytest.mark.proof
def test_false_verdicts_of_all_estimators() -> None:
    """The first estimator errs in 5 % of logs, it and the second together in 10 % at most.

    200 logs, all estimators but the direct method, whose refits take long. More than these have a
    chance of 1 in 1,000 with 6 % and 11 %: the bootstrap is not exact.
    """
    first, either = false_verdicts(200, tuple(name for name in ALL if name != "direct"))
    print(first, either)
    assert first <= binom.ppf(0.999, 200, 0.06)
    assert either <= binom.ppf(0.999, 200, 0.11)


def test_the_second_opinion_is_fixed_beforehand() -> None:
    """No other estimator gets a word, however decided it is."""
    log = log_of(all_rankings(3, 2), 600, seed=0, rates=[0.3, 0.15], logged=False)
    undecided = ListIPS(propensities="uniform").estimate(log, ONE_OF_SIX)
    assert undecided.with_clicks >= 10
    decided = dataclasses.replace(undecided, gain_interval=Interval(0.1, 0.2))
    estimates = dict.fromkeys(ESTIMATORS, decided) | {"list-ips": undecided}
    said = verdict(estimates, {})
    assert said[0].startswith("Not distinguishable from today's by list-ips")
    assert said[1].startswith("A second opinion, which assumes more: Better than today's by item-p")
    assert len(said) == 2
    del estimates["item-position-ips"]
    assert len(verdict(estimates, {})) == 1
    few = {"list-ips": dataclasses.replace(decided, with_clicks=9)}
    assert verdict(few, {})[0].startswith("Not distinguishable from today's")


def test_targets_are_of_the_items_of_the_log() -> None:
    log = log_of(TWO, 500, seed=0, names="ab")
    other = log_of(TWO[:1], 50, seed=1, names="ba")
    with pytest.raises(InvalidValue, match=r"item 0 of the log, 'a'.*got 'b'"):
        ListIPS().estimate(log, shown_in(other))
    with pytest.raises(InvalidValue, match=r"propensities: item 0 of the policy"):
        ListIPS(propensities=shown_in(other)).estimate(log, Mixture(TWO, 2))
    always = shown_in(other, names=log.items)  # b, a
    expected = ListIPS().estimate(log, Mixture([[1, 0]], 2)).value
    assert ListIPS().estimate(log, always).value == pytest.approx(expected, abs=1e-12)
    with pytest.raises(CannotEvaluate, match="never shows the item 'z'"):
        shown_in(log_of(TWO, 50, seed=1, names="bz"), names=log.items)
    unseen = log_of(TWO, 50, seed=1, names="baz")  # z is in its catalogue, and never shown
    assert shown_in(unseen, names=log.items).marginals() == pytest.approx(0.5, abs=0.2)
    with pytest.raises(InvalidValue, match=r"one name per item \(2\), got \(3,\)"):
        Mixture(TWO, 2, names=np.array(["a", "b", "c"]))
    with pytest.raises(InvalidValue, match="item 1 of the policy"):
        ListIPS().estimate(log, fixed_list(["a", "c"], np.array(["a", "c"])))


def test_single_displays_are_mapped_by_name_too() -> None:
    rows = np.array([[0, -1], [-1, 1]])
    single = Impressions(np.array(["b", "a"]), rows, np.zeros((2, 2), np.uint8))
    found = shown_in(single, names=np.array(["a", "b"]))
    assert isinstance(found, Marginals)
    np.testing.assert_array_equal(found.table, [[0.0, 1.0], [1.0, 0.0]])


def test_queries_of_different_widths_are_named() -> None:
    two, three = log_of(TWO, 100, seed=0), log_of(all_rankings(3, 3), 100, seed=0)
    targets = [Mixture([[0, 1]], 3), Mixture([[0, 1, 2]], 3)]
    with pytest.raises(InvalidValue, match=r"same number of positions, got \[2, 3\]"):
        evaluate([two, three], targets)
    with pytest.raises(InvalidValue, match=r"ListIPS.*same number of positions, got \[2, 3\]"):
        ListIPS().estimate([two, three], targets)


def test_what_is_left_out_is_said_everywhere() -> None:
    log = log_of(TWO, 1000, seed=0)
    rankings, clicks = log.rankings.copy(), log.clicks.copy()
    rankings[:100, 1], clicks[:100, 1] = -1, 0
    short = dataclasses.replace(log, rankings=rankings, clicks=clicks)
    for estimator in (Replay(), BootstrappedReplay(resamples=5), DirectMethod(refits=0)):
        notes = estimator.estimate(short, Mixture(TWO, 3)).notes
        assert "100 lists shorter than 2 were left out." in notes, estimator.name
    target = learned(cr.policy("uniform"), short)
    notes = ItemPositionIPS(propensities=target).estimate(part(log, slice(500)), target).notes
    assert notes[0].startswith("In what the policy learned from: 100 lists shorter")


def test_bernstein_needs_independent_terms_and_a_bound() -> None:
    log = log_of(TWO, 400, seed=0)
    target = Mixture(TWO, 3, [0.6, 0.4])
    known = CascadeDR(model=PBM([0.3, 0.3, 0.3], [1.0, 1.0]))
    assert known.estimate(log, target).bernstein is not None
    fitted = CascadeDR(model="pbm").estimate(log, target)
    assert fitted.bernstein is None
    assert not any("Bernstein" in note for note in fitted.notes)


def test_a_bound_by_draws_is_said() -> None:
    """60 items have more lists of four than are gone through."""
    rng = np.random.default_rng(0)
    shown = np.argsort(rng.random((500, 60)), axis=1)[:, :4]
    clicks = (rng.random(shown.shape) < 0.3).astype(np.uint8)
    log = Impressions(np.arange(60).astype(str), shown, clicks)
    uniform = UniformLists(60, 4)
    for estimator in (ListIPS(propensities="uniform"), ListIPS(propensities=uniform)):
        notes = estimator.estimate(log, uniform).notes
        assert any("largest weight of draws of the policy" in note for note in notes)


def test_examination_that_is_fitted_is_said() -> None:
    log = log_of(all_rankings(3, 2), 600, seed=0)
    found = evaluate(log, ONE_OF_SIX, ["position-based-ips"])
    notes = found.estimates["position-based-ips"].notes
    assert any("Examination was fitted to the same impressions" in note for note in notes)
