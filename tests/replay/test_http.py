"""The service answers as it did before; `tests/data/replay/make.py` records the answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.replay.compare import differences, load, worded_anew
from tests.replay.conversation import conversation, described, hold
from tests.replay.where import FOLDER

RECORDED = load(FOLDER / "http.json")
OPENAPI = load(FOLDER / "openapi.json")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what all requests are answered now."""
    return hold(tmp_path_factory.mktemp("replay"))


def test_all_were_recorded() -> None:
    assert [step["call"] for step in conversation()] == [one["call"] for one in RECORDED]


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_it_answers_as_before(number: int, answers: list[dict[str, Any]]) -> None:
    want = RECORDED[number]
    found = differences(worded_anew(answers[number], want), want)
    assert not found, f"{want['call']}\n" + "\n".join(found)


def test_every_route_is_asked_and_succeeds() -> None:
    asked = [one["call"].partition("?")[0] for one in RECORDED if one["status"] < 300]
    for path, operations in OPENAPI["paths"].items():
        pattern = re.sub(r"{\w+}", "[^/ ]+", path)
        for method in operations:
            whole = re.compile(f"{method.upper()} {pattern}")
            assert any(whole.fullmatch(call) for call in asked), f"{method} {path}"


def test_the_description_has_all_it_had(tmp_path: Path) -> None:
    """It may have more paths, operations, parameters, answers and properties."""
    found = differences(described(tmp_path), OPENAPI, more=True)
    assert not found, "\n".join(found)
