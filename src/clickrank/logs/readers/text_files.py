"""Text files: finding the files of a log, and reading their lines in blocks."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from clickrank._core.compressed_files import DamagedFile, line_blocks
from clickrank._core.progress import Tick
from clickrank.errors import InvalidValue, invalid
from clickrank.logs.log_report import LogReport

#: The number of bytes in a block of lines.
BLOCK = 8 << 20

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def expand(paths: Paths) -> list[str]:
    """Return the files that are named, that match patterns such as ``log-*.csv``, or in folders."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in [os.fspath(some) for some in given]:
        if "://" in path:  # a URL, which the engine opens
            found.append(path)
        elif os.path.isdir(path):
            inside = (p for p in Path(path).rglob("*") if p.is_file())
            visible = (p for p in inside if not p.name.startswith((".", "_")))
            files = sorted(map(str, visible))
            if not files:
                raise InvalidValue(f"open_log: the folder {path} has no files.")
            found += files
        elif os.path.exists(path):
            found.append(path)
        else:
            matching = sorted(glob.glob(path, recursive=True))
            if not matching:
                raise FileNotFoundError(f"open_log: there is no file {path!r}.")
            found += matching
    if not found:
        raise invalid("open_log", "paths must name a file", given)
    return found


def first_lines(path: str, count: int = 20) -> list[str]:
    """Return the first lines of a file that are not empty."""
    try:
        head = next(line_blocks(path, 1 << 16), b"")
    except DamagedFile:
        head = b""
    lines = head.decode(errors="replace").splitlines()
    return [line for line in lines if line.strip()][:count]


def blocks(path: str, report: LogReport, tick: Tick, size: int = BLOCK) -> Iterator[bytes]:
    """Yield blocks of whole lines; a damaged file is reported, and read up to the damage."""
    try:
        yield from line_blocks(path, size, tick)
    except DamagedFile as error:
        report.add("truncated", path, text=str(error))


def lines(path: str, report: LogReport, tick: Tick) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, counted from 1; lines that are not UTF-8 are reported."""
    number = 0
    for block in blocks(path, report, tick):
        try:
            texts: Iterable[str] = block.decode().split("\n")
        except UnicodeDecodeError:
            texts = _decoded(block, path, number, report)
        before = number
        for number, text in enumerate(texts, before + 1):
            yield number, text
        number = before + block.count(b"\n")


def _decoded(block: bytes, path: str, before: int, report: LogReport) -> Iterator[str]:
    for number, line in enumerate(block.split(b"\n"), before + 1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            report.add("encoding", path, number, line.decode(errors="replace"))
            text = ""
        yield text


def without_bad_lines(block: bytes, path: str, before: int, report: LogReport) -> bytes:
    """Report lines that are not UTF-8, and replace them by empty lines."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return "\n".join(_decoded(block, path, before, report)).encode()
    return block
