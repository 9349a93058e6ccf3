"""Surface nets: what makes a net one, known topology, analytic shapes, and means of crossings in float64."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omni.warp_core as wp
from omni.warp_core import _native as native
from tests.geometry.surfaces import area, check_closed, check_manifold, euler, noise, sphere, torus, volume

Nets = wp.geometry.IsoSurfaceNets
CORNERS = np.array(wp.MarchingCubes.CUBE_CORNER_OFFSETS)
EDGES = wp.MarchingCubes.EDGE_TO_CORNERS
SIZE = {"triangle": 3, "quad": 4}


def surface(field, threshold=0.0, topology="triangle", **bounds) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices, and faces of three or four indices."""
    field = wp.array(np.asarray(field), dtype=float)
    vertices, indices = Nets.extract(field, threshold, topology=topology, **bounds)
    return vertices.numpy(), indices.numpy().reshape(-1, SIZE[topology])


def crossings(field, cell) -> np.ndarray:
    """Where the edges of a cell are zero, in float64, relative to the cell."""
    values = field[tuple((CORNERS + cell).T)].astype(float)
    cut = [(a, b) for a, b in EDGES if (values[a] >= 0) != (values[b] >= 0)]
    part = [values[a] / (values[a] - values[b]) for a, b in cut]
    ends = [CORNERS[a] + t * (CORNERS[b] - CORNERS[a]) for t, (a, b) in zip(part, cut, strict=True)]
    return np.array(ends).reshape(-1, 3)


# -- topology ----------------------------------------------------------------------------------------------------------


@given(st.tuples(*[st.integers(1, 4)] * 2, st.sampled_from([1, 2, 5, 30, 31, 32, 63])), st.integers(0, 2**32 - 1))
def test_random_fields_have_closed_surfaces(shape, seed):
    """Values are small integers, so that many are exactly at the threshold."""
    values = np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)
    field = np.pad(values, 1, constant_values=-3)
    vertices, quads = surface(field, topology="quad")
    check_closed(vertices, quads)
    check_manifold(quads)
    above = field >= 0
    assert len(quads) == sum(np.count_nonzero(np.diff(above, axis=axis)) for axis in range(3))
    triangles = surface(field)
    check_closed(*triangles)
    assert euler(*triangles) == euler(vertices, quads)


def test_two_nodes_that_touch_across_a_face_have_surfaces_of_their_own():
    """Both lines of the face are in one loop on both sides. With one vertex each, an edge had four faces."""
    field = np.ones((4, 5, 5), np.float32)
    field[1, 1, 1] = field[1, 2, 2] = -1.0
    vertices, quads = surface(field[:3, :4, :4], topology="quad")
    check_closed(vertices, quads)
    assert (len(vertices), len(quads), euler(vertices, quads)) == (16, 12, 4)


@pytest.mark.parametrize("topology", SIZE)
@pytest.mark.parametrize(
    "name, field, characteristic",
    [
        ("sphere", sphere((20, 24, 40)), 2),
        ("torus", torus(30), 0),
        ("two spheres", np.concatenate([sphere((20, 20, 20)), sphere((20, 20, 20))]), 4),
        ("a sphere in another", np.abs(sphere((20, 20, 40))) - 0.15, 4),
    ],
)
def test_known_topology(name, field, characteristic, topology):
    found = surface(field, topology=topology)
    check_closed(*found)
    assert euler(*found) == characteristic


def test_faces_face_greater_values():
    field = sphere((14, 15, 16))
    assert volume(*surface(field)) > 0 > volume(*surface(-field))


def test_triangles_are_quads_cut_by_their_shorter_diagonal():
    field = noise((5, 6, 40), 3)
    vertices, quads = surface(field, topology="quad")
    same, triangles = surface(field)
    assert np.array_equal(vertices, same) and len(triangles) == 2 * len(quads)
    for quad, pair in zip(quads.tolist(), triangles.reshape(-1, 2, 3).tolist(), strict=True):
        sides = Counter(frozenset((t[i], t[i - 1])) for t in pair for i in range(3))
        (diagonal,) = [sorted(side) for side, n in sides.items() if n == 2]
        assert set(sides) - {frozenset(diagonal)} == {frozenset((quad[i], quad[i - 1])) for i in range(4)}
        other = sorted({*quad} - {*diagonal})
        lengths = [np.linalg.norm(np.diff(vertices[p].astype(float), axis=0)) for p in (diagonal, other)]
        assert lengths[0] <= lengths[1] * (1 + 1e-6)


# -- positions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 5, 40), (3, 9, 33)])
def test_vertices_are_means_of_crossings(shape):
    """A vertex of n quads is the mean of n crossings. So the sums of a cell agree, whatever loops it has."""
    field = np.pad(noise(shape, 4), 1, constant_values=-2.0)
    vertices, quads = surface(field, topology="quad")
    cells, degrees = np.floor(vertices).astype(int), np.bincount(quads.ravel())
    found = {}
    for cell, degree, p in zip(cells.tolist(), degrees, vertices.astype(float), strict=True):
        found.setdefault(tuple(cell), []).append((degree, p))
    assert sum(len(vs) > 1 for vs in found.values()) > 20
    for cell in np.ndindex(*(n - 1 for n in field.shape)):
        exact = crossings(field, cell) + np.array(cell)
        vs = found.get(cell, [])
        assert sum(n for n, _ in vs) == len(exact)
        if vs:
            assert np.allclose(sum(n * p for n, p in vs), exact.sum(0), atol=1e-4)


@pytest.mark.parametrize("n, tolerance", [(24, 0.03), (48, 0.008)])
def test_distances_areas_and_volumes_of_known_shapes(n, tolerance):
    bounds = {"lower": (-1, -1, -1), "upper": (1, 1, 1)}
    vertices, triangles = surface(sphere((n, n + 5, n - 3)), **bounds)
    assert abs(np.linalg.norm(vertices, axis=1) - 0.7).max() < 6 / n**2
    assert volume(vertices, triangles) == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=tolerance)
    assert area(vertices, triangles) == pytest.approx(4 * np.pi * 0.7**2, rel=tolerance)
    vertices, triangles = surface(torus(n), **bounds)
    x, y, z = vertices.astype(float).T
    assert abs(np.hypot(np.hypot(x, y) - 0.6, z) - 0.25).max() < 20 / n**2
    assert volume(vertices, triangles) == pytest.approx(2 * np.pi**2 * 0.6 * 0.25**2, rel=4 * tolerance)


def test_at_the_boundary_a_surface_ends_in_the_outermost_cells():
    field = np.mgrid[:3, :4, :5][0] - 1.25
    vertices, quads = surface(field, topology="quad", upper=(2.0, 6.0, 4.0))
    y, z = (a.ravel() for a in np.meshgrid([1.0, 3.0, 5.0], np.arange(4) + 0.5, indexing="ij"))
    assert np.allclose(vertices, np.stack([np.full(12, 1.25), y, z], 1)) and len(quads) == 6
    a, b, c, _ = np.moveaxis(vertices[quads], 1, 0)
    assert (np.cross(b - a, c - b)[:, 0] > 0).all()


@pytest.mark.parametrize("value", [0.0, 1.0, 3.0])
def test_constant_fields_have_no_surface(value):
    vertices, triangles = surface(np.full((4, 5, 6), value, np.float32), 1.0)
    assert vertices.shape == (0, 3) and triangles.shape == (0, 3)


@pytest.mark.parametrize("part", [0.01, 0.2, 1.0])
def test_cells_with_nan_are_left_out(part):
    field = noise((7, 8, 40), 5)
    field[np.random.default_rng(6).random(field.shape) < part] = np.nan
    vertices, quads = surface(field, topology="quad")
    assert np.isfinite(vertices).all()
    assert set(quads.ravel().tolist()) == set(range(len(vertices)))
    known = ~np.isnan(field)
    cells = np.lib.stride_tricks.sliding_window_view(known, (2, 2, 2)).all(axis=(3, 4, 5))
    assert all(cells[tuple(cell)] for cell in np.floor(vertices).astype(int))
    count = 0
    for axis in range(3):
        cut = np.diff((np.nan_to_num(field) >= 0).astype(int), axis=axis) != 0
        window = [1 if i == axis else 2 for i in range(3)]
        whole = np.lib.stride_tricks.sliding_window_view(cells, window).all(axis=(3, 4, 5))
        inner = tuple(slice(None) if i == axis else slice(1, -1) for i in range(3))
        count += (cut[inner] & whole).sum()
    assert len(quads) == count


def test_infinite_values_put_crossings_at_finite_ones():
    field = np.full((3, 3, 3), -np.inf, np.float32)
    field[1, 1, 1] = 1.0
    assert (surface(field)[0] == 1.0).all()
    field[1, 1, 1] = np.inf
    ends = {*surface(field)[0].ravel().tolist()}
    assert len(ends) == 2 and np.allclose(sorted(ends), [1 - 1 / 6, 1 + 1 / 6])


# -- how it runs -------------------------------------------------------------------------------------------------------


def test_results_do_not_depend_on_threads():
    field, before, results = noise((12, 13, 70), 7), native.get_num_threads(), set()
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
    found = surface(field)
    assert np.allclose(found[0], expected[0], atol=1e-6) and np.array_equal(found[1], expected[1])


@pytest.mark.parametrize("topology", SIZE)
def test_a_graph_fills_the_room_of_an_object(topology, device):
    nets = Nets(8, 9, 40, topology=topology, max_verts=1500, max_tris=3000, device=device)
    field = wp.zeros((8, 9, 40), dtype=float, device=device)
    with wp.ScopedCapture(device=device) as capture:
        nets.surface(field, 0.1)
    small, big = sphere((8, 9, 40)), noise((8, 9, 40))
    for values in (small, big, -np.ones((8, 9, 40)), sphere((8, 9, 40), 0.5)):
        field.assign(values)
        wp.capture_launch(capture.graph)
        vertices, faces = surface(values, 0.1, topology)
        assert nets.sizes.list() == [len(vertices), faces.size]
        fits = values is not big
        assert fits == (len(vertices) <= 1500 and faces.size <= SIZE[topology] * 3000 // (SIZE[topology] - 2))
        got = nets.verts.numpy(), nets.indices.numpy()
        assert got[0].shape == (1500, 3) and got[1].shape == (9000 if topology == "triangle" else 6000,)
        assert not got[1][faces.size if fits else 0 :].any() and not got[0][len(vertices) :].any()
        if fits:
            assert np.array_equal(got[1][: faces.size], faces.ravel())
            assert np.array_equal(got[0][: len(vertices)], vertices)


@pytest.mark.parametrize("room", [(100000, 6), (5, 100000)])
def test_without_room_a_graph_writes_no_faces(room):
    values = noise((8, 9, 40))
    nets, field = Nets(8, 9, 40, max_verts=room[0], max_tris=room[1]), wp.array(values, dtype=float)
    with wp.ScopedCapture() as capture:
        nets.surface(field, 0.1)
    wp.capture_launch(capture.graph)
    vertices, triangles = surface(values, 0.1)
    assert nets.sizes.list() == [len(vertices), triangles.size]
    assert not nets.indices.numpy().any()


def test_a_capture_refuses_results_of_unknown_size():
    field = wp.array(sphere((6, 6, 6)), dtype=float)
    with pytest.raises(RuntimeError, match="IsoSurfaceNets with results whose sizes depend"), wp.ScopedCapture():
        Nets.extract(field)


def test_an_object_keeps_the_last_surface():
    nets = Nets(6, 7, 8, upper=(1, 1, 1), topology="quad")
    assert nets.verts is None and nets.indices is None and isinstance(nets, wp.geometry.IsoSurfaceBase)
    nets.surface(wp.array(sphere((6, 7, 8)), dtype=float), 0.1)
    expected, quads = surface(sphere((6, 7, 8)), 0.1, "quad", upper=(1, 1, 1))
    assert np.array_equal(nets.verts.numpy(), expected) and np.array_equal(nets.indices.numpy(), quads.ravel())
    with pytest.raises(ValueError, match=r"expected shape \(6, 7, 8\), got \(6, 7, 9\); see resize"):
        nets.surface(wp.zeros((6, 7, 9), dtype=float), 0.0)
    nets.resize(6, 7, 9)
    nets.surface(wp.zeros((6, 7, 9), dtype=float), 0.5)
    assert (nets.nz, nets.verts.size, nets.indices.size) == (9, 0, 0)


def test_methods_share_an_interface():
    class Nothing(wp.geometry.IsoSurfaceBase):
        def surface(self, field, threshold):
            self.verts, self.indices = self.extract(field, threshold)

        @classmethod
        def extract(cls, field, threshold=0.0, *, lower=None, upper=None):
            return wp.empty(0, dtype=wp.vec3), wp.empty(0, dtype=int)

    for method in (Nothing, Nets, wp.geometry.IsoSurfaceMarchingCubes):
        made = method(3, 3, 3, lower=(0, 0, 0), upper=(1, 1, 1))
        made.surface(wp.array(sphere((3, 3, 3)), dtype=float), 0.0)
        assert made.indices.size % 3 == 0 and (made.verts.size > 0) == (method is not Nothing)
    assert issubclass(wp.MarchingCubes, wp.geometry.IsoSurfaceMarchingCubes)
    with pytest.raises(TypeError, match="abstract"):
        wp.geometry.IsoSurfaceBase(3, 3, 3)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda f: Nets.extract(f.numpy()), TypeError, "field: expected an array, got ndarray"),
        (lambda f: Nets.extract(f[:1]), ValueError, r"two nodes each, got shape \(1, 4, 4\)"),
        (lambda f: Nets.extract(f, np.nan), ValueError, "threshold: expected a finite number"),
        (lambda f: Nets.extract(f, topology="tri"), ValueError, "topology: expected .*, got 'tri'"),
        (lambda f: Nets(4, 4, 4, topology=3), ValueError, "topology: expected .*, got 3"),
        (lambda f: Nets(4, 0, 4), ValueError, "ny: expected at least one node, got 0"),
        (lambda f: Nets(4, 4, 4, lower=1000), TypeError, "lower: expected three numbers, got 1000"),
        (lambda f: Nets(4, 4, 4, max_tris=2**30), ValueError, r"max_tris: got 1073741824, but there are at most"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(wp.zeros((4, 4, 4), dtype=float))


# -- derivatives -------------------------------------------------------------------------------------------------------


def positions(values, cells) -> np.ndarray:
    """The vertices of cells with one loop each, in float64."""
    return np.array([crossings(values, cell).mean(0) + cell for cell in cells])


def smooth_field() -> np.ndarray:
    """A field whose cells have one loop each."""
    field = sphere((5, 6, 7)) + 0.03 * noise((5, 6, 7), 9)
    cells = np.floor(surface(field)[0]).astype(int)
    assert len({tuple(c) for c in cells.tolist()}) == len(cells) > 20
    return field


def test_vertices_have_gradients_of_the_field(device):
    values, h = smooth_field(), 1e-6
    field = wp.array(values, dtype=float, requires_grad=True, device=device)
    with wp.Tape() as tape:
        vertices, _ = Nets.extract(field)
    weights = noise((vertices.size, 3), 2)
    tape.backward(grads={vertices: wp.array(weights, dtype=wp.vec3, device=device)})
    cells, exact = np.floor(vertices.numpy()).astype(int), values.astype(float)
    for seed in range(20):
        direction = noise(values.shape, seed).astype(float)
        ends = [(positions(exact + sign * direction, cells) * weights).sum() for sign in (h, -h)]
        along = (field.grad.numpy().astype(float) * direction).sum()
        assert along == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-3, abs=1e-3)


def test_vertices_have_tangents():
    values, direction, h = smooth_field(), noise((5, 6, 7), 4), 1e-6
    arrays = [wp.array(x, dtype=float) for x in (values, direction)]
    vertices, tangent = wp.jvp(lambda f: Nets.extract(f)[0], (arrays[0],), (arrays[1],))
    cells = np.floor(vertices.numpy()).astype(int)
    ends = [positions(values + sign * direction.astype(float), cells) for sign in (h, -h)]
    assert np.allclose(tangent.numpy(), (ends[0] - ends[1]) / (2 * h), rtol=1e-3, atol=1e-3)
