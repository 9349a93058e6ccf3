"""Sparse volumes of dense arrays."""

from __future__ import annotations

import numpy as np

import omni.warp_core as wp


@wp.kernel
def store(volume: wp.uint64, blocks: wp.array[wp.vec3i], density: wp.array3d[float]):
    n, i, j, k = wp.tid()
    voxel = blocks[n] + wp.vec3i(i, j, k)
    wp.volume_store(volume, voxel[0], voxel[1], voxel[2], density[voxel[0], voxel[1], voxel[2]])


def sparse_volume(density: wp.array, spacing: float, threshold: float = 0.0) -> wp.Volume:
    """Return a volume with the blocks of 8x8x8 voxels that have a density above a threshold.

    The extents of the array are multiples of 8, and voxels are `spacing` apart.
    """
    x, y, z = (n // 8 for n in density.shape)
    most = density.numpy().reshape(x, 8, y, 8, z, 8).max(axis=(1, 3, 5))
    blocks = wp.array(8 * np.argwhere(most > threshold), dtype=wp.vec3i)
    volume = wp.Volume.allocate_by_tiles(blocks, voxel_size=spacing)
    wp.launch(store, (blocks.size, 8, 8, 8), [volume.id, blocks, density])
    return volume
