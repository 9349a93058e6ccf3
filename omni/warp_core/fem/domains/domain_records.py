"""Records of domains in kernels: from an element and a point of it to the sample there.

A side is sampled in its first cell: the row of tables is that of the point on the side of the cell that it is. Where
points are the same in all elements and the integrand stays at them, samples are rows of tables. Otherwise they are
free: a domain then looks up positions, too. Start with `cells_record`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

from ... import abs, cross, determinant, inverse, length, max, min, normalize, sqrt, transpose, vec2i, where
from ...arrays.array import array
from ...lang.kernel import func
from ...lang.types import Scalar
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import CALL
from ..geometries.environments import environment_of
from ..geometries.lookup import LOOKUPS
from ..index_types import NULL_ELEMENT_INDEX, NULL_QP_INDEX
from ..kernel_records import (
    FREE_IN_ONE_CELL,
    SAMPLE,
    coords_at,
    free_sample_record,
    in_other_cell,
    inverse_of,
    inverse_of_surface,
    jacobian_at,
    measure_at,
    on_side,
    one_at_points,
    position_at,
    record,
    row_at,
    sample_at,
    sample_record,
    scalar_class,
    side_sample_record,
    vector_type,
)
from .point_records import coords_of, number_of, row_of_point, weight_of


@func
def position_of(domain: Any, s: SAMPLE):
    """The position of a sample."""
    return position_at(domain.geometry, s.cell, s.place, coords_at(s, domain))


@func
def jacobian_of(domain: Any, s: SAMPLE):
    """The derivative of positions by coordinates of the cell."""
    return jacobian_at(domain.geometry, s.cell, s.place)


@func
def measure_of(domain: Any, s: SAMPLE):
    """The size that weights are parts of."""
    return measure_at(s, domain)


@func
def measure_of_side(domain: Any, s: SAMPLE):
    """The size of a side, NaN for a sample that is on no side."""
    return measure_at(s, domain) * one_at_points(s)


@func
def domain_itself(domain: Any):
    """The domain of the cells of samples: samples of sides are samples of their cells, too."""
    return domain


@func
def normal_of_surface(domain: Any, s: SAMPLE):
    """The normal of a surface in space."""
    j = jacobian_at(domain.geometry, s.cell, s.place)
    return normalize(cross(transpose(j)[0], transpose(j)[1]))


@func
def normal_of_side(domain: Any, s: SAMPLE):
    """The outward normal of a side, NaN for a sample that is on no side."""
    return normalize(transpose(inverse_of(s, domain)) * domain.normals[on_side(s, row_at(s))]) * one_at_points(s)


@func
def no_ratio(domain: Any, s: SAMPLE):
    """The size of a cell by its own size."""
    return type(s.qp_weight)(1.0)


@func
def cell_of(domain: Any, s: SAMPLE):
    """The sample itself, which is in a cell."""
    return s


@func
def environment_of_sample(domain: Any, s: SAMPLE):
    """The environment of the cell of a sample."""
    return environment_of(domain.geometry, s.cell)


@func
def inverse_of_square(j: Any):
    """The inverse of a derivative."""
    return inverse(j)


@func
def size_of_square(j: Any):
    """How much larger a cell is than its reference cell."""
    return abs(determinant(j))


@func
def size_of_surface(j: Any):
    """How much larger a cell in a surface is than its reference cell."""
    return sqrt(determinant(transpose(j) * j))


@func
def length_of_edge(j: Any, first: Any, last: Any):
    """How much longer an edge is than that of the reference cell."""
    return length(j * first)


@func
def area_of_face(j: Any, first: Any, last: Any):
    """How much larger a face is than that of the reference cell."""
    return length(cross(j * first, j * last))


@func
def size_of_cell(domain: Any, cell: int, place: Any, row: int):
    """How much larger a cell is than its reference cell."""
    return size_of_square(jacobian_at(domain.geometry, cell, place))


@func
def size_of_cell_in_surface(domain: Any, cell: int, place: Any, row: int):
    """How much larger a cell in a surface is than its reference cell."""
    return size_of_surface(jacobian_at(domain.geometry, cell, place))


@func
def length_of_side(domain: Any, cell: int, place: Any, row: int):
    """How much longer an edge is than that of the reference cell."""
    axis = domain.first_axes[row]
    return length_of_edge(jacobian_at(domain.geometry, cell, place), axis, axis)


@func
def area_of_side(domain: Any, cell: int, place: Any, row: int):
    """How much larger a face is than that of the reference cell."""
    return area_of_face(jacobian_at(domain.geometry, cell, place), domain.first_axes[row], domain.last_axes[row])


@func
def element_of(domain: Any, element: int):
    """The number in the geometry of an element of the domain."""
    index = element
    if domain.elements.shape[0] > 0:
        index = domain.elements[element]
    return index


@func
def element_with(domain: Any, index: int):
    """The side of a domain that has a number in the geometry, -1 for none."""
    found, count = -1, domain.elements.shape[0]
    if count == 0 and index >= 0 and index < domain.cells.shape[0]:
        found = index
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if domain.elements[domain.ranks[middle]] < index:
            low = middle + 1
        else:
            high = middle
    if low < count and domain.elements[domain.ranks[low]] == index:
        found = domain.ranks[low]
    return found


@func
def point_on_side(domain: Any, element: int, cell: int, row: int):
    """The point of a side that is a row of the tables in one of its cells, -1 for none."""
    count, point = domain.points.weights.shape[0], -1
    if element >= 0 and cell == domain.other_cells[element]:
        point = row - domain.other_ways[element] * count
    if element >= 0 and cell == domain.cells[element] and row // count == domain.ways[element]:
        point = row - domain.ways[element] * count
    return where(point < count, point, -1)


@func
def place_of_cell(domain: Any, cell: int):
    """The number of a cell in the part of the geometry that the domain is of."""
    place = cell
    if domain.places.shape[0] > 0:
        place = domain.places[cell]
    return place


def _common(geometry: Any, points: Any, scalar: Scalar) -> dict[str, Any]:
    return {
        "geometry": geometry,
        "elements": array(dtype=int32),  # numbers of elements in the geometry; empty: all of them
        "places": array(dtype=int32),  # of cells of the geometry in its part; empty: all of them
        "points": points,
        "cell_coords": array(dtype=vector_type(3, scalar)),  # of points in cells, the same in all: facet x point
        "volume": scalar_class(scalar),  # of the reference cell of elements
    }


_SUPPLIES = {
    CALL: position_of,
    "element_index": element_of,
    "element_partition_index": place_of_cell,
    "position": position_of,
    "deformation_gradient": jacobian_of,
    "measure": measure_of,
    "cells": domain_itself,
    "environment_index": environment_of_sample,
}


def _supplies(points: Any, sample: Any, size: Any, is_free: bool, scalar: Scalar) -> dict[str, Any]:
    """What a domain supplies, with the function that samples it."""
    own = {"sample": sample, "size": size, "points_of": points.points_of_domain}
    own["scalar_type"] = scalar_class(scalar)
    return _SUPPLIES | own | {"sample_of_thread": points.sample_of_thread} | (LOOKUPS if is_free else {})


_FREE = "_free"  # ends the names of records whose samples are free


@cache
def cells_record(geometry: Any, points: Any, scalar: Scalar, cell_dimension: int, dimension: int, is_free: bool) -> Any:
    """What kernels need to sample cells of a geometry, whose record is of the class `geometry`, at points whose record
    is of the class `points`.
    """
    made, anywhere = sample_record(scalar, cell_dimension, dimension), free_sample_record(scalar)
    is_surface = cell_dimension < dimension
    inverse_at = inverse_of_surface if is_surface else inverse_of_square
    size_of = size_of_surface if is_surface else size_of_square

    @func
    def sample(domain: Any, element: int, point: int):
        index = element_of(domain, element)
        j = jacobian_at(domain.geometry, index, point)
        return made(
            *(index, coords_of(domain.points, element, point), number_of(domain.points, element, point)),
            *(weight_of(domain.points, element, point), vec2i(), vec2i()),
            *(index, point, domain.volume * size_of(j), inverse_at(j)),
        )

    @func
    def free_sample(domain: Any, element: int, point: int):
        index, coords = element_of(domain, element), coords_of(domain.points, element, point)
        return anywhere(
            *(index, coords, number_of(domain.points, element, point)),
            *(weight_of(domain.points, element, point), vec2i(), vec2i(), index, coords),
            row_of_point(domain.points, element, point),
        )

    size = size_of_cell_in_surface if is_surface else size_of_cell
    supplies, refuses = _supplies(points, free_sample if is_free else sample, size, is_free, scalar), {}
    supplies |= {"measure_ratio": no_ratio, "to_inner_cell": cell_of, "to_outer_cell": cell_of}
    if is_surface:
        supplies["normal"] = normal_of_surface
    else:
        refuses["normal"] = "cells have no normal: integrate over fem.BoundarySides(geometry), or over a surface"
    name = f"CellsOf{geometry.__name__}" + _FREE * is_free
    return record(name, _common(geometry, points, scalar), supplies, refuses)


@cache
def sides_record(geometry: Any, points: Any, scalar: Scalar, cell_dimension: int, dimension: int, is_free: bool) -> Any:
    """What kernels need to sample sides of a geometry, whose record is of the class `geometry`, at points whose record
    is of the class `points`.
    """
    made, in_cell = (r(scalar, cell_dimension, dimension) for r in (side_sample_record, sample_record))
    inverse_at = inverse_of_surface if cell_dimension < dimension else inverse_of_square
    size_of = area_of_face if cell_dimension == 3 else length_of_edge
    anywhere = free_sample_record(scalar)

    @func
    def sample(domain: Any, element: int, point: int):
        cell, other_cell = domain.cells[element], domain.other_cells[element]
        count, weight = domain.points.weights.shape[0], weight_of(domain.points, element, point)
        row, other_row = domain.ways[element] * count + point, domain.other_ways[element] * count + point
        j, other_j = jacobian_at(domain.geometry, cell, row), jacobian_at(domain.geometry, other_cell, other_row)
        number = number_of(domain.points, element, point)
        size = domain.volume * size_of(j, domain.first_axes[row], domain.last_axes[row])
        other = in_cell(
            *(other_cell, domain.cell_coords[other_row], number, weight, vec2i(), vec2i()),
            *(other_cell, other_row, size, inverse_at(other_j)),
        )
        return made(
            *(element_of(domain, element), coords_of(domain.points, element, point), number, weight, vec2i(), vec2i()),
            *(cell, row, size, inverse_at(j), other),
        )

    @func
    def free_sample(domain: Any, element: int, point: int):
        row = domain.ways[element] * domain.points.weights.shape[0] + point
        return anywhere(
            *(element_of(domain, element), coords_of(domain.points, element, point)),
            *(number_of(domain.points, element, point), weight_of(domain.points, element, point)),
            *(vec2i(), vec2i(), domain.cells[element], domain.cell_coords[row], row),
        )

    axes = array(dtype=vector_type(cell_dimension, scalar))
    tables = dict.fromkeys(("cells", "ways", "other_cells", "other_ways"), array(dtype=int32))  # of each element
    tables["ranks"] = array(dtype=int32)  # elements in the order of their numbers in the geometry
    tables |= {"first_axes": axes, "last_axes": axes, "normals": axes}  # of each row
    tables["cell_volume"] = scalar_class(scalar)  # of the reference cell
    size = area_of_side if cell_dimension == 3 else length_of_side
    supplies = _supplies(points, free_sample if is_free else sample, size, is_free, scalar)
    supplies |= {"normal": normal_of_side, "measure": measure_of_side}
    both, refuses = _both_cells(scalar, cell_dimension, dimension), {}
    if is_free:
        refuses = dict.fromkeys(both, FREE_IN_ONE_CELL)
    else:
        supplies |= both
    name = f"SidesOf{geometry.__name__}" + _FREE * is_free
    return record(name, _common(geometry, points, scalar) | tables, supplies, refuses)


def _both_cells(scalar: Scalar, cell_dimension: int, dimension: int) -> dict[str, Any]:
    """What sides supply that is of both cells of a side."""
    in_cell = sample_record(scalar, cell_dimension, dimension)
    size_of_cell = size_of_surface if cell_dimension < dimension else size_of_square

    @func
    def cell_measure(domain: Any, s: Any):
        return domain.cell_volume * size_of_cell(jacobian_at(domain.geometry, s.cell, s.place))

    @func
    def ratio(domain: Any, s: SAMPLE):
        return on_side(s, s.measure) / min(cell_measure(domain, s), cell_measure(domain, in_other_cell(s)))

    @func
    def in_a_cell(domain: Any, s: Any):
        coords, measure = domain.cell_coords[s.place], cell_measure(domain, s)
        return in_cell(
            *(s.cell, coords, NULL_QP_INDEX, type(measure)(0.0), s.test_dof, s.trial_dof),
            *(s.cell, s.place, measure, s.inverse),
        )

    @func
    def side_of_cell(domain: Any, s: SAMPLE, side: int):
        element = element_with(domain, side)
        point = point_on_side(domain, element, s.cell, s.place)
        found = sample_at(domain, max(element, 0), max(point, 0))
        return type(found)(
            *(where(point < 0, NULL_ELEMENT_INDEX, side), found.element_coords, found.qp_index, found.qp_weight),
            *(s.test_dof, s.trial_dof, found.cell, found.place, found.measure, found.inverse, found.other),
        )

    @func
    def inner_cell(domain: Any, s: SAMPLE):
        return in_a_cell(domain, s)

    @func
    def outer_cell(domain: Any, s: SAMPLE):
        return in_a_cell(domain, in_other_cell(s))

    cells = {"to_inner_cell": inner_cell, "to_outer_cell": outer_cell, "to_cell_side": side_of_cell}
    return {"measure_ratio": ratio} | cells
