"""The kernels of marching cubes, on words of bits (grid_words.py).

An edge is the node where it begins, and an axis. Vertices are numbered by word, in a word by axis, and then by bit. So
the number of the vertex on an edge is a running sum plus a count of bits. Cells that share an edge find the same
number, and it does not depend on threads.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from ... import bit_count, cw_mul, tid, vec3
from ...arrays.array import array1d, array3d
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float32, int32, int64, uint32
from .grid_words import (
    BITS,
    OPTIONS,
    case_of,
    corner_bits,
    cut_cells,
    has_room,
    lowest,
    next_word,
    node_at,
    part_of_edge,
    word,
)


@func
def _touched(cells: array3d(dtype=uint32), x: int, y: int, k: int) -> uint32:
    """Return the bits of nodes that have a cell of row (x, y) before or behind them in z."""
    c = word(cells, x, y, k)
    return c | c << uint32(1) | word(cells, x, y, k - 1) >> uint32(31)


@kernel(**OPTIONS)
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
    in_x = (here ^ word(above, x + 1, y, k)) & (row | _touched(cells, x, y - 1, k))
    in_y = (here ^ word(above, x, y + 1, k)) & (row | _touched(cells, x - 1, y, k))
    around = word(cells, x, y, k) | word(cells, x - 1, y, k)
    around |= word(cells, x, y - 1, k) | word(cells, x - 1, y - 1, k)
    in_z = (here ^ next_word(above, x, y, k)) & around
    place = 3 * ((x * above.shape[1] + y) * above.shape[2] + k)
    edges[place] = in_x
    edges[place + 1] = in_y
    edges[place + 2] = in_z
    counts[place] = int64(bit_count(in_x))
    counts[place + 1] = int64(bit_count(in_y))
    counts[place + 2] = int64(bit_count(in_z))


@kernel(lanes=1, **OPTIONS)
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
        c = corner_bits(above, x, y, k)
        rest = cut_cells(cells[x, y, k], c)
        while rest != uint32(0):
            case = case_of(c, lowest(rest))
            total += ranges[case + 1] - ranges[case]
            rest &= rest - uint32(1)
    counts[(x * above.shape[1] + y) * above.shape[2] + k] = int64(total)


@kernel(lanes=1, **OPTIONS)
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
    rest = edges[place] if has_room(starts, vertices.shape[0]) else uint32(0)
    while rest != uint32(0):
        vertices[number] = (node + int64(lowest(rest))) * int64(3) + int64(axis)
        number += int64(1)
        rest &= rest - uint32(1)


@func
def _vertex(edges: array1d(dtype=uint32), starts: array1d(dtype=int64), word: int, axis: int, bit: int) -> int:
    """Return the number of the vertex on an edge."""
    below = (uint32(1) << uint32(bit)) - uint32(1)
    return int(starts[3 * word + axis]) + bit_count(edges[3 * word + axis] & below)


@kernel(lanes=1, **OPTIONS)
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
    fits = has_room(vertex_starts, max_vertices) and has_room(index_starts, indices.shape[0])
    if fits and cells[x, y, k] != uint32(0):
        c = corner_bits(above, x, y, k)
        rest = cut_cells(cells[x, y, k], c)
        place = index_starts[(x * above.shape[1] + y) * above.shape[2] + k]
        while rest != uint32(0):
            bit = lowest(rest)
            case = case_of(c, bit)
            for i in range(ranges[case], ranges[case + 1]):
                at = corners[i]
                u, v, z = x + (at & 1), y + (at >> 1 & 1), bit + (at >> 2 & 1)
                word = (u * above.shape[1] + v) * above.shape[2] + k + (z >> 5)
                indices[place] = _vertex(edges, vertex_starts, word, at >> 3, z & 31)
                place += int64(1)
            rest &= rest - uint32(1)


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
        number = vertices[i] // int64(3)
        axis, node = int(vertices[i] - number * int64(3)), node_at(field, number)
        x, y, z = node[0], node[1], node[2]
        p = vec3(float(x), float(y), float(z))
        p[axis] += part_of_edge(
            field[x, y, z], field[x + int(axis == 0), y + int(axis == 1), z + int(axis == 2)], threshold
        )
        positions[i] = lower + cw_mul(spacing, p)
