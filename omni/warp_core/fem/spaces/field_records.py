"""Records of fields in kernels: discrete fields, test and trial fields, and the bases that these are taken from.

Gradients of shape functions by coordinates become gradients by position with the inverse derivative that the sample
carries. Start with `field_record`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from functools import cache
from typing import Any

from ... import outer, trace, transpose
from ...arrays.array import array
from ...lang.kernel import Function, func
from ...lang.types import Mat, Scalar, Type, Vec
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import CALL
from ...lang.values.type_registry import python_type
from ..field_operators import grad
from ..kernel_records import SAMPLE, matrix_type, record, scalar_class, vector_type

# -- discrete fields ------------------------------------------------------------------------------------------------


@func
def value_of(u: Any, s: SAMPLE):
    """The value of a discrete field at a sample."""
    found = u.dofs.dtype(0.0)
    for i in range(u.nodes.shape[0]):
        found += u.values[s.row, i] * u.dofs[u.nodes[i, s.cell]]
    return found


@func
def gradient_of_numbers(u: Any, s: SAMPLE):
    """The gradient of a discrete field of numbers."""
    found = u.gradients.dtype()
    for i in range(u.nodes.shape[0]):
        found += u.gradients[s.row, i] * u.dofs[u.nodes[i, s.cell]]
    return transpose(s.inverse) * found


@func
def gradient_of_vectors(u: Any, s: SAMPLE):
    """The gradient of a discrete field of vectors: a row for each component."""
    found = outer(u.dofs.dtype(), u.gradients.dtype())
    for i in range(u.nodes.shape[0]):
        found += outer(u.dofs[u.nodes[i, s.cell]], u.gradients[s.row, i])
    return found * s.inverse


# -- test and trial fields ------------------------------------------------------------------------------------------


@func
def basis_value(u: Any, s: SAMPLE):
    """The value of a test or trial field at the sample that it was made for."""
    return u.value


@func
def basis_gradient(u: Any, s: SAMPLE):
    """The gradient of a test or trial field at the sample that it was made for."""
    return u.gradient


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


def _operators(t: Type, dimension: int, value: Function, gradient: Function) -> tuple[dict, dict]:
    """What a field of values of a type supplies, and why it does not supply the rest."""
    supplies = {CALL: value}
    count = t.count if isinstance(t, Vec) else 0
    vectors = f"the operator needs a field of vectors with {dimension} components: make the space with"
    write = f"{vectors} `dtype=wp.vec{dimension}`"
    refuses = {"div": write, "D": write, "curl": f"{vectors} `dtype=wp.vec3`, in space"}
    if isinstance(t, Mat):
        refuses["grad"] = "fields of matrices have no gradient; take a field of vectors for each row"
        return supplies, refuses
    supplies["grad"] = gradient
    if count == dimension:
        supplies |= {"div": divergence, "D": symmetric_gradient}
        if dimension == 3:
            supplies["curl"] = rotation
    return supplies, refuses


@cache
def field_record(t: Type, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """What kernels need of a discrete field of values of a type."""
    gradient = gradient_of_vectors if isinstance(t, Vec) else gradient_of_numbers
    fields = {"dofs": array(dtype=python_type(t)), "nodes": array(dtype=int32, ndim=2)}
    name = f"Field_{_word(t)}_{cell_dimension}in{dimension}"
    return record(name, fields | _tables(scalar, cell_dimension), *_operators(t, dimension, value_of, gradient))


@cache
def basis_record(t: Type, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """A test or trial field at one sample: 1 in one component of one node."""
    fields = {"value": python_type(t)}
    if not isinstance(t, Mat):
        n = t.count if isinstance(t, Vec) else 0
        fields["gradient"] = matrix_type(n, dimension, scalar) if n else vector_type(dimension, scalar)
    name = f"Basis_{_word(t)}_{cell_dimension}in{dimension}"
    return record(name, fields, *_operators(t, dimension, basis_value, basis_gradient))


@cache
def space_record(t: Type, scalar: Scalar, cell_dimension: int, dimension: int) -> Any:
    """What kernels need of a space of values of a type to make test and trial fields."""
    basis, kind = basis_record(t, scalar, cell_dimension, dimension), python_type(t)
    columns = t.cols if isinstance(t, Mat) else 1

    @func
    def of_numbers(space: Any, s: Any, node: int, component: int):
        return basis(space.values[s.row, node], transpose(s.inverse) * space.gradients[s.row, node])

    @func
    def of_vectors(space: Any, s: Any, node: int, component: int):
        value, unit = kind(), kind()
        value[component] = space.values[s.row, node]
        unit[component] = space.values.dtype(1.0)
        return basis(value, outer(unit, transpose(s.inverse) * space.gradients[s.row, node]))

    @func
    def of_matrices(space: Any, s: Any, node: int, component: int):
        value = kind()
        value[component // columns, component - component // columns * columns] = space.values[s.row, node]
        return basis(value)

    supplied = of_vectors if isinstance(t, Vec) else of_matrices if isinstance(t, Mat) else of_numbers
    name = f"Space_{_word(t)}_{cell_dimension}in{dimension}"
    return record(name, _tables(scalar, cell_dimension), {"basis": supplied})


def _tables(scalar: Scalar, cell_dimension: int) -> dict[str, Any]:
    """Values and gradients of shape functions: row x node of a cell."""
    return {
        "values": array(dtype=scalar_class(scalar), ndim=2),
        "gradients": array(dtype=vector_type(cell_dimension, scalar), ndim=2),
    }


def _word(t: Type) -> str:
    return "".join(c if c.isalnum() else "_" for c in t.key)
