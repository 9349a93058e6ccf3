"""Values that come into a captured chain on a GPU from outside; the counterparts of those in chain_feeds.py.

An array on the device goes to the launches as it is. One on the CPU is copied, into the same memory each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..values.device_values import DeviceValue
from .chain_feeds import ArgumentFeed, Feed
from .device_memory import DeviceMemory
from .kernel_bindings import Binding
from .kernel_run import Run
from .kernel_types import as_array, as_numbers, as_scalar


@dataclass
class DeviceArgumentFeed(ArgumentFeed):
    """A number or an array that recorded launches take on the device of `run`."""

    run: Any = None
    _copy: Any = None  # of arrays from the CPU
    _view: Any = None  # the copy in the shape of the kernel's array

    def _array(self, value: Any) -> Any:
        memory = _memory(self.run)
        if _is_resident(value, self.run):
            return memory.view(value.array, self.binding, self.shape)
        if self._copy is None:
            self._copy = _room(self.run, self.binding, self.count)
            self._view = memory.view(self._copy, self.binding, self.shape)
        _upload(self.run, self.binding, value, self._copy)
        return self._view


@dataclass
class DeviceStartFeed(Feed):
    """The first value of an array of a device that the kernels write to, copied into `memory` before each replay."""

    run: Run
    binding: Binding
    memory: Any
    _copy: Any = None
    _copied: Any = None  # the value that the copy is of

    may_have_changed = True

    def pass_on(self) -> bool:
        """See Feed."""
        self.attribute.pull()
        value = self.value = self.attribute.held
        binding, run = self.binding, self.run
        if not binding.attribute.is_array:
            self.memory.fill_(as_scalar(value, binding.attribute, binding.element))
            return True
        if len(value) != len(self.memory):
            return False
        if _is_resident(value, run):
            wp.copy(self.memory, _memory(run).view(value.array, binding, (len(value),)))
            return True
        if self._copy is None:
            self._copy = _room(run, binding, len(value))
        if self._copied is not value:
            _upload(run, binding, value, self._copy)
            self._copied = value
        wp.copy(self.memory, self._copy)
        return True


def _memory(run: Run) -> DeviceMemory:
    assert isinstance(run.memory, DeviceMemory)
    return run.memory


def _is_resident(value: Any, run: Run) -> bool:
    return isinstance(value, DeviceValue) and _memory(run).is_resident(value)


def _room(run: Run, binding: Binding, count: int) -> Any:
    return wp.empty(count, dtype=_memory(run).element(binding), device=run.program.request.device)


def _upload(run: Run, binding: Binding, value: Any, room: Any) -> None:
    numbers = np.ascontiguousarray(as_numbers(value, binding.attribute))
    wp.copy(room, as_array(numbers, binding.element, (len(numbers),)))
    run.values.timing.count_upload()
