"""Valid and invalid requests generated from the OpenAPI description never make it fail."""

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

from clickrank.service.api.openapi import description
from tests.paths import ROOT
from tests.service.api.schemathesis_hooks import ITEMS, RANKERS
from tests.service.api.test_server import CLI, line_of, process

SCHEMA = schemathesis.openapi.from_dict(description())
#: What a description cannot say: which names are taken, that items must differ, and so on; that
#: no key is needed here. A wrong request is no longer wrong once the hooks are through with it.
NOT_SAID = [
    checks.positive_data_acceptance,
    checks.ignored_auth,
    checks.negative_data_rejection,
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service on SQLite with some rankers."""
    store = f"sqlite:///{tmp_path_factory.mktemp('store') / 'clickrank.db'}"
    with process("-c", CLI, "serve", "--port", "0", "--store", store) as started:
        found = line_of(started).removeprefix("clickrank serves ")
        for name in RANKERS:
            new: dict[str, Any] = {"name": name, "items": ITEMS, "n_positions": 2}
            new["policy"] = "pb-mhb" if name == "learning" else "uniform"
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
def test_a_few_cases_of_each_route(case: schemathesis.Case[Any], address: str) -> None:
    case.call_and_validate(base_url=address, excluded_checks=NOT_SAID)


@pytest.mark.proof
@pytest.mark.parametrize(("hooks", "examples", "cases"), [(True, 600, 10_000), (False, 30, 1_000)])
def test_many_cases(address: str, tmp_path: Path, hooks: bool, examples: int, cases: int) -> None:
    excluded = ["positive_data_acceptance", "ignored_auth"]
    excluded += ["negative_data_rejection"] * hooks
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}/openapi.json",
        "--phases", "examples,coverage,fuzzing", "--max-examples", str(examples), "--seed", "6",
        "--exclude-checks", ",".join(excluded), "--suppress-health-check", "all",
        "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    if hooks:
        environment["SCHEMATHESIS_HOOKS"] = "tests.service.api.schemathesis_hooks"
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    print(done.stdout)
    numbers = httpx.get(f"{address}/metrics").text
    print("\n".join(line for line in numbers.splitlines() if line.startswith("clickrank_req")))
    assert done.returncode == 0
    count = re.search(r"Test cases:\s+(\d+) generated", done.stdout)
    assert count is not None
    assert int(count[1]) >= cases
    ranked = re.search(r'requests_total{route="POST [^"]*/rank",status="200"} (\d+)', numbers)
    assert not hooks or int(ranked[1] if ranked else 0) >= 50  # requests reached the engine
