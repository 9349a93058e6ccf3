"""`wp.fem.utils`: the cells of grids as indices of vertices, for meshes.

The vertices of a grid are numbered along the last axis first, as those of `Grid2D` and `Grid3D`.
"""

from __future__ import annotations

import numpy as np

from .geometries.reference_cells import Element, reference_cell

__all__ = ["grid_to_hexes", "grid_to_quads", "grid_to_tets", "grid_to_tris"]

# The five tetrahedra of a hexahedron: one in the middle, and one at every other vertex. Neighbours have mirrored ones,
# so that their common faces are divided alike.
_TETRAHEDRA = np.array([(0, 1, 3, 4), (2, 3, 1, 6), (5, 4, 6, 1), (7, 6, 4, 3), (1, 3, 4, 6)])
_MIRRORED = np.array([1, 0, 3, 2, 5, 4, 7, 6])  # along the first axis


def grid_to_quads(Nx: int, Ny: int) -> np.ndarray:
    """Return the vertices of the cells of a grid, around each: cells x 4.

    Args:
        Nx: Number of cells along x.
        Ny: Number of cells along y.

    >>> wp.fem.utils.grid_to_quads(1, 2).tolist()
    [[0, 3, 4, 1], [1, 4, 5, 2]]
    """
    return _cells(Element.SQUARE, Nx, Ny)


def grid_to_tris(Nx: int, Ny: int) -> np.ndarray:
    """Return the vertices of triangles, two for each cell of a grid: triangles x 3.

    Args:
        Nx: Number of cells along x.
        Ny: Number of cells along y.

    >>> wp.fem.utils.grid_to_tris(1, 1).tolist()
    [[0, 2, 3], [0, 3, 1]]
    """
    quads = grid_to_quads(Nx, Ny)
    return quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)


def grid_to_hexes(Nx: int, Ny: int, Nz: int) -> np.ndarray:
    """Return the vertices of the cells of a grid, those of the lower z first: cells x 8.

    Args:
        Nx: Number of cells along x.
        Ny: Number of cells along y.
        Nz: Number of cells along z.

    >>> wp.fem.utils.grid_to_hexes(1, 1, 1).tolist()
    [[0, 4, 6, 2, 1, 5, 7, 3]]
    """
    return _cells(Element.CUBE, Nx, Ny, Nz)


def grid_to_tets(Nx: int, Ny: int, Nz: int) -> np.ndarray:
    """Return the vertices of tetrahedra, five for each cell of a grid: tetrahedra x 4.

    Args:
        Nx: Number of cells along x.
        Ny: Number of cells along y.
        Nz: Number of cells along z.

    >>> wp.fem.utils.grid_to_tets(2, 1, 1).shape
    (10, 4)
    """
    hexes = grid_to_hexes(Nx, Ny, Nz)
    is_odd = np.indices((Nx, Ny, Nz)).sum(axis=0).ravel() % 2 == 1
    corners = np.where(is_odd[:, None, None], _MIRRORED[_TETRAHEDRA][:, [0, 1, 3, 2]], _TETRAHEDRA)
    return np.take_along_axis(hexes[:, None, :], corners, axis=2).reshape(-1, 4)


def _cells(kind: Element, *shape: int) -> np.ndarray:
    """The vertices of the cells of a grid, in the order of the reference cell."""
    if min(shape) < 1:
        raise ValueError(f"expected numbers of cells of 1 or more, got {list(shape)}")
    n = len(shape)
    strides = np.ravel_multi_index(tuple(np.eye(n, dtype=int)), [s + 1 for s in shape])
    first = np.indices(shape).reshape(n, -1).T @ strides
    return first[:, None] + (reference_cell(kind).vertices.astype(int) @ strides)[None]
