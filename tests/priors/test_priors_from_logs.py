"""Priors of items from their logged clicks."""

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import Ints
from clickrank.clickmodels import PBM, Cascade, ClickModel
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.fit import fit_pbm
from clickrank.logs import Counts
from clickrank.policies import Policy
from clickrank.priors import Beta, from_history, from_log

ATTRACTION = [0.5, 0.4, 0.3, 0.2]
START = Beta(1.0, 9.0)


def logged(model: ClickModel, n: int, seed: int = 0) -> Counts:
    """Return the log of a page that mostly shows worse items further up."""
    rng = np.random.default_rng(seed)
    usual = np.arange(model.n_items)[::-1]
    rankings: list[Ints] = []
    for _ in range(n):
        order = usual if rng.random() < 0.9 else rng.permutation(model.n_items)
        rankings.append(order[: model.n_positions])
    return Counts.of_lists(rankings, [model.sample(r, rng) for r in rankings])


def within(prior: Beta, attraction: list[float], errors: float = 4.5) -> bool:
    """Return whether the means are as close to the attractions as binomial noise allows."""
    return bool((np.abs(prior.mean - attraction) < errors * np.sqrt(prior.variance)).all())


def test_views_are_weighted_by_examination() -> None:
    model = PBM(ATTRACTION, [1.0, 0.6, 0.3, 0.1])
    counts = logged(model, 3_000)
    prior = from_log(counts, "pbm", examination=model.examination, start=START)
    assert within(prior, ATTRACTION)
    # By hand: looks are Σ N κ, and clicks count as they are.
    cells = counts.cells
    looks = np.zeros(4)
    np.add.at(looks, cells.pair, cells.shown * model.examination[cells.position])
    clicks = np.bincount(cells.pair, cells.clicked, 4)
    np.testing.assert_allclose(prior.alpha, 1.0 + clicks)
    np.testing.assert_allclose(prior.beta, 9.0 + looks - clicks)
    # With displays as looks, the items that the page shows last seem to be the worst.
    plain = from_log(counts, "dctr", start=START)
    assert plain.mean[0] < plain.mean[3]
    assert not within(plain, ATTRACTION)


def test_examination_may_come_from_a_fit() -> None:
    model = PBM(ATTRACTION, [1.0, 0.6, 0.3, 0.1])
    counts = logged(model, 3_000)
    prior = from_log(counts, "pbm", examination=fit_pbm(counts).examination, start=START)
    assert np.argsort(-prior.mean).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("click_model", ["cascade", "dcm"])
def test_looks_down_to_the_first_click(click_model: str) -> None:
    model: ClickModel = Cascade(ATTRACTION, n_positions=3)
    if click_model == "dcm":
        model = cr.clickmodels.DCM(ATTRACTION, [0.8, 0.5, 0.2])
    counts = logged(model, 3_000)
    prior = from_log(counts, click_model, start=START)
    assert within(prior, ATTRACTION)
    assert not within(from_log(counts, "dctr", start=START), ATTRACTION)


def test_the_spread_of_the_items_is_the_start() -> None:
    counts = logged(Cascade(ATTRACTION, n_positions=3), 300)
    sessions = counts.sessions
    assert sessions is not None
    prior = from_log(counts, "cascade")
    by_hand = from_log(counts, "cascade", start=Beta(1.0, 1.0))
    clicks, misses = np.subtract(by_hand.alpha, 1.0), np.subtract(by_hand.beta, 1.0)
    spread = from_history(clicks, clicks + misses)
    assert prior == spread.updated(clicks, misses)
    few = Counts.of_lists([[0, 1]], [[0, 0]])
    with pytest.raises(
        InvalidValue, match=r"start must be given, .*there must be at least one click"
    ):
        from_log(few, "cascade")


def test_items_of_a_catalogue_and_temper() -> None:
    counts = Counts.of_lists([[0, 1]] * 4, [[1, 0]] * 2 + [[0, 0]] * 2, names=["b", "c"])
    prior = from_log(counts, "dctr", items=["c", "new", "b"], start=START)
    assert prior == Beta([1.0, 1.0, 3.0], [13.0, 9.0, 11.0])
    half = from_log(counts, "dctr", items=["c", "new", "b"], start=START, temper=0.5)
    assert half == Beta([1.0, 1.0, 2.0], [11.0, 9.0, 10.0])


def test_more_clicks_than_expected_looks_are_no_misses() -> None:
    counts = Counts.of_lists([[0]] * 3, [[1]] * 3)
    assert from_log(counts, "pbm", examination=[0.5], start=START) == Beta([4.0], [9.0])


def test_wrong_values() -> None:
    counts = Counts.of_lists([[0, 1]], [[1, 0]])
    with pytest.raises(InvalidValue, match="click_model must be one of dctr, cascade, dcm, pbm"):
        from_log(counts, "ubm", start=START)
    with pytest.raises(InvalidValue, match="examination must be given"):
        from_log(counts, "pbm", start=START)
    with pytest.raises(InvalidValue, match=r"one entry per position \(2\)"):
        from_log(counts, "pbm", examination=[1.0], start=START)
    with pytest.raises(InvalidValue, match="examination must be left out"):
        from_log(counts, "dctr", examination=[1.0, 1.0], start=START)
    with pytest.raises(InvalidValue, match="temper must be above 0"):
        from_log(counts, "dctr", start=START, temper=0.0)
    with pytest.raises(InvalidValue, match="start must be one Beta"):
        from_log(counts, "dctr", start=Beta([1.0, 1.0], 2.0))
    with pytest.raises(InvalidValue, match="items must have at least one name, and no name twice"):
        from_log(counts, "dctr", items=["0", "0"], start=START)
    with pytest.raises(InvalidValue, match=r"counts must be a clickrank\.logs\.Counts"):
        from_log([[0, 1]], "dctr")  # type: ignore[arg-type]
    slots = Counts(2, counts.queries, counts.pair_query, counts.pair_item, counts.cells, None)
    with pytest.raises(DoesNotApply, match="must have lists"):
        from_log(slots, "cascade", start=START)
    assert from_log(slots, "dctr", start=START) == from_log(counts, "dctr", start=START)


def test_a_prior_from_a_log_saves_clicks() -> None:
    """Compare with the learned start alone, on 40 pages of 12 items with 200 logged lists each."""
    rng = np.random.default_rng(5)
    models: dict[str | int, ClickModel] = {
        i: Cascade(rng.beta(2.0, 8.0, 12), n_positions=3) for i in range(40)
    }
    spread = Beta(2.0, 8.0)
    lost = []
    for log in (False, True):

        def make(page: str | int, model: ClickModel, log: bool = log) -> Policy:
            prior = spread
            if log:
                prior = from_log(logged(model, 200, int(page)), "cascade", start=spread)
            return cr.policy("thompson", model=model, prior=prior)

        found = cr.simulate_many(
            make, models, horizon=500, runs=2, seed=0, label="thompson", progress=False
        )
        lost.append(found.result(average_runs=True).regret[:, -1])
    gap = lost[0] - lost[1]
    assert gap.mean() > 4.0 * gap.std(ddof=1) / np.sqrt(gap.size)
