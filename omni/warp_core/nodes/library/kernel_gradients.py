"""Gradients of a loss that Kernel nodes compute, with respect to inputs of nodes before it. Start with `Upstream`.

The nodes between the parameters and the loss run once more, under a tape, with the programs and the numbers of threads
of this frame. Whatever does not depend on a parameter is a constant. A gradient is right or refused: a node that a tape
cannot follow is an error that names it.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import omni.warp_core as wp

from ...lang.values.type_registry import python_type
from ..graph.attribute import Attribute, GraphError
from ..graph.database import Database
from ..graph.node_graph import Node
from ..graph.placement import elements, placed
from ..kernel.array_sizes import count_of, view_shape
from ..kernel.dimensions import launch_dims
from ..kernel.kernel_bindings import Binding
from ..kernel.kernel_node import KernelState
from ..kernel.kernel_types import as_scalar
from ..kernel.node_values import NodeValues
from ..kernel.program import Program
from ..values.array_elements import as_array

FLOATS = ("float", "double")  # precisions of parameters and losses


def origin(attribute: Attribute) -> Attribute:
    """Return the attribute where a value comes from, at the begin of a chain of connected inputs."""
    while attribute.source is not None and (attribute.port == "inputs" or attribute.node.is_compound):
        attribute = attribute.source
    return attribute


class Upstream:
    """The Kernel nodes between parameters and a loss, in the order in which they run.

    Raises:
        GraphError: The loss does not depend on a parameter, or a node between them has no gradient.
    """

    def __init__(self, loss: Attribute, parameters: Sequence[Attribute]):
        if loss.source is None:
            raise GraphError(f"{loss.name} is not connected; connect it to an output of a Kernel node")
        self.loss, self.parameters = origin(loss), list(parameters)
        for parameter in parameters:
            _require_parameter(parameter)
        order = _order(self.loss.node)
        owners = {parameter.node for parameter in parameters}
        self._dependent: set[Node] = set()
        for node in order:
            if node in owners or any(a.node in self._dependent for a in _origins(node)):
                self._dependent.add(node)
        for parameter in parameters:
            if parameter.node not in order or self.loss.node not in self._dependent:
                raise GraphError(f"no connection leads from {parameter.node.path} to the loss, so {parameter.path} "
                                 "does not change it")  # fmt: skip
        self.nodes = [node for node in order if node in self._dependent]
        for node in self.nodes:
            if not isinstance(node.shared_state, KernelState):
                raise GraphError(f"{node.path} lies between a parameter and the loss, and is {node.type_name}; "
                                 "gradients pass through Kernel nodes only")  # fmt: skip

    def gradients(self) -> tuple[float, list[np.ndarray]]:
        """Return the loss, summed if it is an array, and its gradients: arrays like the values of the parameters."""
        run = _TapedRun(self)
        with wp.Tape() as tape:
            for node in self.nodes:
                run.node(node)
        loss = run.given.get(self.loss)
        if loss is None or self.loss.resolved.base not in FLOATS or self.loss.resolved.shape:
            raise GraphError(f"the loss is {self.loss.path}, of type {self.loss.resolved}; it must be a float, or an "
                             "array of float, that a Kernel node writes")  # fmt: skip
        seed = wp.ones_like(loss)
        try:
            tape.backward(grads={loss: seed})
        except (RuntimeError, ValueError, TypeError) as error:
            raise GraphError(f"the loss {self.loss.path} has no gradient: {error}") from None
        found = []
        for parameter in self.parameters:
            gradient = _on_cpu(parameter.node, run.given[parameter].grad)
            found.append(gradient.reshape(np.shape(parameter.value)).astype(np.float64))
        return float(np.sum(_on_cpu(self.loss.node, loss), dtype=np.float64)), found


def _require_parameter(parameter: Attribute) -> None:
    kind = parameter.resolved
    if parameter.port != "inputs" or parameter.spec is not None or not kind.is_array:
        raise GraphError(
            f"{parameter.path} is {kind}, and a parameter is an array that a kernel reads: an input of a Kernel node, "
            "such as float[]; one element is enough"
        )
    if kind.dtype not in (np.float32, np.float64):
        raise GraphError(f"{parameter.path} is {kind}; only float and double have gradients here")
    if parameter.sources:
        source = parameter.sources[0].path
        raise GraphError(
            f"{parameter.path} is connected to {source}, which would overwrite it; name an input without a connection"
        )


def _origins(node: Node) -> Iterator[Attribute]:
    """Yield the attributes from which data of other nodes comes."""
    for attribute in node.on("inputs"):
        for source in attribute.sources if attribute.gathers else [attribute.source]:
            if source is not None and not attribute.type.is_execution:
                yield origin(source)


def _order(last: Node) -> list[Node]:
    """Return a node and all before it along data connections, sources first. Raises GraphError for a cycle."""
    before: dict[Node, list[Node]] = {}
    waiting = [last]
    while waiting:
        node = waiting.pop()
        if node not in before:
            before[node] = [a.node for a in _origins(node)]
            waiting += before[node]
    try:
        return list(graphlib.TopologicalSorter(before).static_order())
    except graphlib.CycleError as error:
        paths = ", ".join(sorted({node.path for node in error.args[1]}))
        raise GraphError(f"{paths} form a cycle before the loss, which has no gradient") from None


def _parameter(parameter: Attribute) -> Any:
    """Return the array of a parameter. Raises GraphError if its node has not run."""
    device = _program(parameter.node).request.device
    return wp.clone(placed(parameter, parameter.resolved, device, parameter.node.timing), requires_grad=True)


def _on_cpu(node: Node, array: Any) -> np.ndarray:
    """Return the numbers of an array; a copy from a device counts for a node."""
    if not array.device.is_cpu:
        node.timing.count_download()
    found: np.ndarray = array.numpy()
    return found


class _TapedRun:
    """Arrays while the nodes run under a tape. `given` has those of parameters, and of outputs that are done."""

    def __init__(self, upstream: Upstream):
        self.given: dict[Attribute, Any] = {p: _parameter(p) for p in upstream.parameters}

    def node(self, node: Node) -> None:
        """Run the kernels of a node. Raises GraphError."""
        for attribute in node.on("inputs"):
            attribute.pull()
        program = _program(node)
        values = NodeValues(Database(node), program.request.attributes)
        dims = [launch_dims(values, step.use) for step in program.steps]
        arrays: dict[str, Any] = {}
        for step, extent in zip(program.steps, dims, strict=True):
            for binding in step.bindings:
                if (binding.rank or binding.target) and binding.key not in arrays:
                    arrays[binding.key] = self._array(node, binding, values, extent, program.request.device)
        for _ in range(values.db.inputs.substeps):
            for step, extent in zip(program.steps, dims, strict=True):
                given = [self._argument(node, binding, values, extent, arrays) for binding in step.bindings]
                if 0 not in extent:
                    wp.launch(step.kernel, dim=extent, inputs=given, device=program.request.device)
        for step in program.steps:
            for binding in step.bindings:
                if binding.target:
                    self.given[_attribute(node, "outputs", binding.target)] = arrays[binding.key]

    def _array(self, node: Node, binding: Binding, values: NodeValues, extent: tuple, device: str) -> Any:
        """Return the memory of an array, flat, with a gradient."""
        source = self._source(node, binding, values, device) if binding.source else None
        if binding.target and source is None:
            kind = binding.attribute
            count = count_of(values, binding, extent) if kind.is_array else 1
            return wp.zeros(count, dtype=python_type(binding.element), device=device, requires_grad=True)
        if binding.target or binding.private:
            return wp.clone(source)
        return source

    def _source(self, node: Node, binding: Binding, values: NodeValues, device: str) -> Any:
        attribute = _attribute(node, "inputs", binding.source)
        start = origin(attribute)
        if start in self.given:
            found = self.given[start]
            if not attribute.type.is_array or found.dtype is not python_type(binding.element):
                raise GraphError(f"{attribute.path} is {attribute.type} and takes {start.path}, of type "
                                 f"{start.resolved}; a gradient needs the same type")  # fmt: skip
            return found
        is_float = attribute.type.is_numeric and attribute.type.dtype.kind == "f"
        if not attribute.type.is_array:
            if device != "cpu":
                values.timing.count_upload()
            array = as_array(np.array([attribute.value], attribute.type.dtype), binding.element, (1,))
            return wp.clone(array, device=device, requires_grad=is_float)
        array = placed(attribute, values.attributes.inputs[binding.source], device, values.timing)
        return wp.clone(elements(array, python_type(binding.element), array.shape), requires_grad=is_float)

    def _argument(self, node: Node, binding: Binding, values: NodeValues, extent: tuple, arrays: dict) -> Any:
        if binding.structure:
            return self._structure(node, binding, values)
        if not (binding.rank or binding.target):
            attribute = _attribute(node, "inputs", binding.source)
            if origin(attribute) in self.given:
                raise GraphError(
                    f"{attribute.path} is a single value that depends on a parameter, and a gradient reaches arrays "
                    f"only; make it an array: {binding.name}: wp.array(dtype=float)"
                )
            return as_scalar(attribute.value, binding.attribute, binding.type)
        flat = arrays[binding.key]
        if not binding.attribute.is_array or binding.rank == 1:
            return flat if binding.rank == 1 else flat.reshape((1,) * binding.rank)
        return flat.reshape(view_shape(values, binding, len(flat), extent))

    def _structure(self, node: Node, binding: Binding, values: NodeValues) -> int:
        """Return the id of a mesh, hash grid or volume, which is a constant. Raises GraphError for others."""
        inputs = [a for a in node.on("inputs") if a.base_name.startswith(f"{binding.structure}:")]
        if any(
            origin(a) in self.given or (a.resolved.base == "token" and a.base_name.endswith(":points")) for a in inputs
        ):
            raise GraphError(f"{node.path}: the structure {binding.structure!r} depends on a parameter, and has no "
                             "gradient with respect to its points")  # fmt: skip
        state: KernelState = node.shared_state
        return state.structures.argument(
            values, binding.structure, _program(node).request.device, lambda name: np.zeros(0)
        )


def _attribute(node: Node, port: str, name: str) -> Attribute:
    found = node.find(port, name)
    assert found is not None, f"{node.path} has no {port}:{name}"
    return found


def _program(node: Node) -> Program:
    """Return the program of a node in this frame. Raises GraphError if a tape cannot follow it."""
    state: KernelState = node.shared_state
    program = state.program
    if program is None or node.failed or not node.is_on:
        raise GraphError(f"{node.path} has not run in this frame, so the loss has no gradient")
    if program.structs:
        raise GraphError(f"{node.path} is in the style of omni.warp (inputs: Inputs, outputs: Outputs), which has no "
                         "gradient here; give the kernel plain parameters")  # fmt: skip
    if program.request.attributes.bundles:
        raise GraphError(f"{node.path} takes a bundle, which has no gradient; connect its arrays one by one")
    for step in program.steps:
        for binding in step.bindings:
            if binding.state:
                raise GraphError(f"{node.path} keeps the array state:{binding.state} between frames, and the loss "
                                 "depends on all earlier ones; a gradient reaches one frame only")  # fmt: skip
            if f"{binding.name}_counter" in program.request.attributes.inputs:
                raise GraphError(
                    f"{node.path} counts the elements of {binding.name} (inputs:{binding.name}:counter); a number of "
                    "elements that changes has no gradient"
                )
    return program
