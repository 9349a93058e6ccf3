"""Marching cubes against scikit-image, topology that NumPy computes from the signs alone, and analytic shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial import cKDTree
from skimage import measure

import omni.warp_core as wp
from omni.warp_core import _native as native
from tests.geometry.surfaces import area, check_closed, euler, noise, sphere, torus, volume
from tests.on_gpu import MODE

CORNERS = np.array(wp.MarchingCubes.CUBE_CORNER_OFFSETS)


def surface(field, threshold=0.0, **bounds) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices, and triangles of three indices."""
    vertices, indices = wp.MarchingCubes.extract(wp.array(np.asarray(field), dtype=float), threshold, **bounds)
    return vertices.numpy(), indices.numpy().reshape(-1, 3)


def euler_of_signs(above) -> int:
    """The same of the boundary of the solid that contains the nodes above, which do not touch the sides of the grid.

    It is twice that of the solid, a sum over nodes, edges, faces and cells. In a cell the parts below are counted.
    Corners below are connected along edges and across faces, and the solid fills the cell around them.
    """
    count = above.sum()
    for axis in range(3):
        count -= (ndimage.minimum_filter(above, [2 if i == axis else 1 for i in range(3)])).sum()
        count += (ndimage.minimum_filter(above, [1 if i == axis else 2 for i in range(3)])).sum()
    adjacent = ndimage.generate_binary_structure(3, 2)
    for cell in np.lib.stride_tricks.sliding_window_view(above, (2, 2, 2)).reshape(-1, 2, 2, 2):
        count += ndimage.label(~cell, adjacent)[1] - 1
    return 2 * int(count)


def distance(a, b) -> float:
    """How far a point of one set is from the other set at most."""
    return max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max())


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_table_uses_the_edges_whose_ends_differ():
    cubes = wp.MarchingCubes
    for case in range(256):
        above = [case >> corner & 1 for corner in range(8)]
        cut = {edge for edge, (a, b) in enumerate(cubes.EDGE_TO_CORNERS) if above[a] != above[b]}
        begin, end = cubes.CASE_TO_TRI_RANGE[case : case + 2]
        assert set(cubes.TRI_LOCAL_INDICES[begin:end]) == cut


def test_the_tables_have_the_sizes_of_other_implementations():
    cubes = wp.MarchingCubes
    assert cubes.CUBE_CORNER_OFFSETS[6] == (1, 1, 1) and cubes.EDGE_TO_CORNERS[8] == (0, 4)
    assert len(cubes.CASE_TO_TRI_RANGE) == 257 and cubes.CASE_TO_TRI_RANGE[:4] == (0, 0, 3, 6)
    assert len(cubes.TRI_LOCAL_INDICES) == cubes.CASE_TO_TRI_RANGE[256] == 2460


def test_every_case_is_a_closed_surface_in_a_larger_grid():
    for case in range(256):
        field = np.full((4, 4, 4), -1.0, np.float32)
        field[tuple((CORNERS + 1).T)] = [1.0 if case >> i & 1 else -1.0 for i in range(8)]
        found = surface(field)
        check_closed(*found)
        assert euler(*found) == euler_of_signs(field >= 0)


# -- topology ----------------------------------------------------------------------------------------------------------


@given(st.tuples(*[st.integers(1, 5)] * 2, st.sampled_from([1, 2, 5, 30, 31, 32, 63])), st.integers(0, 2**32 - 1))
def test_random_fields_have_closed_surfaces(shape, seed):
    """Values are small integers, so that many are exactly at the threshold."""
    values = np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)
    field = np.pad(values, 1, constant_values=-1)
    found = surface(field)
    check_closed(*found)
    assert euler(*found) == euler_of_signs(field >= 0)


@pytest.mark.parametrize(
    "name, field, characteristic",
    [
        ("sphere", sphere(), 2),
        ("torus", torus(), 0),
        ("two spheres", np.concatenate([sphere(), sphere()]), 4),
        ("a sphere in another", np.abs(sphere()) - 0.1, 4),
    ],
)
def test_known_topology(name, field, characteristic):
    found = surface(field)
    check_closed(*found)
    assert euler(*found) == characteristic


def test_triangles_face_greater_values():
    assert volume(*surface(sphere())) > 0 > volume(*surface(-sphere()))


# -- positions ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")  # by scikit-image
@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 33), (9, 2, 64), (11, 12, 65), (3, 40, 32)])
@pytest.mark.parametrize("smooth", [0.0, 1.5])
def test_vertices_agree_with_scikit_image(shape, smooth):
    field = noise(shape, 3, smooth)
    level = float(np.median(field)) + 1e-4
    vertices, triangles = surface(field, level)
    expected = measure.marching_cubes(field, level, method="lorensen", allow_degenerate=True)
    assert len(vertices) == len(expected[0]) > 0
    assert distance(vertices, expected[0]) < 1e-4
    if smooth:
        assert area(vertices, triangles) == pytest.approx(area(expected[0], expected[1]), rel=0.02)


@pytest.mark.parametrize("n, tolerance", [(24, 0.02), (48, 0.005)])
def test_areas_and_volumes_of_known_shapes(n, tolerance):
    bounds = {"lower": (-1, -1, -1), "upper": (1, 1, 1)}
    ball = surface(sphere((n, n + 5, n - 3)), **bounds)
    assert volume(*ball) == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=tolerance)
    assert area(*ball) == pytest.approx(4 * np.pi * 0.7**2, rel=tolerance)
    ring = surface(torus(n), **bounds)
    assert volume(*ring) == pytest.approx(2 * np.pi**2 * 0.6 * 0.25**2, rel=4 * tolerance)
    assert area(*ring) == pytest.approx(4 * np.pi**2 * 0.6 * 0.25, rel=4 * tolerance)


def test_a_vertex_lies_at_the_node_whose_value_is_the_threshold():
    field = np.zeros((3, 3, 3), np.float32)
    field[1, 1, 1] = 2.0
    vertices, triangles = surface(field, 2.0)
    assert vertices.tolist() == [[1, 1, 1]] * 6 and len(triangles) == 8
    check_closed(vertices, triangles)
    assert [len(x) for x in surface(field, 2.0001)] == [0, 0]


@pytest.mark.parametrize("value", [0.0, 1.0, 3.0])
def test_constant_fields_have_no_surface(value):
    vertices, triangles = surface(np.full((4, 5, 6), value, np.float32), 1.0)
    assert vertices.shape == (0, 3) and triangles.shape == (0, 3)


def test_bounds_scale_positions():
    field = noise((4, 5, 6))
    plain, triangles = surface(field)
    scaled, same = surface(field, lower=wp.vec3(-1.0, 0.0, 2.0), upper=(5.0, 2.0, 2.5))
    assert np.allclose(scaled, plain * [2, 0.5, 0.1] + [-1, 0, 2], atol=1e-6)
    assert np.array_equal(triangles, same)


def test_fields_may_have_any_strides():
    field = wp.array(noise((6, 8, 70)), dtype=float)
    view = field.transpose((2, 0, 1))[::2, 1:, 1:]
    vertices, indices = wp.MarchingCubes.extract(view)
    expected, triangles = surface(np.ascontiguousarray(view.numpy()))
    assert np.array_equal(vertices.numpy(), expected) and np.array_equal(indices.numpy(), triangles.ravel())


# -- values that are not finite ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.01, 0.3, 1.0])
def test_cells_with_nan_are_left_out(part):
    field = noise((7, 8, 40), 5)
    field[np.random.default_rng(6).random(field.shape) < part] = np.nan
    vertices, triangles = surface(field)
    assert np.isfinite(vertices).all()
    assert set(triangles.ravel().tolist()) == set(range(len(vertices)))
    cells = np.floor(vertices[triangles].mean(axis=1)).astype(int)
    assert not any(np.isnan(field[tuple((CORNERS + cell).T)]).any() for cell in cells)
    whole = [1 for cell in np.ndindex(6, 7, 39) if _is_cut(field[tuple((CORNERS + cell).T)])]
    assert len({tuple(cell) for cell in cells.tolist()}) == len(whole)


def _is_cut(corners) -> bool:
    return not np.isnan(corners).any() and (corners >= 0).any() and (corners < 0).any()


def test_vertices_beside_infinite_values_lie_at_finite_ones():
    field = np.full((2, 2, 3), -np.inf, np.float32)
    field[:, :, 1], field[:, :, 2] = -1.0, np.inf
    assert {*surface(field)[0][:, 2].tolist()} == {1.0}
    field[:, :, 1] = np.inf
    assert {*surface(field)[0][:, 2].tolist()} == {0.5}
    field[:, :, 1] = 1.0
    assert {*surface(field)[0][:, 2].tolist()} == {1.0}


def test_values_whose_difference_overflows():
    field = np.full((2, 2, 2), -3e38, np.float32)
    field[1] = 3e38
    assert {*surface(field)[0][:, 0].tolist()} == {0.5}


# -- how it runs -------------------------------------------------------------------------------------------------------


def test_results_do_not_depend_on_threads():
    field, before, results = noise((20, 21, 70), 7), native.get_num_threads(), set()
    for count in (1, 2, 7):
        native.set_num_threads(count)
        vertices, triangles = surface(field)
        results.add((vertices.tobytes(), triangles.tobytes()))
    native.set_num_threads(before)
    assert len(results) == 1


@pytest.mark.parametrize("mode", ["debug", "interpret"])
def test_other_modes_find_the_same(mode, monkeypatch):
    field = noise((3, 3, 34), 8)
    expected = surface(field)
    monkeypatch.setattr(wp.config, "mode", mode)
    assert all(map(np.array_equal, surface(field), expected))


def test_a_capture_refuses_results_of_unknown_size():
    field = wp.array(sphere((6, 6, 6)), dtype=float)
    with pytest.raises(RuntimeError, match="sizes depend on the field"), wp.ScopedCapture():
        wp.MarchingCubes.extract(field)
    assert wp.MarchingCubes.extract(field)[0].size > 0


def test_a_graph_fills_the_room_of_an_object():
    cubes, field = wp.MarchingCubes(8, 9, 40, max_verts=2000, max_tris=3000), wp.zeros((8, 9, 40), dtype=float)
    with wp.ScopedCapture() as capture:
        cubes.surface(field, 0.1)
    big = noise((8, 9, 40))
    for values in (sphere((8, 9, 40)), big, -np.ones((8, 9, 40)), sphere((8, 9, 40), 0.5)):
        field.assign(values)
        wp.capture_launch(capture.graph)
        vertices, triangles = surface(values, 0.1)
        needed = [len(vertices), triangles.size]
        assert cubes.sizes.list() == needed
        fits = values is not big
        assert fits == (len(vertices) <= 2000 and len(triangles) <= 3000)
        got = cubes.indices.numpy(), cubes.verts.numpy()
        assert got[0].shape == (9000,) and got[1].shape == (2000, 3)
        assert not got[0][needed[1] if fits else 0 :].any() and not got[1][needed[0] :].any()
        if fits:
            assert np.array_equal(got[0][: needed[1]], triangles.ravel())
            assert np.array_equal(got[1][: needed[0]], vertices)


@pytest.mark.parametrize("room", [(100000, 5), (5, 100000), (5, 5)])
def test_without_room_a_graph_writes_no_triangles(room):
    values = noise((8, 9, 40))
    cubes, field = wp.MarchingCubes(8, 9, 40, max_verts=room[0], max_tris=room[1]), wp.array(values, dtype=float)
    with wp.ScopedCapture() as capture:
        cubes.surface(field, 0.1)
    wp.capture_launch(capture.graph)
    vertices, triangles = surface(values, 0.1)
    assert cubes.sizes.list() == [len(vertices), triangles.size]
    assert not cubes.indices.numpy().any()


def test_an_object_keeps_the_last_surface():
    cubes = wp.MarchingCubes(6, 7, 8, max_verts=10, max_tris=10)
    assert cubes.verts is None and cubes.indices is None
    cubes.surface(wp.array(sphere((6, 7, 8)), dtype=float), 0.1)
    expected, triangles = surface(sphere((6, 7, 8)), 0.1)
    assert np.array_equal(cubes.verts.numpy(), expected) and np.array_equal(cubes.indices.numpy(), triangles.ravel())
    with pytest.raises(ValueError, match=r"expected shape \(6, 7, 8\), got \(6, 7, 9\); see resize"):
        cubes.surface(wp.zeros((6, 7, 9), dtype=float), 0.0)
    cubes.resize(6, 7, 9)
    cubes.surface(wp.zeros((6, 7, 9), dtype=float), 0.5)
    assert (cubes.nx, cubes.ny, cubes.nz, cubes.verts.size, cubes.indices.size) == (6, 7, 9, 0, 0)


def test_the_bounds_of_an_object_have_two_names():
    cubes = wp.MarchingCubes(4, 4, 4, domain_bounds_lower_corner=(0, 0, 0), domain_bounds_upper_corner=(1, 1, 1))
    assert cubes.lower == (0, 0, 0) and cubes.upper == cubes.domain_bounds_upper_corner == (1, 1, 1)
    cubes.domain_bounds_upper_corner = wp.vec3(6.0, 6.0, 6.0)
    cubes.surface(wp.array(sphere((4, 4, 4)), dtype=float), 0.0)
    field = wp.array(sphere((4, 4, 4)), dtype=float)
    expected, _ = wp.MarchingCubes.extract_surface_marching_cubes(field, 0.0, (0, 0, 0), (6, 6, 6))
    assert np.array_equal(cubes.verts.numpy(), expected.numpy())


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda f: wp.MarchingCubes.extract(f.numpy()), TypeError, "field: expected an array, got ndarray"),
        (lambda f: wp.MarchingCubes.extract(f.flatten()), ValueError, "three dimensions of at least two nodes"),
        (lambda f: wp.MarchingCubes.extract(f[:1]), ValueError, r"two nodes each, got shape \(1, 4, 4\)"),
        (
            lambda f: wp.MarchingCubes.extract(wp.zeros((2, 2, 2), dtype=wp.float64)),
            TypeError,
            "field: expected elements of float32, got float64",
        ),
        (lambda f: wp.MarchingCubes.extract(f, np.nan), ValueError, "threshold: expected a finite number"),
        (lambda f: wp.MarchingCubes.extract(f, "0"), TypeError, "threshold: expected a number, got '0'"),
        (lambda f: wp.MarchingCubes.extract(f, 1e39), ValueError, "threshold: expected a finite number"),
        (lambda f: wp.MarchingCubes.extract(f, lower="123"), TypeError, "lower: expected three numbers, got '1'"),
        (
            lambda f: wp.MarchingCubes.extract(f, lower=(0, 0, np.inf)),
            ValueError,
            "lower: expected three finite numbers",
        ),
        (lambda f: wp.MarchingCubes.extract(f, lower=(0, 0)), ValueError, "lower: expected three finite numbers"),
        (lambda f: wp.MarchingCubes.extract(f, upper=3), TypeError, "upper: expected three numbers, got 3"),
        (lambda f: wp.MarchingCubes(4, 0, 4), ValueError, "ny: expected at least one node, got 0"),
        (lambda f: wp.MarchingCubes(4, 4, 4.0), TypeError, "nz: expected an integer, got float"),
        (lambda f: wp.MarchingCubes(4, 4, 4, 1000), TypeError, "lower: expected three numbers, got 1000"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(wp.zeros((4, 4, 4), dtype=float))


@pytest.mark.skipif(MODE == "", reason="needs a GPU")
def test_fields_on_another_device():
    cubes = wp.MarchingCubes(3, 3, 3, device="cuda:0")
    with pytest.raises(ValueError, match=r"is on cpu, but this MarchingCubes is for fields on cuda:0"):
        cubes.surface(wp.zeros((3, 3, 3), dtype=float, device="cpu"), 0.0)
    field = noise((12, 13, 70))
    there, here = (wp.MarchingCubes.extract(wp.array(field, dtype=float, device=d)) for d in ("cuda:0", "cpu"))
    assert [a.device for a in there] == [cubes.device] * 2
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(there, here, strict=True))


@pytest.mark.skipif(MODE == "", reason="needs a GPU")
def test_a_capture_on_a_gpu_leaves_fields_of_the_cpu_alone():
    cubes, field = wp.MarchingCubes(8, 8, 8, max_verts=9, max_tris=9), wp.array(sphere((8, 8, 8)), device="cpu")
    with wp.ScopedCapture(device="cuda:0"):
        cubes.surface(field, 0.0)
    assert np.array_equal(cubes.indices.numpy(), surface(sphere((8, 8, 8)))[1].ravel())


# -- derivatives -------------------------------------------------------------------------------------------------------


def exact_positions(field, edges, threshold) -> np.ndarray:
    """Vertices in float64 on given edges: a node and an axis each."""
    node, axis = edges
    step = np.eye(3, dtype=int)[axis]
    a, b = field[tuple(node.T)], field[tuple((node + step).T)]
    return node + step * ((threshold - a) / (b - a))[:, None]


def edges_of(vertices) -> tuple[np.ndarray, np.ndarray]:
    """Return the node and the axis of the edge of each vertex; none may lie at a node."""
    assert ((vertices != np.floor(vertices)).sum(axis=1) == 1).all()
    return np.floor(vertices).astype(int), (vertices != np.floor(vertices)).argmax(axis=1)


def test_vertices_have_gradients_of_the_field():
    values, h = noise((4, 5, 6)), 1e-6
    field = wp.array(values, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        vertices, _ = wp.MarchingCubes.extract(field, 0.1, upper=(6, 4, 5))
    weights = noise((vertices.size, 3), 2)
    tape.backward(grads={vertices: wp.array(weights, dtype=wp.vec3)})
    edges, exact = edges_of(vertices.numpy() / [2, 1, 1]), values.astype(float)
    differences = np.zeros_like(exact)
    for node in np.ndindex(values.shape):
        both = []
        for sign in (h, -h):
            moved = exact.copy()
            moved[node] += sign
            both.append((exact_positions(moved, edges, np.float32(0.1)) * [2, 1, 1] * weights).sum())
        differences[node] = (both[0] - both[1]) / (2 * h)
    assert np.abs(differences).max() > 1
    assert np.allclose(field.grad.numpy(), differences, rtol=1e-4, atol=1e-4)


def test_vertices_have_tangents():
    values, direction, h = noise((4, 5, 6)), noise((4, 5, 6), 4), 1e-6
    arrays = [wp.array(x, dtype=float) for x in (values, direction)]
    vertices, tangent = wp.jvp(lambda f: wp.MarchingCubes.extract(f, 0.1)[0], (arrays[0],), (arrays[1],))
    edges = edges_of(vertices.numpy())
    ends = [exact_positions(values + sign * direction.astype(float), edges, np.float32(0.1)) for sign in (h, -h)]
    assert np.allclose(tangent.numpy(), (ends[0] - ends[1]) / (2 * h), rtol=1e-4, atol=1e-4)


def test_gradients_beside_infinite_values_are_zero():
    values = np.full((2, 2, 3), -np.inf, np.float32)
    values[:, :, 1], values[:, :, 2] = -1.0, np.inf
    field = wp.array(values, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        vertices, _ = wp.MarchingCubes.extract(field)
    tape.backward(grads={vertices: wp.ones_like(vertices)})
    assert vertices.size == 4 and not field.grad.numpy().any()


def test_gradients_of_a_field_that_changes_later():
    values, found = noise((4, 5, 6)), []
    for change in (False, True):
        field = wp.array(values, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            vertices, _ = wp.MarchingCubes.extract(field)
            if change:
                field.fill_(3.0)
        tape.backward(grads={vertices: wp.ones_like(vertices)})
        found.append(field.grad.numpy())
    assert np.array_equal(*found) and found[0].any()


def test_a_tape_takes_an_empty_surface():
    field = wp.zeros((4, 4, 4), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        vertices, _ = wp.MarchingCubes.extract(field, 1.0)
    tape.backward(grads={vertices: wp.ones_like(vertices)})
    assert vertices.size == 0 and not field.grad.numpy().any()
