"""CascadeLinUCB and CascadeLinTS: both bonuses, exploration, and parameters."""

from typing import Any

import numpy as np
import pytest

from clickrank.clickmodels import Cascade
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.learning import Learner
from clickrank.policies import CascadeLinTS, CascadeLinUCB, policy


def test_a_better_item_never_seen_is_explored() -> None:
    """The bonus stays where nothing was seen: the click rates of others do not end exploration."""
    learner = Learner(CascadeLinUCB(np.eye(3), width=0.5), 3, 1, seed=0)  # type: ignore[arg-type]
    shown = set()
    for _ in range(50):
        ranking, memo = learner.rank()
        shown.add(int(ranking[0]))
        learner.update(ranking, memo, [0])
    assert shown == {0, 1, 2}


def test_the_square_as_bonus_stays_with_a_bad_list() -> None:
    """What the program of li2019's authors does where the first items happen to be clicked.

    After s clicks in s views item 0 has 1 + c/s, and the others nothing: S† does not know them.
    With the norm, and the identity in M, an unknown item has min(c, 1) = 1.
    """
    lists = {}
    for bonus in ("square", "norm"):
        spec = CascadeLinUCB(np.eye(3), horizon=1000, bonus=bonus)  # type: ignore[arg-type]
        learner = Learner(spec, 3, 1, seed=0)
        rng = np.random.default_rng(0)
        ranking, memo = learner.rank()
        learner.update(ranking, memo, [1])
        lists[bonus] = {int(ranking[0])}
        for _ in range(300):
            ranking, memo = learner.rank()
            lists[bonus].add(int(ranking[0]))
            learner.update(ranking, memo, [int(rng.random() < 0.3)])
    assert len(lists["square"]) == 1
    assert len(lists["norm"]) == 3


def test_width_of_the_square() -> None:
    """About 9, as in li2019's experiments."""
    widths = []
    for horizon in (500_000, 2_000_000, 5_000_000):
        spec = CascadeLinUCB(np.eye(5), horizon=horizon, bonus="square")  # type: ignore[arg-type]
        widths.append(spec.params(5, 2).width)
    assert widths == pytest.approx([8.59, 9.03, 9.31], abs=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "CascadeLinUCB: horizon must be given, or width"),
        ({"width": -1.0}, "CascadeLinUCB: width must be a number of at least 0"),
        ({"horizon": 0}, "CascadeLinUCB: horizon must be a whole number"),
        ({"width": 1.0, "sigma": 0.0}, "CascadeLinUCB: sigma must be above 0"),
        ({"width": 1.0, "bonus": "root"}, "CascadeLinUCB: bonus must be 'norm' or 'square'"),
    ],
)
def test_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        policy("cascade-lin-ucb", features=np.eye(2), **settings)
    with pytest.raises(DoesNotApply, match="features must be given"):
        policy("cascade-lin-ts", model=Cascade([0.5, 0.2], 1))
    with pytest.raises(InvalidValue, match="CascadeLinTS: features must have 3 rows"):
        Learner(CascadeLinTS(np.eye(2)), 3, 1)  # type: ignore[arg-type]
