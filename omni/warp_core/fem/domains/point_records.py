"""Records of the points of quadratures: the same in all elements, or of each element its own."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from functools import cache
from typing import Any

from ... import vec2i
from ...arrays.array import array, array2d
from ...lang.kernel import func
from ...lang.types import Scalar
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import StructOperator
from ..kernel_records import free_sample_record, record, sample_at, scalar_class, vector_type

# Operators on points; each takes the points, an element and which of its points.
number_of = StructOperator("number")  # the number of the point, among those of all elements
coords_of = StructOperator("coords")  # its coordinates in the element
weight_of = StructOperator("weight")  # its weight
row_of_point = StructOperator("row")  # its row in the tables of the domain, or its number in the order of elements


# -- the same points in all elements --------------------------------------------------------------------------------


@func
def same_number(points: Any, element: int, point: int):
    """The number of a point, among those of all elements."""
    return element * points.weights.shape[0] + point


@func
def same_row(points: Any, element: int, point: int):
    """The row of a point in the tables of the domain."""
    return point


@func
def same_coords(points: Any, element: int, point: int):
    """The coordinates of a point in its element."""
    return points.inner[point]


@func
def same_weight(points: Any, element: int, point: int):
    """The weight of a point."""
    return points.weights[point]


@func
def same_count(domain: Any, element: int):
    """The number of points of an element of a domain."""
    return domain.points.weights.shape[0]


@func
def sample_of_pair(domain: Any, element: int, point: int):
    """The sample of a thread that is an element and a point."""
    return sample_at(domain, element, point)


@func
def noted_number(points: Any, element: int, point: int):
    """The number of a point that a table has."""
    return points.numbers[point, element]


# -- points of each element -----------------------------------------------------------------------------------------


@func
def own_place(points: Any, element: int, point: int):
    """Where a point is in the arrays of coordinates and weights."""
    return points.order[points.starts[element] + point]


@func
def own_number(points: Any, element: int, point: int):
    """The number of a point: that of its particle, which may have several."""
    return own_place(points, element, point) // points.each


@func
def own_row(points: Any, element: int, point: int):
    """The number of a point in the order of elements."""
    return points.starts[element] + point


@func
def own_coords(points: Any, element: int, point: int):
    """The coordinates of a point in its element."""
    return points.inner[own_place(points, element, point)]


@func
def own_weight(points: Any, element: int, point: int):
    """The weight of a point."""
    return points.weights[own_place(points, element, point)]


@func
def own_count(domain: Any, element: int):
    """The number of points of an element of a domain."""
    return domain.points.starts[element + 1] - domain.points.starts[element]


@func
def sample_of_point(domain: Any, place: int, unused: int):
    """The sample of a thread that is a point: the places of points are in the order of elements."""
    element = domain.points.element_of[domain.points.order[place]]
    return sample_at(domain, element, place - domain.points.starts[element])


@func
def no_count(domain: Any, element: int):
    """0: elements have no loose points."""
    return 0


def _points(name: str, fields: dict[str, Any], supplies: dict[str, Any], count: Any, sample: Any) -> Any:
    made = record(name, fields, supplies)
    made.points_of_domain, made.sample_of_thread = count, sample
    return made


def _common(scalar: Scalar) -> dict[str, Any]:
    return {"inner": array(dtype=vector_type(3, scalar)), "weights": array(dtype=scalar_class(scalar))}


_SAME = {"number": same_number, "coords": same_coords, "weight": same_weight, "row": same_row}


@cache
def same_points_record(scalar: Scalar) -> Any:
    """Points that are the same in all elements: their coordinates and weights."""
    return _points("SamePoints", _common(scalar), _SAME, same_count, sample_of_pair)


@cache
def numbered_points_record(scalar: Scalar) -> Any:
    """Points that are the same in all elements, and a table of their numbers: point x element."""
    fields = _common(scalar) | {"numbers": array2d(dtype=int32)}
    return _points("NumberedPoints", fields, _SAME | {"number": noted_number}, same_count, sample_of_pair)


@cache
def own_points_record(scalar: Scalar) -> Any:
    """Points of each element: those of element `e` are `order[starts[e]]` to `order[starts[e + 1]]`. Each particle is
    so many points, one after the other, before they are in the order of elements.
    """
    own = {"starts": array(dtype=int32), "order": array(dtype=int32), "element_of": array(dtype=int32), "each": int32}
    supplies = {"number": own_number, "coords": own_coords, "weight": own_weight, "row": own_row}
    return _points("OwnPoints", _common(scalar) | own, supplies, own_count, sample_of_point)


@cache
def loose_points_record(scalar: Scalar) -> Any:
    """Points of no element: they have numbers alone."""
    made, coords_type = free_sample_record(scalar), vector_type(3, scalar)

    @func
    def sample_of_number(domain: Any, number: int, unused: int):
        coords = coords_type()
        return made(-1, coords, number, type(coords[0])(0.0), vec2i(), vec2i(), 0, coords, -1)

    return _points(f"LoosePoints_{scalar}", {"count": int}, {}, no_count, sample_of_number)
