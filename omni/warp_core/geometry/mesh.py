"""Triangle meshes that kernels query. lib/geometry/mesh_data.py has the layout in memory, lib/geometry/mesh_rays.py and
lib/geometry/mesh_points.py the queries.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ..algo.argument_checks import check_count, element_type, require_arrays, require_contiguous
from ..arrays.array import array
from ..devices.device import Device
from ..dispatch import capture
from ..dispatch.operation import Operation, Write, execute
from ..eager.addressed_memory import register
from ..lang.types import F32, I32, Type, Vec
from ..lang.values.scalars import uint64
from ..lang.values.structs import spell
from ..lib.geometry.mesh_data import MeshData
from ..lib.geometry.structure_ids import MESH
from .bvh import TriangleBvh
from .descriptors import Descriptors

__all__ = ["Mesh"]

_VEC3 = Vec(3, F32)
_DATA: Any = MeshData  # with the constructor that `struct` gives it
_MOST = 1 << 29  # faces
_CONSTRUCTORS = (None, "sah", "median", "lbvh", "cubql")


class Mesh:
    """A triangle mesh that kernels query by its id: rays, closest points, points of faces.

    The mesh refers to the arrays and does not copy them. Call `refit` after points were written in place.

    Args:
        points: positions, a contiguous array of vec3 of shape (n,) on the CPU. All must be finite.
        indices: a contiguous array of int32 of shape (3 * faces,); each three name the points of a face, which run
            counterclockwise as seen from its front. There may be none. They must not change.
        velocities: None, or velocities of the points, a contiguous array of vec3 of shape (n,).
        support_winding_number: for programs written for warp-lang; winding numbers need no preparation here.
        bvh_constructor: "sah", or for such programs "median", "lbvh", "cubql". The tree is the same for all of them.
        bvh_leaf_size: the most faces of a leaf of the tree, from 1 to 8; 4 if left out.

    Attributes:
        indices: the array that was given.
        device: where the arrays are.
        id: a uint64 for queries. It is valid for as long as this object exists: keep the object while kernels use the
            id. After that, a query with the id is a `KernelError`.

    Raises:
        TypeError: If an argument is not an array, or has elements of another type.
        ValueError: If a shape does not fit, an array has gaps, an index is out of range, or a point is not finite.
        NotImplementedError: If an array is on a GPU.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> @wp.kernel
    ... def heights(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), height: wp.array(dtype=float)):
    ...     i = wp.tid()
    ...     hit = wp.mesh_query_ray(mesh, p[i], wp.vec3(0.0, 0.0, -1.0), 100.0)
    ...     height[i] = hit.t if hit.result else -1.0
    >>> p = wp.array([[1.0, 1.0, 5.0], [3.0, 3.0, 5.0]], dtype=wp.vec3, device="cpu")
    >>> height = wp.zeros(2, dtype=float, device="cpu")
    >>> wp.launch(heights, dim=2, inputs=[mesh.id, p, height], device="cpu")
    >>> height.list()
    [5.0, -1.0]
    """

    def __init__(
        self,
        points: array,
        indices: array,
        velocities: array | None = None,
        support_winding_number: bool = False,
        bvh_constructor: str | None = None,
        bvh_leaf_size: int | None = None,
    ):
        _check_array("points", points, _VEC3)
        _check_array("indices", indices, I32)
        if bvh_constructor not in _CONSTRUCTORS:
            raise ValueError(f'bvh_constructor: expected "sah", "median", "lbvh" or "cubql", got {bvh_constructor!r}')
        leaf_size = (
            4 if bvh_leaf_size is None else check_count("bvh_leaf_size", bvh_leaf_size, 8, "leaves have 8 faces")
        )
        if leaf_size == 0:
            raise ValueError("bvh_leaf_size: expected at least one face")
        _check_indices(indices, points.size)
        _check_finite(points)
        _check_velocities(velocities, points)
        self._points, self.indices, self._velocities = points, indices, velocities
        self.device: Device = points.device
        self._bvh = TriangleBvh(points, indices, leaf_size) if indices.size else None
        self._place, number = _descriptors(self.device).take(self)
        self.id = uint64(number)
        self._publish()

    @property
    def points(self) -> array:
        """The positions. Assigning an array of the same shape calls `refit`."""
        return self._points

    @points.setter
    def points(self, points: array) -> None:
        _check_array("points", points, _VEC3)
        if points.shape != self._points.shape:
            raise ValueError(f"points: shape {points.shape}, but the mesh has points of shape {self._points.shape}")
        _check_finite(points)
        capture.refuse("assigning wp.Mesh.points; write into the array and call refit()")
        self._points = points
        self._publish()
        self.refit()

    @property
    def velocities(self) -> array | None:
        """The velocities of the points, or None. Another array of the same shape, or None, may be assigned."""
        return self._velocities

    @velocities.setter
    def velocities(self, velocities: array | None) -> None:
        _check_velocities(velocities, self._points)
        capture.refuse("assigning wp.Mesh.velocities; write into the array")
        self._velocities = velocities
        self._publish()

    def refit(self) -> None:
        """Fit the boxes of the tree to points that were written in place. Queries before that find the old faces.

        A graph can capture this. The tree stays as it is, so that queries of a mesh whose shape has changed a lot are
        faster with a new `wp.Mesh`.

        Raises:
            ValueError: If a point is not finite, or an index is out of range. The boxes stay as they were.

        >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
        >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
        >>> corners.assign([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
        >>> mesh.refit()
        >>> wp.mesh_query_ray(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0).t
        4.0
        """
        if self._bvh is not None:
            bvh, points = self._bvh, self._points
            execute(
                Operation(
                    "wp.Mesh.refit",
                    writes={"nodes": Write(bvh.nodes)},
                    reads={"points": points},
                    run=lambda: bvh.refit(points, self.indices),
                    vjp=lambda: lambda: None,  # boxes have no derivative
                    jvp=[],
                )
            )

    def _publish(self) -> None:
        """Write the descriptor that kernels read."""
        bvh, velocities = self._bvh, self._velocities
        tree = (bvh.nodes, bvh.order) if bvh is not None else ()
        for a in (self._points, self.indices, *tree, *(() if velocities is None else (velocities,))):
            register(a)
        data = _DATA(
            self.id,
            bvh.address if bvh is not None else 0,
            self._points.ptr,
            self.indices.ptr,
            velocities.ptr if velocities is not None else 0,
            *([a.ptr for a in tree] or [0, 0]),
            self._points.size,
            self.indices.size // 3,
            tree[0].size if tree else 0,
        )._wc_pack()
        ctypes.memmove(self._place.ptr, data, len(data))


@cache
def _descriptors(device: Device) -> Descriptors:
    return Descriptors(MeshData, MESH, device)


def _check_array(name: str, a: Any, t: Type) -> None:
    """Raise an error unless `a` is a contiguous array of one dimension on the CPU with elements of type `t`."""
    require_arrays(**{name: a})
    if element_type(a) is not t:
        raise TypeError(f"{name}: expected elements of {spell(t)}, got {a._require_element().name}")
    if a.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {a.shape}; pass {name}.flatten()")
    if not a.device.is_cpu:
        text = f"{name}: there are no meshes on {a.device} yet, only on the CPU"
        raise NotImplementedError(f'{text}: pass {name}.to("cpu"), and launch the kernels that query the mesh there')
    require_contiguous(name, a)


def _check_velocities(velocities: array | None, points: array) -> None:
    if velocities is not None:
        _check_array("velocities", velocities, _VEC3)
        if velocities.size != points.size:
            raise ValueError(f"velocities: {velocities.size} of them, but there are {points.size} points")


def _check_indices(indices: array, points: int) -> None:
    if indices.size % 3 or indices.size > 3 * _MOST:
        raise ValueError(f"indices: expected three for each face and at most 2**29 faces, got {indices.size} indices")
    numbers = indices.numpy()
    wrong = np.flatnonzero((numbers < 0) | (numbers >= points))
    if wrong.size:
        at = int(wrong[0])
        raise ValueError(f"indices: indices[{at}] is {numbers[at]}, out of range for {points} points")


def _check_finite(points: array) -> None:
    wrong = np.flatnonzero(~np.isfinite(points.numpy()).all(axis=1))
    if wrong.size:
        at = int(wrong[0])
        raise ValueError(f"points: points[{at}] is {points.numpy()[at].tolist()}; all points must be finite")
