"""Groups of the faces of meshes, and the tree of a mesh as one over boxes. Start with `mesh_get_group_root`."""

from __future__ import annotations

from ...lang import prim
from ...lang.registry import builtin
from ...lang.values.scalars import int32, uint64
from .bvh_queries import BvhData, root_of_group
from .mesh_data import MeshData, _mesh_at
from .structure_lookup import structure_of

NO_START = -(1 << 31)  # in `MeshData.starts`, of a node that is no root of a group
_NO_ROOT = "root {0} is no root of a group of the mesh: pass what wp.mesh_get_group_root returns, or -1 for all faces"


@builtin(name="_mesh_root_at")
def root_at(data: MeshData, root: int32) -> int32:
    """The node where a query begins: the root of a group, or the first node if `root` is negative."""
    found, is_root = prim.max(root, 0), root <= 0
    if found < data.num_nodes and data.starts != uint64(0):
        is_root = is_root or prim.array_at(data.starts, data.num_nodes, int32)[found] != NO_START
    if not is_root:
        prim.fail("bounds", _NO_ROOT, root)
        found = 0
    return found


@builtin
def mesh_get_group_root(id: uint64, group: int32) -> int32:
    """Node above the faces of a group of a mesh, which restricts rays to the group.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        group: the number of a group, an int32.

    Returns:
        The argument `root` of `wp.mesh_query_ray`, `wp.mesh_query_ray_anyhit` and
        `wp.mesh_query_ray_count_intersections`, an int32. It is -1 for a group without faces: compare before a query,
        as -1 stands for all faces there. An id without a mesh is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> faces = wp.array([0, 1, 2, 0, 2, 1], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(corners, faces, groups=wp.array([7, 8], dtype=int, device="cpu"))
    >>> root = wp.mesh_get_group_root(mesh.id, 8)
    >>> wp.mesh_query_ray(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0, root).face
    1
    >>> wp.mesh_get_group_root(mesh.id, 9)
    -1
    """
    data, root = _mesh_at(id), -1
    if data.num_faces > 0:
        root = root_of_group(structure_of(data.bvh, BvhData), group)
    return root


@builtin
def mesh_get_bvh(id: uint64) -> uint64:
    """Id of the tree of a mesh, for queries of trees over boxes: its boxes are those of the faces.

    Args:
        id: of the mesh: `mesh.id`, a uint64.

    Returns:
        The argument `id` of `wp.bvh_query_aabb` and its relatives, a uint64. `wp.bvh_query_next` gives numbers of
        faces. It is valid for as long as the mesh exists, and 0 without a mesh, which is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> query = wp.bvh_query_sphere(wp.mesh_get_bvh(mesh.id), wp.vec3(5.0, 0.0, 0.0), 1.0)
    >>> query.stop  # nodes to visit
    1
    """
    return _mesh_at(id).bvh
