"""Queries of hash grids: which points may lie near a place. `HashGridData` is the layout of a grid in memory.

Space is cut into cubes as wide as the radius of the build. Cube (x, y, z) belongs to cell (x mod dim_x, y mod dim_y,
z mod dim_z), and cells are counted with x fastest. The points of cells that follow each other in x follow each other
in memory, so a query reads one or two runs of points for each row of cells. Points of a cell are sorted by group if
they have groups, and a query of one group reads its part of each cell. geometry/hash_grid.py builds the grid.

The grid has the coordinates of its points in that order, too, so a query leaves out points that are too far without a
look at the caller's array. On CPUs native/src/geometry/hash_grid_walk.h does the work of `_hash_grid_next`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import F, Vec
from ...lang.ref_params import ref
from ...lang.registry import builtin
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float16, float32, float64, int32, uint64
from ...lang.values.structs import struct
from ..search import first_at_least
from ..vectors import isnan
from .structure_ids import HASH_GRID
from .structure_lookup import structure_at, unknown

SLACK = 0.125  # of the width of a cell: how far points may have come nearer since the build, where cells cover it
FAR = 536870912.0  # cubes from the origin (2**29): beyond it, all belong to the last one
_LAST_GROUP = 2147483647
_UNKNOWN = unknown("hash grid", "grid")
_OTHER_TYPE = (
    "the hash grid has points of {0}-bit floats, and the query is of {1}-bit ones: both must be of vec3h, vec3 or vec3d"
)
_NO_GROUPS = "the query is of group {0}, but the hash grid was built without groups: give `groups` to build()"


@struct
class HashGridData:
    """A hash grid in memory, at the address that the lower 48 bits of its id are.

    Attributes:
        id: the grid's id; zero once it is freed.
        cell_starts: address of an int32 for each cell, and one more: where its points begin in `point_ids`.
        point_ids: address of the indices of all points, in the order of their cells. Points of one cell are in
            ascending order, by group first. Points that are not finite come last, in no cell.
        groups: address of the groups (int32) of the points in that order; zero if the points have none.
        xs: address of the x coordinates (float32) of the points in that order, and likewise ys and zs; zero if points
            are of doubles.
        dim_x: cells in x, and likewise in y and z.
        num_points: the number of points.
        inv_cell_width: cells for each unit of length. If points are narrower, it is a number of float32.
        bits: of the floats that points consist of.
    """

    id: uint64
    cell_starts: uint64
    point_ids: uint64
    groups: uint64
    xs: uint64
    ys: uint64
    zs: uint64
    inv_cell_width: float64
    dim_x: int32
    dim_y: int32
    dim_z: int32
    num_points: int32
    bits: int32


@struct
class HashGridQuery:
    """A query on its way through a grid: the cells to visit, the next cell, and what is left of a run of points.

    `wp.hash_grid_query` makes it and `wp.hash_grid_query_next` advances it. `x`, `y` and `z` are the next cell. They
    count from `begin` to `end`, beyond the last cell of the grid, where cell 0 follows again. The points at `place` to
    `end` are next. Those whose squared distance from the centre is above `limit` are left out, unless `xs` is zero.
    `groups` is zero if points of all groups are wanted. Native code finds points ahead, and numbers them: `first` of
    them was found at this place, `number` is next.
    """

    cell_starts: uint64
    point_ids: uint64
    groups: uint64
    xs: uint64
    ys: uint64
    zs: uint64
    center_x: float32
    center_y: float32
    center_z: float32
    limit: float32
    dim_x: int32
    dim_y: int32
    dim_z: int32
    begin_x: int32
    end_x: int32
    begin_y: int32
    end_y: int32
    end_z: int32
    group: int32
    x: int32
    y: int32
    z: int32
    place: int32
    end: int32
    first: uint64
    number: uint64


@builtin
def _hash_grid_at(id: uint64) -> HashGridData:
    """The grid of an id."""
    return structure_at(id, HASH_GRID, HashGridData, _UNKNOWN)


@builtin(name="_hash_grid_cube")
def cube_of(x: F, inv_cell_width: F) -> int32:
    """The number of the cube that a coordinate lies in."""
    return int32(prim.max(prim.min(prim.floor(x * inv_cell_width), F(FAR)), F(-FAR)))


@builtin(name="_hash_grid_cell")
def cell_of(cube: int32, dim: int32) -> int32:
    """The cell of a cube along one axis."""
    cell = prim.rem(cube, dim)
    return prim.select(cell < 0, cell + dim, cell)


@builtin
def _hash_grid_cells(id: uint64, bits: int32, point: Vec[3, F], reach: F) -> HashGridQuery:
    """Query for the points in the cells that meet the cube of half edge `reach` around a point.

    Points are left out that are farther than `reach`, and than the width of a cell, by an eighth of that width.
    """
    data = _hash_grid_at(id)
    query = HashGridQuery()
    total = point[0] + point[1] + point[2]
    if data.num_points > 0 and data.bits != bits:
        prim.fail("handle", _OTHER_TYPE, data.bits, bits)
    elif data.num_points > 0 and not isnan(total) and reach >= F(0.0):
        scale = F(data.inv_cell_width)
        x, last_x = cube_of(point[0] - reach, scale), cube_of(point[0] + reach, scale)
        y, last_y = cube_of(point[1] - reach, scale), cube_of(point[1] + reach, scale)
        z, last_z = cube_of(point[2] - reach, scale), cube_of(point[2] + reach, scale)
        query.begin_x, query.begin_y, query.z = cell_of(x, data.dim_x), cell_of(y, data.dim_y), cell_of(z, data.dim_z)
        query.x, query.y = query.begin_x, query.begin_y
        query.end_x = query.begin_x + prim.min(last_x - x + 1, data.dim_x)
        query.end_y = query.begin_y + prim.min(last_y - y + 1, data.dim_y)
        query.end_z = query.z + prim.min(last_z - z + 1, data.dim_z)
        query.cell_starts, query.point_ids = data.cell_starts, data.point_ids
        query.dim_x, query.dim_y, query.dim_z = data.dim_x, data.dim_y, data.dim_z
        query.xs, query.ys, query.zs = data.xs, data.ys, data.zs
        query.center_x, query.center_y, query.center_z = float32(point[0]), float32(point[1]), float32(point[2])
        width = float32(1.0 / data.inv_cell_width)
        farthest = prim.max(float32(reach), width) + float32(SLACK) * width
        query.limit = farthest * farthest
    return query


@builtin
def hash_grid_query(id: uint64, point: Vec[3, float32], max_dist: float32) -> HashGridQuery:
    """Query of a hash grid for the points near a place.

    `wp.hash_grid_query_next` gives the points one by one: all that were within `max_dist` when the grid was built, and
    others farther away. Callers compare the distance themselves, to where points are now. No point comes twice. The
    order depends on the points and the grid alone.

    Args:
        id: of the grid: `grid.id`, a uint64.
        point: the place, a vec3; a vec3h or vec3d if the grid has such points.
        max_dist: the distance, a float of the same type. Any distance is right; a query is fast up to about the radius
            of the build.
        group: an int32: only points of this group are wanted, of a grid that was built with groups. Points of all
            groups if left out.

    Returns:
        A HashGridQuery. It finds nothing if `point` or `max_dist` is NaN, or `max_dist` is negative. It is a
        KernelError for an id without a grid, for points of another type, and for points without groups.

    Error: exact.
    Derivative: none.

    >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
    >>> grid.build(wp.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu"), 1.0)
    >>> query = wp.hash_grid_query(grid.id, wp.vec3(0.1, 0.0, 0.0), 0.5)
    >>> query.begin_x, query.end_x  # cell 7, and cell 0 behind the last one
    (7, 9)
    """
    return _hash_grid_cells(id, 32, point, _hash_grid_reach(max_dist, 1.000001, 1e-22))


@builtin(name="hash_grid_query")
def _hash_grid_query_double(id: uint64, point: Vec[3, float64], max_dist: float64) -> HashGridQuery:
    return _hash_grid_cells(id, 64, point, _hash_grid_reach(max_dist, float64(1.00000000000001), float64(1e-161)))


@builtin(name="hash_grid_query")
def _hash_grid_query_half(id: uint64, point: Vec[3, float16], max_dist: float16) -> HashGridQuery:
    reach = _hash_grid_reach(float32(max_dist), 1.005, 0.0005)
    return _hash_grid_cells(id, 16, prim.cast(point, Vec[3, float32]), reach)


@builtin
def _hash_grid_reach(max_dist: F, factor: F, least: F) -> F:
    """A distance with room for the rounding of what callers compute as the distance of two points.

    Their squares are zero if points are closer than about `least`.
    """
    return prim.select(max_dist >= F(0.0), max_dist * factor + least, F(-1.0))


@builtin(name="hash_grid_query")
def _hash_grid_query_group(id: uint64, point: Vec[3, F], max_dist: F, group: int32) -> HashGridQuery:
    query = hash_grid_query(id, point, max_dist)
    if query.cell_starts != uint64(0):
        query.groups, query.group = _hash_grid_at(id).groups, group
        if query.groups == uint64(0):
            prim.fail("handle", _NO_GROUPS, group)
            query = HashGridQuery()
    return query


@builtin
def _hash_grid_run(query: HashGridQuery) -> tuple[int32, int32, int32]:
    """Where the points of the next cells begin and end, and the cell behind.

    These are the cells of a row up to the last one of the grid, or one cell if the query is of a group.
    """
    is_wrapped = query.x >= query.dim_x
    stop = prim.select(is_wrapped, query.end_x, prim.min(query.end_x, query.dim_x))
    stop = prim.select(query.groups == uint64(0), stop, query.x + 1)
    x = prim.select(is_wrapped, query.x - query.dim_x, query.x)
    y = prim.select(query.y >= query.dim_y, query.y - query.dim_y, query.y)
    z = prim.select(query.z >= query.dim_z, query.z - query.dim_z, query.z)
    first = (z * query.dim_y + y) * query.dim_x + x
    last = first + stop - query.x
    starts = prim.array_at(query.cell_starts, last + 1, int32)
    begin, end = starts[first], starts[last]
    if query.groups != uint64(0):
        groups = prim.array_at(query.groups, end, int32)
        begin = first_at_least(groups, begin, end, query.group)
        if query.group < _LAST_GROUP:
            end = first_at_least(groups, begin, end, query.group + 1)
    return begin, end, stop


@builtin
def _hash_grid_is_near(query: HashGridQuery, place: int32) -> boolean:
    """False if the point at a place is too far."""
    is_near = True
    if query.xs != uint64(0):
        count = place + 1
        x = prim.array_at(query.xs, count, float32)[place] - query.center_x
        y = prim.array_at(query.ys, count, float32)[place] - query.center_y
        z = prim.array_at(query.zs, count, float32)[place] - query.center_z
        is_near = prim.fma(z, z, prim.fma(y, y, x * x)) <= query.limit
    return is_near


@builtin
def _hash_grid_next(query: HashGridQuery) -> tuple[int32, int32, int32, int32, int32, int32, uint64, uint64]:
    """The next point of a query, -1 behind the last, and the members of the query from `x` on as they are then."""
    found = -1
    while found < 0 and (query.place < query.end or query.z < query.end_z):
        if query.place < query.end:
            if _hash_grid_is_near(query, query.place):
                found = prim.array_at(query.point_ids, query.end, int32)[query.place]
            query.place += 1
        else:
            query.place, query.end, x = _hash_grid_run(query)
            is_row_done = x == query.end_x
            query.x = prim.select(is_row_done, query.begin_x, x)
            y = prim.select(is_row_done, query.y + 1, query.y)
            is_layer_done = y == query.end_y
            query.y = prim.select(is_layer_done, query.begin_y, y)
            query.z = prim.select(is_layer_done, query.z + 1, query.z)
    return found, query.x, query.y, query.z, query.place, query.end, query.first, query.number


@builtin
def hash_grid_query_next(query: ref[HashGridQuery], index: ref[int32]) -> boolean:
    """Next point of a query of a hash grid.

    Args:
        query: from `wp.hash_grid_query`; a local variable, which is advanced.
        index: a local int32, which becomes the index of the point in the array that the grid was built of.

    Returns:
        True if there was a point; otherwise `index` stays as it is.

    Error: exact.
    Derivative: none.

    >>> @wp.kernel
    ... def count(grid: wp.uint64, points: wp.array[wp.vec3], near: wp.array[int]):
    ...     i = wp.tid()
    ...     query = wp.hash_grid_query(grid, points[i], 1.0)
    ...     index, found = int(0), int(0)
    ...     while wp.hash_grid_query_next(query, index):
    ...         if wp.length(points[i] - points[index]) <= 1.0:
    ...             found += 1
    ...     near[i] = found
    >>> points = wp.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [3.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> near = wp.zeros(3, dtype=int, device="cpu")
    >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
    >>> grid.build(points, 1.0)
    >>> wp.launch(count, dim=3, inputs=[grid.id, points, near], device="cpu")
    >>> near.list()
    [2, 2, 1]
    """
    found, query.x, query.y, query.z, query.place, query.end, query.first, query.number = _hash_grid_next(query)
    if found >= 0:
        index = found  # noqa: F841 - it is the caller's
    return found >= 0


@builtin
def hash_grid_point_id(id: uint64, index: int32) -> int32:
    """Index of a point, in the order of the cells of a hash grid.

    Threads that take their points in this order find their neighbours in memory that was used just before.

    Args:
        id: of the grid: `grid.id`, a uint64.
        index: the place in that order, an int32 from 0 to the number of points. Points that are not finite come last.

    Returns:
        The index of the point in the array that the grid was built of, an int32; -1 if there is no such place.

    Error: exact.
    Derivative: none.

    >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
    >>> grid.build(wp.array([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu"), 1.0)
    >>> wp.hash_grid_point_id(grid.id, 0)
    1
    """
    data = _hash_grid_at(id)
    found = -1
    if index >= 0 and index < data.num_points:
        found = prim.array_at(data.point_ids, data.num_points, int32)[index]
    return found
