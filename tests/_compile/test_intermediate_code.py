"""Kernels without machine code of their own work in whatever is compiled of them."""

import subprocess
import sys

import pytest

from clickrank._compile.jit import kernel, kernel_for
from tests.paths import ROOT


@kernel
def inner(number: int) -> int:
    if number > 2:
        raise ValueError("too many", number)  # made by Python, so that it needs an environment
    return number + 1


@kernel
def middle(number: int) -> int:
    return inner(number) * 2


def one(number: int) -> int:
    return middle(number)


def two(number: int) -> int:
    return middle(number) + inner(number)


def test_part_in_two_functions_and_from_python() -> None:
    for function, expected in ((one, 4), (two, 6), (inner, 2)):
        compiled = function if function is inner else kernel_for(function, None)
        assert compiled(1) == expected
        with pytest.raises(ValueError, match="too many") as error:
            compiled(3)
        assert error.value.args == ("too many", 3)


def test_other_versions_of_numba_compile_as_they_do() -> None:
    code = (
        "import numba; numba.__version__ = '0.99.0'\n"
        "from tests._compile.test_intermediate_code import two\n"
        "from clickrank._compile.jit import kernel_for\n"
        "from clickrank._compile.intermediate_code import compilers\n"
        "assert {found.__name__ for found in compilers()} == {'Compiler'}\n"
        "assert kernel_for(two, None)(1) == 6\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
