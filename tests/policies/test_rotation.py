"""CombUCB1 and KL-CombUCB explore cells that were never seen."""

from clickrank.learning import Learner
from clickrank.policies import policy


def test_unseen_cells_are_explored_whatever_was_fed() -> None:
    """Rounds that another system chose may leave an item never seen at a position."""
    for name in ("comb-ucb1", "kl-comb-ucb"):
        learner = Learner(policy(name), 3, 2, seed=0)
        for shown in ([0, 1], [1, 0], [2, 0]) * 3:
            learner.update(shown, [], [0, 0])
        seen = set()
        for _ in range(50):
            ranking, memo = learner.rank()
            seen.add((int(ranking[1]), 1))
            learner.update(ranking, memo, [0, 0])
        assert (2, 1) in seen, name
