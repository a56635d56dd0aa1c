"""Keys of kernels: hashes of the bytecode of a kernel and of everything that it calls.

Two kernels with the same key have the same machine code for arguments of the same types. Comments,
docstrings, line numbers, and kernels that are not called do not change a key.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

# Functions of these modules enter a key by name, because every key contains the versions.
_VERSIONED = {"builtins", "math", "numba", "numpy"}
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)


class Unknown(Exception):
    """A kernel reads something that has no key."""


def code_key(*parts: object) -> str:
    """Return a hash of kernels and constants; raise `Unknown` if one reads anything else."""
    digest = hashlib.sha256()
    seen: dict[int, int] = {}
    for part in parts:
        for piece in _pieces(part, seen):
            digest.update(f"{len(piece)}:{piece}".encode())
    return digest.hexdigest()[:16]


def _pieces(value: Any, seen: dict[int, int]) -> Iterator[str]:
    """Yield a description of a value as the compiler sees it, with each function once."""
    yield type(value).__name__
    if isinstance(value, CodeType):
        yield from _pieces_of_code(value, seen)
    elif _name(value) is not None:
        yield str(_name(value))
    elif id(value) in INTRINSICS:
        yield INTRINSICS[id(value)]
    elif hasattr(value, "py_func"):  # a kernel of `jit`, or one of Numba's own
        for name, option in sorted(value.targetoptions.items()):
            yield name
            yield from _pieces(option, seen)
        yield from _pieces(value.py_func, seen)
    elif isinstance(value, FunctionType):
        if id(value) in seen:
            yield str(seen[id(value)])
            return
        seen[id(value)] = len(seen)
        if value in DISPATCHED:  # its kernels are found by the types of the arguments
            for dispatch, *how in DISPATCHED[value]:
                yield from _pieces_of_code(dispatch, seen)
                yield repr(how)
        else:
            yield from _pieces_of_function(value, seen)
        yield f"{value.__module__}.{value.__qualname__}"
    elif isinstance(value, type) and hasattr(value, "_fields"):
        yield f"{value.__module__}.{value.__qualname__}"
        yield repr(value._fields)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype!r}{value.shape}{value.flags.c_contiguous}"
        yield value.tobytes().hex()
    elif isinstance(value, (tuple, frozenset)):
        yield f"{len(value)}{getattr(value, '_fields', '')}"
        for part in sorted(value, key=repr) if isinstance(value, frozenset) else value:
            yield from _pieces(part, seen)
    elif isinstance(value, (*_CONSTANTS, np.generic)):
        yield repr(value)
    else:
        raise Unknown(f"{value!r}")


#: Names of the intrinsics that `callbacks` adds to Numba. Its source is part of every key.
INTRINSICS: dict[int, str] = {}
#: Functions that compiled code calls through `jit.generic`, and the code that finds their kernels.
DISPATCHED: dict[Callable[..., Any], list[tuple[CodeType, bool, bool]]] = {}


def _name(value: Any) -> str | None:
    """Return the name of a module, or of a function, of Python, NumPy or Numba; else None."""
    if isinstance(value, ModuleType):
        name = value.__name__
    elif callable(value):
        module = getattr(value, "__module__", None) or type(value).__module__
        where = getattr(sys.modules.get(module), "__dict__", None)
        if isinstance(value, FunctionType) and value.__globals__ is not where:
            return None  # made by exec, which may state any module
        path = getattr(value, "__qualname__", getattr(value, "__name__", None))
        if path is None:  # one of many objects of a class, such as Numba's int32
            return None
        name = f"{module}.{path}"
    else:
        return None
    return name if name.partition(".")[0] in _VERSIONED else None


def _pieces_of_function(function: FunctionType, seen: dict[int, int]) -> Iterator[str]:
    yield from _pieces(function.__code__, seen)
    yield from _pieces(function.__defaults__, seen)
    for name, default in sorted((function.__kwdefaults__ or {}).items()):
        yield name
        yield from _pieces(default, seen)
    for cell in function.__closure__ or ():
        yield from _pieces(cell.cell_contents, seen)
    read = _reads(function.__code__)
    for name in sorted(read.names & function.__globals__.keys()):
        found = function.__globals__[name]
        yield name
        if isinstance(found, ModuleType) and _name(found) is None:
            for attribute in sorted(read.attributes):
                if hasattr(found, attribute):  # including names that a package imports lazily
                    yield attribute
                    yield from _pieces(getattr(found, attribute), seen)
        else:
            yield from _pieces(found, seen)


def _pieces_of_code(code: CodeType, seen: dict[int, int]) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    yield repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags))
    for constant in _reads(code).constants:
        yield from _pieces(constant, seen)


class _Reads(NamedTuple):
    """The names and constants that a function reads. Inner functions are among its constants."""

    names: set[str]
    attributes: set[str]
    constants: list[object]  # without the docstring, which is never loaded


@functools.cache
def _reads(code: CodeType) -> _Reads:
    found = _Reads(set(), set(), [])
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            found.names.add(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found.attributes.add(step.argval)
        elif step.opcode in dis.hasconst and step.arg is not None:
            constant = code.co_consts[step.arg]
            found.constants.append(constant)
            if isinstance(constant, CodeType):
                found.names.update(_reads(constant).names)
                found.attributes.update(_reads(constant).attributes)
    return found
