"""Cells between nodes, for pictures: they fill the geometry, and have its nodes as vertices."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry

PLANE, SPACE = ("Grid2D", "Trimesh2D", "Quadmesh2D"), ("Grid3D", "Tetmesh", "Hexmesh")


def sizes_of(simplices, positions):
    corners = np.asarray(positions)[simplices]
    edges = corners[:, 1:] - corners[:, :1]
    return np.abs(np.linalg.det(edges)) / math.factorial(edges.shape[1])


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("name", PLANE + SPACE)
def test_simplices_fill_the_geometry(name, degree):
    space = fem.make_polynomial_space(geometry(name, amount=0.0), degree=degree)
    found = space.node_triangulation() if name in PLANE else space.node_tets()
    sizes = sizes_of(found, space.node_positions())
    assert sizes.sum() == pytest.approx(1.0, rel=1e-9)
    assert sizes.min() > 0.0
    assert set(found.ravel()) == set(range(space.node_count()))


@pytest.mark.parametrize("name", PLANE + SPACE)
def test_neighbours_cut_a_side_alike(name):
    """Each side of a simplex is that of two, or on the boundary of the unit square or cube."""
    space = fem.make_polynomial_space(geometry(name, amount=0.0), degree=2)
    found, at = space.node_triangulation() if name in PLANE else space.node_tets(), np.asarray(space.node_positions())
    sides: dict = {}
    for simplex in np.sort(found, axis=1).tolist():
        for left_out in range(len(simplex)):
            key = tuple(simplex[:left_out] + simplex[left_out + 1 :])
            sides[key] = sides.get(key, 0) + 1
    if name in ("Grid3D", "Hexmesh", "Grid2D", "Trimesh2D"):
        for key, count in sides.items():
            is_outside = any((np.ptp(at[list(key)], axis=0) < 1e-9) & np.isin(np.round(at[key[0]], 9), (0.0, 1.0)))
            assert count == (1 if is_outside else 2)


def test_vtk_cells_are_those_of_warp_for_degree_1():
    """Lists that warp-lang 1.19 gives."""
    cells, kinds = fem.make_polynomial_space(fem.Grid2D(res=(2, 1))).vtk_cells()
    assert (cells.tolist(), kinds.tolist()) == ([4, 0, 2, 3, 1, 4, 2, 4, 5, 3], [9, 9])
    cells, kinds = fem.make_polynomial_space(fem.Grid3D(res=(1, 1, 1))).vtk_cells()
    assert (cells.tolist(), kinds.tolist()) == ([8, 0, 4, 6, 2, 1, 5, 7, 3], [12])
    corners = wp.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], dtype=wp.vec2)
    cells, kinds = fem.make_polynomial_space(fem.Trimesh2D(wp.array([(0, 1, 2)], dtype=int), corners)).vtk_cells()
    assert (sorted(cells[1:].tolist()), cells[0], kinds.tolist()) == ([0, 1, 2], 3, [5])


def test_nodes_of_grids_are_arrays():
    """Numbers that warp-lang 1.19 gives."""
    x, y = fem.make_polynomial_space(fem.Grid2D(res=(2, 1)), degree=2).node_grid()
    np.testing.assert_array_equal(x, np.repeat([[0.0], [0.25], [0.5], [0.75], [1.0]], 3, axis=1))
    np.testing.assert_array_equal(y, np.tile([0.0, 0.5, 1.0], (5, 1)))
    topology = fem.make_polynomial_space(fem.Grid2D(res=(2, 1))).topology
    assert topology.element_node_indices().numpy().tolist() == [[0, 1, 2, 3], [2, 3, 4, 5]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fem.make_polynomial_space(fem.Grid2D(res=(2, 1)), degree=0).vtk_cells(), "lie on no lattice"),
        (lambda: fem.make_polynomial_space(fem.Grid2D(res=(2, 1))).node_tets(), "have 2 dimensions, not 3"),
        (lambda: fem.make_polynomial_space(geometry("Tetmesh")).node_grid(), "node_grid: the nodes lie on no grid"),
        (lambda: fem.make_polynomial_space(fem.Grid2D(res=(2, 1), env_count=2)).node_grid(), "one grid"),
    ],
)
def test_what_has_no_cells_between_nodes_is_told(call, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        call()
