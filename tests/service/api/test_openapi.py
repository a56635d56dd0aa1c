"""The OpenAPI description is valid and complete, and its examples are correct."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31

from clickrank.service.api.openapi import description
from clickrank.service.api.routes import ROUTES, Route

FOUND = description()


def check(value: Any, schema: dict[str, Any]) -> None:
    """Check a value against a schema of the description."""
    jsonschema_rs.Draft202012Validator({**schema, "components": FOUND["components"]}).validate(
        value
    )


def operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = FOUND["paths"][route.path][route.method.lower()]
    return found


def test_it_says_what_current_does_in_each_mode() -> None:
    current = FOUND["components"]["schemas"]["RankRequest"]["properties"]["current"]
    about = [one.get("description", "") for one in current["anyOf"]]
    assert any("Required in shadow mode. In live mode it is ignored" in text for text in about)


def test_it_is_valid() -> None:
    jsonschema_rs.Draft202012Validator(OPENAPI_31).validate(FOUND)
    for schema in FOUND["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


def test_it_has_every_route_and_no_other() -> None:
    found = {(m.upper(), path) for path, of in FOUND["paths"].items() for m in of}
    assert found == {(route.method, route.path) for route in ROUTES}
    ids = [operation(route)["operationId"] for route in ROUTES]
    assert len(set(ids)) == len(ids)
    assert all(operation(route)["summary"] for route in ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.label)
def test_examples_are_true(route: Route) -> None:
    found = operation(route)
    if route.body is not None:
        content = found["requestBody"]["content"]["application/json"]
        check(content["example"], content["schema"])
        msgspec.convert(content["example"], route.body)
    for status in route.statuses:
        for media, content in found["responses"][str(status)].get("content", {}).items():
            if media == "application/json" and route.answer != media:
                check(content["example"], content["schema"])
    for parameter in found.get("parameters", []):
        for example in [parameter.get("example"), *parameter["schema"].get("examples", [])]:
            if example is not None:
                check(example, parameter["schema"])


def test_structs_have_descriptions_and_examples_that_are_true() -> None:
    for schema in FOUND["components"]["schemas"].values():
        assert schema["description"]
        assert "\n  " not in schema["description"]
        for field in schema.get("properties", {}).values():
            for example in field.get("examples", []):
                check(example, field)


def test_who_needs_a_key() -> None:
    for route in ROUTES:
        assert ("security" in operation(route)) == (route.role is not None)
        assert ("401" in operation(route)["responses"]) == (route.role is not None)
        assert ("403" in operation(route)["responses"]) == (route.role == "admin")
