"""The methods of both clients: the request that each sends, and the type of its answer."""

from __future__ import annotations

import dataclasses
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, overload
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from clickrank.errors import invalid
from clickrank.service.schemas import answers, fields
from clickrank.service.schemas import requests as r

T = TypeVar("T")
P = ParamSpec("P")


@dataclasses.dataclass(frozen=True)
class Call(Generic[T]):
    """A request to send, and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    body: bytes | None = None
    params: Mapping[str, str | int] = dataclasses.field(default_factory=dict)
    #: Whether sending it twice has the same effect as sending it once.
    repeatable: bool = True
    #: Whether a 404 means success if an earlier attempt may have been executed.
    gone_is_done: bool = False
    #: The file to write the answer to, if it is one.
    file: Path | None = None
    #: Whether it may take a minute, because the service compiles a policy at its first use.
    long: bool = False


class CallMethod(Generic[P, T]):
    """A method of both clients. It makes the request, which each client sends in its own way."""

    def __init__(self, call: Callable[P, Call[T]]) -> None:
        self.call = call
        self.__doc__ = call.__doc__
        self.__wrapped__ = call

    @overload
    def __get__(self, client: None, owner: type) -> CallMethod[P, T]: ...
    @overload
    def __get__(self, client: Sync, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """Return the method of a client."""
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.call(*args, **kwargs))

        method.__doc__, method.__name__ = self.call.__doc__, self.call.__name__
        method.__wrapped__ = self.call  # type: ignore[attr-defined]  # for help()
        return method


class RankerOptions(TypedDict, total=False):
    """Options of `create_ranker`; see `clickrank.service.schemas.requests.NewRanker`."""

    policy: str
    settings: dict[str, Any]
    window: int
    mode: fields.Mode
    log_propensities: bool
    prior: r.Prior | None
    start: r.Start | None


class RankerChanges(TypedDict, total=False):
    """Options of `change_ranker`."""

    window: int
    mode: fields.Mode
    log_propensities: bool
    policy: str
    settings: dict[str, Any]


class Calls:
    """The methods of both clients. Those of `AsyncClient` are awaited."""

    @CallMethod
    @staticmethod
    def create_ranker(
        name: str, items: Iterable[str], n_positions: int, **options: Unpack[RankerOptions]
    ) -> Call[answers.RankerInfo]:
        """Create a ranker. Creating the same ranker again changes nothing."""
        new = r.NewRanker(name, _ids("items", items), n_positions, **options)
        return dataclasses.replace(_post("/v1/rankers", new, answers.RankerInfo), long=True)

    @CallMethod
    @staticmethod
    def rankers(after: str = "", limit: int = 100) -> Call[answers.RankerPage]:
        """List rankers by name. For the next page, call again with ``after=page.next``."""
        return _get("/v1/rankers", answers.RankerPage, after=after, limit=limit)

    @CallMethod
    @staticmethod
    def ranker(name: str) -> Call[answers.RankerInfo]:
        """Return a ranker and its settings."""
        return _get(_ranker(name), answers.RankerInfo)

    @CallMethod
    @staticmethod
    def change_ranker(name: str, **changes: Unpack[RankerChanges]) -> Call[answers.RankerInfo]:
        """Change a ranker's window, mode, policy or settings; others keep their values."""
        body = msgspec.json.encode(r.RankerChange(**changes))
        return Call("PATCH", _ranker(name), answers.RankerInfo, body, long="policy" in changes)

    @CallMethod
    @staticmethod
    def delete_ranker(name: str) -> Call[None]:
        """Delete a ranker and its log."""
        return Call("DELETE", _ranker(name), type(None), gone_is_done=True)

    @CallMethod
    @staticmethod
    def items(name: str, after: int = 0, limit: int = 1000) -> Call[answers.ItemPage]:
        """List items in the order they were added. For the next page use ``after=page.next``."""
        return _get(f"{_ranker(name)}/items", answers.ItemPage, after=after, limit=limit)

    @CallMethod
    @staticmethod
    def add_items(
        name: str,
        items: Iterable[str],
        prior: r.Prior | None = None,
        features: Iterable[Iterable[float]] | None = None,
    ) -> Call[answers.RankerInfo]:
        """Add items, optionally with priors, or show retired items again.

        Items that are already active do not change.
        """
        rows = None if features is None else [list(row) for row in features]
        new = r.NewItems(_ids("items", items), prior, rows)
        return _post(f"{_ranker(name)}/items", new, answers.RankerInfo)

    @CallMethod
    @staticmethod
    def retire_items(name: str, items: Iterable[str]) -> Call[answers.RankerInfo]:
        """Retire items: they are not shown again, and their history is kept."""
        retired = r.RetiredItems(_ids("items", items))
        return _post(f"{_ranker(name)}/items/retire", retired, answers.RankerInfo)

    @CallMethod
    @staticmethod
    def contexts(
        name: str, after: str | None = None, limit: int = 100
    ) -> Call[answers.ContextPage]:
        """List contexts by name. For the next page, call again with ``after=page.next``."""
        return _get(f"{_ranker(name)}/contexts", answers.ContextPage, after=after, limit=limit)

    @CallMethod
    @staticmethod
    def rank(
        name: str,
        context: str = "",
        candidates: Iterable[str] | None = None,
        current: Iterable[str] | None = None,
        id: str | None = None,  # noqa: A002 - the name it has in the API
    ) -> Call[answers.Impression]:
        """Return a list to show, which the service has logged.

        ``current`` is the list that the page shows. In shadow mode it is required; in live mode the
        service ignores it, since the page shows the list that is returned. If no id is given, the
        client chooses one, so that repeated attempts get the list of the first.
        """
        shown = None if current is None else _ids("current", current)
        among = None if candidates is None else _ids("candidates", candidates)
        request = r.RankRequest(id or new_id(), context, among, shown)
        return _post(f"{_ranker(name)}/rank", request, answers.Impression)

    @CallMethod
    @staticmethod
    def rank_batch(name: str, requests: Iterable[r.RankRequest]) -> Call[answers.ImpressionBatch]:
        """Return one list per request, in the order of the requests."""
        named = [
            msgspec.structs.replace(request, id=new_id()) if request.id is UNSET else request
            for request in requests
        ]
        return _post(f"{_ranker(name)}/rank/batch", r.RankBatch(named), answers.ImpressionBatch)

    @CallMethod
    @staticmethod
    def click(
        impression_id: str, clicked: Iterable[str] = (), final: bool = False
    ) -> Call[answers.Feedback]:
        """Report which items of an impression were clicked, and whether that is final."""
        if not isinstance(impression_id, str):
            raise invalid("Client", "id must be text, as in shown.id", impression_id)
        if isinstance(clicked, Mapping):  # its keys would all count as clicked
            rule = "clicked must be a sequence of item ids"
            raise invalid("Client", rule, clicked, "Pass only the ids that were clicked.")
        path = f"/v1/impressions/{_path_part(impression_id)}/clicks"
        return _post(path, r.Clicks(_ids("clicked", clicked), final), answers.Feedback)

    @CallMethod
    @staticmethod
    def click_batch(clicks: Iterable[r.ClicksOf]) -> Call[answers.FeedbackBatch]:
        """Report clicks on many impressions. Each gets an answer or an error."""
        return _post("/v1/clicks/batch", r.ClickBatch(list(clicks)), answers.FeedbackBatch)

    @CallMethod
    @staticmethod
    def report(name: str, context: str = "") -> Call[answers.Report]:
        """Return what a ranker has learned in a context."""
        return _get(f"{_ranker(name)}/report", answers.Report, context=context)

    @CallMethod
    @staticmethod
    def activity(
        name: str, context: str = "", seconds: int | None = None
    ) -> Call[answers.Activity]:
        """Return impressions and clicks over time, in buckets of some seconds."""
        path = f"{_ranker(name)}/activity"
        return _get(path, answers.Activity, context=context, seconds=seconds)

    @CallMethod
    @staticmethod
    def impressions(
        name: str, context: str | None = None, limit: int = 100
    ) -> Call[answers.LoggedImpressions]:
        """Return the last impressions of one context or of all, newest first."""
        path = f"{_ranker(name)}/impressions"
        return _get(path, answers.LoggedImpressions, context=context, limit=limit)

    @CallMethod
    @staticmethod
    def export_log(name: str, path: str | os.PathLike[str]) -> Call[None]:
        """Write a ranker's log to a Parquet file, and make its folder.

        The file appears when it is complete.
        """
        return Call("GET", f"{_ranker(name)}/log.parquet", type(None), file=Path(path))

    @CallMethod
    @staticmethod
    def policies() -> Call[answers.Policies]:
        """List the policies that rankers can use."""
        return _get("/v1/policies", answers.Policies)

    @CallMethod
    @staticmethod
    def keys() -> Call[answers.Keys]:
        """List keys, without their secrets."""
        return _get("/v1/keys", answers.Keys)

    @CallMethod
    @staticmethod
    def make_key(name: str, role: Literal["rank", "admin"]) -> Call[answers.MadeKey]:
        """Create a key. Its secret is shown only once.

        This is the only call that is not repeated when its answer is lost, because that could
        create two keys: list the keys and revoke the lost one.
        """
        body = msgspec.json.encode(r.NewKey(name, role))
        return Call("POST", "/v1/keys", answers.MadeKey, body, repeatable=False)

    @CallMethod
    @staticmethod
    def revoke_key(key_id: int) -> Call[answers.Key]:
        """Revoke a key."""
        return Call("DELETE", f"/v1/keys/{key_id}", answers.Key)


class Sync(Calls):
    """Base of the synchronous client."""

    def send(self, call: Call[T]) -> T:
        """Send a call and return its answer."""
        raise NotImplementedError


class Async(Calls):
    """Base of the asynchronous client."""

    async def send(self, call: Call[T]) -> T:
        """Send a call and return its answer."""
        raise NotImplementedError


def new_id() -> str:
    """Return a new unique id. Ids of later milliseconds sort later."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def _ranker(name: str) -> str:
    if not name:  # the path would be that of all rankers
        raise invalid("Client", "name must be that of a ranker", name)
    return f"/v1/rankers/{_path_part(name)}"


def _path_part(text: str) -> str:
    """Encode a name or an id as one part of a path, so that the service sees it as it is."""
    if text in (".", ".."):  # by which a path would lead elsewhere
        return text.replace(".", "%2E")
    return quote(text, safe="")


def _ids(name: str, values: Iterable[str]) -> list[str]:
    """Return ids as a list. A text is refused, because its letters would be taken for ids."""
    if isinstance(values, str | bytes):
        raise invalid("Client", f"{name} must be a sequence of ids", values)
    return list(values)


def _get(path: str, answer: type[T], **params: str | int | None) -> Call[T]:
    given = {name: value for name, value in params.items() if value is not None}
    return Call("GET", path, answer, params=given)


def _post(path: str, body: msgspec.Struct, answer: type[T]) -> Call[T]:
    return Call("POST", path, answer, msgspec.json.encode(body))
