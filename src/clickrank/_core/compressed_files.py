"""Compressed files: opening a file whatever it is compressed with, and reading its lines in blocks.

The compression is recognised by the first bytes of the file: gzip, bzip2, xz, Zstandard, or a zip
archive that holds one file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from clickrank._core.extras import require
from clickrank.errors import ClickRankError, GivenName, invalid

_LONGEST_LINE = 64 << 20  # bytes
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

PathLike = str | os.PathLike[str]


class DamagedFile(ClickRankError, OSError):
    """The compressed data of a file are damaged, or end too early."""


def open_decompressed(path: PathLike) -> Any:
    """Open a file to read its decompressed bytes."""
    with open(path, "rb") as file:
        head = file.read(6)
    if head.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if head.startswith(b"BZh"):
        return bz2.open(path)
    if head.startswith(b"\xfd7zXZ"):
        return lzma.open(path)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return _open_zstandard(path)
    if head.startswith(b"PK\x03\x04"):
        archive = zipfile.ZipFile(path)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            names = [member.filename for member in members]
            raise invalid(GivenName(os.fspath(path)), "a zip archive must hold one file", names)
        return archive.open(members[0])
    return open(path, "rb")


def open_text(path: PathLike) -> io.TextIOWrapper:
    """Open a file to read its decompressed text, in UTF-8 and with line ends as they are."""
    return io.TextIOWrapper(open_decompressed(path), encoding="utf-8", newline="")


def _open_zstandard(path: PathLike) -> Any:
    require("Files compressed with Zstandard need", "logs", but=("duckdb", "ibis"))
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(os.fspath(path), "rb"), "zstd")


def read_some(file: Any, size: int) -> bytes:
    """Read at most ``size`` bytes of a file that `open_decompressed` opened; none at its end.

    One piece is decompressed at a time: of a damaged file, everything before the damage is read
    before `DamagedFile` is raised.
    """
    try:
        return bytes(file.read1(size) if hasattr(file, "read1") else file.read(min(size, 1 << 16)))
    except Exception as error:
        if isinstance(error, _DAMAGE) or type(error).__module__.startswith("pyarrow"):
            raise DamagedFile(str(error) or type(error).__name__) from error
        raise


def line_blocks(
    path: PathLike, size: int, tick: Callable[[int], None] = lambda done: None
) -> Iterator[bytes]:
    """Yield whole lines in blocks of about ``size`` bytes; the last line may have no line break.

    ``tick`` is called with the bytes of the file on disk that were read since its last call. If the
    file is damaged, `DamagedFile` is raised after the last whole line before the damage.
    """
    done = 0
    with open(path, "rb") as on_disk, open_decompressed(path) as file:
        total = os.fstat(on_disk.fileno()).st_size
        pieces: list[bytes] = []
        length = 0  # of the pieces
        bytes_read = 0
        damage: DamagedFile | None = None
        while True:
            try:
                piece = read_some(file, size)
            except DamagedFile as error:
                damage, piece = error, b""
            if not piece:
                break
            if bytes_read == 0:
                piece = piece.removeprefix(_BYTE_ORDER_MARK)
            bytes_read += len(piece)
            pieces.append(piece)
            length += len(piece)
            if length < size:
                continue
            block = b"".join(pieces)
            cut = block.rfind(b"\n") + 1
            if cut == 0 and len(block) > _LONGEST_LINE:
                raise invalid(
                    GivenName(os.fspath(path)), "lines must be shorter than 64 MB", len(block)
                )
            pieces, length = [block[cut:]], len(block) - cut
            if cut:
                yield block[:cut]
            now = min(_bytes_on_disk(file, bytes_read), total)
            tick(max(now - done, 0))
            done = max(now, done)
        rest = b"".join(pieces)
        if damage is not None:
            rest = rest[: rest.rfind(b"\n") + 1]
        if rest:
            yield rest
        tick(total - done)
        if damage is not None:
            raise damage


def _bytes_on_disk(file: Any, bytes_read: int) -> int:
    """Return how many bytes of the file on disk were read, or of its content if that is unknown."""
    on_disk = getattr(file, "fileobj", None) or getattr(file, "_fp", None)
    return int(on_disk.tell()) if on_disk is not None else bytes_read
