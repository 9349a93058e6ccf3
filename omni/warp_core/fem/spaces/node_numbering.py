"""Numbers of nodes: cells that share a vertex, an edge or a face share the nodes on it.

Where a node lies on its vertex, edge or face is told by the weights of the vertices there, which all cells that share
it agree on. Start with `shared_nodes`.
"""

from __future__ import annotations

import numpy as np

from ..geometries.cell_geometry import Geometry, grouped
from ..geometries.shape_functions import ShapeFunction


def separate_nodes(cell_count: int, shape: ShapeFunction) -> tuple[np.ndarray, int]:
    """The nodes of cells that share none, and how many there are: cells x nodes of a cell."""
    count = cell_count * shape.count
    return np.arange(count, dtype=np.int32).reshape(cell_count, shape.count), count


def shared_nodes(geometry: Geometry, shape: ShapeFunction) -> tuple[np.ndarray, int]:
    """The nodes of cells, and how many there are. Those at vertices come first and have the numbers of the vertices;
    those on edges, on faces and in cells follow.

    Raises:
        ValueError: The shape functions of neighbours do not agree on their common sides. Those that a program gives
            itself need not.
    """
    if not shape.is_own and not _fits_sides(shape):
        raise ValueError(
            f"cells that share nodes need shape functions with nodes on their sides, and {shape.key[2]} of degree "
            f"{shape.degree} has none: write discontinuous=True"
        )
    return numbered(geometry, shape)


def numbered(geometry: Geometry, shape: ShapeFunction) -> tuple[np.ndarray, int]:
    """The nodes of cells, and how many there are. Where none is at a vertex, vertices have no numbers."""
    weights = np.rint(shape.cell.vertex_weights(shape.nodes) * 1e6).astype(np.int64)
    vertices = geometry.cell_vertices.astype(np.int64)
    corners = (weights > 0).sum(axis=1)
    nodes = np.empty((len(vertices), shape.count), dtype=np.int64)
    count = geometry.vertex_count() if (corners == 1).any() else 0
    for number in np.unique(corners):
        at = np.flatnonzero(corners == number)
        picked = np.array([np.flatnonzero(weights[i] > 0) for i in at])
        owners = vertices[:, picked]
        if number == 1:
            nodes[:, at] = owners[:, :, 0]
            continue
        shares = np.broadcast_to(weights[at[:, None], picked], owners.shape)
        order = np.argsort(owners, axis=2)
        keys = np.concatenate([np.take_along_axis(a, order, axis=2) for a in (owners, shares)], axis=2)
        first, groups, _ = grouped(keys.reshape(-1, keys.shape[2]))
        nodes[:, at] = count + groups.reshape(len(vertices), len(at))
        count += len(first)
    return nodes.astype(np.int32), count


def _fits_sides(shape: ShapeFunction) -> bool:
    """True if the nodes on each side determine a function there."""
    for facet in shape.cell.facets:
        off = np.abs((shape.nodes - facet.origin) @ facet.normal) > 1e-9
        inner = facet.origin + np.full(len(facet.tangents), 0.3) @ facet.tangents
        if np.abs(shape.values(inner[None])[0][off]).max(initial=0.0) > 1e-9:
            return False
    return True
