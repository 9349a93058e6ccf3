"""Arithmetic on numbers, tuples, matrices and arrays of them, component by component.

Integers wrap around on overflow, as in NumPy and in C. The result has the dtype that NumPy promotes to, or that of the
first operand, as the row of each table says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from .declaration import attribute, data_node, untyped
from .operands import (
    DtypeRule,
    Inputs,
    Typed,
    converted,
    decimal,
    elementwise,
    folded,
    map_elements,
    of_first,
    pack,
    promoted,
    require_numbers,
    with_dtype,
)

NUMBERS = "A number, a tuple, a matrix, or an array of them"
_INT, _DOUBLE = np.dtype(np.int32), np.dtype(np.float64)


# -- checks -----------------------------------------------------------------------------------------------------------


def _require_nonzero(operands: Sequence[Typed]) -> None:
    for divisor in operands[1:]:
        if not np.all(divisor.elements):
            raise GraphError(f"{divisor.name} is zero or contains zero; the node cannot divide by it")


def _require_integers(operands: Sequence[Typed]) -> None:
    for operand in operands:
        if operand.type.dtype.kind not in "ui":
            raise GraphError(
                f"{operand.name} is of type {operand.type}; Modulo takes integers, and FMod takes the others"
            )


def _require_signed(operands: Sequence[Typed]) -> None:
    if operands[0].type.dtype.kind == "u":
        raise GraphError(
            f"{operands[0].name} is of type {operands[0].type}, which has no negative values; convert it first"
        )


def _require_positive(operands: Sequence[Typed]) -> None:
    if not np.all(operands[0].elements > 0):
        raise GraphError(f"{operands[0].name} must be above zero; other numbers have no logarithm")


# -- nodes with a rule of their own -----------------------------------------------------------------------------------


def _to_integers(rounding: Callable[[np.ndarray], np.ndarray]) -> Callable[[Inputs], Typed]:
    def compute(inputs: Inputs) -> Typed:
        (operand,) = inputs.numbers("a")
        whole = pack(rounding(operand.elements), operand.type)
        return converted(whole, with_dtype(operand.type, _INT), "as the result is one")

    return compute


def _round(inputs: Inputs) -> Typed:
    decimals = int(np.clip(inputs["decimals"].value, -308, 308))

    def round_to(x: np.ndarray) -> np.ndarray:
        out = np.round(x.astype(_DOUBLE), decimals)
        return np.where(np.isfinite(out), out, x)  # a number with as few digits as it has

    return map_elements(round_to, inputs.numbers("input"), decimal)


def _increment(inputs: Inputs) -> Typed:
    (value,) = inputs.numbers("value")
    step = inputs["increment"].value
    if value.type.dtype.kind == "f":
        return map_elements(lambda x: x + x.dtype.type(step), [value], of_first)
    if float(step).is_integer() and abs(step) < 2**63:
        return map_elements(lambda x: x + np.array(int(step)).astype(x.dtype), [value], of_first)
    wide = with_dtype(value.type, _DOUBLE)
    return converted(pack(np.trunc(value.elements + step), wide), value.type, "as the value is one")


def _clamp(inputs: Inputs) -> Typed:
    operands = inputs.numbers("input", "lower", "upper")
    low, high = operands[1:]
    if np.any(map_elements(lambda a, b: b - a, [low, high], lambda o: _DOUBLE).elements < 0):
        raise GraphError("inputs:lower is above inputs:upper; exchange the two")
    return map_elements(np.clip, operands, of_first)


def _exponent(inputs: Inputs) -> Typed:
    (base,) = inputs.numbers("base")
    exponent = inputs.get("exponent")
    if exponent is None:
        return map_elements(np.square, [base], decimal)
    return map_elements(np.power, [base, require_numbers(exponent)], decimal)


def _logarithm(inputs: Inputs) -> Typed:
    (value,), base = inputs.numbers("value"), inputs["base"].value
    if not base > 0 or base == 1:
        raise GraphError(f"inputs:base is {base:g}; the base of a logarithm is above zero, and not one")
    _require_positive([value])
    return map_elements(lambda x: np.log(x) / x.dtype.type(np.log(base)), [value], decimal)


def _root(inputs: Inputs) -> Typed:
    n = inputs["nthRoot"].value
    if n == 0:
        raise GraphError("inputs:nthRoot is 0; there is no such root")
    root = {2: np.sqrt, 3: np.cbrt}.get(n, lambda x: np.power(x, x.dtype.type(1 / n)))
    return map_elements(root, inputs.numbers("value"), decimal)


_TRIGONOMETRY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "SIN": lambda x: np.sin(np.radians(x)),
    "COS": lambda x: np.cos(np.radians(x)),
    "TAN": lambda x: np.tan(np.radians(x)),
    "ARCSIN": lambda x: np.degrees(np.arcsin(x)),
    "ARCCOS": lambda x: np.degrees(np.arccos(x)),
    "DEGREES": np.degrees,
    "RADIANS": np.radians,
}


def _trigonometry(inputs: Inputs) -> Typed:
    return map_elements(inputs.choice("operation", _TRIGONOMETRY), inputs.numbers("a"), decimal)


# -- declarations -----------------------------------------------------------------------------------------------------


def _fmod_or_zero(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 0 for a divisor of 0, as Kit does."""
    remainder: np.ndarray = np.fmod(a, b)
    return np.where(b == 0, b, remainder)


def _node(
    name: str, about: str, inputs: str, output: str, function: Callable[[Inputs], Typed], version: int = 1, **more: dict
) -> NodeType:
    return data_node(name, version, about, untyped(NUMBERS, *inputs.split()) | more, untyped(NUMBERS, output), function)


# Of one input: name, description, input, output, function, dtype of the result.
_UNARY: tuple[tuple[str, str, str, str, Callable[[np.ndarray], np.ndarray], DtypeRule], ...] = (
    ("Absolute", "The absolute value", "input", "absolute", np.abs, promoted),
    ("Sin", "The sine of an angle in degrees", "value", "value", _TRIGONOMETRY["SIN"], decimal),
    ("Cos", "The cosine of an angle in degrees", "value", "value", _TRIGONOMETRY["COS"], decimal),
    ("Tan", "The tangent of an angle in degrees", "value", "value", _TRIGONOMETRY["TAN"], decimal),
    ("Asin", "The arcsine, in degrees", "value", "value", _TRIGONOMETRY["ARCSIN"], decimal),
    ("Acos", "The arccosine, in degrees", "value", "value", _TRIGONOMETRY["ARCCOS"], decimal),
    ("Atan", "The arctangent, in degrees", "value", "value", lambda x: np.degrees(np.arctan(x)), decimal),
    ("ToDeg", "An angle in radians, in degrees", "radians", "degrees", np.degrees, decimal),
    ("ToRad", "An angle in degrees, in radians", "degrees", "radians", np.radians, decimal),
)
_MORE = "Further inputs (input2, input3, ...) count too."
_mod = elementwise(np.fmod, "a", "b", check=_require_integers)
_fmod = elementwise(_fmod_or_zero, "a", "b", rule=decimal)
_atan2 = elementwise(lambda a, b: np.degrees(np.arctan2(a, b)), "a", "b", rule=decimal)
_negate = elementwise(np.negative, "input", check=_require_signed)
_divide = folded(np.divide, decimal, _require_nonzero)
_DIGITS = attribute("int", "Digits after the point; negative ones count before it", 0)
_STEP = attribute("double", "The number to add", 1.0)
_BASE = attribute("double", "The base", 10.0)
_NTH = attribute("int", "2 for the square root, 3 for the cube root", 2)
_OPERATION = attribute("token", "The function", "SIN", ",".join(_TRIGONOMETRY))

TYPES: list[NodeType] = [
    *(
        _node(name, about, given, result, elementwise(function, given, rule=rule))
        for name, about, given, result, function, rule in _UNARY
    ),
    _node("Add", f"The sum of all inputs. {_MORE}", "a b", "sum", folded(np.add), 2),
    _node("Subtract", f"The first input less all others. {_MORE}", "a b", "difference", folded(np.subtract), 2),
    _node("Multiply", f"The product of all inputs by components. {_MORE}", "a b", "product", folded(np.multiply), 2),
    _node("Divide", f"The first input over all others, a double for integers. {_MORE}", "a b", "result", _divide),
    _node("Modulo", "The remainder of a / b for integers, with the sign of a; 0 where b is 0", "a b", "result", _mod),
    _node("FMod", "The remainder of a / b, with the sign of a; 0 where b is 0", "a b", "result", _fmod),
    _node("Negate", "The negative value", "input", "output", _negate),
    _node("ATan2", "The angle of the point (b, a) in degrees", "a b", "result", _atan2),
    _node("Floor", "The largest integer not above a, as an int", "a", "result", _to_integers(np.floor)),
    _node("Ceil", "The smallest integer not below a, as an int", "a", "result", _to_integers(np.ceil)),
    _node("Round", "The input, rounded; halves go to the even digit", "input", "output", _round, decimals=_DIGITS),
    _node("Increment", "The value plus a number, of the value's type", "value", "result", _increment, increment=_STEP),
    _node("Clamp", "The input, or the bound that it is beyond", "input lower upper", "result", _clamp),
    _node(
        "Exponent",
        "The base to the exponent, which is 2 unless it is set",
        "base exponent",
        "result",
        _exponent,
    ),
    _node("Logarithm", "The logarithm of a value above zero", "value", "result", _logarithm, base=_BASE),
    _node("NthRoot", "The root; NaN for negative values but cube roots", "value", "result", _root, nthRoot=_NTH),
    _node("Trig", "A function of angles in degrees", "a", "result", _trigonometry, operation=_OPERATION),
]
