"""The kernels of marching cubes on a list of cells.

An edge is a key: its first corner among all corners that the cells may have, and its axis. Cells that share an edge
find the same key, and numbers of keys are those of vertices.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from __future__ import annotations

from ... import atomic_max, atomic_min, bit_count, cw_mul, isnan, max, min, tid, vec3, vec3i
from ...arrays.array import array1d, array2d
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float32, int32, int64
from .grid_words import OPTIONS, part_of_edge

CHUNK = 256  # cells of a thread that looks for bounds
_EDGES = 12


@func
def _offset(corner: int) -> vec3i:
    """Return the offset of a corner of a cell, in the order of `CUBE_CORNER_OFFSETS`."""
    return vec3i((corner ^ corner >> 1) & 1, corner >> 1 & 1, corner >> 2)


@func
def _key(p: vec3i, lower: vec3i, sizes: vec3i) -> int64:
    """Return the number of a corner in a box of corners."""
    x, y, z = int64(p[0]) - int64(lower[0]), int64(p[1]) - int64(lower[1]), int64(p[2]) - int64(lower[2])
    return (x * int64(sizes[1]) + y) * int64(sizes[2]) + z


@kernel(**OPTIONS)
def find_bounds(cells: array2d(dtype=int32), bounds: array2d(dtype=int32)):
    """Take the least and the greatest subscripts of cells into the rows of `bounds`."""
    i = tid()
    for axis in range(3):
        least, greatest = cells[i * CHUNK, axis], cells[i * CHUNK, axis]
        for j in range(i * CHUNK, min((i + 1) * CHUNK, cells.shape[0])):
            least, greatest = min(least, cells[j, axis]), max(greatest, cells[j, axis])
        atomic_min(bounds, 0, axis, least)
        atomic_max(bounds, 1, axis, greatest)


@kernel(**OPTIONS)
def list_corners(cells: array2d(dtype=int32), lower: vec3i, sizes: vec3i, keys: array1d(dtype=int64)):
    """Write the keys of the eight corners of each cell."""
    i, corner = tid()
    cell = vec3i(cells[i, 0], cells[i, 1], cells[i, 2])
    keys[8 * i + corner] = _key(cell + _offset(corner), lower, sizes)


@kernel(**OPTIONS)
def place_corners(
    cells: array2d(dtype=int32), corners: array1d(dtype=int32), lower: vec3, spacing: vec3, points: array1d(dtype=vec3)
):
    """Write where corners are. A corner is a cell times eight, plus its place in the cell."""
    i = tid()
    cell, p = corners[i] >> 3, _offset(corners[i] & 7)
    p += vec3i(cells[cell, 0], cells[cell, 1], cells[cell, 2])
    points[i] = lower + cw_mul(spacing, vec3(float(p[0]), float(p[1]), float(p[2])))


@kernel(module_options={"mode": "release"})
def gather(corner_values: array1d(dtype=float32), numbers: array1d(dtype=int32), values: array2d(dtype=float32)):
    """Give each cell the values of its corners."""
    i, corner = tid()
    values[i, corner] = corner_values[numbers[8 * i + corner]]


@func
def _case(values: array2d(dtype=float32), threshold: float, cell: int) -> int:
    """Return the case of a cell: 0, which has no surface, where a value is NaN."""
    case, known = int32(0), True
    for corner in range(8):
        value = values[cell, corner]
        known = known and not isnan(value)
        case |= int32(value >= threshold) << corner
    return int(case) if known else 0


@kernel(**OPTIONS)
def count(
    values: array2d(dtype=float32),
    threshold: float32,
    ranges: array1d(dtype=int32),
    cuts: array1d(dtype=int32),
    cases: array1d(dtype=int32),
    counts: array2d(dtype=int64),
):
    """Write the case of each cell, and count its edges with a vertex and its indices."""
    i = tid()
    case = _case(values, threshold, i)
    cases[i] = case
    counts[0, i] = int64(bit_count(cuts[case]))
    counts[1, i] = int64(ranges[case + 1] - ranges[case])


@kernel(**OPTIONS)
def list_edges(
    cells: array2d(dtype=int32),
    cases: array1d(dtype=int32),
    cuts: array1d(dtype=int32),
    ends: array1d(dtype=int32),
    lower: vec3i,
    sizes: vec3i,
    starts: array1d(dtype=int64),
    keys: array1d(dtype=int64),
    edges: array1d(dtype=int32),
):
    """Write the key of each edge with a vertex, and the edge as a cell times twelve, plus its place in the cell."""
    i = tid()
    place, cut = starts[i], cuts[cases[i]]
    for edge in range(_EDGES):
        if cut >> edge & 1 != 0:
            begin = _offset(ends[2 * edge])
            step = _offset(ends[2 * edge + 1]) - begin
            corner = vec3i(cells[i, 0], cells[i, 1], cells[i, 2]) + begin
            keys[place] = int64(3) * _key(corner, lower, sizes) + int64(step[1] + 2 * step[2])
            edges[place] = _EDGES * i + edge
            place += int64(1)


@kernel(**OPTIONS)
def connect(
    cases: array1d(dtype=int32),
    cuts: array1d(dtype=int32),
    ranges: array1d(dtype=int32),
    corners: array1d(dtype=int32),
    edge_starts: array1d(dtype=int64),
    index_starts: array1d(dtype=int64),
    vertices: array1d(dtype=int32),
    indices: array1d(dtype=int32),
):
    """Write the triangles, whose corners lie on edges. `vertices` has the number of each edge with a vertex."""
    i = tid()
    case, place = cases[i], index_starts[i]
    for j in range(ranges[case], ranges[case + 1]):
        before = bit_count(cuts[case] & (1 << corners[j]) - 1)
        indices[place] = vertices[edge_starts[i] + int64(before)]
        place += int64(1)


@kernel(module_options={"mode": "release"})
def place_vertices(
    values: array2d(dtype=float32),
    threshold: float32,
    cells: array2d(dtype=int32),
    edges: array1d(dtype=int32),
    firsts: array1d(dtype=int32),
    ends: array1d(dtype=int32),
    lower: vec3,
    spacing: vec3,
    positions: array1d(dtype=vec3),
):
    """Write where the value on the edge of each vertex is the threshold, by the values of its first cell."""
    i = tid()
    cell = edges[firsts[i]] // _EDGES
    edge = edges[firsts[i]] - _EDGES * cell
    a, b = ends[2 * edge], ends[2 * edge + 1]
    begin, step = _offset(a), _offset(b) - _offset(a)
    part = part_of_edge(values[cell, a], values[cell, b], threshold)
    corner = vec3i(cells[cell, 0], cells[cell, 1], cells[cell, 2]) + begin
    p = vec3(float(corner[0]), float(corner[1]), float(corner[2]))
    p += part * vec3(float(step[0]), float(step[1]), float(step[2]))
    positions[i] = lower + cw_mul(spacing, p)
