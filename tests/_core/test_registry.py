"""Registries: which names a policy or a click model can have."""

import pytest

from clickrank._core.registry import Registry
from clickrank.errors import InvalidValue


class Thing:
    """Something to register."""


@pytest.mark.parametrize(
    "name", ["My Policy", "my_policy", "MyPolicy", "-a", "a-", "a--b", "", "a/b"]
)
def test_a_name_that_is_not_kebab_case_is_refused(name: str) -> None:
    registry: Registry[Thing] = Registry("policy")
    with pytest.raises(InvalidValue, match=r"Thing: name must .* as in 'my-policy'"):
        registry.add(name, Thing)
    assert list(registry) == []


@pytest.mark.parametrize("name", ["grab", "pbm-ucb", "cascade-ucb1", "3-a"])
def test_a_name_in_kebab_case_is_registered(name: str) -> None:
    registry: Registry[Thing] = Registry("click model")
    registry.add(name, Thing)
    assert registry[name] is Thing
