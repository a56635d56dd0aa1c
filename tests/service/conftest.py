"""Fixtures that the tests of the service share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clickrank.service.store.database import Database
from tests.service.stores import BACKENDS, store_url


@pytest.fixture(params=BACKENDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    made = Database(store_url(request.param, tmp_path))
    made.upgrade()
    yield made
    made.close()
