"""The words of a field, and running sums that number what kernels have counted in them."""

from __future__ import annotations

import math

from ...algo.scan import array_scan
from ...arrays.array import array
from ...arrays.factories import empty
from ...arrays.transfer import copy
from ...lang.values.scalars import int64
from .grid_words import BITS

MOST = 2**31 - 1  # vertices and indices, as indices are int32; and words


def words_of(field: array) -> tuple[int, int, int]:
    """Return the numbers of words of bits in x, y and z. Raises ValueError."""
    num_x, num_y, num_z = field.shape
    words = (num_x, num_y, -(-num_z // BITS))
    if 3 * math.prod(words) >= MOST:
        raise ValueError(f"field: {field.shape} are more nodes than the limit of {MOST // 3 * BITS}")
    return words


def sum_up(counts: list[array]) -> array:
    """Put the sum of the counts before each place in its place. Return the totals, which the last places get."""
    totals = empty(len(counts), dtype=int64, device=counts[0].device)
    for i, a in enumerate(counts):
        array_scan(a, a, inclusive=False)
        copy(totals, a, dest_offset=i, src_offset=a.size - 1, count=1)
    return totals


def read_sizes(sizes: array) -> tuple[int, int]:
    """Return the numbers of vertices and indices. Raises ValueError."""
    num_vertices, num_indices = (int(n) for n in sizes.numpy())
    if max(num_vertices, num_indices) > MOST:
        raise ValueError(f"field: the surface has {num_indices} indices, more than the limit of {MOST}")
    return num_vertices, num_indices
