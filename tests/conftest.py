"""Which tests run in one process: those of one policy, whose kernels are then compiled once."""

from __future__ import annotations

import gc
import re

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from clickrank.policies import POLICIES

#: Policies by what names them: their modules, their classes, and the files of tests about one.
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


#: These take longest, so that they must not begin last.
_SLOW_FILES = ["tests/policies/test_skeleton.py", "tests/simulation/test_worker_pools.py"]

# Compiling makes millions of objects, and few cycles; a tenth of its time went to looking for them.
gc.set_threshold(100_000, 20, 50)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _ByPolicy:
    """Hand out the tests of a policy together."""
    return _ByPolicy(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the policies, whose machine code is on disk then, and with what takes longest."""
    first = ["tests/policies/test_skeleton.py", "tests/simulation/test_worker_pools.py", *POLICIES]
    items.sort(key=lambda item: _group(item.nodeid) not in first)
