"""Error messages in terms of JSON, for people who sent it."""

from __future__ import annotations

import re
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
_PATTERNS = {
    NAME_PATTERN: f"1 to {LONGEST_NAME} letters, digits, dots, dashes and underscores that begin "
    "with a letter or a digit",
    IMPRESSION_PATTERN: "8 to 64 letters, digits, dashes and underscores",
}


class _HTTPWording(JSONWording):
    """JSON wording that names policies and settings as requests do, and omits Python classes."""

    def owner(self, owner: str) -> str:
        names = {cls.__name__: name for name, cls in POLICIES.items()}
        names |= {"Features": "features", "Beta": "prior"}
        is_class = owner.isidentifier() and owner[0].isupper()
        return names.get(owner, "" if is_class else owner)


WORDING = _HTTPWording()


def validation_message(error: msgspec.ValidationError, kind: Any) -> str:
    """Return the message of a validation error, with the names that types have in JSON.

    ``kind`` is the type that was expected; the message names its choices and its fields.

    >>> try:
    ...     msgspec.convert({"a": "1"}, dict[str, int])
    ... except msgspec.ValidationError as error:
    ...     validation_message(error, dict[str, int])
    'expected `integer`, got `string` at `$[...]`'
    """
    text, at, place = str(error).partition(" - at ")
    if text.startswith("Expected `str` matching regex"):
        matching = (words for pattern, words in _PATTERNS.items() if repr(pattern) in text)
        text = f"expected {next(matching, 'another string')}"
    elif text.startswith("Expected"):
        text = _TYPE.sub(lambda found: _TYPES[found[1]], text)
        text = _UNION.sub(_alternatives, text)
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
