"""Random values and noise. What a play draws depends on the scene alone, so that each play of it gives the same.

A generator starts from the seed, or where `useSeed` is false, from the path of its node. It goes on with every run, and
starts again when the seed changes; with `isNoise`, it starts again at every run.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.database import ENABLED, Database
from ..graph.node_graph import GraphError, NodeType
from .declaration import EXEC_IN, EXEC_OUT, attribute, data_node, node_type, untyped
from .noise_field import sample
from .operands import (
    Inputs,
    Typed,
    aligned,
    array_of,
    decimal,
    leading,
    pack,
    promoted,
    require_shape,
    store,
    tuple_type,
    typed,
    with_dtype,
)

Draw = Callable[[Inputs, np.random.Generator], Typed]


class RandomNode:
    """The class of a node that draws from a generator of its own whenever it runs."""

    def __init__(self, draw: Draw):
        self.draw = draw

    @staticmethod
    def internal_state() -> dict[str, Any]:
        """The generator, and what it started from."""
        return {"seed": None, "generator": None}

    def compute(self, db: Database) -> bool:
        """Draw."""
        state = db.shared_state
        seed = db.inputs.seed if db.inputs.useSeed else zlib.crc32(db.node.path.encode())
        if seed != state["seed"] or db.inputs.isNoise:
            state.update(seed=seed, generator=np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            drawn = self.draw(Inputs(db.node), state["generator"])
        store(db.node.attributes["outputs:random"], drawn)
        db.outputs.execOut = ENABLED
        return True


def _bounds(inputs: Inputs, low: str, high: str) -> list[Typed]:
    """Two operands that default to 0 and 1, in the type of the other one."""
    given = [inputs.get(low), inputs.get(high)]
    known = next((operand for operand in given if operand is not None), typed(0.0, "double"))
    kind = array_of(known.type, False)
    defaults = (pack(np.full((1, *kind.shape), default), kind) for default in (0, 1))
    return [default if operand is None else operand for operand, default in zip(given, defaults)]


def _drawn(operands: Sequence[Typed], dtype: np.dtype, draw: Callable[..., np.ndarray]) -> Typed:
    """Draw for each component of the operands, broadcast together."""
    kind = with_dtype(leading(operands), dtype)
    low, high = np.broadcast_arrays(*(elements.astype(kind.dtype) for elements in aligned(operands)))
    return pack(draw(low, high).reshape(-1, *kind.shape), kind)


def _uniform(inputs: Inputs, generator: np.random.Generator) -> Typed:
    operands = [_number(o) for o in _bounds(inputs, "min", "max")]

    def draw(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        if not np.all(low <= high):
            raise GraphError("inputs:min must not be above inputs:max; exchange the two")
        if low.dtype.kind != "f":
            return generator.integers(low, high, dtype=low.dtype, endpoint=True)
        out = (low + generator.random(low.shape) * (high.astype(np.float64) - low)).astype(low.dtype)
        return np.where(low < high, np.minimum(out, np.nextafter(high, low)), low)  # rounding must not reach the end

    return _drawn(operands, promoted(operands), draw)


def _number(operand: Typed) -> Typed:
    if operand.type.is_numeric and operand.type.base != "bool" and np.all(np.isfinite(operand.elements)):
        return operand
    raise GraphError(f"{operand.name} ({operand.type}) must be finite numbers")


def _gaussian(inputs: Inputs, generator: np.random.Generator) -> Typed:
    operands = [_number(o) for o in _bounds(inputs, "mean", "stdev")]
    if np.any(operands[1].elements < 0):
        raise GraphError("inputs:stdev is negative; a standard deviation is 0 or more")

    def draw(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        out = mean + deviation * generator.standard_normal(mean.shape)
        return np.exp(out) if inputs["useLog"].value else out

    return _drawn(operands, decimal(operands), draw)


def _unit(count: int, kind: str) -> Draw:
    """Unit vectors of `count` components, equally dense in all directions (Muller, 1959)."""

    def draw(inputs: Inputs, generator: np.random.Generator) -> Typed:
        vector = generator.standard_normal(count)
        return typed((vector / np.linalg.norm(vector)).astype(np.float32), kind)

    return draw


def _noise(inputs: Inputs) -> Typed:
    position = _number(require_shape(inputs["position"], (), (2,), (3,), (4,)))
    points = position.elements.astype(np.float64).reshape(len(position), position.type.count)
    kind = tuple_type(np.dtype(np.float32), 1, position.type.is_array)
    return pack(sample(inputs["seed"].value, points), kind)


_SEED = {
    "seed": attribute("uint64", "The seed", 0),
    "useSeed": attribute("bool", "Whether the seed counts, not the path of the node", False),
    "isNoise": attribute("bool", "Whether every run gives the same", False),
}
_LIMITS = "draws other numbers than Kit; without useSeed, each play draws the same"
_VALUES = "A number, a tuple, or an array of them"


def _random(name: str, about: str, kind: str, draw: Draw, inputs: dict) -> NodeType:
    outputs = {"random": attribute(kind, "The value")} | EXEC_OUT
    inputs = EXEC_IN | inputs | _SEED
    return node_type(f"nodes.Random{name}", 1, RandomNode(draw), about, inputs, outputs, limits=_LIMITS)


_LOG = {"useLog": attribute("bool", "Whether to draw the exponential of a normal value", False)}

TYPES: list[NodeType] = [
    _random(
        "Boolean", "True or false", "bool", lambda inputs, generator: typed(bool(generator.integers(2)), "bool"), {}
    ),
    _random(
        "Numeric",
        "A number from min to max, without max unless it is an integer",
        "any",
        _uniform,
        untyped(_VALUES, "min", "max"),
    ),
    _random("Gaussian", "A normal value", "any", _gaussian, untyped(_VALUES, "mean", "stdev") | _LOG),
    _random("UnitVector", "A direction", "vectorf[3]", _unit(3, "vectorf[3]"), {}),
    _random("UnitQuaternion", "A rotation", "quatf[4]", _unit(4, "quatf[4]"), {}),
    data_node(
        "Noise",
        1,
        "Perlin noise in one to four dimensions, between -1 and 1",
        untyped("A point: a number or a tuple, or an array of them", "position")
        | {"seed": attribute("uint", "The field", 0)},
        untyped("The noise, or an array of it", "result"),
        _noise,
        "the field is that of wp.noise, not Kit's",
    ),
]
