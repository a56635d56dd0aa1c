"""Error messages in terms of JSON, for people who sent it."""

from __future__ import annotations

import re

import msgspec

from clickrank._core.error_rewording import JSONWording
from clickrank.policies import POLICIES
from clickrank.service.runtime.refusals import quoted
from clickrank.service.schemas.fields import IMPRESSION_PATTERN, LONGEST_NAME, NAME_PATTERN

#: The types of JSON by the names that msgspec gives them.
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_TYPE = re.compile(rf"\b({'|'.join(_TYPES)})\b")
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


def validation_message(error: msgspec.ValidationError) -> str:
    """Return the message of a validation error, with the names that types have in JSON.

    >>> try:
    ...     msgspec.convert({"a": "1"}, dict[str, int])
    ... except msgspec.ValidationError as error:
    ...     validation_message(error)
    'expected `integer`, got `string` at `$[...]`'
    """
    text, at, place = str(error).partition(" - at ")
    if text.startswith("Expected `str` matching regex"):
        matching = (words for pattern, words in _PATTERNS.items() if repr(pattern) in text)
        text = f"expected {next(matching, 'another string')}"
    elif text.startswith("Expected"):
        text = _TYPE.sub(lambda found: _TYPES[found[1]], text)
    text = text.replace("Object contains unknown field", "unknown field")
    text = re.sub("^Object missing required field (`.*`)$", r"required field \1 is missing", text)
    text = re.sub("^(Invalid .*value) '(.*)'$", lambda m: f"{m[1]} {quoted(m[2])}", text)
    return text[:1].lower() + text[1:] + (f" at {place}" if at else "")
