"""What comes in a request's address: parts of its path and query parameters."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from clickrank.service.schemas import fields

Limit = Annotated[int, Meta(ge=1, le=1000, description="At most so many.", examples=[100])]
_Text = Annotated[
    str,
    Meta(
        max_length=fields.LONGEST_CONTEXT, extra_json_schema=fields.NO_NUL, examples=["red shoes"]
    ),
]


class Page(msgspec.Struct, forbid_unknown_fields=True):
    """Which part of a list by name."""

    after: Annotated[_Text, Meta(description="``next`` of the page before.")] = ""
    limit: Limit = 100


class ContextsPage(msgspec.Struct, forbid_unknown_fields=True):
    """Which part of the contexts, of which the first may be ""."""

    after: fields.Context | UnsetType = UNSET
    limit: Limit = 100


class NumberPage(msgspec.Struct, forbid_unknown_fields=True):
    """Which part of a list by number."""

    after: Annotated[
        int, Meta(ge=0, le=2**31 - 1, description="``next`` of the page before.", examples=[0])
    ] = 0
    limit: Limit = 1000


class OfContext(msgspec.Struct, forbid_unknown_fields=True):
    """Which context."""

    context: fields.Context = ""


class ActivityQuery(OfContext):
    """Which context, in which steps."""

    seconds: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=fields.LONGEST_WINDOW,
                description="That a bucket lasts; chosen by the ranker's age if left out.",
                examples=[3600],
            ),
        ]
        | UnsetType
    ) = UNSET


class LoggedQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which impressions: of one context, or of all if it is left out."""

    context: fields.Context | UnsetType = UNSET
    limit: Limit = 20


class PathParameter(msgspec.Struct):
    """A part of a path: what it must look like, and whose it is."""

    pattern: str
    kind: str
    example: str


#: A path with another text there leads nowhere, so the answer is 404.
PATH_PARAMETERS = {
    "name": PathParameter(fields.NAME_PATTERN, "ranker", "shop-front"),
    "id": PathParameter(
        fields.IMPRESSION_PATTERN, "impression", "0193a7c2f1d05b6e8d1f2a3b4c5d6e7f"
    ),
    "key": PathParameter(r"^[1-9][0-9]{0,8}$(?!\n)", "key", "1"),
}
