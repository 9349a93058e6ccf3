"""The frame of one Kernel node as commands of a graph. Start with `run_of` and `record`.

`Refused` says why a graph cannot repeat a node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.node_graph import Node
from ..values.device_values import DeviceValue
from .kernel_bindings import Binding
from .kernel_node import KernelState, settled_run
from .kernel_run import Run


class Refused(Exception):
    """A chain that cannot be replayed, and why. `node` is the one to leave out, None if the reason may pass."""

    def __init__(self, text: str, node: Node | None = None):
        super().__init__(text)
        self.node = node


def run_of(node: Node, db: Any) -> Run:
    """Return the last run of a node. Raises Refused if a graph cannot repeat it."""
    state: KernelState = db.per_instance_state
    run = settled_run(db, state)
    if run is None:
        raise Refused(f"{node.path} is being compiled or reset")
    if run.values.attributes.bundles:
        raise Refused(f"{node.path} takes a bundle, whose members a graph does not follow", node)
    if wp.config.mode != "release":
        raise Refused(f"wp.config.mode is {wp.config.mode!r}")
    return run


def keeps_arrays(run: Run) -> bool:
    """True if a node has arrays that live between frames: running it twice in a frame is not running it once."""
    return any(binding.state for step in run.program.steps for binding in step.bindings)


def read_by_host(run: Run) -> dict[str, Binding]:
    """Return the outputs whose value the host makes from the arrays of the kernels: numbers, bools, counted arrays."""
    outputs = {b.target: b for step in run.program.steps for b in step.bindings if b.target}
    return {
        name: b
        for name, b in outputs.items()
        if not b.attribute.is_array or b.attribute.base == "bool" or run.values.companion(name, "counter")
    }


def record(node: Node, run: Run, inner: set[str]) -> list[Any]:
    """Put what a node does in a frame into the graph that is captured. Returns its recorded launches.

    Args:
        node: The node.
        run: Its last run.
        inner: The input arrays that come from a node of the chain, by the names that Python gives them.
    """
    bindings = {b.key: b for step in run.program.steps for b in step.bindings if b.rank or b.target}
    for key, binding in bindings.items():
        if (binding.target or binding.private) and not binding.state and not run.overwrites(key):
            _record_start(run, key, binding, inner)
    structures = _structures(run, inner)
    for name in structures:
        run.structures.record(name, _points(run, name))
    commands = [
        wp.launch(step.kernel, dim=dims, inputs=given, device=run.program.request.device, record_cmd=True)
        for step, dims, given in zip(run.program.steps, run.dims, run.arguments, strict=True)
    ]
    for substep in range(run.substeps):
        for name, follows in structures.items():
            if substep and follows:
                run.structures.record(name, _points(run, name))
        for command, dims in zip(commands, run.dims, strict=True):
            if 0 not in dims:
                command.launch()
    by_host = read_by_host(run)
    for key, binding in bindings.items():
        if binding.target and binding.state and binding.target not in by_host:
            output = node.attributes[f"outputs:{binding.target}"].held
            wp.copy(_flat(run, binding, output), _flat(run, binding, run.arrays[key]))
    return commands


def _record_start(run: Run, key: str, binding: Binding, inner: set[str]) -> None:
    """Record the zeros that an array starts from, or the copy of an array of the chain; see also StartFeed."""
    memory = run.arrays[key]
    if not binding.source:
        _flat(run, binding, memory).zero_()
    elif binding.source in inner:
        given = run.values.value(binding.source) if on_device(run) else run.values.numbers(binding.source)
        wp.copy(_flat(run, binding, memory), _flat(run, binding, given))


def _structures(run: Run, inner: set[str]) -> dict[str, bool]:
    """The structures that follow arrays of the chain: True for arrays of the node itself, which change in substeps."""
    found = {}
    for name in dict.fromkeys(b.structure for step in run.program.steps for b in step.bindings if b.structure):
        follows = run.follows(name)
        if follows or f"{name}_points" in inner:
            found[name] = follows
    return found


def _points(run: Run, name: str) -> Any:
    """The points that a structure follows, as an array over their memory. Raises Refused for those to be converted."""
    points = run.points_of(name)
    if not isinstance(points, np.ndarray):
        return points
    given = run.values.companion(name, "points")
    if not np.may_share_memory(points, run.array(given) if isinstance(given, str) else given):
        raise Refused(f"the points of `{name}` are converted; a structure that is replayed needs float32")
    return wp.array(points, dtype=wp.vec3, copy=False, device="cpu")


def on_device(run: Run) -> bool:
    """True if a node runs on a GPU."""
    return bool(run.program.request.device != "cpu")


def _flat(run: Run, binding: Binding, memory: Any) -> Any:
    """An array of one dimension over the memory of NumPy or of a device, without a copy."""
    if on_device(run):
        made = memory.array if isinstance(memory, DeviceValue) else memory
        return run.memory.view(made, binding, (len(made),))
    if not memory.flags.c_contiguous:
        raise Refused("an array has gaps")
    return wp.array(memory.reshape(-1).view(np.uint8), dtype=wp.uint8, copy=False, device="cpu")
