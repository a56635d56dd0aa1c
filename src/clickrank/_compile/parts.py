"""How a kernel that compiled code calls is compiled: without machine code of its own.

Numba optimises each function together with all that it calls and makes machine code of it, at each
level of calls anew. But what compiled code calls is linked into it as intermediate code, and the
machine code is run by nobody. Here a kernel stays intermediate code until a function that Python
calls is compiled, which is optimised as a whole.
"""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

#: Versions of Numba that it was tried with.
TRIED = ("0.68.",)


def compilers() -> tuple[type[Compiler], type[Compiler]]:
    """Return the compiler of what compiled code calls, and that of what Python calls."""
    if numba.__version__.startswith(TRIED):
        return _PartCompiler, _WholeCompiler
    return Compiler, Compiler


class _Part(JITCodeLibrary):
    """The intermediate code of one function, and the libraries of what it calls."""

    def finalize(self) -> None:
        """Take no more code. There is nothing to optimise or to load yet."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: no function of this name has machine code."""
        return 0

    @property
    def codegen(self) -> _Part:
        """What is asked to `set_env`, and for nothing else."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Leave it to `_WholeCompiler`: there is no variable yet that could point to it."""

    def _get_module_for_linking(self) -> Any:
        """Return the code of this function and of all that it calls."""
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
    """Compiles what compiled code calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        if library is None:
            library = _Part(target.codegen(), "part")
        super().__init__(typing, target, library, *others)


class _Whole(JITCodeLibrary):
    """The machine code of a function that Python calls, with all that it calls."""

    def _optimize_final_module(self) -> None:
        # Twice, as Numba does with what is called one level below: once, some policies are slower.
        super()._optimize_final_module()
        super()._optimize_final_module()


class _WholeCompiler(Compiler):
    """Compiles what Python calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        if library is None:
            library = _Whole(target.codegen(), "whole")
            library.enable_object_caching()
        super().__init__(typing, target, library, *others)

    def _compile_core(self) -> Any:
        result = super()._compile_core()
        # As when loaded from disk: tell the code of each part where to find its environment.
        for variable in result.library._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                result.library.codegen.set_env(variable.name, environment)
        return result
