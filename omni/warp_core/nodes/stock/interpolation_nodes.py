"""Values on their way from one to another: easing, approach, and curves of samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..graph.node_graph import GraphError, NodeType
from .declaration import attribute, data_node, untyped
from .operands import Inputs, Typed, array_of, decimal, leading, map_elements, pack, promoted, typed, with_dtype
from .rotations import slerp

_FLOATS = "A number, a tuple, or an array of them"
_Curve = Callable[[np.ndarray, int], np.ndarray]


def _ease_in_out(t: np.ndarray, exponent: int) -> np.ndarray:
    return np.where(t < 0.5, (2 * t) ** exponent / 2, 1 - (2 - 2 * t) ** exponent / 2)


_CURVES: dict[str, _Curve] = {
    "EaseIn": lambda t, exponent: t**exponent,
    "EaseOut": lambda t, exponent: 1 - (1 - t) ** exponent,
    "EaseInOut": _ease_in_out,
    "Linear": lambda t, exponent: t,
    "SinIn": lambda t, exponent: 1 - np.cos(t * np.pi / 2),
    "SinOut": lambda t, exponent: np.sin(t * np.pi / 2),
    "SinInOut": lambda t, exponent: (1 - np.cos(t * np.pi)) / 2,
}


def _blend(start: np.ndarray, end: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Between `start` and `end`; exactly the end where t is 1."""
    return np.where(t == 1, end, start + t * (end - start))


def _ease(inputs: Inputs) -> Typed:
    start, end, alpha = inputs.numbers("start", "end", "alpha")
    curve, exponent = inputs.choice("easeFunc", _CURVES), inputs["blendExponent"].value
    if exponent < 1:
        raise GraphError(f"inputs:blendExponent is {exponent}; it must be 1 or more")
    t = curve(np.clip(alpha.elements.astype(np.float64), 0.0, 1.0), exponent)
    way = Typed(t if alpha.type.is_array else t[0], with_dtype(alpha.type, np.dtype(np.float64)), alpha.name)
    kind = with_dtype(leading([start, end, way]), decimal([start]))
    wide = map_elements(_blend, [start, end, way], lambda operands: np.dtype(np.float64))
    return pack(wide.elements, kind)


def _interpolate_to(inputs: Inputs) -> Typed:
    current, target = inputs.numbers("current", "target")
    step = np.clip(inputs["speed"].value * inputs["deltaSeconds"].value, 0.0, 1.0)
    exponent = inputs["exponent"].value
    if not exponent > 0:
        raise GraphError(f"inputs:exponent is {exponent:g}; it must be above zero")
    t = 1.0 - (1.0 - step) ** exponent
    kind = with_dtype(leading([current, target]), decimal([current]))
    if current.type.base.startswith("quat"):
        return map_elements(
            lambda a, b: slerp(a.astype(np.float64), b.astype(np.float64), np.array([[t]])), [current, target], promoted
        )
    wide = map_elements(lambda a, b: _blend(a, b, np.float64(t)), [current, target], lambda o: np.dtype(np.float64))
    return pack(wide.elements, array_of(kind, wide.type.is_array))


def _interpolate(inputs: Inputs) -> Typed:
    knots, values, param = (inputs[name].value for name in ("knots", "values", "param"))
    if len(knots) != len(values):
        raise GraphError(f"inputs:knots has {len(knots)} elements and inputs:values has {len(values)}")
    if not len(knots):
        raise GraphError("inputs:knots is empty, so there is no curve")
    if np.any(np.diff(knots) < 0):
        raise GraphError("inputs:knots must not fall; sort the knots, and the values with them")
    return typed(float(np.interp(param, knots.astype(np.float64), values.astype(np.float64))), "double")


_RESULT = untyped(_FLOATS, "result")

TYPES: list[NodeType] = [
    data_node(
        "Ease",
        2,
        "A value between start and end, on a curve that is slow where it begins or ends",
        untyped(_FLOATS, "start", "end")
        | {
            "alpha": attribute("any", "How far, from 0 to 1: a number, or an array of them"),
            "blendExponent": attribute("int", "The degree of the Ease curves", 2),
            "easeFunc": attribute("token", "The curve", "EaseInOut", ",".join(_CURVES)),
        },
        _RESULT,
        _ease,
    ),
    data_node(
        "InterpolateTo",
        2,
        "A step from the current value to the target; quaternions turn along the shorter arc",
        untyped(_FLOATS, "current", "target")
        | {
            "speed": attribute("double", "How fast, in parts of the way per second", 1.0),
            "deltaSeconds": attribute("double", "Seconds of the step", 0.0),
            "exponent": attribute("float", "The degree of the curve", 2.0),
        },
        _RESULT,
        _interpolate_to,
        "the part of the way is 1 - (1 - speed * deltaSeconds) ** exponent; Kit's manual leaves out the first 1",
    ),
    data_node(
        "Interpolator",
        1,
        "The value of a curve of samples, linear between them and constant outside",
        {
            "knots": attribute("float[]", "Positions of the samples"),
            "values": attribute("float[]", "Values of the samples"),
            "param": attribute("float", "Where on the curve", 0.0),
        },
        {"value": attribute("float", "The value")},
        _interpolate,
    ),
]
