"""Kernels that parse lines of judged documents in the LETOR format.

All of them are in this file, because Numba's cache on disk depends on one file.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints

Bytes = NDArray[np.uint8]

# What may be wrong with a line; 0 stands for nothing.
GRADE, QID, NO_QID, INDEX, ORDER, VALUE, WIDE, TWO_QIDS, HAS_QID = range(1, 10)

_TAB, _NEWLINE, _RETURN, _SPACE = 9, 10, 13, 32
_HASH, _PLUS, _MINUS, _DOT, _ZERO, _NINE, _COLON = 35, 43, 45, 46, 48, 57, 58
_LOWER = 32  # the bit that turns an upper-case ASCII letter into lower case

#: The largest feature number, because columns are stored as int32.
LARGEST_INDEX = 2**31 - 1
_LARGEST_VALUE = float(np.finfo(np.float32).max)
# The powers of ten that a float64 holds exactly.
_POWERS: Floats = np.array([10.0**power for power in range(23)])


@kernel
def _byte(text: Bytes, i: int) -> int:
    # Signed, because Numba turns a difference of unsigned numbers into a float.
    return int(np.int64(text[i]))


@kernel
def _parse_int(text: Bytes, start: int, end: int) -> int:
    """Return the whole number in these bytes; -1 if there is none or it has over 18 digits."""
    if start == end or end - start > 18:
        return -1
    found = 0
    for i in range(start, end):
        digit = _byte(text, i) - _ZERO
        if digit < 0 or digit > 9:
            return -1
        found = 10 * found + digit
    return found


@kernel
def _spells(text: Bytes, start: int, end: int, word: str) -> bool:
    """Return whether the bytes are this word, in upper or lower case; ``word`` is in lower case."""
    if end - start != len(word):
        return False
    same = True
    for i in range(len(word)):
        same &= (_byte(text, start + i) | _LOWER) == ord(word[i])
    return same


@kernel
def _power_of_ten(exponent: int) -> float:
    return float(_POWERS[exponent]) if exponent <= 22 else math.pow(10.0, float(exponent))


@kernel
def _parse_float(text: Bytes, start: int, end: int) -> tuple[bool, float]:
    """Return whether the bytes are a decimal number, and the number.

    With up to 15 digits it is the nearest float64; with more, the last few bits may differ.
    """
    i = start
    negative = False
    if i < end and (text[i] == _MINUS or text[i] == _PLUS):
        negative = text[i] == _MINUS
        i += 1
    mantissa = 0
    exponent = 0
    digits = 0
    seen_dot = False
    while i < end:
        byte = _byte(text, i)
        if _ZERO <= byte <= _NINE:
            digits += 1
            if mantissa < 10**17:
                mantissa = 10 * mantissa + (byte - _ZERO)
                exponent -= int(seen_dot)
            else:  # more digits than a float64 holds
                exponent += int(not seen_dot)
        elif byte == _DOT and not seen_dot:
            seen_dot = True
        else:
            break
        i += 1
    if digits == 0:
        return False, 0.0
    if i < end:  # either an exponent or not a number
        if (_byte(text, i) | _LOWER) != ord("e"):
            return False, 0.0
        i += 1
        down = i < end and text[i] == _MINUS
        if i < end and (text[i] == _MINUS or text[i] == _PLUS):
            i += 1
        power = _parse_int(text, i, end)
        if power < 0:
            return False, 0.0
        power = min(power, 100_000)  # a larger exponent gives 0 or infinity as well
        exponent += -power if down else power
    value = float(mantissa)
    if exponent < -300:  # in two steps, because the power of ten alone may overflow
        value = value / 1e300
        exponent = max(exponent + 300, -300)
    if exponent < 0:
        value = value / _power_of_ten(-exponent)
    elif value != 0.0:
        value = value * _power_of_ten(min(exponent, 400))
    return True, -value if negative else value


@kernel
def _token_end(text: Bytes, start: int, end: int) -> int:
    i = start
    while i < end and text[i] > _SPACE and text[i] != _HASH:
        i += 1
    return i


def parse(
    text: Bytes,
    width: int,
    null: float,
    needs_qid: bool,
    grades: Ints,
    qids: Ints,
    lines: Ints,
    ends: Ints,
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
) -> tuple[int, int, int, int, int, int]:
    """Parse complete lines.

    Fills one entry per judged document (grade, query, line counted from 0, and the end of its
    features) and one entry per feature that is not 0 (column and value). ``width`` is the largest
    feature number allowed. Returns the number of documents, lines and features, the largest feature
    number, what is wrong (0 for nothing) and at which byte.
    """
    size = text.shape[0]
    row, line, pairs, named, widest = 0, 0, 0, 0, 0
    i = 0
    while i < size:
        stop = i
        while stop < size and text[stop] != _NEWLINE:
            stop += 1
        first = True
        has_qid = False
        last = 0
        while i < stop:
            if text[i] <= _SPACE:
                i += 1
                continue
            if text[i] == _HASH:
                break
            end = _token_end(text, i, stop)
            if first:
                good, grade = _parse_float(text, i, end)
                if not good or not 0.0 <= grade <= 1e6 or grade != math.floor(grade):
                    return row, line, named, widest, GRADE, i
                grades[row] = int(grade)
                first = False
                i = end
                continue
            colon = i
            while colon < end and text[colon] != _COLON:
                colon += 1
            if last == 0 and _spells(text, i, colon, "qid"):
                if has_qid:
                    return row, line, named, widest, TWO_QIDS, i
                qid = _parse_int(text, colon + 1, end) if colon < end else -1
                if qid < 0:
                    return row, line, named, widest, QID, i
                qids[row] = qid
                has_qid = True
                i = end
                continue
            index = _parse_int(text, i, colon) if colon < end else -1
            if index < 1 or index > LARGEST_INDEX:
                return row, line, named, widest, INDEX, i
            if index > width:
                return row, line, named, widest, WIDE, i
            if index <= last:
                return row, line, named, widest, ORDER, i
            last = index
            good, value = _parse_float(text, colon + 1, end)
            if not good and (
                _spells(text, colon + 1, end, "null") or _spells(text, colon + 1, end, "nan")
            ):
                good, value = True, null
            if not good or abs(value) > _LARGEST_VALUE:
                return row, line, named, widest, VALUE, i
            named += 1
            if value != 0.0:
                columns[pairs] = index - 1
                values[pairs] = value
                pairs += 1
            i = end
        if not first:
            if has_qid != needs_qid:
                return row, line, named, widest, HAS_QID if has_qid else NO_QID, i
            widest = max(widest, last)
            lines[row] = line
            ends[row] = pairs
            row += 1
        line += 1
        i = stop + 1
    return row, line, named, widest, 0, 0


def scatter(
    ends: Ints, columns: NDArray[np.int32], values: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Write the features of each row into the matrix ``out``, which holds zeros."""
    i = 0
    for row in range(out.shape[0]):
        while i < ends[row]:
            out[row, columns[i]] = values[i]
            i += 1
