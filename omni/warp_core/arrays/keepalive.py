"""The arrays that structs inside an array point to, kept alive for as long as an element refers to them.

An array whose elements hold arrays has a dict `_refs`, shared by its views: address of an element -> the arrays it
points to. Every write from Python replaces the entries of the elements it writes. Other arrays have None there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dispatch import capture
from .layouts import Layout

Refs = Sequence[tuple[Any, ...]]  # per element in C order, or one for all


def addresses(base: int, layout: Layout) -> list[int]:
    """The addresses of the elements of a view in C order."""
    grid = np.zeros(layout.shape, np.int64) + (base + layout.offset)
    for axis, (extent, stride) in enumerate(zip(layout.shape, layout.strides)):
        shape = [extent if i == axis else 1 for i in range(len(layout.shape))]
        grid += (np.arange(extent) * stride).reshape(shape)
    return grid.ravel().tolist()


def replace(target: Any, layout: Layout, refs: Refs) -> None:
    """Record that the elements of `target` in `layout` now point to `refs`, or will whenever a captured graph runs."""
    if target._refs is None:
        return
    capture.keep(refs)
    each = itertools.repeat(refs[0]) if len(refs) == 1 else refs
    for address, arrays in zip(addresses(target._address, layout), each):
        if arrays:
            target._refs[address] = arrays
        else:
            target._refs.pop(address, None)


def check(target: Any, refs: Refs) -> None:
    """Raise ValueError if elements of `target` on a GPU would point to memory elsewhere, which kernels cannot read."""
    if target._refs is None or target.device.is_cpu:
        return
    for a in itertools.chain.from_iterable(refs):
        if a.device is not target.device:
            raise ValueError(
                f"an array in a struct is on {a.device}, but the struct would be on {target.device}: put a "
                f'copy into the struct, .to("{target.device}")'
            )


def of(source: Any) -> Refs:
    """Return the arrays that the elements of array `source` point to, in C order."""
    if not source._refs:
        return ((),)
    return [source._refs.get(address, ()) for address in addresses(source._address, source._layout())]
