"""Cells between the nodes of a space, for pictures and files: simplices, boxes, and cells of VTK.

The nodes of a reference cell lie on a lattice. Each cube of a lattice is cut into simplices along its diagonal, so
neighbours in a grid cut their common side alike. Start with `node_simplices`.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..geometries.shape_functions import ShapeFunction

_VTK_SIMPLICES, _VTK_BOXES = {2: 5, 3: 10}, {2: 9, 3: 12}  # numbers of VTK's kinds of cells, by dimension
_SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
_AROUND = {2: np.array(_SQUARE), 3: np.array([(*c, z) for z in (0, 1) for c in _SQUARE])}


def node_simplices(shape: ShapeFunction, cell_nodes: np.ndarray) -> np.ndarray:
    """Return the triangles or tetrahedra between nodes: simplices x vertices."""
    return cell_nodes[:, _simplices(shape)].reshape(-1, shape.nodes.shape[1] + 1)


def node_boxes(shape: ShapeFunction, cell_nodes: np.ndarray) -> np.ndarray:
    """Return the quadrilaterals or hexahedra between nodes, in the order of vertices of meshes: boxes x vertices."""
    numbers, dimension = _lattice(shape), shape.nodes.shape[1]
    corners = _AROUND[dimension]
    found = [[numbers[tuple(c + k)] for k in corners] for c in _cubes(shape.degree, dimension)]
    return cell_nodes[:, np.array(found)].reshape(-1, len(corners))


def vtk_cells_of(shape: ShapeFunction, cell_nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return cells as VTK lists them, each with the number of its vertices before them, and the kind of each."""
    kinds = _VTK_SIMPLICES if shape.cell.is_simplex else _VTK_BOXES
    found = (node_simplices if shape.cell.is_simplex else node_boxes)(shape, cell_nodes)
    counted = np.concatenate([np.full((len(found), 1), found.shape[1]), found], axis=1)
    return counted.astype(np.int64).ravel(), np.full(len(found), kinds[shape.nodes.shape[1]], dtype=np.int8)


def _lattice(shape: ShapeFunction) -> dict[tuple[int, ...], int]:
    """The node at each place of the lattice. Raises ValueError if nodes lie on no lattice, or there is one alone."""
    places = np.stack([np.unique(np.round(x, 9), return_inverse=True)[1].ravel() for x in shape.nodes.T], axis=1)
    found = {tuple(p): i for i, p in enumerate(places.tolist())}
    wanted = itertools.product(range(shape.degree + 1), repeat=places.shape[1])
    if shape.degree < 1 or set(found) != {p for p in wanted if not shape.cell.is_simplex or sum(p) <= shape.degree}:
        raise ValueError(
            f"the {shape.count} nodes of a cell lie on no lattice of {shape.degree} steps: interpolate the field to a "
            "space of fem.make_polynomial_space(geometry, degree=1), and draw this"
        )
    return found


def _cubes(steps: int, dimension: int) -> np.ndarray:
    return np.array(list(itertools.product(range(steps), repeat=dimension)))


def _simplices(shape: ShapeFunction) -> np.ndarray:
    """The nodes of a cell that each simplex has."""
    numbers, dimension, found = _lattice(shape), shape.nodes.shape[1], []
    for cube in _cubes(shape.degree, dimension):
        for axes in itertools.permutations(range(dimension)):
            steps = np.cumsum(np.eye(dimension, dtype=int)[list(axes)], axis=0)
            corners = cube + np.pad(steps, ((1, 0), (0, 0)))
            if shape.cell.is_simplex:
                # A simplex is that of falling coordinates, u >= v >= w, which diagonals of cubes do not leave.
                if (np.diff(corners, axis=1) > 0).any():
                    continue
                corners = corners - np.pad(corners, ((0, 0), (0, 1)))[:, 1:]
            found.append([numbers[tuple(c)] for c in corners.tolist()])
    return np.array(found)
