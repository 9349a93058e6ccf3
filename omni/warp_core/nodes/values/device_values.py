"""Arrays that lie on a GPU: they become NumPy when a consumer asks for numbers, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import omni.warp_core as wp

from .attribute_types import AttributeType


class DeviceValue:
    """An array value in the memory of a device.

    `array` has one dimension, and `kind` is the type of the value. `fetched` is called when the numbers are copied to
    the CPU, which happens once. A value that was copied to the device has its `numbers` from the beginning. `is_reused`
    is true for an array that its node writes again in the next frame.
    """

    __slots__ = ("_fetched", "_numbers", "array", "is_reused", "kind")

    def __init__(
        self,
        array: Any,
        kind: AttributeType,
        fetched: Callable[[], None],
        numbers: np.ndarray | None = None,
        is_reused: bool = False,
    ):
        self.array, self.kind, self._fetched = array, kind, fetched
        self._numbers, self.is_reused = numbers, is_reused

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numbers(), dtype, copy=copy)

    @property
    def known(self) -> np.ndarray | None:
        """The numbers if they are on the CPU already."""
        return self._numbers

    def is_on(self, device: Any) -> bool:
        """True if the array lies on a device."""
        return bool(self.array.device is wp.get_device(device))

    def forget(self) -> None:
        """Forget the copy on the CPU, after work that this process did not see has written to the array."""
        self._numbers = None

    def kept(self) -> DeviceValue:
        """Return a value that stays: a copy on the device of an array that is reused, or this one."""
        return DeviceValue(wp.clone(self.array), self.kind, self._fetched) if self.is_reused else self

    def numbers(self) -> np.ndarray:
        """The numbers on the CPU, of shape (n, *kind.shape)."""
        if self._numbers is None:
            self._numbers = self.array.numpy().reshape(-1, *self.kind.shape).astype(self.kind.dtype, copy=False)
            self._fetched()
        return self._numbers


def on_cpu(value: Any) -> Any:
    """Return a value in the memory of the CPU; one that lies on a device is copied."""
    return value.numbers() if type(value) is DeviceValue else value


def known(value: Any) -> Any:
    """Return a value as far as the CPU knows it: without a copy of one that lies on a device only."""
    return value if type(value) is not DeviceValue or value.known is None else value.known
