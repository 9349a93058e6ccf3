"""Records: struct types that are made for a number type and for dimensions, with the operators that they supply.

All samples of one kind of domain have one type, and so have the fields that are evaluated there. Start with
`sample_record`, which everything in an integrand is evaluated at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from .. import inverse, max, transpose
from ..lang.generics import TypeVar
from ..lang.kernel import Function, func
from ..lang.types import Mat, Scalar, Type, Vec
from ..lang.values.scalars import SCALAR_CLASSES, int32
from ..lang.values.struct_operators import CALL, StructOperator
from ..lang.values.structs import struct
from ..lang.values.type_registry import python_type

# What annotates the parameters of integrands: each occurrence stands on its own, as fields have types of their own.
SAMPLE = TypeVar("fem.Sample", "record", free=True)
FIELD = TypeVar("fem.Field", "record", free=True)
DOMAIN = TypeVar("fem.Domain", "record", free=True)


def vector_type(count: int, scalar: Scalar) -> Any:
    """The class of vectors."""
    return python_type(Vec(count, scalar))


def matrix_type(rows: int, columns: int, scalar: Scalar) -> Any:
    """The class of matrices."""
    return python_type(Mat(rows, columns, scalar))


def scalar_class(scalar: Scalar) -> Any:
    """The class of numbers."""
    return SCALAR_CLASSES[scalar]


_made: dict[Any, Any] = {}


def _fields(self: Any) -> Iterator[Any]:
    return iter(self._values)


def _call(self: Any, *args: Any) -> Any:
    return type(self).supplies[CALL](self, *args)


_IN_PYTHON = {"__iter__": _fields, "__call__": _call}  # for kernels that run as Python


def record(
    name: str,
    fields: Mapping[str, Any],
    supplies: Mapping[str, Function | type] | None = None,
    refuses: Mapping[str, str] | None = None,
    read_only: str = "",
) -> Any:
    """A struct type. Types of different operators need different names, as a type is its name and its fields.

    Args:
        name: Its name.
        fields: The types of its fields.
        supplies: The functions or types of numbers that it supplies for operators.
        refuses: Why it lacks operators, and what to write instead.
        read_only: Why kernels must not assign to its fields; empty if they may.
    """
    body: dict[str, Any] = {
        "__annotations__": dict(fields),
        "supplies": dict(supplies or {}),
        "refuses": dict(refuses or {}),
    }
    body |= {**_IN_PYTHON, "read_only": read_only}
    made = struct(type(name, (), body))
    if _made.setdefault(made.__wc_type__, made) is not made:
        raise AssertionError(f"two records are {made.__wc_type__!r}")
    return made


_NAN = math.nan
_SAMPLE_IS_GIVEN = "a sample is a point where the form is evaluated; make another one with fem.lookup(domain, x)"


@cache
def arguments_record(types: tuple[Type, ...]) -> Any:
    """The type of some arguments, in their order."""
    return record("Arguments", {f"argument{i}": t for i, t in enumerate(types)})


_OF_A_CELL = "it is a sample in a cell; take the sample of the integrand, which is on a side: fem.outer(v, s)"
FREE_IN_ONE_CELL = "an integrand that makes samples has one cell of each side; take both cells in another integrand"


# -- samples --------------------------------------------------------------------------------------------------------
#
# A sample has a place in its cell, at which shape functions are evaluated. It is a row of tables where the points are
# the same in all elements. Otherwise it is the coordinates, and shape functions are polynomials of these.


@func
def with_dofs(s: Any, test: Any, trial: Any):
    """The sample for a test node and a trial node, with their components."""
    return type(s)(
        *(s.element_index, s.element_coords, s.qp_index, s.qp_weight, test, trial),
        *(s.cell, s.place, s.measure, s.inverse),
    )


@func
def side_with_dofs(s: Any, test: Any, trial: Any):
    """The sample of a side for a test node and a trial node, with their components."""
    return type(s)(
        *(s.element_index, s.element_coords, s.qp_index, s.qp_weight, test, trial),
        *(s.cell, s.place, s.measure, s.inverse, s.other),
    )


@func
def itself(s: Any):
    """The sample itself: a sample in a cell is in no other cell."""
    return s


@func
def passed(s: Any, value: Any):
    """A value that samples on sides have."""
    return value


@func
def other_of(s: Any):
    """The same point in the other cell of a side; in the same cell where there is no other."""
    return s.other


@func
def free_with_dofs(s: Any, test: Any, trial: Any):
    """The free sample for a test node and a trial node, with their components."""
    return type(s)(s.element_index, s.element_coords, s.qp_index, s.qp_weight, test, trial, s.cell, s.place, s.row)


@func
def free_moved_to(s: Any, place: Any):
    """The free sample at other coordinates of its cell, where it is no point of the quadrature."""
    return type(s)(
        *(s.element_index, place, s.qp_index, s.qp_weight, s.test_dof, s.trial_dof),
        *(s.cell, place, -1),
    )


@func
def row_of(s: Any):
    """The row of a sample in the tables of a domain."""
    return s.place


@func
def free_row_of(s: Any):
    """The row of a free sample in the tables of a domain, 0 if it is no point of its quadrature."""
    return max(s.row, 0)


@func
def one(s: Any):
    """1, as all samples are points of the quadrature."""
    return type(s.qp_weight)(1.0)


@func
def one_or_nan(s: Any):
    """1 for a point of the quadrature, NaN for samples that the integrand makes."""
    found = type(s.qp_weight)(1.0)
    if s.row < 0:
        found = type(s.qp_weight)(_NAN)
    return found


@func
def tabulated_coords(s: Any, of: Any):
    """The coordinates in the cell, of which `of` has a table."""
    return of.cell_coords[s.place]


@func
def free_coords(s: Any, of: Any):
    """The coordinates in the cell, which the sample carries."""
    return s.place


@func
def kept_inverse(s: Any, of: Any):
    """The inverse derivative that the sample carries."""
    return s.inverse


@func
def computed_inverse(s: Any, of: Any):
    """The inverse derivative, by the geometry of `of`."""
    return inverse_at(of.geometry, s.cell, s.place)


@func
def kept_measure(s: Any, of: Any):
    """The size of the element that the sample carries."""
    return s.measure


@func
def computed_measure(s: Any, of: Any):
    """The size of the element, by the geometry of a domain."""
    return of.volume * element_size(of, s.cell, s.place, max(s.row, 0))


def _common(scalar: Scalar) -> dict[str, Any]:
    """What integrands read of samples."""
    pair = python_type(Vec(2, int32.__wc_type__))
    return {
        "element_index": int32,
        "element_coords": vector_type(3, scalar),
        "qp_index": int32,
        "qp_weight": scalar_class(scalar),
        "test_dof": pair,
        "trial_dof": pair,
        "cell": int32,
    }


@func
def inverse_of_surface(j: Any):
    """The inverse of the derivative of a surface: of vectors in it."""
    t = transpose(j)
    return inverse(t * j) * t


def _tabulated(scalar: Scalar, cell_dimension: int, dimension: int) -> dict[str, Any]:
    """What samples have that are rows of tables."""
    own = {"place": int32, "measure": scalar_class(scalar), "inverse": matrix_type(cell_dimension, dimension, scalar)}
    return _common(scalar) | own


_OF_TABLES = {"row": row_of, "one": one, "cell_coords": tabulated_coords}
_OF_TABLES |= {"inverse": kept_inverse, "measure": kept_measure}


@cache
def sample_record(scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """The type of samples that are rows of tables. `measure` is the size of which the weight is a part. `inverse` is
    the inverse of the derivative of positions by coordinates.
    """
    fields = _tabulated(scalar, cell_dimension, dimension)
    supplies = _OF_TABLES | {"with_dofs": with_dofs, "in_other_cell": itself}
    name = f"Sample{cell_dimension}in{dimension}"
    return record(name, fields, supplies, {"on_side": _OF_A_CELL}, read_only=_SAMPLE_IS_GIVEN)


@cache
def side_sample_record(scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """The type of samples on sides: in the first cell of the side. `other` is the sample in the other cell."""
    fields = _tabulated(scalar, cell_dimension, dimension)
    fields["other"] = sample_record(scalar, cell_dimension, dimension)
    supplies = _OF_TABLES | {"with_dofs": side_with_dofs, "in_other_cell": other_of, "on_side": passed}
    return record(f"SideSample{cell_dimension}in{dimension}", fields, supplies, read_only=_SAMPLE_IS_GIVEN)


@cache
def free_sample_record(scalar: Scalar) -> Any:
    """The type of samples anywhere in a cell: one for all geometries, so that integrands can make some."""
    own = {"place": vector_type(3, scalar), "row": int32}
    supplies = {"with_dofs": free_with_dofs, "row": free_row_of, "one": one_or_nan, "cell_coords": free_coords}
    supplies |= {"inverse": computed_inverse, "measure": computed_measure, "moved_to": free_moved_to}
    supplies |= {"on_side": passed}
    refuses = {"in_other_cell": FREE_IN_ONE_CELL}
    return record("FreeSample", _common(scalar) | own, supplies, refuses, read_only=_SAMPLE_IS_GIVEN)


# -- operators between the kernels of a form and its records; programs do not see them ------------------------------

sample_at = StructOperator("sample")  # (domain, element, point) -> the sample
sample_of_thread = StructOperator("sample_of_thread")  # (domain, i, j) -> the sample of a thread of a launch for points
points_of = StructOperator("points_of")  # (domain, element) -> how many points it has
function_at = StructOperator("function")  # (space, sample, node) -> the value and the gradient of a shape function
basis_at = StructOperator("basis")  # (space, sample, node, component, function) -> a test or trial field there
with_dofs_of = StructOperator("with_dofs")  # (sample, test, trial) -> the sample for two degrees of freedom
in_other_cell = StructOperator("in_other_cell", "fem.outer(u, s)")  # (sample) -> the point in the side's other cell
on_side = StructOperator("on_side", "on_side(s, x)")  # (sample, value) -> the value; refused for samples in cells
dof_at = StructOperator("dof_at")  # (field, node of a cell, cell) -> what the node has
row_at = StructOperator("row")  # (sample) -> the row of tables
one_at_points = StructOperator("one")  # (sample) -> 1, NaN for a sample that is no point of the quadrature
coords_at = StructOperator("cell_coords")  # (sample, domain or field) -> the coordinates in the cell
inverse_of = StructOperator("inverse")  # (sample, domain or field) -> the inverse derivative
measure_at = StructOperator("measure")  # (sample, domain) -> the size of the element
element_size = StructOperator("size")  # (domain, cell, place, row) -> how much larger the element is than its reference
position_at = StructOperator("position_at")  # (geometry, cell, place, coordinates) -> the position
jacobian_at = StructOperator("jacobian_at")  # (geometry, cell, place) -> the derivative of positions by coordinates
inverse_at = StructOperator("inverse_at")  # (geometry, cell, place) -> the inverse of that
value_at = StructOperator("value_at")  # (field, cell, place, coordinates) -> the value
slopes_at = StructOperator("slopes_at")  # (field, cell, place) -> the derivative by coordinates
shape_value = StructOperator("shape_value")  # (shape functions, cell, place, node) -> the value of one
node_place = StructOperator("node_place")  # (shape functions, cell, node) -> the place of a node
moved_to = StructOperator("moved_to")  # (sample, place) -> the sample at another place of its cell
zero_gradient = StructOperator("zero_gradient")  # (shape functions) -> zero, of the type of gradients
shape_gradient = StructOperator("shape_gradient")  # (shape functions, cell, place, node) -> its derivative
