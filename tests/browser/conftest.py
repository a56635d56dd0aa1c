"""Fixtures: a service on SQLite, and Chromium pages that must not report errors."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 120  # a cold cache compiles kernels
PATIENCE = 30_000.0  # milliseconds to wait for the page


def command(*arguments: str) -> list[str]:
    """Return the command that runs clickrank with this Python."""
    return [sys.executable, "-c", "from clickrank.cli.app import app; app()", *arguments]


@contextlib.contextmanager
def run_service(store: str, *arguments: str) -> Iterator[str]:
    """Run ``clickrank serve`` on a free port and yield its address."""
    line = command("serve", "--store", store, "--port", "0", *arguments)
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(line, stdout=subprocess.PIPE, env=environment) as process:
        try:
            yield _address(process)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    assert process.returncode == 0, "the service did not stop cleanly"


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    deadline, said = time.monotonic() + START_SECONDS, b""
    while time.monotonic() < deadline and process.poll() is None:
        if select.select([process.stdout], [], [], 0.5)[0]:
            said += os.read(process.stdout.fileno(), 4096)
        found = re.search(rb"serves (http://\S+)", said)
        if found:
            return found[1].decode()
    raise AssertionError(f"the service did not start: {said.decode()}")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_service(f"sqlite:///{tmp_path_factory.mktemp('store')}/clickrank.db") as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CLICKRANK_CHROMIUM", "/usr/bin/chromium"), args=FLAGS
        )
        yield chromium
        chromium.close()


class Visit:
    """A page, and its unwanted events: errors, requests to other servers, pop-ups."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.expected = re.compile(r"(?!)")  # errors in the console that a test expects
        self.trouble: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("request", self._request)
        page.on("dialog", lambda dialog: self.trouble.append(f"dialog: {dialog.message}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not self.expected.search(message.text):
            self.trouble.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:")):
            self.trouble.append(f"request: {request.url}")


Open = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Return a function that opens an address in a new page."""
    with contextlib.ExitStack() as stack:
        visits: list[Visit] = []

        def make(address: str, *, width: int = 1280, scheme: str = "light") -> Visit:
            context = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if scheme == "dark" else "light",
                reduced_motion="reduce",
            )
            stack.callback(context.close)
            visits.append(Visit(context.new_page()))
            visits[-1].page.goto(address)
            return visits[-1]

        yield make
        for each in visits:
            assert each.trouble == []


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for screenshots: CLICKRANK_SHOTS, or a temporary directory."""
    folder = Path(os.environ.get("CLICKRANK_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
