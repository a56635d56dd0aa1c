"""Every registered policy passes every shipped check."""

import pytest

from clickrank.checks import LEARNING_CHECKS, POLICY_CHECKS
from clickrank.checks.playing import Make, by_name
from clickrank.checks.policy_checks import LEARNS_WITHIN, check_learns
from clickrank.checks.propensity_checks import check_propensities
from clickrank.clickmodels import PBM
from clickrank.learning import Learner
from clickrank.policies import POLICIES, policy

#: How to make the policies that must be told more than a click model knows.
MAKE: dict[str, Make] = {
    "ensemble": lambda model, horizon: policy("ensemble", scores=model.attraction),
}


#: Whose lists must be drawn by machine code that no other test needs: some seconds each.
ALONE = ("pmed", "rba-kl-ucb", "s-grab", "unirank")
CASES = [
    pytest.param(
        name,
        check,
        id=f"{name}-{check.__name__}",
        marks=[pytest.mark.proof] if check is check_propensities and name in ALONE else [],
    )
    for check in POLICY_CHECKS
    for name in POLICIES
]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_policy_passes(name: str, check) -> None:  # type: ignore[no-untyped-def]
    cls = POLICIES[name]
    check(cls, MAKE.get(name, by_name(cls)))


#: Policies that need more rounds than others to show that they learn, and why.
SLOW_STARTERS = {
    "bubblerank": (30_000, "a pair must count some 500 times before it is exchanged"),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("check", LEARNING_CHECKS, ids=lambda check: check.__name__)
def test_policy_learns(name: str, check) -> None:  # type: ignore[no-untyped-def]
    cls = POLICIES[name]
    rounds, _ = SLOW_STARTERS.get(name, (LEARNS_WITHIN, ""))
    check(cls, MAKE.get(name, by_name(cls)), rounds)


@pytest.mark.parametrize("name", SLOW_STARTERS)
def test_slow_starters_are_slow(name: str) -> None:
    cls = POLICIES[name]
    with pytest.raises(AssertionError, match="does not beat uniform rankings"):
        check_learns(cls, MAKE.get(name, by_name(cls)))


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


def test_policies_say_which_order_of_positions_they_assume() -> None:
    decreasing = PBM([0.5, 0.4, 0.3], [0.9, 0.9, 0.2])
    first = PBM([0.5, 0.4, 0.3], [0.9, 0.2, 0.5])
    last = PBM([0.5, 0.4, 0.3], [0.2, 0.5, 0.9])
    for name, applies in {
        "toprank": [decreasing],
        "pb-mhb": [decreasing, first, last],
        "grab": [decreasing, first, last],
    }.items():
        spec = policy(name, horizon=10)
        for model in (decreasing, first, last):
            assert (spec.why_not(model) is None) == (model in applies), (name, model.examination)
    paper = policy("pb-mhb", unit_position="first")
    assert [paper.why_not(model) is None for model in (decreasing, first, last)] == [
        True,
        True,
        False,
    ]
    assert paper.assumes.positions == "first"
    assert policy("pb-mhb").assumes.positions == "any"
