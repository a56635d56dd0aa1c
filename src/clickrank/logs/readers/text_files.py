"""Files of lines, as blocks of whole lines, whatever they are compressed with."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clickrank.errors import invalid
from clickrank.logs.log_report import Report

#: Bytes in a block of lines.
BLOCK = 8 << 20
_MOST_LINE = 64 << 20  # a line beyond this is none
_BOM = b"\xef\xbb\xbf"
_ENDS = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException)

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: Called with the bytes of the file read since the last call.
Tick = Callable[[int], None]


def expand(paths: Paths) -> list[str]:
    """Return the files named; patterns as in ``log-*.csv`` and folders stand for what they hold."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in [os.fspath(some) for some in given]:
        if "://" in path:  # for an engine to open
            found.append(path)
        elif os.path.isdir(path):
            inside = (p for p in Path(path).rglob("*") if p.is_file())
            visible = (p for p in inside if not p.name.startswith((".", "_")))
            found += sorted(map(str, visible))
        elif os.path.exists(path):
            found.append(path)
        else:
            matching = sorted(glob.glob(path, recursive=True))
            if not matching:
                raise FileNotFoundError(f"open_log: there is no file {path!r}.")
            found += matching
    if not found:
        raise invalid("open_log", "there must be a file", given)
    return found


def open_bytes(path: str) -> Any:
    """Open a file to read what is in it, without its compression, found by its first bytes."""
    with open(path, "rb") as file:
        head = file.read(6)
    if head.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if head.startswith(b"BZh"):
        return bz2.open(path)
    if head.startswith(b"\xfd7zXZ"):
        return lzma.open(path)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return pa.CompressedInputStream(pa.OSFile(path, "rb"), "zstd")
    if head.startswith(b"PK\x03\x04"):
        archive = zipfile.ZipFile(path)
        members = [m for m in archive.infolist() if not m.is_dir()]
        if len(members) != 1:
            raise invalid("open_log", f"{path} must hold one file", [m.filename for m in members])
        return archive.open(members[0])
    return open(path, "rb")


def first_lines(path: str, count: int = 20) -> list[str]:
    """Return the first lines of a file, without those that are empty."""
    with open_bytes(path) as file:
        try:
            head = _read(file, 1 << 16)
        except _ENDS:
            head = b""
    lines = head.removeprefix(_BOM).decode(errors="replace").splitlines()
    return [line for line in lines if line.strip()][:count]


def _read(file: Any, size: int) -> bytes:
    # One read of what is beneath at a time: where a file is cut, what came before is not lost.
    return bytes(file.read1(size) if hasattr(file, "read1") else file.read(min(size, 1 << 16)))


def blocks(path: str, report: Report, tick: Tick, size: int = BLOCK) -> Iterator[bytes]:
    """Yield whole lines, many at a time; the last may have no line break.

    A file that ends in the middle of its compressed data is noted, and its last line left out.
    """
    done = 0
    with open(path, "rb") as beneath, open_bytes(path) as file:
        total = os.fstat(beneath.fileno()).st_size
        held: list[bytes] = []
        length = 0
        first = True
        read_bytes = 0
        damage: Exception | None = None
        while True:
            try:
                piece = _read(file, size)
            except _ENDS as error:
                damage = error
                rest = b"".join(held)
                held = [rest[: rest.rfind(b"\n") + 1]]
                piece = b""
            read_bytes += len(piece)
            if first and piece:
                piece = piece.removeprefix(_BOM)
                first = False
            if not piece:
                rest = b"".join(held)
                if rest:
                    yield rest
                if damage is not None:  # after what is wrong with the lines before
                    text = str(damage) or type(damage).__name__
                    report.add("truncated", path, text=text)
                tick(total - done)
                return
            held.append(piece)
            length += len(piece)
            if length < size:
                continue
            whole = b"".join(held)
            cut = whole.rfind(b"\n") + 1
            if cut == 0 and len(whole) > _MOST_LINE:
                raise invalid("open_log", f"lines of {path} must be below 64 MB", len(whole))
            held, length = [whole[cut:]], len(whole) - cut
            if cut:
                yield whole[:cut]
            now = min(_where(file, read_bytes), total)
            tick(max(now - done, 0))
            done = max(now, done)


def _where(file: Any, read: int) -> int:
    """Return how much of the file on disk was read, as far as it can be told."""
    inner = getattr(file, "fileobj", None) or getattr(file, "_fp", None)
    return int(inner.tell()) if inner is not None else read


def lines(path: str, report: Report, tick: Tick) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, from 1 on; those that are not UTF-8 are noted."""
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


def _decoded(block: bytes, path: str, before: int, report: Report) -> Iterator[str]:
    for number, line in enumerate(block.split(b"\n"), before + 1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            report.add("encoding", path, number, line.decode(errors="replace"))
            text = ""
        yield text


def without_bad_lines(block: bytes, path: str, before: int, report: Report) -> bytes:
    """Return a block with an empty line in place of each that is not UTF-8, which is noted."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return "\n".join(_decoded(block, path, before, report)).encode()
    return block
