"""Which click models TopRank and RecurRank apply to: their papers' assumptions, by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import Floats
from clickrank.clickmodels import (
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
from clickrank.policies import policy

ATTRACTION = [0.9, 0.6, 0.35, 0.1]
SLACK = 1e-12

#: Click models of three positions, with whether each paper's assumptions hold.
MODELS: dict[str, tuple[ClickModel, bool, bool]] = {
    "pbm": (PBM(ATTRACTION, [1.0, 0.5, 0.2]), True, True),
    "pbm increasing": (PBM(ATTRACTION, [0.5, 1.0, 0.2]), False, False),
    "dctr": (DCTR(ATTRACTION, 3), True, True),
    "cascade": (Cascade(ATTRACTION, 3), True, True),
    "dcm": (DCM(ATTRACTION, [0.6] * 3), True, True),
    "dcm decreasing": (DCM(ATTRACTION, [0.9, 0.5, 0.2]), False, False),
    "dcm increasing": (DCM(ATTRACTION, [0.2, 0.5, 0.9]), False, False),
    "dbn": (DBN(ATTRACTION, [0.7] * 4, 3, continuation=0.8), True, True),
    "dbn by item": (DBN(ATTRACTION, [0.1, 0.2, 0.6, 0.9], 3, continuation=0.8), False, False),
    "mnl": (MNL(ATTRACTION, [1.0, 0.6, 0.2]), True, False),
    "mnl equal": (MNL(ATTRACTION, [0.8] * 3), True, False),
    "mnl increasing": (MNL(ATTRACTION, [0.2, 1.0, 0.6]), False, False),
    "ubm": (UBM(ATTRACTION, [[1.0], [0.2, 0.9], [0.2, 0.9, 0.9]]), False, False),
}


def rankings(model: ClickModel) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(model.n_items), model.n_positions))


def attractiveness(model: ClickModel) -> Floats:
    """α of lattimore2018; in the logit model an item also takes clicks from itself."""
    alpha = np.asarray(model.attraction)
    if isinstance(model, MNL):
        alpha = alpha / (1.0 + model.position_bias[0] * alpha)
    return alpha


def exchanged(shown: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    return tuple({i: j, j: i}.get(item, item) for item in shown)


def meets_lattimore2018(model: ClickModel) -> bool:
    """Assumptions 2 to 4, and that most clicks are what the model counts as the best."""
    v = {shown: model.click_probabilities(shown) for shown in rankings(model)}
    alpha = attractiveness(model)
    best = tuple(np.argsort(-alpha)[: model.n_positions].tolist())
    if v[best].sum() < max(clicks.sum() for clicks in v.values()) - SLACK:
        return False
    if model.value(best) < model.best_value() - SLACK:
        return False
    for shown, clicks in v.items():
        for k, i in enumerate(shown):
            for j in range(model.n_items):
                other = v[exchanged(shown, i, j)][k]
                if alpha[i] > alpha[j] and clicks[k] < alpha[i] / alpha[j] * other - SLACK:
                    return False
            if i == best[k] and clicks[k] < v[best][k] - SLACK:
                return False
    return True


def meets_li2019(model: ClickModel) -> bool:
    """Eq. 2 and Assumptions 1 to 3: examination is the click probability over the attraction."""
    alpha = np.asarray(model.attraction)
    chi = {
        shown: model.click_probabilities(shown) / alpha[list(shown)] for shown in rankings(model)
    }
    best = tuple(np.argsort(-alpha)[: model.n_positions].tolist())
    if model.value(best) < model.best_value() - SLACK:
        return False  # Remark 2: regret is then not what it seems
    above: dict[frozenset[int], float] = {}
    for shown, examined in chi.items():
        if (np.diff(examined) > SLACK).any() or (examined < chi[best] - SLACK).any():
            return False
        for k, probability in enumerate(examined.tolist()):
            first = above.setdefault(frozenset(shown[:k]), probability)
            if abs(first - probability) > SLACK:
                return False
    return True


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("name", "meets"), [("toprank", meets_lattimore2018), ("recurrank", meets_li2019)]
)
def test_applies_exactly_where_the_assumptions_hold(
    kind: str, name: str, meets: Callable[[ClickModel], bool]
) -> None:
    model, *expected = MODELS[kind]
    assert meets(model) == expected[name == "recurrank"]
    settings: dict[str, Any] = {"features": np.eye(4)} if name == "recurrank" else {}
    reason = policy(name, horizon=9, **settings).why_not(model)
    assert (reason is None) == meets(model), reason


def test_reasons() -> None:
    spec = policy("toprank", horizon=9)
    for kind, reason in {
        "mnl increasing": "it assumes that position_bias decreases, not [0.2, 1.0, 0.6]",
        "dcm decreasing": "all clicks satisfy equally, but satisfaction is from 0.2 to 0.9",
        "dbn by item": "all clicks satisfy equally, but item_satisfaction is from 0.1 to 0.9",
        "ubm": "it assumes pbm or cascade or dcm or dbn or mnl clicks, not ubm",
    }.items():
        assert reason in str(spec.why_not(MODELS[kind][0]))


def test_random_models_with_attractions_that_decide_it() -> None:
    """Not an accident of the numbers: many draws of what is allowed meet the assumptions."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        attraction = rng.uniform(0.02, 0.98, 4)
        bias = np.sort(rng.uniform(0.05, 1.0, 3))[::-1]
        satisfied, stay = rng.random(2)
        models = [
            MNL(attraction, bias),
            DCM(attraction, [satisfied] * 3),
            DBN(attraction, [satisfied] * 4, 3, continuation=stay),
        ]
        assert all(meets_lattimore2018(model) for model in models)
        assert all(meets_li2019(model) for model in models[1:])


def test_features_of_the_model_are_taken() -> None:
    """RecurRank on dependent clicks with equal satisfaction, from end to end."""
    users = DCM(LinearAttraction(np.eye(4), ATTRACTION), [0.5, 0.5])
    result = cr.simulate("recurrank", users, horizon=3000, runs=2, seed=0, progress=False)
    uniform = cr.simulate("uniform", users, horizon=3000, runs=2, seed=0, progress=False)
    assert result.regret[:, -1].max() < uniform.regret[:, -1].min()
