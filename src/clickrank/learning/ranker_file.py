"""Ranker files: the packed arrays of a ranker, with a JSON label among them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.features import Features
from clickrank._core.output_files import make_folder_of
from clickrank.errors import InvalidValue, UnknownName, invalid
from clickrank.learning.packing import pack, unpack
from clickrank.policies import POLICIES, Policy
from clickrank.policies.policy_spec import settings_of
from clickrank.stats.beta_prior import Beta

Arrays = dict[str, NDArray[Any]]

#: The version of the file format, and the one that earlier versions wrote.
FORMAT, _FORMAT_BEFORE = 3, 2
_LABEL, _SETTING = "label", "setting."


def write(path: str | Path, label: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a new file and then replace the old one, so that a crash leaves one of the two."""
    target = make_folder_of(path)
    text = json.dumps({**label, "format": FORMAT})
    packed = pack({**arrays, _LABEL: np.frombuffer(text.encode(), dtype=np.uint8)})
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(packed)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """Return the label and the arrays that `write` wrote."""
    content = Path(path).read_bytes()
    try:
        arrays = _unpacked(content)
        label: dict[str, Any] = json.loads(arrays.pop(_LABEL).tobytes())
        version = label["format"]
    except MemoryError:
        raise
    except Exception as error:  # NumPy and zipfile raise many kinds for a damaged archive
        rule = "the file must be one that `save` wrote, complete and unchanged"
        raise invalid("Ranker", rule, str(path)) from error
    if version not in (FORMAT, _FORMAT_BEFORE):
        raise invalid("Ranker", f"the file must have format {FORMAT}", version)
    return label, arrays


def _unpacked(content: bytes) -> Arrays:
    try:
        return unpack(content)
    except InvalidValue:
        if content.startswith(b"PK\x03\x04"):
            return _read_format_2(content)
        raise


def _read_format_2(content: bytes) -> Arrays:
    """Return the arrays of a file that an earlier version wrote, a ``.npz`` archive of NumPy."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays: Arrays = {name: archive[name] for name in archive.files}
    checksum = str(arrays.pop("checksum"))
    digest = hashlib.sha256(arrays[_LABEL].tobytes())
    for name in sorted(set(arrays) - {_LABEL}):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    if checksum != digest.hexdigest():
        raise InvalidValue("Ranker: the file must be unchanged, got another checksum.")
    return arrays


def policy_label(policy: Policy) -> tuple[dict[str, Any], Arrays]:
    """Return the name and settings of a policy for the label, and its large settings as arrays."""
    arrays: Arrays = {}
    settings: dict[str, Any] = {}
    for field in settings_of(type(policy)):
        value = getattr(policy, field.name)
        if isinstance(value, Beta):
            value = {"alpha": value.alpha, "beta": value.beta}
        elif isinstance(value, Features):
            arrays[_SETTING + field.name] = value.values
            continue
        elif not _plain(value):
            rule = f"{field.name} must be made of numbers, text and vectors to be saved"
            raise invalid(type(policy).__name__, rule, value)
        settings[field.name] = value
    label = {"name": policy.name, "settings": settings}
    return {**label, "reference": True} if policy.reference else label, arrays


def policy_from(label: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Policy:
    """Return the policy whose label and arrays `policy_label` returned."""
    try:
        cls = POLICIES[label["name"]]
    except UnknownName as error:
        hint = "Import the module that registers it first."
        raise InvalidValue(
            f"Ranker: the file needs a policy that is not registered. {error} {hint}"
        ) from (error)
    settings: dict[str, Any] = {
        name: Beta(**value) if isinstance(value, dict) else value
        for name, value in label["settings"].items()
    }
    for name in arrays:
        if name.startswith(_SETTING):
            settings[name.removeprefix(_SETTING)] = Features(arrays[name])
    return cls(**settings, reference=bool(label.get("reference", False)))


def _plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_plain(entry) for entry in value)
    return value is None or isinstance(value, (bool, int, float, str))
