"""Sums and inner products of arrays, whole or along an axis. The algorithm is in native/src/algo/reduce.cpp,
for GPUs in gpu/reduce.py.
"""

from __future__ import annotations

import math
from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.dtypes import Element, element
from ..arrays.layouts import may_share_memory
from ..dispatch import capture
from ..dispatch.operation import Operation, Term, Write, execute
from ..late_bound import late
from .argument_checks import (
    NUMBERS,
    check_axis,
    check_count,
    element_type,
    require_arrays,
    require_contiguous,
    require_same_type,
    require_scalar,
    require_writable,
    scalar_of,
)
from .vjp import reduce_vjp

__all__ = ["array_inner", "array_sum"]


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of the elements, component by component.

    Args:
        values: Of int32, uint32, int64, uint64, float32, float64, or of vectors, matrices, quaternions or transforms of
            these.
        out: Gets the result: the same type, contiguous, shape (1,), or with `axis` the shape of `values` with 1 there.
        value_count: Sum the first elements only: of the array in C order, or along the axis. All if left out.
        axis: The dimension to sum over, negative ones counted from the last; all elements if left out.

    Returns:
        `out` if given; else with `axis` an array like it, without `axis` a NumPy scalar, or array of the components.

    Floats are added in float64 and rounded once, integers wrap. The result depends only on the values and their number,
    not on the number of threads. On a GPU it may differ from that on the CPU in the last bit.

    Raises:
        TypeError: If an element type is not one of those, or that of `out` differs.
        ValueError: If `out` has another shape, is not contiguous or read-only, or `value_count` is out of range.
        IndexError: If there is no such axis.
        RuntimeError: If a tape records, `values` requires a gradient, and the result would be a number: give `out`.

    >>> x = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float)
    >>> float(wp.utils.array_sum(x))
    21.0
    >>> wp.utils.array_sum(x, axis=1).numpy().tolist()
    [[6.0], [15.0]]
    """
    require_arrays(values=values)
    require_scalar("values", values, NUMBERS, packed=True)
    return _reduce(values, None, out, values._require_element(), "value_count", value_count, axis)


def array_inner(
    a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None
) -> Any:  # fmt: skip
    """The sum of the products of two arrays' elements; the product of two vectors is their dot product.

    Args:
        a: As `values` of `array_sum`.
        b: The same type and shape.
        out: As for `array_sum`, but of the scalar type.
        count: As `value_count` of `array_sum`.
        axis: As for `array_sum`.

    Returns:
        As `array_sum`.

    Products of float32 and all sums of floats are computed in float64 and rounded once.

    Raises:
        TypeError, ValueError, IndexError, RuntimeError: As for `array_sum`; or if types or shapes differ.

    >>> x = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> float(wp.utils.array_inner(x, x))
    14.0
    """
    require_arrays(a=a, b=b)
    require_scalar("a", a, NUMBERS, packed=True)
    require_same_type("b", b, "a", a)
    if a.shape != b.shape:
        raise ValueError(f"b: expected shape {a.shape} like a, got {b.shape}")
    return _reduce(a, b, out, element(scalar_of(a)), "count", count, axis)


def _reduce(a: array, b: array | None, out: Any, kind: Element, count_name: str, count: Any, axis: Any) -> Any:
    if axis is None:
        shape: tuple[int, ...] = (1,)
        outer, length, inner = 1, a.size, 1
    else:
        axis = check_axis(axis, a)
        shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
        outer, length, inner = math.prod(a.shape[:axis]), a.shape[axis], math.prod(a.shape[axis + 1 :])
    if out is None and axis is None:
        capture.refuse("a sum that is a number (give out=)")
    if count is not None:
        length = check_count(count_name, count, length, f"there are {length} elements")
    is_number = out is None and axis is None
    if out is not None:
        sums = _check_out(out, a, shape, kind)
    else:
        sums = array._empty(kind, shape, a.device)
        sums.requires_grad = axis is not None and any(x is not None and x.requires_grad for x in (a, b))

    def run() -> None:
        second = None if b is None else _part(b, axis, length)
        _write(sums, _part(a, axis, length), second, (outer, length, inner))

    def other() -> array | None:
        return None if b is None else _part(b, axis, length)

    execute(
        Operation(
            "a sum that is a number (give out=)" if is_number else "a sum",
            writes={} if is_number else {"out": Write(sums)},
            reads={"values": a} if b is None else {"a": a, "b": b},
            run=run,
            vjp=None if is_number else lambda: reduce_vjp(a, b, sums, length, axis),
            jvp=None if is_number else _terms(a, b, (kind, count_name, count, axis)),
        )
    )
    return sums.numpy()[0] if is_number else sums


def _terms(a: array, b: array | None, how: tuple) -> list[Term]:
    """The terms of a sum, for forward mode."""
    terms: list[Term] = [(a, lambda t, out: _reduce(t, b, out, *how))]
    if b is not None:
        terms.append((b, lambda t, out: _reduce(a, t, out, *how)))
    return terms


def _part(a: array, axis: int | None, length: int) -> array:
    """The elements that take part, without gaps where they are summed along an axis."""
    if axis is not None and length < a.shape[axis]:
        a = a[(slice(None),) * axis + (slice(0, length),)]
    return a.contiguous()


def _write(sums: array, a: array, b: array | None, extents: tuple[int, int, int]) -> None:
    target = sums
    if may_share_memory(sums, a) or (b is not None and may_share_memory(sums, b)):
        target = array._empty(sums._require_element(), sums.shape, sums.device)
    _sum(target, a, b, extents)
    if target is not sums:
        sums.assign(target)


def _sum(target: array, a: array, b: array | None, extents: tuple[int, int, int]) -> None:
    if a.device.is_cuda:
        late("reduce_on_gpu")(target, a, b, extents)
        return
    what = f"sum of {a.size}" if b is None else f"inner product of {a.size}"
    capture.call(_native.reduce, target, a, b, *extents, label=what, writes=[target])


def _check_out(out: Any, a: array, shape: tuple[int, ...], kind: Element) -> array:
    require_arrays(out=out)
    if out.device is not a.device:
        raise ValueError(f"out: is on {out.device}, but the array to sum is on {a.device}")
    if element_type(out) is not kind.type:
        raise TypeError(f"out: expected {kind.name} elements, got {out._require_element().name}")
    if out.shape != shape:
        raise ValueError(f"out: expected shape {shape}, got {out.shape}")
    require_contiguous("out", out)
    require_writable("out", out)
    return out
