"""Every registered policy passes every shipped check."""

import pytest

from clickrank.checks import POLICY_CHECKS
from clickrank.checks.policies import by_name
from clickrank.policies import POLICIES, Learner, policy


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", POLICIES)
def test_policy_passes(name: str, check) -> None:  # type: ignore[no-untyped-def]
    cls = POLICIES[name]
    check(cls, by_name(cls))


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
