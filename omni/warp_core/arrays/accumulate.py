"""Gradients of steps that are no launches: they are `taken` over from results, and `add`ed to those of inputs.

On the CPU native code adds what is simple, NumPy the rest; a kernel adds on a GPU. Additions on the CPU reserve their
memory, so that launches of other threads that add to it wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from ..dispatch import capture
from ..lang.types import BF16, Struct, Type, element
from ..late_bound import late
from .dtypes import bfloat16_bits, bfloat16_numbers
from .layouts import byte_range, may_share_memory


def add(sums: Any, more: Any) -> None:
    """Add the elements of one array to those of another of the same shape, wherever each is. Integers stay."""
    if sums.device.is_cuda:
        late("add_by_kernel")(sums, more)
    else:
        capture.call(_add, sums, more, label=f"add {sums.size}", writes=[sums])


def move_gradient(gradient: Any, to: Any) -> None:
    """Clear a gradient, and add what it was to another, if there is one; the two may overlap.

    Raises:
        RuntimeError: the gradient is one of integers and not zero, as they were seen as floating point numbers.
    """
    if not gradient._require_element().is_active and _is_set(gradient):
        name = gradient._require_element().name
        raise RuntimeError(
            f"a copy of {name} elements has a gradient, because they were viewed as floating point "
            "numbers: copy floating point views instead, `wp.copy(b.view(float), a.view(float))`"
        )
    if to is None:
        gradient.zero_()
    elif gradient.device is not to.device or may_share_memory(gradient, to):
        given = gradient._copied()
        gradient.zero_()
        add(to, given)
    else:
        add(to, gradient)
        gradient.zero_()


def _is_set(gradient: Any) -> bool:
    """True if the gradient is known to be non-zero. Always False on a GPU or in a graph, where checking would need a
    synchronization.
    """
    low, high = byte_range(gradient)
    return gradient.device.is_cpu and capture.innermost() is None and _native.any_set(low, high - low)


def _add(sums: Any, more: Any) -> None:
    if not _native.add(sums, more):
        _add_with_numpy(sums, more)


def _add_with_numpy(sums: Any, more: Any) -> None:
    with _native.Reservation(*byte_range(sums)):
        accumulate(sums._to_write(), sums._require_element().type, more._numbers(), more._require_element().type)


def add_product(sums: Any, factors: Any, more: Any) -> None:
    """Add the elements of an array, times those of an array of numbers, to those of another; all on one device."""
    if sums.device.is_cuda:
        late("add_product_by_kernel")(sums, factors, more)
    else:
        capture.call(_add_product, sums, factors, more, label=f"add products {sums.size}", writes=[sums])


def _add_product(sums: Any, factors: Any, more: Any) -> None:
    numbers, inner = factors._numbers(), sums._require_element().inner
    target = sums._to_write()
    with _native.Reservation(*byte_range(sums)):
        target += numbers.reshape(numbers.shape + (1,) * len(inner)) * more._numbers()


def taken(result: Any) -> Any:
    """The gradient of what a step wrote, which is zero from now on: its inputs take it over."""
    given = result.grad._copied()
    result.grad.zero_()
    return given


def accumulate(sums: np.ndarray, t: Type, more: np.ndarray, of: Type) -> None:
    """Add numbers that are elements of type `of` to those of type `t`. Integers have no gradient."""
    if isinstance(t, Struct):
        for name, field in t.fields:
            accumulate(sums[name], field, more[name], field)
        return
    if not (is_sum(t) and is_sum(of)):
        return
    more = bfloat16_numbers(more) if element(of) is BF16 else more
    if element(t) is BF16:
        sums[...] = bfloat16_bits(bfloat16_numbers(sums) + more)
    else:
        np.add(sums, more, out=sums, casting="same_kind")


def is_sum(t: Type) -> bool:
    """True for floating point numbers and packed types of them. Structs do not count: members are added one by one."""
    return getattr(element(t), "is_float", False)
