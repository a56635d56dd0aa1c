"""Record what the command line and the service answer, for the tests in `tests/replay` to compare.

What is asked is in `commands.toml` and in `requests.toml`; what was answered is written beside
them. `tests/replay` says what of an answer is kept: not what is different each time, and not the
wording of errors and headings. The answers were recorded at the commit 38c3e8f. Record them again
only if an answer is meant to change, and read in the difference that nothing else did:

    PYTHONPATH=. python tests/data/replay/make.py [commands] [options] [http] [openapi]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.replay import conversation, terminal
from tests.replay.compare import save
from tests.replay.where import FOLDER

PARTS: dict[str, Callable[[Path], Any]] = {
    "commands": lambda folder: terminal.to_record(terminal.run_all(folder)),
    "options": lambda folder: terminal.all_options(),
    "http": conversation.hold,
    "openapi": conversation.described,
}


def main() -> None:
    """Record the parts that are named, or all."""
    for name in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            save(FOLDER / f"{name}.json", PARTS[name](Path(folder)))


if __name__ == "__main__":
    main()
