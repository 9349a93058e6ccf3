"""A grid of a `.vdb` file as arrays: leaves of 8x8x8 voxels, tiles, and where the grid is in the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

GRID_CLASSES = ("unknown", "level set", "fog volume", "staggered")


@dataclass(frozen=True, eq=False)
class VdbGrid:
    """A sparse grid with `n` leaves and `m` tiles. Values are numbers, or vectors in one more dimension of 3.

    Attributes:
        name: of the grid in its file.
        type: of the values, as the file names it: float, double, half, int32, int64, bool, mask, vec3s, vec3d, vec3i.
        grid_class: one of `GRID_CLASSES`.
        metadata: what else the file says about the grid.
        transform: float64 (4, 4): the place of voxel (i, j, k) in the world is `transform @ [i, j, k, 1]`.
        background: the value outside of all leaves and tiles.
        leaf_origins: int32 (n, 3): the voxel of each leaf with the smallest coordinates, multiples of 8.
        leaf_masks: uint8 (n, 64): which voxels are active, a bit each. Voxel (x, y, z) of a leaf is bit 64x + 8y + z,
            counted from the lowest bit of the first byte.
        leaf_values: (n, 512): the values of all voxels, in the same order.
        tile_origins: int32 (m, 3): the voxel of each tile with the smallest coordinates.
        tile_extents: int32 (m,): voxels along an edge of each tile: 8, 128 or 4096.
        tile_values: (m,): the value of all voxels of a tile.
        tile_active: bool (m,): whether the voxels of a tile are active. Inactive tiles of the background's value are
            left out.
    """

    name: str
    type: str
    grid_class: str
    metadata: dict[str, Any]
    transform: np.ndarray
    background: np.ndarray
    leaf_origins: np.ndarray
    leaf_masks: np.ndarray
    leaf_values: np.ndarray
    tile_origins: np.ndarray
    tile_extents: np.ndarray
    tile_values: np.ndarray
    tile_active: np.ndarray

    @property
    def voxel_count(self) -> int:
        """How many voxels are active, in leaves and tiles."""
        in_tiles = sum(int(extent) ** 3 for extent in self.tile_extents[self.tile_active])
        return int(_BITS[self.leaf_masks].sum(dtype=np.int64)) + in_tiles

    @property
    def index_bbox(self) -> np.ndarray | None:
        """int32 (2, 3): the first and last active voxel along each axis; None if no voxel is active."""
        masks = np.unpackbits(self.leaf_masks, axis=1, bitorder="little").reshape(-1, 8, 8, 8)
        leaf, *inside = np.nonzero(masks)
        voxels = self.leaf_origins[leaf] + np.stack(inside, axis=1).astype(np.int32)
        first, extents = self.tile_origins[self.tile_active], self.tile_extents[self.tile_active]
        low, high = np.concatenate([voxels, first]), np.concatenate([voxels, first + extents[:, None] - 1])
        return np.stack([low.min(axis=0), high.max(axis=0)]).astype(np.int32) if len(low) else None


_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
