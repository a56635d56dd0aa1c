"""Makes generated requests refer to rankers and impressions that exist; loaded by schemathesis.

Names and ids made up at random would only ever find out how the service says "there is none".
"""

from __future__ import annotations

import zlib
from typing import Any

import schemathesis

RANKERS = ("live", "learning", "shadow")
ITEMS = ("a", "b", "c", "d", "e")
#: Impressions that were answered, with their items.
_shown: list[tuple[str, list[str]]] = [("00000000", ["a", "b"])]


def _chance(value: object, n: int) -> int:
    """Return a number below n that depends only on the value, so that runs are reproducible."""
    return zlib.crc32(repr(value).encode()) % n


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Put existing names into most requests, and never delete the rankers that they need."""
    if isinstance(case.path_parameters, dict):
        _use_path(case.method.upper(), case.path_parameters)
    if isinstance(case.body, dict) and _chance(case.body, 8):
        _use_body(case.path, case.body)


def _use_path(method: str, parameters: dict[str, Any]) -> None:
    if method == "DELETE":
        if parameters.get("name") in RANKERS:
            parameters["name"] = "another"
        return
    if "name" in parameters and _chance(parameters, 8):
        parameters["name"] = RANKERS[_chance(parameters["name"], 3)]
    if "id" in parameters and _chance(parameters, 8):
        parameters["id"] = _shown[_chance(parameters["id"], len(_shown))][0]


def _use_body(path: str, body: dict[str, Any]) -> None:
    if path.endswith("/rank"):
        _use_items(body)
    elif path.endswith("/rank/batch"):
        requests = body.get("requests")
        for one in requests if isinstance(requests, list) else []:
            if isinstance(one, dict):
                _use_items(one)
    elif path.endswith("/clicks") and body.get("clicked"):
        body["clicked"] = _shown[-1][1][: 1 + _chance(body, 2)]
    elif path == "/v1/rankers" and isinstance(body.get("items"), list):
        body["policy"] = ("toprank", "uniform", "pb-mhb")[_chance(body, 3)]
        body["settings"] = {}
    elif path.endswith("/items/retire") and _chance(body, 2):
        body["items"] = [ITEMS[_chance(body, 5)]]
    elif "{name}" in path and "policy" in body:
        body["policy"] = ("uniform", "pb-mhb")[_chance(body, 2)]


def _use_items(request: dict[str, Any]) -> None:
    if _chance(request, 3):
        request.pop("id", None)  # the example's id is taken after its first use
    if isinstance(request.get("candidates"), list):
        request["candidates"] = list(ITEMS[_chance(request, 3) :])
    if isinstance(request.get("current"), list) or _chance(request, 2):
        request["current"] = list(ITEMS[:2])


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    if response.status_code == 200 and case.path.endswith("/rank"):
        answer = response.json()
        _shown.append((answer["id"], answer["items"]))
