"""Which tests run in one process: those of one policy, whose kernels are then compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from clickrank.policies import POLICIES, Policy

_MODULES = {cls.__module__.rpartition(".")[2]: name for name, cls in POLICIES.items()}


@pytest.hookimpl(tryfirst=True)  # before the plugin reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put each test into the group of the policy that it is about, else into that of its file.

    Policies come first: what they compile, the other tests find on disk.
    """
    groups = {item: _policy(item) or item.path.name for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: groups[item] not in set(POLICIES))


def _policy(item: pytest.Item) -> str | None:
    if isinstance(item, pytest.DoctestItem):
        return _MODULES.get(Path(item.path).stem)
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        if isinstance(value, type) and issubclass(value, Policy):
            return value.name
        if isinstance(value, str) and value in POLICIES:
            return value
    return None
