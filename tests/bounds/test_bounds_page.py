"""docs/howto/bounds.md names every bound, and its Python runs."""

from __future__ import annotations

import re

import pytest

from clickrank import bounds
from tests.paths import DOCS

PAGE = (DOCS / "howto" / "bounds.md").read_text(encoding="utf-8")


def test_every_bound_is_on_the_page() -> None:
    assert [name for name in bounds.__all__ if f"`{name}`" not in PAGE] == []


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    printed = capsys.readouterr().out
    assert "3 False items 1 and 2 are equivalent" in printed
