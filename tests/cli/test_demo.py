"""`make serve DEMO=1`: starts, learns, and ends."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from clickrank.cli import demo_visitors as demo
from clickrank.client import Client
from clickrank.service.schemas.answers import Impression
from tests.paths import ROOT

SCRIPT = "from clickrank.cli.app import app\nif __name__ == '__main__':\n    app()\n"
BEST = sorted(demo.ATTRACTION, key=lambda item: -demo.ATTRACTION[item])[: len(demo.EXAMINATION)]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, whose environment is the one of this process."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    script = tmp_path / ".venv" / "bin" / "clickrank"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!{sys.executable}\n{SCRIPT}")
    script.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()
    return tmp_path


@contextlib.contextmanager
def make_serve(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    started = subprocess.Popen(
        ["make", "--silent", "serve", "PORT=0", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # to end make's children too if something goes wrong
    )
    try:
        assert started.stdout is not None
        address = re.search(r"http://\S+", started.stdout.readline())
        assert address, started.communicate(timeout=10)
        yield started, address.group()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.communicate()


def wait_for(address: str, impressions: int, clicks: int = 0) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while True:
        # On a machine that has compiled nothing yet, the first answer waits for the machine code.
        answer = httpx.get(f"{address}/v1/rankers/demo/report", timeout=60)
        found = answer.json() if answer.status_code == 200 else {"settled": -1, "clicks": -1}
        if found["settled"] >= impressions and found["clicks"] >= clicks:
            return dict(found)
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.2)


def stop(started: subprocess.Popen[str]) -> str:
    started.send_signal(signal.SIGTERM)
    _, err = started.communicate(timeout=30)
    assert "Traceback" not in err
    return err


def test_it_starts_and_ends(checkout: Path) -> None:
    with make_serve(checkout, "DEMO=1") as (started, address):
        wait_for(address, 40, clicks=1)  # one in a hundred times, 40 visitors click on nothing
        httpx.post(f"{address}/v1/rankers/demo/items", json={"items": ["ice cream"]})
        with Client(address) as client:
            demo.create_ranker(client)  # as after a restart: it goes on with the ranker as it is
            assert client.ranker("demo").n_items == len(demo.ATTRACTION) + 1
        assert httpx.delete(f"{address}/v1/rankers/demo").status_code == 204
        assert started.stderr is not None
        while "No more simulated visitors" not in (line := started.stderr.readline()):
            assert line, "the service has ended"
        assert httpx.get(f"{address}/readyz").status_code == 200
        stop(started)
    assert (checkout / "clickrank.db").exists()


@pytest.mark.parametrize(
    ("arguments", "port", "visitors"),
    [([], 8765, False), (["DEMO=0", "PORT=1"], 1, False), (["DEMO=1"], 8765, True)],
)
def test_make_serve(checkout: Path, arguments: list[str], port: int, visitors: bool) -> None:
    dry = ["make", "--dry-run", "serve", *arguments]
    said = subprocess.run(dry, cwd=checkout, capture_output=True, text=True, check=True).stdout
    assert f"clickrank serve --store sqlite:///clickrank.db --port {port}" in said
    assert ("--demo" in said) == visitors


def test_the_store_is_not_committed() -> None:
    assert "/clickrank.db*" in (ROOT / ".gitignore").read_text().splitlines()


def test_visitors_click_by_attraction_and_position() -> None:
    rng = np.random.default_rng(0)
    shown = Impression("id", ["dry toast", *BEST[:3], "new"], "", 1)
    clicks = Counter(item for _ in range(2000) for item in demo.clicks_on(shown, rng))
    for position, item in enumerate(shown.items):
        expected = demo.ATTRACTION.get(item, demo.UNKNOWN) * demo.EXAMINATION[position]
        error = 5 * (expected * (1 - expected) / 2000) ** 0.5
        assert abs(clicks[item] / 2000 - expected) < error, item


@pytest.mark.proof
def test_it_learns_within_a_minute(checkout: Path) -> None:
    with make_serve(checkout, "DEMO=1") as (started, address):
        wait_for(address, 1)
        time.sleep(60)
        found = httpx.get(f"{address}/v1/rankers/demo/report").json()
        activity = httpx.get(f"{address}/v1/rankers/demo/activity?seconds=10").json()
        stop(started)
    # The order of neighbours may still change, and the last place is a close call.
    assert len({*found["best"]} & {*BEST}) >= 4, found["best"]
    assert found["best"][0] == BEST[0]
    rates = [bucket["clicked"] / bucket["impressions"] for bucket in activity["buckets"]]
    assert np.mean(rates[-3:]) > rates[0] + 0.05, rates
