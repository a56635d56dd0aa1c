"""Decorators that compile kernels with Numba, and the disk cache of their machine code.

Numba's own disk cache looks only at the file of the cached function, and misses a change in another
file that the function calls. Here the machine code of each function is in a directory named after a
hash of everything that is compiled into it. When a kernel changes, its callers are compiled again,
and nothing else. Only `clickrank._compile` imports Numba.
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

from clickrank._compile.code_keys import DISPATCHED, Unknown, code_key
from clickrank._compile.intermediate_code import compilers

P = ParamSpec("P")
R = TypeVar("R")

_PartCompiler, _WholeCompiler = compilers()
# No kernel is called from C, so that the wrapper for C is not needed.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}

_PACKAGE = Path(__file__).resolve().parents[1]
# Files that decide the machine code of every kernel.
_HOW = ("_compile/jit.py", "_compile/intermediate_code.py", "_compile/callbacks.py")
#: Files that decide the machine code of kernels, and the numbers that simulations return.
KERNEL_FILES = (
    "_core/*.py",
    "_compile/*.py",
    "numerics/*.py",
    "stats/*.py",
    "clickmodels/*.py",
    "policies/**/*.py",
    "fast/**/*.py",
    "rankings/*.py",
    "learning/*.py",
    "simulation/*.py",
)


def cache_root() -> Path:
    """Return the folder of machine code: $CLICKRANK_CACHE_DIR, or one in the user's cache."""
    chosen = os.environ.get("CLICKRANK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clickrank"


@functools.cache
def fingerprint(*keys: str) -> str:
    """Return a hash of all kernel sources, of ``keys``, and of the versions that decide numbers."""
    digest = hashlib.sha256()
    for part in (*_machine(), *keys):
        digest.update(part.encode())
    for name, content in kernel_sources():
        digest.update(name.encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _machine() -> list[str]:
    """Return the versions and settings that decide the machine code of every kernel."""
    settings = vars(numba.config)  # which its type stubs do not list
    names = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
    versions = [numba.__version__, np.__version__, sys.version, platform.machine()]
    return versions + [str(settings[name]) for name in names]


@functools.cache
def kernel_sources() -> list[tuple[str, bytes]]:
    """Return the names and the contents of the `KERNEL_FILES`."""
    files = [path for pattern in KERNEL_FILES for path in _PACKAGE.glob(pattern)]
    return [(str(p.relative_to(_PACKAGE)), p.read_bytes()) for p in sorted(files)]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that kernels call, without the GIL and without fastmath.

    Its machine code becomes part of its callers, and is stored on disk only with them. An entry of
    its own would name the classes of its callers, and fail where those are not installed.
    """
    return _kernel(function)


def lean_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that creates no array, as `kernel` does but without reference counting.

    Numba counts a reference to each array of a state wherever the state is used after a branch.
    This takes about 5 ns per field and call, which is more than a whole round of many policies.
    """
    return _kernel(function, _nrt=False)


def array_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that creates arrays, as `kernel` does, and that lean kernels may call.

    The functions that a lean kernel calls are lean as well, unless they have this decorator.
    """
    return _kernel(function, _nrt=True)


def inline_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small lean kernel into each of its callers.

    Passing a state to a function copies the descriptors of all its arrays, which takes longer than
    reading a few of its numbers.
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
    """Run the kernels that Python calls as plain Python, with its tracebacks and index checks."""
    token = _interpreted.set(True)
    try:
        yield
    finally:
        _interpreted.reset(token)


class _Kernel(Generic[P, R]):
    """A function that compiled code calls. A call from Python compiles it separately.

    Compiled code does not need the wrapper that unpacks Python objects. Leaving it out saves a
    quarter of all compile time, because the code that unpacks a state of many arrays is long.
    """

    def __init__(self, function: Callable[P, R], **options: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = options  # Numba's name for them
        called: Any = _njit(_PartCompiler, no_cpython_wrapper=True, **options)(function)
        self._numba_type_ = called._numba_type_  # makes Numba treat this object as a dispatcher
        self._from_kernels = called  # the type alone would not keep it alive

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _interpreted.get():
            return self.py_func(*args, **kwargs)
        return self._from_python(*args, **kwargs)

    @functools.cached_property
    def _from_python(self) -> Callable[P, R]:
        return _njit(_WholeCompiler, **self.targetoptions)(self.py_func)


def kernel_for(function: Callable[P, R], *codes: str | None, lean: bool = False) -> Callable[P, R]:
    """Compile a function that calls kernels, which ``codes`` identify: see `code_of`.

    For ``lean``, see `lean_kernel`.
    """
    return _kernel_for(function, codes, _nrt=not lean)


def address_for(function: Callable[..., None], kinds: tuple[Any, ...], code: str | None) -> int:
    """Return the address of a lean function's machine code, for arguments of these Numba types.

    Callers use Numba's internal calling convention. `numba.cfunc` offers an address too, but it
    uses neither the disk cache of `kernel_for` nor our compilers, and adds a second call.
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
    with _LOCK:  # all threads share one kernel, and one at a time changes Numba's settings
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
    """The disk cache of one function, keyed by argument types and by the fields of NamedTuples.

    Numba identifies the class of a NamedTuple by its name only. But machine code finds a field by
    its place, and would read the wrong one after two fields have changed places.
    """

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        numbas: Any = super()
        return (*numbas._index_key(sig, codegen), tuple(_fields_in(sig)))


def _fields_in(types: Any) -> Iterator[tuple[str, ...]]:
    """Yield the fields of each NamedTuple among Numba types, and of those nested in them."""
    for one in types:
        yield tuple(getattr(one, "fields", ()))
        if isinstance(one, numba.types.BaseTuple):
            yield from _fields_in(one)


def _key(function: object, *parts: str) -> str:
    how = [(_PACKAGE / name).read_bytes() for name in _HOW]
    try:
        return code_key(function, *parts, *how)
    except Unknown:  # does not happen for the kernels of clickrank
        return fingerprint(*parts)


def code_of(source: str | None, *kernels: object) -> str | None:
    """Return a hash of everything that is compiled into the machine code of kernels.

    ``source`` is the `source_key` of the class that they belong to. For classes from outside
    clickrank it is part of the hash, because they may call functions that have no key here.
    """
    try:
        return None if source is None else code_key(source, *kernels)
    except Unknown:
        return fingerprint(source or "")


def entry_point(compiled: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Callable[P, R]:
    """Return the machine code of a kernel for arguments of these types, to be called directly.

    Numba determines the types of all arguments in each call, which for the arrays of a large state
    takes longer than a round of many policies. The caller must always pass the same types.
    """
    if not isinstance(compiled, numba.core.dispatcher.Dispatcher):  # switched off
        return compiled
    typeof: Any = numba.typeof
    types = tuple(typeof(arg) for arg in args)
    dispatcher: Any = compiled
    if types not in dispatcher.overloads:  # else it would wait for other threads that compile
        dispatcher.compile(types)
    found: Callable[P, R] = dispatcher.overloads[types].entry_point
    return found


def source_key(cls: type) -> str | None:
    """Return a hash of the source files of a class's kernels; it is empty for clickrank's own.

    None stands for kernels that were defined at a prompt or in a script. Their machine code is not
    stored on disk, because the next process would not recognise their classes.
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
    """Add the file of a module, and those that it imports from its folder or package."""
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
    """Let compiled code call ``stub``: ``dispatch`` chooses the kernel by the argument types.

    ``dispatch`` returns None for types that it does not know. For ``lean`` and ``inline``, see
    `lean_kernel` and `inline_kernel`.
    """
    DISPATCHED.setdefault(stub, []).append((dispatch.__code__, lean, inline))
    # Not strict, because the kernels have annotations and ``dispatch`` has none.
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
    """Give a NamedTuple class a name that no other class has.

    Numba's dispatcher treats classes with the same name and the same fields as one type, wherever
    they are defined. It would run the kernels of one class on the other, or, where another argument
    distinguishes them, search for the right kernels in each call, which takes half a millisecond.
    """
    if named_tuple in _told_apart:
        return
    _told_apart.add(named_tuple)
    name = re.sub(r"\W", "_", f"{named_tuple.__module__}.{named_tuple.__qualname__}")
    _named[name] += 1
    # A notebook or a reload may define another class of the same name.
    named_tuple.__name__ = name if _named[name] == 1 else f"{name}_{_named[name]}"


_named: Counter[str] = Counter()
_told_apart: set[type] = set()


@functools.cache
def start() -> None:
    """Start Numba now (0.3 s per process), so that the first simulation does not have to."""

    def nothing() -> None:
        pass

    _njit(_WholeCompiler)(nothing)()
