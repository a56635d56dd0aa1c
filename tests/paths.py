"""Where the project's files are, whichever folder a test is in."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
DOCS = ROOT / "docs"
