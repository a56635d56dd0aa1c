"""The server process: binds the socket, runs uvicorn with one or more workers, and stops them."""

from __future__ import annotations

import errno
import ipaddress
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from clickrank.errors import InvalidValue, invalid
from clickrank.service.api.asgi import ASGIApp, problem
from clickrank.service.api.metrics import FOLDER
from clickrank.service.store.api_keys import has_admin
from clickrank.service.store.database import Database

SETTINGS = "CLICKRANK_SERVE"  # the environment variable that passes settings to the workers
KEEP_SECONDS = 75  # for which an idle connection stays open; clients close theirs sooner
STOP_SECONDS = 30  # for which a shutdown waits for requests in progress
HUNG_SECONDS = 30  # after which an unresponsive worker is replaced; some policies compile that long
SWITCH_SECONDS = 0.0003  # between switches of threads
LARGEST_HEAD = 1 << 16

_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        "clickrank": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
    },
}


class Settings(msgspec.Struct, frozen=True):
    """The settings of a worker."""

    store: str
    keys_required: bool


def serve(
    store: str,
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    workers: int = 1,
    require_keys: bool = False,
    on_bound: Callable[[str, bool], None] | None = None,
) -> None:
    """Serve until a signal stops the process.

    ``on_bound`` is called with the address and whether it requires keys.
    """
    if workers < 1:
        raise invalid("serve", "workers must be at least 1", workers)
    database = Database(store)
    if workers > 1 and database.is_sqlite:
        raise invalid("serve", "more than one worker needs PostgreSQL; workers must be 1", workers)
    with bind(host, port) as listener:
        keys_required = require_keys or not is_loopback(listener)
        if keys_required and database.is_missing():  # before a file is created in vain
            raise _no_admin(database, host)
        database.upgrade()
        if keys_required:
            check_admin(database, host)
        database.close()
        if on_bound is not None:
            on_bound(address_of(listener), keys_required)
        run(Settings(store, keys_required), listener, workers)


def run(settings: Settings, listener: socket.socket, workers: int) -> None:
    """Run one worker in this process, or several in child processes that are restarted."""
    config = partial(
        uvicorn.Config, http=JsonErrors, ws="none", lifespan="on", access_log=False,
        log_config=_LOGGING, server_header=False, proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS, timeout_graceful_shutdown=STOP_SECONDS,
        timeout_worker_healthcheck=HUNG_SECONDS,
    )  # fmt: skip
    # uvicorn raises the signal that stopped it again; that is not a failure.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        if workers == 1:
            uvicorn.Server(config(app_of(settings))).run(sockets=[listener])
            return
        with tempfile.TemporaryDirectory(prefix="clickrank-metrics-") as folder:
            os.environ[FOLDER] = folder
            os.environ[SETTINGS] = msgspec.json.encode(settings).decode()
            app = f"{__name__}:worker_app"
            Multiprocess(config(app, factory=True, workers=workers), [listener]).run()
    finally:
        signal.signal(signal.SIGTERM, before)
        os.environ.pop(FOLDER, None)
        os.environ.pop(SETTINGS, None)


def app_of(settings: Settings) -> ASGIApp:
    """Return the application."""
    from clickrank.service.api.application import make_app
    from clickrank.service.runtime.engine import Engine

    # The event loop and the writer alternate; Python's default of 5 ms would make both slow.
    sys.setswitchinterval(SWITCH_SECONDS)
    return make_app(partial(Engine.open, settings.store), settings.keys_required)


def worker_app() -> ASGIApp:
    """Return the application of a worker process, which ends when its parent process ends."""
    logging.getLogger("clickrank.serve").info("Worker %d starts.", os.getpid())
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    return app_of(msgspec.json.decode(os.environ[SETTINGS], type=Settings))


def _end_after(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


class JsonErrors(HttpToolsProtocol):
    """uvicorn's HTTP protocol with JSON errors and a limit on the size of request headers."""

    _head_size = 0

    def data_received(self, data: bytes) -> None:
        """Parse the data; refuse headers that arrive in pieces and exceed the limit."""
        super().data_received(data)
        scope: Any = self.scope  # None before the first request
        if scope is None or "method" not in scope:  # the headers are not complete
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD and not self.transport.is_closing():
                rule = f"The head of a request must have at most {LARGEST_HEAD:,} bytes."
                self._refuse(431, "head_too_large", rule)
        else:
            self._head_size = 0

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP."""
        self._refuse(400, "malformed_request", msg)

    def _refuse(self, status: int, code: str, message: str) -> None:
        reply = problem(status, code, message, [(b"connection", b"close")])
        lines = [f"HTTP/1.1 {status} Bad Request".encode()]
        lines += [name + b": " + value for name, value in reply.headers]
        lines += [f"content-length: {len(reply.body)}".encode(), b"", reply.body]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; for port 0 the system chooses a free port."""
    rule = "host must be an address or a name of this machine"
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (socket.gaierror, UnicodeError) as error:  # UnicodeError: it cannot be a name
        raise invalid("serve", rule, host) from error
    family, _, _, _, address = found[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise invalid("serve", rule, host) from error
        raise OSError(error.errno, f"{host}:{port}: {error.strerror}") from None
    listener.set_inheritable(True)
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Return whether only this machine can connect, judging by the address, not by its name."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    """Return the URL under which this machine reaches the socket."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        host = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_admin(database: Database, host: str) -> None:
    """Refuse to start if keys are required and none with the role "admin" exists."""
    with database.reading() as connection:
        if has_admin(connection):
            return
    raise _no_admin(database, host)


def _no_admin(database: Database, host: str) -> InvalidValue:
    store = database.url.render_as_string(hide_password=True)
    return InvalidValue(
        f"serve: {host} needs a key with the role 'admin' and the store has none. Make one: "
        f"clickrank keys add NAME --role admin --store {store}"
    )
