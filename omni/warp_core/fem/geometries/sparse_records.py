"""Records of sparse grids in kernels: the volume finds the cell of a voxel, and all cells have the same derivative.

Start with `nanogrid_record`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

from ... import floor, length, transpose, vec3i, vector, volume_lookup_index, where
from ...arrays.array import array
from ...lang.kernel import Function, func
from ...lang.types import Scalar
from ...lang.values.scalars import int32, uint64
from ...lang.values.struct_operators import StructOperator
from ..kernel_records import matrix_type, record, vector_type
from .environments import EnvironmentParts, has_environment
from .lattice_lookup import clamped, coords_or_outside, in_cell, in_unit_cell, nearest_in_box, nearest_in_lattice
from .lookup import passes

# An operator on sparse grids: (geometry, i, j, k, environment) -> the number in the volume of a voxel, or -1
voxel_number = StructOperator("voxel_number")


@func
def corner_of(g: Any, cell: int):
    """The lower corner of a cell in the lattice of voxels."""
    at = g.voxels[cell]
    return type(g.lower)(type(g.lower[0])(at[0]), type(g.lower[0])(at[1]), type(g.lower[0])(at[2]))


@func
def position(g: Any, cell: int, place: Any, coords: Any):
    """The position in a cell."""
    return g.origin + g.frame * (corner_of(g, cell) + coords)


@func
def jacobian(g: Any, cell: int, place: Any):
    """The derivative of positions by coordinates, the same in all cells."""
    return g.frame


@func
def inverse_jacobian(g: Any, cell: int, place: Any):
    """The inverse of that."""
    return g.inverse_frame


@func
def coords_in_voxel(g: Any, cell: int, x: Any):
    """The coordinates of a position in a cell, or beyond it."""
    return g.inverse_frame * (x - g.origin) - corner_of(g, cell)


@func
def number_of_voxel(g: Any, i: int, j: int, k: int, environment: int):
    """The number of a voxel in the volume, or -1."""
    return where(environment == 0, volume_lookup_index(g.volume, i, j, k), -1)


@func
def number_in_environment(g: Any, i: int, j: int, k: int, environment: int):
    """The number in the volume of a voxel of an environment, or -1."""
    found = -1
    if has_environment(g, environment):
        at = g.offsets[environment]
        found = volume_lookup_index(g.volume, i + at[0], j + at[1], k + at[2])
        if found >= 0 and g.environments[found] != environment:
            found = -1
    return found


@func
def voxel_at(g: Any, i: int, j: int, k: int, environment: int):
    """The cell of a voxel, or -1."""
    return voxel_number(g, i, j, k, environment)


@func
def edges(g: Any):
    """The size of a cell along each axis."""
    axes = transpose(g.frame)
    return vector(length(axes[0]), length(axes[1]), length(axes[2]))


@func
def extent(g: Any):
    """The largest number of voxels along an axis of the box around all."""
    return g.extent


@func
def find_voxel(g: Any, x: Any, guess: int, max_dist: Any, filter: Any, target: Any, environment: int):
    """The cell and the coordinates of a position, or those of the nearest cell within a distance."""
    at = g.inverse_frame * (x - g.origin)
    inside = clamped(at, g.lower, g.upper)
    i, j, k = int(floor(inside[0])), int(floor(inside[1])), int(floor(inside[2]))
    coords, cell = in_cell(at, i, j, k), -1
    if coords == in_unit_cell(coords):
        cell = voxel_at(g, i, j, k, environment)
        if cell >= 0 and not passes(filter, cell, target):
            cell = -1
    if cell < 0:
        cell, i, j, k = nearest_in_lattice(g, at, inside, max_dist, filter, target, environment)
        coords = coords_or_outside(cell, in_unit_cell(in_cell(at, i, j, k)))
    return cell, coords


_SUPPLIES = {
    "position_at": position,
    "jacobian_at": jacobian,
    "inverse_at": inverse_jacobian,
    "coords_in": coords_in_voxel,
    "nearest_in": nearest_in_box,
    "cell_at": voxel_at,
    "edges_of": edges,
    "extent_of": extent,
    "find_cell": find_voxel,
}


def sparse_record(
    name: str, scalar: Scalar, has_several: bool, own: dict[str, Any], supplies: dict[str, Function]
) -> Any:
    """A class of records of voxels and where they are: see `SparseGrid`.

    Args:
        name: Its name, for one environment.
        scalar: The type of numbers.
        has_several: Whether there are several environments.
        own: More fields.
        supplies: The functions that it supplies for operators.
    """
    point, matrix = vector_type(3, scalar), matrix_type(3, 3, scalar)
    fields = {"volume": uint64, "voxels": array(dtype=vec3i), "frame": matrix, "inverse_frame": matrix}
    fields |= {"origin": point, "lower": point, "upper": point, "extent": int32}
    environments = EnvironmentParts.of(has_several)
    offsets = {"offsets": array(dtype=vec3i)} if has_several else {}
    supplies = supplies | {"voxel_number": number_in_environment if has_several else number_of_voxel}
    return record(
        name + environments.suffix,
        fields | own | environments.fields | offsets,
        supplies | environments.supplies,
        environments.refuses,
    )


@cache
def nanogrid_record(scalar: Scalar, has_several: bool) -> Any:
    """What kernels need of a sparse grid: the volume, the voxels, and where they are."""
    return sparse_record("Nanogrid", scalar, has_several, {}, _SUPPLIES)
