"""What goes over the wire: every request and response of the service, with its limits.

The OpenAPI description is made from these classes, so names, bounds and examples are said once.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

MOST_ITEMS = 100_000
MOST_POSITIONS = 100
MOST_BATCH = 1_000
#: What a ranker learns with unless another policy is named.
DEFAULT_POLICY = "pb-mhb"
LONGEST_NAME = 100
LONGEST_ITEM = 200
LONGEST_CONTEXT = 200
LONGEST_WINDOW = 7 * 24 * 3600

# "$" alone would let a line end pass after the last character.
NAME_PATTERN = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}$(?!\n)"
IMPRESSION_PATTERN = r"^[A-Za-z0-9_-]{8,64}$(?!\n)"
#: PostgreSQL keeps no NUL; requests with one are refused before they are decoded.
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
        description="The caller's own id of an item.",
        extra_json_schema=NO_NUL,
        examples=["sku-17"],
    ),
]
Context = Annotated[
    str,
    Meta(
        max_length=LONGEST_CONTEXT,
        description="A query, a page or a segment: each value learns for itself.",
        extra_json_schema=NO_NUL,
        examples=["", "red shoes"],
    ),
]
ImpressionId = Annotated[
    str,
    Meta(
        pattern=IMPRESSION_PATTERN,
        description="Chosen by the caller, so that a retry is recognised; or by the service.",
        examples=["0193a7c2f1d05b6e8d1f2a3b4c5d6e7f"],
    ),
]
Positions = Annotated[int, Meta(ge=1, le=MOST_POSITIONS, examples=[3])]
Window = Annotated[
    int,
    Meta(
        ge=1,
        le=LONGEST_WINDOW,
        description="Seconds after which an impression without news counts as it is.",
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
        description="Whether to log how probable each list was, for evaluating other policies by "
        "the log. Policies that must draw lists to know take a while: some milliseconds for 10 "
        "items, more for more items, and ten times that where candidates are given."
    ),
]
Role = Literal["rank", "admin"]


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """A body that a client sends: a field that is not known is an error, not a typo kept."""


class Problem(msgspec.Struct):
    """What went wrong: a code for programs, a message for people."""

    code: Annotated[str, Meta(examples=["not_shown"])]
    message: Annotated[str, Meta(examples=["shop-front: item must be one shown, got 'x'."])]


class ErrorBody(msgspec.Struct):
    """The body of every answer that is not a success."""

    error: Problem


class Prior(Request):
    """What is known of items: Beta(alpha, beta) of the attraction of each, in their order."""

    alpha: Annotated[list[Annotated[float, Meta(gt=0, le=1e15)]], Meta(max_length=MOST_ITEMS)]
    beta: Annotated[list[Annotated[float, Meta(gt=0, le=1e15)]], Meta(max_length=MOST_ITEMS)]


class Start(Request):
    """A ranking to start from: the order of the page today, best first."""

    ranking: ItemIds
    weight: Annotated[
        int, Meta(ge=1, le=1_000_000, description="How many views of each item it is worth.")
    ] = 10


class NewRanker(Request):
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


class RankerChange(Request):
    """What to change of a ranker; what is left out stays."""

    window: Window | UnsetType = UNSET
    mode: Mode | UnsetType = UNSET
    policy: Annotated[str, Meta(max_length=LONGEST_NAME)] | UnsetType = UNSET
    settings: dict[str, Any] | UnsetType = UNSET
    log_propensities: LogPropensities | UnsetType = UNSET


class Ranker(msgspec.Struct):
    """A ranker as it is."""

    name: str
    policy: str
    settings: dict[str, Any]
    n_items: int  # that may be shown
    n_retired: int
    n_positions: int
    window: int
    mode: Mode
    version: int  # one more with each change
    created: float  # seconds since 1970
    changed: float
    takes_candidates: bool
    takes_priors: bool
    log_propensities: bool = False
    warnings: list[str] = []  # what to know of its policy with these settings


class RankerPage(msgspec.Struct):
    """Some rankers by name; ask again with ``after=next`` until ``next`` is null."""

    rankers: list[Ranker]
    next: str | None = None


class NewItems(Request):
    """Items to add, with what is known of them; those already there stay as they are."""

    items: ItemIds
    prior: Prior | None = None
    features: (
        Annotated[
            list[Annotated[list[float], Meta(max_length=1000)]],
            Meta(max_length=MOST_ITEMS, description="A row an item, for policies that need them."),
        ]
        | None
    ) = None


class RetiredItems(Request):
    """Items never to show again; their history is kept."""

    items: ItemIds


class ItemEntry(msgspec.Struct):
    """An item of a ranker."""

    item: str
    retired: bool


class ItemPage(msgspec.Struct):
    """Some items in the order they were added; ask again with ``after=next``."""

    items: list[ItemEntry]
    next: int | None = None


class RankRequest(Request):
    """A visitor to show a list to."""

    id: ImpressionId | UnsetType = UNSET
    context: Context = ""
    candidates: ItemIds | None = None
    current: (
        Annotated[
            list[ItemId],
            Meta(max_length=MOST_POSITIONS, description="The page's own list; for shadow mode."),
        ]
        | None
    ) = None


class Impression(msgspec.Struct):
    """A list to show, on record. ``would_show``: in shadow mode, what the ranker would have."""

    id: str
    items: list[str]
    context: str
    version: int
    would_show: list[str] | None = None


class RankBatch(Request):
    """Visitors to show lists to."""

    requests: Annotated[list[RankRequest], Meta(min_length=1, max_length=MOST_BATCH)]


class ImpressionBatch(msgspec.Struct):
    """A list to each request, in their order."""

    impressions: list[Impression]


class Clicks(Request):
    """What was clicked of an impression, again or anew."""

    clicked: Annotated[list[ItemId], Meta(max_length=MOST_POSITIONS, examples=[["b"]])] = []
    final: Annotated[bool, Meta(description="There will be no more clicks.")] = False


class ClicksOf(Clicks, kw_only=True):
    """Clicks on one impression of a batch."""

    id: ImpressionId


class ClickBatch(Request):
    """Clicks on many impressions."""

    clicks: Annotated[list[ClicksOf], Meta(min_length=1, max_length=MOST_BATCH)]


class Feedback(msgspec.Struct):
    """All clicks on record of an impression; once settled they stay."""

    id: str
    clicked: list[str]
    settled: bool


class FeedbackOf(msgspec.Struct):
    """The answer to one entry of a batch: feedback, or what was wrong with it."""

    id: str
    feedback: Feedback | None = None
    error: Problem | None = None


class FeedbackBatch(msgspec.Struct):
    """An answer to each entry, in their order."""

    results: list[FeedbackOf]


class ItemReport(msgspec.Struct):
    """What is known of an item."""

    item: str
    retired: bool
    shown: int
    clicks: int
    estimate: float | None  # of the probability of a click by someone who looks; None: not shown
    low: float | None  # ends of the 95 % interval
    high: float | None
    best_probability: float  # of being in the best list


class PositionReport(msgspec.Struct):
    """What is known of a position, from 1 on."""

    position: int
    shown: int
    clicks: int
    click_rate: float | None
    examination: float | None  # beside the first position's, which counts as 1


class ShadowReport(msgspec.Struct):
    """The ranker's own lists beside those of the page, by the same estimates."""

    impressions: int
    same_items: float | None  # share of the page's items that the ranker would have shown
    own_value: float | None  # estimated clicks an impression; None: not known yet
    page_value: float | None


class Report(msgspec.Struct):
    """What a ranker has learned in one context."""

    name: str
    context: str
    impressions: int  # on record, those compacted away included
    settled: int  # folded in
    clicks: int
    click_rate: float | None  # share of settled impressions with a click
    exploration: float | None  # share of the last impressions that were not the best list then
    regret: float | None  # estimated clicks lost so far against the best list
    best: list[str]  # the best list by what is known
    items: list[ItemReport]
    positions: list[PositionReport]
    shadow: ShadowReport | None = None


class Bucket(msgspec.Struct):
    """What happened in some seconds."""

    at: float  # their beginning
    impressions: int
    clicked: int  # impressions with a click
    clicks: int
    exploring: int


class Activity(msgspec.Struct):
    """Settled impressions over time, and those of the first day."""

    seconds: int  # that a bucket lasts
    first_day: Bucket | None
    buckets: list[Bucket]


class LoggedImpression(msgspec.Struct):
    """An impression on record."""

    id: str
    context: str
    at: float
    items: list[str]
    clicked: list[str]
    settled: bool
    exploring: bool
    version: int
    would_show: list[str] | None = None


class LoggedImpressions(msgspec.Struct):
    """The last impressions, newest first."""

    impressions: list[LoggedImpression]


class ContextEntry(msgspec.Struct):
    """A context of a ranker."""

    context: str
    impressions: int
    settled: int


class ContextPage(msgspec.Struct):
    """Some contexts by name; ask again with ``after=next``."""

    contexts: list[ContextEntry]
    next: str | None = None


class Setting(msgspec.Struct):
    """A parameter of a policy; one that is required has no default."""

    name: str
    required: bool
    default: Any = None


class PolicyInfo(msgspec.Struct):
    """A policy to choose from."""

    name: str
    summary: str
    assumes: str
    settings: list[Setting]
    takes_candidates: bool
    takes_priors: bool
    cautions: list[str] = []  # what to know before choosing it


class Policies(msgspec.Struct):
    """All policies."""

    policies: list[PolicyInfo]


class NewKey(Request):
    """A key to make."""

    name: Name
    role: Role


class Key(msgspec.Struct):
    """A key, without its secret."""

    id: int
    name: str
    role: Role
    created: float
    revoked: float | None


class MadeKey(Key):
    """A new key; its secret is shown this once."""

    secret: str


class Keys(msgspec.Struct):
    """All keys."""

    keys: list[Key]


class Health(msgspec.Struct):
    """Whether the service can work; ``reason`` if it cannot."""

    ok: bool
    reason: str | None = None


class Readiness(Health):
    """Whether the service can work, and which policies are being compiled ahead.

    Until that is done, to make a ranker of one of these takes some seconds.
    """

    compiling: list[str] = []
