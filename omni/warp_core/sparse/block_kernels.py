"""Kernels of values, block by block, which tapes record. They see blocks as numbers: block, row, column.

`links` say which block goes to each slot of the result, -1 for none (policies.py).
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid
from ..arrays.array import array1d, array3d
from ..lang.kernel import kernel
from .rows import NUMERIC


@kernel(**NUMERIC)
def read_blocks(links: array1d(dtype=int), values: array3d(dtype=Any), out: array3d(dtype=Any), scale: Any):
    """Write the blocks of links, times a number; zero for links of -1."""
    slot, i, j = tid()
    block = links[slot]
    found = out.dtype(0)
    if block >= 0:
        found = out.dtype(scale * values[block, i, j])
    out[slot, i, j] = found


@kernel(**NUMERIC)
def read_transposed(links: array1d(dtype=int), values: array3d(dtype=Any), out: array3d(dtype=Any), scale: Any):
    """Write the transposed blocks of links, times a number."""
    slot, i, j = tid()
    block = links[slot]
    found = out.dtype(0)
    if block >= 0:
        found = scale * values[block, j, i]
    out[slot, i, j] = found


@kernel(**NUMERIC)
def add_blocks(links: array1d(dtype=int), values: array3d(dtype=Any), scale: Any, out: array3d(dtype=Any), kept: Any):
    """Scale what is there, and add the blocks of links, times a number."""
    slot, i, j = tid()
    block = links[slot]
    result = kept * out[slot, i, j]
    if block >= 0:
        result += scale * values[block, i, j]
    out[slot, i, j] = result


@kernel(**NUMERIC)
def combine_blocks(
    links: array1d(dtype=int),
    x_blocks: array1d(dtype=int),
    y_blocks: array1d(dtype=int),
    x: array3d(dtype=Any),
    y: array3d(dtype=Any),
    alpha: Any,
    beta: Any,
    out: array3d(dtype=Any),
):
    """Write alpha times the block of `x` and beta times the block of `y` that belong to each link."""
    slot, i, j = tid()
    link = links[slot]
    result = out.dtype(0)
    if link >= 0:
        of_x = x_blocks[link]
        of_y = y_blocks[link]
        if of_x >= 0:
            result += alpha * x[of_x, i, j]
        if of_y >= 0:
            result += beta * y[of_y, i, j]
    out[slot, i, j] = result


@kernel(**NUMERIC)
def sum_blocks(
    links: array1d(dtype=int),
    starts: array1d(dtype=int),
    order: array1d(dtype=int),
    values: array3d(dtype=Any),
    out: array3d(dtype=Any),
):
    """Write the sum of each group of blocks: those of `order` from one start to the next."""
    slot, i, j = tid()
    group = links[slot]
    result = out.dtype(0)
    if group >= 0:
        for k in range(starts[group], starts[group + 1]):
            result += values[order[k], i, j]
    out[slot, i, j] = result


@kernel(**NUMERIC)
def scale_blocks(values: array1d(dtype=Any), scale: Any):
    """Multiply blocks by a number, in place."""
    block = tid()
    values[block] = scale * values[block]
