"""Records of test and trial fields in kernels: one shape function at the sample, and the bases that it is taken from.

On a side, a shape function belongs to one of the two cells, and is zero in the other one. Nodes that both cells share
have one of either, whose integrals add up, as forms are linear in test and trial fields. Start with `space_record`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef,assignment"

import math
from functools import cache
from typing import Any

from ... import outer, transpose
from ...arrays.array import array
from ...lang.kernel import Function, func
from ...lang.types import Mat, Scalar, Vec
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import StructOperator
from ...lang.values.type_registry import python_type
from ..kernel_records import (
    SAMPLE,
    inverse_of,
    matrix_type,
    moved_to,
    node_place,
    on_side,
    record,
    scalar_class,
    shape_gradient,
    shape_value,
    vector_type,
)
from .dof_mappers import DofMapper
from .field_records import Parts, Values, count_of_nodes, operators, shapes, signs_of
from .vector_functions import Piola, basis_functions

_NAN = math.nan


@func
def value_of(u: Any, s: SAMPLE):
    """The value of a test or trial field at the sample that it was made for."""
    return u.value


@func
def gradient_of(u: Any, s: SAMPLE):
    """The gradient of a test or trial field at the sample that it was made for."""
    return u.gradient


@func
def one_in_cell(u: Any, s: Any):
    """1 for samples in the cell of a test or trial field, NaN in others."""
    found = type(s.qp_weight)(1.0)
    if s.cell != u.cell:
        found = type(s.qp_weight)(_NAN)
    return found


@func
def value_anywhere(u: Any, s: SAMPLE):
    """The value of a test or trial field at a sample in its cell, NaN in other cells."""
    found = u.value
    if s.row < 0:
        found = unit_value(u, shape_value(u.shape, s.cell, s.place, u.index) * one_in_cell(u, s))
    return found


@func
def gradient_anywhere(u: Any, s: SAMPLE):
    """The gradient of a test or trial field at a sample in its cell, NaN in other cells."""
    found = u.gradient
    if s.row < 0:
        slope = transpose(inverse_of(s, u)) * shape_gradient(u.shape, s.cell, s.place, u.index)
        found = unit_gradient(u, slope * one_in_cell(u, s))
    return found


@func
def at_own_node(u: Any, s: SAMPLE):
    """The sample moved to the node of a test or trial field."""
    return moved_to(s, node_place(u.shape, s.cell, u.index))


@func
def node_of_basis(u: Any, s: SAMPLE):
    """The number of the node of a test or trial field, in the space."""
    return u.nodes[u.index, s.cell]


@func
def node_of_basis(u: Any, s: SAMPLE, i: int):  # noqa: F811 - an overload
    """The number of a node of the cell, in the space."""
    return u.nodes[i, s.cell]


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


unit_value = StructOperator("unit_value")  # (test or trial field, x) -> a value with x in its component
unit_gradient = StructOperator("unit_gradient")  # (test or trial field, slope) -> a gradient with it in its component

_IN_CELLS = Parts(value_of, gradient_of, value_of, gradient_of)
_ANYWHERE = Parts(value_anywhere, gradient_anywhere, value_anywhere, gradient_anywhere)
_ON_SIDES = Parts(inner_value, inner_gradient, outer_value, outer_gradient)
_OF_NODES = {"node_index": node_of_basis, "node_count": count_of_nodes}


def unit_of(values: Values) -> Function:
    """The function that makes a value with a number in one component, and zeros in others."""
    t, mapper = values.type, values.mapper
    kind, columns = python_type(t), t.cols if isinstance(t, Mat) else 1
    if mapper:
        return _mapped_unit_of(mapper)

    @func
    def of_numbers(component: int, x: Any):
        return kind(x)

    @func
    def of_vectors(component: int, x: Any):
        value = kind()
        value[component] = x
        return value

    @func
    def of_matrices(component: int, x: Any):
        value, row = kind(), component // columns
        value[row, component - row * columns] = x
        return value

    return of_vectors if isinstance(t, Vec) else of_matrices if isinstance(t, Mat) else of_numbers


def _mapped_unit_of(mapper: DofMapper) -> Function:
    to_value, kind = mapper.dof_to_value, mapper.dof_dtype

    @func
    def of_many(component: int, x: Any):
        dof = kind()
        dof[component] = x
        return to_value(dof)

    @func
    def of_one(component: int, x: Any):
        return to_value(x)

    return of_one if mapper.DOF_SIZE == 1 else of_many


def _gradient_of(values: Values) -> Function:
    """The function that makes a gradient with a slope in one component, and zeros in others."""
    kind = python_type(values.type)

    @func
    def of_numbers(component: int, slope: Any):
        return slope

    @func
    def of_vectors(component: int, slope: Any):
        unit = kind()
        unit[component] = unit.dtype(1.0)
        return outer(unit, slope)

    return of_vectors if isinstance(values.type, Vec) else of_numbers


@cache
def basis_record(values: Values, scalar: Scalar, dimension: int, shape: Any, geometry: Any) -> Any:
    """A test or trial field at one sample: 1 in one component of one node. One of a free sample has the shape
    functions, and the geometry, whose record is of the class `geometry`.
    """
    t, number = values.type, {"index": int32, "nodes": array(dtype=int32, ndim=2)}
    fields = number | {"value": python_type(t), "degree": int32}
    if values.have_gradients:
        n = t.count if isinstance(t, Vec) else 0
        fields["gradient"] = matrix_type(n, dimension, scalar) if n else vector_type(dimension, scalar)
    parts, own, name = _IN_CELLS, _OF_NODES, f"Basis_{values.word}_{shape.__name__}in{dimension}"
    if geometry is not None:
        fields |= {"cell": int32, "component": int32} | signs_of(values) | shapes(shape, geometry)
        parts, own = _ANYWHERE, own | {"at_node": at_own_node} | ({} if values.piola else _units(values))
        if values.piola:
            parts = _vectors_anywhere(values.piola)
    supplies, refuses = operators(values, dimension, parts)
    return record(name, fields, supplies | own, refuses)


def _vectors_anywhere(piola: Piola) -> Parts:
    """The functions that evaluate a vector-valued test or trial field at samples that an integrand makes, too."""
    value_of_node, gradient_of_node = basis_functions(piola)

    @func
    def value(u: Any, s: SAMPLE):
        found = u.value
        if s.row < 0:
            found = one_in_cell(u, s) * value_of_node(u, s.cell, s.place, inverse_of(s, u), u.index)
        return found

    @func
    def gradient(u: Any, s: SAMPLE):
        found = u.gradient
        if s.row < 0:
            found = one_in_cell(u, s) * gradient_of_node(u, s.cell, s.place, inverse_of(s, u), u.index)
        return found

    return Parts(value, gradient, value, gradient)


def _units(values: Values) -> dict[str, Function]:
    """What test and trial fields need at samples that an integrand makes."""
    unit, gradient = unit_of(values), _gradient_of(values)

    @func
    def value(u: Any, x: Any):
        return unit(u.component, x)

    @func
    def slope(u: Any, x: Any):
        return gradient(u.component, x)

    return {"unit_value": value, "unit_gradient": slope}


@cache
def trace_record(values: Values, scalar: Scalar, dimension: int, shape: Any) -> Any:
    """A test or trial field at one sample of a side. `inner` and `outer` are 1 in cells where it is not zero."""
    number, function = scalar_class(scalar), basis_record(values, scalar, dimension, shape, None)
    fields = {"function": function, "inner": number, "outer": number, "degree": int32}
    return record(
        f"Trace_{values.word}_{shape.__name__}in{dimension}", fields, *operators(values, dimension, _ON_SIDES)
    )


def _function_at(values: Values, basis: Any, is_free: bool) -> tuple[Function, Function]:
    """The functions that make a test or trial field of a space. The first one gives the value and the gradient of a
    shape function in a cell, by the inverse derivative there. The second one makes of these a field of one component.
    """
    if values.piola:
        return _vector_at(values.piola, basis, is_free)
    unit, gradient_of_unit, has_gradient = unit_of(values), _gradient_of(values), values.have_gradients

    @func
    def function_in(space: Any, cell: int, place: Any, inverse: Any, node: int):
        found = (shape_value(space.shape, cell, place, node),)
        if has_gradient:
            found = (*found, transpose(inverse) * shape_gradient(space.shape, cell, place, node))
        return found

    @func
    def field_of(space: Any, cell: int, node: int, component: int, function: Any):
        parts = (node, space.nodes, unit(component, function[0]), space.degree)
        if has_gradient:
            parts = (*parts, gradient_of_unit(component, function[1]))
        if is_free:
            parts = (*parts, cell, component, space.shape, space.geometry)
        return basis(*parts)

    return function_in, field_of


def _vector_at(piola: Piola, basis: Any, is_free: bool) -> tuple[Function, Function]:
    """The same for vector-valued shape functions."""
    value, gradient = basis_functions(piola)

    @func
    def vector_in(space: Any, cell: int, place: Any, inverse: Any, node: int):
        at = (space, cell, place, inverse, node)
        return value(*at), gradient(*at)

    @func
    def field_of(space: Any, cell: int, node: int, component: int, function: Any):
        parts = (node, space.nodes, function[0], space.degree, function[1])
        if is_free:
            parts = (*parts, cell, component, space.signs, space.shape, space.geometry)
        return basis(*parts)

    return vector_in, field_of


@cache
def space_record(values: Values, scalar: Scalar, dimension: int, shape: Any, geometry: Any) -> Any:
    """What kernels need of a space of values of a kind to make test and trial fields in cells, anywhere with a
    geometry.
    """
    made = basis_record(values, scalar, dimension, shape, geometry)
    function_in, field_of = _function_at(values, made, geometry is not None)

    @func
    def function(space: Any, s: Any, node: int):
        return function_in(space, s.cell, s.place, inverse_of(s, space), node)

    @func
    def basis(space: Any, s: Any, node: int, component: int, found: Any):
        return field_of(space, s.cell, node, component, found)

    name = f"Space_{values.word}_{shape.__name__}in{dimension}"
    return record(name, _of_spaces(values, shape, geometry), {"function": function, "basis": basis})


def _of_spaces(values: Values, shape: Any, geometry: Any) -> dict[str, Any]:
    return {"nodes": array(dtype=int32, ndim=2)} | signs_of(values) | shapes(shape, geometry)


@cache
def trace_space_record(values: Values, scalar: Scalar, dimension: int, shape: Any, geometry: None) -> Any:
    """What kernels need of a space of values of a kind to make test and trial fields on sides. Nodes of the other cell
    follow those of the first one.
    """
    made = trace_record(values, scalar, dimension, shape)
    function_in, field_of = _function_at(values, basis_record(values, scalar, dimension, shape, None), False)
    number = scalar_class(scalar)

    @func
    def function(space: Any, s: Any, node: int):
        count = space.shape.values.shape[1]
        cell, place, inverse, at = s.cell, s.place, s.inverse, node
        if node >= count:
            cell, place, inverse, at = s.other.cell, s.other.place, s.other.inverse, node - count
        return function_in(space, cell, place, inverse, at)

    @func
    def basis(space: Any, s: Any, node: int, component: int, found: Any):
        count = space.shape.values.shape[1]
        cell, at, is_inner = s.cell, node, node < count
        if not is_inner:
            cell, at = s.other.cell, node - count
        is_outer = is_inner == (s.cell == s.other.cell)
        return made(field_of(space, cell, at, component, found), number(is_inner), number(is_outer), space.degree)

    name = f"TraceSpace_{values.word}_{shape.__name__}in{dimension}"
    return record(name, _of_spaces(values, shape, geometry), {"function": function, "basis": basis})
