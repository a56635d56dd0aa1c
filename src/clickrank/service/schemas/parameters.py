"""Parameters in the address of a request: query parameters, and the variable parts of paths."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from clickrank.service.schemas.fields import (
    IMPRESSION_PATTERN,
    LONGEST_CONTEXT,
    LONGEST_WINDOW,
    NAME_PATTERN,
    NO_NUL,
    Context,
)

_NEXT = "The ``next`` of the previous page."
Limit = Annotated[
    int, Meta(ge=1, le=1000, description="Maximum number of results.", examples=[100])
]
_Text = Annotated[
    str, Meta(max_length=LONGEST_CONTEXT, extra_json_schema=NO_NUL, examples=["red shoes"])
]


class Page(msgspec.Struct, forbid_unknown_fields=True):
    """A page of results that are sorted by name."""

    after: Annotated[_Text, Meta(description=_NEXT)] = ""
    limit: Limit = 100


class ContextsPage(msgspec.Struct, forbid_unknown_fields=True):
    """A page of contexts. Their names may be empty, so the first page has no ``after``."""

    after: Context | UnsetType = UNSET
    limit: Limit = 100


class NumberPage(msgspec.Struct, forbid_unknown_fields=True):
    """A page of results that are numbered."""

    after: Annotated[int, Meta(ge=0, le=2**31 - 1, description=_NEXT, examples=[0])] = 0
    limit: Limit = 1000


class OfContext(msgspec.Struct, forbid_unknown_fields=True):
    """One context."""

    context: Context = ""


class ActivityQuery(OfContext):
    """One context, and the length of a bucket of time."""

    seconds: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=LONGEST_WINDOW,
                description="Length of a bucket. By default it depends on the ranker's age.",
                examples=[3600],
            ),
        ]
        | UnsetType
    ) = UNSET


class LoggedQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The last impressions of one context, or of all contexts if none is given."""

    context: Context | UnsetType = UNSET
    limit: Limit = 20


class PathParameter(msgspec.Struct):
    """A variable part of a path: its pattern, and the kind of object that it identifies."""

    pattern: str
    kind: str
    example: str


#: A value that does not match its pattern cannot exist, so the answer is 404.
PATH_PARAMETERS = {
    "name": PathParameter(NAME_PATTERN, "ranker", "shop-front"),
    "id": PathParameter(IMPRESSION_PATTERN, "impression", "0193a7c2f1d05b6e8d1f2a3b4c5d6e7f"),
    "key": PathParameter(r"^[1-9][0-9]{0,8}$(?!\n)", "key", "1"),
}
