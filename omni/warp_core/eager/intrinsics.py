"""Intrinsics at Python scope and in interpreted kernels, where they need more than values.

The functions become the column `run` of the table of intrinsics. The thread an interpreted kernel runs for is in
`grid`. Atomics and element access work on `ArrayCells`, so outside a kernel they say that they belong in one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from .. import config
from ..ir.ops import UPDATES
from ..lang import semantics
from ..lang.annotations import type_of
from ..lang.array_structs.fabric_annotation import FabricCells
from ..lang.array_structs.indexed_annotation import IndexedCells
from ..lang.registry import intrinsic
from ..lang.types import F32, U64, Array, FixedArray, Scalar, element
from ..lang.values.scalars import SCALAR_CLASSES, ScalarValue, int32, operand, plain_number
from ..lang.values.value_classes import from_leaves, to_leaves
from .array_view import Address, ArrayCells, LocalCells, counted


class Grid:
    """The launch that an interpreted kernel belongs to and the thread that runs now."""

    __slots__ = ("dims", "index", "is_tiled", "threads", "worker")

    def __init__(self, dims: tuple[int, ...], is_tiled: bool = False):
        self.dims, self.threads, self.is_tiled = dims, math.prod(dims), is_tiled
        self.index: tuple[int, ...] = ()
        self.worker: Any = None  # of a kernel that works in blocks: see block_scheduler.py


grid: ContextVar[Grid | None] = ContextVar("grid", default=None)


def tid(count: int = 1) -> Any:
    """The indices of this thread, `count` of them. One index in a launch of several dimensions counts them all. In a
    tiled launch, and in the dialect of warp-lang, fewer indices than dimensions are the first. In that dialect, indices
    beyond the last dimension are 0.
    """
    here = grid.get()
    if here is None:
        raise RuntimeError("wp.tid() has a value only inside a kernel")
    takes_first = config.dialect == "warp-lang" and here.worker is None
    if takes_first or (here.is_tiled and count < len(here.dims)):
        index = (*map(int32, here.index), *[int32(0)] * count)[:count]
        return index if count > 1 else index[0]
    if count == 1:
        if here.threads > 1 << 31:
            raise ValueError(
                f"the launch has {here.threads} threads, but a single `i = wp.tid()` is an int32, which counts at most "
                "2147483648 threads. Use one index per dimension, as in `i, j = wp.tid()`, or launch parts"
            )
        flat = 0
        for i, n in zip(here.index, here.dims):
            flat = flat * n + i
        return int32(flat)
    if count != len(here.dims):
        raise ValueError(f"wp.tid() is unpacked into {count} indices, but the launch has {len(here.dims)} dimensions")
    return tuple(int32(i) for i in here.index)


def typed(x: Any) -> Any:
    """A bare Python number as the type it takes where nothing else asks for one."""
    if isinstance(x, (bool, ScalarValue, Address)):
        return x
    if isinstance(x, int):
        return int32(x)
    return SCALAR_CLASSES[F32](x) if isinstance(x, float) else x


def _place(name: str, array: Any, indices: tuple) -> tuple[ArrayCells, tuple]:
    if isinstance(array, (IndexedCells, FabricCells)):
        return array.place(indices)
    if not isinstance(array, ArrayCells):
        raise TypeError(f"wp.{name} works on an array inside a kernel, got {type(array).__name__}")
    return array, indices


def _atomic(kind: str) -> Callable:
    rule = semantics.BINARY.get(UPDATES.get(kind, kind))

    def run(array: Any, *args: Any) -> Any:
        cells, indices = _place(f"atomic_{kind}", array, args[:-1])
        t = cells.__wc_type__.dtype
        s = element(t)
        assert isinstance(s, Scalar)
        with cells.accessed("atomic"):
            old = cells[indices]
            new = [rule(s, a, b) if rule else b for a, b in zip(to_leaves(old, t), to_leaves(args[-1], t))]
            cells[indices] = from_leaves(t, new)
        return old

    run.__name__ = f"atomic_{kind}"
    return run


def _atomic_cas(array: Any, *args: Any) -> Any:
    if len(args) < 3:
        raise TypeError("wp.atomic_cas takes an array, its indices, the value to compare with and the new value")
    *at, expected, value = args
    cells, indices = _place("atomic_cas", array, tuple(at))
    with cells.accessed("atomic"):
        old = cells[indices]
        if old == expected:
            cells[indices] = value
    return old


def _load(array: Any, *indices: Any) -> Any:
    if not indices and not isinstance(array, ArrayCells):
        return array  # `wp.load(a[i])`
    cells, indices = _place("load", array, indices)
    return cells[indices]


def _store(array: Any, *args: Any) -> None:
    cells, indices = _place("store", array, args[:-1])
    cells[indices] = args[-1]


def _address_of(array: Any, *indices: Any) -> Any:
    cells, indices = _place("address_of", array, indices)
    return SCALAR_CLASSES[U64](cells.address(indices))


def _zeros(shape: Any = None, dtype: Any = float, n: Any = None, length: Any = None) -> LocalCells:
    """A local array."""
    given = next(s for s in (shape, n, length) if s is not None)
    extents = given if isinstance(given, tuple) else (given,)
    return LocalCells(FixedArray(type_of(dtype), tuple(int(n) for n in extents)))


def _view_at(ptr: Any, shape: Any, dtype: Any = float) -> ArrayCells:
    """A view of an array from an address on, in the order of rows."""
    t = type_of(dtype)
    extents = tuple(map(int, shape if isinstance(shape, tuple) else (shape,)))
    strides = tuple(t.size * math.prod(extents[k + 1 :]) for k in range(len(extents)))
    return ArrayCells(Array(t, len(extents)), int(ptr), extents, strides, None)


_SPEC = re.compile(r"%([-+ 0#]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z)?([a-zA-Z%])")


def _printf(text: str, *args: Any) -> None:
    rest = iter(args)

    def show(spec: re.Match) -> str:
        return "%" if spec[2] == "%" else f"%{spec[1]}{spec[2]}" % (_shown(next(rest), spec[2]),)

    print(_SPEC.sub(show, text), end="", flush=True)


def _shown(x: Any, conversion: str) -> Any:
    """An operand as C shows it: `%u` and the like take the bits of a negative number, `%c` a character of ASCII."""
    if isinstance(x, str):
        return x
    number: Any = plain_number(x)
    if conversion == "c":
        return number & 127
    if conversion in "uxXo" and isinstance(x, ScalarValue):
        return number % (1 << x.__wc_type__.bits)
    return number


def same_type(a: Any, b: Any) -> tuple[Any, Any]:
    """Two alternatives of one type: a literal takes that of the other."""
    if isinstance(a, ScalarValue) and not isinstance(b, ScalarValue):
        return a, _adapted(b, a)
    if isinstance(b, ScalarValue) and not isinstance(a, ScalarValue):
        return _adapted(a, b), b
    return typed(a), typed(b)


def _adapted(x: Any, to: ScalarValue) -> Any:
    number = operand(to.__wc_type__, x)
    if number is None:
        raise TypeError(f"expected {type(to).__name__}, got {type(x).__name__}")
    return to._make(number)


def _where(condition: Any, if_true: Any, if_false: Any) -> Any:
    a, b = same_type(if_true, if_false)
    return a if condition else b


def run_by(functions: Mapping[str, Callable]) -> None:
    """Let functions run the intrinsics of some names."""
    for name, function in functions.items():
        intrinsic(name).run = function


_FUNCTIONS: dict[str, Callable] = {
    "tid": tid,
    "printf": _printf,
    "print": print,
    "zeros": _zeros,
    "array": _view_at,
    "load": _load,
    "store": _store,
    "array_store": _store,
    "view": _load,
    "address": _load,
    "address_of": _address_of,
    "where": _where,
    "select": lambda condition, if_false, if_true: _where(condition, if_true, if_false),
    "len": lambda x: counted(len(x)),
    "static": lambda x: x,
    "constant": lambda x: x,
    "atomic_cas": _atomic_cas,
    **{f"atomic_{kind}": _atomic(kind) for kind in ("add", "sub", "min", "max", "and", "or", "xor", "exch")},
}
run_by(_FUNCTIONS)  # block_scheduler.py adds the functions of blocks
