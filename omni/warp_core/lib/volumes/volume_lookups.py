"""Voxels of sparse volumes: their values, their places in arrays, and where they are in the world."""

from __future__ import annotations

from typing import Any

from ...lang import prim
from ...lang.generics import Constant, S, Vec
from ...lang.registry import builtin
from ...lang.values.scalars import float32, int32, uint32, uint64
from ...lang.values.value_classes import vec3f
from .volume_data import entry_of, known, place_of, volume_at
from .volume_values import INDEX, INDEX_MASK, ON_INDEX, ON_INDEX_MASK, VoxelValue, has_type, put_value, value_at


@builtin(name="_volume_voxel")
def voxel(id: uint64, i: int32, j: int32, k: int32, like: S) -> S:
    """The value of a voxel of a volume that `volume_at` found, and whose values are like `like`."""
    data = known(id)
    return value_at(data, place_of(data, i, j, k), entry_of(i, j, k), like)


@builtin(name="_volume_lookup")
def _lookup(id: uint64, i: int32, j: int32, k: int32, like: VoxelValue) -> VoxelValue:
    data = volume_at(id)
    value = like
    if has_type(data, like):
        value = voxel(id, i, j, k, like)
    return value


@builtin
def volume_lookup(id: uint64, i: int32, j: int32, k: int32, dtype: Constant) -> Any:
    """Value of a voxel of a volume.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        dtype: the type of the volume's values, known when the kernel compiles: `volume.dtype`.

    Returns:
        A value of that type: the voxel's, that of a tile around it, or the background. A volume with values of another
        type is a KernelError, as is an id without a volume.

    Error: exact.
    Derivative: exact with respect to the values in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), bg_value=-1.0, device="cpu")
    >>> wp.volume_lookup(volume.id, 1, 0, 1, dtype=float), wp.volume_lookup(volume.id, 50, 0, 1, dtype=float)
    (5.0, -1.0)
    """
    return _lookup(id, i, j, k, dtype())


@builtin(name="volume_lookup")
def _volume_lookup_at(id: uint64, ijk: Vec[3, int32]) -> float32:
    """The form of an early version of the language: the voxel as a vec3i, of a volume of float32."""
    return _lookup(id, ijk[0], ijk[1], ijk[2], float32(0.0))


@builtin
def volume_lookup_f(id: uint64, i: int32, j: int32, k: int32) -> float32:
    """Value of a voxel of a volume of float32. See `wp.volume_lookup`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The value, a float32.

    Error: exact.
    Derivative: exact with respect to the values in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_lookup_f(volume.id, 1, 1, 0)
    6.0
    """
    return _lookup(id, i, j, k, float32(0.0))


@builtin
def volume_lookup_i(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """Value of a voxel of a volume of int32. See `wp.volume_lookup`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The value, an int32.

    Error: exact.
    Derivative: none.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8).reshape(2, 2, 2), bg_value=-1, device="cpu")
    >>> wp.volume_lookup_i(volume.id, 1, 1, 0)
    6
    """
    return _lookup(id, i, j, k, int32(0))


@builtin
def volume_lookup_v(id: uint64, i: int32, j: int32, k: int32) -> Vec[3, float32]:
    """Value of a voxel of a volume of vec3. See `wp.volume_lookup`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The value, a vec3.

    Error: exact.
    Derivative: exact with respect to the values in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.ones((2, 2, 2, 3)), bg_value=(0.0, 0.0, 0.0), device="cpu")
    >>> wp.volume_lookup_v(volume.id, 1, 1, 0)
    vec3f([1.0, 1.0, 1.0])
    """
    return _lookup(id, i, j, k, vec3f())


@builtin(name="_volume_store")
def _store(id: uint64, i: int32, j: int32, k: int32, value: VoxelValue) -> None:
    data = volume_at(id)
    if has_type(data, value):
        place = place_of(data, i, j, k)
        if place >= 0:
            put_value(data, place, entry_of(i, j, k), value)


@builtin
def volume_store(id: uint64, i: int32, j: int32, k: int32, value: VoxelValue) -> None:
    """Store the value of a voxel of a volume.

    It stores nothing where the volume has no leaf, which is a block of 8x8x8 voxels in memory: `wp.Volume.allocate` and
    its relatives make leaves. Threads that store different values into one voxel leave one of them.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: of the type of the volume's values. Another one is a KernelError, as is an id without a volume.

    Error: exact.
    Derivative: exact with respect to `value`, if the volume requires gradients. Where threads store into one voxel,
    each of them gets its gradient.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=0.0, device="cpu")
    >>> wp.volume_store(volume.id, 1, 2, 3, 0.5)
    >>> wp.volume_lookup_f(volume.id, 1, 2, 3)
    0.5
    """
    _store(id, i, j, k, value)


@builtin
def volume_store_f(id: uint64, i: int32, j: int32, k: int32, value: float32) -> None:
    """Store the value of a voxel of a volume of float32. See `wp.volume_store`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: a float32.

    Error: exact.
    Derivative: as `wp.volume_store`.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=0.0, device="cpu")
    >>> wp.volume_store_f(volume.id, 1, 2, 3, 0.5)
    """
    _store(id, i, j, k, value)


@builtin
def volume_store_i(id: uint64, i: int32, j: int32, k: int32, value: int32) -> None:
    """Store the value of a voxel of a volume of int32. See `wp.volume_store`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: an int32.

    Error: exact.
    Derivative: none.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=0, device="cpu")
    >>> wp.volume_store_i(volume.id, 1, 2, 3, 5)
    """
    _store(id, i, j, k, value)


@builtin
def volume_store_v(id: uint64, i: int32, j: int32, k: int32, value: Vec[3, float32]) -> None:
    """Store the value of a voxel of a volume of vec3. See `wp.volume_store`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: a vec3.

    Error: exact.
    Derivative: as `wp.volume_store`.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=wp.vec3(), device="cpu")
    >>> wp.volume_store_v(volume.id, 1, 2, 3, wp.vec3(1.0, 2.0, 3.0))
    """
    _store(id, i, j, k, value)


@builtin(name="_volume_index")
def index_of(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """The number of a voxel, or -1, of a volume that `volume_at` found."""
    data, found, entry = known(id), -1, entry_of(i, j, k)
    place = place_of(data, i, j, k)
    if place >= 0 and data.id != uint64(0):
        words = prim.array_at(data.words, data.num_words, uint32)
        if data.value_type == ON_INDEX or data.value_type == ON_INDEX_MASK:
            word = entry >> 6
            low, high = words[place + 4 + 2 * word], words[place + 5 + 2 * word]
            mask = uint64(low) | (uint64(high) << uint64(32))
            bit = uint64(1) << uint64(entry & 63)
            if (mask & bit) != uint64(0):
                sums = uint64(words[place + 22]) | (uint64(words[place + 23]) << uint64(32))
                sum = int32((sums >> uint64(9 * prim.max(word - 1, 0))) & uint64(511))
                before = prim.select(word > 0, sum, 0)
                found = int32(words[place + 20]) - 1 + before + int32(prim.popcount(mask & (bit - uint64(1))))
        elif data.value_type == INDEX or data.value_type == INDEX_MASK:
            found = int32(words[place + 20]) - 1 + entry
        else:
            found = (place - data.first_leaf) // data.leaf_words * 512 + entry
    return found


@builtin
def volume_lookup_index(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """Number of a voxel of a volume, for arrays with a value for each voxel.

    Voxels are counted in the order of `volume.get_voxels()`. Volumes made by `wp.Volume.allocate_by_voxels` count
    active voxels. Others count all voxels of leaves, which are blocks of 8x8x8 voxels in memory.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The number, an int32; -1 for a voxel that is not counted. An id without a volume is a KernelError.

    Error: exact.
    Derivative: none.

    >>> voxels = wp.array([[0, 0, 0], [5, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=0.1, device="cpu")
    >>> wp.volume_lookup_index(volume.id, 5, 0, 0), wp.volume_lookup_index(volume.id, 1, 0, 0)
    (1, -1)
    """
    return index_of(volume_at(id).id, i, j, k)


@builtin
def volume_voxel_count(id: uint64) -> int32:
    """Number of voxels of a volume that `wp.volume_lookup_index` counts.

    Args:
        id: of the volume: `volume.id`, a uint64.

    Returns:
        The number, an int32: the length of an array with a value for each voxel. An id without a volume is a
        KernelError.

    Error: exact.
    Derivative: none.

    >>> voxels = wp.array([[0, 0, 0], [5, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=0.1, device="cpu")
    >>> wp.volume_voxel_count(volume.id)
    2
    """
    return volume_at(id).num_voxels


@builtin
def volume_index_to_world(id: uint64, uvw: Vec[3, float32]) -> Vec[3, float32]:
    """Place in the world of a place in the index space of a volume, where voxels are at integers.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place, a vec3.

    Returns:
        The place, a vec3. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_index_to_world(volume.id, wp.vec3(2.0, 0.0, 0.0))
    vec3f([2.0, 2.0, 3.0])
    """
    data = volume_at(id)
    return data.to_world * uvw + data.translation


@builtin
def volume_world_to_index(id: uint64, xyz: Vec[3, float32]) -> Vec[3, float32]:
    """Place in the index space of a volume of a place in the world; the inverse of `wp.volume_index_to_world`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the place, a vec3.

    Returns:
        The place, a vec3. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_world_to_index(volume.id, wp.vec3(2.0, 2.0, 3.0))
    vec3f([2.0, 0.0, 0.0])
    """
    data = volume_at(id)
    return data.to_index * (xyz - data.translation)


@builtin
def volume_index_to_world_dir(id: uint64, uvw: Vec[3, float32]) -> Vec[3, float32]:
    """Direction in the world of a direction in the index space of a volume.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the direction, a vec3 of any length.

    Returns:
        The direction, a vec3. Its length is in the unit of the world. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_index_to_world_dir(volume.id, wp.vec3(2.0, 0.0, 0.0))
    vec3f([1.0, 0.0, 0.0])
    """
    return volume_at(id).to_world * uvw


@builtin
def volume_world_to_index_dir(id: uint64, xyz: Vec[3, float32]) -> Vec[3, float32]:
    """Direction in the index space of a volume of a direction in the world.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the direction, a vec3 of any length.

    Returns:
        The direction, a vec3. Its length is in voxels. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_world_to_index_dir(volume.id, wp.vec3(1.0, 0.0, 0.0))
    vec3f([2.0, 0.0, 0.0])
    """
    return volume_at(id).to_index * xyz
