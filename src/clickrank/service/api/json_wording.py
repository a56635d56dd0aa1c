"""Error messages in terms of JSON, for people who sent it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

from clickrank._core.error_rewording import JSONWording
from clickrank.policies import POLICIES
from clickrank.service.runtime.refusals import quoted
from clickrank.service.schemas.fields import IMPRESSION_PATTERN, LONGEST_NAME, NAME_PATTERN

#: The types of JSON by the names that msgspec gives them.
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_TYPE = re.compile(rf"\b({'|'.join(_TYPES)})\b")
_UNION = re.compile(r"`(\w+(?: \| \w+)+)`")
#: The most characters of a value that a message shows.
LONGEST_VALUE = 100
_PATTERNS = {
    NAME_PATTERN: f"1 to {LONGEST_NAME} letters, digits, dots, dashes and underscores that begin "
    "with a letter or a digit",
    IMPRESSION_PATTERN: "8 to 64 letters, digits, dashes and underscores",
}


def _owners() -> dict[str, str]:
    """Return the names that policies and parts of requests have in JSON, by their classes."""
    names = {cls.__name__: name for name, cls in POLICIES.items()}
    return names | {"Features": "features", "Beta": "prior"}


#: Names policies and settings as requests do, and omits Python classes.
WORDING = JSONWording(_owners)


def validation_message(error: msgspec.ValidationError, kind: Any, sent: Any) -> str:
    """Return the message of a validation error, with the names that types have in JSON.

    ``kind`` is the type that was expected; the message names its choices and its fields. ``sent``
    is what was sent, or None if it cannot be decoded; the message shows the value that is wrong.

    >>> try:
    ...     msgspec.convert({"a": "1"}, dict[str, int])
    ... except msgspec.ValidationError as error:
    ...     validation_message(error, dict[str, int], {"a": "1"})
    'expected `integer`, got `string` at `$[...]`'
    """
    text, at, place = str(error).partition(" - at ")
    if text.startswith("Expected `str` matching regex"):
        matching = (words for pattern, words in _PATTERNS.items() if repr(pattern) in text)
        text = f"expected {next(matching, 'another string')}{_got(sent, place)}"
    elif text.startswith("Expected"):
        text = _TYPE.sub(lambda found: _TYPES[found[1]], text)
        text = _UNION.sub(_alternatives, text)
        if ", got " not in text:  # the type is right, and msgspec does not show the value
            text += _got(sent, place, " of length " in text)
    elif choice := re.fullmatch("Invalid enum value (?:'(.*)'|(.*))", text, re.DOTALL):
        choices = getattr(_type_at(kind, place), "values", ())
        if choices:
            name = place.strip("`").removeprefix("$.")
            got = choice[2] if choice[1] is None else quoted(choice[1])
            return f"{name} must be {' or '.join(map(quoted, choices))}, got {got}"
    elif text.startswith("Object contains unknown field"):
        expected = _type_at(kind, place)
        text = text.replace("Object contains unknown field", "unknown field")
        text += f" at {place}" if at else ""
        if isinstance(expected, inspect.StructType) and expected.fields:
            text += f"; known fields: {', '.join(x.encode_name for x in expected.fields)}"
        return text
    text = re.sub("^Object missing required field (`.*`)$", r"required field \1 is missing", text)
    text = re.sub("^(Invalid .*value) '(.*)'$", lambda m: f"{m[1]} {quoted(m[2])}", text)
    return text[:1].lower() + text[1:] + (f" at {place}" if at else "")


def query_message(error: msgspec.ValidationError, kind: Any, sent: Mapping[str, str]) -> str:
    """Return the message of a validation error about query parameters, which are all text.

    >>> from clickrank.service.schemas.parameters import Page
    >>> try:
    ...     msgspec.convert({"limit": "x"}, Page, strict=False)
    ... except msgspec.ValidationError as error:
    ...     query_message(error, Page, {"limit": "x"})
    'limit must be an integer between 1 and 1000, got "x"'
    """
    text, _, place = str(error).partition(" - at ")
    unknown = re.fullmatch("Object contains unknown field `(.*)`", text, re.DOTALL)
    if unknown:
        known = ", ".join(field.name for field in msgspec.structs.fields(kind))
        return f"unknown parameter {quoted(unknown[1])}; known parameters: {known}"
    name = place.strip("`").removeprefix("$.")
    expected = _type_at(kind, place)
    if isinstance(expected, inspect.IntType):
        rule = f"an integer between {expected.ge} and {expected.le}"
        return f"{name} must be {rule}, got {_shortened(sent[name])}"
    assert isinstance(expected, inspect.StrType)  # there are no other parameters
    rule = f"a string of at most {expected.max_length} characters"
    return f"{name} must be {rule}, got {len(sent[name])} characters"


def _got(sent: Any, place: str, length: bool = False) -> str:
    """Return the value at a place such as `$.requests[0].id`, or its length, for a message."""
    if "[...]" in place:  # a key of an object, which msgspec does not name
        return ""
    try:
        for field, index in re.findall(r"\.(\w+)|\[(\d+)\]", place):
            sent = sent[field] if field else sent[int(index)]
    except (TypeError, LookupError):  # it could not be decoded
        return ""
    if length:
        return f", got a length of {len(sent)}"
    return f", got {_shortened(sent)}"


def _shortened(value: Any) -> str:
    """Return a value as JSON, without the end of a long text."""
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        value = value[: LONGEST_VALUE - 1] + "…"
    return quoted(value)


def _alternatives(found: re.Match[str]) -> str:
    """Return the types of a union as words, as in "an array or null"."""
    names = found[1].split(" | ")
    articles = ("" if n == "null" else "an " if n[0] in "aeio" else "a " for n in names)
    return " or ".join(article + name for article, name in zip(articles, names, strict=True))


def _type_at(kind: Any, place: str) -> inspect.Type | None:
    """Return the type expected at a place such as `$.requests[0].mode`, or None if unclear."""
    found: inspect.Type | None = _plain_type(inspect.type_info(kind))
    for field in re.findall(r"\.(\w+)|\[", place):
        if isinstance(found, inspect.StructType) and field:
            inner = [each.type for each in found.fields if each.encode_name == field]
            found = _plain_type(inner[0]) if inner else None
        elif isinstance(found, inspect.ListType) and not field:
            found = _plain_type(found.item_type)
        else:
            return None
    return found


def _plain_type(found: inspect.Type) -> inspect.Type:
    """Return a type without its metadata, and without null as an alternative."""
    while isinstance(found, inspect.Metadata | inspect.UnionType):
        if isinstance(found, inspect.Metadata):
            found = found.type
            continue
        others = [x for x in found.types if not isinstance(x, inspect.NoneType)]
        if len(others) != 1:
            return found
        found = others[0]
    return found
