"""The VJPs of `wp.utils`. Each function is called before the algorithm runs, saves what the gradient needs, and returns
the backward function.

A backward function takes over the gradient of what the algorithm wrote and adds to that of what it read. Results go
first to zero, so that an array may be read and written by one call.
"""

from __future__ import annotations

from collections.abc import Callable

from ..arrays.accumulate import add, add_product, taken
from ..arrays.array import array
from ..arrays.dtypes import element
from ..arrays.layouts import Layout, may_share_memory
from ..dispatch.operation import Backward
from ..tape.saved import SavedArrays
from .argument_checks import element_type, scalar_of


def reduce_vjp(values: array, other: array | None, out: array, count: int, axis: int | None) -> Backward:
    """Return the VJP of the sum of `values`, or of their products with `other`.

    Args:
        values: what is summed.
        other: the factors of `values`, if there are any.
        out: the sums.
        count: how many elements are summed: of all, or along the axis.
        axis: the dimension that is summed, or None for all.
    """
    kept = SavedArrays(
        [] if other is None else [x for x, y in ((values, other), (other, values)) if y.grad is not None]
    )

    def part(x: array) -> array:
        """The elements of an array that take part."""
        if axis is not None:
            return x[(slice(None),) * axis + (slice(count),)]
        return x if count == x.size else x.flatten()[:count]

    def add_to(factors: array | None, given: array) -> Callable[[array], None]:
        def change(sums: array) -> None:
            each = _spread(given, sums.shape, axis)
            if factors is None:
                add(sums, each)
            else:
                add_product(sums, each, factors)

        return change

    def backward() -> None:
        given = taken(out)
        for x, y in ((values, other), (other, values)):
            if x is None or x.grad is None or not element_type(x).is_differentiable:
                continue
            _change(x.grad, part, add_to(None if y is None else part(kept.view(y).contiguous()), given))

    return backward


def cast_vjp(source: array, out: array, numbers: int) -> Backward:
    """Return the VJP of the conversion of the first `numbers` components of `source`.

    Raises:
        ValueError: Both share memory, whose gradient would be of two types.
    """
    if source.grad is not None and may_share_memory(source, out) and element_type(source) is not element_type(out):
        raise ValueError(
            "out_array: shares memory with in_array, so a tape cannot follow the gradient; copy one of them"
        )

    def part(x: array) -> array:
        """The numbers that are converted, in one row."""
        scalar = element(scalar_of(x))
        return x._view_of(Layout((numbers,), (scalar.type.size,)), scalar)

    def backward() -> None:
        assert out.grad is not None
        given = part(out.grad._copied())
        _change(out.grad, part, lambda numbers: numbers.zero_())
        if source.grad is not None and all(element_type(a).is_differentiable for a in (source, out)):
            _change(source.grad, part, lambda sums: add(sums, given))

    return backward


def scan_vjp(source: array, out: array, scan: Callable[[array, array], None]) -> Backward:
    """Return the VJP of running sums, which `scan` computes: a scan from the end."""

    def backward() -> None:
        given = taken(out).flatten()[::-1].contiguous()
        if source.grad is None or not element_type(source).is_differentiable:
            return
        scan(given, given)
        add(source.grad, given[::-1].contiguous().reshape(source.shape))

    return backward


def _spread(given: array, shape: tuple[int, ...], axis: int | None) -> array:
    """The gradients of sums as a view with one for each element that was summed up."""
    strides = (0,) * len(shape) if axis is None else (*given.strides[:axis], 0, *given.strides[axis + 1 :])
    return given._view_of(Layout(shape, strides))


def _change(x: array, part: Callable[[array], array], change: Callable[[array], None]) -> None:
    """Change a part of an array, which is taken of its elements in C order without gaps."""
    dense = x.contiguous()
    change(part(dense))
    if dense is not x:
        x.assign(dense)
