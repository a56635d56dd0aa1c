"""The registry finds classes by names in kebab case, and forgets those that are removed."""

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


@pytest.mark.parametrize(
    ("name", "meant"),
    [("GRAB", "grab"), ("PB-MHB", "pb-mhb"), ("PB_MBH", "pb-mhb"), ("S-G", "s-g")],
)
def test_capitals_do_not_hide_the_name_that_is_meant(name: str, meant: str) -> None:
    registry: Registry[object] = Registry("policy")
    for known in ("grab", "pb-mhb", "s-g", "s-g-star", "uniform"):
        registry.add(known, int)
    with pytest.raises(UnknownName) as refused:
        registry[name]
    assert str(refused.value) == f"Unknown policy {name!r}. Did you mean {meant!r}?"


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
