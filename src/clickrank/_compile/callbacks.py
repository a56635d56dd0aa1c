"""Callbacks: compiled code calls other compiled code by its address, with data at an address.

Numba compiles a function again for each combination of argument types. A loop that takes only two
addresses, of a function and of its data, is compiled once for all of them: once per policy, and not
again for each click model. Most of the functions used here belong to Numba's documented interface
for extensions. The address of a compiled function (`jit.address_for`), the calling convention
(`call_conv`) and the owners of arrays (`meminfo`, `parent`) do not.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import extending, types
from numba.core import cgutils

from clickrank._compile.code_keys import INTRINSICS
from clickrank._compile.jit import address_for, generic, kernel_for, switched_off, tell_apart
from clickrank._core.arrays import Ints
from clickrank.errors import invalid


class Callback(NamedTuple):
    """The addresses of a function that a loop calls with each ranking, and of its data.

    If Numba is switched off, these are the function and the data themselves.
    """

    code: Any
    data: Any


tell_apart(Callback)
intrinsic: Any = extending.intrinsic  # its type stubs are wrong about the first parameter
#: Stands for no callback.
NO_CALLBACK = Callback(0, 0)


class Held:
    """A generator, or a NamedTuple, stored where compiled code finds it by an address.

    The descriptors of arrays are stored, not the arrays, which this object keeps alive: the address
    is valid as long as this object exists. Passing the address costs nothing, whereas passing a
    generator takes 4 µs per call.
    """

    def __init__(self, value: Any, code: str | None = "") -> None:
        """Store the value; ``code`` is the key of its class, see `kernel_for`."""
        self.value, self._code = value, code
        self.address: Any = value
        if not switched_off():
            if not isinstance(value, np.random.Generator):
                _check_kind(type(value).__name__, numba.typeof(value))
            self._words: Ints = kernel_for(_lay_down, code)(value)
            self.address = self._words.ctypes.data

    def __reduce__(self) -> tuple[Any, ...]:
        """Give copies, in this process or another one, their own address."""
        return Held, (self.value, self._code)


def _check_kind(owner: str, kind: Any) -> None:
    """Raise if a value has parts that nothing would keep alive."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for part in parts.types:
            _check_kind(owner, part)
    elif not isinstance(kind, _KINDS):
        raise invalid(owner, "all fields must be numbers, arrays or NamedTuples of these", kind)


_KINDS = (types.Number, types.Boolean, types.Array, types.NumPyRandomGeneratorType, types.NoneType)


def callback(
    plain: Callable[..., None], entry: Callable[..., None], data: Held, code: str | None
) -> Callback:
    """Return a callback that calls ``plain(data, ranking, clicks)`` with the data that is held.

    Compiled code calls ``entry`` instead, with pointers to all three and the number of positions.
    ``entry`` passes `data_at` and `numbers_at` of the pointers to ``plain``.
    """
    if switched_off():
        return Callback(plain, data.value)
    kinds = _entry_kinds(numba.typeof(data.value))
    return Callback(address_for(entry, kinds, code), data.address)


def _entry_kinds(data: Any) -> tuple[Any, ...]:
    """Return the types of the arguments of ``entry``, see `callback`."""
    numbers = types.CPointer(types.int64)
    return types.CPointer(data), types.int64, numbers, numbers


def _lay_down(value: Any) -> Ints:
    words = np.zeros(_words_of(value), dtype=np.int64)
    _store(value, words)
    return words


@intrinsic
def _words_of(typing: Any, value: Any) -> Any:
    """Return the size of a value in words of 8 bytes."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = context.get_abi_sizeof(context.get_data_type(value))
        return context.get_constant(types.int64, -(-size // 8))

    return types.int64(value), build


@intrinsic
def _store(typing: Any, value: Any, words: Any) -> Any:
    """Write a value in the form that compiled code uses, without the owners of its arrays."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(words)(context, builder, args[1]).data
        place = builder.bitcast(data, context.get_data_type(value).as_pointer())
        context.pack_value(builder, value, _disowned(context, builder, value, args[0]), place)
        return context.get_dummy_value()

    return types.none(value, words), build


def _disowned(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return a value whose arrays are not reference-counted, because `Held` keeps them alive."""
    parts: Any = kind
    if isinstance(kind, types.BaseTuple):
        for i, part in enumerate(parts.types):
            inner = _disowned(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, inner, i)
    elif isinstance(kind, (types.Array, types.NumPyRandomGeneratorType)):
        fields = cgutils.create_struct_proxy(kind)(context, builder, value)
        fields.meminfo = cgutils.get_null_value(fields.meminfo.type)
        fields.parent = cgutils.get_null_value(fields.parent.type)
        value = fields._getvalue()
    return value


@intrinsic
def data_at(typing: Any, pointer: Any) -> Any:
    """Return the value that is stored at a pointer, of the type that it points to."""
    return _held_at(pointer, pointer.dtype, lambda builder, *to: builder.bitcast(*to))


@intrinsic
def _generator_at(typing: Any, address: Any) -> Any:
    kind = numba.typeof(np.random.default_rng(0))
    return _held_at(address, kind, lambda builder, *to: builder.inttoptr(*to))


def _held_at(pointer: Any, kind: Any, cast: Callable[..., Any]) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = cast(builder, args[0], context.get_data_type(kind).as_pointer())
        return context.unpack_value(builder, kind, place)

    return kind(pointer), build


@intrinsic
def numbers_at(typing: Any, pointer: Any, n: Any) -> Any:
    """Return the vector of ``n`` integers at a pointer."""
    kind = types.Array(types.int64, 1, "C")

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = context.make_array(kind)(context, builder)
        eight = context.get_constant(types.intp, 8)
        found.meminfo = cgutils.get_null_value(found.meminfo.type)
        found.parent = cgutils.get_null_value(found.parent.type)
        found.data, found.nitems, found.itemsize = args[0], args[1], eight
        found.shape = cgutils.pack_array(builder, [args[1]])
        found.strides = cgutils.pack_array(builder, [eight])
        return found._getvalue()

    return kind(pointer, n), build


@intrinsic
def _call_at(typing: Any, code: Any, data: Any, ranking: Any, clicks: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        shown = context.make_array(ranking)(context, builder, args[2])
        clicked = context.make_array(clicks)(context, builder, args[3])
        kinds = _entry_kinds(types.int64)
        kind = context.call_conv.get_function_type(types.none, kinds)
        n = builder.extract_value(shown.shape, 0)
        place = builder.inttoptr(args[1], kind.args[2])
        code_at = builder.inttoptr(args[0], kind.as_pointer())
        given = [place, n, shown.data, clicked.data]
        status, _ = context.call_conv.call_function(builder, code_at, types.none, kinds, given)
        with cgutils.if_unlikely(builder, status.is_error):  # an exception of a click model
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(code, data, ranking, clicks), build


_ALL = {"words_of": _words_of, "store": _store, "data_at": data_at, "numbers_at": numbers_at}
INTRINSICS.update({id(found): name for name, found in _ALL.items()})


# The functions that loops call. The bodies run if Numba is switched off (NUMBA_DISABLE_JIT=1).


def call(back: Callback, ranking: Ints, clicks: Ints) -> None:
    """Call the function with a ranking, and a vector for its clicks."""
    back.code(back.data, ranking, clicks)


def generator_at(address: Any) -> np.random.Generator:
    """Return the generator that is stored at an address."""
    found: np.random.Generator = address
    return found


def _implement_call(back, ranking, clicks):  # type: ignore[no-untyped-def]
    return lambda back, ranking, clicks: _call_at(back.code, back.data, ranking, clicks)


def _implement_generator_at(address):  # type: ignore[no-untyped-def]
    return lambda address: _generator_at(address)


generic(call, _implement_call, inline=True)
generic(generator_at, _implement_generator_at, inline=True)
