"""One run of a program: from the values of a node to arguments, launches and outputs. Start with `run`."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from typing import Any

import omni.warp_core as wp

from ..graph.node_graph import GraphError
from .array_sizes import view_shape
from .device_memory import DeviceMemory
from .dimensions import beyond_end, launch_dims
from .kernel_bindings import Binding
from .kernel_memory import Memory
from .kernel_structures import Structures, follows_arrays, points_of
from .kernel_types import as_scalar
from .node_values import NodeValues
from .program import Program, Step

Dims = tuple[int, ...]


class Run:
    """One evaluation of a node.

    `dims` are the launch dimensions of its kernels and `arguments` their arguments, `arrays` the memory behind these.
    """

    def __init__(self, program: Program, values: NodeValues, memory: Memory | DeviceMemory, structures: Structures):
        self.program, self.values, self.memory, self.structures = program, values, memory, structures
        self.dims = [launch_dims(values, step.use) for step in program.steps]
        self.launches = self.substeps = 0
        self.kernel_ms = 0.0
        self.arguments: list[list[Any]] = []
        self.arrays: dict[str, Any] = {}  # NumPy, or arrays of the device

    def perform(self, substeps: int) -> None:
        """Run the kernels in order, `substeps` times. Raises GraphError, and what a launch raises."""
        read = [self.values.value(name) for name in self._read_arrays()]
        for step, dims in zip(self.program.steps, self.dims, strict=True):
            for binding in step.bindings:
                if (binding.rank or binding.target) and binding.key not in self.arrays:
                    self.arrays[binding.key] = self.memory.of(self.values, binding, dims, read)
        self.substeps = substeps
        self.arguments = [self._arguments(step, dims) for step, dims in zip(self.program.steps, self.dims, strict=True)]
        started = time.perf_counter()
        for substep in range(substeps):
            if substep:
                self._follow()
            for step, dims, given in zip(self.program.steps, self.dims, self.arguments, strict=True):
                if 0 not in dims:
                    wp.launch(step.kernel, dim=dims, inputs=given, device=self.program.request.device)
                    self.launches += 1
        self.kernel_ms = (time.perf_counter() - started) * 1e3

    def _follow(self) -> None:
        """Let structures follow the arrays that the kernels have written. Their ids stay."""
        names = dict.fromkeys(b.structure for step in self.program.steps for b in step.bindings if b.structure)
        for name in names:
            if self.follows(name):
                self.structure(name)

    def overwrites(self, key: str) -> bool:
        """True if the first kernel that has an array writes each element, whatever was there."""
        for step, dims, arguments in zip(self.program.steps, self.dims, self.arguments, strict=True):
            for number, binding in enumerate(step.bindings):
                if binding.key == key:
                    structs = self.program.structs
                    array = arguments[number] if structs is None else getattr(structs[1], binding.name)
                    is_launched = self.substeps > 0 and 0 not in dims and tuple(array.shape) == tuple(dims)
                    return is_launched and step.covers(binding, self.program.request.device)
        return False

    def structure(self, name: str) -> int:
        """The id of the mesh, hash grid or volume `name`, brought up to date. Raises GraphError."""
        return self.structures.argument(self.values, name, self.program.request.device, self.array)

    def follows(self, name: str) -> bool:
        """True if a structure follows an array of the node in every substep."""
        return follows_arrays(self.values, name)

    def points_of(self, name: str) -> Any:
        """The points of a structure, in memory that stays in use. Raises GraphError."""
        return points_of(self.values, name, self.program.request.device, self.array)

    def array(self, name: str) -> Any:
        """The memory of the array that a token names. Raises GraphError."""
        for port in ("state", "outputs", "inputs"):
            if f"{port}:{name}" in self.arrays:
                return self.arrays[f"{port}:{name}"]
        raise GraphError(f"no kernel of the node has the array {name!r}, which a token names")

    def _read_arrays(self) -> list[str]:
        everything = (b for step in self.program.steps for b in step.bindings)
        return list(dict.fromkeys(b.source for b in everything if b.source and b.attribute.is_array))

    def _arguments(self, step: Step, dims: Dims) -> list[Any]:
        structs = self.program.structs
        given = [self._argument(binding, dims) for binding in step.bindings]
        if 0 not in dims:
            self._check_extents(step, dims, given)
        if structs is None:
            return given
        for binding, value in zip(step.bindings, given, strict=True):
            setattr(structs[1 if binding.target else 0], binding.name, value)
        return list(structs)

    def _check_extents(self, step: Step, dims: Dims, given: list[Any]) -> None:
        """Raise GraphError if threads would use elements behind the end of an array."""
        indexed: dict[str, list[tuple[int, int]]] = {}
        for (port, name), position, d in step.use.indexed:
            if d < len(dims) and d not in step.use.compared:
                indexed.setdefault(f"{port}:{name}" if port else name, []).append((position, d))
        for binding, value in zip(step.bindings, given, strict=True):
            port = "outputs:" if binding.target else "inputs:"
            for position, d in indexed.get(f"{port}{binding.name}" if step.use.is_struct else binding.name, ()):
                is_unset = not value.size and (binding.optional or self.values.is_optional(binding.source))
                if dims[d] > value.shape[position] and not is_unset:
                    raise GraphError(beyond_end(step.use.name, binding.name, value.shape[position], dims[d]))

    def _argument(self, binding: Binding, dims: Dims) -> Any:
        if binding.structure:
            return self.structure(binding.structure)
        memory = self.arrays.get(binding.key)
        if memory is None:
            return as_scalar(self.values.value(binding.source), binding.attribute, binding.type)
        is_single = not binding.attribute.is_array
        shape = (1,) * binding.rank if is_single else view_shape(self.values, binding, len(memory), dims)
        return self.memory.view(memory, binding, shape)

    def publish(self, warn: Callable[[str, str], None], only: Container[str] | None = None) -> None:
        """Give what the kernels have written to the outputs of the node.

        Args:
            warn: Called with an output and a text if the kernel counted more elements than the output has room for.
            only: The outputs to give, None for all.

        Raises:
            GraphError: If the counter of an output does not exist, or an output bundle has no input.
        """
        outputs = {b.target: b for step in self.program.steps for b in step.bindings if b.target}
        for name, binding in outputs.items():
            if only is not None and name not in only:
                continue
            made = self.arrays[binding.key]
            counter = self.values.companion(name, "counter")
            if counter:
                made = self._counted(name, made, outputs.get(counter.replace(":", "_")), warn)
            setattr(self.values.db.outputs, name, self.memory.published(self.values, made, binding))
        self.values.give_bundles(outputs)

    def _counted(self, name: str, made: Any, counter: Binding | None, warn: Callable[[str, str], None]) -> Any:
        """The elements of an output that its counter says the kernel has appended."""
        if counter is None or counter.attribute.is_array or counter.attribute.shape:
            wanted = self.values.companion(name, "counter")
            raise GraphError(
                f"inputs:{name}:counter is {wanted!r}, which is not a single number that the kernel writes; "
                f"add custom int outputs:{wanted}, and a parameter of this name: wp.array[int]"
            )
        count, room = int(self.memory.numbers(self.arrays[counter.key])[0]), len(made)
        if count > room:
            lost = f"outputs:{name} has room for {room}, so {count - room} are lost"
            text = f"the kernel counted {count} elements, but {lost}; set inputs:{name}:length to at least {count}"
            warn(name, text)
        return made[: max(0, min(count, room))]
