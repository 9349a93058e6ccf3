"""Triangles that share edges, against a dictionary of edges in Python."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

import omni.warp_core as wp


def expected(triangles):
    """Return the triangle beyond each side and its side, or -1."""
    places = {}
    for t, corners in enumerate(triangles):
        for j in range(3):
            places.setdefault(frozenset((corners[(j + 1) % 3], corners[(j + 2) % 3])), []).append((t, j))
    neighbors, sides = -np.ones((2, len(triangles), 3), int)
    for here, there in (p for p in places.values() if len(p) == 2):
        (neighbors[here], sides[here]), (neighbors[there], sides[there]) = there, here
    return neighbors, sides


def delaunay(n, seed=1):
    return Delaunay(np.random.default_rng(seed).uniform(size=(n, 2))).simplices.tolist()


def turned(triangles, seed=2):
    """Return the triangles in another order, some of them the other way round."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(triangles[i]).tolist() for i in rng.permutation(len(triangles))]


TETRAHEDRON = [(0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)]
MESHES = {
    "none": np.zeros((0, 3), int),
    "one": [(7, 3, 5)],
    "tetrahedron": TETRAHEDRON,
    "twice": [(0, 1, 2), (2, 1, 0)],  # all three sides have the same neighbour
    "touching": [(0, 1, 2), (2, 3, 4)],  # in one point
    "plane": delaunay(400),
    "turned": turned(delaunay(300, 3)),
    "large numbers": [(2**31 - 1, 2**31 - 2, 0), (2**31 - 2, 2**31 - 1, 1)],
}


@pytest.mark.parametrize("name", MESHES)
def test_neighbors_are_those_of_a_dictionary(name, device):
    triangles = np.asarray(MESHES[name])
    indices = wp.array(triangles, dtype=int, device=device)
    neighbors, sides = wp.geometry.tri_tri_adjacency(indices)
    for found, judge in zip((neighbors, sides), expected(triangles.tolist())):
        assert found.shape == triangles.shape and found.device == indices.device
        np.testing.assert_array_equal(found.numpy(), judge)


def test_indices_of_a_mesh_and_neighbors_alone():
    flat = wp.array(np.ravel(TETRAHEDRON), dtype=int)
    neighbors = wp.geometry.tri_tri_adjacency(flat, vertex_count=4, return_neighbor_edge_indices=False)
    np.testing.assert_array_equal(neighbors.numpy(), expected(TETRAHEDRON)[0])


def test_indices_may_be_columns_of_an_array():
    wide = np.concatenate([TETRAHEDRON, np.full((4, 2), 9)], 1)
    columns = wp.array(wide, dtype=int)[:, :3]
    np.testing.assert_array_equal(wp.geometry.tri_tri_adjacency(columns)[0].numpy(), expected(TETRAHEDRON)[0])


@wp.kernel
def find_sides(neighbors: wp.array2d(dtype=int), sides: wp.array2d(dtype=int)):
    t, other = wp.tid()
    sides[t, other] = wp.geometry.find_triangle_neighbor_edge_index(neighbors, t, other)


def test_kernels_find_the_side_of_a_neighbor(device):
    triangles = delaunay(12)
    n = len(triangles)
    indices = wp.array(triangles, dtype=int, device=device)
    neighbors = wp.geometry.tri_tri_adjacency(indices, return_neighbor_edge_indices=False)
    sides = wp.zeros((n, n), dtype=int, device=device)
    wp.launch(find_sides, dim=(n, n), inputs=[neighbors, sides], device=device)
    rows = expected(triangles)[0].tolist()
    assert sides.numpy().tolist() == [[row.index(t) if t in row else -1 for t in range(n)] for row in rows]


@pytest.mark.parametrize(
    ("triangles", "points", "text"),
    [
        ([(0, 1, 2), (3, 4, 4)], None, r"triangle 1 has the points \[3, 4, 4\]; expected three different"),
        ([(0, 1, 2), (1, 0, 3), (4, 0, 1)], None, "triangles 0, 1 and 2 share an edge"),
        ([(0, 1, 2), (1, 2, -1)], None, "triangle 1 .* three different numbers not negative$"),
        (
            [(0, 1, 2), (1, 2, 3)],
            3,
            r"triangle 1 has the points \[1, 2, 3\]; expected three different numbers from 0 to 2",
        ),
        ([(0, 1)], None, r"shape \(n, 3\), got \(1, 2\)"),
    ],
)
def test_wrong_meshes_are_errors_that_name_the_triangle(triangles, points, text):
    with pytest.raises(ValueError, match=text):
        wp.geometry.tri_tri_adjacency(wp.array(triangles, dtype=int), points)


def test_other_arguments_are_errors():
    with pytest.raises(TypeError, match="int32, got float32"):
        wp.geometry.tri_tri_adjacency(wp.zeros((2, 3), dtype=float))
    with pytest.raises(TypeError, match="vertex_count"):
        wp.geometry.tri_tri_adjacency(wp.array(TETRAHEDRON, dtype=int), 1.5)
    with pytest.raises(RuntimeError, match="tri_tri_adjacency"), wp.ScopedCapture():
        wp.geometry.tri_tri_adjacency(wp.array(TETRAHEDRON, dtype=int))
