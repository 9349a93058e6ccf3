"""Names of an early version of the language for samples and transforms of sparse volumes of float32."""

from __future__ import annotations

from ...lang.generics import Vec
from ...lang.registry import builtin
from ...lang.values.scalars import float32, int32, uint64
from .volume_lookups import volume_index_to_world, volume_world_to_index
from .volume_samples import volume_sample_f


@builtin
def volume_sample_world(id: uint64, xyz: Vec[3, float32], sampling_mode: int32) -> float32:
    """Value of a volume of float32 at a place in the world. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the place in the world, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample`, and that of the place in index space.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), voxel_size=0.5, device="cpu")
    >>> wp.volume_sample_world(volume.id, wp.vec3(0.25, 0.0, 0.0), wp.Volume.LINEAR)
    2.0
    """
    return volume_sample_f(id, volume_world_to_index(id, xyz), sampling_mode)


@builtin
def volume_sample_local(id: uint64, uvw: Vec[3, float32], sampling_mode: int32) -> float32:
    """Value of a volume of float32 at a place in index space: `wp.volume_sample_f` by another name.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample`.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_sample_local(volume.id, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR)
    2.0
    """
    return volume_sample_f(id, uvw, sampling_mode)


@builtin
def volume_transform(id: uint64, uvw: Vec[3, float32]) -> Vec[3, float32]:
    """Place in the world of a place in index space: `wp.volume_index_to_world` by another name.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.

    Returns:
        The place in the world, a vec3.

    Error: as `wp.volume_index_to_world`.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), voxel_size=0.5, device="cpu")
    >>> wp.volume_transform(volume.id, wp.vec3(2.0, 0.0, 0.0))
    vec3f([1.0, 0.0, 0.0])
    """
    return volume_index_to_world(id, uvw)


@builtin
def volume_transform_inv(id: uint64, xyz: Vec[3, float32]) -> Vec[3, float32]:
    """Place in index space of a place in the world: `wp.volume_world_to_index` by another name.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the place in the world, a vec3.

    Returns:
        The place in index space, a vec3.

    Error: as `wp.volume_world_to_index`.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), voxel_size=0.5, device="cpu")
    >>> wp.volume_transform_inv(volume.id, wp.vec3(1.0, 0.0, 0.0))
    vec3f([2.0, 0.0, 0.0])
    """
    return volume_world_to_index(id, xyz)
