"""Trees over the faces of a mesh, and over boxes, that native code builds on CPUs. Kernels read their nodes.

The layouts in memory are in lib/geometry/bvh_nodes.py.
"""

from __future__ import annotations

from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.dtypes import element_of
from ..dispatch import capture
from ..lang.values.scalars import int32, uint8
from ..lib.geometry.bvh_nodes import BvhNode


class TriangleBvh:
    """The hierarchy over the faces of a mesh on the CPU.

    Attributes:
        nodes: of `BvhNode`, in the order of a depth-first walk.
        order: the faces in the order of leaves.
        wide_nodes: the bytes of the nodes that native queries read (native/include/warp_core/geometry/wide_bvh.h).
        blocks: the bytes of the triangles that they read.
        moments: the bytes of the moments of nodes, or None.
        slots: which moments are those of each node, or None.
        groups: the different groups of faces in ascending order, or None.
        roots: the node above all faces of each group, or None.
        starts: for each node that is the root of a group, where native queries of it begin; or None.
    """

    def __init__(self, points: array, indices: array, groups: array | None, leaf_size: int, fast: bool, winding: bool):
        native = self._native = _native.TriangleBvh(points, indices, groups, leaf_size, fast, winding)
        self.nodes = _view(native, native.nodes, native.node_count, BvhNode)
        self.order = _view(native, native.order, indices.size // 3, int32)
        self.wide_nodes = _view(native, native.wide_nodes, native.wide_node_bytes, uint8)
        self.blocks = _view(native, native.blocks, native.block_bytes, uint8)
        self.moments = _view(native, native.moments, native.moment_bytes, uint8) if winding else None
        self.slots = _view(native, native.slots, native.node_count, int32) if winding else None
        self.groups, self.roots = _groups(native)
        self.starts = None if self.groups is None else _view(native, native.starts, native.node_count, int32)

    @property
    def boxes(self) -> dict[str, array]:
        """The arrays that a refit writes."""
        found = {"nodes": self.nodes, "wide_nodes": self.wide_nodes, "blocks": self.blocks, "moments": self.moments}
        return {name: a for name, a in found.items() if a is not None}

    def refit(self, points: array, indices: array) -> None:
        """Fit the boxes to points that have moved. The tree stays."""
        capture.call(self._native.refit, points, indices, label="wp.Mesh.refit", writes=[*self.boxes.values()])


class BoxBvh:
    """The hierarchy over boxes on the CPU.

    Attributes:
        nodes: of `BvhNode`, in the order of a depth-first walk.
        order: the boxes in the order of leaves.
        groups: the different groups of boxes in ascending order, or None.
        roots: the node above all boxes of each group, or None.
    """

    def __init__(self, lowers: array, uppers: array, groups: array | None, leaf_size: int, fast: bool):
        native = self._native = _native.BoxBvh(lowers, uppers, groups, min(leaf_size, lowers.size), fast)
        self.nodes = _view(native, native.nodes, native.node_count, BvhNode)
        self.order = _view(native, native.order, lowers.size, int32)
        self.groups, self.roots = _groups(native)

    def refit(self, lowers: array, uppers: array) -> None:
        """Fit the nodes to boxes that have moved. The tree stays."""
        self._call("refit", lowers, uppers)

    def rebuild(self, lowers: array, uppers: array, fast: bool) -> None:
        """Build the tree again, in the same memory."""
        self._call("rebuild", lowers, uppers, fast)

    def _call(self, method: str, *given: Any) -> None:
        written = [a for a in (self.nodes, self.order, self.roots) if a is not None]
        capture.call(getattr(self._native, method), *given, label=f"wp.Bvh.{method}", writes=written)


def _groups(native: Any) -> tuple[array | None, array | None]:
    """The groups of a native hierarchy and their roots, or None without groups."""
    if not native.group_count:
        return None, None
    count = native.group_count
    return _view(native, native.groups, count, int32), _view(native, native.roots, count, int32)


def _view(native: Any, address: int, count: int, dtype: Any) -> array:
    """An array over memory of a native hierarchy."""
    made, element = array.__new__(array), element_of(dtype)
    made._init(element, address, (count,), (element.type.size,), native)
    return made
