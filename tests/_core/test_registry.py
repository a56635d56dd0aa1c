"""The registry finds classes by name, and forgets those that are removed."""

from __future__ import annotations

import pytest

from clickrank._core.registry import Registry
from clickrank.errors import InvalidValue, UnknownName


def test_names_are_added_found_and_removed() -> None:
    registry: Registry[object] = Registry("policy")
    registry.add("b", str)
    registry.add("a", int)
    assert (list(registry), registry["b"], len(registry)) == (["a", "b"], str, 2)
    with pytest.raises(InvalidValue, match="the policy name must not be taken already, got 'a'"):
        registry.add("a", str)
    registry.remove("a")
    with pytest.raises(UnknownName, match="Unknown policy 'a'"):
        registry["a"]
    registry.add("a", str)
    assert registry["a"] is str


def test_removing_an_unknown_name_is_an_error() -> None:
    registry: Registry[object] = Registry("policy")
    registry.add("grab", int)
    with pytest.raises(UnknownName, match="Did you mean 'grab'"):
        registry.remove("grap")
