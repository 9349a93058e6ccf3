"""Optimize and Backward: nodes that change inputs of Kernel nodes so that a loss falls, or give its gradient.

Both name inputs of Kernel nodes by their paths, and take a loss that these nodes compute. kernel_gradients.py finds the
gradient. The method is Adam (Kingma and Ba 2015), or steps along the gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph.attribute import Attribute, GraphError
from ..values.attribute_values import is_unchanged
from .contacts import at_least_zero
from .kernel_gradients import Upstream
from .prim_bundles import on_graph

METHODS = ADAM, DESCENT = "adam", "gradientDescent"
_BETAS, _EPSILON = (0.9, 0.999), 1e-8
MOST_STEPS = 10_000  # in one frame


class OptimizerState:
    """What a node has found so far: moments of the gradients by parameter, and the values at the start."""

    def __init__(self) -> None:
        self.frame = -math.inf
        self.steps = 0
        self.moments: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.start: dict[str, np.ndarray] = {}

    def begin_anew(self, parameters: list[Attribute]) -> None:
        """Give the parameters their first values again."""
        for parameter in parameters:
            if parameter.path in self.start:
                parameter.set(self.start[parameter.path])
        self.steps, self.moments, self.start = 0, {}, {}


@on_graph
def optimize(db: Any) -> None:
    """Compute Optimize. Raises GraphError."""
    state, inputs = db.per_instance_state, db.inputs
    parameters = [_found(db, path) for path in inputs.parameters]
    if not parameters:
        raise GraphError("inputs:parameters is empty; name inputs of Kernel nodes, such as /Graph/kernel.inputs:x")
    frame, state.frame = state.frame, db.host.timeline.frame
    if state.frame < frame or inputs.reset:
        state.begin_anew(parameters)
    steps, rate = int(inputs.steps), at_least_zero(inputs, "rate")
    if not 0 <= steps <= MOST_STEPS:
        raise GraphError(f"inputs:steps is {steps}; it must be 0 to {MOST_STEPS}")
    if inputs.method not in METHODS:
        raise GraphError(f"inputs:method is {inputs.method!r}; it must be {' or '.join(METHODS)}")
    upstream = Upstream(db.node.get_attribute("inputs:loss"), parameters)
    loss, gradients = upstream.gradients()
    for number in range(steps):
        if number:
            loss, gradients = upstream.gradients()
        if _length(gradients) <= inputs.tolerance:
            break
        _step(state, parameters, gradients, rate, inputs.method)
    db.outputs.loss, db.outputs.gradientLength, db.outputs.steps = loss, _length(gradients), state.steps


def _step(
    state: OptimizerState, parameters: list[Attribute], gradients: list[np.ndarray], rate: float, method: str
) -> None:
    """Change the parameters once. Raises GraphError for a gradient that is not finite."""
    state.steps += 1
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if not np.isfinite(gradient).all():
            raise GraphError(
                f"the gradient with respect to {parameter.path} is not finite at step {state.steps}; set a lower "
                "inputs:rate, or look at the loss there"
            )
        state.start.setdefault(parameter.path, parameter.value)
        change = gradient if method == DESCENT else _adam(state, parameter.path, gradient)
        parameter.set((parameter.value - rate * change).astype(parameter.resolved.dtype))


def _adam(state: OptimizerState, path: str, gradient: np.ndarray) -> np.ndarray:
    first, second = state.moments.get(path, (np.zeros_like(gradient), np.zeros_like(gradient)))
    if first.shape != gradient.shape:
        first, second = np.zeros_like(gradient), np.zeros_like(gradient)
    first = _BETAS[0] * first + (1 - _BETAS[0]) * gradient
    second = _BETAS[1] * second + (1 - _BETAS[1]) * gradient**2
    state.moments[path] = first, second
    mean, square = (m / (1 - beta**state.steps) for m, beta in zip((first, second), _BETAS, strict=True))
    return mean / (np.sqrt(square) + _EPSILON)


def _length(gradients: list[np.ndarray]) -> float:
    return math.sqrt(sum(float(np.sum(gradient**2)) for gradient in gradients))


@on_graph
def backward(db: Any) -> None:
    """Compute Backward. Raises GraphError."""
    loss, (gradient,) = Upstream(db.node.get_attribute("inputs:loss"), [_found(db, db.inputs.parameter)]).gradients()
    db.outputs.loss = loss
    flat = gradient.ravel()
    if not is_unchanged(db.outputs.gradient, flat):
        db.outputs.gradient = flat


def _found(db: Any, path: str) -> Attribute:
    """Return the attribute of another node of the graph by its path. Raises GraphError."""
    name, _, attribute = path.partition(".")
    graph = db.node.get_graph()
    full = name if name.startswith("/") else f"{db.node.path.rpartition('/')[0]}/{name}"
    node = graph.outermost.nodes.get(full) if graph is not None else None
    if node is None:
        raise GraphError(f"the graph has no node {full}, which the parameter {path!r} names; write it like "
                         "/Graph/kernel.inputs:x, or kernel.inputs:x")  # fmt: skip
    if attribute not in node.attributes:
        known = ", ".join(a.name for a in node.on("inputs") if a.spec is None) or "none"
        raise GraphError(f"{full} has no attribute {attribute!r}; its parameters are {known}")
    return node.attributes[attribute]
