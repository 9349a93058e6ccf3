"""Booleans: comparisons, logic, choices, and tests for zero and emptiness."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from ..values.attribute_types import AttributeType
from .declaration import attribute, data_node, untyped
from .operands import (
    Inputs,
    Typed,
    aligned,
    array_of,
    converted,
    leading,
    pack,
    promoted,
    repeated,
    rows,
    typed,
    with_dtype,
)

_BOOL = AttributeType("bool")
_BOOLS = "A bool, or an array of them"


def _require_bools(operand: Typed) -> Typed:
    if operand.type.base == "bool":
        return operand
    raise GraphError(f"{operand.name} is of type {operand.type}; it must be a bool or bool[] (ToBool makes one)")


def _bools(elements: np.ndarray, *operands: Typed) -> Typed:
    """A bool, or an array of them where an operand is an array."""
    return pack(elements, array_of(_BOOL, any(o.type.is_array for o in operands)))


# -- comparison -------------------------------------------------------------------------------------------------------

_COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    ">": np.greater,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def _compare(inputs: Inputs) -> Typed:
    a, b, operator = inputs["a"], inputs["b"], inputs.choice("operation", _COMPARISONS)
    if a.type.is_numeric and b.type.is_numeric:
        return _bools(_lexicographic(operator, *aligned([a, b])), a, b)
    if a.type.is_text and b.type.is_text:
        return _bools(operator(*repeated(a, b)).astype(bool), a, b)
    raise GraphError(f"inputs:a is of type {a.type} and inputs:b is of type {b.type}; the two cannot be compared")


def _lexicographic(operator: Callable, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compare elements by the first component in which they differ."""
    a, b = np.broadcast_arrays(a, b)
    a, b = rows(a), rows(b)
    at = (np.arange(len(a)), np.argmax(a != b, axis=1))
    return operator(a[at], b[at])


# -- logic ------------------------------------------------------------------------------------------------------------


def _logic(function: Callable, negated: bool) -> Callable[[Inputs], Typed]:
    def compute(inputs: Inputs) -> Typed:
        operands = [_require_bools(o) for o in (inputs["a"], inputs["b"], *inputs.dynamic())]
        out = reduce(function, aligned(operands))
        return _bools(~out if negated else out, *operands)

    return compute


def _not(inputs: Inputs) -> Typed:
    operand = _require_bools(inputs["valueIn"])
    return pack(~operand.elements, operand.type)


_OPERATORS: dict[str, Callable[[bool, bool], bool]] = {
    "AND": lambda a, b: a and b,
    "OR": lambda a, b: a or b,
    "NAND": lambda a, b: not (a and b),
    "NOR": lambda a, b: not (a or b),
    "XOR": lambda a, b: a != b,
    "XNOR": lambda a, b: a == b,
}


def _expression(inputs: Inputs) -> Typed:
    return typed(inputs.choice("operator", _OPERATORS)(inputs["a"].value, inputs["b"].value), "bool")


# -- choice -----------------------------------------------------------------------------------------------------------


def _common_type(a: Typed, b: Typed) -> AttributeType:
    """The type that holds both values. Raises GraphError."""
    if a.type == b.type:
        return a.type
    is_array = a.type.is_array or b.type.is_array
    if a.type.is_numeric and b.type.is_numeric and a.type.shape == b.type.shape:
        return array_of(with_dtype(leading([a, b]), promoted([a, b])), is_array)
    if a.type.is_text and b.type.is_text:
        return AttributeType("token", 1, True) if is_array else a.type
    raise GraphError(f"inputs:ifTrue is of type {a.type} and inputs:ifFalse is of type {b.type}; no type holds both")


def _select(inputs: Inputs) -> Typed:
    condition, a, b = _require_bools(inputs["condition"]), inputs["ifTrue"], inputs["ifFalse"]
    kind = _common_type(a, b)
    if not condition.type.is_array and a.type.is_array == b.type.is_array:
        chosen = a if condition.value else b
        return converted(chosen, kind, "as the result is one")
    where, first, second = repeated(condition, a, b)
    shaped = where.reshape(-1, *(1,) * len(kind.shape))
    return pack(np.where(shaped, first, second), array_of(kind))


# -- tests ------------------------------------------------------------------------------------------------------------


def _zeros(inputs: Inputs) -> tuple[np.ndarray, Typed]:
    """Which elements are zero: of an array its elements, of a tuple or matrix its components."""
    (operand,) = inputs.numbers("value")
    elements = operand.elements if operand.type.is_array else operand.elements.reshape(-1)
    near = np.less_equal(np.abs(elements.astype(np.float64)), inputs["tolerance"].value)
    return np.all(rows(near), axis=1), operand


def _each_zero(inputs: Inputs) -> Typed:
    zeros, operand = _zeros(inputs)
    is_many = operand.type.is_array or bool(operand.type.shape)
    return pack(zeros, array_of(_BOOL, is_many))


def _is_empty(inputs: Inputs) -> Typed:
    value = inputs.get("input")
    has_length = value is not None and (value.type.is_array or value.type.is_text or value.type.is_paths)
    return typed(value is None or (has_length and len(value.value) == 0), "bool")


# -- declarations -----------------------------------------------------------------------------------------------------

_RESULT = untyped(_BOOLS, "result")
_TOLERANCE = {"tolerance": attribute("double", "How far from zero a number may be", 0.0)}
_TESTED = untyped("A number, a tuple, a matrix, or an array of them", "value") | _TOLERANCE
_ANSWER = {"result": attribute("bool", "The answer")}
_PAIR = {name: attribute("bool", "A bool") for name in "ab"}
_OPERATOR = {"operator": attribute("token", "The operation", "AND", ",".join(_OPERATORS))}
_OPERATION = {"operation": attribute("token", "The comparison", ">", ",".join(_COMPARISONS))}
_ALTERNATIVES = untyped("A value", "ifTrue", "ifFalse")

# Name, version, description, inputs, outputs, function of the node.
_ROWS = (
    ("Compare", 1, "Whether a comparison holds; tuples compare by their first difference",
     untyped("A number, a tuple, a text, or an array of them", "a", "b") | _OPERATION, _RESULT, _compare),
    *(
        (f"Boolean{name}", 2, f"{about} Further inputs (input2, input3, ...) count too.", untyped(_BOOLS, "a", "b"),
         _RESULT, _logic(function, negated))
        for name, about, function, negated in (
            ("And", "True if all inputs are.", np.logical_and, False),
            ("Or", "True if any input is.", np.logical_or, False),
            ("Nand", "True unless all inputs are.", np.logical_and, True),
            ("Nor", "True if no input is.", np.logical_or, True),
        )
    ),
    ("BooleanNot", 1, "The opposite", untyped(_BOOLS, "valueIn"), untyped(_BOOLS, "valueOut"), _not),
    ("BooleanExpr", 1, "An operation on two bools", _PAIR | _OPERATOR, _ANSWER, _expression),
    ("SelectIf", 1, "One of two values, or for each element of a condition one of two elements",
     untyped(_BOOLS, "condition") | _ALTERNATIVES, untyped("The value", "result"), _select),
    ("IsZero", 1, "Whether all numbers are zero", _TESTED, _ANSWER,
     lambda inputs: typed(bool(_zeros(inputs)[0].all()), "bool")),
    ("AnyZero", 1, "Whether any element is zero", _TESTED, _ANSWER,
     lambda inputs: typed(bool(_zeros(inputs)[0].any()), "bool")),
    ("EachZero", 1, "Which elements are zero", _TESTED, _RESULT, _each_zero),
    ("IsEmpty", 1, "Whether an array or text has no elements", untyped("A value", "input"),
     {"isEmpty": attribute("bool", "True if it has none")}, _is_empty),
)  # fmt: skip

TYPES: list[NodeType] = [data_node(*row) for row in _ROWS]
