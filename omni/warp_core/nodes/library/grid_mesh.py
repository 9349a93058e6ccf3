"""Grids in the plane of x and z, with the front towards +y: the mesh that Grid Create and Wave Solve make."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph.attribute import GraphError
from ..values.bundles import Bundle, item
from .prim_bundles import give, mesh_prim, normals_item, require_room


def grid_prim(size: np.ndarray, cells: tuple[int, int], world: np.ndarray) -> Bundle:
    """Return a grid around the origin with normals and texture coordinates, one for each corner of a face.

    Args:
        size: Extent along x and z.
        cells: Number of cells along x and z, each at least 1.
        world: Transform to the world.
    """
    across, along = cells
    require_room((across + 1.0) * (along + 1.0), "the points of the grid", "set fewer cells")
    x, z = np.meshgrid(np.linspace(-0.5, 0.5, across + 1), np.linspace(-0.5, 0.5, along + 1))
    points = np.stack([x * size[0], np.zeros_like(x), z * size[1]], -1).reshape(-1, 3).astype(np.float32)
    first = (np.arange(along)[:, None] * (across + 1) + np.arange(across)).ravel()
    corners = first[:, None] + np.array([0, across + 1, across + 2, 1])
    indices = corners.ravel().astype(np.int32)
    counts = np.full(len(corners), 4, np.int32)
    st = np.stack([x + 0.5, 0.5 - z], -1).reshape(-1, 2)[indices].astype(np.float32)
    normals = np.tile(np.array([0, 1, 0], np.float32), (len(indices), 1))
    prim = mesh_prim(points, counts, indices, world)
    return prim.having(
        {**normals_item(normals), "primvars:st": item("texcoordf[2][]", st, interpolation="faceVarying")}
    )


def require_size(size: np.ndarray) -> None:
    """Raise GraphError for an extent that no grid has."""
    if not (np.isfinite(size).all() and (size > 0).all()):
        raise GraphError(f"inputs:size is {tuple(map(float, size))}; both numbers must be above 0")


class GridState:
    """The grid that a node made last, and from what."""

    def __init__(self) -> None:
        self._made: tuple = ()
        self.prim: Bundle = Bundle()

    def grid(self, size: np.ndarray, cells: tuple[int, int], world: np.ndarray) -> bool:
        """Make the grid if it differs from the last one; True if it was made."""
        wanted = (tuple(map(float, size)), cells, world.tobytes())
        if wanted == self._made:
            return False
        self.prim, self._made = grid_prim(size, cells, np.array(world)), wanted
        return True


def create(db: Any) -> None:
    """Compute Grid Create."""
    state, (across, along) = db.per_instance_state, (int(n) for n in db.inputs.dims)
    require_size(db.inputs.size)
    if across < 1 or along < 1:
        raise GraphError(f"inputs:dims is ({across}, {along}); a grid has at least one cell in each direction")
    state.grid(db.inputs.size, (across, along), db.inputs.transform)
    give(db, "mesh", state.prim)


def cells_of(size: np.ndarray, cell: float) -> tuple[int, int]:
    """Return how many cells of about an edge length make up a size. Raises GraphError."""
    if not (math.isfinite(cell) and cell > 0):
        raise GraphError(f"inputs:cellSize is {cell}; it must be above 0")
    wanted = np.maximum(np.asarray(size, np.float64) / cell, 1)
    require_room(float(np.prod(wanted + 1)), "the points of the grid", "set a larger inputs:cellSize")
    return round(float(wanted[0])), round(float(wanted[1]))
