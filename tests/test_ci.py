"""What the continuous integration names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_files_named_in_ci_exist() -> None:
    text = "".join(path.read_text() for path in (ROOT / ".ci").iterdir())
    (several,) = re.findall(r"tests/test_\{([\w,]+)\}\.py", text)
    names = [f"tests/test_{name}.py" for name in several.split(",")]
    names += re.findall(r"\btests/[\w/]+\.py", text)
    assert len(names) > 8
    for name in names:
        assert (ROOT / name).is_file(), name
