"""Compilers that leave kernels as intermediate code until a function that Python calls is compiled.

Numba optimises each function together with everything that it calls, and generates machine code for
it, again at each level of calls. But a compiled caller links the intermediate code of a kernel, and
nothing runs the kernel's machine code. Here a kernel stays intermediate code until a function that
Python calls is compiled, and that function is optimised as a whole.
"""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

#: Versions of Numba that these compilers were tested with.
TRIED = ("0.68.",)


def compilers() -> tuple[type[Compiler], type[Compiler]]:
    """Return the compiler for functions that compiled code calls, and that for Python's calls."""
    if numba.__version__.startswith(TRIED):
        return _PartCompiler, _WholeCompiler
    return Compiler, Compiler


class _Part(JITCodeLibrary):
    """The intermediate code of one function, and the libraries of the functions it calls."""

    def finalize(self) -> None:
        """Accept no more code. There is nothing to optimise or to load yet."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: no function of this name has machine code."""
        return 0

    @property
    def codegen(self) -> _Part:
        """The object on which Numba calls `set_env`, and nothing else."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: `_WholeCompiler` sets it, because the variable does not exist yet."""

    def _get_module_for_linking(self) -> Any:
        """Return the code of this function and of everything that it calls."""
        whole = self._own_module().clone()
        for library in self._called({self}):
            is_part = isinstance(library, _Part)
            found = library._own_module() if is_part else library._get_module_for_linking()
            whole.link_in(found, preserve=True)
        return whole

    def _own_module(self) -> Any:
        return super()._get_module_for_linking()

    def _called(self, seen: set[Any]) -> Iterator[Any]:
        for library in self._linking_libraries:
            if library not in seen:
                seen.add(library)
                yield library
                if isinstance(library, _Part):
                    yield from library._called(seen)


class _PartCompiler(Compiler):
    """Compiles functions that compiled code calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        if library is None:
            library = _Part(target.codegen(), "part")
        super().__init__(typing, target, library, *others)


class _Whole(JITCodeLibrary):
    """The machine code of a function that Python calls, with everything that it calls."""

    def _optimize_final_module(self) -> None:
        # Twice, as Numba does with functions one level below. After one pass some policies are
        # slower.
        super()._optimize_final_module()
        super()._optimize_final_module()


class _WholeCompiler(Compiler):
    """Compiles functions that Python calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        if library is None:
            library = _Whole(target.codegen(), "whole")
            library.enable_object_caching()
        super().__init__(typing, target, library, *others)

    def _compile_core(self) -> Any:
        result = super()._compile_core()
        # Point the code of each part to its environment, as Numba does when it loads from disk.
        for variable in result.library._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                result.library.codegen.set_env(variable.name, environment)
        return result
