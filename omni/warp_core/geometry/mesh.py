"""Triangle meshes that kernels query. lib/geometry/mesh_data.py has the layout in memory, lib/geometry/mesh_rays.py and
lib/geometry/mesh_points.py the queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from ..algo.argument_checks import check_count
from ..arrays.array import array
from ..devices.device import Device
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute
from ..eager.addressed_memory import register_arrays_of
from ..lang.annotations import Structure
from ..lang.types import F32, I32, Vec
from ..lang.values.scalars import uint64
from ..lib.geometry.mesh_data import MeshData
from ..lib.geometry.structure_ids import MESH
from ..tape import structures
from .array_checks import check_array, is_fast
from .bvh_descriptor import BvhDescriptor
from .cpu_trees import TriangleBvh
from .descriptors import Descriptors
from .gpu_trees import GpuTriangleBvh
from .mesh_checks import check

__all__ = ["Mesh"]

_VEC3 = Vec(3, F32)
_MOST = 1 << 29  # faces
_ADDRESSES = ("points", "velocities", "nodes", "wide_nodes", "blocks", "moments")  # of memory that may change


class Mesh(Structure):
    """A triangle mesh that kernels query by its id: rays, closest points, points of faces.

    The mesh refers to the arrays and does not copy them. Call `refit` after points were written in place.

    Args:
        points: positions, a contiguous array of vec3 of shape (n,). All must be finite. The mesh is on their device, as
            are all its arrays and the kernels that query it.
        indices: a contiguous array of int32 of shape (3 * faces,); each three name the points of a face, which run
            counterclockwise as seen from its front. There may be none. They must not change.
        velocities: None, or velocities of the points, a contiguous array of vec3 of shape (n,).
        support_winding_number: True to prepare the mesh for `wp.mesh_query_point_sign_winding_number`, which is slow
            for many faces without it. A build and a refit take longer then.
        bvh_constructor: how the tree is built on CPUs. "sah" makes queries fast: it is the default. "lbvh" builds
            faster, and queries are slower. For programs written for warp-lang, "median" and "cubql" build as "sah"
            does. On GPUs the tree is a linear BVH for all of them.
        bvh_leaf_size: the most faces of a leaf of the tree, from 1 to 8; 4 if left out.
        groups: None, or an array of int32 of shape (faces,): the group of each face. The faces of a group are those
            below one node, which `wp.mesh_get_group_root` returns, so that rays can be restricted to them. The groups
            are read once, here.

    Attributes:
        indices, groups: the arrays that were given.
        device: where the arrays are.
        id: a uint64 for queries. It is valid for as long as this object exists: keep the object while kernels use the
            id. After that, a query with the id is a `KernelError`.

    Raises:
        TypeError: If an argument is not an array, or has elements of another type.
        ValueError: If a shape does not fit, an array has gaps or is on another device, an index is out of range, or a
            point is not finite.
        RuntimeError: If a graph of a GPU is captured, and the arrays are on that GPU.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> @wp.kernel
    ... def heights(mesh: wp.uint64, p: wp.array[wp.vec3], height: wp.array[float]):
    ...     i = wp.tid()
    ...     hit = wp.mesh_query_ray(mesh, p[i], wp.vec3(0.0, 0.0, -1.0), 100.0)
    ...     height[i] = hit.t if hit.result else -1.0
    >>> p = wp.array([[1.0, 1.0, 5.0], [3.0, 3.0, 5.0]], dtype=wp.vec3, device="cpu")
    >>> height = wp.zeros(2, dtype=float, device="cpu")
    >>> wp.launch(heights, dim=2, inputs=[mesh.id, p, height], device="cpu")
    >>> height.list()
    [5.0, -1.0]
    """

    _another = "make another one of its arrays, wp.Mesh(points, indices)"

    def __init__(
        self,
        points: array,
        indices: array,
        velocities: array | None = None,
        support_winding_number: bool = False,
        bvh_constructor: str | None = None,
        bvh_leaf_size: int | None = None,
        groups: array | None = None,
    ):
        check_array("points", points, _VEC3)
        check_array("indices", indices, I32)
        fast = is_fast("bvh_constructor", bvh_constructor)
        leaf_size = (
            4 if bvh_leaf_size is None else check_count("bvh_leaf_size", bvh_leaf_size, 8, "leaves have 8 faces")
        )
        if leaf_size == 0:
            raise ValueError("bvh_leaf_size: expected at least one face")
        if indices.size % 3 or indices.size > 3 * _MOST:
            text = "expected three for each face and at most 2**29 faces"
            raise ValueError(f"indices: {text}, got {indices.size} indices")
        _check_device("indices", indices, points)
        _check_velocities(velocities, points)
        _check_groups(groups, indices)
        self.device: Device = points.device
        if self.device.is_cuda:
            capture.refuse("making a wp.Mesh", self.device)
        self._points, self._indices, self._velocities, self._groups = points, indices, velocities, groups
        self._bvh: TriangleBvh | GpuTriangleBvh | None = None
        if indices.size and self.device.is_cpu:
            self._bvh = _checked_tree(points, indices, groups, leaf_size, fast, support_winding_number)
        else:
            check(points, indices)
        if indices.size and self.device.is_cuda:
            self._bvh = GpuTriangleBvh(points, indices, groups, leaf_size, support_winding_number)
        self._tree = BvhDescriptor(self.device)
        self._kept = kept = _descriptors(self.device)
        self._place, self._number = kept.take(self)
        self.id = uint64(self._number)
        structures.register(self, self._place, _ADDRESSES, kept.take, ("points", "velocities"))
        self._publish()

    @property
    def indices(self) -> array:
        """The corners of the faces. Other faces need a new mesh."""
        return self._indices

    @property
    def groups(self) -> array | None:
        """The groups of the faces, or None."""
        return self._groups

    @property
    def points(self) -> array:
        """The positions. Assigning an array of the same shape calls `refit`."""
        return self._points

    @points.setter
    def points(self, points: array) -> None:
        check_array("points", points, _VEC3)
        if points.shape != self._points.shape:
            raise ValueError(f"points: shape {points.shape}, but the mesh has points of shape {self._points.shape}")
        _check_device("points", points, self._indices)
        capture.refuse("assigning wp.Mesh.points; write into the array and call refit()")
        check(points, self._indices)
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
        faster with a new `wp.Mesh`. On a GPU this waits for the check of the points.

        Raises:
            ValueError: If a point is not finite, or an index is out of range. The boxes stay as they were. Launches of
                a graph on a GPU raise this only if it was captured in debug mode.

        >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
        >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
        >>> corners.assign([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
        >>> mesh.refit()
        >>> wp.mesh_query_ray(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0).t
        4.0
        """
        if self._bvh is None:
            return
        bvh, points = self._bvh, self._points
        if not observers.observed:
            self._refit(bvh, points)
            return
        execute(
            Operation(
                "wp.Mesh.refit",
                writes={name: Write(a) for name, a in bvh.boxes.items()},
                reads={"points": points},
                run=lambda: self._refit(bvh, points),
                vjp=lambda: lambda: None,  # boxes have no derivative
                jvp=[],
            )
        )

    def _refit(self, bvh: TriangleBvh | GpuTriangleBvh, points: array) -> None:
        self._note_build()
        try:
            bvh.refit(points, self._indices)
        except ValueError:
            check(points, self._indices)  # names the point, and raises
            raise

    def _publish(self) -> None:
        """Write the descriptor that kernels read."""
        self._note_build()
        faces = self._indices.size // 3
        at = {"points": self._points.ptr, "indices": self._indices.ptr, "num_points": self._points.size}
        self._tree.write(faces, self._bvh, **at)
        if self._velocities is not None:
            at["velocities"] = self._velocities.ptr
        if self._bvh is not None:
            places = self._bvh.places
            at["num_nodes"] = places["nodes"][1]
            for name, (address, _) in places.items():
                at[name] = address
        kept = self._kept
        kept.write(self._place, kept.pack(id=self._number, bvh=self._tree.number, num_faces=faces, **at))
        register_arrays_of(self)

    def _addressed_arrays(self) -> Iterable[array]:
        """Return all arrays that its descriptors lead to."""
        given = (self._points, self._indices, self._velocities)
        return (*(a for a in given if a is not None), *(() if self._bvh is None else self._bvh.arrays()))

    def _summary(self) -> str:
        return f"points={self._points.size}, faces={self._indices.size // 3}, device={self.device}"

    def _note_build(self) -> None:
        structures.note_build(self)
        structures.note_build(self._tree)


@cache
def _descriptors(device: Device) -> Descriptors:
    return Descriptors(MeshData, MESH, device)


def _checked_tree(points: array, indices: array, groups: array | None, *options: Any) -> TriangleBvh:
    """The tree over the faces of a mesh on the CPU. Native code checks the arrays: see `check` for the place."""
    try:
        return TriangleBvh(points, indices, groups, *options)
    except ValueError:
        check(points, indices)
        raise


def _check_device(name: str, a: array, other: array) -> None:
    if a.device is not other.device:
        raise ValueError(f"{name}: is on {a.device}, but the mesh is on {other.device}")


def _check_groups(groups: array | None, indices: array) -> None:
    if groups is not None:
        check_array("groups", groups, I32)
        _check_device("groups", groups, indices)
        if groups.size != indices.size // 3:
            raise ValueError(f"groups: {groups.size} of them, but there are {indices.size // 3} faces")


def _check_velocities(velocities: array | None, points: array) -> None:
    if velocities is not None:
        check_array("velocities", velocities, _VEC3)
        _check_device("velocities", velocities, points)
        if velocities.size != points.size:
            raise ValueError(f"velocities: {velocities.size} of them, but there are {points.size} points")
