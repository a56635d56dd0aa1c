"""The service as an ASGI application: from a request's head to the engine and back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.routing import Route as PathRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from clickrank.learning import ContextState
from clickrank.policies import policy
from clickrank.service.api.auth import Gate
from clickrank.service.api.dashboard_files import page_reply, read_pages
from clickrank.service.api.metrics import Metrics, forget_dead_workers
from clickrank.service.api.parameters import PATH_PARAMETERS
from clickrank.service.api.replies import Rejected, Reply, Stream, problem_of, send_reply
from clickrank.service.api.request_limits import (
    Gone,
    check_media,
    decode_body,
    decode_query,
    read_body,
)
from clickrank.service.api.routes import ROUTES, Route
from clickrank.service.runtime.refusals import Unavailable
from clickrank.service.schemas.fields import DEFAULT_POLICY, Role

if TYPE_CHECKING:
    from clickrank.service.runtime.engine import Engine

RETRY_SECONDS = 2.0  # to a database that was not there at the start
NOTE_SECONDS = 1.0

_log = logging.getLogger("clickrank.serve")


class Service:
    """What the handlers share: the engine, once it is open, the gate and the metrics."""

    def __init__(self, open_engine: Callable[[], Awaitable[Engine]], keys_required: bool) -> None:
        self._open_engine = open_engine
        self._engine: Engine | None = None
        self._why_not = "The service is starting."
        self.compiling: list[str] = []
        self.gate = Gate(keys_required, self._role_of)
        self.metrics = Metrics()

    @property
    def engine(self) -> Engine:
        """The engine; Unavailable while it is not open."""
        if self._engine is None:
            raise Unavailable(self._why_not)
        return self._engine

    async def why_not_ready(self) -> str | None:
        """Return None if the service can work."""
        return self._why_not if self._engine is None else await self._engine.ready()

    def measured(self) -> bytes:
        """Return the metrics as of now."""
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

    async def _keep(self) -> None:
        """Open the engine if that failed at first; note its numbers for the other workers."""
        while self._engine is None:
            await asyncio.sleep(RETRY_SECONDS)
            await self._open()
        while True:
            self._note()
            await asyncio.sleep(NOTE_SECONDS)

    def _compile_ahead(self) -> None:
        """Compile the default policy in a thread, so that the first ranker is made at once."""
        self.compiling = [DEFAULT_POLICY]

        def compile_default() -> None:
            began = time.perf_counter()
            try:
                ContextState(policy(DEFAULT_POLICY), n_items=2, n_positions=1).prepare()
                _log.info("Compiled %s in %.1f s.", DEFAULT_POLICY, time.perf_counter() - began)
            except Exception:  # rankers can still be made, and say what is wrong
                _log.exception("Could not compile %s ahead.", DEFAULT_POLICY)
            finally:
                self.compiling = []

        _log.info("Compiling %s in the background.", DEFAULT_POLICY)
        threading.Thread(target=compile_default, daemon=True, name="compile ahead").start()

    @contextlib.asynccontextmanager
    async def lifespan(self, app: object) -> AsyncIterator[None]:
        """Open the engine, and close it when all requests are answered."""
        forget_dead_workers()
        await self._open()
        self._compile_ahead()
        keeper = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
            if self._engine is not None:
                await self._engine.close()
                self._engine = None


def make_app(open_engine: Callable[[], Awaitable[Engine]], keys_required: bool = False) -> ASGIApp:
    """Return the application; its lifespan opens and closes the engine."""
    service = Service(open_engine, keys_required)
    by_path: dict[str, list[Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, []).append(route)
    pages = Pages(service)
    paths = [PathRoute(path, Endpoint(service, routes)) for path, routes in by_path.items()]
    paths += [PathRoute("/", pages), PathRoute("/static/{file}", pages)]
    return Router(
        paths, redirect_slashes=False, default=Endpoint(service, ()), lifespan=service.lifespan
    )


class Endpoint:
    """The routes of one path. Handlers answer or raise; what is raised becomes an answer here."""

    label = "other"

    def __init__(self, service: Service, routes: tuple[Route, ...] | list[Route]) -> None:
        self._service = service
        self._routes = {route.method: _Ready(route) for route in routes}
        self._allowed = sorted([*self._routes, *(["HEAD"] if "GET" in self._routes else [])])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        began = time.perf_counter()
        head = scope["method"] == "HEAD"
        ready = self._routes.get("GET" if head else scope["method"])
        try:
            reply = await self._answer(ready, scope, receive)
        except Gone:
            return
        except Exception as error:
            reply = problem_of(error)
            if reply.status == 503:
                self._service.metrics.unavailable.inc()
        await send_reply(send, reply, receive, head)
        label = self.label if ready is None else ready.label
        self._service.metrics.answered(label, reply.status, time.perf_counter() - began)

    async def _answer(self, ready: _Ready | None, scope: Scope, receive: Receive) -> Reply | Stream:
        service = self._service
        headers = dict(scope["headers"])
        service.gate.check_host(headers)
        if ready is None:
            raise self._nothing_here(scope)
        route = ready.route
        if service.gate.keys_required:
            await service.gate.check_key(headers, route.role)
        at = scope["path_params"]
        for name, value in at.items():
            if not ready.patterns[name](value):
                kind = PATH_PARAMETERS[name].kind
                raise Rejected(f"unknown_{kind}", f"There is no {kind} {value!r}.", 404)
        query = ready.query
        if scope["query_string"] and route.role is not None:
            query = decode_query(route.query, scope["query_string"])
        body = None
        if ready.decode is not None:
            check_media(headers)
            raw = await read_body(receive, headers, route.limit)
            body = decode_body(ready.decode, raw)
        return await route.call(service, at, body, query)

    def _nothing_here(self, scope: Scope) -> Rejected:
        method, path = scope["method"], scope["path"]
        if not self._routes:
            return Rejected("unknown_path", f"There is nothing at {path!r}.", 404)
        allowed = ", ".join(self._allowed)
        rule = f"{path}: method must be one of {allowed}, got {method!r}."
        return Rejected("wrong_method", rule, 405, [(b"allow", allowed.encode())])


class _Ready:
    """A route with all that can be prepared before its requests."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.label = route.label
        self.decode: Callable[[bytes], Any] | None = None
        if route.body is not None:
            self.decode = msgspec.json.Decoder(route.body).decode
        self.query = None if route.query is None else route.query()
        self.patterns = {n: re.compile(p.pattern).search for n, p in PATH_PARAMETERS.items()}


class Pages(Endpoint):
    """The dashboard's files."""

    label = "dashboard"

    def __init__(self, service: Service) -> None:
        super().__init__(service, ())
        self._pages = read_pages()

    async def _answer(self, ready: _Ready | None, scope: Scope, receive: Receive) -> Reply | Stream:
        headers = dict(scope["headers"])
        self._service.gate.check_host(headers)
        if scope["method"] not in ("GET", "HEAD"):
            rule = f"{scope['path']}: method must be GET or HEAD, got {scope['method']!r}."
            raise Rejected("wrong_method", rule, 405, [(b"allow", b"GET, HEAD")])
        return page_reply(self._pages, scope["path"], headers)
