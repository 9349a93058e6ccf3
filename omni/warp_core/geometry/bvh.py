"""The hierarchy over the faces of a mesh: native code builds it, and its nodes are arrays that any kernel can read."""

from __future__ import annotations

from typing import Any

from .. import _native
from ..arrays.array import array
from ..dispatch import capture
from ..lang.values.scalars import int32
from ..lib.geometry.mesh_data import MeshNode


class TriangleBvh:
    """The hierarchy over the faces of a mesh on the CPU.

    Attributes:
        nodes: of `MeshNode`, in the order of a depth-first walk.
        order: the faces in the order of leaves.
    """

    def __init__(self, points: array, indices: array, leaf_size: int):
        self._native = _native.TriangleBvh(points, indices, leaf_size)
        self.nodes = self._view(self._native.nodes, self._native.node_count, MeshNode)
        self.order = self._view(self._native.order, indices.size // 3, int32)

    @property
    def address(self) -> int:
        """Where native queries find the hierarchy."""
        return self._native.address

    def refit(self, points: array, indices: array) -> None:
        """Fit the boxes to points that have moved. The tree stays."""
        capture.call(self._native.refit, points, indices, label="wp.Mesh.refit", writes=[self.nodes])

    @staticmethod
    def _view(address: int, count: int, dtype: Any) -> array:
        return array(ptr=address, shape=(count,), dtype=dtype, device="cpu")
