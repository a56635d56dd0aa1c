"""dcmKL-UCB: where the best item goes, and the bias of its observations."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.rng import streams
from clickrank.clickmodels import DCM, PBM
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.learning import Learner
from clickrank.policies import DCMKLUCB, policy


def test_dcm_puts_the_best_item_where_clicks_satisfy_most() -> None:
    model = DCM([0.8, 0.5, 0.2, 0.1], [0.1, 0.9, 0.5])
    spec = policy("dcm-kl-ucb", model=model, observe="first-click")
    learner, plain = (
        Learner(dataclasses.replace(spec, reference=reference), 4, 3) for reference in (False, True)
    )
    ours, theirs = streams(8, 0), streams(8, 0)
    for t in range(3000):
        ranking, memo = learner.rank(ours.policy)
        clicks = model.sample(ranking, ours.users)
        if t < 150:
            want, want_memo = plain.rank(theirs.policy)
            assert ranking.tolist() == want.tolist(), f"round {t}"
            assert memo.tolist() == want_memo.tolist(), f"round {t}"
            plain.update(want, want_memo, clicks)
        learner.update(ranking, memo, clicks)
    assert learner.rank()[0].tolist() == model.best_ranking().tolist() == [2, 0, 1]


def test_dcm_needs_the_order_of_the_positions() -> None:
    assert policy("dcm-kl-ucb", model=PBM([0.5, 0.4], [1.0, 0.5])) == DCMKLUCB()
    increasing = DCM([0.5, 0.4], [0.1, 0.9])
    with pytest.raises(DoesNotApply, match="without satisfaction"):
        cr.simulate(DCMKLUCB(), increasing, 10)
    assert DCMKLUCB(satisfaction=[0.0, 1.0]).why_not(increasing) is None  # the order is enough
    with pytest.raises(InvalidValue, match="observe must be one of last-click, first-click, got"):
        DCMKLUCB(observe="every-click")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"satisfaction must have one entry per position \(2\)"):
        cr.simulate(DCMKLUCB(satisfaction=[0.5]), increasing, 10)


@pytest.mark.parametrize(("observe", "biased"), [("last-click", True), ("first-click", False)])
def test_bias_of_what_was_observed(observe: Any, biased: bool) -> None:
    """Exact: click rates at each position among the lists that count there."""
    model = DCM([0.4, 0.4, 0.4], [0.5, 0.5, 0.5])
    ranking = np.arange(3)
    seen, clicked = np.zeros(3), np.zeros(3)
    for clicks in itertools.product((0, 1), repeat=3):
        learner = Learner(DCMKLUCB(observe=observe), 3, 3)
        learner.update(ranking, np.zeros(0, dtype=np.int64), np.array(clicks))
        weight = math.exp(model.log_prob(ranking, clicks))
        seen += weight * (learner.state.clicks + learner.state.misses)
        clicked += weight * learner.state.clicks
    want = [0.4, 0.44, 0.542] if biased else [0.4, 0.4, 0.4]
    assert clicked / seen == pytest.approx(want, abs=5e-4)
