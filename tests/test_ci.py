"""What the continuous integration names is there."""

from __future__ import annotations

import re
import subprocess

from tests.paths import ROOT


def test_files_named_in_ci_exist() -> None:
    text = "".join(path.read_text() for path in (ROOT / ".ci").iterdir())
    words = [word for word in re.split(r"[\s()]+", text) if word.startswith("tests/")]
    echo = ["bash", "-c", f"printf '%s\\n' {' '.join(words)}"]  # which expands braces
    names = subprocess.run(echo, capture_output=True, text=True, check=True).stdout.split()
    assert len(names) > 8
    for name in names:
        assert (ROOT / name).exists(), name
