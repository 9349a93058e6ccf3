"""The descriptor of a tree over boxes, by which kernels find it: that of a `wp.Bvh`, or of the faces of a mesh."""

from __future__ import annotations

from functools import cache

from ..arrays.array import array
from ..devices.device import Device
from ..eager.addressed_memory import register
from ..lang.values.scalars import uint64
from ..lib.geometry.bvh_queries import BvhData
from ..lib.geometry.structure_ids import BVH
from ..tape import structures
from .descriptors import Descriptors

_ADDRESSES = ("nodes", "order", "lowers", "uppers", "roots", "points")  # of memory that may change
_SIZES = {"num_groups": "groups", "max_nodes": "nodes", "num_points": "points"}


class BvhDescriptor:
    """A place for `BvhData`, for as long as this object exists.

    Attributes:
        id: a uint64 for queries.
    """

    def __init__(self, device: Device):
        self._kept = _descriptors(device)
        self._place, number = self._kept.take(self)
        self.id = uint64(number)
        structures.register(self, self._place, _ADDRESSES, self._kept.take)

    def write(self, boxes: int, arrays: dict[str, array]) -> None:
        """Write what kernels read: the number of boxes, and the arrays of `BvhData` that there are."""
        for a in arrays.values():
            register(a)
        addresses = {name: a.ptr for name, a in arrays.items()}
        sizes = {count: arrays[name].size for count, name in _SIZES.items() if name in arrays}
        self._kept.write(self._place, self._kept.pack(id=int(self.id), num_boxes=boxes, **addresses, **sizes))


@cache
def _descriptors(device: Device) -> Descriptors:
    return Descriptors(BvhData, BVH, device)
