"""Records: struct types that are made for a number type and for dimensions, with the operators that they supply.

All samples of one kind of domain have one type, and so have the fields that are evaluated there. Start with
`sample_record`, which everything in an integrand is evaluated at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ..lang.generics import TypeVar
from ..lang.kernel import Function, func
from ..lang.types import Mat, Scalar, Vec
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
    supplies: Mapping[str, Function] | None = None,
    refuses: Mapping[str, str] | None = None,
    read_only: str = "",
) -> Any:
    """A struct type. Types of different operators need different names, as a type is its name and its fields.

    Args:
        name: Its name.
        fields: The types of its fields.
        supplies: The functions that it supplies for operators.
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


_OF_A_CELL = "it is a sample in a cell; take the sample of the integrand, which is on a side: fem.outer(v, s)"
_SAMPLE_IS_GIVEN = "a sample is a point where the form is evaluated; interpolate at the points of another quadrature"


@func
def with_dofs(s: Any, test: Any, trial: Any):
    """The sample for a test node and a trial node, with their components."""
    return type(s)(
        *(s.element_index, s.element_coords, s.qp_index, s.qp_weight, test, trial),
        *(s.cell, s.row, s.measure, s.inverse),
    )


@func
def side_with_dofs(s: Any, test: Any, trial: Any):
    """The sample of a side for a test node and a trial node, with their components."""
    return type(s)(
        *(s.element_index, s.element_coords, s.qp_index, s.qp_weight, test, trial),
        *(s.cell, s.row, s.measure, s.inverse, s.other),
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


def _sample_fields(scalar: Scalar, cell_dimension: int, dimension: int) -> dict[str, Any]:
    number = scalar_class(scalar)
    pair = python_type(Vec(2, int32.__wc_type__))
    return {
        "element_index": int32,
        "element_coords": vector_type(3, scalar),
        "qp_index": int32,
        "qp_weight": number,
        "test_dof": pair,
        "trial_dof": pair,
        "cell": int32,
        "row": int32,
        "measure": number,
        "inverse": matrix_type(cell_dimension, dimension, scalar),
    }


@cache
def sample_record(scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """The type of samples. `cell` and `row` are where tables have the point, `measure` is the size of which the weight
    is a part. `inverse` is the inverse of the derivative of positions by coordinates.
    """
    fields = _sample_fields(scalar, cell_dimension, dimension)
    supplies = {"with_dofs": with_dofs, "in_other_cell": itself}
    name = f"Sample{cell_dimension}in{dimension}"
    return record(name, fields, supplies, {"on_side": _OF_A_CELL}, read_only=_SAMPLE_IS_GIVEN)


@cache
def side_sample_record(scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """The type of samples on sides: in the first cell of the side. `other` is the sample in the other cell."""
    fields = _sample_fields(scalar, cell_dimension, dimension)
    fields["other"] = sample_record(scalar, cell_dimension, dimension)
    supplies = {"with_dofs": side_with_dofs, "in_other_cell": other_of, "on_side": passed}
    return record(f"SideSample{cell_dimension}in{dimension}", fields, supplies, read_only=_SAMPLE_IS_GIVEN)


# Operators between the kernels of a form and its records; programs do not see them.
sample_at = StructOperator("sample")  # (domain, element, point) -> the sample
basis_at = StructOperator("basis")  # (space, sample, node, component) -> a test or trial field there
with_dofs_of = StructOperator("with_dofs")  # (sample, test, trial) -> the sample for two degrees of freedom
in_other_cell = StructOperator("in_other_cell")  # (sample) -> the same point in the other cell of a side
on_side = StructOperator("on_side", "on_side(s, x)")  # (sample, value) -> the value; refused for samples in cells
dof_at = StructOperator("dof_at")  # (field, node of a cell, cell) -> what the node has
position_at = StructOperator("position_at")  # (geometry, cell, row, coordinates) -> the position
jacobian_at = StructOperator("jacobian_at")  # (geometry, cell, row) -> the derivative of positions by coordinates
