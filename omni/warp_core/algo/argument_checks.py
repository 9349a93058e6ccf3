"""Checks of what users pass to the algorithms, and arrays in the layout that native code takes.

Every check names the argument, says what is wrong with it and what would be right.
"""

from __future__ import annotations

import operator
from typing import Any

from ..arrays.array import array
from ..arrays.layouts import may_share_memory
from ..lang.types import F32, F64, I32, I64, U32, U64, Packed, Scalar, Type
from ..lang.values.structs import spell

INTEGERS = (I32, U32, I64, U64)
NUMBERS = (*INTEGERS, F32, F64)


def require_arrays(**arrays: Any) -> None:
    """Raise TypeError for what is no array with a dtype, ValueError unless all are on one device."""
    first = ""
    for name, a in arrays.items():
        if not isinstance(a, array):
            advice = f"; write wp.array({name})" if isinstance(a, (list, tuple)) or hasattr(a, "__array__") else ""
            raise TypeError(f"{name}: expected an array, got {type(a).__name__}{advice}")
        a._require_element()
        first = first or name
        if a.device is not arrays[first].device:
            raise ValueError(f"{name}: is on {a.device}, but {first} is on {arrays[first].device}")


def require_elements(name: str, a: Any, t: Type) -> None:
    """Raise TypeError unless `a` is an array with elements of type `t`."""
    wanted = spell(t)
    it = name if name.isidentifier() else "it"
    if not isinstance(a, array):
        advice = f"write wp.array({it}, dtype=wp.{wanted})"
        raise TypeError(f"{name}: expected an array, got {type(a).__name__}; {advice}")
    if element_type(a) is not t:
        numbers = _numbers_for(it, a, t.count if isinstance(t, Packed) else 1)
        advice = f"; write wp.array({numbers}, dtype=wp.{wanted})" if numbers else ""
        raise TypeError(f"{name}: expected elements of {wanted}, got {a._require_element().name}{advice}")


def _numbers_for(name: str, a: array, count: int) -> str:
    """How to write the numbers of an array as those of elements of `count` numbers; "" if they do not fit."""
    if count == 1 and components(a) > 1:
        return f"{name}.numpy().flatten()"
    fits = components(a) == count or (components(a) == 1 and a.shape[-1:] == (count,))
    return f"{name}.numpy()" if fits else ""


def element_type(a: array) -> Type:
    """The type of the elements."""
    return a._require_element().type


def scalar_of(a: array) -> Type:
    """The type of the components of the elements; a struct is its own."""
    t = element_type(a)
    return t.scalar if isinstance(t, Packed) else t


def components(a: array) -> int:
    """Return the number of components of an element."""
    t = element_type(a)
    return t.count if isinstance(t, Packed) else 1


def require_scalar(name: str, a: array, allowed: tuple[Scalar, ...], packed: bool = False) -> None:
    """Raise TypeError unless the elements are of an allowed type, or made of one where `packed`."""
    t = scalar_of(a) if packed else element_type(a)
    if t not in allowed:
        *most, last = [spell(s) for s in allowed]
        words = f"{', '.join(most)} or {last}" if most else last
        made = " or vectors and matrices of these" if packed else ""
        raise TypeError(f"{name}: expected elements of {words}{made}, got {a._require_element().name}")


def require_same_type(name: str, a: array, other_name: str, other: array) -> None:
    """Raise TypeError unless two arrays have one element type."""
    if element_type(a) is not element_type(other):
        mine, theirs = a._require_element().name, other._require_element().name
        raise TypeError(f"{name}: expected {theirs} elements like {other_name}, got {mine}")


def require_contiguous(name: str, a: array) -> None:
    """Raise ValueError for an array with gaps."""
    if not a.is_contiguous:
        raise ValueError(f"{name}: expected a contiguous array, got strides {a.strides}; pass {name}.contiguous()")


def require_writable(name: str, a: array) -> None:
    """Raise ValueError for read-only memory."""
    if a.readonly:
        raise ValueError(f"{name}: the array is read-only: it shares the memory of a read-only NumPy array")


def require_apart(name: str, a: array, other_name: str, other: array) -> None:
    """Raise ValueError if two contiguous arrays share memory."""
    if may_share_memory(a, other):
        raise ValueError(f"{name}: shares memory with {other_name}")


def integer(name: str, value: Any) -> int:
    """`value` as an int. Raises TypeError for other values, such as a bool."""
    if isinstance(value, bool):
        raise TypeError(f"{name}: expected an integer, got {value}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}") from None


def number(name: str, value: Any) -> float:
    """`value` as a float. Raises TypeError for other values, such as a string or an array."""
    try:
        if hasattr(type(value), "__float__"):
            return float(value)
    except TypeError:
        pass  # an array of several numbers
    raise TypeError(f"{name}: expected a number, got {type(value).__name__}")


def check_count(name: str, value: Any, most: int, reason: str) -> int:
    """`value` as an int from 0 to `most`. Raises TypeError or ValueError, which ends with the reason for the limit."""
    count = integer(name, value)
    if count < 0:
        raise ValueError(f"{name}: must not be negative, got {count}")
    if count > most:
        raise ValueError(f"{name}: got {count}, but {reason}")
    return count


def check_axis(value: Any, a: array) -> int:
    """An axis of `a`, negative ones counted from the last. Raises TypeError, IndexError."""
    axis = integer("axis", value)
    if not -a.ndim <= axis < a.ndim:
        raise IndexError(f"axis: {axis} is out of range for an array with {a.ndim} dimensions")
    return axis % a.ndim
