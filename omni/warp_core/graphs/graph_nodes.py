"""The nodes of saved graphs, with the addresses in them: packed arguments of launches, calls of native functions.

Functions take `at`, which translates. To save, it turns an address, and how many bytes belong to it on either side,
into a place in a region. To load, it turns a place into an address.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..arrays import transfer
from ..arrays.array import array
from ..arrays.dtypes import element_of
from ..lang.types import MAX_NDIM, Array, Type, leaves, parse_type
from ..lang.values.value_classes import python_type

ARRAY = struct.Struct("<QQ4q4q")  # wc_array of native/include/warp_core/abi.h
Reach = tuple[int, int]  # bytes below and above an address


class ArrayPlace(NamedTuple):
    """An array in the packed arguments of a launch."""

    offset: int
    type: Array


def arrays_in(layout: Sequence[tuple[int, Type]]) -> Iterator[ArrayPlace]:
    """Yield the arrays among parameters, given the offset and the type of each."""
    for offset, t in layout:
        for at, leaf in [(0, t)] if isinstance(t, Array) else leaves(t):
            if isinstance(leaf, Array):
                yield ArrayPlace(offset + at, leaf)


def reach(shape: Sequence[int], strides: Sequence[int], size: int) -> Reach | None:
    """Return how far elements are from the first one, None if there are none. Raises ValueError for no layout."""
    if len(shape) != len(strides) or len(shape) > 8 or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError("no shape of an array")
    if any(type(s) is not int for s in strides) or type(size) is not int or size < 0:
        raise ValueError("no strides of an array")
    if 0 in shape or size == 0:
        return None
    steps = [(n - 1) * s for n, s in zip(shape, strides)]
    return -sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + size


# -- calls of native functions --------------------------------------------------------------------------------------

_ON_ARRAYS = ("cast", "reduce", "scan", "radix_sort_pairs", "segmented_sort_pairs", "sort_into_buckets")
_FUNCTIONS = {name: getattr(_native, name) for name in ("fill", "copy", "fill_strided", "copy_strided", *_ON_ARRAYS)}
_NAMES = {function: name for name, function in _FUNCTIONS.items()}


class Unsaved(Exception):
    """Work that a file cannot hold; the text says why."""


def save_call(function: Callable[..., Any], args: Sequence[Any], at: Callable[[int, int, int], Any]) -> list[Any]:
    """Return a captured call as a file has it. `at` gives the place of an address and the bytes around it.

    Raises:
        Unsaved: it is a call of another function, or of Python objects.
    """
    if function is transfer.assign:
        return _saved_assignment(args[0], args[1], at)
    name = _NAMES.get(function)
    if name in ("fill", "copy"):
        *addresses, nbytes, last = args if name == "fill" else (*args, None)
        return [name, *(at(a, 0, nbytes) for a in addresses), nbytes, *([] if last is None else [last.hex()])]
    if name == "fill_strided":
        address, strides, shape, pattern = args
        return [name, _laid_out(address, strides, shape, len(pattern), at), [*strides], [*shape], pattern.hex()]
    if name == "copy_strided":
        to, to_strides, from_, strides, shape, size = args
        return _saved_copy(to, to_strides, from_, strides, shape, size, at)
    if name in _ON_ARRAYS:
        return [name, [_saved_array(a, at) if isinstance(a, _native.ArrayBase) else a for a in args]]
    raise Unsaved("only launches, copies, fills, conversions, sums, scans and sorts can be saved")


def _saved_copy(to: int, to_strides: Any, from_: int, strides: Any, shape: Any, size: int, at: Any) -> list[Any]:
    places = _laid_out(to, to_strides, shape, size, at), _laid_out(from_, strides, shape, size, at)
    return ["copy_strided", places[0], [*to_strides], places[1], [*strides], [*shape], size]


def _saved_assignment(target: Any, numbers: Any, at: Any) -> list[Any]:
    """Return the assignment of numbers to an array as a copy."""
    given = np.asarray(numbers)
    if given.dtype != target.dtype or given.shape != target.shape or target.ndim > MAX_NDIM:
        raise Unsaved("it converts or repeats numbers: make a wp.array of them before the capture, and use wp.copy")
    if given is not numbers or np.may_share_memory(given, target):
        raise Unsaved("its numbers are not in memory of their own: make a wp.array of them before, and use wp.copy")
    where = target.ctypes.data, target.strides, given.ctypes.data, given.strides
    return _saved_copy(*where, target.shape, target.itemsize, at)


def _laid_out(address: int, strides: Sequence[int], shape: Sequence[int], size: int, at: Any) -> Any:
    found = reach(shape, strides, size)
    return None if found is None else at(address, *found)


def _saved_array(a: Any, at: Any) -> dict[str, Any]:
    t = a._require_element().type
    place = _laid_out(a._address, a.strides, a.shape, t.size, at)
    return {"type": t.key, "shape": [*a.shape], "strides": [*a.strides], "at": place}


def load_call(saved: Sequence[Any], at: Callable[[Any, int, int], int]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function and the arguments of a call. `at` gives the address of a place. Raises ValueError."""
    name, *args = saved
    if name in ("fill", "copy"):
        *places, nbytes = args[:-1] if name == "fill" else args
        if type(nbytes) is not int:
            raise ValueError("no number of bytes")
        addresses = [at(place, 0, nbytes) for place in places]
        if len(addresses) != (1 if name == "fill" else 2):
            raise ValueError("other arguments")
        loaded = (*addresses, nbytes, *([bytes.fromhex(args[-1])] if name == "fill" else []))
    elif name == "fill_strided":
        place, strides, shape, pattern = args
        pattern = bytes.fromhex(pattern)
        loaded = _address(place, strides, shape, len(pattern), at), tuple(strides), tuple(shape), pattern
    elif name == "copy_strided":
        to, to_strides, from_, strides, shape, size = args
        addresses = [_address(*x, shape, size, at) for x in ((to, to_strides), (from_, strides))]
        loaded = addresses[0], tuple(to_strides), addresses[1], tuple(strides), tuple(shape), size
    elif name in _ON_ARRAYS:
        loaded = tuple(_loaded_array(a, at) if type(a) is dict else _number(a) for a in args[0])
    else:
        raise ValueError("an unknown call")
    return _FUNCTIONS[name], loaded


def _address(place: Any, strides: Sequence[int], shape: Sequence[int], size: int, at: Any) -> int:
    found = reach(shape, strides, size)
    if len(shape) > MAX_NDIM:
        raise ValueError("too many dimensions")
    return 0 if found is None else at(place, *found)


def _loaded_array(saved: dict[str, Any], at: Any) -> Any:
    t, shape, strides = parse_type(saved["type"]), saved["shape"], saved["strides"]
    address = _address(saved["at"], strides, shape, t.size, at)
    loaded = array.__new__(array)
    loaded._init(element_of(python_type(t)), address, tuple(shape), tuple(strides))
    return loaded


def _number(value: Any) -> int | None:
    if value is not None and type(value) not in (int, bool):
        raise ValueError("no number")
    return value
