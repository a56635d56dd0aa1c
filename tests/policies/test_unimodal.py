"""GRAB and S-GRAB explore whatever the batches of feedback are."""

import pytest

from clickrank.learning import Learner
from clickrank.policies import policy


@pytest.mark.parametrize("name", ["grab", "s-grab"])
def test_batches_do_not_freeze_the_leader(name: str) -> None:
    """Feedback in batches of a multiple of the forced rounds' period must not force them all."""
    n_items = 4
    period = {"grab": n_items, "s-grab": 2 * (2 * n_items - 2 - 1) // 2 + 1}[name]
    learner = Learner(policy(name), n_items, 2, seed=0)
    explored = 0
    for _ in range(20):
        made = [learner.rank() for _ in range(10 * period)]
        explored += sum(ranking.tolist() != memo.tolist() for ranking, memo in made)
        for ranking, memo in made:
            learner.update(ranking, memo, [int(item == 0) for item in ranking])
    assert explored > 0
