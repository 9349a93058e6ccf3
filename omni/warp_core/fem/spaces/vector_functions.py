"""Vector-valued shape functions in kernels: maps from the reference cell to a cell (Piola maps), and fields of them.

The functions of an edge have a tangential component on it that both cells share, those of a side a normal component.
A sign for each node of a cell makes them agree on its direction. Start with `Piola`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

import enum
from functools import cache
from typing import Any

from ... import abs, determinant, inverse, transpose
from ...lang.kernel import Function, func
from ...lang.types import Scalar
from ..kernel_records import SAMPLE, dof_at, inverse_of, matrix_type, shape_gradient, shape_value, vector_type


class Piola(enum.Enum):
    """Maps of vectors from the reference cell to a cell."""

    COVARIANT = "covariant"
    """Keeps integrals of tangential components along edges."""
    CONTRAVARIANT = "contravariant"
    """Keeps integrals of normal components over sides."""


# Each takes the inverse of the derivative of positions by coordinates. The curl of a covariant gradient and the
# divergence of a contravariant one are exact in all cells, other parts of gradients in those with straight sides.


@func
def covariant_value(inverse_there: Any, x: Any):
    """A vector of the reference cell in the cell."""
    return transpose(inverse_there) * x


@func
def covariant_gradient(inverse_there: Any, g: Any):
    """A gradient of the reference cell in the cell."""
    return transpose(inverse_there) * g * inverse_there


@func
def contravariant_value(inverse_there: Any, x: Any):
    """A vector of the reference cell in the cell."""
    return abs(determinant(inverse_there)) * (inverse(inverse_there) * x)


@func
def contravariant_gradient(inverse_there: Any, g: Any):
    """A gradient of the reference cell in the cell."""
    return abs(determinant(inverse_there)) * (inverse(inverse_there) * g * inverse_there)


@func
def covariant_back(inverse_there: Any, x: Any):
    """A vector of the cell in the reference cell."""
    return transpose(inverse(inverse_there)) * x


@func
def contravariant_back(inverse_there: Any, x: Any):
    """A vector of the cell in the reference cell."""
    return (inverse_there * x) / abs(determinant(inverse_there))


BACK = {Piola.COVARIANT: covariant_back, Piola.CONTRAVARIANT: contravariant_back}
MAPS = {
    Piola.COVARIANT: (covariant_value, covariant_gradient),
    Piola.CONTRAVARIANT: (contravariant_value, contravariant_gradient),
}


@cache
def field_functions(piola: Piola, scalar: Scalar, cell_dimension: int) -> tuple[Function, Function]:
    """The functions that evaluate a discrete field and its gradient."""
    mapped, mapped_gradient = MAPS[piola]
    vector, matrix = vector_type(cell_dimension, scalar), matrix_type(cell_dimension, cell_dimension, scalar)

    @func
    def vector_value(u: Any, s: SAMPLE):
        found = vector()
        for i in range(u.nodes.shape[0]):
            found += u.signs[i, s.cell] * dof_at(u, i, s.cell) * shape_value(u.shape, s.cell, s.place, i)
        return mapped(inverse_of(s, u), found)

    @func
    def vector_gradient(u: Any, s: SAMPLE):
        found = matrix()
        for i in range(u.nodes.shape[0]):
            found += u.signs[i, s.cell] * dof_at(u, i, s.cell) * shape_gradient(u.shape, s.cell, s.place, i)
        return mapped_gradient(inverse_of(s, u), found)

    return vector_value, vector_gradient


@cache
def basis_functions(piola: Piola) -> tuple[Function, Function]:
    """The functions that give one shape function and its gradient: for a space, a cell, a place and the inverse
    derivative there, and a node.
    """
    mapped, mapped_gradient = MAPS[piola]

    @func
    def value(space: Any, cell: int, place: Any, inverse_there: Any, node: int):
        return space.signs[node, cell] * mapped(inverse_there, shape_value(space.shape, cell, place, node))

    @func
    def gradient(space: Any, cell: int, place: Any, inverse_there: Any, node: int):
        return space.signs[node, cell] * mapped_gradient(inverse_there, shape_gradient(space.shape, cell, place, node))

    return value, gradient
