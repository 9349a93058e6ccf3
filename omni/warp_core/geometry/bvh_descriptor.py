"""The descriptor of a tree over boxes, by which kernels find it: that of a `wp.Bvh`, or of the faces of a mesh."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..devices.device import Device
from ..lang.values.scalars import uint64
from ..lib.geometry.bvh_queries import BvhData
from ..lib.geometry.structure_ids import BVH
from ..tape import structures
from .descriptors import Descriptors

_ADDRESSES = ("nodes", "order", "lowers", "uppers", "roots", "points")  # of memory that may change
_SIZES = {"groups": "num_groups", "nodes": "max_nodes"}  # fields that have the number of elements of an array


class BvhDescriptor:
    """A place for `BvhData`, for as long as this object exists.

    Attributes:
        number: the id for queries, as an int.
    """

    def __init__(self, device: Device):
        self._kept = _descriptors(device)
        self._place, self.number = self._kept.take(self)
        structures.register(self, self._place, _ADDRESSES, self._kept.take)

    @property
    def id(self) -> uint64:
        """The id as a uint64."""
        return uint64(self.number)

    def write(self, num_boxes: int, tree: Any, **numbers: int) -> None:
        """Write what kernels read.

        Args:
            num_boxes: the number of boxes.
            tree: the hierarchy, or None without boxes.
            numbers: fields of `BvhData` that tell where the boxes are.
        """
        places: dict[str, tuple[int, int]] = {} if tree is None else tree.places
        for name, (address, count) in places.items():
            numbers[name] = address
            if name in _SIZES:
                numbers[_SIZES[name]] = count
        self._kept.write(self._place, self._kept.pack(id=self.number, num_boxes=num_boxes, **numbers))


@cache
def _descriptors(device: Device) -> Descriptors:
    return Descriptors(BvhData, BVH, device)
