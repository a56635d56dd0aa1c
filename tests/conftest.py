"""Grouping of tests by policy: one process runs all tests of a policy, and compiles it once."""

from __future__ import annotations

import gc
import re

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from clickrank.policies import POLICIES

#: Policies by their modules, by their classes, and by the files of tests about one of them.
_ABOUT = {cls.__module__.replace(".", "/"): name for name, cls in POLICIES.items()}
_ABOUT |= {cls.__name__: name for name, cls in POLICIES.items()}
_ABOUT |= {
    f"tests/policies/test_{cls.__module__.rpartition('.')[2]}.py": name
    for name, cls in POLICIES.items()
}
# The longest first: "epoch-ucb" is part of "epoch-ucb-star".
_NAMES = re.compile("|".join(sorted([*POLICIES, *_ABOUT], key=len, reverse=True)))


def _group(nodeid: str) -> str:
    """Return the policy that a test is about, by its parameters or its file, else the file."""
    file, _, test = nodeid.partition("::")
    where = file if file.startswith("src/") else test.partition("[")[2]
    found = _NAMES.search(where)
    name = found[0] if found else file
    return _ABOUT.get(name, name)


class _ByPolicy(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


#: Files of earlier versions, and the scripts that made them, which need those versions.
collect_ignore = ["data"]

# Compiling makes millions of objects and few cycles, and spent a tenth of its time on collecting.
gc.set_threshold(100_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _ByPolicy:
    """Run the tests of a policy in one process."""
    return _ByPolicy(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the policies, whose machine code is on disk then, and with what is slow."""
    slow = {_group(item.nodeid) for item in items if item.get_closest_marker("slow")}
    first = {*POLICIES, *slow}
    items.sort(key=lambda item: _group(item.nodeid) not in first)
