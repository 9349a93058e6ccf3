"""Memory for tangents: beside the memory of arrays, as much that holds the tangents of it.

Arrays that overlap have tangents that overlap in the same way. Start with `TangentStorage.ensure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import layouts
from ..arrays.array import array
from ..arrays.indexed_array import indexedarray
from ..arrays.layouts import byte_range
from ..devices.interval_map import IntervalMap
from ..dispatch import observers
from ..lang.types import Array, Struct
from ..lang.values.type_registry import python_type
from ..tape import launch_vjp


class _Block(NamedTuple):
    """Addresses from `low` to `high`, and the bytes that shadow them. `kept` keeps the memory there alive, so that
    nothing else is made at these addresses.
    """

    low: int
    high: int
    root: array
    kept: array


class TangentStorage:
    """The tangents of some memory.

    `spans` are addresses that are shadowed as one; arrays outside of them as one with the whole memory that they are
    views of.
    """

    def __init__(self, spans: Sequence[tuple[int, int]] = ()):
        self._spans = spans
        self._blocks: IntervalMap[_Block] = IntervalMap(joins=False)
        self._adopted: dict[bytes, array] = {}

    def adopt(self, a: array, tangent: array) -> None:
        """Let `tangent` itself hold the tangents of `a`, which overlaps no other array."""
        self._adopted[layouts.identity(a)] = tangent

    def of(self, a: array) -> array | None:
        """The array of the tangents of `a`, None where nothing shadows its memory."""
        found = self._adopted.get(layouts.identity(a))
        if found is not None or not a.size:
            return found
        low, high = byte_range(a)
        block = self._blocks.meeting((low, high))
        if block is None:
            return None
        if low < block.low or block.high < high:
            raise ValueError("arrays overlap in memory that is not known as a whole, so tangents cannot follow")
        self._check_numbers(a, block.kept)
        layout = layouts.Layout(a.shape, a.strides, a._address - block.low)
        return block.root._view_of(layout, a._require_element())

    @staticmethod
    def _check_numbers(a: array, other: array) -> None:
        mine, theirs = a._require_element(), other._require_element()
        if not mine.shows_numbers_of(theirs):
            raise ValueError(
                f"an array of {mine.name} shows memory of {theirs.name} with tangents, which cannot follow the bits of "
                "numbers"
            )

    def ensure(self, a: array) -> array:
        """The array of the tangents of `a`; they begin at zero."""
        found = self.of(a)
        if found is None and a.size:
            low, high = self._extent(a)
            flows = observers.tape() is not None
            root = array(dtype=np.uint8, shape=high - low, requires_grad=flows, device=a.device)
            with observers.NotRecording():
                root.zero_()
            self._blocks.add((low, high), _Block(low, high, root, a))
            found = self.of(a)
        if found is None:
            return array(dtype=a.dtype, shape=a.shape, device=a.device)
        return found

    def _extent(self, a: array) -> tuple[int, int]:
        low, high = byte_range(a)
        for span in self._spans:
            if span[0] <= low and high <= span[1]:
                return span
        first, last = _memory(a.owner)
        return (first, last) if first <= low and high <= last else (low, high)


def _memory(owner: Any) -> tuple[int, int]:
    """The addresses of the memory behind an array; none where that is not known."""
    if isinstance(owner, np.ndarray):
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        low, high = layouts.span(owner.shape, owner.strides, owner.itemsize)
        return owner.ctypes.data + low, owner.ctypes.data + high
    if hasattr(owner, "nbytes"):
        return owner.ptr, owner.ptr + owner.nbytes
    return 0, 0


def arrays_in(value: Any) -> list[array]:
    """The arrays of floating point numbers that an argument is or has."""
    return [a for a in launch_vjp.arrays_in(value) if a._require_element().is_active]


def pairs(name: str, value: Any, tangent: Any) -> list[tuple[array, array]]:
    """The arrays in an argument whose tangents are given, with these.

    Raises:
        TypeError, ValueError: a tangent does not fit.
    """
    if tangent is None or value is None:
        return []
    if isinstance(value, indexedarray):
        return pairs(name, value.data, getattr(tangent, "data", tangent))
    if isinstance(value, array):
        return [(value, _like(name, value, tangent))]
    t: Any = getattr(type(value), "__wc_type__", None)
    if not isinstance(t, Struct):
        return []
    if not isinstance(tangent, type(value)):
        raise TypeError(f"tangent of `{name}`: expected a {t.name}, got {type(tangent).__name__}")
    fields = [field for field, ft in t.fields if isinstance(ft, (Array, Struct))]
    return [p for f in fields for p in pairs(f"{name}.{f}", getattr(value, f), getattr(tangent, f))]


def _like(name: str, a: array, tangent: Any) -> array:
    """A tangent as an array; NumPy arrays of the right type are used in place."""
    if not a._require_element().is_active:
        raise TypeError(f"tangent of `{name}`: {a._require_element().name} arrays have none, only floating point ones")
    if not isinstance(tangent, array):
        tangent = array(tangent, dtype=a.dtype, copy=False, device=a.device)
    for what in ("dtype", "shape", "device"):
        mine, theirs = getattr(a, what), getattr(tangent, what)
        if mine != theirs:
            raise ValueError(f"tangent of `{name}`: expected {what} {mine}, got {theirs}")
    return tangent


def tangent_value(t: Any, value: Any, given: Any, shadows: TangentStorage) -> Any:
    """The argument for the tangent of a parameter of type `t`."""
    if isinstance(value, indexedarray):
        return indexedarray(shadows.ensure(value.data), value.indices[: value.ndim])
    if isinstance(value, array):
        return shadows.ensure(value) if value._require_element().is_active else value
    if not isinstance(t, Struct) or value is None:
        return given
    made = python_type(t)()
    for name, ft in t.fields:
        old, new = getattr(value, name), getattr(given, name, None)
        if isinstance(ft, (Array, Struct)):
            if old is not None:
                setattr(made, name, tangent_value(ft, old, new, shadows))
        elif new is not None and ft.is_differentiable:
            setattr(made, name, new)
    return made
