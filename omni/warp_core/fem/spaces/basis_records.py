"""Records of test and trial fields in kernels: one shape function at the sample, and the bases that it is taken from.

On a side, a shape function belongs to one of the two cells, and is zero in the other one. Nodes that both cells share
have one of either, whose integrals add up, as forms are linear in test and trial fields. Start with `space_record`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

from ... import outer, transpose
from ...lang.kernel import Function, func
from ...lang.types import Mat, Scalar, Vec
from ...lang.values.scalars import int32
from ...lang.values.type_registry import python_type
from ..kernel_records import SAMPLE, matrix_type, on_side, record, scalar_class, vector_type
from .dof_mappers import DofMapper
from .field_records import Parts, Values, operators, tables


@func
def value_of(u: Any, s: SAMPLE):
    """The value of a test or trial field at the sample that it was made for."""
    return u.value


@func
def gradient_of(u: Any, s: SAMPLE):
    """The gradient of a test or trial field at the sample that it was made for."""
    return u.gradient


@func
def inner_value(u: Any, s: SAMPLE):
    """The value in the first cell of a side."""
    return u.inner * on_side(s, u.function.value)


@func
def inner_gradient(u: Any, s: SAMPLE):
    """The gradient in the first cell of a side."""
    return u.inner * on_side(s, u.function.gradient)


@func
def outer_value(u: Any, s: SAMPLE):
    """The value in the other cell of a side."""
    return u.outer * on_side(s, u.function.value)


@func
def outer_gradient(u: Any, s: SAMPLE):
    """The gradient in the other cell of a side."""
    return u.outer * on_side(s, u.function.gradient)


_IN_CELLS = Parts(value_of, gradient_of, value_of, gradient_of)
_ON_SIDES = Parts(inner_value, inner_gradient, outer_value, outer_gradient)


@cache
def basis_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """A test or trial field at one sample: 1 in one component of one node."""
    t = values.type
    fields = {"value": python_type(t), "degree": int32}
    if values.have_gradients:
        n = t.count if isinstance(t, Vec) else 0
        fields["gradient"] = matrix_type(n, dimension, scalar) if n else vector_type(dimension, scalar)
    return record(
        f"Basis_{values.word}_{cell_dimension}in{dimension}", fields, *operators(values, dimension, _IN_CELLS)
    )


@cache
def trace_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """A test or trial field at one sample of a side. `inner` and `outer` are 1 in cells where it is not zero."""
    number, function = scalar_class(scalar), basis_record(values, scalar, cell_dimension, dimension)
    fields = {"function": function, "inner": number, "outer": number, "degree": int32}
    return record(
        f"Trace_{values.word}_{cell_dimension}in{dimension}", fields, *operators(values, dimension, _ON_SIDES)
    )


def _function_at(values: Values, basis: Any) -> Function:
    """The function that makes a test or trial field of a space in a cell: for a row of tables, and the inverse
    derivative there.
    """
    if values.mapper:
        return _mapped_function_at(values.mapper, basis)
    t = values.type
    kind, columns = python_type(t), t.cols if isinstance(t, Mat) else 1

    @func
    def of_numbers(space: Any, row: int, inverse: Any, node: int, component: int):
        return basis(space.values[row, node], space.degree, transpose(inverse) * space.gradients[row, node])

    @func
    def of_vectors(space: Any, row: int, inverse: Any, node: int, component: int):
        value, unit = kind(), kind()
        value[component] = space.values[row, node]
        unit[component] = space.values.dtype(1.0)
        gradient = outer(unit, transpose(inverse) * space.gradients[row, node])
        return basis(value, space.degree, gradient)

    @func
    def of_matrices(space: Any, row: int, inverse: Any, node: int, component: int):
        value = kind()
        value[component // columns, component - component // columns * columns] = space.values[row, node]
        return basis(value, space.degree)

    return of_vectors if isinstance(t, Vec) else of_matrices if isinstance(t, Mat) else of_numbers


def _mapped_function_at(mapper: DofMapper, basis: Any) -> Function:
    to_value, kind = mapper.dof_to_value, mapper.dof_dtype

    @func
    def of_many(space: Any, row: int, inverse: Any, node: int, component: int):
        dof = kind()
        dof[component] = space.values[row, node]
        return basis(to_value(dof), space.degree)

    @func
    def of_one(space: Any, row: int, inverse: Any, node: int, component: int):
        return basis(to_value(space.values[row, node]), space.degree)

    return of_one if mapper.DOF_SIZE == 1 else of_many


@cache
def space_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """What kernels need of a space of values of a kind to make test and trial fields in cells."""
    function_at = _function_at(values, basis_record(values, scalar, cell_dimension, dimension))

    @func
    def basis(space: Any, s: Any, node: int, component: int):
        return function_at(space, s.row, s.inverse, node, component)

    name = f"Space_{values.word}_{cell_dimension}in{dimension}"
    return record(name, tables(scalar, cell_dimension), {"basis": basis})


@cache
def trace_space_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """What kernels need of a space of values of a kind to make test and trial fields on sides. Nodes of the other cell
    follow those of the first one.
    """
    made = trace_record(values, scalar, cell_dimension, dimension)
    function_at = _function_at(values, basis_record(values, scalar, cell_dimension, dimension))
    number = scalar_class(scalar)

    @func
    def basis(space: Any, s: Any, node: int, component: int):
        count = space.values.shape[1]
        row, inverse, at, is_inner = s.row, s.inverse, node, node < count
        if not is_inner:
            row, inverse, at = s.other.row, s.other.inverse, node - count
        is_outer = is_inner == (s.cell == s.other.cell)
        return made(function_at(space, row, inverse, at, component), number(is_inner), number(is_outer), space.degree)

    name = f"TraceSpace_{values.word}_{cell_dimension}in{dimension}"
    return record(name, tables(scalar, cell_dimension), {"basis": basis})
