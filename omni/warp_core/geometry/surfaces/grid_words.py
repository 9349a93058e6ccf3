"""Fields as words of bits, and what the methods that find surfaces have in common in their kernels.

Nodes are cut into words of 32 that follow each other in z. A bit of a word says whether the value there is above the
threshold, and nearly all steps read bits only. A cell has the bit of its first node.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from ... import bit_count, isfinite, isnan, min, tid, vec3i
from ...arrays.array import array1d, array3d
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float32, float64, int64, uint32
from ...lang.values.value_classes import vector

BITS = 32  # of a word
OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}
Corners: Any = vector(8, uint32)


@kernel(**OPTIONS)
def classify(
    field: array3d(dtype=float32), threshold: float32, above: array3d(dtype=uint32), known: array3d(dtype=uint32)
):
    """Set the bits of nodes whose value is at least the threshold, and of nodes whose value is a number."""
    x, y, k = tid()
    first = k * BITS
    values, numbers = uint32(0), uint32(0)
    for i in range(min(BITS, field.shape[2] - first)):
        value = field[x, y, first + i]
        values |= uint32(value >= threshold) << uint32(i)
        numbers |= uint32(not isnan(value)) << uint32(i)
    above[x, y, k] = values
    known[x, y, k] = numbers


@func
def word(words: array3d(dtype=uint32), x: int, y: int, k: int) -> uint32:
    """Return a word, or zero outside the grid."""
    inside = x >= 0 and y >= 0 and k >= 0 and x < words.shape[0] and y < words.shape[1] and k < words.shape[2]
    result = uint32(0)
    if inside:
        result = words[x, y, k]
    return result


@func
def next_word(words: array3d(dtype=uint32), x: int, y: int, k: int) -> uint32:
    """Return the bits of the nodes one further in z."""
    return word(words, x, y, k) >> uint32(1) | word(words, x, y, k + 1) << uint32(31)


@func
def corner_bits(words: array3d(dtype=uint32), x: int, y: int, k: int) -> Corners:
    """Return the bits of the corners of the cells of a word, in the order of the table."""
    c = Corners()
    for z in range(2):
        for i in range(4):
            u, v = x + int(i == 1 or i == 2), y + int(i >= 2)
            c[4 * z + i] = next_word(words, u, v, k) if z == 1 else word(words, u, v, k)
    return c


@kernel(**OPTIONS)
def find_cells(known: array3d(dtype=uint32), cells: array3d(dtype=uint32)):
    """Set the bits of cells all of whose corners are there, with a number for a value."""
    x, y, k = tid()
    c = corner_bits(known, x, y, k)
    result = c[0]
    for i in range(1, 8):
        result &= c[i]
    cells[x, y, k] = result


@func
def cut_cells(cells: uint32, c: Corners) -> uint32:
    """Return the bits of cells whose corners differ."""
    some, all = c[0], c[0]
    for i in range(1, 8):
        some |= c[i]
        all &= c[i]
    return cells & some & ~all


@func
def lowest(bits: uint32) -> int:
    """Return the index of the lowest set bit."""
    return bit_count((bits & (~bits + uint32(1))) - uint32(1))


@func
def case_of(c: Corners, bit: int) -> int:
    """Return the case of the cell of a bit."""
    result = uint32(0)
    for i in range(8):
        result |= (c[i] >> uint32(bit) & uint32(1)) << uint32(i)
    return int(result)


@func
def has_room(starts: array1d(dtype=int64), room: int) -> bool:
    """True if there is room for all. The last start is the total."""
    return starts[starts.shape[0] - 1] <= int64(room)


@func
def node_at(field: array3d(dtype=float32), number: int64) -> vec3i:
    """Return the place of the node with a number, which counts nodes in the order of memory."""
    row = number // int64(field.shape[2])
    x = int(row // int64(field.shape[1]))
    return vec3i(x, int(row) - x * field.shape[1], int(number - row * int64(field.shape[2])))


@func
def part_of_edge(begin: float, end: float, threshold: float) -> float:
    """Return how far along an edge the value is the threshold, from 0 to 1."""
    part = 0.5  # between two infinite values
    if isfinite(begin) and isfinite(end):  # in float64, where the difference is finite
        part = float((float64(threshold) - float64(begin)) / (float64(end) - float64(begin)))
    elif isfinite(begin):
        part = 0.0
    elif isfinite(end):
        part = 1.0
    return part
