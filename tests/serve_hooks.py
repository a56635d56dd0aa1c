"""Makes generated requests meet rankers and impressions that exist; loaded by schemathesis.

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
    """Return a number below n that depends on the value alone: a rerun is the same."""
    return zlib.crc32(repr(value).encode()) % n


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    method = context.operation.method.upper()
    if not isinstance(path_parameters, dict) or method == "DELETE":
        return path_parameters
    if "name" in path_parameters and _chance(path_parameters, 8):
        path_parameters["name"] = RANKERS[_chance(path_parameters["name"], 3)]
    if "id" in path_parameters and _chance(path_parameters, 8):
        path_parameters["id"] = _shown[_chance(path_parameters["id"], len(_shown))][0]
    return path_parameters


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    if not isinstance(body, dict) or not _chance(body, 8):
        return body
    path = context.operation.path
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
        body["policy"] = ("thompson", "uniform", "pb-mhb")[_chance(body, 3)]
        body["settings"] = {}
    elif path.endswith("/items/retire") and _chance(body, 2):
        body["items"] = [ITEMS[_chance(body, 5)]]
    return body


def _use_items(request: dict[str, Any]) -> None:
    if isinstance(request.get("candidates"), list):
        request["candidates"] = list(ITEMS[_chance(request, 3) :])
    if isinstance(request.get("current"), list) or _chance(request, 2):
        request["current"] = list(ITEMS[:2])


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    if response.status_code == 200 and case.path.endswith("/rank"):
        answer = response.json()
        _shown.append((answer["id"], answer["items"]))
