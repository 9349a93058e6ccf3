"""The kernels of surface nets, on words of bits (grid_words.py).

An edge of the grid has a face if its ends differ and all four cells around it are there. A vertex is a cell and one of
its loops (surface_nets_table.py), and there is one if an edge of the loop has a face. Vertices are numbered by word and
then by bit. Three bits of a cell, in three words of counts, say how many vertices it has.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from ... import bit_count, cw_mul, length_sq, tid, vec3, vec4i
from ...arrays.array import array1d, array3d
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float32, int32, int64, uint32
from ...lang.values.value_classes import vector
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
from .surface_nets_table import MOST_LOOPS

_COUNT_BITS = 3  # a cell has 0 to 4 vertices
_LOOP_BITS = 12  # a bit for each edge
_Edges: Any = vector(12, uint32)


@func
def _previous_word(words: array3d(dtype=uint32), x: int, y: int, k: int) -> uint32:
    """Return the bits of the nodes one before in z."""
    return word(words, x, y, k) << uint32(1) | word(words, x, y, k - 1) >> uint32(31)


@func
def _around(cells: array3d(dtype=uint32), x: int, y: int, u: int, v: int, k: int) -> uint32:
    """Return the bits of edges in x or y all of whose four cells are there. The other two are at -u, -v."""
    here = word(cells, x, y, k) & _previous_word(cells, x, y, k)
    return here & word(cells, x - u, y - v, k) & _previous_word(cells, x - u, y - v, k)


@kernel(**OPTIONS)
def find_faces(
    above: array3d(dtype=uint32),
    cells: array3d(dtype=uint32),
    size: int,
    faces: array1d(dtype=uint32),
    counts: array1d(dtype=int64),
):
    """Set the bits of the edges in x, y and z that have a face. Count the indices of faces, of a size each."""
    x, y, k = tid()
    here = above[x, y, k]
    place = 3 * ((x * above.shape[1] + y) * above.shape[2] + k)
    in_x = (here ^ word(above, x + 1, y, k)) & _around(cells, x, y, 0, 1, k)
    in_y = (here ^ word(above, x, y + 1, k)) & _around(cells, x, y, 1, 0, k)
    in_z = here ^ next_word(above, x, y, k)
    for i in range(4):
        in_z &= word(cells, x - (i & 1), y - (i >> 1), k)
    faces[place] = in_x
    faces[place + 1] = in_y
    faces[place + 2] = in_z
    counts[place] = int64(size * bit_count(in_x))
    counts[place + 1] = int64(size * bit_count(in_y))
    counts[place + 2] = int64(size * bit_count(in_z))


@func
def _face_word(faces: array1d(dtype=uint32), above: array3d(dtype=uint32), x: int, y: int, k: int, axis: int) -> uint32:
    """Return the bits of edges along an axis that have a face, or zero outside the grid."""
    result = uint32(0)
    if x < above.shape[0] and y < above.shape[1] and k < above.shape[2]:
        result = faces[3 * ((x * above.shape[1] + y) * above.shape[2] + k) + axis]
    return result


@func
def _face_bits(faces: array1d(dtype=uint32), above: array3d(dtype=uint32), x: int, y: int, k: int) -> _Edges:
    """Return for each edge of a cell the bits of the cells of a word in which it has a face."""
    found = _Edges()
    for i in range(4):
        u, v = i & 1, i >> 1
        found[4 + i] = _face_word(faces, above, x + v, y, k, 1)  # next to y come z, at u, and x, at v
        found[8 + i] = _face_word(faces, above, x + u, y + v, k, 2)
        found[i] = _face_word(faces, above, x, y + u, k, 0)
        if v == 1:
            found[i] = found[i] >> uint32(1) | _face_word(faces, above, x, y + u, k + 1, 0) << uint32(31)
        if u == 1:
            found[4 + i] = found[4 + i] >> uint32(1) | _face_word(faces, above, x + v, y, k + 1, 1) << uint32(31)
    return found


@func
def _edges_of(bits: _Edges, bit: int) -> int:
    """Return the edges of one cell."""
    result = uint32(0)
    for i in range(12):
        result |= (bits[i] >> uint32(bit) & uint32(1)) << uint32(i)
    return int(result)


@func
def _first_loop(
    above: array3d(dtype=uint32),
    cells: array3d(dtype=uint32),
    joined_faces: array1d(dtype=int32),
    case: int,
    x: int,
    y: int,
    z: int,
) -> int:
    """Return where the loops of a cell are in the table: those with lines joined if the next cell wants that, too."""
    face, row = joined_faces[case], 2 * case
    if face >= 0:
        step = 2 * (face & 1) - 1
        u = x + (step if face >> 1 == 0 else 0)
        v = y + (step if face >> 1 == 1 else 0)
        w = z + (step if face >> 1 == 2 else 0)
        k, bit = w >> 5, w & 31
        if w >= 0 and word(cells, u, v, k) >> uint32(bit) & uint32(1) != uint32(0):
            row += int(joined_faces[case_of(corner_bits(above, u, v, k), bit)] == face ^ 1)
    return MOST_LOOPS * row


@kernel(lanes=1, **OPTIONS)
def count_vertices(
    above: array3d(dtype=uint32),
    cells: array3d(dtype=uint32),
    faces: array1d(dtype=uint32),
    joined_faces: array1d(dtype=int32),
    loops: array1d(dtype=int32),
    cell_counts: array1d(dtype=uint32),
    counts: array1d(dtype=int64),
):
    """Count the vertices of each cell, and of each word."""
    x, y, k = tid()
    c = corner_bits(above, x, y, k)
    rest = cut_cells(cells[x, y, k], c)
    used = _face_bits(faces, above, x, y, k)
    place = (x * above.shape[1] + y) * above.shape[2] + k
    b0, b1, b2, total = uint32(0), uint32(0), uint32(0), int32(0)
    while rest != uint32(0):
        bit = lowest(rest)
        edges = _edges_of(used, bit)
        row = _first_loop(above, cells, joined_faces, case_of(c, bit), x, y, BITS * k + bit)
        n = int32(0)
        for i in range(MOST_LOOPS):
            n += int(loops[row + i] & edges != 0)
        b0 |= uint32(n & 1) << uint32(bit)
        b1 |= uint32(n >> 1 & 1) << uint32(bit)
        b2 |= uint32(n >> 2) << uint32(bit)
        total += n
        rest &= rest - uint32(1)
    cell_counts[_COUNT_BITS * place] = b0
    cell_counts[_COUNT_BITS * place + 1] = b1
    cell_counts[_COUNT_BITS * place + 2] = b2
    counts[place] = int64(total)


@kernel(lanes=1, **OPTIONS)
def list_vertices(
    above: array3d(dtype=uint32),
    cells: array3d(dtype=uint32),
    faces: array1d(dtype=uint32),
    joined_faces: array1d(dtype=int32),
    loops: array1d(dtype=int32),
    num_z: int,
    starts: array1d(dtype=int64),
    vertices: array1d(dtype=int64),
):
    """Write the cell and the loop of each vertex, as the first node of the cell and the bits of edges below it.

    Without room for all there are none.
    """
    x, y, k = tid()
    row_of_nodes = x * above.shape[1] + y
    place = row_of_nodes * above.shape[2] + k
    number = starts[place]
    if starts[place + 1] > number and has_room(starts, vertices.shape[0]):
        c = corner_bits(above, x, y, k)
        rest = cut_cells(cells[x, y, k], c)
        used = _face_bits(faces, above, x, y, k)
        while rest != uint32(0):
            bit = lowest(rest)
            z = BITS * k + bit
            edges = _edges_of(used, bit)
            row = _first_loop(above, cells, joined_faces, case_of(c, bit), x, y, z)
            for i in range(MOST_LOOPS):
                if loops[row + i] & edges != 0:
                    node = int64(row_of_nodes) * int64(num_z) + int64(z)
                    vertices[number] = node << int64(_LOOP_BITS) | int64(loops[row + i])
                    number += int64(1)
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
    """Write the mean of the places where the edges of a loop have the threshold. -1 is no vertex."""
    i = tid()
    if vertices[i] >= int64(0):
        number = vertices[i] >> int64(_LOOP_BITS)
        loop, node = int(vertices[i] - (number << int64(_LOOP_BITS))), node_at(field, number)
        x, y, z = node[0], node[1], node[2]
        total, count = vec3(), 0.0
        for e in range(12):
            if loop >> e & 1 != 0:
                axis, u, v = e >> 2, e & 1, e >> 1 & 1
                dx = 0 if axis == 0 else (v if axis == 1 else u)
                dy = u if axis == 0 else (0 if axis == 1 else v)
                dz = v if axis == 0 else (u if axis == 1 else 0)
                begin = field[x + dx, y + dy, z + dz]
                end = field[x + dx + int(axis == 0), y + dy + int(axis == 1), z + dz + int(axis == 2)]
                p = vec3(float(dx), float(dy), float(dz))
                p[axis] += part_of_edge(begin, end, threshold)
                total += p
                count += 1.0
        positions[i] = lower + cw_mul(spacing, vec3(float(x), float(y), float(z)) + total / count)


@func
def _vertex(
    cell_counts: array1d(dtype=uint32),
    starts: array1d(dtype=int64),
    vertices: array1d(dtype=int64),
    place: int,
    bit: int,
    edge: int,
) -> int:
    """Return the vertex of a cell whose loop has an edge."""
    below = (uint32(1) << uint32(bit)) - uint32(1)
    number = int(starts[place])
    for i in range(_COUNT_BITS):
        number += bit_count(cell_counts[_COUNT_BITS * place + i] & below) << i
    while vertices[number] >> int64(edge) & int64(1) == int64(0):
        number += 1
    return number


@kernel(lanes=1, **OPTIONS)
def connect(
    above: array3d(dtype=uint32),
    faces: array1d(dtype=uint32),
    size: int,
    vertex_starts: array1d(dtype=int64),
    index_starts: array1d(dtype=int64),
    cell_counts: array1d(dtype=uint32),
    vertices: array1d(dtype=int64),
    positions: array1d(dtype=vec3),
    indices: array1d(dtype=int32),
):
    """Write the faces, or none without room for them and their vertices. A size of 6 cuts them into triangles.

    The face of an edge has the vertices of the four cells around it. The shorter diagonal cuts it.
    """
    x, y, word_and_axis = tid()
    k, axis = word_and_axis // 3, word_and_axis % 3
    place = (x * above.shape[1] + y) * above.shape[2] + k
    rest = faces[3 * place + axis]
    fits = has_room(vertex_starts, vertices.shape[0]) and has_room(index_starts, indices.shape[0])
    if fits and rest != uint32(0):
        at = index_starts[3 * place + axis]
        while rest != uint32(0):
            bit = lowest(rest)
            corners = vec4i()
            for i in range(4):  # around the edge, counter clockwise as seen from its end
                u, v = int(i == 1 or i == 2), int(i >= 2)
                dx = 0 if axis == 0 else (v if axis == 1 else u)
                dy = u if axis == 0 else (0 if axis == 1 else v)
                z = BITS * k + bit - (v if axis == 0 else (u if axis == 1 else 0))
                cell = ((x - dx) * above.shape[1] + y - dy) * above.shape[2] + (z >> 5)
                edge = axis * 4 + u + 2 * v
                corners[i] = _vertex(cell_counts, vertex_starts, vertices, cell, z & 31, edge)
            if above[x, y, k] >> uint32(bit) & uint32(1) != uint32(0):
                corners[1], corners[3] = corners[3], corners[1]
            a, b, c, d = corners[0], corners[1], corners[2], corners[3]
            if size == 6 and length_sq(positions[b] - positions[d]) < length_sq(positions[a] - positions[c]):
                a, b, c, d = b, c, d, a
            indices[at] = a
            indices[at + int64(1)] = b
            indices[at + int64(2)] = c
            if size == 6:
                indices[at + int64(3)] = a
                indices[at + int64(4)] = c
            indices[at + int64(size - 1)] = d
            at += int64(size)
            rest &= rest - uint32(1)
