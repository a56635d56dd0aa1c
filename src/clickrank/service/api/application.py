"""The service as an ASGI application: finds the route of a request, checks it and answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from clickrank._core.defaults import DEFAULT_POLICY
from clickrank.learning import ContextState
from clickrank.policies import policy
from clickrank.service.api.asgi import (
    Disconnected,
    Receive,
    Rejected,
    Reply,
    Scope,
    Send,
    Stream,
    check_host,
    check_media,
    decode_body,
    decode_query,
    problem_of,
    read_body,
    send_reply,
)
from clickrank.service.api.auth import Gate
from clickrank.service.api.dashboard_files import page_reply, read_pages
from clickrank.service.api.handlers import PathValues
from clickrank.service.api.metrics import Metrics, forget_dead_workers
from clickrank.service.api.routes import ROUTES, Route
from clickrank.service.runtime.refusals import Unavailable, quoted
from clickrank.service.schemas.fields import Role
from clickrank.service.schemas.parameters import PATH_PARAMETERS

if TYPE_CHECKING:
    from clickrank.service.runtime.engine import Engine

RETRY_SECONDS = 2.0  # between attempts to open a database that was not available at the start
NOTE_SECONDS = 1.0  # between updates of the engine's metrics

_log = logging.getLogger("clickrank.serve")


class Service:
    """The objects that handlers share: the engine, once it is open, the gate and the metrics."""

    def __init__(self, open_engine: Callable[[], Awaitable[Engine]], keys_required: bool) -> None:
        self._open_engine = open_engine
        self._engine: Engine | None = None
        self._why_not = "The service is starting."
        self.compiling: list[str] = []
        self.gate = Gate(keys_required, self._role_of)
        self.metrics = Metrics()

    @property
    def engine(self) -> Engine:
        """The engine; raises Unavailable while it is not open."""
        if self._engine is None:
            raise Unavailable(self._why_not)
        return self._engine

    async def why_not_ready(self) -> str | None:
        """Return why the service cannot answer requests, or None if it can."""
        return self._why_not if self._engine is None else await self._engine.ready()

    def metrics_text(self) -> bytes:
        """Return the current metrics."""
        self._note()
        return self.metrics.text()

    async def _role_of(self, secret: str) -> Role | None:
        return await self.engine.role_of(secret)

    def _note(self) -> None:
        if self._engine is not None:
            self.metrics.note(self._engine.writer.waiting, self._engine.settler.folded)

    async def _open(self) -> None:
        try:
            self._engine = await self._open_engine()
        except Unavailable as error:
            self._why_not = str(error)
            _log.warning("Cannot start yet: %s", error)

    async def _keep_open(self) -> None:
        """Open the engine if the first attempt failed, and then keep its metrics up to date."""
        while self._engine is None:
            await asyncio.sleep(RETRY_SECONDS)
            await self._open()
        while True:
            self._note()
            await asyncio.sleep(NOTE_SECONDS)

    def _compile_default_policy(self) -> None:
        """Compile the default policy in a thread, so that creating a ranker need not wait."""
        self.compiling = [DEFAULT_POLICY]

        def compile_policy() -> None:
            began = time.perf_counter()
            try:
                ContextState(policy(DEFAULT_POLICY), n_items=2, n_positions=1).prepare()
                _log.info("Compiled %s in %.1f s.", DEFAULT_POLICY, time.perf_counter() - began)
            except Exception:  # creating a ranker will raise it again, and report it
                _log.exception("Could not compile %s.", DEFAULT_POLICY)
            finally:
                self.compiling = []

        _log.info("Compiling %s in the background.", DEFAULT_POLICY)
        threading.Thread(target=compile_policy, daemon=True, name="compile ahead").start()

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Open the engine, and close it after all requests are answered."""
        forget_dead_workers()
        await self._open()
        self._compile_default_policy()
        keeper = asyncio.create_task(self._keep_open())
        try:
            yield
        finally:
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
            if self._engine is not None:
                await self._engine.close()
                self._engine = None


def make_app(
    open_engine: Callable[[], Awaitable[Engine]], keys_required: bool = False
) -> Application:
    """Return the application. Its lifespan opens and closes the engine."""
    return Application(Service(open_engine, keys_required))


class Application:
    """The ASGI application: passes each request to the endpoint of its path."""

    def __init__(self, service: Service) -> None:
        self.lifespan = service.lifespan
        by_path: dict[str, list[Route]] = {}
        for route in ROUTES:
            by_path.setdefault(route.path, []).append(route)
        endpoints = {path: Endpoint(service, routes) for path, routes in by_path.items()}
        endpoints["/"] = endpoints["/static/{file}"] = Pages(service)
        self._endpoints = [(_matcher(path), endpoint) for path, endpoint in endpoints.items()]
        self._no_endpoint = Endpoint(service, ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or start and stop with the server."""
        if scope["type"] == "lifespan":  # otherwise "http": the server has no websockets
            return await self._live(receive, send)
        path, raw = scope["path"], scope.get("raw_path") or b""
        encoded = b"%2f" in raw.lower()  # such a slash is part of a name, and separates nothing
        for match, endpoint in self._endpoints:
            found = match(raw.decode("latin-1") if encoded else path)
            if found is not None:
                values = found.groupdict()
                if encoded:
                    values = {name: unquote(value) for name, value in values.items()}
                return await endpoint.serve(scope, values, receive, send)
        return await self._no_endpoint.serve(scope, {}, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()  # lifespan.shutdown
        await send({"type": "lifespan.shutdown.complete"})


def _matcher(path: str) -> Callable[[str], re.Match[str] | None]:
    """Return a function that matches paths like "/v1/rankers/{name}"."""
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)).fullmatch


class Endpoint:
    """The routes of one path. Exceptions of their handlers become answers here."""

    label = "other"

    def __init__(self, service: Service, routes: Iterable[Route]) -> None:
        self._service = service
        self._routes = {route.method: _PreparedRoute(route) for route in routes}
        self._allowed = sorted([*self._routes, *(["HEAD"] if "GET" in self._routes else [])])

    async def serve(self, scope: Scope, path: PathValues, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began = time.perf_counter()
        head = scope["method"] == "HEAD"
        prepared = self._routes.get("GET" if head else scope["method"])
        try:
            reply = await self._answer(prepared, scope, path, receive)
        except Disconnected:
            return
        except Exception as error:
            reply = problem_of(error)
            if reply.status == 503:
                self._service.metrics.unavailable.inc()
        await send_reply(send, reply, receive, head)
        label = self.label if prepared is None else prepared.label
        self._service.metrics.answered(label, reply.status, time.perf_counter() - began)

    async def _answer(
        self, prepared: _PreparedRoute | None, scope: Scope, path: PathValues, receive: Receive
    ) -> Reply | Stream:
        service = self._service
        headers = dict(scope["headers"])
        if not service.gate.keys_required:
            check_host(headers)
        if prepared is None:
            raise self._no_route(scope)
        route = prepared.route
        if service.gate.keys_required:
            await service.gate.check_key(headers, route.role)
        for name, value in path.items():
            if not prepared.patterns[name](value):
                kind = PATH_PARAMETERS[name].kind
                rule = f"There is no {kind} {quoted(value)}."
                raise Rejected(f"unknown_{kind}", rule, 404)
        query = prepared.query
        if scope["query_string"] and route.role is not None:
            query = decode_query(route.query, scope["query_string"])
        body = None
        if prepared.decoder is not None:
            check_media(headers)
            raw = await read_body(receive, headers, route.limit)
            body = decode_body(prepared.decoder, raw)
        return await route.call(service, path, body, query)

    def _no_route(self, scope: Scope) -> Rejected:
        method, path = scope["method"], scope["path"]
        if not self._routes:
            rule = f"There is nothing at {quoted(path)}."
            return Rejected("unknown_path", rule, 404)
        allowed = ", ".join(self._allowed)
        rule = f"{path}: the method must be one of {allowed}, got {method}."
        return Rejected("wrong_method", rule, 405, [(b"allow", allowed.encode())])


class _PreparedRoute:
    """A route with its decoder, its patterns and the query of requests without parameters."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.label = route.label
        self.decoder: msgspec.json.Decoder[Any] | None = None
        if route.body is not None:
            self.decoder = msgspec.json.Decoder(route.body)
        self.query = None if route.query is None else route.query()
        self.patterns = {n: re.compile(p.pattern).search for n, p in PATH_PARAMETERS.items()}


class Pages(Endpoint):
    """The files of the dashboard."""

    label = "dashboard"

    def __init__(self, service: Service) -> None:
        super().__init__(service, ())
        self._pages = read_pages()

    async def _answer(
        self, prepared: _PreparedRoute | None, scope: Scope, path: PathValues, receive: Receive
    ) -> Reply | Stream:
        headers = dict(scope["headers"])
        if not self._service.gate.keys_required:
            check_host(headers)
        if scope["method"] not in ("GET", "HEAD"):
            rule = f"{scope['path']}: the method must be GET or HEAD, got {scope['method']}."
            raise Rejected("wrong_method", rule, 405, [(b"allow", b"GET, HEAD")])
        return page_reply(self._pages, scope["path"], headers)
