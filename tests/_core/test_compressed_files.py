"""Files are opened whatever they are compressed with, and read in blocks of whole lines."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from clickrank._core.compressed_files import (
    DamagedFile,
    line_blocks,
    open_decompressed,
    open_text,
)
from clickrank.errors import InvalidValue


def zipped(*contents: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for i, content in enumerate(contents):
            archive.writestr(f"{i}.txt", content)
    return file.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
    "zip": zipped,
}


def drawn_lines(n: int) -> bytes:
    rng = random.Random(5)
    return "".join(f"{rng.randrange(10**12)},é{i}\r\n" for i in range(n)).encode()


@pytest.mark.parametrize("name", PACKED)
def test_compressed_files(name: str, tmp_path: Path) -> None:
    text = drawn_lines(50_000)
    data = PACKED[name](text)
    path = tmp_path / "whatever its name"
    path.write_bytes(data)
    with open_decompressed(path) as file:
        assert file.read() == text
    with open_text(path) as lines:
        assert lines.read() == text.decode()
    ticks: list[int] = []
    blocks = list(line_blocks(path, 100_000, ticks.append))
    assert b"".join(blocks) == text
    assert len(blocks) > 5
    assert all(block.endswith(b"\n") for block in blocks)
    assert sum(ticks) == len(data)


@pytest.mark.parametrize("name", ["gz", "bz2", "xz", "zst"])
def test_damaged_files_are_read_up_to_the_damage(name: str, tmp_path: Path) -> None:
    text = drawn_lines(50_000)
    data = PACKED[name](text)
    path = tmp_path / "cut"
    path.write_bytes(data[: len(data) // 2])
    blocks: list[bytes] = []
    with pytest.raises(DamagedFile, match=r"."):
        blocks.extend(line_blocks(path, 100_000))
    found = b"".join(blocks)
    assert text.startswith(found)
    assert found.endswith(b"\n")  # no half line
    assert len(found) > len(text) / 4


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_byte_order_mark_long_lines_and_the_last_line(size: int, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"b" * 50 + b"\nlast")
    assert b"".join(line_blocks(path, size)) == path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbfname\n")
    assert b"".join(line_blocks(path, 1000)) == b"name\n"
    path.write_bytes(b"")
    assert list(line_blocks(path, size)) == []


def test_a_zip_archive_holds_one_file(tmp_path: Path) -> None:
    path = tmp_path / "two.zip"
    path.write_bytes(zipped(b"a", b"b"))
    with pytest.raises(InvalidValue, match=r"must hold one file, got \['0.txt', '1.txt'\]"):
        list(line_blocks(path, 100))
