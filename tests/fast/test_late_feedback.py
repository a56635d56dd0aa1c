"""BatchRank and BubbleRank, fast: the same lists as the plain kernels with late feedback."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from clickrank.checks.kernel_checks import assert_same_rounds
from clickrank.clickmodels import PBM
from clickrank.learning import Learner
from clickrank.policies import BatchRank, BubbleRank, Policy

EASY = PBM([0.9, 0.05, 0.5, 0.3, 0.7, 0.1, 0.2], [1.0, 0.8, 0.6])
LONG = PBM(np.linspace(0.9, 0.1, 7), np.linspace(1.0, 0.5, 6))
SQUARE = PBM([0.1, 0.9, 0.4, 0.6], [1.0, 0.9, 0.8, 0.7])
SPECS = [
    BatchRank(horizon=3),
    BatchRank(horizon=50),
    BubbleRank(horizon=50, power=0.3),
    BubbleRank(horizon=3, power=0.5, initial=[1, 3, 2, 0, 4, 5]),
]


@pytest.mark.parametrize("delay", [0, 7, 50])
@pytest.mark.parametrize("model", [EASY, LONG, SQUARE], ids=["easy", "long", "square"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_reference_with_late_feedback(spec: Policy, model: PBM, delay: int) -> None:
    """Round by round the same lists and memos; horizons so short that all stages are reached."""
    if isinstance(spec, BubbleRank) and spec.initial is not None and model is SQUARE:
        spec = BubbleRank(spec.horizon, [3, 1, 2, 0], spec.power)
    learner = Learner(spec, model.n_items, model.n_positions)
    plain = Learner(dataclasses.replace(spec, reference=True), model.n_items, model.n_positions)
    log = assert_same_rounds(learner, plain, model, 1500, "by the reference", late=delay, seed=3)
    assert len({tuple(ranking.tolist()) for ranking, _, _ in log}) > 2
