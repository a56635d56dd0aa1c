"""Every registered policy passes every shipped check."""

import pytest

from clickrank.checks import POLICY_CHECKS
from clickrank.checks.policies import by_name
from clickrank.policies import POLICIES


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", POLICIES)
def test_policy_passes(name: str, check) -> None:  # type: ignore[no-untyped-def]
    cls = POLICIES[name]
    check(cls, by_name(cls))
