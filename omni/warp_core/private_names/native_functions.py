"""`runtime.core`: functions of warp-lang's native library, by the names that programs call through `ctypes`.

`wp_builtin_<function>_<types of the arguments>(argument, ..., byref(result))` is the function of the kernel language,
`wp_array_inner_float_host(...)` and its like are those of `wp.utils` on memory that addresses name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

from ..arrays.array import array
from ..lang import registry
from ..lang.types import F32, F64, Scalar, Type
from ..lang.values.scalars import SCALAR_CLASSES
from ..lang.values.type_registry import python_type
from ..lang.values.value_classes import NAMED
from ..utils import array_inner, array_sum

_BUILTIN = "wp_builtin_"
_FLOATS = {"float": F32, "double": F64}
_TYPES = {cls.__name__: t for t, cls in SCALAR_CLASSES.items()} | NAMED


class NativeFunctions:
    """Has a function as an attribute for each name that stands for one. See this module."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        made = _builtin(name) if name.startswith(_BUILTIN) else _on_memory(name)
        if made is None:
            raise AttributeError(
                f"warp-lang's native function {name!r} is not here, only {_BUILTIN}<function>_<types of its arguments> "
                "of the kernel language, and wp_array_inner_, wp_array_sum_ with float_host, double_host",
                name=name,
            )
        setattr(self, name, made)
        return made


# -- functions of the kernel language ---------------------------------------------------------------------------------


def _builtin(name: str) -> Callable[..., None] | None:
    words = name.removeprefix(_BUILTIN).split("_")
    for at in range(1, len(words) + 1):
        types = [_TYPES[word] for word in words[at:] if word in _TYPES]
        function = registry.public("_".join(words[:at])) if len(types) == len(words) - at else None
        if function is not None:
            return partial(_call, function, types)
    return None


def _call(function: Any, types: list[Type], *arguments: Any) -> None:
    if len(arguments) != len(types) + 1:
        raise TypeError(f"expected {len(types)} arguments and the address of the result, got {len(arguments)}")
    result = function(*(_value(x, t) for x, t in zip(arguments, types)))
    _write(result, arguments[-1])


def _value(given: Any, t: Type) -> Any:
    """An argument, which may be a number or an array of `ctypes`."""
    cls = python_type(t)
    if isinstance(t, Scalar):
        return cls(getattr(given, "value", given))
    return cls.from_buffer_copy(given) if isinstance(given, ctypes.Array) else cls(given)


def _write(result: Any, to: Any) -> None:
    """Store a result where `ctypes.byref` or a pointer of `ctypes` points."""
    place = to._obj if hasattr(to, "_obj") else to.contents
    if hasattr(place, "value") and not isinstance(place, ctypes.Array):
        place.value = result
    else:
        memoryview(place).cast("B")[:] = memoryview(result).cast("B")


# -- functions on memory ----------------------------------------------------------------------------------------------


def _on_memory(name: str) -> Callable[..., None] | None:
    for prefix, call in (("wp_array_inner_", _inner), ("wp_array_sum_", _sum)):
        scalar, _, place = name.removeprefix(prefix).partition("_")
        if name.startswith(prefix) and scalar in _FLOATS and place == "host":
            return partial(call, _FLOATS[scalar])
    return None


def _inner(s: Scalar, a: int, b: int, out: int, count: int, a_stride: int, b_stride: int, length: int) -> None:
    array_inner(
        _rows(s, a, count, a_stride, length),
        _rows(s, b, count, b_stride, length),
        out=_rows(s, out, 1, s.size, 1).flatten(),
    )


def _sum(s: Scalar, a: int, out: int, count: int, stride: int, length: int) -> None:
    array_sum(_rows(s, a, count, stride, length), out=_rows(s, out, 1, s.size * length, length), axis=0)


def _rows(s: Scalar, address: int, count: int, stride: int, length: int) -> Any:
    """The memory of `count` elements of `length` numbers each, `stride` bytes apart."""
    return array(ptr=address, dtype=SCALAR_CLASSES[s], shape=(count, length), strides=(stride, s.size))
