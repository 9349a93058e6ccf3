"""Volumes that moving meshes sweep: distances to all poses of all meshes, on a grid, and the surface around them.

The grids are in sweep_domain.py. This is dense stamping in time: each node asks each pose for its distance.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type, call-overload, arg-type"

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from ... import (
    cw_mul,
    length,
    mesh_eval_position,
    mesh_query_point,
    mesh_query_point_no_sign,
    mesh_query_point_sign_normal,
    mesh_query_point_sign_winding_number,
    min,
    tid,
    transform,
    transform_inverse,
    transform_point,
    vec3,
)
from ...arrays.array import array, array1d, array2d, array3d
from ...arrays.factories import zeros
from ...devices.device import Device, get_device
from ...dispatch import capture
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float32, uint64
from ...launches.launch import launch
from ..mesh import Mesh
from .field_checks import level, number_of, spacing
from .marching_cubes import MarchingCubes
from .sweep_domain import Domain, bounds_of, boxes_of, find_domain, poses_of

__all__ = [
    "SweptVolumeSignMode",
    "swept_volume_bounds",
    "swept_volume_field",
    "swept_volume_mesh",
    "swept_volume_sdf",
]


class SweptVolumeSignMode(IntEnum):
    """The ways to tell whether a point is inside of a mesh, for `wp.geometry.swept_volume_sdf`.

    Attributes:
        NORMAL: 0, by the normals around the closest point, as `wp.mesh_query_point_sign_normal`. Fastest, for closed
            meshes.
        WINDING_NUMBER: 1, by the winding number, as `wp.mesh_query_point_sign_winding_number`. For meshes with holes.
            It looks at all faces of a mesh without `support_winding_number`.
        PARITY: 2, by the hits of rays, as `wp.mesh_query_point`. For closed meshes that may pass through themselves.
        NO_SIGN: 3, not at all. Distances are positive everywhere.

    >>> int(wp.geometry.SweptVolumeSignMode.PARITY)
    2
    """

    NORMAL = 0
    WINDING_NUMBER = 1
    PARITY = 2
    NO_SIGN = 3


_NORMAL, _WINDING_NUMBER, _PARITY, _NO_SIGN = (int(mode) for mode in SweptVolumeSignMode)


@func
def _signed_distance(mesh: uint64, p: vec3, max_dist: float, sign_mode: int) -> float:
    """Return the distance to a mesh, negative inside, or the greatest one if no face is nearer."""
    distance = max_dist
    if sign_mode == _NORMAL:
        found = mesh_query_point_sign_normal(mesh, p, max_dist)
    elif sign_mode == _WINDING_NUMBER:
        found = mesh_query_point_sign_winding_number(mesh, p, max_dist)
    elif sign_mode == _PARITY:
        found = mesh_query_point(mesh, p, max_dist)
    else:
        found = mesh_query_point_no_sign(mesh, p, max_dist)
    if found.result:
        distance = length(p - mesh_eval_position(mesh, found.face, found.u, found.v))
        if sign_mode != _NO_SIGN:
            distance *= found.sign
    return distance


@func
def swept_volume_sdf(
    point: vec3, mesh_ids: array1d(dtype=uint64), transforms: array2d(dtype=transform), max_dist: float, sign_mode: int
) -> float:
    """Return the distance of a point to all poses of all meshes, negative inside of one of them; in kernels.

    It is the least of the distances to the poses. Outside, that is the distance to the nearest pose. Inside, it is that
    to the surface of one pose, which may be less than that to the surface of their union.

    Args:
        point: in the world.
        mesh_ids: the ids of the meshes, `mesh.id`.
        transforms: where each mesh is at each time, of shape (meshes, times): from the mesh to the world, with unit
            quaternions.
        max_dist: distances count if they are below this. It is the result if there are none, also deep inside.
        sign_mode: a `wp.geometry.SweptVolumeSignMode`.

    Returns:
        The distance. It has derivatives with respect to the point and the transforms.

    >>> corners = wp.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=wp.vec3, device="cpu")
    >>> faces = wp.array([0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(corners, faces)
    >>> ids = wp.array([mesh.id], dtype=wp.uint64, device="cpu")
    >>> poses = wp.array([[(0, 0, 0, 0, 0, 0, 1), (1, 0, 0, 0, 0, 0, 1)]], dtype=wp.transform, device="cpu")
    >>> @wp.kernel
    ... def measure(ids: wp.array[wp.uint64], poses: wp.array2d[wp.transform], d: wp.array[float]):
    ...     d[0] = wp.geometry.swept_volume_sdf(wp.vec3(0.5, -0.25, 0.0), ids, poses, 10.0, 0)
    >>> d = wp.zeros(1, dtype=float, device="cpu")
    >>> wp.launch(measure, dim=1, inputs=[ids, poses, d], device="cpu")
    >>> d.list()
    [0.25]
    """
    nearest = max_dist
    for m in range(min(mesh_ids.shape[0], transforms.shape[0])):
        for s in range(transforms.shape[1]):
            p = transform_point(transform_inverse(transforms[m, s]), point)
            nearest = min(nearest, _signed_distance(mesh_ids[m], p, max_dist, sign_mode))
    return nearest


@kernel(lanes=1, module_options={"mode": "release"})
def _fill(
    mesh_ids: array1d(dtype=uint64),
    transforms: array2d(dtype=transform),
    max_dist: float,
    sign_mode: int,
    boxes: array2d(dtype=vec3),
    lower: vec3,
    steps: vec3,
    field: array3d(dtype=float32),
):
    """Write the distance of each node, as `swept_volume_sdf`. Points outside of the box of a mesh need no sign."""
    x, y, z = tid()
    point = lower + cw_mul(steps, vec3(float(x), float(y), float(z)))
    nearest = max_dist
    for m in range(mesh_ids.shape[0]):
        for s in range(transforms.shape[1]):
            p = transform_point(transform_inverse(transforms[m, s]), point)
            mode = sign_mode
            if sign_mode != _NORMAL and not _is_between(p, boxes[m, 0], boxes[m, 1]):
                mode = _NO_SIGN
            nearest = min(nearest, _signed_distance(mesh_ids[m], p, max_dist, mode))
    field[x, y, z] = nearest


@func
def _is_between(p: vec3, lower: vec3, upper: vec3) -> bool:
    """True if a point is in a box."""
    result = True
    for i in range(3):
        result = result and p[i] >= lower[i] and p[i] <= upper[i]
    return result


def swept_volume_bounds(
    meshes: Sequence[Mesh], transforms: Any, padding: float = 0.0, device: Any = None
) -> tuple[vec3, vec3]:
    """Return the corners of a box around all poses of all meshes.

    It contains the box of each mesh in each pose, and may be larger than the meshes in turned poses are.

    Args:
        meshes: meshes on one device.
        transforms: where they are, as for `wp.geometry.swept_volume_field`.
        padding: how far the box goes beyond, in each direction.
        device: the device of the meshes; None takes theirs.

    Returns:
        The least and the greatest corner.

    Raises:
        TypeError: If an argument has another type.
        ValueError: As for `wp.geometry.swept_volume_field`.
        RuntimeError: If a graph captures this.

    >>> corners = wp.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3], dtype=int, device="cpu"))
    >>> poses = [[(0, 0, 0, 0, 0, 0, 1), (2, 0, 0, 0, 0, 0, 1)]]
    >>> lower, upper = wp.geometry.swept_volume_bounds([mesh], poses, padding=0.5)
    >>> [float(x) for x in upper]
    [3.5, 1.5, 1.5]
    """
    on = _device_of(meshes, device)
    capture.refuse("wp.geometry.swept_volume_bounds", on)
    least, greatest = bounds_of(boxes_of(meshes), poses_of(meshes, transforms))
    pad = number_of("padding", padding)
    return vec3(*(least - pad)), vec3(*(greatest + pad))


def swept_volume_field(
    meshes: Sequence[Mesh],
    transforms: Any,
    voxel_size: float | None = None,
    *,
    resolution: tuple[int, int, int] | None = None,
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
    sign_mode: SweptVolumeSignMode = SweptVolumeSignMode.WINDING_NUMBER,
    device: Any = None,
) -> tuple[array, vec3, vec3]:
    """Return the distances of the nodes of a grid to all poses of all meshes, negative inside.

    Each node asks each pose, as `wp.geometry.swept_volume_sdf` does. Only points in the box of a mesh can be inside of
    it. There is nothing between poses: take so many that a mesh moves less than a cell from one to the next.

    The field has gradients with respect to `transforms`, on tapes and in forward mode, if these are an array that
    requires gradients. `lower` and `upper` are to be given then, as the default ones depend on the transforms, too.

    Args:
        meshes: meshes on one device, at least one.
        transforms: where each mesh is at each time, from the mesh to the world. An array of transform of shape (meshes,
            times), or what NumPy makes an array of shape (meshes, times, 7) of: a position and a unit quaternion x, y,
            z, w.
        voxel_size: the width of a cell. The grid has as many as fit around the poses.
        resolution: instead of that, the numbers of nodes in x, y and z, at least two each.
        lower: with `resolution`, where the first node is. None leaves about two cells around the poses.
        upper: where the last node is; give both or none.
        sign_mode: how to tell what is inside of a mesh.
        device: the device of the meshes; None takes theirs.

    Returns:
        The field, float32 of three dimensions, and the positions of its first and its last node.

    Raises:
        TypeError: If an argument has another type.
        ValueError: If shapes do not fit, a number is not finite, a quaternion is no unit quaternion, or meshes are on
            several devices. If neither or both of `voxel_size` and `resolution` are given, or there are too many nodes.
        RuntimeError: If a graph captures this, or if the gradient of default corners would be lost.

    >>> corners = wp.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3], dtype=int, device="cpu"))
    >>> poses = [[(0, 0, 0, 0, 0, 0, 1), (2, 0, 0, 0, 0, 0, 1)]]
    >>> field, lower, upper = wp.geometry.swept_volume_field([mesh], poses, voxel_size=0.25)
    >>> field.shape
    (17, 9, 9)
    """
    on = _device_of(meshes, device)
    found = find_domain(meshes, transforms, voxel_size, resolution, lower, upper, 0.0)
    return _field(meshes, transforms, found, sign_mode, on), found.lower, found.upper


def swept_volume_mesh(
    meshes: Sequence[Mesh],
    transforms: Any,
    voxel_size: float | None = None,
    *,
    resolution: tuple[int, int, int] | None = None,
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
    threshold: float = 0.0,
    sign_mode: SweptVolumeSignMode = SweptVolumeSignMode.WINDING_NUMBER,
    device: Any = None,
) -> tuple[array, array]:
    """Return the surface of the volume that moving meshes sweep, by marching cubes on `swept_volume_field`.

    Args:
        meshes: as for `wp.geometry.swept_volume_field`.
        transforms: as there.
        voxel_size: as there.
        resolution: as there.
        lower: as there. None leaves room for the threshold, too.
        upper: as there.
        threshold: the distance of the surface from the poses; finite. The surface is sure to contain all poses if this
            is more than half of the diagonal of a cell. With `NO_SIGN` it must be positive for there to be a surface.
        sign_mode: as there.
        device: as there.

    Returns:
        The vertices, an array of vec3, and the indices of vertices, three int32 for each triangle. Triangles are
        counter clockwise when seen from outside.

    Raises:
        TypeError, ValueError, RuntimeError: As `wp.geometry.swept_volume_field` does.

    >>> corners = wp.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3], dtype=int, device="cpu"))
    >>> poses = np.zeros((1, 8, 7))
    >>> poses[0, :, 0], poses[0, :, 6] = np.linspace(0.0, 1.0, 8), 1.0
    >>> vertices, indices = wp.geometry.swept_volume_mesh([mesh], poses, voxel_size=0.05)
    >>> bool(abs(vertices.numpy().max(0) - (2.0, 1.0, 1.0)).max() < 0.03)
    True
    """
    on, value = _device_of(meshes, device), level(threshold)
    found = find_domain(meshes, transforms, voxel_size, resolution, lower, upper, value)
    field = _field(meshes, transforms, found, sign_mode, on)
    return MarchingCubes.extract(field, value, lower=found.lower, upper=found.upper)


def _field(meshes: Sequence[Mesh], transforms: Any, domain: Domain, sign_mode: Any, device: Device) -> array:
    """Return the distances of the nodes of a domain."""
    mode = SweptVolumeSignMode(sign_mode)
    if isinstance(transforms, array) and transforms.dtype is transform:
        poses = transforms
        if poses.device is not device:
            raise ValueError(
                f'transforms: is on {poses.device}, but the meshes are on {device}; pass it.to("{device}")'
            )
    else:
        poses = array(domain.poses, dtype=transform, device=device)
    ids = array([int(mesh.id) for mesh in meshes], dtype=uint64, device=device)
    field = zeros(domain.shape, dtype=float32, device=device, requires_grad=poses.requires_grad)
    boxes = array(domain.boxes, dtype=vec3, device=device)
    given = [ids, poses, domain.reach, int(mode), boxes, *spacing(domain.shape, domain.lower, domain.upper), field]
    launch(_fill, domain.shape, given, device=device)
    return field


def _device_of(meshes: Sequence[Mesh], device: Any) -> Device:
    """Return the device of the meshes. Raises TypeError, ValueError."""
    for mesh in meshes:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"meshes: expected wp.Mesh, got {type(mesh).__name__}")
    if not meshes:
        raise ValueError("meshes: expected at least one")
    on = meshes[0].device if device is None else get_device(device)
    for i, mesh in enumerate(meshes):
        if mesh.device is not on:
            raise ValueError(f"meshes: mesh {i} is on {mesh.device}, but the field is to be on {on}")
    return on
