"""The table of routes, used by the server, the OpenAPI description and the tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from clickrank.service.api import examples as e
from clickrank.service.api import handlers as h
from clickrank.service.api.asgi import BODY_LIMIT, LARGE_BODY_LIMIT, Reply, Stream
from clickrank.service.api.metrics import MEDIA as METRICS_MEDIA
from clickrank.service.schemas import answers, fields, requests
from clickrank.service.schemas import parameters as q

if TYPE_CHECKING:
    from clickrank.service.api.application import Service

Handler = Callable[["Service", h.PathValues, Any, Any], Awaitable[Reply | Stream]]


@dataclasses.dataclass(frozen=True)
class Route:
    """A method of a path: its handler, the required role, its schemas and examples of both."""

    method: str
    path: str
    call: Handler  # its docstring becomes the summary in the OpenAPI description
    answer: type | str | None  # a struct, a media type, or nothing
    role: fields.Role | None = "admin"
    body: type | None = None
    query: type[msgspec.Struct] | None = None
    limit: int = BODY_LIMIT
    example: Any = None  # of the body
    answer_example: Any = None
    statuses: tuple[int, ...] = (200,)
    refusals: tuple[int, ...] = ()  # error statuses besides the usual ones

    @property
    def label(self) -> str:
        """Name of the route in the metrics."""
        return f"{self.method} {self.path}"


_R = "/v1/rankers"
_ONE = "/v1/rankers/{name}"

#: The routes that are called for every visitor come first, because they are found fastest.
ROUTES = (
    Route(
        "POST", f"{_ONE}/rank", h.rank,
        answers.Impression, role="rank", body=requests.RankRequest, example=e.RANK,
        answer_example=e.IMPRESSION, refusals=(409,),
    ),
    Route(
        "POST", "/v1/impressions/{id}/clicks", h.click,
        answers.Feedback, role="rank", body=requests.Clicks, example=e.CLICKS,
        answer_example=e.FEEDBACK, refusals=(409,),
    ),
    Route(
        "POST", "/ping", h.ping, answers.Health,
        role="rank", body=requests.RankRequest, example=e.RANK, answer_example=answers.Health(True),
    ),
    Route(
        "GET", "/healthz", h.show_health, answers.Health,
        role=None, answer_example=answers.Health(True),
    ),
    Route(
        "POST", f"{_ONE}/rank/batch", h.rank_batch,
        answers.ImpressionBatch, role="rank", body=requests.RankBatch, limit=LARGE_BODY_LIMIT,
        example=e.RANK_BATCH, answer_example=e.IMPRESSION_BATCH, refusals=(409,),
    ),
    Route(
        "POST", "/v1/clicks/batch", h.click_batch,
        answers.FeedbackBatch, role="rank", body=requests.ClickBatch, limit=LARGE_BODY_LIMIT,
        example=e.CLICK_BATCH, answer_example=e.FEEDBACK_BATCH,
    ),
    Route(
        "GET", _R, h.list_rankers, answers.RankerPage, query=q.Page,
        answer_example=e.RANKER_PAGE,
    ),
    Route(
        "POST", _R, h.create_ranker,
        answers.RankerInfo, body=requests.NewRanker, limit=LARGE_BODY_LIMIT, example=e.NEW_RANKER,
        answer_example=e.RANKER, statuses=(201, 200), refusals=(409,),
    ),
    Route("GET", _ONE, h.show_ranker, answers.RankerInfo, answer_example=e.RANKER),
    Route(
        "PATCH", _ONE, h.change_ranker, answers.RankerInfo, body=requests.RankerChange,
        example=e.CHANGE, answer_example=e.RANKER, refusals=(409,),
    ),
    Route(
        "DELETE", _ONE, h.delete_ranker, None,
        statuses=(204,), refusals=(409,),
    ),
    Route(
        "GET", f"{_ONE}/items", h.list_items, answers.ItemPage,
        query=q.NumberPage, answer_example=e.ITEM_PAGE,
    ),
    Route(
        "POST", f"{_ONE}/items", h.add_items, answers.RankerInfo, body=requests.NewItems,
        limit=LARGE_BODY_LIMIT, example=e.NEW_ITEMS, answer_example=e.RANKER, refusals=(409,),
    ),
    Route(
        "POST", f"{_ONE}/items/retire", h.retire_items, answers.RankerInfo,
        body=requests.RetiredItems, limit=LARGE_BODY_LIMIT, example=e.RETIRED_ITEMS,
        answer_example=e.RANKER, refusals=(409,),
    ),
    Route(
        "GET", f"{_ONE}/contexts", h.list_contexts,
        answers.ContextPage, query=q.ContextsPage, answer_example=e.CONTEXT_PAGE,
    ),
    Route(
        "GET", f"{_ONE}/report", h.show_report, answers.Report,
        query=q.OfContext, answer_example=e.REPORT,
    ),
    Route(
        "GET", f"{_ONE}/activity", h.show_activity,
        answers.Activity, query=q.ActivityQuery, answer_example=e.ACTIVITY,
    ),
    Route(
        "GET", f"{_ONE}/impressions", h.list_impressions,
        answers.LoggedImpressions, query=q.LoggedQuery, answer_example=e.LOGGED,
    ),
    Route("GET", f"{_ONE}/log.parquet", h.export_log, h.PARQUET),
    Route(
        "GET", "/v1/policies", h.list_policies, answers.Policies,
        answer_example=e.POLICIES,
    ),
    Route("GET", "/v1/keys", h.list_keys, answers.Keys, answer_example=e.KEYS),
    Route(
        "POST", "/v1/keys", h.make_key, answers.MadeKey,
        body=requests.NewKey, example=e.NEW_KEY, answer_example=e.MADE_KEY, statuses=(201,),
        refusals=(409,),
    ),
    Route(
        "DELETE", "/v1/keys/{key}", h.revoke_key, answers.Key,
        answer_example=msgspec.structs.replace(e.KEY, revoked=e.KEY.created + 60.0),
    ),
    Route(
        "GET", "/metrics", h.show_metrics, METRICS_MEDIA.decode(),
        role="rank",
    ),
    Route(
        "GET", "/readyz", h.show_readiness,
        answers.Readiness, role=None, answer_example=answers.Readiness(True), statuses=(200, 503),
    ),
    Route(
        "GET", "/openapi.json", h.show_description, "application/json",
        role=None,
    ),
)  # fmt: skip
