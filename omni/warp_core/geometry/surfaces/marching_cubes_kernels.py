"""The kernels of marching cubes.

Nodes are cut into words of 32 that follow each other in z. A bit of a word says whether the value there is above the
threshold, and nearly all steps read bits only. An edge is the node where it begins, and an axis. Vertices are numbered
by word, in a word by axis, and then by bit. So the number of the vertex on an edge is a running sum plus a count of
bits. Cells that share an edge find the same number, and it does not depend on threads.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from ... import bit_count, cw_mul, isfinite, isnan, min, tid, vec3
from ...arrays.array import array1d, array3d
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float32, float64, int32, int64, uint32
from ...lang.values.value_classes import vector

BITS = 32  # of a word
_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}
_Corners: Any = vector(8, uint32)


@kernel(**_OPTIONS)
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
def _word(words: array3d(dtype=uint32), x: int, y: int, k: int) -> uint32:
    """Return a word, or zero outside the grid."""
    inside = x >= 0 and y >= 0 and k >= 0 and x < words.shape[0] and y < words.shape[1] and k < words.shape[2]
    result = uint32(0)
    if inside:
        result = words[x, y, k]
    return result


@func
def _next_word(words: array3d(dtype=uint32), x: int, y: int, k: int) -> uint32:
    """Return the bits of the nodes one further in z."""
    return _word(words, x, y, k) >> uint32(1) | _word(words, x, y, k + 1) << uint32(31)


@func
def _corners(words: array3d(dtype=uint32), x: int, y: int, k: int) -> _Corners:
    """Return the bits of the corners of the cells of a word, in the order of the table."""
    c = _Corners()
    for z in range(2):
        for i in range(4):
            u, v = x + int(i == 1 or i == 2), y + int(i >= 2)
            c[4 * z + i] = _next_word(words, u, v, k) if z == 1 else _word(words, u, v, k)
    return c


@kernel(**_OPTIONS)
def find_cells(known: array3d(dtype=uint32), cells: array3d(dtype=uint32)):
    """Set the bits of cells all of whose corners are there, with a number for a value."""
    x, y, k = tid()
    c = _corners(known, x, y, k)
    result = c[0]
    for i in range(1, 8):
        result &= c[i]
    cells[x, y, k] = result


@func
def _touched(cells: array3d(dtype=uint32), x: int, y: int, k: int) -> uint32:
    """Return the bits of nodes that have a cell of row (x, y) before or behind them in z."""
    c = _word(cells, x, y, k)
    return c | c << uint32(1) | _word(cells, x, y, k - 1) >> uint32(31)


@kernel(**_OPTIONS)
def find_edges(
    above: array3d(dtype=uint32),
    cells: array3d(dtype=uint32),
    edges: array1d(dtype=uint32),
    counts: array1d(dtype=int64),
):
    """Set the bits of the edges in x, y and z that have a vertex: the ends differ, and a cell has the edge."""
    x, y, k = tid()
    here = above[x, y, k]
    row = _touched(cells, x, y, k)
    in_x = (here ^ _word(above, x + 1, y, k)) & (row | _touched(cells, x, y - 1, k))
    in_y = (here ^ _word(above, x, y + 1, k)) & (row | _touched(cells, x - 1, y, k))
    around = _word(cells, x, y, k) | _word(cells, x - 1, y, k)
    around |= _word(cells, x, y - 1, k) | _word(cells, x - 1, y - 1, k)
    in_z = (here ^ _next_word(above, x, y, k)) & around
    place = 3 * ((x * above.shape[1] + y) * above.shape[2] + k)
    edges[place] = in_x
    edges[place + 1] = in_y
    edges[place + 2] = in_z
    counts[place] = int64(bit_count(in_x))
    counts[place + 1] = int64(bit_count(in_y))
    counts[place + 2] = int64(bit_count(in_z))


@func
def _cut(cells: uint32, c: _Corners) -> uint32:
    """Return the bits of cells whose corners differ."""
    some, all = c[0], c[0]
    for i in range(1, 8):
        some |= c[i]
        all &= c[i]
    return cells & some & ~all


@func
def _lowest(bits: uint32) -> int:
    """Return the index of the lowest set bit."""
    return bit_count((bits & (~bits + uint32(1))) - uint32(1))


@func
def _case(c: _Corners, bit: int) -> int:
    """Return the case of the cell of a bit."""
    result = uint32(0)
    for i in range(8):
        result |= (c[i] >> uint32(bit) & uint32(1)) << uint32(i)
    return int(result)


@kernel(lanes=1, **_OPTIONS)
def count_indices(
    above: array3d(dtype=uint32),
    cells: array3d(dtype=uint32),
    ranges: array1d(dtype=int32),
    counts: array1d(dtype=int64),
):
    """Count the indices of the triangles of each word: three for a triangle."""
    x, y, k = tid()
    total = int32(0)
    if cells[x, y, k] != uint32(0):
        c = _corners(above, x, y, k)
        rest = _cut(cells[x, y, k], c)
        while rest != uint32(0):
            case = _case(c, _lowest(rest))
            total += ranges[case + 1] - ranges[case]
            rest &= rest - uint32(1)
    counts[(x * above.shape[1] + y) * above.shape[2] + k] = int64(total)


@func
def _fits(starts: array1d(dtype=int64), room: int) -> bool:
    """True if there is room for all. The last start is the total."""
    return starts[starts.shape[0] - 1] <= int64(room)


@kernel(lanes=1, **_OPTIONS)
def list_edges(
    edges: array1d(dtype=uint32), words: int, num_z: int, starts: array1d(dtype=int64), vertices: array1d(dtype=int64)
):
    """Write the edge of each vertex, or none without room for all: its node times three, plus its axis.

    A row has so many words.
    """
    row, k, axis = tid()
    place = (row * words + k) * 3 + axis
    number = starts[place]
    node = int64(row) * int64(num_z) + int64(k * BITS)
    rest = edges[place] if _fits(starts, vertices.shape[0]) else uint32(0)
    while rest != uint32(0):
        vertices[number] = (node + int64(_lowest(rest))) * int64(3) + int64(axis)
        number += int64(1)
        rest &= rest - uint32(1)


@func
def _vertex(edges: array1d(dtype=uint32), starts: array1d(dtype=int64), word: int, axis: int, bit: int) -> int:
    """Return the number of the vertex on an edge."""
    below = (uint32(1) << uint32(bit)) - uint32(1)
    return int(starts[3 * word + axis]) + bit_count(edges[3 * word + axis] & below)


@kernel(lanes=1, **_OPTIONS)
def connect(
    above: array3d(dtype=uint32),
    cells: array3d(dtype=uint32),
    edges: array1d(dtype=uint32),
    vertex_starts: array1d(dtype=int64),
    index_starts: array1d(dtype=int64),
    ranges: array1d(dtype=int32),
    corners: array1d(dtype=int32),
    max_vertices: int,
    indices: array1d(dtype=int32),
):
    """Write the triangles, or none without room for them and their vertices.

    A corner of the table is an axis times eight, plus the offsets in x, y and z as bits.
    """
    x, y, k = tid()
    fits = _fits(vertex_starts, max_vertices) and _fits(index_starts, indices.shape[0])
    if fits and cells[x, y, k] != uint32(0):
        c = _corners(above, x, y, k)
        rest = _cut(cells[x, y, k], c)
        place = index_starts[(x * above.shape[1] + y) * above.shape[2] + k]
        while rest != uint32(0):
            bit = _lowest(rest)
            case = _case(c, bit)
            for i in range(ranges[case], ranges[case + 1]):
                at = corners[i]
                u, v, z = x + (at & 1), y + (at >> 1 & 1), bit + (at >> 2 & 1)
                word = (u * above.shape[1] + v) * above.shape[2] + k + (z >> 5)
                indices[place] = _vertex(edges, vertex_starts, word, at >> 3, z & 31)
                place += int64(1)
            rest &= rest - uint32(1)


@func
def _part(begin: float, end: float, threshold: float) -> float:
    """Return how far along an edge the value is the threshold, from 0 to 1."""
    part = 0.5  # between two infinite values
    if isfinite(begin) and isfinite(end):  # in float64, where the difference is finite
        part = float((float64(threshold) - float64(begin)) / (float64(end) - float64(begin)))
    elif isfinite(begin):
        part = 0.0
    elif isfinite(end):
        part = 1.0
    return part


@kernel(module_options={"mode": "release"})
def place_vertices(
    field: array3d(dtype=float32),
    threshold: float32,
    vertices: array1d(dtype=int64),
    lower: vec3,
    spacing: vec3,
    positions: array1d(dtype=vec3),
):
    """Write where the value on each edge, which is linear in the position, is the threshold. -1 is no edge."""
    i = tid()
    if vertices[i] >= int64(0):
        node = vertices[i] // int64(3)
        row = node // int64(field.shape[2])
        axis, z = int(vertices[i] - node * int64(3)), int(node - row * int64(field.shape[2]))
        x = int(row // int64(field.shape[1]))
        y = int(row) - x * field.shape[1]
        p = vec3(float(x), float(y), float(z))
        p[axis] += _part(field[x, y, z], field[x + int(axis == 0), y + int(axis == 1), z + int(axis == 2)], threshold)
        positions[i] = lower + cw_mul(spacing, p)
