"""Every registered policy passes every shipped check."""

import pytest

from clickrank.checks import LEARNING_CHECKS, POLICY_CHECKS, check_policy
from clickrank.checks.playing import Make, by_name
from clickrank.checks.policy_checks import LEARNS_WITHIN, check_learns
from clickrank.checks.propensity_checks import check_propensities
from clickrank.policies import POLICIES, Uniform, policy

#: How to make the policies that need settings which no click model has.
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


def test_a_name_that_cannot_be_typed_fails_the_checks() -> None:
    named = type("Named", (Uniform,), {"name": "My Policy", "__doc__": Uniform.__doc__})
    with pytest.raises(AssertionError, match="Named: name must be kebab case, got 'My Policy'"):
        check_policy(named)
    unregistered = type("Named", (Uniform,), {"name": "named"})
    with pytest.raises(AssertionError, match="Named: not registered as 'named'"):
        check_policy(unregistered)


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
