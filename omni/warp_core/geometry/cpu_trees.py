"""Trees over the faces of a mesh, and over boxes, that native code builds on CPUs. Kernels read their nodes.

The layouts in memory are in lib/geometry/bvh_nodes.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.dtypes import element_of
from ..dispatch import capture
from ..lang.values.scalars import int32, uint8
from ..lib.geometry.bvh_nodes import BvhNode

_BYTES = ("wide_nodes", "blocks", "sources", "moments")
_DTYPES = {"nodes": BvhNode, **dict.fromkeys(_BYTES, uint8)}  # others are of int32
_ARRAYS = ("nodes", "order", "wide_nodes", "blocks", "sources", "moments", "slots", "groups", "roots", "starts")


class _NativeTree:
    """A native hierarchy. Arrays over its memory are made when they are first asked for: most never are.

    Attributes:
        places: where its arrays are, by name: the address and the number of elements.
    """

    _native: Any
    places: dict[str, tuple[int, int]]

    def __getattr__(self, name: str) -> array | None:
        """Make the array of this name, which is None if the hierarchy has none."""
        if name not in _ARRAYS:
            raise AttributeError(f"a hierarchy has no {name}")
        place = self.places.get(name)
        made = None if place is None else _view(self._native, *place, _DTYPES.get(name, int32))
        setattr(self, name, made)
        return made

    def arrays(self) -> Iterable[array]:
        """Return all its arrays."""
        return (getattr(self, name) for name in self.places)


class TriangleBvh(_NativeTree):
    """The hierarchy over the faces of a mesh on the CPU.

    Attributes:
        nodes: of `BvhNode`, in the order of a depth-first walk.
        order: the faces in the order of leaves.
        wide_nodes: the bytes of the nodes that native queries read (native/include/warp_core/geometry/wide_bvh.h).
        blocks: the bytes of the triangles that they read.
        sources: the bytes of where these triangles are among nodes and faces.
        moments: the bytes of the moments of nodes, or None.
        slots: which moments are those of each node, or None.
        groups: the different groups of faces in ascending order, or None.
        roots: the node above all faces of each group, or None.
        starts: for each node that is the root of a group, where native queries of it begin; or None.
    """

    def __init__(self, points: array, indices: array, groups: array | None, leaf_size: int, fast: bool, winding: bool):
        self._native = _native.TriangleBvh(points, indices, groups, leaf_size, fast, winding)
        self.places = self._native.places

    @property
    def boxes(self) -> dict[str, array]:
        """The arrays that a refit writes."""
        found = {"nodes": self.nodes, "wide_nodes": self.wide_nodes, "blocks": self.blocks, "moments": self.moments}
        return {name: a for name, a in found.items() if a is not None}

    def refit(self, points: array, indices: array) -> None:
        """Fit the boxes to points that have moved. The tree stays."""
        written = [*self.boxes.values()] if capture.active() else ()
        capture.call(self._native.refit, points, indices, label="wp.Mesh.refit", writes=written)


class BoxBvh(_NativeTree):
    """The hierarchy over boxes on the CPU.

    Attributes:
        nodes: of `BvhNode`, in the order of a depth-first walk.
        order: the boxes in the order of leaves.
        groups: the different groups of boxes in ascending order, or None.
        roots: the node above all boxes of each group, or None.
    """

    nodes: array
    order: array

    def __init__(self, lowers: array, uppers: array, groups: array | None, leaf_size: int, fast: bool):
        self._native = _native.BoxBvh(lowers, uppers, groups, min(leaf_size, lowers.size), fast)
        self.places = self._native.places

    def refit(self, lowers: array, uppers: array) -> None:
        """Fit the nodes to boxes that have moved. The tree stays."""
        self._call("refit", lowers, uppers)

    def rebuild(self, lowers: array, uppers: array, fast: bool) -> None:
        """Build the tree again, in the same memory."""
        self._call("rebuild", lowers, uppers, fast)

    def _call(self, method: str, *given: Any) -> None:
        written = [a for a in (self.nodes, self.order, self.roots) if a is not None] if capture.active() else ()
        capture.call(getattr(self._native, method), *given, label=f"wp.Bvh.{method}", writes=written)


def _view(native: Any, address: int, count: int, dtype: Any) -> array:
    """An array over memory of a native hierarchy."""
    made, element = array.__new__(array), element_of(dtype)
    made._init(element, address, (count,), (element.type.size,), native)
    return made
