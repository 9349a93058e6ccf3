"""Tuples as vectors: products, lengths, and taking vectors and matrices apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from ..values.attribute_types import AttributeType
from .declaration import attribute, data_node, untyped
from .operands import (
    Inputs,
    Typed,
    aligned,
    array_of,
    decimal,
    leading,
    map_elements,
    pack,
    promoted,
    require_shape,
    tuple_type,
    with_dtype,
)
from .rotations import unit

VECTOR = "A vector, or an array of them"
_COMPONENTS = "xyzw"
_ORDINALS = ("first", "second", "third", "fourth")


def _pair(inputs: Inputs) -> tuple[np.ndarray, np.ndarray, AttributeType]:
    """Both vectors in the dtype of the result, and its type with the components of the vectors."""
    operands = inputs.numbers("a", "b")
    for operand in operands:
        require_shape(operand, (2,), (3,), (4,))
    kind = with_dtype(leading(operands), promoted(operands))
    a, b = (elements.astype(kind.dtype) for elements in aligned(operands))
    return a, b, kind


def _number_type(kind: AttributeType) -> AttributeType:
    return tuple_type(kind.dtype, 1, kind.is_array)


def _dot(inputs: Inputs) -> Typed:
    a, b, kind = _pair(inputs)
    return pack(np.sum(a * b, axis=-1), _number_type(kind))


def _cross(inputs: Inputs) -> Typed:
    a, b, kind = _pair(inputs)
    if kind.shape != (3,):
        raise GraphError(f"inputs:a and inputs:b have {kind.count} components; a cross product needs three")
    return pack(np.cross(a, b), kind)


def _distance(inputs: Inputs) -> Typed:
    a, b, kind = _pair(inputs)
    number = with_dtype(_number_type(kind), np.dtype(np.float64) if kind.dtype.kind != "f" else kind.dtype)
    return pack(_length(a.astype(np.float64) - b), number)


def _length(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=-1)


def _magnitude(inputs: Inputs) -> Typed:
    (operand,) = inputs.numbers("input")
    if not operand.type.shape:
        return map_elements(np.abs, [operand], promoted)
    require_shape(operand, (2,), (3,), (4,))
    kind = tuple_type(decimal([operand]), 1, operand.type.is_array)
    return pack(_length(operand.elements.astype(np.float64)), kind)


def _normalize(inputs: Inputs) -> Typed:
    operand = require_shape(inputs.numbers("vector")[0], (2,), (3,), (4,))
    return pack(unit(operand.elements.astype(np.float64)), with_dtype(operand.type, decimal([operand])))


def _make(count: int, kind_of: Callable[[list[Typed]], AttributeType], shape: tuple[int, ...]) -> Callable:
    def compute(inputs: Inputs) -> Typed:
        operands = [require_shape(o, shape) for o in inputs.numbers(*_COMPONENTS[:count])]
        kind = array_of(kind_of(operands), any(o.type.is_array for o in operands))
        parts = np.broadcast_arrays(*aligned(operands))
        return pack(np.stack(parts, axis=1).reshape(-1, *kind.shape), kind)

    return compute


def _break(name: str, count: int, shape: tuple[int, ...]) -> Callable[[Inputs], dict[str, Typed]]:
    def compute(inputs: Inputs) -> dict[str, Typed]:
        operand = require_shape(inputs.numbers(name)[0], shape)
        kind = tuple_type(operand.type.dtype, shape[1] if len(shape) > 1 else 1, operand.type.is_array)
        return {_COMPONENTS[i]: pack(operand.elements[:, i], kind) for i in range(count)}

    return compute


def _vector_nodes(n: int) -> list[NodeType]:
    parts = {_COMPONENTS[i]: attribute("any", f"The {_ORDINALS[i]} component, or an array of it") for i in range(n)}
    whole = untyped(f"A vector of {n} numbers, or an array of them", "tuple")
    make = _make(n, lambda operands: tuple_type(promoted(operands), n), ())
    return [
        data_node(f"MakeVector{n}", 1, "A vector of numbers; arrays of numbers make an array", parts, whole, make),
        data_node(f"BreakVector{n}", 1, "The components of a vector", whole, parts, _break("tuple", n, (n,))),
    ]


def _matrix_nodes(n: int) -> list[NodeType]:
    rows = {_COMPONENTS[i]: attribute("any", f"The {_ORDINALS[i]} row, or an array of it") for i in range(n)}
    whole = untyped(f"A matrix of {n} x {n} numbers, or an array of them", "matrix")
    make = _make(n, lambda operands: AttributeType("matrixd", n), (n,))
    return [
        data_node(f"MakeMatrix{n}", 1, "A matrix of row vectors; arrays of rows make an array", rows, whole, make),
        data_node(f"BreakMatrix{n}", 1, "The rows of a matrix", whole, rows, _break("matrix", n, (n, n))),
    ]


_BOTH = untyped(VECTOR, "a", "b")
_NUMBER = "A number, or an array of them"
_SIZED = "A vector or a number, or an array of them"

TYPES: list[NodeType] = [
    *(node for n in (2, 3, 4) for node in (*_vector_nodes(n), *_matrix_nodes(n))),
    data_node("DotProduct", 1, "The dot product", _BOTH, untyped(_NUMBER, "product"), _dot),
    data_node("CrossProduct", 1, "The cross product", _BOTH, untyped(VECTOR, "product"), _cross),
    data_node("Distance3D", 1, "The distance of two points", _BOTH, untyped(_NUMBER, "distance"), _distance),
    data_node(
        "Magnitude",
        1,
        "The length, or absolute value",
        untyped(_SIZED, "input"),
        untyped(_NUMBER, "magnitude"),
        _magnitude,
    ),
    data_node(
        "Normalize",
        1,
        "The vector with length 1; a zero vector stays zero",
        untyped(VECTOR, "vector"),
        untyped(VECTOR, "result"),
        _normalize,
    ),
]
