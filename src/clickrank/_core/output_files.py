"""Output files: every function and command that writes a file makes the folder it is in."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def make_folder_of(path: str | os.PathLike[str]) -> Path:
    """Make the folder of a file that is to be written, if it is missing; return the path."""
    found = Path(path)
    try:
        found.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:  # "File exists" would not say what is wrong
        reason = os.strerror(errno.ENOTDIR)
        raise NotADirectoryError(errno.ENOTDIR, reason, str(found.parent)) from None
    return found
