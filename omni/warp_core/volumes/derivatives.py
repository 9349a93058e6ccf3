"""Where a new volume gets its values from, for tapes and forward mode: an array, or the bytes of another volume."""

from __future__ import annotations

from typing import Any

from ..arrays.array import array
from ..arrays.dtypes import element_of
from ..arrays.layouts import byte_range, ranges_overlap
from ..arrays.transfer import copy
from ..dispatch import observers
from ..dispatch.operation import refuse
from ..tape import structures
from .voxel_values import put_dense


def from_array(volume: Any, dense: array) -> None:
    """Let derivatives flow from an array to the values of a volume, which are its elements."""
    if not observers.is_watched():
        return
    values = volume.values
    if values is None or volume.device is not dense.device or not element_of(dense.dtype).is_active:
        refuse("wp.Volume.load_from_numpy", ndarray=dense)
    else:
        values.requires_grad = observers.has_gradient(dense)
        put_dense(volume.id, dense, volume.dtype)


def from_memory(volume: Any, low: int, high: int) -> None:
    """Let derivatives flow from the volume, if there is one, whose bytes at these addresses were copied."""
    if not observers.is_watched():
        return
    for other in structures.all_of(type(volume), volume.device):
        source = other.values
        if other is volume or source is None or not ranges_overlap(byte_range(source), (low, high)):
            continue
        if volume.values is None or volume.values.shape != source.shape:
            refuse("copying a part of the bytes of a wp.Volume", values=source)
        else:
            volume.values.requires_grad = observers.has_gradient(source)
            copy(volume.values, source)
