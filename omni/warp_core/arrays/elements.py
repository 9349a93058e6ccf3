"""Single elements of arrays, between Python values and their NumPy form. Start with `get` and `item`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from .. import _native
from ..lang import semantics
from ..lang.types import BF16, MAX_NDIM, Array, Packed, Scalar, Struct, leaves
from ..lang.values.scalars import component, plain_number
from ..lang.values.value_classes import from_leaves, to_leaves
from .dtypes import Element, bfloat16_numbers

# Makes the array that a descriptor inside a struct stands for; the last argument is to be kept alive with it.
Member = Callable[[Array, tuple, Any], Any]


def get(raw: Any, element: Element, member: Member, owner: Any) -> Any:
    """The Python value of one element; `raw` is what indexing the NumPy view gives, `owner` what it points to."""
    t = element.type
    if isinstance(t, Scalar):
        number = raw.item()
        return component(t, semantics.from_bits(number, t) if t is BF16 else number)
    if isinstance(t, Packed):
        return from_leaves(t, _numbers(raw, t.scalar).ravel().tolist())
    return _record(raw, element, member, owner)


def to_list(view: np.ndarray, element: Element, member: Member, owners: Sequence[Any]) -> list[Any]:
    """All elements in C order: plain numbers for scalars, values for the rest; `owners` per element or one for all."""
    t = element.type
    if isinstance(t, Scalar):
        return _numbers(view, t).ravel().tolist()
    if isinstance(t, Packed):
        cls = element.dtype
        return [cls._from(row) for row in _numbers(view, t.scalar).reshape(-1, t.count).tolist()]
    each = repeat(owners[0]) if len(owners) == 1 else owners
    return [_record(raw, element, member, owner) for raw, owner in zip(view.ravel(), each)]


def _numbers(view: np.ndarray, scalar: Scalar) -> np.ndarray:
    return bfloat16_numbers(view) if scalar is BF16 else view


def _record(raw: np.void, element: Element, member: Member, owner: Any) -> Any:
    numbers = iter(element.dtype._packer.unpack(raw.tobytes()))
    flat = [_leaf(t, numbers, member, owner) for _, t in leaves(element.type)]
    return element.dtype._from(flat)


def _leaf(t: Any, numbers: Iterator[Any], member: Member, owner: Any) -> Any:
    if isinstance(t, Array):
        return member(t, tuple(next(numbers) for _ in range(2 + 2 * MAX_NDIM)), owner)
    number = next(numbers)
    return semantics.from_bits(number, t) if t is BF16 else number


def is_single(value: Any, element: Element) -> bool:
    """True if `value` stands for one element rather than for a sequence of elements."""
    if getattr(value, "__wc_type__", None) is element.type or plain_number(value) is not None:
        return True
    return isinstance(value, np.void)


def item(value: Any, element: Element) -> np.ndarray:
    """`value` as a NumPy item (with the inner dimensions) of the element type; one number fills all components.

    Raises:
        TypeError, ValueError: If it is not a value of the element type.
    """
    t = element.type
    if isinstance(t, Struct):
        if plain_number(value) is not None and value == 0:
            return np.zeros((), element.numpy)
        return record(value, element, " or 0")
    if isinstance(t, Packed) and plain_number(value) is not None:
        flat = to_leaves(value, t.scalar) * t.count
    else:
        flat = to_leaves(value, t)
    if (t.scalar if isinstance(t, Packed) else t) is BF16:
        flat = tuple(semantics.bits_of(x, BF16) for x in flat)
    return np.array(flat, element.numpy).reshape(element.inner)


def record(value: Any, element: Element, other: str = "") -> np.ndarray:
    """An instance of a struct, a record of NumPy's or a tuple of the fields' values as one item.

    Raises:
        TypeError, ValueError: If it is something else; the message names what is `other`wise taken.
    """
    if isinstance(value, np.void):
        return match_records(np.asarray(value), element).astype(element.numpy)
    if isinstance(value, tuple):
        value = element.dtype(*value)
    if getattr(value, "__wc_type__", None) is not element.type:
        raise TypeError(f"expected {element.name}{other}, got {type(value).__name__}")
    return np.frombuffer(value._wc_pack(), element.numpy)[0]


def match_records(data: np.ndarray, element: Element) -> np.ndarray:
    """`data` if it holds records with the fields of a struct, which may lie elsewhere or be wider.

    Raises:
        TypeError: If a field is missing, is one too many, or has another shape.
    """
    if _fields(data.dtype) != _fields(element.numpy):
        raise TypeError(
            f"dtype {_shown(data.dtype)} does not have the fields of {element.name}: {_shown(element.numpy)}"
        )
    return data


def _fields(dtype: np.dtype) -> tuple:
    """The shape of a field, and the names in it with theirs."""
    base, shape = dtype.subdtype or (dtype, ())
    return shape, tuple((name, _fields(base[name])) for name in base.names or ())


def _shown(dtype: np.dtype) -> str:
    base, shape = dtype.subdtype or (dtype, ())
    inside = ", ".join(f"{name}: {_shown(base[name])}" for name in base.names or ())
    return (f"{{{inside}}}" if inside else str(base)) + (str(list(shape)) if shape else "")


def references(value: Any) -> tuple[Any, ...]:
    """The arrays that a struct points to, which must outlive its copies in an array."""
    if not hasattr(value, "_leaves") or not isinstance(getattr(value, "__wc_type__", None), Struct):
        return ()
    return tuple(x for x in value._leaves() if isinstance(x, _native.ArrayBase))
