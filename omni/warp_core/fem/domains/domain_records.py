"""Records of domains in kernels: from an element and a point of it to the sample there.

A side is sampled in its first cell: the row of tables is that of the point on the side of the cell that it is. Start
with `sample_in_cell`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

from ... import abs, cross, determinant, inverse, length, min, normalize, sqrt, transpose, vec2i
from ...arrays.array import array
from ...lang.kernel import func
from ...lang.types import Scalar
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import CALL
from ..index_types import NULL_QP_INDEX
from ..kernel_records import (
    SAMPLE,
    in_other_cell,
    jacobian_at,
    on_side,
    position_at,
    record,
    sample_record,
    scalar_class,
    side_sample_record,
    vector_type,
)


@func
def position_of(domain: Any, s: SAMPLE):
    """The position of a sample."""
    return position_at(domain.geometry, s.cell, s.row, domain.cell_coords[s.row])


@func
def jacobian_of(domain: Any, s: SAMPLE):
    """The derivative of positions by coordinates of the cell."""
    return jacobian_at(domain.geometry, s.cell, s.row)


@func
def measure_of(domain: Any, s: SAMPLE):
    """The size that weights are parts of."""
    return s.measure


@func
def normal_of_surface(domain: Any, s: SAMPLE):
    """The normal of a surface in space."""
    j = jacobian_at(domain.geometry, s.cell, s.row)
    return normalize(cross(transpose(j)[0], transpose(j)[1]))


@func
def normal_of_side(domain: Any, s: SAMPLE):
    """The outward normal of a side."""
    return normalize(transpose(s.inverse) * domain.normals[on_side(s, s.row)])


@func
def no_ratio(domain: Any, s: SAMPLE):
    """The size of a cell by its own size."""
    return type(s.measure)(1.0)


@func
def index_of_element(domain: Any, element: int):
    """The number in the geometry of an element of the domain."""
    index = element
    if domain.elements.shape[0] > 0:
        index = domain.elements[element]
    return index


@func
def place_of_cell(domain: Any, cell: int):
    """The number of a cell in the part of the geometry that the domain is of."""
    place = cell
    if domain.places.shape[0] > 0:
        place = domain.places[cell]
    return place


@func
def cell_of(domain: Any, s: SAMPLE):
    """The sample itself, which is in a cell."""
    return s


@func
def inverse_of_square(j: Any):
    """The inverse of a derivative."""
    return inverse(j)


@func
def inverse_of_surface(j: Any):
    """The inverse of the derivative of a surface: of vectors in it."""
    t = transpose(j)
    return inverse(t * j) * t


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


def _common(geometry: Any, scalar: Scalar) -> dict[str, Any]:
    coords = array(dtype=vector_type(3, scalar))
    return {
        "geometry": geometry,
        "elements": array(dtype=int32),  # numbers of elements in the geometry; empty: all of them
        "places": array(dtype=int32),  # of cells of the geometry in its part; empty: all of them
        "coords": coords,  # of points in elements
        "cell_coords": coords,  # of points in cells: facet x point
        "weights": array(dtype=scalar_class(scalar)),
        "volume": scalar_class(scalar),  # of the reference cell of elements
    }


_SUPPLIES = {
    CALL: position_of,
    "element_index": index_of_element,
    "element_partition_index": place_of_cell,
    "position": position_of,
    "deformation_gradient": jacobian_of,
    "measure": measure_of,
}


@cache
def cells_record(geometry: Any, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """What kernels need to sample cells of a geometry, whose record is of the class `geometry`."""
    made = sample_record(scalar, cell_dimension, dimension)
    is_surface = cell_dimension < dimension
    inverse_of = inverse_of_surface if is_surface else inverse_of_square
    size_of = size_of_surface if is_surface else size_of_square

    @func
    def sample(domain: Any, element: int, point: int):
        index = index_of_element(domain, element)
        j = jacobian_at(domain.geometry, index, point)
        number = element * domain.weights.shape[0] + point
        return made(
            *(index, domain.coords[point], number, domain.weights[point], vec2i(), vec2i()),
            *(index, point, domain.volume * size_of(j), inverse_of(j)),
        )

    supplies, refuses = _SUPPLIES | {"sample": sample, "measure_ratio": no_ratio}, {}
    supplies |= {"to_inner_cell": cell_of, "to_outer_cell": cell_of}
    if is_surface:
        supplies["normal"] = normal_of_surface
    else:
        refuses["normal"] = "cells have no normal: integrate over fem.BoundarySides(geometry), or over a surface"
    name = f"CellsOf{geometry.__name__}"
    return record(name, _common(geometry, scalar), supplies, refuses)


@cache
def sides_record(geometry: Any, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """What kernels need to sample sides of a geometry, whose record is of the class `geometry`."""
    made, in_cell = (r(scalar, cell_dimension, dimension) for r in (side_sample_record, sample_record))
    inverse_of = inverse_of_surface if cell_dimension < dimension else inverse_of_square
    size_of = area_of_face if cell_dimension == 3 else length_of_edge
    size_of_cell = size_of_surface if cell_dimension < dimension else size_of_square

    @func
    def cell_measure(domain: Any, s: Any):
        return domain.cell_volume * size_of_cell(jacobian_at(domain.geometry, s.cell, s.row))

    @func
    def ratio(domain: Any, s: SAMPLE):
        return on_side(s, s.measure) / min(cell_measure(domain, s), cell_measure(domain, in_other_cell(s)))

    @func
    def in_a_cell(domain: Any, s: Any):
        coords, measure = domain.cell_coords[s.row], cell_measure(domain, s)
        return in_cell(
            *(s.cell, coords, NULL_QP_INDEX, type(measure)(0.0), s.test_dof, s.trial_dof),
            *(s.cell, s.row, measure, s.inverse),
        )

    @func
    def inner_cell(domain: Any, s: SAMPLE):
        return in_a_cell(domain, s)

    @func
    def outer_cell(domain: Any, s: SAMPLE):
        return in_a_cell(domain, in_other_cell(s))

    @func
    def sample(domain: Any, element: int, point: int):
        index, cell, other_cell = index_of_element(domain, element), domain.cells[element], domain.other_cells[element]
        count, weight = domain.weights.shape[0], domain.weights[point]
        row, other_row = domain.ways[element] * count + point, domain.other_ways[element] * count + point
        j, other_j = jacobian_at(domain.geometry, cell, row), jacobian_at(domain.geometry, other_cell, other_row)
        number = element * count + point
        size = domain.volume * size_of(j, domain.first_axes[row], domain.last_axes[row])
        other = in_cell(
            *(other_cell, domain.cell_coords[other_row], number, weight, vec2i(), vec2i()),
            *(other_cell, other_row, size, inverse_of(other_j)),
        )
        return made(
            *(index, domain.coords[point], number, weight, vec2i(), vec2i()),
            *(cell, row, size, inverse_of(j), other),
        )

    axes = array(dtype=vector_type(cell_dimension, scalar))
    tables = dict.fromkeys(("cells", "ways", "other_cells", "other_ways"), array(dtype=int32))  # of each element
    tables |= {"first_axes": axes, "last_axes": axes, "normals": axes}  # of each row
    tables["cell_volume"] = scalar_class(scalar)  # of the reference cell
    supplies = _SUPPLIES | {"sample": sample, "normal": normal_of_side, "measure_ratio": ratio}
    supplies |= {"to_inner_cell": inner_cell, "to_outer_cell": outer_cell}
    return record(f"SidesOf{geometry.__name__}", _common(geometry, scalar) | tables, supplies)
