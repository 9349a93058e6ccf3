"""The memory behind a node's arrays: inputs as they come, buffers of outputs, and arrays that live between frames."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..graph.node_graph import GraphError
from ..values.array_elements import as_array
from ..values.attribute_types import AttributeType
from .array_sizes import count_of
from .dimensions import empty_input
from .kernel_bindings import Binding
from .node_values import NodeValues

# Bytes of physical memory. The system would promise more, and then end the process.
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else sys.maxsize


@dataclass
class Memory:
    """Arrays that a node keeps: `outputs` for one frame, `states` for all, `authored` has the first values of these."""

    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    states: dict[str, np.ndarray] = field(default_factory=dict)
    authored: dict[str, np.ndarray] = field(default_factory=dict)
    _views: dict[Any, tuple[np.ndarray, Any]] = field(default_factory=dict)

    def view(self, memory: np.ndarray, binding: Binding, shape: tuple[int, ...]) -> Any:
        """The memory as an array of a kernel, the same one as long as the memory is."""
        key = binding.key, binding.type, shape
        held = self._views.get(key)
        if held is None or held[0] is not memory:
            held = self._views[key] = memory, as_array(memory, binding.element, shape)
        return held[1]

    def numbers(self, memory: np.ndarray) -> np.ndarray:
        """The numbers of an array."""
        return memory

    def published(self, values: NodeValues, memory: np.ndarray, binding: Binding) -> Any:
        """The value of an output."""
        made = memory.copy() if binding.state else memory  # the next frame writes into persistent arrays
        if binding.attribute.base == "bool":
            made = made.view(np.uint8) != 0
        return made if binding.attribute.is_array else made[0]

    def reset(self) -> None:
        """Let persistent arrays begin anew at the next run."""
        self.states.clear()

    def of(self, values: NodeValues, binding: Binding, dims: tuple[int, ...], read: list[np.ndarray]) -> np.ndarray:
        """The memory of an array for this frame, filled with what the kernel starts from.

        `read` are the input arrays of the node, which must not be the memory of an output. Raises GraphError.
        """
        if binding.state:
            return self._state(values, binding, dims)
        if binding.target:
            return self._output(values, binding, dims, read)
        numbers = _numbers(values, binding.source, binding, dims)
        return numbers.copy() if binding.private else numbers

    def _output(
        self, values: NodeValues, binding: Binding, dims: tuple[int, ...], read: list[np.ndarray]
    ) -> np.ndarray:
        """Zeros, or a copy of the input of the same name in plain style.

        The buffer is that of the frame before, unless one of the arrays to read is that memory: this happens on a
        cycle that carries a state.
        """
        kind = binding.attribute
        if binding.like and kind.is_array:
            check_filled(values, binding.like, binding, dims, len(values.value(binding.like)))
        shape = (count_of(values, binding, dims) if kind.is_array else 1, *kind.shape)
        old = self.outputs.get(binding.key)
        if old is None or old.shape != shape or any(np.may_share_memory(array, old) for array in read):
            old = self.outputs[binding.key] = _new(binding, shape)
        if binding.source:
            self.start(values, binding, dims, old)
        else:
            old[...] = 0
        return old

    def start(self, values: NodeValues, binding: Binding, dims: tuple[int, ...], memory: np.ndarray) -> None:
        """Fill the memory of an output, or a private copy, with its input. Raises GraphError for another length."""
        if binding.attribute.is_array:
            memory[...] = _fitting(binding, _numbers(values, binding.source, binding, dims), memory.shape)
        else:
            memory[...] = values.value(binding.source)

    def _state(self, values: NodeValues, binding: Binding, dims: tuple[int, ...]) -> np.ndarray:
        """The array as the last frame left it; in the first frame and after a change of length, its first value."""
        name = binding.state
        if name not in self.authored:
            self.authored[name] = np.array(values.value(name, "state"), binding.attribute.dtype)
        first: np.ndarray | None = self.authored[name] if len(self.authored[name]) else None
        shape = (count_of(values, binding, dims, 0 if first is None else len(first)), *binding.attribute.shape)
        held = self.states.get(name)
        if held is not None and held.shape == shape:
            return held
        if binding.source:
            first = _numbers(values, binding.source, binding, dims)
        held = self.states[name] = _new(binding, shape)
        held[...] = 0 if first is None else _fitting(binding, first, shape)
        setattr(values.db.state, name, held)
        return held


def _numbers(values: NodeValues, name: str, binding: Binding, dims: tuple[int, ...]) -> np.ndarray:
    """The elements of an input array. Raises GraphError if it has none and the launch would read them."""
    numbers = values.numbers(name)
    check_filled(values, name, binding, dims, len(numbers))
    return numbers


def check_filled(values: NodeValues, name: str, binding: Binding, dims: tuple[int, ...], count: int) -> None:
    """Raise GraphError if an input array has no elements and the launch would read them."""
    if not (count or binding.optional or 0 in dims or values.is_optional(name) or values.has_source(name)):
        raise GraphError(empty_input(name))


def _fitting(binding: Binding, first: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The elements that an array starts from. Raises GraphError if their number is not that of the array."""
    check_start(binding, len(first), shape[0])
    return first


def check_start(binding: Binding, first: int, count: int) -> None:
    """Raise GraphError if an array of `count` elements starts from an array with another number of them."""
    if first == count:
        return
    where = f"inputs:{binding.source}" if binding.source else binding.attribute_name
    raise GraphError(
        f"{binding.attribute_name} has {count} elements, but {where}, from which it starts, has {first}; "
        "make the lengths the same"
    )


def _new(binding: Binding, shape: tuple[int, ...]) -> np.ndarray:
    """Raises GraphError where memory cannot hold the array and the copy that becomes a time sample."""
    dtype = dtype_of(binding.attribute)
    size = math.prod(shape) * dtype.itemsize
    if size > _MEMORY // 2:
        raise GraphError(
            f"{binding.attribute_name} would take {size / 1e9:.1f} GB, and as much again in the result; "
            f"this machine has {_MEMORY / 1e9:.1f} GB of memory"
        )
    return np.empty(shape, dtype)


def dtype_of(kind: AttributeType) -> np.dtype:
    """The type of one number of an attribute in a kernel; a token is a hash."""
    return np.dtype(np.uint64) if kind.base == "token" else kind.dtype
