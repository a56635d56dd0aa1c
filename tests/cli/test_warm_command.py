"""`clickrank warm`, and what the service compiles ahead."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from clickrank._core.defaults import DEFAULT_POLICY
from clickrank.cli.app import app
from clickrank.learning import ContextState
from clickrank.service.api.application import Service
from clickrank.service.api.handlers import show_readiness
from clickrank.service.runtime.engine import Engine
from clickrank.service.runtime.refusals import Unavailable

RANK = """
import json, sys, time
from clickrank import Ranker
began = time.perf_counter()
Ranker(sys.argv[1], ["a", "b", "c"], 2, seed=0).rank()
print(time.perf_counter() - began)
"""


def run(cache: Path, *arguments: str) -> str:
    environment = {**os.environ, "CLICKRANK_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_what_was_compiling_in_background_is_not_compiled_again(tmp_path: Path) -> None:
    said = run(tmp_path, "-m", "clickrank", "warm", "uniform", "--model", "dctr", "--json")
    assert json.loads(said)[0]["policy"] == "uniform"
    assert json.loads(said)[0]["models"] == ["dctr"]
    before = sorted(path for path in tmp_path.rglob("*.nbc"))
    assert before
    run(tmp_path, "-c", RANK, "uniform")
    simulate = "import clickrank as cr\nmodel = cr.clickmodels.DCTR([0.5, 0.4, 0.3], 2)\n"
    run(tmp_path, "-c", simulate + "cr.simulate('uniform', model, horizon=5, runs=1)")
    assert sorted(path for path in tmp_path.rglob("*.nbc")) == before


def test_unknown_names() -> None:
    for arguments, text in (
        (("grap",), "Did you mean 'grab'?"),
        (("grab", "--model", "pmb"), "Did you mean 'pbm'?"),
        (("grab", "--processes", "0"), "--processes must be at least 1"),
    ):
        done = CliRunner().invoke(app, ["warm", *arguments])
        assert done.exit_code == 2
        assert text in done.stderr


def test_the_service_compiles_its_default_ahead(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    prepare = ContextState.prepare

    def slowly(learned: ContextState) -> None:
        assert may_end.wait(60)
        prepare(learned)

    monkeypatch.setattr(ContextState, "prepare", slowly)

    async def not_there() -> Engine:
        raise Unavailable("no database")

    async def start() -> None:
        service = Service(not_there, keys_required=False)
        async with service.lifespan():
            reply = await show_readiness(service, {}, None, None)
            assert msgspec.json.decode(reply.body)["compiling"] == [DEFAULT_POLICY]
            may_end.set()
            while service.compiling:
                await asyncio.sleep(0.02)
            reply = await show_readiness(service, {}, None, None)
            assert msgspec.json.decode(reply.body)["compiling"] == []

    with caplog.at_level(logging.INFO, "clickrank.serve"):
        asyncio.run(asyncio.wait_for(start(), 120))
    assert f"Compiling {DEFAULT_POLICY} in the background." in caplog.text
    assert f"Compiled {DEFAULT_POLICY} in" in caplog.text
