"""Saved state: the label, checksum and checks of the arrays that a learner is restored from."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank.errors import InvalidValue, invalid

Arrays = Mapping[str, NDArray[Any]]
_LABEL = "label"
#: The generators of NumPy whose state JSON can represent.
_GENERATORS = (
    np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64,
)  # fmt: skip


def with_label(arrays: Arrays, description: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return the arrays with a label that holds a description, a checksum and the generator."""
    label = {
        "learner": description,
        "checksum": _checksum(arrays),
        "generator": generator_state(rng),
    }
    return {**arrays, _LABEL: np.array(json.dumps(label))}


def without_label(
    owner: str, arrays: Arrays, description: str
) -> tuple[dict[str, NDArray[Any]], np.random.Generator]:
    """Return the arrays that were given to `with_label`, and a generator that goes on as its did.

    Raises if the description is another one, or if the arrays have changed.
    """
    try:
        label = json.loads(str(arrays[_LABEL]))
        described, checksum = label["learner"], label["checksum"]
        rng = generator_from(label["generator"])
    except (KeyError, TypeError, ValueError) as error:
        rule = "the saved state must be what `arrays` returned"
        raise invalid(owner, rule, type(arrays)) from error
    found = {name: arrays[name] for name in arrays if name != _LABEL}
    if described != description:
        expected, saved = _around_difference(description, described)
        raise InvalidValue(f"{owner}: the saved state must be of {expected}, got {saved}.")
    if checksum != _checksum(found):
        raise invalid(owner, "the saved state must be unchanged", "another checksum")
    return found, rng


def check_arrays(owner: str, expected: Arrays, given: Arrays, prefix: str = "") -> None:
    """Raise unless each expected array is given, with its type and shape."""
    if not set(expected) <= set(given):
        raise invalid(owner, f"the statistics must be {', '.join(expected)}", sorted(given))
    for name, array in expected.items():
        found = given[name]
        if found.shape != array.shape or found.dtype != array.dtype:
            rule = f"{prefix}{name} must be {array.dtype} of shape {array.shape}"
            raise invalid(owner, rule, (str(found.dtype), found.shape))


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator as values that JSON can represent."""
    found: dict[str, Any] = _plain(rng.bit_generator.state)
    return found


def generator_from(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator that goes on from a state."""
    kind = {cls.__name__: cls for cls in _GENERATORS}[state["bit_generator"]]
    bits: Any = kind(0)
    bits.state = state
    return np.random.Generator(bits)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _around_difference(one: str, two: str, context: int = 60) -> tuple[str, str]:
    """Return the parts of two texts around the first difference: a prior's text can be long."""
    pairs = itertools.zip_longest(one, two)
    same = next(place for place, (a, b) in enumerate(pairs) if a != b)
    begin, end = max(same - context, 0), same + context
    parts = []
    for text in (one, two):
        part = text[begin:end]
        parts.append(("…" if begin else "") + part + ("…" if end < len(text) else ""))
    return parts[0], parts[1]


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
