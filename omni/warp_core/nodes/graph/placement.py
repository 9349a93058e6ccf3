"""Values of nodes as arrays of a device. On the CPU an array shares the memory of the value.

To a GPU a value is copied once, whoever asks first: its attribute or bundle then holds it in both places. `Timing`
counts the copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..values.array_elements import as_array, as_numbers, element_type
from ..values.attribute_types import AttributeType
from ..values.bundles import Item
from ..values.device_values import DeviceValue
from .attribute import Attribute
from .node_graph import Timing


def placed(holder: Attribute | Item, kind: AttributeType, device: str, timing: Timing) -> Any:
    """Return the array that an attribute or a bundle holds, on a device and of one dimension.

    Args:
        holder: What holds the value.
        kind: Its type, one of arrays that kernels know.
        device: Where to have it.
        timing: The costs of the node that asks.
    """
    value = holder.held
    if isinstance(value, DeviceValue) and value.is_on(device):
        return value.array
    numbers = holder.value
    array = placed_numbers(numbers, kind, device, timing)
    if device != "cpu":
        holder.hold(DeviceValue(array, kind, timing.count_download, numbers))
    return array


def placed_numbers(value: Any, kind: AttributeType, device: str, timing: Timing) -> Any:
    """Return an array of a device with the elements of a value on the CPU."""
    numbers, element = np.ascontiguousarray(as_numbers(value, kind)), element_type(kind)
    assert element is not None, f"kernels know {kind}"
    array = as_array(numbers, element, (len(numbers),))
    if device == "cpu":
        return array
    timing.count_upload()
    return array.to(device)


def elements(array: Any, element: Any, shape: tuple[int, ...]) -> Any:
    """Return an array as one of other elements and another shape, over the same memory."""
    found = array if array.dtype is element else array.view(element)
    return found if tuple(found.shape) == shape else found.reshape(shape)


def value_of(array: Any, kind: AttributeType, timing: Timing, is_reused: bool = False) -> Any:
    """Return an array of a device as the value of an attribute or a bundle, without a copy."""
    if array.device.is_cpu:
        return array.numpy().reshape(-1, *kind.shape).astype(kind.dtype, copy=False)
    return DeviceValue(array.flatten(), kind, timing.count_download, is_reused=is_reused)
