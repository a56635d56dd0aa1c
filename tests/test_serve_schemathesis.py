"""Requests made from the API's own description, right and wrong: none makes the service fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks

from clickrank.serve.openapi import description
from tests.serve_hooks import ITEMS, RANKERS
from tests.test_serve_server import CLI, ROOT, line_of, process

SCHEMA = schemathesis.openapi.from_dict(description())
#: What a description cannot say: which names are taken, that items must differ, and so on.
NOT_SAID = [checks.positive_data_acceptance, checks.ignored_auth]
CASES = 10_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service on SQLite with some rankers."""
    store = f"sqlite:///{tmp_path_factory.mktemp('store') / 'clickrank.db'}"
    with process("-c", CLI, "serve", "--port", "0", "--store", store) as started:
        found = line_of(started).removeprefix("clickrank serves ")
        for name in RANKERS:
            new: dict[str, Any] = {"name": name, "items": ITEMS, "n_positions": 2}
            new["policy"] = "uniform" if name == "live" else "thompson"
            new["mode"] = "shadow" if name == "shadow" else "live"
            assert httpx.post(f"{found}/v1/rankers", json=new, timeout=60).status_code == 201
        yield found


@SCHEMA.parametrize()
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_a_few_cases_of_each_route(case: schemathesis.Case, address: str) -> None:
    case.call_and_validate(base_url=address, excluded_checks=NOT_SAID)


@pytest.mark.ci
def test_ten_thousand_cases(address: str, tmp_path: Path) -> None:
    excluded = "positive_data_acceptance,negative_data_rejection,ignored_auth"
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}/openapi.json",
        "--phases", "examples,coverage,fuzzing", "--max-examples", "800", "--seed", "6",
        "--exclude-checks", excluded, "--no-color", "--suppress-health-check", "all",
        "--generation-database", "none",
    ]  # fmt: skip
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.serve_hooks",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0
    count = re.search(r"Test cases:\s+(\d+) generated", done.stdout)
    assert count is not None
    assert int(count[1]) >= CASES
