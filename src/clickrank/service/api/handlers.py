"""What each route does: ask the engine, encode its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import UNSET

from clickrank.service.api.metrics import MEDIA as METRICS_MEDIA
from clickrank.service.api.parameters import (
    ActivityQuery,
    ContextsPage,
    LoggedQuery,
    NumberPage,
    OfContext,
    Page,
)
from clickrank.service.api.replies import Reply, Stream, as_json, of_type, stream
from clickrank.service.runtime.available_policies import policy_infos
from clickrank.service.runtime.refusals import Refused
from clickrank.service.schemas import answers, requests

if TYPE_CHECKING:
    from clickrank.service.api.app import Service

PARQUET = "application/vnd.apache.parquet"

Path = Mapping[str, str]

_FINE = as_json(answers.Health(True))


async def create_ranker(service: Service, at: Path, body: requests.NewRanker, query: None) -> Reply:
    """Create a ranker; the same again changes nothing."""
    ranker, made = await service.engine.create(body)
    return as_json(ranker, 201 if made else 200)


async def list_rankers(service: Service, at: Path, body: None, query: Page) -> Reply:
    """List the rankers."""
    return as_json(await service.engine.rankers(query.after, query.limit))


async def show_ranker(service: Service, at: Path, body: None, query: None) -> Reply:
    """Show a ranker."""
    return as_json(await service.engine.ranker(at["name"]))


async def change_ranker(
    service: Service, at: Path, body: requests.RankerChange, query: None
) -> Reply:
    """Change a ranker."""
    return as_json(await service.engine.change(at["name"], body))


async def delete_ranker(service: Service, at: Path, body: None, query: None) -> Reply:
    """Delete a ranker and its log."""
    await service.engine.delete(at["name"])
    return as_json(None)


async def list_items(service: Service, at: Path, body: None, query: NumberPage) -> Reply:
    """List the items of a ranker."""
    return as_json(await service.engine.items(at["name"], query.after, query.limit))


async def add_items(service: Service, at: Path, body: requests.NewItems, query: None) -> Reply:
    """Add items."""
    return as_json(await service.engine.add_items(at["name"], body))


async def retire_items(
    service: Service, at: Path, body: requests.RetiredItems, query: None
) -> Reply:
    """Never show some items again."""
    return as_json(await service.engine.retire_items(at["name"], body))


async def list_contexts(service: Service, at: Path, body: None, query: ContextsPage) -> Reply:
    """List the contexts of a ranker."""
    after = None if query.after is UNSET else query.after
    return as_json(await service.engine.contexts(at["name"], after, query.limit))


async def rank(service: Service, at: Path, body: requests.RankRequest, query: None) -> Reply:
    """Choose the list to show a visitor, and log it."""
    impression = await service.engine.rank(at["name"], body)
    service.metrics.ranks.inc()
    return as_json(impression)


async def rank_batch(service: Service, at: Path, body: requests.RankBatch, query: None) -> Reply:
    """Choose lists for many visitors."""
    batch = await service.engine.rank_batch(at["name"], body)
    service.metrics.ranks.inc(len(batch.impressions))
    return as_json(batch)


async def click(service: Service, at: Path, body: requests.Clicks, query: None) -> Reply:
    """Say what was clicked of a list."""
    try:
        feedback = await service.engine.click(at["id"], body)
    except Refused as error:
        service.metrics.click_refused(error.code)
        raise
    service.metrics.feedback.inc()
    return as_json(feedback)


async def click_batch(service: Service, at: Path, body: requests.ClickBatch, query: None) -> Reply:
    """Say what was clicked of many lists."""
    batch = await service.engine.click_batch(body)
    service.metrics.took(batch.results)
    return as_json(batch)


async def show_report(service: Service, at: Path, body: None, query: OfContext) -> Reply:
    """What was learned in a context."""
    return as_json(await service.engine.report(at["name"], query.context))


async def show_activity(service: Service, at: Path, body: None, query: ActivityQuery) -> Reply:
    """Impressions and clicks over time."""
    seconds = None if query.seconds is UNSET else query.seconds
    return as_json(await service.engine.activity(at["name"], query.context, seconds))


async def list_impressions(service: Service, at: Path, body: None, query: LoggedQuery) -> Reply:
    """The last impressions."""
    context = None if query.context is UNSET else query.context
    return as_json(await service.engine.impressions(at["name"], context, query.limit))


async def export_log(service: Service, at: Path, body: None, query: None) -> Stream:
    """The whole log as Parquet."""
    name = f'attachment; filename="{at["name"]}.parquet"'.encode()
    chunks = service.engine.export(at["name"])
    return await stream(PARQUET.encode(), chunks, [(b"content-disposition", name)])


async def list_policies(service: Service, at: Path, body: None, query: None) -> Reply:
    """List the policies."""
    return as_json(answers.Policies(policy_infos()))


async def list_keys(service: Service, at: Path, body: None, query: None) -> Reply:
    """List the keys."""
    return as_json(await service.engine.keys())


async def make_key(service: Service, at: Path, body: requests.NewKey, query: None) -> Reply:
    """Make a key; its secret is shown this once."""
    return as_json(await service.engine.make_key(body), 201)


async def revoke_key(service: Service, at: Path, body: None, query: None) -> Reply:
    """Revoke a key."""
    key = await service.engine.revoke_key(int(at["key"]))
    service.gate.forget()
    return as_json(key)


async def show_metrics(service: Service, at: Path, body: None, query: None) -> Reply:
    """Numbers for Prometheus."""
    return of_type(METRICS_MEDIA, service.measured())


async def ping(service: Service, at: Path, body: requests.RankRequest, query: None) -> Reply:
    """Do nothing with a request like that for a list: what network and server take."""
    return _FINE


async def show_health(service: Service, at: Path, body: None, query: None) -> Reply:
    """Whether the process answers."""
    return _FINE


async def show_readiness(service: Service, at: Path, body: None, query: None) -> Reply:
    """Whether the service can work, and why not."""
    reason = await service.why_not_ready()
    health = answers.Readiness(reason is None, reason, service.compiling)
    return as_json(health, 200 if reason is None else 503)


async def show_description(service: Service, at: Path, body: None, query: None) -> Reply:
    """Describe the API, as here."""
    from clickrank.service.api.openapi import description_text

    return Reply(200, description_text())
