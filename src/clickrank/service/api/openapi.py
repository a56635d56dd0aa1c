"""The OpenAPI description, generated from the table of routes and their structs."""

from __future__ import annotations

import functools
import inspect
import re
from http import HTTPStatus
from typing import Any

import msgspec

from clickrank._core.version import __version__
from clickrank.service.api.routes import ROUTES, Route
from clickrank.service.schemas.answers import ErrorBody
from clickrank.service.schemas.parameters import PATH_PARAMETERS

_ABOUT = (
    "Rankers that learn from clicks: request a list, show it, and report the clicks. "
    "On a loopback address no key is required."
)
_WHEN = {
    400: "The body is not JSON in UTF-8, or the query is malformed.",
    401: "The key is missing, unknown or revoked.",
    403: "The role of the key does not allow this request.",
    404: "There is nothing with this name or id.",
    408: "The body did not arrive in time.",
    409: "The request contradicts stored data.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    421: "Without keys, the Host header must name this machine.",
    422: "A value is invalid; the message names the rule.",
    503: "Nothing was done; repeat the request after some seconds.",
}
_TAGS = {
    "rank": "Requests that a page sends for each visitor",
    "admin": "Rankers, their reports, and keys",
    None: "The service itself",
}


@functools.cache
def description_text() -> bytes:
    """Return the description as JSON."""
    return msgspec.json.encode(description())


def description() -> dict[str, Any]:
    """Return the description."""
    kinds: list[Any] = [ErrorBody]
    for route in ROUTES:
        found = (route.body, route.answer)
        kinds += [k for k in found if isinstance(k, type) and k not in kinds]
    references, schemas = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    for schema in schemas.values():
        schema["description"] = inspect.cleandoc(schema["description"])
    schema_of = dict(zip(kinds, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "clickrank", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "tags": [{"name": _tag(role), "description": text} for role, text in _TAGS.items()],
    }


def _tag(role: str | None) -> str:
    return role or "open"


def _operation(route: Route, schema_of: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    summary = (inspect.getdoc(route.call) or "").rstrip(".")
    found: dict[str, Any] = {
        "operationId": getattr(route.call, "__name__", ""),
        "summary": summary,
        "tags": [_tag(route.role)],
        "responses": _responses(route, schema_of),
    }
    parameters = _path_parameters(route) + _query_parameters(route)
    if parameters:
        found["parameters"] = parameters
    if route.role is not None:
        found["security"] = [{"key": []}, {}]  # without keys on a loopback address
    if route.body is not None:
        content = {"schema": schema_of[route.body], "example": route.example}
        found["requestBody"] = {"required": True, "content": {"application/json": content}}
    return found


def _responses(route: Route, schema_of: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status in route.statuses:
        one: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if isinstance(route.answer, str):
            one["content"] = {route.answer: {}}
        elif route.answer is not None:
            content = {
                "schema": schema_of[route.answer],
                "example": msgspec.to_builtins(route.answer_example),
            }
            one["content"] = {"application/json": content}
        found[str(status)] = one
    problem = {"application/json": {"schema": schema_of[ErrorBody]}}
    for status in sorted(_refusals(route) - set(route.statuses)):
        found[str(status)] = {"description": _WHEN[status], "content": problem}
        if status == 503:
            header = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
            found[str(status)]["headers"] = {"Retry-After": header}
    return found


def _refusals(route: Route) -> set[int]:
    """Return the statuses of all errors that a route can answer with."""
    found = {421, *route.refusals}
    if route.role is not None:
        found |= {400, 401, 403, 422, 503} if route.role == "admin" else {400, 401, 422, 503}
    if "{" in route.path:
        found |= {404}
    if route.body is not None:
        found |= {408, 413, 415}
    return found


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    found = []
    for name in re.findall(r"{(\w+)}", route.path):
        about = PATH_PARAMETERS[name]
        schema = {"type": "string", "pattern": about.pattern}
        one = {"name": name, "in": "path", "required": True, "schema": schema}
        found.append({**one, "example": about.example})
    return found


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    _, components = msgspec.json.schema_components([route.query])
    properties = components[route.query.__name__]["properties"]
    found = []
    for name, schema in properties.items():
        one: dict[str, Any] = {"name": name, "in": "query", "required": False}
        if "description" in schema:
            one["description"] = schema.pop("description")
        found.append({**one, "schema": schema})
    return found
