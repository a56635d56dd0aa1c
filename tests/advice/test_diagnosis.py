"""`diagnose` finds the click model that made a log, and says what the log cannot show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clickrank.advice.advice_tables import effect_table, score_table
from clickrank.advice.diagnosis import diagnose
from clickrank.advice.held_out_scores import STRAY, fitted, held_out, ranked, score, score_positions
from clickrank.advice.identifiability import limits_of
from clickrank.advice.nested_models import ruled_out
from clickrank.errors import DoesNotApply, InvalidValue, UnknownName
from clickrank.fit import FITS
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING, cells_of
from tests.clicks import drawn_clicks, log_of, random_lists

# One seed each, and differences that are many standard errors wide: see `test_the_right_model`.
LISTS = 20_000


def without_lists(counts: Counts) -> Counts:
    return Counts(
        counts.n_positions, counts.queries, counts.pair_query, counts.pair_item, counts.cells, None
    )


@pytest.mark.parametrize("model", sorted(FITS))
def test_the_right_model(model: str) -> None:
    found = diagnose(log_of(model, LISTS))
    assert found.winner == model
    wrong = [gap for name, gap in found.ranking.behind.items() if name not in found.ranking.equals]
    assert all(gap.low > 0 for gap in wrong)
    assert found.ranking.scores[0].log_likelihood.mean > found.baseline.log_likelihood.mean
    assert found.verdict()[0].startswith(f"{model} ")


def test_nested_models_are_not_distinguishable() -> None:
    """Where every position is looked at, the position-based model is the document-based one."""
    found = diagnose(log_of("dctr", LISTS, seed=1), models=["pbm", "dctr"])
    assert found.ranking.equals == ("dctr", "pbm")
    assert found.winner == "dctr"
    assert "not distinguishable" in found.verdict()[0]


def test_scores_are_what_they_say() -> None:
    """By hand, on lists of one query; two clicks are impossible in a cascade, and cost."""
    counts = log_of("cascade", 3_000)
    test = Sessions(
        np.array([[0, 1, 2, NOTHING], [3, 2, 1, 0]], dtype=np.int32),
        np.array([[0, 1, 0, 0], [1, 1, 0, 0]], dtype=np.uint8),
        np.array([3, 1]),
    )
    held = held_out(
        counts, Counts(**{**counts.__dict__, "sessions": test, "cells": cells_of(test)})
    )
    fit = fitted("cascade", counts)
    found = score(fit, held)
    rates = held.rates
    a = fit.attraction
    stray = [
        (1 - rates[0]) * rates[1] * (1 - rates[2]),
        rates[0] * rates[1] * (1 - rates[2]) * (1 - rates[3]),
    ]
    alone = [(1 - a[0]) * a[1], 0.0]
    logs = [math.log((1 - STRAY) * p + STRAY * q) for p, q in zip(alone, stray, strict=True)]
    assert found.log_likelihood.mean == pytest.approx((3 * logs[0] + logs[1]) / 4, rel=1e-12)
    assert found.impossible == 0.25
    assert found.alone == -math.inf
    first = [(1 - STRAY) * a[i] + STRAY * rates[0] for i in (0, 3)]
    bits = -(3 * math.log2(1 - first[0]) + math.log2(first[1])) / 4
    assert found.perplexity[0] == pytest.approx(2**bits, rel=1e-12)
    last = (1 - STRAY) * fit.click_probabilities(test)[1, 3] + STRAY * rates[3]
    assert found.perplexity[3] == pytest.approx(1 / (1 - last), rel=1e-12)  # one list reaches it


def test_every_model_gives_all_click_vectors_together_a_probability_of_one() -> None:
    counts = log_of("dcm", 5_000)
    every = np.array([[n >> k & 1 for k in range(4)] for n in range(16)], dtype=np.uint8)
    test = Sessions(np.tile(np.array([2, 0, 4, 1], np.int32), (16, 1)), every, np.ones(16, int))
    held = held_out(
        counts, Counts(**{**counts.__dict__, "sessions": test, "cells": cells_of(test)})
    )
    for found in (*(score(fitted(name, counts), held) for name in FITS), score_positions(held)):
        assert np.exp(found.by_row).sum() == pytest.approx(1.0, abs=1e-9), found.name


def test_intervals_hold() -> None:
    """The true model's own likelihood lies in its 95 % interval in about 95 of 100 logs."""
    counts = log_of("dctr", 4_000)
    fit = fitted("dctr", counts)
    rng = np.random.default_rng(5)
    lists = random_lists(20_000, rng)
    clicks = drawn_clicks("dctr", lists, rng)
    whole = Counts.of_lists(lists, clicks)
    truth = score(fit, held_out(counts, whole)).log_likelihood.mean
    inside = 0
    for part in range(100):
        rows = slice(200 * part, 200 * (part + 1))
        test = Counts.of_lists(lists[rows], clicks[rows], names=[str(i) for i in range(6)])
        found = score(fit, held_out(counts, test)).log_likelihood
        inside += found.low <= truth <= found.high
    assert 86 <= inside <= 100  # fewer than 86 of 100 at 95 %: one in 10,000


def test_logs_without_lists_tell_positions_but_not_cascades() -> None:
    found = diagnose(without_lists(log_of("pbm", LISTS)))
    assert found.winner == "pbm"
    assert set(found.left_out) == set(FITS) - {"pbm", "dctr", "click-matrix"}
    assert not found.held.whole_lists
    assert any("shown together" in sentence for sentence in found.cannot_tell)
    effects = {e.position: e for e in found.effects}
    for position, true in ((2, 0.7), (3, 0.45), (4, 0.25)):
        assert effects[position].low < true < effects[position].high


def test_displays_are_scored_as_lists_of_one() -> None:
    """A position-based model says the same of a list and of its displays."""
    counts = log_of("pbm", 4_000)
    train, test = counts.split(0.75, 1)
    fit = fitted("pbm", train)
    lists = score(fit, held_out(train, test))
    displays = score(fit, held_out(train, without_lists(test)))
    assert displays.perplexity == pytest.approx(lists.perplexity, rel=1e-12)
    assert displays.alone == pytest.approx(lists.alone / 4, rel=1e-12)


def test_a_log_in_one_order_cannot_tell_positions_from_items() -> None:
    rng = np.random.default_rng(2)
    lists = np.tile(np.arange(4), (5_000, 1))
    found = diagnose(Counts.of_lists(lists, drawn_clicks("pbm", lists, rng)))
    assert any("always shown at the same position" in s for s in found.cannot_tell)
    assert {"dctr", "pbm"} <= set(found.ranking.equals)

    assert "cannot show how people click" in found.verdict()[0]
    assert all(math.isnan(e.value) and math.isnan(e.low) for e in found.effects)
    assert {row[1] for row in effect_table(found).rows} == {"unknown"}
    assert not found.ranking.ruled_out
    assert "chosen" not in {row[-1] for row in score_table(found).rows}


def test_a_simple_model_that_the_whole_log_excludes_is_not_chosen() -> None:
    """Few clicks: lists held out do not tell the models apart, examination of all lists does."""
    rng = np.random.default_rng(0)
    lists = random_lists(1_200, rng)
    clicks = drawn_clicks("pbm", lists, rng, np.full(6, 0.08))
    counts = Counts.of_lists(lists, clicks)
    found = diagnose(counts, models=["dctr", "pbm"])
    assert found.ranking.equals == ("dctr", "pbm")
    assert found.ranking.ruled_out == {"dctr": "pbm"}
    assert found.winner == "pbm"
    assert any(
        "dctr predicts about as well, but the whole log rules it out" in s for s in found.verdict()
    )
    assert "ruled out" in {row[-1] for row in score_table(found).rows}


@pytest.mark.parametrize("rich", ["pbm", "ubm", "dcm", "dbn"])
def test_special_cases_are_seldom_ruled_out(rich: str) -> None:
    simple = {"pbm": "dctr", "ubm": "pbm"}.get(rich, "cascade")
    out = [bool(ruled_out((simple, rich), log_of(simple, 1_000, seed=s))) for s in range(20)]
    assert sum(out) <= 4  # five of 20 at 5 %: three in 1,000
    other = log_of(rich, 5_000)
    assert ruled_out((simple, rich), other) == {simple: rich}


def test_a_log_without_clicks_is_refused() -> None:
    lists = random_lists(300, np.random.default_rng(0))
    with pytest.raises(DoesNotApply, match="this log has no clicks"):
        diagnose(Counts.of_lists(lists, np.zeros(lists.shape, dtype=np.uint8)))


def test_items_that_hardly_moved_and_few_clicks_are_said() -> None:
    rng = np.random.default_rng(3)
    lists = np.tile(np.arange(4), (1_000, 1))
    lists[:5] = [1, 0, 2, 3]
    said = limits_of(Counts.of_lists(lists, drawn_clicks("pbm", lists, rng)))
    assert any("hardly moved" in s for s in said)
    few = limits_of(Counts.of_lists(lists[:30], np.tile([1, 0, 0, 0], (30, 1))))
    assert any("too few" in s for s in few)
    assert not limits_of(log_of("pbm", 2_000))


def test_lists_with_items_never_seen_in_training_are_left_out_and_said() -> None:
    rng = np.random.default_rng(4)
    lists = random_lists(2_000, rng)
    for i, row in enumerate(range(0, 2_000, 100)):  # twenty lists of items of their own
        lists[row] = 6 + 4 * i + np.arange(4)
    attraction = np.full(86, 0.3)
    counts = Counts.of_lists(lists, drawn_clicks("dctr", lists, rng, attraction))
    train, test = counts.split(0.75, 0)
    held = held_out(train, test)
    assert 0 < held.unseen <= 20
    assert held.n + held.unseen == test.n_impressions
    found = diagnose(counts, models=["dctr"])
    assert any("never shown for its query" in s for s in found.cannot_tell)


def test_facts_are_plain_and_finite() -> None:
    import msgspec

    found = diagnose(log_of("cascade", 2_000), models=["cascade", "pbm"], seed=3)
    text = msgspec.json.encode(found.facts())
    facts = msgspec.json.decode(text)
    assert facts["winner"] == "cascade"
    assert facts["train"] + facts["test"] + facts["unseen"] == 2_000
    assert [m["model"] for m in facts["models"]] == ["cascade", "pbm"]
    assert facts["models"][0]["behind"] is None


def test_the_same_seed_gives_the_same_answer() -> None:
    counts = log_of("pbm", 1_000)
    one, two, three = (diagnose(counts, models=["pbm", "dctr"], seed=s) for s in (0, 0, 1))
    assert one.facts() == two.facts() != three.facts()


def test_refusals() -> None:
    counts = log_of("pbm", 500)
    with pytest.raises(UnknownName, match="Did you mean 'pbm'"):
        diagnose(counts, models=["pbn"])
    with pytest.raises(InvalidValue, match="models must name"):
        diagnose(counts, models=[])
    with pytest.raises(InvalidValue, match="test_share"):
        diagnose(counts, test_share=2.0)
    with pytest.raises(InvalidValue, match="at least 2 held-out lists"):
        diagnose(counts, test_share=0.0)
    with pytest.raises(DoesNotApply, match="no click model"):
        diagnose(without_lists(counts), models=["cascade"])


def test_ranking_of_one_model_names_it() -> None:
    counts = log_of("pbm", 500)
    train, test = counts.split(0.5, 0)
    held = held_out(train, test)
    ranking = ranked([score(fitted("dctr", train), held)], held)
    assert ranking.winner == ranking.best == "dctr"
    assert ranking.behind == {}
