"""Vectors and matrices as what they are in warp-lang, arrays of `ctypes`.

Programs write `ctypes.byref(v)`, `ctypes.sizeof(wp.vec3)` and `isinstance(v, ctypes.Array)`.

`install` gives these functions of `ctypes` to programs. Everything that is no vector goes to `ctypes` itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..lang.values.ctypes_views import ctype_of
from ..lang.values.value_methods import Components


def _c_array(x: Any) -> Any:
    """The array of `ctypes` that shares the memory of a vector or matrix, or is the C type of its class."""
    if isinstance(x, Components):
        return ctype_of(x.__wc_type__).from_buffer(x)
    if isinstance(x, type) and issubclass(x, Components) and hasattr(x, "__wc_type__"):
        return ctype_of(x.__wc_type__)
    return x


def _of_vectors(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(x: Any, *more: Any) -> Any:
        return function(_c_array(x), *more)

    return call


class _Array:
    """Stands for `ctypes.Array`, of which vectors and matrices are instances, too."""

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, (Components, _CArray))

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, (Components, _CArray))

    def __mro_entries__(self, bases: tuple) -> tuple:
        return (_CArray,)

    def __getitem__(self, parameters: Any) -> Any:
        return _CArray[parameters]

    def __getattr__(self, name: str) -> Any:
        return getattr(_CArray, name)


_CArray = ctypes.Array


def install() -> None:
    """Let the functions of `ctypes` take vectors and matrices in the rest of the process."""
    for name in ("addressof", "byref", "pointer", "sizeof"):
        setattr(ctypes, name, _of_vectors(getattr(ctypes, name)))
    ctypes.Array = _Array()  # type: ignore[misc,assignment]
