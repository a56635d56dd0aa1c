"""TopRank and UniRank, fast: the same lists as the plain kernels, also late and with many items."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from clickrank.checks.kernel_checks import assert_same_rounds
from clickrank.checks.playing import Log
from clickrank.clickmodels import PBM, Cascade, ClickModel
from clickrank.learning import Learner
from clickrank.policies import policy

THETA = np.array([0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01])  # θ^W
KAPPA = np.array([1.0, 0.75, 0.6, 0.3, 0.1])
CASES: list[tuple[str, dict[str, Any]]] = [
    ("toprank", {"failure": 0.01}),
    ("toprank", {"failure": 1.0}),  # items often beat each other in circles
    ("toprank", {"doubling": True, "guess": 30}),
    ("unirank", {}),
]


def play(
    name: str, settings: dict[str, Any], model: ClickModel, rounds: int, delay: int, seed: int
) -> tuple[Learner, Log]:
    """Compare fast and plain kernels round by round; return the fast learner and its log."""
    spec = policy(name, model=model, horizon=rounds, **settings)
    learner, other = (
        Learner(each, model.n_items, model.n_positions)
        for each in (spec, dataclasses.replace(spec, reference=True))
    )
    what = "by the reference"
    return learner, assert_same_rounds(learner, other, model, rounds, what, late=delay, seed=seed)


@pytest.mark.parametrize("delay", [7, 50])
@pytest.mark.parametrize("model", [PBM(THETA, KAPPA), Cascade(THETA * 2, 4)], ids=["pbm", "cm"])
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_late_feedback_like_the_reference(
    name: str, settings: dict[str, Any], model: ClickModel, delay: int
) -> None:
    play(name, settings, model, 400, delay, seed=delay)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
@pytest.mark.parametrize("kind", ["pbm", "cascade", "many positions"])
def test_many_items_like_the_reference(name: str, settings: dict[str, Any], kind: str) -> None:
    """Forty items: two words of bits, blocks larger than the list, and chains of many blocks."""
    attraction = np.random.default_rng(5).permutation(np.linspace(0.95, 0.02, 40))
    if kind == "many positions":
        model: ClickModel = PBM(attraction, np.linspace(1.0, 0.6, 25))
    elif kind == "pbm":
        model = PBM(attraction, np.linspace(1.0, 0.4, 5))
    else:
        model = Cascade(attraction / 3, 5)
    rounds = {"toprank": 1200, "unirank": 200}[name]
    learner, _ = play(name, settings, model, rounds, 0, seed=1)
    if name == "toprank" and not settings.get("doubling"):
        assert len(set(learner.cache.block.tolist())) > 1  # it came to divide


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_lazy_equals_always_fresh(name: str, settings: dict[str, Any]) -> None:
    """Losing the cache before every list changes no list and no statistic."""
    model = PBM(THETA, KAPPA)
    spec = policy(name, model=model, horizon=3000, **settings)
    lazy, fresh = (Learner(spec, 10, 5) for _ in range(2))
    assert_same_rounds(lazy, fresh, model, 3000, "without its cache", seed=4, drop=True)
