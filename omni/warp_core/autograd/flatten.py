"""Arrays as rows of float64 numbers: every scalar component of every element, in C order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.array import array
from ..arrays.dtypes import bfloat16_bits, bfloat16_numbers
from ..arrays.transfer import put
from ..dispatch import capture
from ..lang.types import BF16, F16, F32, F64, Packed, Struct, Type

EPSILON = {F16: 2.0**-10, BF16: 2.0**-7, F32: 2.0**-23, F64: 2.0**-52}  # from 1 to the next number


def scalar_of(a: array) -> Type:
    """The type of the components; a struct is its own."""
    t = a._require_element().type
    return t.scalar if isinstance(t, Packed) else t


def is_float(a: Any) -> bool:
    """True if `a` is an array whose components are floating point numbers of one type. Structs have no such type."""
    if not isinstance(a, array):
        return False
    t = a._require_element().type
    return t.is_differentiable and not isinstance(t, Struct)


def has_gradient(a: Any) -> bool:
    """True if this is an array of floating point numbers, vectors or matrices that has a gradient."""
    return is_float(a) and a.grad is not None


def count(a: array) -> int:
    """The number of components."""
    return a.size * math.prod(a._require_element().inner)


def numbers(a: array) -> np.ndarray:
    """A copy of the components as float64, in one row."""
    capture.refuse("wp.autograd", a.device)
    found = a._numbers().reshape(-1)
    return (bfloat16_numbers(found) if scalar_of(a) is BF16 else found).astype(np.float64)


def set_numbers(a: array, values: Any, place: slice | int = slice(None)) -> None:
    """Give components other values, rounded to the type of the array."""
    rounded = np.asarray(values, np.float64)
    found = a._numbers().copy()
    found.flat[place] = bfloat16_bits(rounded) if scalar_of(a) is BF16 else rounded.astype(a._require_element().numpy)
    put(a, found)


def place_of(a: array, component: int) -> str:
    """A component in the user's words: `[2, 1][0]` is the first component of element (2, 1)."""
    inner = a._require_element().inner
    element, part = divmod(component, math.prod(inner))
    words = [np.unravel_index(element, a.shape)]
    if inner:
        words.append(np.unravel_index(part, inner))
    return "".join(f"[{', '.join(str(int(i)) for i in index)}]" for index in words)


class State:
    """The values and gradients of arrays, to be put back."""

    def __init__(self, arrays: list[array], gradients: bool = True):
        self._values = [(a, a._numbers().copy()) for a in arrays]
        self._gradients = [(a, a.grad._numbers().copy()) for a in arrays if gradients and a.grad is not None]

    def restore(self) -> None:
        """Put the values back."""
        for a, values in self._values:
            put(a, values)

    def restore_gradients(self) -> None:
        """Put the gradients back."""
        for a, values in self._gradients:
            if a.grad is not None:
                put(a.grad, values)
