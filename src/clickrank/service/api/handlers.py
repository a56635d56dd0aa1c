"""Handlers of the routes: each asks the engine and encodes its answer.

The first sentence of each docstring is the route's summary in the OpenAPI description.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import UNSET

from clickrank.service.api.asgi import Reply, Stream, as_json, of_type, stream
from clickrank.service.api.metrics import MEDIA as METRICS_MEDIA
from clickrank.service.runtime.available_policies import policy_infos
from clickrank.service.runtime.refusals import Refused
from clickrank.service.schemas.answers import Health, Policies, Readiness
from clickrank.service.schemas.parameters import (
    ActivityQuery,
    ContextsPage,
    LoggedQuery,
    NumberPage,
    OfContext,
    Page,
)
from clickrank.service.schemas.requests import (
    ClickBatch,
    Clicks,
    NewItems,
    NewKey,
    NewRanker,
    RankBatch,
    RankerChange,
    RankRequest,
    RetiredItems,
)

if TYPE_CHECKING:
    from clickrank.service.api.application import Service

PARQUET = "application/vnd.apache.parquet"

PathValues = Mapping[str, str]

_HEALTHY = as_json(Health(True))


async def create_ranker(service: Service, path: PathValues, body: NewRanker, query: None) -> Reply:
    """Create a ranker. Repeating the request changes nothing."""
    ranker, created = await service.engine.create(body)
    return as_json(ranker, 201 if created else 200)


async def list_rankers(service: Service, path: PathValues, body: None, query: Page) -> Reply:
    """List the rankers."""
    return as_json(await service.engine.rankers(query.after, query.limit))


async def show_ranker(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """Show a ranker and its settings."""
    return as_json(await service.engine.ranker(path["name"]))


async def change_ranker(
    service: Service, path: PathValues, body: RankerChange, query: None
) -> Reply:
    """Change a ranker's settings."""
    return as_json(await service.engine.change(path["name"], body))


async def delete_ranker(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """Delete a ranker and its log."""
    await service.engine.delete(path["name"])
    return as_json(None)


async def list_items(service: Service, path: PathValues, body: None, query: NumberPage) -> Reply:
    """List the items of a ranker."""
    return as_json(await service.engine.items(path["name"], query.after, query.limit))


async def add_items(service: Service, path: PathValues, body: NewItems, query: None) -> Reply:
    """Add items to a ranker."""
    return as_json(await service.engine.add_items(path["name"], body))


async def retire_items(
    service: Service, path: PathValues, body: RetiredItems, query: None
) -> Reply:
    """Retire items, which are then not shown again."""
    return as_json(await service.engine.retire_items(path["name"], body))


async def list_contexts(
    service: Service, path: PathValues, body: None, query: ContextsPage
) -> Reply:
    """List the contexts of a ranker."""
    after = None if query.after is UNSET else query.after
    return as_json(await service.engine.contexts(path["name"], after, query.limit))


async def rank(service: Service, path: PathValues, body: RankRequest, query: None) -> Reply:
    """Choose a list to show to a visitor, and log it."""
    impression = await service.engine.rank(path["name"], body)
    service.metrics.ranks.inc()
    return as_json(impression)


async def rank_batch(service: Service, path: PathValues, body: RankBatch, query: None) -> Reply:
    """Choose lists to show to many visitors, and log them."""
    batch = await service.engine.rank_batch(path["name"], body)
    service.metrics.ranks.inc(len(batch.impressions))
    return as_json(batch)


async def click(service: Service, path: PathValues, body: Clicks, query: None) -> Reply:
    """Report the clicks on an impression."""
    try:
        feedback = await service.engine.click(path["id"], body)
    except Refused as error:
        service.metrics.click_refused(error.code)
        raise
    service.metrics.feedback.inc()
    return as_json(feedback)


async def click_batch(service: Service, path: PathValues, body: ClickBatch, query: None) -> Reply:
    """Report the clicks on many impressions."""
    batch = await service.engine.click_batch(body)
    service.metrics.count_feedback(batch.results)
    return as_json(batch)


async def show_report(service: Service, path: PathValues, body: None, query: OfContext) -> Reply:
    """Report what a ranker has learned in a context."""
    return as_json(await service.engine.report(path["name"], query.context))


async def show_activity(
    service: Service, path: PathValues, body: None, query: ActivityQuery
) -> Reply:
    """Count impressions and clicks over time."""
    seconds = None if query.seconds is UNSET else query.seconds
    return as_json(await service.engine.activity(path["name"], query.context, seconds))


async def list_impressions(
    service: Service, path: PathValues, body: None, query: LoggedQuery
) -> Reply:
    """List the last impressions of a ranker."""
    context = None if query.context is UNSET else query.context
    return as_json(await service.engine.impressions(path["name"], context, query.limit))


async def export_log(service: Service, path: PathValues, body: None, query: None) -> Stream:
    """Export the log of a ranker as a Parquet file."""
    name = f'attachment; filename="{path["name"]}.parquet"'.encode()
    chunks = service.engine.export(path["name"])
    return await stream(PARQUET.encode(), chunks, [(b"content-disposition", name)])


async def list_policies(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """List the policies that rankers can use."""
    return as_json(Policies(policy_infos()))


async def list_keys(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """List the keys, without their secrets."""
    return as_json(await service.engine.keys())


async def make_key(service: Service, path: PathValues, body: NewKey, query: None) -> Reply:
    """Create a key. Its secret is shown only once."""
    return as_json(await service.engine.make_key(body), 201)


async def revoke_key(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """Revoke a key."""
    key = await service.engine.revoke_key(int(path["key"]))
    service.gate.forget()
    return as_json(key)


async def show_metrics(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """Show metrics for Prometheus."""
    return of_type(METRICS_MEDIA, service.metrics_text())


async def ping(service: Service, path: PathValues, body: RankRequest, query: None) -> Reply:
    """Decode a request for a list and do nothing else, to measure network and server."""
    return _HEALTHY


async def show_health(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """Show whether the process is alive."""
    return _HEALTHY


async def show_readiness(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """Show whether the service can answer requests, and if not, why."""
    reason = await service.why_not_ready()
    readiness = Readiness(reason is None, reason, service.compiling)
    return as_json(readiness, 200 if reason is None else 503)


async def show_description(service: Service, path: PathValues, body: None, query: None) -> Reply:
    """Show this OpenAPI description."""
    from clickrank.service.api.openapi import description_text

    return Reply(200, description_text())
