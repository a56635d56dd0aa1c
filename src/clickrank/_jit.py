"""The only place that talks to Numba: how kernels are compiled and where machine code is cached.

Numba's disk cache looks at the file of the cached function alone, and misses a change in another
file that it calls. So the cache lives in a directory named after a hash of everything that is
compiled: change any kernel and a new directory is used.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba.extending import overload

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = Path(__file__).resolve().parent
# What decides the machine code of kernels, and the numbers that simulations give.
_KERNEL_FILES = (
    "_*.py",
    "types.py",
    "numerics/*.py",
    "clickmodels/*.py",
    "policies/*.py",
    "simulate/*.py",
)


def cache_root() -> Path:
    """Where machine code is kept: $CLICKRANK_CACHE_DIR, or a folder in the user's cache."""
    chosen = os.environ.get("CLICKRANK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clickrank"


@functools.cache
def fingerprint(files: tuple[Path, ...] = ()) -> str:
    """Hash of all kernel sources, of further files, and of what else decides the machine code."""
    digest = hashlib.sha256()
    for part in (numba.__version__, np.__version__, sys.version, platform.machine()):
        digest.update(part.encode())
    digest.update(str(vars(numba.config)["BOUNDSCHECK"]).encode())
    for name, content in [*_own_sources(), *((p.name, p.read_bytes()) for p in sorted(files))]:
        digest.update(name.encode())
        digest.update(content)
    return digest.hexdigest()[:16]


@functools.cache
def _own_sources() -> list[tuple[str, bytes]]:
    files = [path for pattern in _KERNEL_FILES for path in _PACKAGE.glob(pattern)]
    return [(str(p.relative_to(_PACKAGE)), p.read_bytes()) for p in sorted(files)]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function: no GIL, no fastmath, cached on disk."""
    return _compiled(function, ())


def kernel_for(function: Callable[P, R], *sources: Path | None) -> Callable[P, R]:
    """Compile a function that calls kernels of these files, which need not be clickrank's own.

    A source of None stands for kernels typed at a prompt: their machine code is not kept on disk.
    """
    foreign = {p for p in sources if p is None or not p.is_relative_to(_PACKAGE)}
    if None in foreign:
        return _compiled(function, None)
    return _compiled(function, tuple(sorted(p for p in foreign if p is not None)))


@functools.cache
def _compiled(function: Callable[..., Any], files: tuple[Path, ...] | None) -> Callable[..., Any]:
    if files is None:
        return _njit()(function)
    settings = vars(numba.config)  # which its type stubs do not list
    before = settings["CACHE_DIR"]
    settings["CACHE_DIR"] = str(cache_root() / fingerprint(files))
    try:
        return _njit(cache=True)(function)
    finally:
        settings["CACHE_DIR"] = before


def source_file(cls: type) -> Path | None:
    """Return the file that defines a class; None if it was typed at a prompt."""
    name = getattr(sys.modules[cls.__module__], "__file__", None)
    return Path(name).resolve() if name else None


def generic(stub: Callable[..., Any], dispatch: Callable[..., Callable[..., Any]]) -> None:
    """Let compiled code call ``stub``: ``dispatch`` picks the kernel from the argument types."""
    # Not strict: the dispatcher has no annotations, the kernels have.
    overload(stub, jit_options={"error_model": "numpy"}, strict=False)(dispatch)


def _njit(cache: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    compiler: Callable[[Callable[P, R]], Callable[P, R]] = numba.njit(
        error_model="numpy", nogil=True, cache=cache
    )
    return compiler


def named_tuple_class(numba_type: Any) -> type:
    """Return the NamedTuple class that a Numba type stands for."""
    found: type = numba_type.instance_class
    return found


def tell_apart(named_tuple: type) -> None:
    """Give a NamedTuple class a name of its own.

    Numba's dispatcher takes classes of one name and the same fields for one type, wherever they are
    defined: it would run the kernels of the one on the other.
    """
    named_tuple.__name__ = f"{named_tuple.__module__}.{named_tuple.__qualname__}"


@functools.cache
def start() -> None:
    """Pay Numba's start-up (0.3 s a process) now, so that the first simulation does not."""

    def nothing() -> None:
        pass

    _njit()(nothing)()
