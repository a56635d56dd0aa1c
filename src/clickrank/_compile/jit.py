"""How kernels are compiled, and where machine code is cached. Only `_compile` talks to Numba.

Numba's disk cache looks at the file of the cached function alone, and misses a change in another
file that it calls. So each function's machine code lives in a directory named after a hash of all
that is compiled into it: change a kernel, and what calls it is compiled again, and nothing else.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import functools
import hashlib
import importlib.util
import os
import platform
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.compiler import Compiler
from numba.extending import overload

from clickrank._compile.keys import DISPATCHED, Unknown, code_key
from clickrank._compile.parts import compilers

P = ParamSpec("P")
R = TypeVar("R")

_PartCompiler, _WholeCompiler = compilers()
# Nothing calls a kernel as C does.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}

_PACKAGE = Path(__file__).resolve().parents[1]
# Decide the machine code of every kernel.
_HOW = ("_compile/jit.py", "_compile/parts.py", "_compile/callbacks.py")
# What decides the machine code of kernels, and the numbers that simulations give.
_KERNEL_FILES = (
    "_core/*.py",
    "_compile/*.py",
    "stats/*.py",
    "numerics/*.py",
    "clickmodels/*.py",
    "policies/**/*.py",
    "fast/**/*.py",
    "rankings/*.py",
    "learning/*.py",
    "simulation/*.py",
)


def cache_root() -> Path:
    """Where machine code is kept: $CLICKRANK_CACHE_DIR, or a folder in the user's cache."""
    chosen = os.environ.get("CLICKRANK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clickrank"


@functools.cache
def fingerprint(*keys: str) -> str:
    """Hash of all kernel sources, of foreign ones, and of what else decides simulated numbers."""
    digest = hashlib.sha256()
    for part in (*_machine(), *keys):
        digest.update(part.encode())
    for name, content in _own_sources():
        digest.update(name.encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _machine() -> list[str]:
    """Return what decides the machine code of every kernel."""
    settings = vars(numba.config)  # which its type stubs do not list
    names = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
    versions = [numba.__version__, np.__version__, sys.version, platform.machine()]
    return versions + [str(settings[name]) for name in names]


@functools.cache
def _own_sources() -> list[tuple[str, bytes]]:
    files = [path for pattern in _KERNEL_FILES for path in _PACKAGE.glob(pattern)]
    return [(str(p.relative_to(_PACKAGE)), p.read_bytes()) for p in sorted(files)]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that kernels call: no GIL, no fastmath.

    Its machine code becomes part of what calls it, and is kept on disk there alone: an entry of its
    own would name the classes of whoever calls it, and fail where those are not installed.
    """
    return _kernel(function)


def lean_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that makes no array as `kernel` does, but without counting references.

    Numba counts a reference to each array of a state wherever the state lives on beyond a branch:
    some 5 ns for each of its fields and each call, more than many a round takes.
    """
    return _kernel(function, _nrt=False)


def array_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that makes arrays as `kernel` does, so that lean kernels may call it too.

    What a lean kernel calls is lean as well, unless it says otherwise.
    """
    return _kernel(function, _nrt=True)


def inline_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small lean kernel into each of its callers.

    A state is passed by copying the descriptions of all its arrays, which takes longer than reading
    a few numbers of it.
    """
    return _kernel(function, _nrt=False, forceinline=True)


def _kernel(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    # Numba may be switched off for debugging.
    return function if switched_off() else _Kernel(function, **options)


def switched_off() -> bool:
    """Return whether Numba is switched off, for debugging."""
    return bool(vars(numba.config)["DISABLE_JIT"])


_interpreted: contextvars.ContextVar[bool] = contextvars.ContextVar("interpreted", default=False)


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Run kernels that are called from Python as plain Python, with its tracebacks and checks."""
    token = _interpreted.set(True)
    try:
        yield
    finally:
        _interpreted.reset(token)


class _Kernel(Generic[P, R]):
    """A function for compiled code to call; Python may too, and compiles it for itself.

    Compiled code needs no way in for Python's objects, which takes a quarter of the time that all
    the compiling takes: unpacking a state of many arrays is long in machine code.
    """

    def __init__(self, function: Callable[P, R], **options: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = options  # as Numba calls them
        called: Any = _njit(_PartCompiler, no_cpython_wrapper=True, **options)(function)
        self._numba_type_ = called._numba_type_  # what Numba takes this object for
        self._from_kernels = called  # which its type does not keep alive

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _interpreted.get():
            return self.py_func(*args, **kwargs)
        return self._from_python(*args, **kwargs)

    @functools.cached_property
    def _from_python(self) -> Callable[P, R]:
        return _njit(_WholeCompiler, **self.targetoptions)(self.py_func)


def kernel_for(function: Callable[P, R], *codes: str | None, lean: bool = False) -> Callable[P, R]:
    """Compile a function that calls the kernels of these codes, as `code_of` names them.

    For ``lean``, see `lean_kernel`.
    """
    return _kernel_for(function, codes, _nrt=not lean)


def address_for(function: Callable[..., None], kinds: tuple[Any, ...], code: str | None) -> int:
    """Return where the machine code of a lean function lies, for arguments of these Numba types.

    It is called as Numba's functions call each other. `numba.cfunc` has an address too, but knows
    neither the cache of `kernel_for` nor the parts that kernels are compiled as, and makes it two
    calls.
    """
    compiled: Any = _kernel_for(function, (code,), no_cpython_wrapper=True, _nrt=False)
    if kinds not in compiled.overloads:
        compiled.compile(kinds)
    found = compiled.overloads[kinds]
    address: int = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
    return address


def _kernel_for(
    function: Callable[P, R], codes: tuple[str | None, ...], **options: bool
) -> Callable[P, R]:
    keys = None if None in codes else tuple(sorted({key for key in codes if key}))
    with _LOCK:  # one kernel for all threads, and one of them at a time with Numba's settings
        return _compiled(function, keys, tuple(options.items()))


_LOCK = threading.Lock()


@functools.cache
def _compiled(
    function: Callable[..., Any],
    keys: tuple[str, ...] | None,
    options: tuple[tuple[str, bool], ...],
) -> Callable[..., Any]:
    if keys is None:
        return _njit(_WholeCompiler, **dict(options))(function)
    settings = vars(numba.config)
    before = settings["CACHE_DIR"]
    cache: Any = _Cache
    settings["CACHE_DIR"] = str(cache_root() / _key(function, *_machine(), *keys, repr(options)))
    try:
        compiled: Any = _njit(_WholeCompiler, cache=True, **dict(options))(function)
        if not switched_off():
            compiled._cache = cache(function)
    finally:
        settings["CACHE_DIR"] = before
    found: Callable[..., Any] = compiled
    return found


class _Cache(FunctionCache):
    """Machine code on disk, by the types of the arguments and by the fields of NamedTuples.

    Numba recognises a NamedTuple's class by its name alone. But machine code finds a field by its
    place, and would read one for another after two have changed places.
    """

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        numbas: Any = super()
        return (*numbas._index_key(sig, codegen), tuple(_fields_in(sig)))


def _fields_in(types: Any) -> Iterator[tuple[str, ...]]:
    """Return the fields of the NamedTuples among Numba's types, and of those within them."""
    for one in types:
        yield tuple(getattr(one, "fields", ()))
        if isinstance(one, numba.types.BaseTuple):
            yield from _fields_in(one)


def _key(function: object, *parts: str) -> str:
    how = [(_PACKAGE / name).read_bytes() for name in _HOW]
    try:
        return code_key(function, *parts, *how)
    except Unknown:  # none of clickrank's own kernels
        return fingerprint(*parts)


def code_of(source: str | None, *kernels: object) -> str | None:
    """Name the machine code of kernels with a hash of all that is compiled into it.

    ``source`` is what `source_key` says of the class that they belong to. For classes that are not
    clickrank's own it is part of the name: they may call what no key here describes.
    """
    try:
        return None if source is None else code_key(source, *kernels)
    except Unknown:
        return fingerprint(source or "")


def entry_point(compiled: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Callable[P, R]:
    """Return the machine code of a kernel for arguments like these, to be called directly.

    Numba finds out the types of all arguments in each call, which for the arrays of a large state
    takes longer than many a round. Whoever calls this must always give the same types.
    """
    if not isinstance(compiled, numba.core.dispatcher.Dispatcher):  # switched off
        return compiled
    typeof: Any = numba.typeof
    types = tuple(typeof(arg) for arg in args)
    dispatcher: Any = compiled
    if types not in dispatcher.overloads:  # else it would wait for whatever is being compiled
        dispatcher.compile(types)
    found: Callable[P, R] = dispatcher.overloads[types].entry_point
    return found


def source_key(cls: type) -> str | None:
    """Name the source of a class's kernels: empty for clickrank's own, else a hash.

    None stands for kernels of a prompt or a script, whose machine code is not kept on disk: the
    next process would not recognise their classes.
    """
    module = sys.modules[cls.__module__]
    if module.__name__ == "__main__" or not getattr(module, "__file__", None):
        return None
    if _file(module).is_relative_to(_PACKAGE):
        return ""
    digest = hashlib.sha256(module.__name__.encode())
    files: dict[Path, None] = {}
    _collect(module, _file(module).parent, module.__name__.partition(".")[0], files)
    for path in files:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _file(module: ModuleType) -> Path:
    return Path(str(module.__file__)).resolve()


def _collect(module: ModuleType, folder: Path, package: str, files: dict[Path, None]) -> None:
    """Add a module's file and those it imports from its folder or package."""
    path = _file(module)
    if path in files:
        return
    files[path] = None
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            if node.level:
                base = importlib.util.resolve_name(base, module.__package__)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            other = sys.modules.get(name)
            if other is None or not str(getattr(other, "__file__", None)).endswith(".py"):
                continue
            near = _file(other).is_relative_to(folder) or name.partition(".")[0] == package
            if near:
                _collect(other, folder, package, files)


def generic(
    stub: Callable[..., Any],
    dispatch: Callable[..., Callable[..., Any] | None],
    lean: bool = False,
    inline: bool = False,
) -> None:
    """Let compiled code call ``stub``: ``dispatch`` picks the kernel from the argument types.

    It returns None for what it does not know. For ``lean`` and ``inline``, see `lean_kernel` and
    `inline_kernel`.
    """
    DISPATCHED.setdefault(stub, []).append((dispatch.__code__, lean, inline))
    # Not strict: the dispatcher has no annotations, the kernels have.
    options: Any = {**_OPTIONS, "_nrt": not lean, "forceinline": inline}
    options |= {"pipeline_class": _PartCompiler}
    overload(stub, jit_options=options, strict=False)(dispatch)


def _njit(compiler: type[Compiler], **options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    decorate: Callable[[Callable[P, R]], Callable[P, R]] = numba.njit(
        nogil=True, pipeline_class=compiler, **_OPTIONS, **options
    )
    return decorate


def named_tuple_class(numba_type: Any) -> type:
    """Return the NamedTuple class that a Numba type stands for."""
    found: type = numba_type.instance_class
    return found


def tell_apart(named_tuple: type) -> None:
    """Give a NamedTuple class a name of its own.

    Numba's dispatcher takes classes of one name and the same fields for one type, wherever they are
    defined: it would run the kernels of the one on the other, or, where another argument tells them
    apart, look for the right ones anew in each call, which takes half a millisecond.
    """
    if named_tuple in _told_apart:
        return
    _told_apart.add(named_tuple)
    name = re.sub(r"\W", "_", f"{named_tuple.__module__}.{named_tuple.__qualname__}")
    _named[name] += 1
    # Defined again, in a notebook or by reloading: another class of the same name.
    named_tuple.__name__ = name if _named[name] == 1 else f"{name}_{_named[name]}"


_named: Counter[str] = Counter()
_told_apart: set[type] = set()


@functools.cache
def start() -> None:
    """Pay Numba's start-up (0.3 s a process) now, so that the first simulation does not."""

    def nothing() -> None:
        pass

    _njit(_WholeCompiler)(nothing)()
