"""Field types of requests and answers: their limits, patterns, descriptions and examples."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

MOST_ITEMS = 100_000
MOST_POSITIONS = 100
MOST_BATCH = 1_000
LONGEST_NAME = 100
LONGEST_ITEM = 200
LONGEST_CONTEXT = 200
LONGEST_WINDOW = 7 * 24 * 3600

# "$" alone would also accept a line break after the last character.
NAME_PATTERN = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}$(?!\n)"
IMPRESSION_PATTERN = r"^[A-Za-z0-9_-]{8,64}$(?!\n)"
#: PostgreSQL cannot store NUL; requests that contain one are refused before they are decoded.
NO_NUL = {"pattern": r"^[^\x00]*$"}

Name = Annotated[
    str,
    Meta(
        pattern=NAME_PATTERN,
        max_length=LONGEST_NAME,
        description="Letters, digits, dots, dashes and underscores.",
        examples=["shop-front"],
    ),
]
ItemId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_ITEM,
        description="The caller's id of an item.",
        extra_json_schema=NO_NUL,
        examples=["sku-17"],
    ),
]
Context = Annotated[
    str,
    Meta(
        max_length=LONGEST_CONTEXT,
        description="A query, a page or a segment. The ranker learns separately for each context.",
        extra_json_schema=NO_NUL,
        examples=["", "red shoes"],
    ),
]
ImpressionId = Annotated[
    str,
    Meta(
        pattern=IMPRESSION_PATTERN,
        description="Chosen by the caller, so that the service recognises a retry. If it is "
        "left out, the service chooses one.",
        examples=["0193a7c2f1d05b6e8d1f2a3b4c5d6e7f"],
    ),
]
Positions = Annotated[int, Meta(ge=1, le=MOST_POSITIONS, examples=[3])]
Window = Annotated[
    int,
    Meta(
        ge=1,
        le=LONGEST_WINDOW,
        description="Seconds after which an impression settles with the clicks received by then.",
        examples=[1800],
    ),
]
ItemIds = Annotated[
    list[ItemId], Meta(min_length=1, max_length=MOST_ITEMS, examples=[["a", "b", "c", "d"]])
]
Mode = Literal["live", "shadow"]
LogPropensities = Annotated[
    bool,
    Meta(
        description="Whether to log the probability of each list that is shown, which makes it "
        "possible to evaluate other policies from the log. Some policies must estimate it by "
        "drawing lists: this takes some milliseconds for 10 items, longer for more items, and "
        "ten times as long for requests with candidates."
    ),
]
Role = Literal["rank", "admin"]
