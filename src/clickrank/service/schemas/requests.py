"""Bodies of requests: what clients send to the service.

The OpenAPI description is generated from these classes and from `answers`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from clickrank._core.defaults import DEFAULT_POLICY
from clickrank.service.schemas.fields import (
    LONGEST_NAME,
    MOST_BATCH,
    MOST_ITEMS,
    MOST_POSITIONS,
    Context,
    ImpressionId,
    ItemId,
    ItemIds,
    LogPropensities,
    Mode,
    Name,
    Positions,
    Role,
    Window,
)


class RequestBody(msgspec.Struct, forbid_unknown_fields=True):
    """Base of all request bodies. An unknown field is an error, since it may be misspelt."""


class Prior(RequestBody):
    """Beta(alpha, beta) priors of the items' attractions, in the order of the items."""

    alpha: Annotated[list[Annotated[float, Meta(gt=0, le=1e15)]], Meta(max_length=MOST_ITEMS)]
    beta: Annotated[list[Annotated[float, Meta(gt=0, le=1e15)]], Meta(max_length=MOST_ITEMS)]


class Start(RequestBody):
    """A ranking to start from, best item first: for example, the page's present order."""

    ranking: ItemIds
    weight: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="The number of views of each item that the ranking is worth.",
        ),
    ] = 10


class NewRanker(RequestBody):
    """A ranker to create."""

    name: Name
    items: ItemIds
    n_positions: Positions
    policy: Annotated[str, Meta(max_length=LONGEST_NAME, examples=[DEFAULT_POLICY])] = (
        DEFAULT_POLICY
    )
    settings: Annotated[
        dict[str, Any], Meta(description="Parameters of the policy.", examples=[{}])
    ] = {}
    window: Window = 1800
    mode: Mode = "live"
    prior: Prior | None = None
    start: Start | None = None
    log_propensities: LogPropensities = False


class RankerChange(RequestBody):
    """Changes to a ranker. Fields that are left out keep their values."""

    window: Window | UnsetType = UNSET
    mode: Mode | UnsetType = UNSET
    policy: Annotated[str, Meta(max_length=LONGEST_NAME)] | UnsetType = UNSET
    settings: dict[str, Any] | UnsetType = UNSET
    log_propensities: LogPropensities | UnsetType = UNSET


class NewItems(RequestBody):
    """Items to add, optionally with priors.

    Items that were retired are shown again. Items that are already active do not change.
    """

    items: ItemIds
    prior: Prior | None = None
    features: (
        Annotated[
            list[Annotated[list[float], Meta(max_length=1000)]],
            Meta(
                max_length=MOST_ITEMS,
                description="One row per item, for policies that use item features.",
            ),
        ]
        | None
    ) = None


class RetiredItems(RequestBody):
    """Items to retire: they are not shown again, and their history is kept."""

    items: ItemIds


class RankRequest(RequestBody):
    """A request for a list to show to one visitor."""

    id: ImpressionId | UnsetType = UNSET
    context: Context = ""
    candidates: ItemIds | None = None
    current: (
        Annotated[
            list[ItemId],
            Meta(
                max_length=MOST_POSITIONS,
                description="The list that the page shows. Required in shadow mode. In live mode "
                "it is ignored, so that a page can send it in both modes: the answer is the list "
                "to show.",
            ),
        ]
        | None
    ) = None


class RankBatch(RequestBody):
    """Requests for many lists."""

    requests: Annotated[list[RankRequest], Meta(min_length=1, max_length=MOST_BATCH)]


class Clicks(RequestBody):
    """The items of an impression that were clicked. Sending a click twice changes nothing."""

    clicked: Annotated[list[ItemId], Meta(max_length=MOST_POSITIONS, examples=[["b"]])] = []
    final: Annotated[bool, Meta(description="Whether no more clicks will follow.")] = False


class ClicksOf(Clicks, kw_only=True):
    """Clicks on one impression of a batch."""

    id: ImpressionId


class ClickBatch(RequestBody):
    """Clicks on many impressions."""

    clicks: Annotated[list[ClicksOf], Meta(min_length=1, max_length=MOST_BATCH)]


class NewKey(RequestBody):
    """A key to create."""

    name: Name
    role: Role
