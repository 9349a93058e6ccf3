"""The arrays of meshes in kernels: `mesh_get`."""

from __future__ import annotations

from ...lang import prim
from ...lang.registry import builtin
from ...lang.types import F32, I32, Array, Vec
from ...lang.values.scalars import int32, uint64
from ...lang.values.structs import struct
from .mesh_data import _mesh_at, _mesh_points, _mesh_velocities

_VECTORS = Array(Vec(3, F32), 1)
_NUMBERS = Array(I32, 1)


@struct
class MeshArrays:
    """What `wp.mesh_get` returns: the arrays of a mesh, which a kernel reads.

    Attributes:
        points: the positions, an array of vec3.
        velocities: the velocities of the points, an array of vec3 that is false if the mesh has none.
        indices: the points of the faces, an array of int32, three for each face.
    """

    points: _VECTORS  # type: ignore[valid-type]
    velocities: _VECTORS  # type: ignore[valid-type]
    indices: _NUMBERS  # type: ignore[valid-type]


@builtin
def mesh_get(id: uint64) -> MeshArrays:
    """The arrays of a mesh: `points`, `velocities` and `indices`.

    Args:
        id: of the mesh: `mesh.id`, a uint64.

    Returns:
        A MeshArrays. Kernels read its arrays, and cannot write them: pass `mesh.points` to a kernel that does. An id
        without a mesh is a KernelError. Called from Python it gives copies if the mesh is on a GPU.

    Error: exact.
    Derivative: of the elements of `points` and `velocities`, with respect to these arrays.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"))
    >>> @wp.kernel
    ... def total(mesh: wp.uint64, out: wp.array[wp.vec3]):
    ...     arrays = wp.mesh_get(mesh)
    ...     for i in range(arrays.indices.shape[0]):
    ...         out[0] += arrays.points[arrays.indices[i]]
    >>> out = wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(total, dim=1, inputs=[mesh.id, out], device="cpu")
    >>> out.list()
    [vec3f([4.0, 4.0, 0.0])]
    """
    data, found = _mesh_at(id), MeshArrays()
    found.points, found.velocities = _mesh_points(id, data), _mesh_velocities(id, data)
    found.indices = prim.array_at(data.indices, 3 * data.num_faces, int32)
    return found
