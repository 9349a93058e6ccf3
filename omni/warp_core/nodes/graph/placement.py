"""Values of nodes as arrays of the device of the play. On the CPU an array shares the memory of the value.

To a GPU a value is copied once, whoever asks first: its attribute or bundle then holds it in both places. `Timing`
counts the copies. The functions from `asked` on serve node classes, whose `.ogn` file may have a `memoryType`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp

from ...arrays.dtypes import element_of
from ...lang.values.type_registry import python_type
from ..values.array_elements import as_array, as_numbers, element_type
from ..values.attribute_types import AttributeType
from ..values.attribute_values import Value
from ..values.bundles import Item
from ..values.device_values import DeviceValue
from .attribute import Attribute
from .node_graph import Node, Timing


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


def asked(attribute: Attribute) -> Any:
    """Return the value of an attribute as its node class asks for it: an array of the device, or a value on the CPU."""
    if attribute.memory == "cpu" or not is_placed(attribute.resolved):
        return attribute.value
    node, held = attribute.node, attribute.held
    if attribute.memory == "any" and not (type(held) is DeviceValue and held.is_on(node.host.device)):
        return attribute.value
    array = array_for(node, attribute, attribute.resolved)
    if attribute.port != "inputs" and type(attribute.held) is DeviceValue:
        attribute.held.forget()  # the node may write to the array
    return array


def array_for(node: Node, holder: Attribute | Item, kind: AttributeType) -> Any:
    """Return the array that an attribute or a bundle holds, on the device of a node, with the elements of its type."""
    array = placed(holder, kind, node.host.device, node.timing)
    return elements(array, _element_class(kind), tuple(array.shape))


def given(array: Any, kind: AttributeType, timing: Timing) -> Value:
    """Return an array that a node class gives as a value: where it lies, or on the CPU if its elements differ."""
    element = element_of(array.dtype)
    inside = (*array.shape, *element.inner) == (len(array), *kind.shape) and element.numpy == kind.dtype
    if is_placed(kind) and inside:
        whole = elements(array.contiguous(), _element_class(kind), (len(array),))
        return value_of(whole, kind, timing, is_reused=True)
    if not array.device.is_cpu:
        timing.count_download()
    return array.numpy()


def zeros(node: Node, kind: AttributeType, count: int) -> Any:
    """Return an array of zeros on the device of a node."""
    return wp.zeros(count, dtype=_element_class(kind), device=node.host.device)


def is_placed(kind: AttributeType) -> bool:
    """True for arrays of numbers. Single numbers and texts are always on the CPU."""
    return kind.is_array and kind.is_numeric


def _element_class(kind: AttributeType) -> Any:
    element = element_type(kind)
    assert element is not None, f"kernels know {kind}"
    return python_type(element)
