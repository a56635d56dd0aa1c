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
    """Return the present answers to all requests."""
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
    """It may have more paths, parameters, answers and properties, but none that must be sent."""
    now = described(tmp_path)
    found = differences(now, OPENAPI, more=True)
    for name in sent(OPENAPI):
        before = OPENAPI["schemas"][name].get("required", {})
        new = set(now["schemas"].get(name, {}).get("required", {})) - set(before)
        found += [f"/schemas/{name}: {field} must be sent now" for field in sorted(new)]
    for path, operations in OPENAPI["paths"].items():
        for method, operation in operations.items():
            parameters = now["paths"].get(path, {}).get(method, {}).get("parameters", {})
            new = {key for key, one in parameters.items() if one["required"]}
            new -= set(operation["parameters"])
            found += [f"{method} {path}: {key} must be sent now" for key in sorted(new)]
    assert not found, "\n".join(found)


def sent(description: dict[str, Any]) -> set[str]:
    """Return the names of the schemas of what is sent to the service, and of their parts."""
    operations = [one for path in description["paths"].values() for one in path.values()]
    found: set[str] = set()
    waiting = references([operation["body"] for operation in operations])
    while waiting:
        found |= waiting
        inside = [description["schemas"][name] for name in waiting]
        waiting = references(inside) - found
    return found


def references(value: Any) -> set[str]:
    """Return the names of the schemas that a part of the description refers to."""
    if isinstance(value, dict):
        inside = [references(inner) for key, inner in value.items() if key != "$ref"]
        own = {value["$ref"].rpartition("/")[2]} if "$ref" in value else set()
        return own.union(*inside)
    return set().union(*map(references, value)) if isinstance(value, list) else set()
