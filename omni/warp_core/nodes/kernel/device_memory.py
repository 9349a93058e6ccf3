"""The memory behind a node's arrays on a GPU. Arrays of nodes on one device are used where they lie.

graph/placement.py copies inputs to the device. Outputs stay there until a consumer asks for numbers: see
values/device_values.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp

from ...lang.values.type_registry import python_type
from ..graph.placement import elements, placed, placed_numbers, value_of
from ..values.array_elements import as_array
from ..values.device_values import DeviceValue
from .array_sizes import count_of
from .kernel_bindings import Binding
from .kernel_memory import check_filled, check_start
from .kernel_types import as_scalar
from .node_values import NodeValues


class DeviceMemory:
    """Arrays that a node keeps on a device; the counterpart of `Memory`."""

    def __init__(self, device: str):
        self.device = device
        self._outputs: dict[str, Any] = {}
        self._states: dict[str, Any] = {}
        self._authored: dict[str, np.ndarray] = {}

    def reset(self) -> None:
        """Let persistent arrays begin anew at the next run."""
        self._states.clear()

    def of(self, values: NodeValues, binding: Binding, dims: tuple[int, ...], read: list[Any]) -> Any:
        """The memory of an array for this frame, filled with what the kernel starts from. Raises GraphError."""
        if binding.state:
            return self._state(values, binding, dims)
        if binding.target:
            return self._output(values, binding, dims, read)
        given = self._input(values, binding.source, binding, dims)
        return wp.clone(given) if binding.private else given

    def view(self, memory: Any, binding: Binding, shape: tuple[int, ...]) -> Any:
        """The memory as an array of a kernel."""
        element = self.element(binding)
        return elements(memory, element, shape)

    def element(self, binding: Binding) -> Any:
        """The type of the elements of an array, as Python has it."""
        return python_type(binding.element)

    def numbers(self, memory: Any) -> np.ndarray:
        """The numbers of an array on the CPU."""
        found: np.ndarray = memory.numpy()
        return found

    def published(self, values: NodeValues, memory: Any, binding: Binding) -> Any:
        """The value of an output: it stays on the device. A single number is copied."""
        made = wp.clone(memory) if binding.state else memory
        timing = values.timing
        if binding.attribute.is_array:
            return value_of(made, binding.attribute, timing, is_reused=not binding.state)
        timing.count_download()
        return made.numpy()[0]

    def _input(self, values: NodeValues, name: str, binding: Binding, dims: tuple[int, ...]) -> Any:
        value, kind = values.value(name), values.attributes.inputs[name]
        check_filled(values, name, binding, dims, len(value))
        holder = values.holder(name)
        if holder is None:
            return placed_numbers(value, kind, self.device, values.timing)
        return placed(holder, kind, self.device, values.timing)

    def _output(self, values: NodeValues, binding: Binding, dims: tuple[int, ...], read: list[Any]) -> Any:
        is_array = binding.attribute.is_array
        count = count_of(values, binding, dims) if is_array else 1
        old = self._outputs.get(binding.key)
        if old is None or len(old) != count or any(isinstance(r, DeviceValue) and r.array is old for r in read):
            old = self._outputs[binding.key] = self._new(binding, count)
        if binding.source:
            self.start(values, binding, dims, old)
        else:
            old.zero_()
        return old

    def start(self, values: NodeValues, binding: Binding, dims: tuple[int, ...], memory: Any) -> None:
        """Fill the memory of an output, or a private copy, with its input. Raises GraphError for another length."""
        if binding.attribute.is_array:
            given = self._input(values, binding.source, binding, dims)
            check_start(binding, len(given), len(memory))
            wp.copy(memory, elements(given, memory.dtype, memory.shape))
        else:
            memory.fill_(as_scalar(values.value(binding.source), binding.attribute, binding.element))

    def _state(self, values: NodeValues, binding: Binding, dims: tuple[int, ...]) -> Any:
        name = binding.state
        if name not in self._authored:
            self._authored[name] = np.array(values.value(name, "state"), binding.attribute.dtype)
        first: Any = self._authored[name] if len(self._authored[name]) else None
        count = count_of(values, binding, dims, 0 if first is None else len(first))
        held = self._states.get(name)
        if held is not None and len(held) == count:
            return held
        held = self._states[name] = self._new(binding, count)
        if binding.source:
            first = self.view(self._input(values, binding.source, binding, dims), binding, (-1,))
        elif first is not None:
            first = as_array(first, binding.element, (len(first),)).to(self.device)
        if first is None:
            held.zero_()
        else:
            check_start(binding, len(first), count)
            wp.copy(held, first)
        return held

    def _new(self, binding: Binding, count: int) -> Any:
        return wp.empty(count, dtype=self.element(binding), device=self.device)
