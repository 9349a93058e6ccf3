"""Headers of grid buffers: the class and the place of a grid, and copies with another header. See `relabeled`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .grid_builder import Placement, write_name, write_placement
from .grid_tree import GridTree, read_grid
from .layout import GRID, GRID_CLASSES, NO_CHECKSUM


def relabeled(
    data: np.ndarray, name: str | None = None, grid_class: str | None = None, matrix: np.ndarray | None = None
) -> np.ndarray:
    """Return a copy of a grid buffer with another header, as the only grid of its buffer.

    Args:
        data: the grid buffer, uint8.
        name: of the grid; None keeps it.
        grid_class: one of `GRID_CLASSES`; None keeps it.
        matrix: (4, 4), for column vectors: applied to the place of the grid in the world; None keeps the place.

    Raises:
        ValueError: If `data` is no grid buffer, or the matrix has no inverse or is no affine one.
    """
    copy = data.copy()
    grid = read_grid(copy)
    header = copy[: GRID.itemsize].view(GRID)[0]
    header["checksum"], header["grid_index"], header["grid_count"] = NO_CHECKSUM, 0, 1
    if name is not None:
        write_name(header, name)
    if grid_class is not None:
        header["grid_class"] = GRID_CLASSES.index(grid_class)
    if matrix is not None:
        write_placement(copy, _moved(placement_in(grid), matrix), copy[grid.root_offset :])
    return copy


def _moved(placement: Placement, matrix: np.ndarray) -> Placement:
    if not np.isfinite(matrix).all() or not np.array_equal(matrix[3], (0.0, 0.0, 0.0, 1.0)):
        raise ValueError(f"a grid cannot be placed by the matrix {matrix.tolist()}: it is not affine, or not finite")
    moved = Placement(matrix[:3, :3] @ placement.matrix, matrix[:3, :3] @ placement.translation + matrix[:3, 3])
    if not np.linalg.det(moved.matrix):
        raise ValueError(f"a grid cannot be placed by the matrix {matrix.tolist()}: its voxels would have no volume")
    return moved


def placement_in(grid: GridTree) -> Placement:
    """Return where a grid is in the world."""
    spot: Any = grid.header["map"]
    return Placement(spot["mat_d"].copy(), spot["vec_d"].copy())


def class_of(grid: GridTree) -> str:
    """Return the class of a grid, one of `GRID_CLASSES`; "unknown" for a number without a name."""
    number = int(grid.header["grid_class"])
    return GRID_CLASSES[number] if number < len(GRID_CLASSES) else "unknown"
