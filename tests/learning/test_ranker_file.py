"""The file of a ranker: everything is in it, and a file that is damaged or another is refused."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank.errors import InvalidValue
from clickrank.learning.packing import pack, unpack
from clickrank.learning.ranker_file import read
from clickrank.priors import Beta
from tests.learning.test_files_from_before import unpacked
from tests.learning.test_packing import damaged_copies


def made(policy: str) -> cr.Ranker:
    return cr.Ranker(policy, ["a", "b", "c", "d", "e"], 3, seed=1)


def test_all_settings_are_saved(tmp_path: Path) -> None:
    specs = [
        cr.policy("thompson", click_model="pbm", examination=[0.9, 0.5], prior=Beta([1, 2, 3], 2)),
        cr.policy("cascade-lin-ucb", features=np.eye(3), horizon=1000),
        cr.policy("bubblerank", horizon=100, initial=[2, 0, 1]),
    ]
    for spec in specs:
        cr.Ranker(spec, ["a", "b", "c"], 2).save(tmp_path / "shop.ranker")
        assert cr.Ranker.load(tmp_path / "shop.ranker").policy == spec


def test_a_file_that_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "shop.ranker"
    with pytest.raises(FileNotFoundError):
        cr.Ranker.load(path)
    ranker = made("uniform")
    ranker.rank()
    ranker.save(path)
    whole = path.read_bytes()
    for content in (b"", b"no", whole[:-200], whole[:300] + b"xx" + whole[302:]):
        path.write_bytes(content)
        with pytest.raises(InvalidValue, match=r"Ranker: the file must be"):
            cr.Ranker.load(path)
    for other in ({"clicks": np.zeros(3)}, {"label": np.zeros(3, dtype=np.uint8)}):
        for content in (pack(other), _archive(other)):
            path.write_bytes(content)
            with pytest.raises(InvalidValue, match="the file must be one that `save` wrote"):
                cr.Ranker.load(path)
    path.write_bytes(pack(_with_format(unpack(whole), 9)))
    with pytest.raises(InvalidValue, match=r"Ranker: the file must have format 3, got 9\."):
        cr.Ranker.load(path)


def _archive(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _with_format(arrays: dict[str, Any], number: int) -> dict[str, Any]:
    label = {**json.loads(arrays["label"].tobytes()), "format": number}
    return {**arrays, "label": np.frombuffer(json.dumps(label).encode(), dtype=np.uint8)}


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """Also one that an earlier version wrote, a NumPy archive, unless the damage means nothing."""
    path = tmp_path / "shop.ranker"
    ranker = made("uniform")
    ranker.rank()
    ranker.save(path)
    whole = path.read_bytes()
    for damaged in damaged_copies(whole, step=3):
        path.write_bytes(damaged)
        with pytest.raises(InvalidValue, match=r"Ranker: the file must be one that `save` wrote"):
            cr.Ranker.load(path)
    archive = unpacked("before", "uniform.ranker", tmp_path)
    label, arrays = read(archive)
    whole, refused = archive.read_bytes(), 0
    assert whole.startswith(b"PK")
    copies = damaged_copies(whole, step=23)
    for damaged in copies:
        archive.write_bytes(damaged)
        try:
            other, found = read(archive)
        except InvalidValue:
            refused += 1
        else:
            assert other == label
            assert pack(found) == pack(arrays)
    assert refused > 0.8 * len(copies)


def test_an_archive_with_other_numbers_is_refused(tmp_path: Path) -> None:
    archive = unpacked("before", "uniform.ranker", tmp_path)
    with np.load(archive) as file:
        arrays = {name: file[name] for name in file.files}
    archive.write_bytes(_archive(arrays))
    assert cr.Ranker.load(archive).policy.name == "uniform"
    archive.write_bytes(_archive({**arrays, "0.learned.rounds": np.array([5])}))
    with pytest.raises(InvalidValue, match="complete and unchanged"):
        cr.Ranker.load(archive)


def test_equal_rankers_give_equal_files(tmp_path: Path) -> None:
    made("pb-mhb").save(tmp_path / "one.ranker")
    whole = (tmp_path / "one.ranker").read_bytes()
    other = cr.Ranker.load(tmp_path / "one.ranker")
    other.save(tmp_path / "two.ranker")
    assert (tmp_path / "two.ranker").read_bytes() == whole


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = made("uniform")
    ranker.save(tmp_path / "shop.ranker")
    before = (tmp_path / "shop.ranker").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        ranker.save(tmp_path / "shop.ranker")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [before]
