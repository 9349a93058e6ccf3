"""Records of discrete fields in kernels, and the operators that all fields have.

Gradients of shape functions by coordinates become gradients by position with the inverse derivative that the sample
carries. Start with `field_record`; basis_records.py has test and trial fields.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef"

from functools import cache
from typing import Any, NamedTuple

from ... import outer, trace, transpose
from ...arrays.array import array
from ...lang.kernel import Function, func
from ...lang.types import Mat, Scalar, Type, Vec
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import CALL
from ...lang.values.type_registry import python_type
from ..field_operators import grad, grad_outer
from ..field_operators import outer as value_outside
from ..index_types import NULL_NODE_INDEX
from ..kernel_records import (
    SAMPLE,
    dof_at,
    in_other_cell,
    inverse_of,
    matrix_type,
    moved_to,
    node_place,
    record,
    scalar_class,
    shape_gradient,
    shape_value,
    vector_type,
    zero_gradient,
)
from .dof_mappers import DofMapper
from .vector_functions import Piola, field_functions

# -- discrete fields ------------------------------------------------------------------------------------------------


@func
def dof_of(u: Any, i: int, cell: int):
    """What a node of a cell has."""
    return u.dofs[u.nodes[i, cell]]


@func
def dof_of_part(u: Any, i: int, cell: int):
    """What a node of a cell has: zero where the part has no node."""
    found = u.dofs.dtype(0.0)
    node = u.places[u.nodes[i, cell]]
    if node != NULL_NODE_INDEX:
        found = u.dofs[node]
    return found


@func
def value_in_cell(u: Any, cell: int, place: Any, coords: Any):
    """The value of a discrete field at a place of a cell."""
    found = u.dofs.dtype(0.0)
    for i in range(u.nodes.shape[0]):
        found += shape_value(u.shape, cell, place, i) * dof_at(u, i, cell)
    return found


@func
def slopes_in_cell(u: Any, cell: int, place: Any):
    """The derivative by coordinates of a discrete field of vectors: a row for each component."""
    found = outer(u.dofs.dtype(), zero_gradient(u.shape))
    for i in range(u.nodes.shape[0]):
        found += outer(dof_at(u, i, cell), shape_gradient(u.shape, cell, place, i))
    return found


@func
def value_of(u: Any, s: SAMPLE):
    """The value of a discrete field at a sample."""
    return value_in_cell(u, s.cell, s.place, s.place)


@func
def value_of(u: Any, s: SAMPLE, node: int):  # noqa: F811 - an overload
    """The part of the value that comes from one node of the cell."""
    return shape_value(u.shape, s.cell, s.place, node) * dof_at(u, node, s.cell)


@func
def gradient_of_numbers(u: Any, s: SAMPLE):
    """The gradient of a discrete field of numbers."""
    found = zero_gradient(u.shape)
    for i in range(u.nodes.shape[0]):
        found += shape_gradient(u.shape, s.cell, s.place, i) * dof_at(u, i, s.cell)
    return transpose(inverse_of(s, u)) * found


@func
def gradient_of_vectors(u: Any, s: SAMPLE):
    """The gradient of a discrete field of vectors: a row for each component."""
    return slopes_in_cell(u, s.cell, s.place) * inverse_of(s, u)


@func
def other_value(u: Any, s: SAMPLE):
    """The value of a discrete field in the other cell of a side."""
    return u(in_other_cell(s))


@func
def other_gradient(u: Any, s: SAMPLE):
    """The gradient of a discrete field in the other cell of a side."""
    return grad(u, in_other_cell(s))


# -- nodes ---------------------------------------------------------------------------------------------------------


@func
def count_of_nodes(u: Any, s: SAMPLE):
    """How many nodes the cell of a sample has."""
    return u.nodes.shape[0]


@func
def node_of_cell(u: Any, s: SAMPLE, i: int):
    """The number of a node of the cell, in the space."""
    return u.nodes[i, s.cell]


@func
def weight_of_node(u: Any, s: SAMPLE, i: int):
    """The value of the shape function of a node."""
    return shape_value(u.shape, s.cell, s.place, i)


@func
def weight_gradient_of_node(u: Any, s: SAMPLE, i: int):
    """The gradient of the shape function of a node."""
    return transpose(inverse_of(s, u)) * shape_gradient(u.shape, s.cell, s.place, i)


@func
def outer_weight_of_node(u: Any, s: SAMPLE, i: int):
    """The value of the shape function of a node of the other cell of a side."""
    return weight_of_node(u, in_other_cell(s), i)


@func
def outer_weight_gradient_of_node(u: Any, s: SAMPLE, i: int):
    """The gradient of the shape function of a node of the other cell of a side."""
    return weight_gradient_of_node(u, in_other_cell(s), i)


@func
def at_node_of_field(u: Any, s: SAMPLE, node: int):
    """The sample moved to a node of its cell."""
    return moved_to(s, node_place(u.shape, s.cell, node))


@func
def same_node(u: Any, node: int):
    """The number of a node of the space in the field: the same."""
    return node


@func
def place_of_node(u: Any, node: int):
    """The number of a node of the space in the field."""
    return u.places[node]


_OF_NODES = {
    "node_count": count_of_nodes,
    "node_index": node_of_cell,
    "node_inner_weight": weight_of_node,
    "node_inner_weight_gradient": weight_gradient_of_node,
    "node_outer_weight": outer_weight_of_node,
    "node_outer_weight_gradient": outer_weight_gradient_of_node,
    "at_node": at_node_of_field,
}


# -- uniform fields -------------------------------------------------------------------------------------------------


@func
def uniform_value(u: Any, s: SAMPLE):
    """The value of a uniform field."""
    return u.value


@func
def no_degree(u: Any):
    """The degree of constants."""
    return 0


# -- both sides -----------------------------------------------------------------------------------------------------


@func
def degree_of(u: Any):
    """The degree of the polynomials."""
    return u.degree


@func
def fall(u: Any, s: SAMPLE):
    """How much a field falls along the normal of a side."""
    return u(s) - value_outside(u, s)


@func
def middle(u: Any, s: SAMPLE):
    """The middle of the values in both cells of a side."""
    return type(s.qp_weight)(0.5) * (u(s) + value_outside(u, s))


@func
def fall_of_gradients(u: Any, s: SAMPLE):
    """How much the gradient of a field falls along the normal of a side."""
    return grad(u, s) - grad_outer(u, s)


@func
def middle_of_gradients(u: Any, s: SAMPLE):
    """The middle of the gradients in both cells of a side."""
    return type(s.qp_weight)(0.5) * (grad(u, s) + grad_outer(u, s))


@func
def divergence_outside(u: Any, s: SAMPLE):
    """The divergence of a field of vectors in the other cell of a side."""
    return trace(grad_outer(u, s))


# -- what follows from gradients ------------------------------------------------------------------------------------


@func
def divergence(u: Any, s: SAMPLE):
    """The divergence of a field of vectors."""
    return trace(grad(u, s))


@func
def symmetric_gradient(u: Any, s: SAMPLE):
    """The symmetric part of the gradient of a field of vectors."""
    g = grad(u, s)
    return type(g[0, 0])(0.5) * (g + transpose(g))


@func
def rotation(u: Any, s: SAMPLE):
    """The curl of a field of vectors of three components."""
    g = grad(u, s)
    return type(g[0])(g[2, 1] - g[1, 2], g[0, 2] - g[2, 0], g[1, 0] - g[0, 1])


class Values(NamedTuple):
    """What values of a space are: their type, and how numbers at nodes become values, if they are no values."""

    type: Type
    mapper: DofMapper | None = None
    piola: Piola | None = None  # of vector-valued shape functions, whose nodes have numbers

    @property
    def number(self) -> Any:
        """The class of the numbers of values."""
        t: Any = self.type
        return scalar_class(getattr(t, "scalar", t))

    @property
    def dof_dtype(self) -> Any:
        """The type of what a node has."""
        if self.piola:
            return python_type(self.type.scalar)  # type: ignore[attr-defined]
        return self.mapper.dof_dtype if self.mapper else python_type(self.type)

    @property
    def have_gradients(self) -> bool:
        """True if fields of these values have gradients."""
        return not self.mapper and not isinstance(self.type, Mat)

    @property
    def word(self) -> str:
        """The values as a part of a name."""
        own = self.mapper.key if self.mapper else (self.piola.value,) if self.piola else ()
        return type_word("".join((self.type.key, *own)))


def type_word(key: str) -> str:
    """The name of a type as a part of names of records."""
    return "".join(c if c.isalnum() else "_" for c in key)


class Parts(NamedTuple):
    """The functions that the operators of a field are made of."""

    value: Function
    gradient: Function
    outer: Function
    outer_gradient: Function


def operators(values: Values, dimension: int, parts: Parts) -> tuple[dict, dict]:
    """What a field of values of a kind supplies, and why it does not supply the rest."""
    t = values.type
    supplies = {CALL: parts.value, "outer": parts.outer, "jump": fall, "average": middle, "degree": degree_of}
    supplies["scalar_type"] = values.number
    count = t.count if isinstance(t, Vec) else 0
    vectors = f"the operator needs a field of vectors with {dimension} components: make the space with"
    write = f"{vectors} `dtype=wp.vec{dimension}`"
    refuses = {"div": write, "div_outer": write, "D": write, "curl": f"{vectors} `dtype=wp.vec3`, in space"}
    if not values.have_gradients:
        gradients = "grad", "grad_outer", "grad_jump", "grad_average"
        refuses |= dict.fromkeys(gradients, "fields of matrices have no gradient; take a field of vectors for each row")
        return supplies, refuses
    supplies |= {"grad": parts.gradient, "grad_outer": parts.outer_gradient}
    supplies |= {"grad_jump": fall_of_gradients, "grad_average": middle_of_gradients}
    if count == dimension:
        supplies |= {"div": divergence, "div_outer": divergence_outside, "D": symmetric_gradient}
        if dimension == 3:
            supplies["curl"] = rotation
    return supplies, refuses


@cache
def field_record(values: Values, scalar: Scalar, dimension: int, shape: Any, geometry: Any) -> Any:
    """What kernels need of a discrete field of values of a kind. A field that is evaluated anywhere has the geometry,
    whose record is of the class `geometry`; None for those that are evaluated at rows of tables.
    """
    supplies, refuses = _field_operators(values, dimension, scalar, shape)
    name, fields = f"Field_{values.word}_{shape.__name__}in{dimension}", _of_nodes(values)
    fields |= shapes(shape, geometry)
    return record(name, fields, {**supplies, "dof_at": dof_of, "node_partition_index": same_node}, refuses)


@cache
def part_field_record(values: Values, scalar: Scalar, dimension: int, shape: Any, geometry: Any) -> Any:
    """What kernels need of a discrete field that has some nodes of its space."""
    supplies, refuses = _field_operators(values, dimension, scalar, shape)
    name, fields = f"PartOf_{values.word}_{shape.__name__}in{dimension}", _of_nodes(values)
    fields["places"] = array(dtype=int32)  # of each node of the space, the number of the field's node
    fields |= shapes(shape, geometry)
    return record(name, fields, {**supplies, "dof_at": dof_of_part, "node_partition_index": place_of_node}, refuses)


def _of_nodes(values: Values) -> dict[str, Any]:
    return {"dofs": array(dtype=values.dof_dtype), "nodes": array(dtype=int32, ndim=2)} | signs_of(values)


def signs_of(values: Values) -> dict[str, Any]:
    """The field of records that has the signs of vector-valued shape functions: node of a cell x cell."""
    return {"signs": array(dtype=values.dof_dtype, ndim=2)} if values.piola else {}


def _field_operators(values: Values, dimension: int, scalar: Scalar, shape: Any) -> tuple[dict, dict]:
    if values.piola:
        value, gradient = field_functions(values.piola, scalar, shape.cell_dimension)
        supplies, refuses = operators(values, dimension, Parts(value, gradient, other_value, other_gradient))
        return supplies | {name: _OF_NODES[name] for name in ("node_count", "node_index", "at_node")}, refuses
    gradient = gradient_of_vectors if isinstance(values.type, Vec) else gradient_of_numbers
    value = _mapped_value(values.mapper) if values.mapper else value_of
    supplies, refuses = operators(values, dimension, Parts(value, gradient, other_value, other_gradient))
    if isinstance(values.type, Vec) and not values.mapper:
        supplies |= {"value_at": value_in_cell, "slopes_at": slopes_in_cell}
    return supplies | _OF_NODES, refuses


@cache
def uniform_record(t: Type, scalar: Scalar, dimension: int) -> Any:
    """What kernels need of a field with the same value of a type everywhere."""
    n = t.count if isinstance(t, Vec) else 0
    zero = matrix_type(n, dimension, scalar) if n else vector_type(dimension, scalar)

    @func
    def no_gradient(u: Any, s: SAMPLE):
        return zero()

    values = Values(t)
    parts = Parts(uniform_value, no_gradient, uniform_value, no_gradient)
    supplies, refuses = operators(values, dimension, parts)
    return record(
        f"Uniform_{values.word}_{dimension}", {"value": python_type(t)}, {**supplies, "degree": no_degree}, refuses
    )


def _mapped_value(mapper: DofMapper) -> Function:
    """The function that makes the value of a discrete field of what nodes have."""
    to_value = mapper.dof_to_value

    @func
    def mapped_value_of(u: Any, s: SAMPLE):
        return to_value(value_of(u, s))

    @func
    def mapped_value_of(u: Any, s: SAMPLE, node: int):  # noqa: F811 - an overload
        return to_value(value_of(u, s, node))

    return mapped_value_of


def shapes(shape: Any, geometry: Any) -> dict[str, Any]:
    """The degree, shape functions, and the geometry of those that are evaluated anywhere, by their classes."""
    own = {} if geometry is None else {"geometry": geometry}
    return {"degree": int32, "shape": shape} | own
