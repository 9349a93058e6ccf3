"""Lookup: the cell and the coordinates of a position, in kernels. Geometries supply the search (lattice_lookup.py,
mesh_lookup.py), domains the operators of integrands. Start with `lookup`.

A sample that was looked up is a point of a cell, on domains of sides as well.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef,type-arg"

import math
from typing import Any

from ... import max, vec2i, vec3, vec3d, vector
from ...arrays.array import array, array1d
from ...lang.generics import F, Vec
from ...lang.kernel import func
from ...lang.types import F32, F64
from ...lang.values.scalars import float64, int32
from ...lang.values.struct_operators import StructOperator
from ..kernel_records import SAMPLE, free_sample_record, record
from .environments import environment_of, only_environment

__all__ = ["OUTSIDE", "make_free_sample"]

OUTSIDE = -1.0e8
"""The coordinates of a sample that was not found: its `element_index` is -1."""

_NAN = math.nan
_SAMPLE = free_sample_record(F32)
_SAMPLE_OF_DOUBLES = free_sample_record(F64)

CELLS_OF_PART = record("CellsOfPart", {"places": array(dtype=int32)})  # see `GeometryPartition.cell_places`

# Operators on geometries.
# (geometry, x, guess, max_dist, filter, target, environment) -> cell, coordinates
find_cell = StructOperator("find_cell")
coords_in = StructOperator("coords_in")  # (geometry, cell, x) -> coordinates, beyond the cell too
nearest_in = StructOperator("nearest_in")  # (geometry, cell, x) -> coordinates of the nearest point, squared distance


@func
def nan_unless(is_there: bool, coords: Any):
    """Coordinates, NaN for those of no cell: what is evaluated there is NaN, too."""
    found = coords
    if not is_there:
        found = coords * type(coords[0])(_NAN)
    return found


@func
def make_free_sample(element_index: int, element_coords: vec3):
    """Return the sample at coordinates of a cell. It is no point of the quadrature.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def in_the_middle(s: fem.Sample, u: fem.Field):
    ...     return u(fem.make_free_sample(s.element_index, wp.vec3(0.5, 0.5, 0.0)))
    """
    return _SAMPLE(
        *(element_index, element_coords, -1, 0.0),
        *(vec2i(-1, -1), vec2i(-1, -1), max(element_index, 0), nan_unless(element_index >= 0, element_coords), -1),
    )


@func
def make_free_sample(element_index: int, element_coords: vec3d):  # noqa: F811 - an overload
    """The sample at coordinates in float64."""
    return _SAMPLE_OF_DOUBLES(
        *(element_index, element_coords, -1, float64(0.0)),
        *(vec2i(-1, -1), vec2i(-1, -1), max(element_index, 0), nan_unless(element_index >= 0, element_coords), -1),
    )


@func
def padded(x: Vec[2, F]):
    """Coordinates as a vector of three."""
    return vector(x[0], x[1], F(0.0))


@func
def padded(x: Vec[3, F]):  # noqa: F811 - an overload
    """Three coordinates as they are."""
    return x


@func
def passes(filter: int, cell: int, target: Any):
    """True: without a filter, all cells count."""
    return True


@func
def passes(filter: array1d(dtype=Any), cell: int, target: Any):  # noqa: F811 - an overload
    """True if a cell counts: if an array has a value there."""
    return filter[cell] == filter.dtype(target)


@func
def passes(filter: CELLS_OF_PART, cell: int, target: Any):  # noqa: F811 - an overload
    """True if a cell is in a part of the geometry; all are where the part has no table."""
    found = True
    if filter.places.shape[0] > 0:
        found = filter.places[cell] >= 0
    return found


@func
def counts(g: Any, cell: int, filter: Any, target: Any, environment: int):
    """True if a cell counts, and is in an environment."""
    return passes(filter, cell, target) and environment_of(g, cell) == environment


@func
def found_sample(domain: Any, x: Any, guess: int, max_dist: Any, filter: Any, target: Any, environment: int):
    """The sample of a position."""
    cell, coords = find_cell(domain.geometry, x, guess, max_dist, filter, target, environment)
    return make_free_sample(cell, coords)


# Of overloads that fit as well, the first one is taken: so those of more special types come first.


@func
def lookup(domain: Any, x: Any):
    """The sample at a position, or at the nearest position of the geometry."""
    return found_sample(domain, x, -1, 0, 0, 0, only_environment(domain.geometry))


@func
def lookup(domain: Any, x: Any, guess: SAMPLE):  # noqa: F811 - an overload
    """With a sample that may be near, of the same environment."""
    return found_sample(domain, x, guess.cell, 0, 0, 0, environment_of(domain.geometry, guess.cell))


@func
def lookup(domain: Any, x: Any, filter: array1d(dtype=Any), target: Any):  # noqa: F811 - an overload
    """Of the cells for which an array has a value."""
    return found_sample(domain, x, -1, 0, filter, target, only_environment(domain.geometry))


@func
def lookup(domain: Any, x: Any, filter: array1d(dtype=Any), target: Any, environment: int):  # noqa: F811 - an overload
    """With an array, in an environment."""
    return found_sample(domain, x, -1, 0, filter, target, environment)


@func
def lookup(domain: Any, x: Any, max_dist: Any, filter: array1d(dtype=Any), target: Any):  # noqa: F811 - an overload
    """With a distance, and an array."""
    return found_sample(domain, x, -1, max_dist, filter, target, only_environment(domain.geometry))


@func
def lookup(  # noqa: F811 - an overload
    domain: Any, x: Any, max_dist: Any, filter: array1d(dtype=Any), target: Any, environment: int
):
    """With all of these."""
    return found_sample(domain, x, -1, max_dist, filter, target, environment)


@func
def lookup(domain: Any, x: Any, environment: int):  # noqa: F811 - an overload
    """In an environment."""
    return found_sample(domain, x, -1, 0, 0, 0, environment)


@func
def lookup(domain: Any, x: Any, max_dist: Any):  # noqa: F811 - an overload
    """With a distance to look in."""
    return found_sample(domain, x, -1, max_dist, 0, 0, only_environment(domain.geometry))


@func
def lookup(domain: Any, x: Any, max_dist: Any, environment: int):  # noqa: F811 - an overload
    """In an environment, with a distance to look in."""
    return found_sample(domain, x, -1, max_dist, 0, 0, environment)


@func
def partition_lookup(domain: Any, x: Any):
    """The sample at a position, or at the nearest position of the part of the geometry that a domain is of."""
    return found_sample(domain, x, -1, 0, CELLS_OF_PART(domain.places), 0, only_environment(domain.geometry))


@func
def partition_lookup(domain: Any, x: Any, environment: int):  # noqa: F811 - an overload
    """In an environment."""
    return found_sample(domain, x, -1, 0, CELLS_OF_PART(domain.places), 0, environment)


@func
def partition_lookup(domain: Any, x: Any, max_dist: Any):  # noqa: F811 - an overload
    """With a distance to look in."""
    return found_sample(domain, x, -1, max_dist, CELLS_OF_PART(domain.places), 0, only_environment(domain.geometry))


@func
def partition_lookup(domain: Any, x: Any, max_dist: Any, environment: int):  # noqa: F811 - an overload
    """In an environment, with a distance to look in."""
    return found_sample(domain, x, -1, max_dist, CELLS_OF_PART(domain.places), 0, environment)


@func
def element_coordinates(domain: Any, element_index: int, x: Any):
    """The coordinates of a position in a cell, or beyond it."""
    return coords_in(domain.geometry, element_index, x)


@func
def element_closest_point(domain: Any, element_index: int, x: Any):
    """The coordinates of the nearest point of a cell, and the squared distance to it."""
    return nearest_in(domain.geometry, element_index, x)


LOOKUPS = {
    "lookup": lookup,
    "partition_lookup": partition_lookup,
    "element_coordinates": element_coordinates,
    "element_closest_point": element_closest_point,
}
