"""The way of a rank request: how many modules it passes, from HTTP to the store and back."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import clickrank
from clickrank.service.api.application import make_app
from clickrank.service.runtime.engine import Engine
from tests.service.fake_engine import Client

SOURCES = str(Path(clickrank.__file__).parent)
MOST_MODULES = 12


class Passed:
    """Notes the modules whose functions run in the threads that serve requests."""

    def __init__(self) -> None:
        self.counting = False
        self.modules: dict[str, set[str]] = {}

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if not self.counting or event != "call" or not code.co_filename.startswith(SOURCES):
            return
        thread = threading.current_thread()
        if thread is threading.main_thread() or thread.name in (
            "clickrank-writer",
            "clickrank-commit",
        ):
            module = code.co_filename.removeprefix(SOURCES)
            self.modules.setdefault(module, set()).add(f"{thread.name}: {code.co_qualname}")


@pytest.fixture
def passed() -> Iterator[Passed]:
    """Profile this thread, and those that are started from now on."""
    found = Passed()
    before = sys.getprofile()
    threading.setprofile(found)
    sys.setprofile(found)
    yield found
    sys.setprofile(before)
    threading.setprofile(None)


def test_a_rank_passes_few_modules(tmp_path: Path, passed: Passed) -> None:
    async def opened() -> Engine:
        return await Engine.open(f"sqlite:///{tmp_path / 'store.db'}", seed=1)

    new = {"name": "shop", "items": list("abcdef"), "n_positions": 3, "policy": "pb-mhb"}
    with Client(make_app(opened)) as client:
        assert client.post("/v1/rankers", json=new).status_code == 201
        for _ in range(5):  # the first ones load and compile
            assert client.post("/v1/rankers/shop/rank", json={}).status_code == 200
        passed.counting = True
        for _ in range(40):  # lists are drawn some at a time
            assert len(client.post("/v1/rankers/shop/rank", json={}).json()["items"]) == 3
        passed.counting = False
    found = passed.modules
    listing = "\n".join(f"{module} {sorted(found[module])}" for module in sorted(found))
    # What must be there is there: the profile does see both threads.
    assert "/service/runtime/engine.py" in found
    assert any("commit" in call for call in found["/service/store/database.py"]), listing
    assert len(found) <= MOST_MODULES, listing
