"""Bodies of answers: what the service sends to clients. Times are seconds since 1970."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from clickrank.service.schemas.fields import Mode, Role


class Problem(msgspec.Struct):
    """An error: a code for programs and a message for people."""

    code: Annotated[str, Meta(examples=["not_shown"])]
    message: Annotated[str, Meta(examples=['shop-front: unknown item "x". Did you mean "xs"?'])]


class ErrorBody(msgspec.Struct):
    """The body of every answer that reports an error."""

    error: Problem


class RankerInfo(msgspec.Struct):
    """A ranker and its settings."""

    name: str
    policy: str
    settings: dict[str, Any]
    n_items: int  # without the retired ones
    n_retired: int
    n_positions: int
    window: int  # seconds
    mode: Mode
    version: int  # grows by one with each change
    created: float
    changed: float
    takes_candidates: bool
    takes_priors: bool
    log_propensities: bool = False
    warnings: list[str] = []  # about its policy with these settings


# In OpenAPI it is still called "Ranker", as callers know it; in Python that is `clickrank.Ranker`.
RankerInfo.__name__ = "Ranker"


class RankerPage(msgspec.Struct):
    """Rankers, sorted by name. For the next page, send ``next`` as ``after``."""

    rankers: list[RankerInfo]
    next: str | None = None


class ItemEntry(msgspec.Struct):
    """An item of a ranker."""

    item: str
    retired: bool


class ItemPage(msgspec.Struct):
    """Items in the order they were added. For the next page, send ``next`` as ``after``."""

    items: list[ItemEntry]
    next: int | None = None


class Impression(msgspec.Struct):
    """A list to show, which the service has logged.

    In shadow mode ``items`` is the page's list, and ``would_show`` the list that the ranker chose.
    """

    id: str
    items: list[str]
    context: str
    version: int  # of the ranker
    would_show: list[str] | None = None


class ImpressionBatch(msgspec.Struct):
    """One impression per request, in the order of the requests."""

    impressions: list[Impression]


class Feedback(msgspec.Struct):
    """All clicks received for an impression. Once it is settled they no longer change."""

    id: str
    clicked: list[str]
    settled: bool


class FeedbackOf(msgspec.Struct):
    """The answer to one entry of a batch: its feedback, or its error."""

    id: str
    feedback: Feedback | None = None
    error: Problem | None = None


class FeedbackBatch(msgspec.Struct):
    """One result per entry, in the order of the entries."""

    results: list[FeedbackOf]


class ItemReport(msgspec.Struct):
    """Statistics of an item in one context."""

    item: str
    retired: bool
    shown: int
    clicks: int
    estimate: float | None  # of the attraction; null if the item was never shown
    low: float | None  # ends of its 95 % interval
    high: float | None
    best_probability: float  # of being in the best list


class PositionReport(msgspec.Struct):
    """Statistics of a position in one context. Positions are numbered from 1."""

    position: int
    shown: int
    clicks: int
    click_rate: float | None
    examination: float | None  # relative to the first position, whose examination is 1


class ShadowReport(msgspec.Struct):
    """The ranker's lists compared with those of the page, both valued by the same estimates."""

    impressions: int
    same_items: float | None  # share of the page's items that are also in the ranker's list
    own_value: float | None  # estimated clicks per impression; null if not yet known
    page_value: float | None


class Report(msgspec.Struct):
    """What a ranker has learned in one context."""

    name: str
    context: str
    impressions: int  # including those that were removed by compaction
    settled: int  # impressions that the ranker has learned from
    clicks: int
    click_rate: float | None  # share of settled impressions with a click
    exploration: float | None  # share of the last impressions that did not show the best list
    regret: float | None  # estimated clicks lost so far compared with the best list
    best: list[str]  # the best list by the estimates
    items: list[ItemReport]
    positions: list[PositionReport]
    shadow: ShadowReport | None = None


class Bucket(msgspec.Struct):
    """Numbers of impressions and clicks in one interval of time."""

    start_time: float = msgspec.field(name="at")
    impressions: int
    clicked: int  # impressions with a click
    clicks: int
    exploring: int  # impressions that did not show the best list


class Activity(msgspec.Struct):
    """Settled impressions over time, and those of the ranker's first day."""

    seconds: int  # length of a bucket
    first_day: Bucket | None
    buckets: list[Bucket]


class LoggedImpression(msgspec.Struct):
    """An impression in the log."""

    id: str
    context: str
    shown_at: float = msgspec.field(name="at")
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
    """Contexts, sorted by name. For the next page, send ``next`` as ``after``."""

    contexts: list[ContextEntry]
    next: str | None = None


class Setting(msgspec.Struct):
    """A parameter of a policy. A required one has no default."""

    name: str
    required: bool
    default: Any = None


class PolicyInfo(msgspec.Struct):
    """A policy that rankers can use."""

    name: str
    summary: str
    assumes: str
    settings: list[Setting]
    takes_candidates: bool
    takes_priors: bool
    cautions: list[str] = []  # to read before choosing it


class Policies(msgspec.Struct):
    """All policies."""

    policies: list[PolicyInfo]


class Key(msgspec.Struct):
    """A key without its secret."""

    id: int
    name: str
    role: Role
    created: float
    revoked: float | None


class MadeKey(Key):
    """A new key with its secret, which is shown only once."""

    secret: str


class Keys(msgspec.Struct):
    """All keys."""

    keys: list[Key]


class Health(msgspec.Struct):
    """Whether the service can answer requests; ``reason`` says why not."""

    ok: bool
    reason: str | None = None


class Readiness(Health):
    """Whether the service can answer requests, and which policies it is still compiling.

    Until a policy is compiled, creating a ranker with it takes some seconds.
    """

    compiling: list[str] = []
