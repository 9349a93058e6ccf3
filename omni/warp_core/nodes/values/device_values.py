"""Arrays of attributes that lie on a GPU: they become NumPy when a consumer asks for numbers, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .attribute_types import AttributeType


class DeviceValue:
    """An array attribute's value in the memory of a device.

    `array` has one dimension, and `kind` is the type of the attribute. `fetched` is called when the numbers are copied
    to the CPU, which happens once. Nodes write into their arrays again in the next frame.
    """

    __slots__ = ("_fetched", "_numbers", "array", "kind")

    def __init__(self, array: Any, kind: AttributeType, fetched: Callable[[], None]):
        self.array, self.kind, self._fetched = array, kind, fetched
        self._numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numbers(), dtype, copy=copy)

    def forget(self) -> None:
        """Forget the copy on the CPU, after work that this process did not see has written to the array."""
        self._numbers = None

    def numbers(self) -> np.ndarray:
        """The numbers on the CPU, of shape (n, *kind.shape)."""
        if self._numbers is None:
            self._numbers = self.array.numpy().reshape(-1, *self.kind.shape).astype(self.kind.dtype, copy=False)
            self._fetched()
        return self._numbers
