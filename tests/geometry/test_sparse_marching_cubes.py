"""Marching cubes on lists of cells and on octrees: the dense method, octrees in NumPy, differences in float64."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import omni.warp_core as wp
from tests.geometry.surfaces import check_closed, euler, noise

from_cells = wp.geometry.sparse_marching_cubes_from_cells
CORNERS = np.array(wp.MarchingCubes.CUBE_CORNER_OFFSETS)
EDGES = wp.MarchingCubes.EDGE_TO_CORNERS


def arrays(found) -> tuple[np.ndarray, np.ndarray]:
    return found[0].numpy(), found[1].numpy().reshape(-1, 3)


def same_surface(a, b) -> bool:
    """True if two surfaces have the same vertices and triangles, in any order and but for rounding."""
    (vertices, triangles), (others, other_triangles) = a, b
    if not len(vertices) == len(others) > 5:
        return False
    away, numbers = cKDTree(others).query(vertices)
    assert len(set(numbers.tolist())) == len(others)
    return away.max() < 1e-5 and as_set(numbers[triangles]) == as_set(other_triangles)


def as_set(triangles) -> set:
    """Triangles that begin with their least vertex."""
    turned = np.take_along_axis(triangles, (triangles.argmin(1)[:, None] + np.arange(3)) % 3, 1)
    found = set(map(tuple, turned.tolist()))
    assert len(turned) == len(found)
    return found


def cells_of(field) -> tuple[np.ndarray, np.ndarray]:
    """All cells of a field in a random order, and the values at their corners."""
    cells = np.array(list(np.ndindex(*(n - 1 for n in field.shape))), np.int32)
    cells = np.random.default_rng(3).permutation(cells)
    return cells, field[tuple(np.moveaxis(cells[:, None] + CORNERS, -1, 0))]


@wp.kernel
def ball_kernel(p: wp.array(dtype=wp.vec3), radius: wp.array(dtype=float), d: wp.array(dtype=float)):
    i = wp.tid()
    d[i] = wp.length(p[i]) - radius[0]


def ball(radius: wp.array):
    """The distance to a ball, as a function of arrays."""

    def distance(p):
        d = wp.empty(p.size, dtype=float, device=p.device, requires_grad=radius.requires_grad)
        wp.launch(ball_kernel, dim=p.size, inputs=[p, radius, d], device=p.device)
        return d

    return distance


def on_host(f):
    """A function of NumPy arrays as one of arrays."""
    return lambda p: wp.array(f(p.numpy().astype(float)), dtype=float, device=p.device)


# -- lists of cells ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.0, 0.05])
def test_all_cells_of_a_field_have_the_surface_of_the_field(part, device):
    field = noise((6, 7, 8), 2)
    field[np.random.default_rng(1).random(field.shape) < part] = np.nan
    dense = arrays(wp.MarchingCubes.extract(wp.array(field, dtype=float, device=device), 0.1))
    cells, values = cells_of(field)
    found = arrays(from_cells(cells, values, threshold=0.1, device=device))
    assert same_surface(found, dense)


def test_cells_may_lie_anywhere_and_be_large():
    cells, values = cells_of(noise((4, 5, 6), 3))
    plain, triangles = arrays(from_cells(cells, values))
    by = np.array([-(2**20), 0, 70])
    moved, same = arrays(from_cells(cells + by, values, origin=(3.0, -1.0, 0.5), cell_width=0.25))
    assert np.allclose(moved, 0.25 * (plain + by) + [3.0, -1.0, 0.5], rtol=1e-7, atol=1e-5)
    assert np.array_equal(triangles, same)


def test_far_cells_are_apart():
    corner = [1.0, *[-1.0] * 7]
    vertices, triangles = arrays(from_cells([(-(2**20), 0, 0), (2**20, 5, 9)], [corner] * 2))
    assert len(vertices) == 6 and triangles.tolist() == [[0, 2, 1], [3, 5, 4]]
    with pytest.raises(ValueError, match=r"subscripts from \[-2147483648, 0, 0\] to .* too far apart"):
        from_cells([(-(2**31), 0, 0), (2**30, 2**30, 2**30)], [corner] * 2)


def test_arrays_of_every_kind_are_cells(device):
    cells, values = cells_of(noise((3, 4, 5), 4))
    expected = arrays(from_cells(cells.tolist(), values.tolist(), device=device))
    wide = wp.array(np.concatenate([cells, cells], 1), dtype=int, device=device)
    for given in (
        wp.array(cells, dtype=wp.vec3i, device=device),
        wp.array(cells, dtype=int, device=device),
        wide[:, 3:],
        cells.astype(np.int64),
    ):
        found = from_cells(given, wp.array(values, dtype=float, device=device))
        assert found[0].device == wp.get_device(device)
        assert all(map(np.array_equal, arrays(found), expected))


@pytest.mark.parametrize("value", [-1.0, 1.0, np.nan])
def test_cells_without_a_surface(value):
    for cells in ([], [(0, 0, 0), (5, 1, 2)]):
        vertices, indices = from_cells(cells, np.full((len(cells), 8), value))
        assert vertices.shape == indices.shape == (0,)


# -- octrees -----------------------------------------------------------------------------------------------------------


def reference_octree(f, origin, width, depth, threshold, bound) -> set:
    """The leaves that a test of centres in float64 keeps."""
    cells = np.zeros((1, 3), int)
    for d in range(depth + 1):
        h = width / 2**d
        near = np.abs(f(origin + (cells + 0.5) * h) - threshold) <= bound * np.sqrt(3) / 2 * h
        cells = cells[near]
        if d < depth:
            cells = (2 * cells[:, None] + CORNERS).reshape(-1, 3)
    return set(map(tuple, cells.tolist()))


def waves(p):
    return 0.2 * np.sin(3.1 * p[:, 0]) + 0.17 * np.cos(2.7 * p[:, 1]) + 0.3 * p[:, 2]


@pytest.mark.parametrize(
    "f, bound", [(lambda p: np.linalg.norm(p, axis=1) - 0.613, 1.0), (waves, 0.9), (lambda p: p[:, 2] - 0.41, 1.0)]
)
def test_octrees_have_the_cells_of_a_test_in_float64(f, bound, device):
    origin = np.array([-1.0, -0.9, -1.05])
    cells, width = wp.geometry.lipschitz_octree(on_host(f), origin, 2.1, 4, 0.07, bound, device=device)
    found = [tuple(cell) for cell in cells.numpy().tolist()]
    assert width == 2.1 / 16 and len(found) == len(set(found)) > 100
    assert set(found) == reference_octree(f, origin, 2.1, 4, 0.07, bound)


def test_a_root_far_from_the_surface_has_no_leaves():
    far = on_host(lambda p: np.linalg.norm(p, axis=1) + 10.0)
    cells, width = wp.geometry.lipschitz_octree(far, (0, 0, 0), 1.0, 3)
    assert (cells.size, width, cells.dtype) == (0, 0.125, wp.vec3i)


def test_cells_whose_value_is_nan_are_kept():
    cells, _ = wp.geometry.lipschitz_octree(on_host(lambda p: np.full(len(p), np.nan)), (0, 0, 0), 1.0, 2)
    assert cells.size == 64


def test_deep_octrees_stay_small():
    plane = on_host(lambda p: p[:, 2] + p[:, 0] - 1.7e-3)
    cells, width = wp.geometry.lipschitz_octree(plane, (0, 0, 0), 1e-3, 3, lipschitz_bound=np.sqrt(2))
    assert width == 1e-3 / 8 and 0 < cells.size < 512
    point = on_host(lambda p: np.linalg.norm(p, axis=1))
    assert 0 < wp.geometry.lipschitz_octree(point, (0, 0, 0), 1.0, 18)[0].size < 300


# -- functions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(21, 17, 33), (9, 9, 9), (3, 40, 3)])
@pytest.mark.parametrize("f", [lambda p: np.linalg.norm(p, axis=1) - 0.613, waves], ids=["ball", "waves"])
def test_functions_have_the_surface_of_the_grid(shape, f):
    bounds = {"lower": (-1.0, -0.9, -1.05), "upper": (0.8, 0.7, 1.1)}
    lower, upper = (np.array(c, np.float32) for c in bounds.values())
    steps = ((upper.astype(float) - lower) / (np.array(shape) - 1)).astype(np.float32)
    nodes = lower + steps * np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).astype(np.float32)
    field = f(nodes.reshape(-1, 3).astype(float)).reshape(shape)
    dense = arrays(wp.MarchingCubes.extract(wp.array(field, dtype=float), 0.05, **bounds))
    *found, stats = wp.geometry.sparse_marching_cubes(on_host(f), *shape, threshold=0.05, return_stats=True, **bounds)
    assert same_surface(arrays(found), dense)
    assert stats["requested_ncells"] == tuple(n - 1 for n in shape)
    assert stats["leaf_cells"] <= np.prod(np.array(shape) - 1)


def test_a_fine_grid_asks_for_few_values(device):
    radius = wp.array([0.8], dtype=float, device=device)
    *found, stats = wp.geometry.sparse_marching_cubes(
        ball(radius), 129, 129, 129, lower=(-1, -1, -1), upper=(1, 1, 1), device=device, return_stats=True
    )
    vertices, triangles = arrays(found)
    check_closed(vertices, triangles)
    assert euler(vertices, triangles) == 2
    assert abs(np.linalg.norm(vertices, axis=1) - 0.8).max() < 2e-4
    assert stats["field_evaluations"] < 129**3 / 7


def test_a_grid_without_the_surface():
    found = wp.geometry.sparse_marching_cubes(on_host(lambda p: p[:, 0] + 50.0), 5, 6, 7)
    assert found[0].size == found[1].size == 0


# -- derivatives -------------------------------------------------------------------------------------------------------


def test_vertices_have_gradients_of_the_values_of_the_first_cell():
    cells, values = cells_of(noise((3, 4, 4), 5))
    given = wp.array(values, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        vertices, _ = from_cells(cells, given, origin=(1, 2, 3), cell_width=0.5)
    weights = noise((vertices.size, 3), 6)
    tape.backward(grads={vertices: wp.array(weights, dtype=wp.vec3)})
    places = {tuple(p): w for p, w in zip(np.round(vertices.numpy(), 4).tolist(), weights, strict=True)}
    expected, seen = np.zeros(values.shape), 0
    for cell, v, gradient in zip(cells, values.astype(float), expected, strict=True):
        for a, b in EDGES:
            if (v[a] >= 0) != (v[b] >= 0):
                step = CORNERS[b] - CORNERS[a]
                p = [1, 2, 3] + 0.5 * (cell + CORNERS[a] + step * v[a] / (v[a] - v[b]))
                w = places.pop(tuple(np.round(p.astype(np.float32), 4).tolist()), None)
                if w is not None:
                    slope = 0.5 * (w @ step) / (v[a] - v[b]) ** 2
                    gradient[a] -= slope * v[b]
                    gradient[b] += slope * v[a]
                    seen += 1
    assert seen > 40 and not places
    assert np.allclose(given.grad.numpy(), expected, rtol=1e-3, atol=1e-4)


def test_vertices_have_gradients_of_what_the_function_depends_on(device):
    radius = wp.array([0.7], dtype=float, requires_grad=True, device=device)
    bounds = {"lower": (-1, -1, -1), "upper": (1, 1, 1), "device": device}
    with wp.Tape() as tape:
        vertices, _ = wp.geometry.sparse_marching_cubes(ball(radius), 12, 12, 12, **bounds)
    tape.backward(grads={vertices: wp.array(vertices.numpy(), dtype=wp.vec3, device=device)})
    sums = []
    for r in (0.7 + 1e-3, 0.7 - 1e-3):
        moved = wp.geometry.sparse_marching_cubes(ball(wp.array([r], dtype=float, device=device)), 12, 12, 12, **bounds)
        assert moved[0].size == vertices.size
        sums.append((moved[0].numpy().astype(float) ** 2).sum() / 2)
    assert radius.grad.numpy()[0] == pytest.approx((sums[0] - sums[1]) / 2e-3, rel=1e-2)


# -- errors ------------------------------------------------------------------------------------------------------------


@wp.func
def one_point(p: wp.vec3) -> float:
    return wp.length(p)


plane = on_host(lambda p: p[:, 2])


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: from_cells([(0, 0)], [[0.0] * 8]), ValueError, r"cells: expected shape \(n, 3\), got \(1, 2\)"),
        (lambda: from_cells([(0, 0, 0)], [[0.0] * 7]), ValueError, r"corner_values: expected shape \(1, 8\)"),
        (lambda: from_cells([(0, 0, 0.5)], [[0.0] * 8]), TypeError, "cells: expected integers, got float64"),
        (lambda: from_cells([(0, 0, 2**31)], [[0.0] * 8]), ValueError, "does not fit into int32"),
        (lambda: from_cells([(0, 0, 2**31 - 1)], [[0.0] * 8]), ValueError, "too far apart"),
        (lambda: from_cells([], [], cell_width=0.0), ValueError, "cell_width: expected a positive number, got 0.0"),
        (lambda: from_cells([], [], origin=(0, 0)), ValueError, "origin: expected three finite numbers"),
        (lambda: from_cells(wp.zeros((1, 3), dtype=float), []), TypeError, "cells: expected elements of int32"),
        (lambda: wp.geometry.sparse_marching_cubes(plane, 1, 5, 5), ValueError, "at least two nodes in each"),
        (lambda: wp.geometry.sparse_marching_cubes(one_point, 5, 5, 5), TypeError, "got Function; launch a kernel"),
        (lambda: wp.geometry.sparse_marching_cubes(7, 5, 5, 5), TypeError, "expected a Python function .* got int"),
        (
            lambda: wp.geometry.sparse_marching_cubes(plane, 5, 5, 5, lipschitz_bound=-1.0),
            ValueError,
            "lipschitz_bound: must not be negative, got -1.0",
        ),
        (
            lambda: wp.geometry.sparse_marching_cubes(lambda p: p.numpy()[:, 0], 5, 5, 5),
            TypeError,
            "the result of field: expected an array, got ndarray",
        ),
        (
            lambda: wp.geometry.sparse_marching_cubes(lambda p: wp.zeros(3, dtype=float), 5, 5, 5),
            ValueError,
            r"the result of field: expected shape \(1,\)",
        ),
        (lambda: wp.geometry.lipschitz_octree(plane, (0, 0, 0), 0.0, 3), ValueError, "root_width: expected a positive"),
        (lambda: wp.geometry.lipschitz_octree(plane, (0, 0, 0), 1.0, 31), ValueError, "max_depth: got 31, but"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_capture_refuses_results_of_unknown_size():
    for call in (
        lambda: wp.geometry.sparse_marching_cubes(plane, 5, 5, 5),
        lambda: wp.geometry.lipschitz_octree(plane, (0, 0, 0), 1.0, 3),
        lambda: from_cells([], []),
    ):
        with pytest.raises(RuntimeError, match=r"wp\.geometry\..* while a graph is captured"), wp.ScopedCapture():
            call()
