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
from ..kernel_records import (
    SAMPLE,
    inverse_of,
    matrix_type,
    moved_to,
    node_place,
    on_side,
    one_at_points,
    record,
    scalar_class,
    shape_gradient,
    shape_value,
    vector_type,
)
from .dof_mappers import DofMapper
from .field_records import Parts, Values, operators, shapes


@func
def value_of(u: Any, s: SAMPLE):
    """The value of a test or trial field at the sample that it was made for, NaN at samples that an integrand makes."""
    return u.value * one_at_points(s)


@func
def gradient_of(u: Any, s: SAMPLE):
    """The gradient of a test or trial field at the sample that it was made for, NaN at others."""
    return u.gradient * one_at_points(s)


@func
def at_own_node(u: Any, s: SAMPLE):
    """The sample moved to the node of a test or trial field."""
    return moved_to(s, u.node)


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
def basis_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int, place: Any) -> Any:
    """A test or trial field at one sample: 1 in one component of one node. `place` is the type of places in cells."""
    t = values.type
    fields = {"node": place, "value": python_type(t), "degree": int32}
    if values.have_gradients:
        n = t.count if isinstance(t, Vec) else 0
        fields["gradient"] = matrix_type(n, dimension, scalar) if n else vector_type(dimension, scalar)
    supplies, refuses = operators(values, dimension, _IN_CELLS)
    return record(
        f"Basis_{values.word}_{cell_dimension}in{dimension}", fields, supplies | {"at_node": at_own_node}, refuses
    )


@cache
def trace_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """A test or trial field at one sample of a side. `inner` and `outer` are 1 in cells where it is not zero."""
    number, function = scalar_class(scalar), basis_record(values, scalar, cell_dimension, dimension, int32)
    fields = {"function": function, "inner": number, "outer": number, "degree": int32}
    return record(
        f"Trace_{values.word}_{cell_dimension}in{dimension}", fields, *operators(values, dimension, _ON_SIDES)
    )


def _function_at(values: Values, basis: Any, scalar: Scalar) -> Function:
    """The function that makes a test or trial field of a space in a cell: for a place, and the inverse derivative
    there.
    """
    if values.mapper:
        return _mapped_function_at(values.mapper, basis)
    t, number = values.type, scalar_class(scalar)
    kind, columns = python_type(t), t.cols if isinstance(t, Mat) else 1

    @func
    def of_numbers(space: Any, place: Any, inverse: Any, node: int, component: int):
        gradient = transpose(inverse) * shape_gradient(space.shape, place, node)
        return basis(node_place(space.shape, node), shape_value(space.shape, place, node), space.degree, gradient)

    @func
    def of_vectors(space: Any, place: Any, inverse: Any, node: int, component: int):
        value, unit = kind(), kind()
        value[component] = shape_value(space.shape, place, node)
        unit[component] = number(1.0)
        gradient = outer(unit, transpose(inverse) * shape_gradient(space.shape, place, node))
        return basis(node_place(space.shape, node), value, space.degree, gradient)

    @func
    def of_matrices(space: Any, place: Any, inverse: Any, node: int, component: int):
        value, row = kind(), component // columns
        value[row, component - row * columns] = shape_value(space.shape, place, node)
        return basis(node_place(space.shape, node), value, space.degree)

    return of_vectors if isinstance(t, Vec) else of_matrices if isinstance(t, Mat) else of_numbers


def _mapped_function_at(mapper: DofMapper, basis: Any) -> Function:
    to_value, kind = mapper.dof_to_value, mapper.dof_dtype

    @func
    def of_many(space: Any, place: Any, inverse: Any, node: int, component: int):
        dof = kind()
        dof[component] = shape_value(space.shape, place, node)
        return basis(node_place(space.shape, node), to_value(dof), space.degree)

    @func
    def of_one(space: Any, place: Any, inverse: Any, node: int, component: int):
        return basis(node_place(space.shape, node), to_value(shape_value(space.shape, place, node)), space.degree)

    return of_one if mapper.DOF_SIZE == 1 else of_many


@cache
def space_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int, geometry: Any) -> Any:
    """What kernels need of a space of values of a kind to make test and trial fields in cells, anywhere with a
    geometry.
    """
    place = int32 if geometry is None else vector_type(3, scalar)
    function_at = _function_at(values, basis_record(values, scalar, cell_dimension, dimension, place), scalar)

    @func
    def basis(space: Any, s: Any, node: int, component: int):
        return function_at(space, s.place, inverse_of(s, space), node, component)

    name = f"Space_{values.word}_{cell_dimension}in{dimension}"
    return record(name, shapes(scalar, cell_dimension, geometry), {"basis": basis})


@cache
def trace_space_record(values: Values, scalar: Scalar, cell_dimension: int, dimension: int, geometry: None) -> Any:
    """What kernels need of a space of values of a kind to make test and trial fields on sides. Nodes of the other cell
    follow those of the first one.
    """
    made = trace_record(values, scalar, cell_dimension, dimension)
    function_at = _function_at(values, basis_record(values, scalar, cell_dimension, dimension, int32), scalar)
    number = scalar_class(scalar)

    @func
    def basis(space: Any, s: Any, node: int, component: int):
        count = space.shape.values.shape[1]
        place, inverse, at, is_inner = s.place, s.inverse, node, node < count
        if not is_inner:
            place, inverse, at = s.other.place, s.other.inverse, node - count
        is_outer = is_inner == (s.cell == s.other.cell)
        return made(function_at(space, place, inverse, at, component), number(is_inner), number(is_outer), space.degree)

    name = f"TraceSpace_{values.word}_{cell_dimension}in{dimension}"
    return record(name, shapes(scalar, cell_dimension, geometry), {"basis": basis})
