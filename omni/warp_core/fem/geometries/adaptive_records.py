"""Records of adaptive sparse grids in kernels: cells are cubes of 1, 2, 4 ... voxels along an axis.

The volume has the lower corner of each cell. The cell of a voxel is found by the corners that it could have, from the
smallest cell to the largest. Start with `adaptive_record`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

from ... import floor
from ...arrays.array import array
from ...lang.kernel import func
from ...lang.types import Scalar
from ...lang.values.scalars import int32
from .lattice_lookup import clamped, coords_or_outside, in_cell, in_unit_cell, nearest_in_box, nearest_in_lattice
from .lookup import passes
from .sparse_records import corner_of, edges, extent, sparse_record, voxel_number


@func
def size_of(g: Any, cell: int):
    """How many voxels a cell is wide."""
    return type(g.lower[0])(g.sizes[cell])


@func
def position(g: Any, cell: int, place: Any, coords: Any):
    """The position in a cell."""
    return g.origin + g.frame * (corner_of(g, cell) + size_of(g, cell) * coords)


@func
def jacobian(g: Any, cell: int, place: Any):
    """The derivative of positions by coordinates."""
    return size_of(g, cell) * g.frame


@func
def inverse_jacobian(g: Any, cell: int, place: Any):
    """The inverse of that."""
    return g.inverse_frame / size_of(g, cell)


@func
def in_cell_at(g: Any, cell: int, at: Any):
    """The coordinates in a cell of a place in the lattice of voxels."""
    return (at - corner_of(g, cell)) / size_of(g, cell)


@func
def coords_in_cell(g: Any, cell: int, x: Any):
    """The coordinates of a position in a cell, or beyond it."""
    return in_cell_at(g, cell, g.inverse_frame * (x - g.origin))


@func
def cell_of_voxel(g: Any, i: int, j: int, k: int, environment: int):
    """The cell that a voxel is in, or -1."""
    found, level = -1, 0
    while found < 0 and level < g.levels:
        found = voxel_number(g, (i >> level) << level, (j >> level) << level, (k >> level) << level, environment)
        if found >= 0 and g.sizes[found] < (1 << level):  # a cell at the same corner that ends before the voxel
            found = -1
        level += 1
    return found


@func
def find_cell_of_size(g: Any, x: Any, guess: int, max_dist: Any, filter: Any, target: Any, environment: int):
    """The cell and the coordinates of a position, or those of the nearest cell within a distance."""
    at = g.inverse_frame * (x - g.origin)
    inside = clamped(at, g.lower, g.upper)
    i, j, k = int(floor(inside[0])), int(floor(inside[1])), int(floor(inside[2]))
    place, cell = at, -1
    if in_cell(at, i, j, k) == in_unit_cell(in_cell(at, i, j, k)):
        cell = cell_of_voxel(g, i, j, k, environment)
        if cell >= 0 and not passes(filter, cell, target):
            cell = -1
    if cell < 0:
        cell, i, j, k = nearest_in_lattice(g, at, inside, max_dist, filter, target, environment)
        place = at - in_cell(at, i, j, k) + in_unit_cell(in_cell(at, i, j, k))
    coords = coords_or_outside(cell, place)
    if cell >= 0:
        coords = in_cell_at(g, cell, place)
    return cell, coords


_SUPPLIES = {
    "position_at": position,
    "jacobian_at": jacobian,
    "inverse_at": inverse_jacobian,
    "coords_in": coords_in_cell,
    "nearest_in": nearest_in_box,
    "cell_at": cell_of_voxel,
    "edges_of": edges,
    "extent_of": extent,
    "find_cell": find_cell_of_size,
}


@cache
def adaptive_record(scalar: Scalar, has_several: bool) -> Any:
    """What kernels need of an adaptive sparse grid: the volume, the voxels at lower corners, how many voxels cells are
    wide, and where voxels are.
    """
    own = {"sizes": array(dtype=int32), "levels": int32}
    return sparse_record("AdaptiveNanogrid", scalar, has_several, own, _SUPPLIES)
