"""Conversion of arrays to other element types. The loop is in native/src/arrays/cast.cpp, for GPUs in gpu/cast.py."""

from __future__ import annotations

from .. import _native
from ..arrays.array import array
from ..arrays.factories import empty_like
from ..arrays.layouts import may_share_memory
from ..arrays.transfer import copy
from ..dispatch import capture
from ..dispatch.operation import Operation, Write, execute
from ..lang.types import SCALARS
from ..late_bound import late
from .argument_checks import check_count, components, require_arrays, require_scalar, require_writable
from .vjp import cast_vjp

__all__ = ["array_cast"]


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """Convert the elements of an array to the type of another.

    Args:
        in_array: Scalars, vectors, matrices, quaternions or transforms of any scalar type.
        out_array: Gets the elements, in its own type.
        count: How many elements of `in_array` to convert; all if left out. Other than all only where `in_array` has
            one dimension.

    Arrays of equal dimensions whose elements have components of one shape are converted element by element, and then
    have the same shape unless it is one dimension. Any others are converted component by component in C order. In both
    cases `out_array` may be larger; what is beyond stays as it is.

    Floats become integers towards zero; what is out of range becomes the nearest integer, NaN zero. Integers wrap. To
    bool: whether not zero.

    Raises:
        TypeError: If elements are structs.
        ValueError: If `out_array` is too small, read-only, or of another shape, or `count` is out of range.

    >>> x = wp.array([1.5, -2.5, 1e20], dtype=float)
    >>> y = wp.empty(3, dtype=wp.int32)
    >>> wp.utils.array_cast(x, y)
    >>> y.list()
    [1, -2, 2147483647]
    """
    require_arrays(in_array=in_array, out_array=out_array)
    require_scalar("in_array", in_array, SCALARS, packed=True)
    require_scalar("out_array", out_array, SCALARS, packed=True)
    require_writable("out_array", out_array)
    size = in_array.size
    number = check_count("count", size if count is None else count, size, f"in_array has {size} elements")
    if in_array.ndim > 1 and number != size:
        raise ValueError(f"count: arrays with {in_array.ndim} dimensions are converted as a whole; flatten them first")
    _check_shapes(in_array, out_array)
    numbers = number * components(in_array)
    room = out_array.size * components(out_array)
    if numbers > room:
        raise ValueError(f"out_array: expected room for {numbers} numbers, got {room} ({out_array.shape} elements)")
    execute(
        Operation(
            "wp.utils.array_cast",
            writes={"out_array": Write(out_array)},
            reads={"in_array": in_array},
            run=lambda: _convert(in_array.contiguous(), out_array, numbers),
            vjp=lambda: cast_vjp(in_array, out_array, numbers),
            jvp=[(in_array, lambda t, out: array_cast(t, out, count))],
        )
    )


def _check_shapes(a: array, b: array) -> None:
    alike = a.ndim == b.ndim and a._require_element().inner == b._require_element().inner
    if alike and a.ndim > 1 and a.shape != b.shape:
        raise ValueError(f"out_array: expected shape {a.shape} like in_array, got {b.shape}")


def _convert(source: array, out: array, numbers: int) -> None:
    if out.device.is_cuda:
        late("cast_on_gpu")(source, out, numbers)
        return
    if out.is_contiguous and not may_share_memory(source, out):
        capture.call(_native.cast, source, out, numbers, label=f"cast {numbers} numbers", writes=[out])
        return
    made = empty_like(out, requires_grad=False)
    copy(made, out)
    capture.call(_native.cast, source, made, numbers, label=f"cast {numbers} numbers", writes=[made])
    copy(out, made)
