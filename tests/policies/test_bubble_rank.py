"""BubbleRank: its pairs and its base list against direct computation, and its safety."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clickrank._core.rng import streams
from clickrank.clickmodels import PBM
from clickrank.errors import InvalidValue
from clickrank.learning import Learner
from clickrank.policies import BubbleRank

EASY = PBM([0.9, 0.05, 0.5, 0.3, 0.7, 0.1, 0.2], [1.0, 0.8, 0.6])
LONG = PBM(np.linspace(0.9, 0.1, 7), np.linspace(1.0, 0.5, 6))
SQUARE = PBM([0.1, 0.9, 0.4, 0.6], [1.0, 0.9, 0.8, 0.7])


@pytest.mark.parametrize("delay", [0, 7, 50])
@pytest.mark.parametrize("model", [EASY, LONG, SQUARE], ids=["easy", "long", "square"])
def test_bubblerank_stays_close_to_its_base_list(model: PBM, delay: int) -> None:
    """A list is the base list but for exchanges of disjoint neighbours, and perhaps its end."""
    k = model.n_positions
    learner = Learner(BubbleRank(horizon=20, power=0.3), model.n_items, k)
    base = learner.state.base
    rng = streams(4, delay)
    flying: list[tuple[Any, Any, Any]] = []
    exchanged = ended = 0
    for _ in range(2000):
        ranking, memo = learner.rank(rng.policy)
        if learner.state.rounds[0] > 0:
            position = moves = 0
            while position < k:
                if ranking[position] == base[position]:
                    position += 1
                elif position < k - 1 and ranking[position] == base[position + 1]:
                    assert ranking[position + 1] == base[position]
                    assert memo[position] == 1
                    position += 2
                    moves += 1
                else:
                    assert position == k - 1
                    assert ranking[position] in base[k:]
                    assert memo[position] == base[position] + 1
                    position += 1
                    ended += 1
            assert moves <= k // 2
            exchanged += moves
        flying.append((ranking, memo, model.sample(ranking, rng.users)))
        if len(flying) > delay:
            learner.update(*flying.pop(0))
    assert exchanged > 20
    assert (ended > 10) == (model.n_items > k)


def test_bubblerank_is_safe() -> None:
    """No more than K/2 pairs in the wrong order more than in the list it started from."""
    attraction = np.linspace(0.9, 0.1, 6)
    model = PBM(attraction, np.linspace(1.0, 0.5, 6))
    initial = [1, 0, 2, 5, 4, 3]

    def wrong(items: Any) -> int:
        return sum(attraction[a] < attraction[b] for i, a in enumerate(items) for b in items[i:])

    learner = Learner(BubbleRank(horizon=3000, initial=initial, power=1.0), 6, 6)
    rng = streams(5, 0)
    for _ in range(3000):
        ranking, memo = learner.rank(rng.policy)
        assert wrong(ranking) <= wrong(initial) + 3
        learner.update(ranking, memo, model.sample(ranking, rng.users))
    assert wrong(learner.state.base) < wrong(initial)


def test_late_feedback_counts_for_the_pair() -> None:
    """Where its items are by then does not matter, and neither do pairs in a fixed order."""
    learner = Learner(BubbleRank(horizon=100, initial=[0, 1, 2]), 4, 3)
    learner.update([2, 1, 0], [1, 0, 0], [1, 0, 1])
    wins = np.zeros((4, 4), dtype=np.int64)
    wins[2, 1] = 1
    assert np.array_equal(learner.statistics()["wins"], wins)
    learner.update([2, 1, 0], [0, 0, 4], [1, 0, 1])  # item 3 was left out at the end
    wins[0, 3] = 1
    assert np.array_equal(learner.statistics()["wins"], wins)
    learner.update([0, 1, 2], [0, 1, 0], [0, 1, 1])  # both clicked
    assert np.array_equal(learner.statistics()["wins"], wins)


def test_an_item_moves_up_one_place_a_round() -> None:
    """Also in rounds without news, as the printed pass over all neighbours has it."""
    learner = Learner(BubbleRank(horizon=100, initial=[0, 1, 2]), 4, 3)
    learner.state.wins[2, :2] = 1000
    learner.update([0, 1, 2], [0, 1, 0], [0, 0, 1])
    assert learner.state.base.tolist() == [0, 2, 1, 3]
    learner.update([0, 2, 1], [0, 0, 0], [0, 0, 0])
    assert learner.state.base.tolist() == [2, 0, 1, 3]
    learner.state.wins[3, 1] = 1000
    learner.update([0, 2, 1], [0, 0, 0], [0, 0, 0])  # below the page as well
    assert learner.state.base.tolist() == [2, 0, 3, 1]
    assert learner.cache.candidates[0] == 0  # item 1 is worse than item 3 with confidence


def test_every_pair_is_compared_whatever_the_batches() -> None:
    """Even and odd pairs take turns also when feedback comes in batches of an even size."""
    learner = Learner(BubbleRank(horizon=100, initial=[0, 1, 2, 3]), 4, 4)
    rng = np.random.default_rng(0)
    randomised = np.zeros(4, dtype=np.int64)
    for _ in range(10):
        flying = [learner.rank(rng) for _ in range(4)]
        for ranking, memo in flying:
            randomised += memo
            learner.update(ranking, memo, [0, 0, 0, 0])
    assert randomised.tolist() == [20, 20, 20, 0]


def test_given_lists() -> None:
    spec = BubbleRank(horizon=10, initial=np.array([2, 0, 1]))
    assert spec.initial == (2, 0, 1)
    assert Learner(spec, 5, 2).state.base.tolist() == [2, 0, 1, 3, 4]
    assert spec.relabelled(np.array([1, 2, 0, 3])).initial == (1, 2, 0)
    bad: list[Any] = [[], [0, 0], [-1, 0], [0.5], [[0]], "ab"]
    for initial in bad:
        with pytest.raises(InvalidValue, match=r"^BubbleRank: initial must be .*, got "):
            BubbleRank(horizon=10, initial=initial)
    for shape in ((2, 2), (5, 4)):
        with pytest.raises(InvalidValue, match=r"^BubbleRank: initial must hold .*, got "):
            Learner(spec, *shape)
    assert Learner(spec, 3, 3).rank()[0].size == 3
