"""Lookup in lattices of equal cells, grids and sparse grids: the cell of a position by arithmetic.

Where that cell is not there, or does not count, the nearest one within a distance is taken: cells around it are visited
in rings. Start with `nearest_in_lattice`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef"

from typing import Any

from ... import abs, ceil, clamp, cw_div, cw_mul, dot, floor, func_grad, max, min, sqrt, vector, where
from ...lang.kernel import Function, func
from ...lang.values.struct_operators import StructOperator
from ..kernel_records import position_at
from .environments import environment_of, has_environment
from .lookup import OUTSIDE, coords_in, padded, passes

# Operators on geometries. A lattice has three axes, the last of which has one cell in the plane.
cell_at = StructOperator("cell_at")  # (geometry, i, j, k, environment) -> the cell there, or -1
edges_of = StructOperator("edges_of")  # (geometry) -> the size of a cell along each axis
extent_of = StructOperator("extent_of")  # (geometry) -> the largest number of cells along an axis


@func
def reach_of(edges: Any, max_dist: Any):
    """How far away a cell may be: half of a cell; with a distance, as many whole cells as have it."""
    largest = max(max(edges[0], edges[1]), edges[2])
    distance = type(largest)(max_dist)
    return where(distance > type(largest)(0.0), ceil(distance / largest), type(largest)(0.5)) * largest


@func
def nearest_in_lattice(g: Any, at: Any, inside: Any, max_dist: Any, filter: Any, target: Any, environment: int):
    """The nearest cell within a distance that counts, -1 for none, and where it is in the lattice.

    Args:
        g: The geometry.
        at: The place in the lattice.
        inside: The nearest place in the box around all cells.
        max_dist: How far away a cell may be, see `reach_of`.
        filter: Which cells count, see `passes`.
        target: What a filter has for them.
        environment: The environment of the cell.
    """
    edges = edges_of(g)
    smallest = min(min(edges[0], edges[1]), edges[2])
    best = reach_of(edges, max_dist)
    found, fi, fj, fk = -1, 0, 0, 0
    i, j, k = int(floor(inside[0])), int(floor(inside[1])), int(floor(inside[2]))
    ring, last = 0, extent_of(g)
    while ring <= last and type(best)(ring - 1) * smallest <= best:
        for a in range(i - ring, i + ring + 1):
            for b in range(j - ring, j + ring + 1):
                is_whole = abs(a - i) == ring or abs(b - j) == ring
                c, step = k - ring, where(is_whole or ring == 0, 1, 2 * ring)
                while c <= k + ring:
                    away = cw_mul(beyond_cell(at, a, b, c), edges)
                    distance = sqrt(dot(away, away))
                    if distance < best or (found < 0 and distance == best):
                        cell = cell_at(g, a, b, c, environment)
                        if cell >= 0 and passes(filter, cell, target):
                            best, found, fi, fj, fk = distance, cell, a, b, c
                    c += step
        ring += 1
    return found, fi, fj, fk


@func_grad(nearest_in_lattice)
def no_gradient(
    g: Any,
    at: Any,
    inside: Any,
    max_dist: Any,
    filter: Any,
    target: Any,
    environment: int,
    found: int,
    fi: int,
    fj: int,
    fk: int,
):
    """None: whole numbers have none."""


@func
def in_cell(at: Any, i: int, j: int, k: int):
    """The coordinates of a place in a cell of the lattice, beyond it too."""
    return at - type(at)(type(at[0])(i), type(at[0])(j), type(at[0])(k))


@func
def in_unit_cell(coords: Any):
    """The nearest coordinates of the cell."""
    found = coords
    for n in range(3):
        found[n] = clamp(coords[n], type(coords[n])(0.0), type(coords[n])(1.0))
    return found


@func
def beyond_cell(at: Any, i: int, j: int, k: int):
    """How far a place is beyond a cell of the lattice, along each axis."""
    coords = in_cell(at, i, j, k)
    return coords - in_unit_cell(coords)


@func
def clamped(at: Any, lower: Any, upper: Any):
    """The nearest place of a box."""
    found = at
    for n in range(3):
        found[n] = clamp(at[n], lower[n], upper[n])
    return found


@func
def coords_or_outside(cell: int, coords: Any):
    """The coordinates in a cell that was found, OUTSIDE without one."""
    found = coords
    if cell < 0:
        found = type(coords)(type(coords[0])(OUTSIDE))
    return found


# -- grids ----------------------------------------------------------------------------------------------------------


@func
def line_of_cell(x: Any, last: int):
    """The place along an axis: the cell, and the coordinate in it; of positions beyond the grid the nearest."""
    inside = clamp(x, type(x)(0.0), type(x)(last + 1))
    cell = min(int(floor(inside)), last)
    return cell, inside - type(x)(cell)


@func
def cell_in_plane(g: Any, i: int, j: int, k: int, environment: int):
    """The cell of a grid in the plane."""
    is_there = i >= 0 and i < g.rows and j >= 0 and j < g.columns and k == 0 and has_environment(g, environment)
    return where(is_there, (environment * g.rows + i) * g.columns + j, -1)


@func
def cell_in_space(g: Any, i: int, j: int, k: int, environment: int):
    """The cell of a grid in space."""
    is_there = i >= 0 and i < g.layers and j >= 0 and j < g.rows and k >= 0 and k < g.columns
    number = ((environment * g.layers + i) * g.rows + j) * g.columns + k
    return where(is_there and has_environment(g, environment), number, -1)


@func
def edges_in_plane(g: Any):
    """The size of a cell; along the axis that is not there, that along the first one."""
    return vector(g.size[0], g.size[1], g.size[0])


@func
def edges_in_space(g: Any):
    """The size of a cell."""
    return g.size


@func
def extent_of_grid(g: Any):
    """The largest number of cells along an axis."""
    return max(max(g.layers, g.rows), g.columns)


@func
def in_grid(g: Any, at: Any, cell: int, coords: Any, max_dist: Any, filter: Any, target: Any, environment: int):
    """The cell and the coordinates that arithmetic found, or those of the nearest cell that counts."""
    found, place = cell, coords
    if not (has_environment(g, environment) and passes(filter, cell, target)):
        beyond = vector(type(at[0])(g.layers), type(at[0])(g.rows), type(at[0])(g.columns))
        inside = clamped(at, at - at, beyond)
        found, i, j, k = nearest_in_lattice(g, at, inside, max_dist, filter, target, environment)
        place = coords_or_outside(found, in_unit_cell(in_cell(at, i, j, k)))
    return found, place


@func
def find_2d(g: Any, x: Any, guess: int, max_dist: Any, filter: Any, target: Any, environment: int):
    """The cell and the coordinates of a position in the plane."""
    at = cw_div(x - g.origin, g.size)
    i, u = line_of_cell(at[0], g.rows - 1)
    j, v = line_of_cell(at[1], g.columns - 1)
    number = (environment * g.rows + i) * g.columns + j
    cell, coords = in_grid(g, padded(at), number, vector(u, v, u - u), max_dist, filter, target, environment)
    return cell, coords


@func
def find_3d(g: Any, x: Any, guess: int, max_dist: Any, filter: Any, target: Any, environment: int):
    """The cell and the coordinates of a position in space."""
    at = cw_div(x - g.origin, g.size)
    i, u = line_of_cell(at[0], g.layers - 1)
    j, v = line_of_cell(at[1], g.rows - 1)
    k, w = line_of_cell(at[2], g.columns - 1)
    number = ((environment * g.layers + i) * g.rows + j) * g.columns + k
    cell, coords = in_grid(g, at, number, vector(u, v, w), max_dist, filter, target, environment)
    return cell, coords


@func
def coords_in_plane(g: Any, cell: int, x: Any):
    """The coordinates of a position in a cell, or beyond it: the bits that `find_2d` finds."""
    line = cell // g.columns
    row = line - environment_of(g, cell) * g.rows
    return in_cell(padded(cw_div(x - g.origin, g.size)), row, cell - line * g.columns, 0)


@func
def coords_in_space(g: Any, cell: int, x: Any):
    """The coordinates of a position in a cell, or beyond it: the bits that `find_3d` finds."""
    line = cell // g.columns
    stacked = line // g.rows
    layer = stacked - environment_of(g, cell) * g.layers
    return in_cell(cw_div(x - g.origin, g.size), layer, line - stacked * g.rows, cell - line * g.columns)


@func
def nearest_in_box(g: Any, cell: int, x: Any):
    """The coordinates of the nearest point of a cell, and the squared distance to it."""
    coords = in_unit_cell(coords_in(g, cell, x))
    away = position_at(g, cell, 0, coords) - x
    return coords, dot(away, away)


def grid_lookups(dimension: int) -> dict[str, Function]:
    """What grids supply for lookups."""
    finds = {
        2: (find_2d, cell_in_plane, edges_in_plane, coords_in_plane),
        3: (find_3d, cell_in_space, edges_in_space, coords_in_space),
    }
    own = dict(zip(("find_cell", "cell_at", "edges_of", "coords_in"), finds[dimension]))
    return own | {"extent_of": extent_of_grid, "nearest_in": nearest_in_box}
