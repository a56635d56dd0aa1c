"""The checks of single values: what they accept, Python's own and NumPy's, and what they refuse."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from clickrank._core.validate import (
    LARGEST,
    check_bool,
    check_choice,
    check_float,
    check_int,
    check_shape,
)
from clickrank.errors import InvalidValue


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.float64(3)])
def test_whole_numbers_are_accepted_and_become_python_ints(value: object) -> None:
    found = check_int("owner", "n", value, 1)
    assert (type(found), found) == (int, 3)


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        "3",
        None,
        2.5,
        math.nan,
        math.inf,
        Fraction(5, 2),
        Decimal(3),
        3j,
        LARGEST + 1,
    ],
)
def test_anything_else_is_no_whole_number(value: object) -> None:
    with pytest.raises(InvalidValue) as raised:
        check_int("owner", "n", value, 1)
    assert str(raised.value) == f"owner: n must be a whole number of at least 1, got {value!r}."


@pytest.mark.parametrize("value", [1, 1.0, np.int64(1), np.float16(1), np.longdouble(1)])
def test_numbers_are_accepted_and_become_python_floats(value: object) -> None:
    found = check_float("owner", "x", value, 0.0, 2.0)
    assert (type(found), found) == (float, 1.0)


@pytest.mark.parametrize(
    "value", [True, np.False_, "1", None, math.nan, math.inf, Fraction(1, 2), Decimal(1), 1j, 2.1]
)
def test_anything_else_is_no_number(value: object) -> None:
    with pytest.raises(InvalidValue) as raised:
        check_float("owner", "x", value, 0.0, 2.0)
    assert str(raised.value) == f"owner: x must be a number between 0 and 2, got {value!r}."


def test_booleans_are_those_of_python_and_numpy() -> None:
    assert check_bool("owner", "b", np.True_) is True
    assert check_bool("owner", "b", False) is False
    for value in (0, 1.0, np.int64(1), "yes", None):
        with pytest.raises(InvalidValue, match="owner: b must be True or False, got "):
            check_bool("owner", "b", value)


def test_choices_and_shapes() -> None:
    check_choice("owner", "c", "two", ("one", "two"))
    with pytest.raises(InvalidValue, match=r"^owner: c must be 'one', 'two' or 'three', got 2\.$"):
        check_choice("owner", "c", 2, ("one", "two", "three"))
    assert check_shape("owner", np.int64(3), 2.0) == (3, 2)
    with pytest.raises(InvalidValue, match=r"n_positions must be between 1 and n_items \(3\), got"):
        check_shape("owner", 3, 4)
