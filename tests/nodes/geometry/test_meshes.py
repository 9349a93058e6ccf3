"""Grids, waves, noise and surfaces, judged by formulas in NumPy's float64."""

import itertools
import re

import numpy as np
import pytest

from omni.warp_core.nodes.library import grid_mesh, ocean_waves, wave_solver
from omni.warp_core.nodes.library.prim_bundles import mesh_prim, with_points
from omni.warp_core.nodes.values.bundles import EMPTY, Bundle, item, prims_bundle

BOX_FACES = np.array([0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3], np.int32)


def box(low, high, world=None):
    corners = np.stack(np.meshgrid(*zip(low, high, strict=True), indexing="ij"), -1).reshape(8, 3).astype(np.float32)
    return mesh_prim(corners, np.full(6, 4, np.int32), BOX_FACES, np.identity(4) if world is None else world)


def shifted(x, y, z):
    matrix = np.identity(4)
    matrix[3, :3] = x, y, z
    return matrix


# -- grids --------------------------------------------------------------------------------------------------------


def test_a_grid_covers_its_size_and_faces_up(lone):
    prim = lone("GridCreate").prim(size=(6, 4), dims=(3, 2), transform=shifted(1, 2, 3))
    points = prim.value("points").astype(np.float64)
    faces = prim.value("faceVertexIndices").reshape(-1, 4)
    assert points.shape == (12, 3) and list(prim.value("faceVertexCounts")) == [4] * 6
    assert sorted(map(tuple, points)) == sorted((x, 0.0, z) for x in (-3, -1, 1, 3) for z in (-2, 0, 2))
    a, b, c, d = points[faces].transpose(1, 0, 2)
    normals = np.cross(b - a, d - a)
    assert np.array_equal(normals, np.tile([0, 4, 0], (6, 1)))  # cells of 2 x 2, seen from +y counterclockwise
    assert np.array_equal(a + c, b + d)
    assert np.array_equal(prim.value("normals"), np.tile([0, 1, 0], (24, 1)))
    st = prim.value("primvars:st")
    assert np.allclose(st, np.stack([points[:, 0] / 6 + 0.5, 0.5 - points[:, 2] / 4], -1)[faces.ravel()])
    assert prim.attributes["primvars:st"].metadata["interpolation"].value == "faceVarying"
    assert np.array_equal(prim.value("worldMatrix"), shifted(1, 2, 3)) and prim.value("sourcePrimType") == "Mesh"


def test_an_unchanged_grid_is_the_same_bundle(lone):
    node = lone("GridCreate")
    first = node(dims=(2, 2)).mesh
    assert node().mesh is first and node(dims=(2, 3)).mesh is not first


# -- waves --------------------------------------------------------------------------------------------------------


def waves(inside, times, size, amplitude, speed, damping):
    """The heights after each time, by the scheme in the docstring of the module, in float64."""
    h = np.zeros(inside[0].shape)
    v = np.zeros_like(h)
    cell = np.array([size[1] / (h.shape[0] - 1), size[0] / (h.shape[1] - 1)])
    found = [h]
    for (before, now), mask in zip(itertools.pairwise(times), inside[1:], strict=True):
        steps = int(np.ceil((now - before) * speed * np.hypot(*(1 / cell)) / 0.9))
        dt = (now - before) / steps
        for _ in range(steps):
            p = np.pad(h, 1, mode="edge")
            pull = (p[2:, 1:-1] + p[:-2, 1:-1] - 2 * h) / cell[0] ** 2 + (p[1:-1, 2:] + p[1:-1, :-2] - 2 * h) / cell[
                1
            ] ** 2
            v = np.where(mask, 0, (v + dt * speed**2 * pull) / (1 + damping * dt))
            h = np.where(mask, -amplitude, h + dt * v)
        found.append(h)
    return found


def test_waves_follow_their_equation(lone):
    node, size, cell = lone("WaveSolve"), (6.0, 4.0), 0.5
    fixed = {"size": size, "cellSize": cell, "amplitude": 0.7, "speed": 3.0, "damping": 0.25}
    x, z = np.meshgrid(np.linspace(-3, 3, 13), np.linspace(-2, 2, 9))
    times = [0.0, 0.1, 0.2, 0.35, 0.5, 0.7]
    at = [-1.2, -1.2, -0.7, -0.2, 0.3, 50.0]
    inside = [(abs(x - a) < 0.9) & (abs(z - 0.3) < 0.8) for a in at]
    expected = waves(inside, times, size, 0.7, 3.0, 0.25)
    for time, a, height in zip(times, at, expected, strict=True):
        # the box has a transform of its own, and so has the surface
        collider = box((-0.9, -1, -0.8), (0.9, 1, 0.8), shifted(a + 10, 0.2, 0.3))
        prim = node.prim(time=time, collider=prims_bundle([collider]), transform=shifted(10, 0, 0), **fixed)
        points = prim.value("points").reshape(9, 13, 3)
        assert np.abs(points[..., 1] - height).max() < 2e-6
        assert np.allclose(points[..., 0], x) and np.allclose(points[..., 2], z)
    assert np.abs(expected[-1]).max() > 0.05
    slope = np.gradient(expected[-1], 0.5, axis=1)[:, 1:-1], np.gradient(expected[-1], 0.5, axis=0)[1:-1]
    normals = prim.value("normals").reshape(9, 13, 3)
    assert np.abs(normals[:, 1:-1, 0] / normals[:, 1:-1, 1] + slope[0]).max() < 2e-5
    assert np.abs(normals[1:-1, :, 2] / normals[1:-1, :, 1] + slope[1]).max() < 2e-5


def test_time_that_goes_back_starts_again(lone):
    node = lone("WaveSolve")
    dipped = prims_bundle([box((-1, -1, -1), (1, 1, 1))])
    for time in (0.0, 0.1, 0.2):
        moved = node.prim(size=(4, 4), cellSize=0.5, time=time, collider=dipped, speed=5.0)
    assert np.ptp(moved.value("points")[:, 1]) > 0.5
    assert not node.prim(time=0.0).value("points")[:, 1].any()


def test_water_without_a_collider_stays_flat(lone):
    node = lone("WaveSolve")
    for time in (0.0, 1.0):
        assert not node.prim(size=(4, 4), cellSize=1.0, time=time, collider=EMPTY).value("points")[:, 1].any()


def test_the_number_of_steps_is_bounded():
    assert wave_solver.steps_of(1.0, 9.0, (1.0, 1.0)) == 15  # sqrt(2) * 9 / 0.9 = 14.1
    assert grid_mesh.cells_of(np.array([10.0, 0.5]), 1.0) == (10, 1)


# -- noise --------------------------------------------------------------------------------------------------------

CLOUD = np.random.default_rng(4).uniform(-40, 40, (200, 3)).astype(np.float32)


def cloud(points=CLOUD, **extra):
    normals = item("normalf[3][]", np.ones_like(points))
    return prims_bundle([Bundle({"points": item("pointf[3][]", points), "normals": normals, **extra})])


def shift_of(node, points=CLOUD, **inputs):
    found = node(prims=cloud(points), **inputs).prims.children["prim0"]
    assert "normals" not in found.attributes  # of the old shape
    return found.value("points").astype(np.float64) - points


def test_noise_moves_points_along_chosen_axes_only(lone):
    node = lone("NoiseDeform")
    both = shift_of(node, cellSize=20.0, amplitude=3.0, time=0.4)
    assert np.abs(both).max() < 3.0 * np.sqrt(2) and np.abs(both).mean() > 0.2
    assert not np.array_equal(both[:, 0], both[:, 1])
    up = shift_of(node, axisAmplitude=(0, 2, 0))
    assert not up[:, [0, 2]].any() and np.allclose(up[:, 1], 2 * both[:, 1], atol=2e-5)
    assert not np.allclose(up, shift_of(node, seed=1))


def test_noise_is_zero_at_the_corners_of_cells(lone):
    """Gradient noise is zero at integer points, in space and time."""
    corners = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), -1).reshape(-1, 3).astype(np.float32) * 8
    assert np.abs(shift_of(lone("NoiseDeform"), corners, cellSize=8.0, time=3.0, speed=2.0)).max() < 1e-5


@pytest.mark.parametrize(("axis", "column", "sign"), [("+Y", 1, 1), ("-X", 0, -1), ("+Z", 2, 1)])
def test_partial_noise_grows_above_the_base(lone, axis, column, sign):
    node = lone("NoiseDeform")
    everywhere = shift_of(node, cellSize=20.0, amplitude=3.0)
    part = shift_of(node, mode="partial", upAxis=axis, base=-10.0, falloff=15.0)
    weight = np.clip((sign * CLOUD[:, column].astype(np.float64) + 10) / 15, 0, 1)
    assert np.abs(part - weight[:, None] * everywhere).max() < 2e-5
    step = shift_of(node, falloff=0.0)
    assert np.allclose(step, (sign * CLOUD[:, column] >= -10)[:, None] * everywhere, atol=2e-5)


def divergence(node, func):
    h = 0.05
    start = np.random.default_rng(5).uniform(-20, 20, (40, 3))
    total = np.zeros(40)
    for k in range(3):
        step = np.zeros(3)
        step[k] = h
        sides = [shift_of(node, (start + s * step).astype(np.float32), func=func) for s in (1, -1)]
        total += (sides[0] - sides[1])[:, k] / (2 * h)
    return np.abs(total).max()


def test_curl_noise_keeps_volumes(lone):
    node = lone("NoiseDeform")
    node(prims=cloud(), cellSize=10.0, amplitude=3.0)
    assert divergence(node, "curl") < 5e-3 and divergence(node, "perlin") > 0.1


def test_prims_without_points_pass_through(lone):
    light = Bundle({"sourcePrimType": item("token", "SphereLight")})
    given = prims_bundle([light])
    assert lone("NoiseDeform")(prims=given).prims is given


def test_the_sample_deformer_is_a_sine(lone):
    time = 1000.3
    found = lone("SampleMeshDeform")(mesh=cloud(), time=time).mesh.children["prim0"].value("points")
    wanted = CLOUD.astype(np.float64)
    wanted[:, 1] += 10 * np.sin(time + 0.1 * wanted[:, 0])
    assert np.abs(found - wanted).max() < 2e-5


def test_the_ocean_is_a_sum_of_waves_that_obey_depth_and_wind(lone):
    wind, depth, time, amplitude, scale = 8.0, 4.0, 12.5, 0.8, 2.0
    waves = ocean_waves.wave_table(wind, depth, 0.3, 25.0)
    k, w = np.hypot(waves[:, 0], waves[:, 1]), waves[:, 3]
    assert np.allclose(w**2, 9.81 * k * np.tanh(k * depth), rtol=1e-12)
    # the variance of the surface is the integral of the spectrum, 0.0081 U^4 / (4 * 0.74 g^2), but for both tails
    assert abs((waves[:, 2] ** 2).sum() / 2 / (0.0081 * wind**4 / (2.96 * 9.81**2)) - 1) < 0.02
    angles = np.degrees(np.arctan2(waves[:, 1], waves[:, 0])) - 25
    assert np.abs((angles + 180) % 360 - 180).max() <= 0.7 * 180 + 1e-9
    found = lone("SampleOceanDeform")(
        mesh=cloud(), windSpeed=wind, waterDepth=depth, directionality=0.3, direction=25.0, time=time,
        amplitude=amplitude, scale=scale, cameraPos=(7.9, 3, -4.1), clipmapCellSize=2.0,
    ).mesh.children["prim0"].value("points")  # fmt: skip
    p = CLOUD.astype(np.float64) + np.array([6, 0, -6])
    angle = p[:, [0, 2]] / scale @ waves[:, :2].T - w * time + waves[:, 4]
    flat = -np.sin(angle) @ (waves[:, 2, None] * waves[:, :2] / k[:, None])
    wanted = p + amplitude * scale * np.stack([flat[:, 0], np.cos(angle) @ waves[:, 2], flat[:, 1]], -1)
    assert np.abs(found - wanted).max() < 1e-4


def test_deformed_prims_lose_what_belonged_to_the_old_shape():
    prim = with_points(
        cloud().children["prim0"].having({"extent": item("float3[]".replace("3", "[3]"), CLOUD[:2])}), CLOUD
    )
    assert list(prim.attributes) == ["points"]


# -- surfaces -----------------------------------------------------------------------------------------------------


def sphere(shape, size, radius):
    axes = [np.linspace(-s / 2, s / 2, n) for s, n in zip(size, shape, strict=True)]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    return np.sqrt(x * x + y * y + z * z) - radius


def test_the_surface_of_a_ball(lone):
    shape, size = (24, 28, 32), (10.0, 12.0, 14.0)
    field = sphere(shape, size, 3.5).astype(np.float32)
    dims = dict(zip(("dim1", "dim2", "dim3"), shape, strict=True))
    prim = lone("MeshFromVolume").prim(data=field.ravel(), size=size, threshold=0.5, **dims)
    points, triangles = prim.value("points").astype(np.float64), prim.value("faceVertexIndices").reshape(-1, 3)
    radius = np.linalg.norm(points, axis=1)
    assert np.abs(radius - 4.0).max() < 0.02  # the field is linear to about cell^2 / (8 radius)
    a, b, c = points[triangles].transpose(1, 0, 2)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert abs(volume - 4 / 3 * np.pi * 4.0**3) < 0.02 * 4 / 3 * np.pi * 4.0**3  # positive: it faces outwards
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()  # closed
    assert np.abs(prim.value("normals") - points / radius[:, None]).max() < 0.02
    assert list(prim.value("faceVertexCounts")) == [3] * len(triangles)


def test_a_field_without_the_value_has_an_empty_mesh(lone):
    prim = lone("MeshFromVolume").prim(data=np.ones(8), dim1=2, dim2=2, dim3=2)
    assert prim.value("points").shape == (0, 3) and not len(prim.value("faceVertexCounts"))


def test_the_sample_volume(lone):
    n, time = 20, 0.7
    shapes = {"torusAltitude": 4.0, "torusMajorRadius": 5.0, "torusMinorRadius": 1.5, "smoothMinRadius": 2.0}
    data = lone("SampleProceduralVolume")(dim=n, time=time, **shapes).data.reshape(n, n, n)
    p = np.stack(np.meshgrid(*[np.arange(n) - (n - 1) / 2] * 3, indexing="ij"), -1)
    q = np.abs(p) - np.array([n / 4, n / 8, n / 4])
    box_distance = np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0)
    x, y, z = p[..., 0], p[..., 1] - 4.0, p[..., 2]
    c, s = np.cos(time), np.sin(time)
    y, z = c * y - s * z, s * y + c * z
    torus = np.hypot(np.hypot(x, z) - 5.0, y) - 1.5
    h = np.maximum(2.0 - np.abs(box_distance - torus), 0) / 2.0
    wanted = np.minimum(box_distance, torus) - h * h * 2.0 / 4
    assert np.abs(data - wanted).max() < 1e-5


# -- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "inputs", "error"),
    [
        ("GridCreate", {"dims": (10**9, 10**9)}, r"the points of the grid are 1e\+18, .* set fewer cells"),
        ("GridCreate", {"dims": (0, 4)}, "at least one cell"),
        ("GridCreate", {"size": (1, -1)}, r"inputs:size is \(1.0, -1.0\); both numbers must be above 0"),
        ("GridCreate", {"size": (1, float("nan"))}, "must be above 0"),
        ("WaveSolve", {"cellSize": 0.0}, "inputs:cellSize is 0.0; it must be above 0"),
        ("WaveSolve", {"cellSize": 1e-6}, "set a larger inputs:cellSize"),
        ("WaveSolve", {"speed": float("inf")}, "inputs:speed must not be below 0"),
        ("WaveSolve", {"collider": cloud()}, "inputs:collider has no Mesh; it has a prim without a type"),
        ("NoiseDeform", {}, "inputs:prims has no bundle"),
        ("NoiseDeform", {"prims": cloud(), "mode": "all"}, "inputs:mode is 'all'; it must be global or partial"),
        (
            "NoiseDeform",
            {"prims": cloud(), "mode": "partial", "upAxis": "Y"},
            "inputs:upAxis is 'Y'; it must be one of",
        ),
        ("NoiseDeform", {"prims": cloud(), "func": "fbm"}, "inputs:func is 'fbm'"),
        ("NoiseDeform", {"prims": cloud(), "cellSize": -1.0}, "inputs:cellSize is -1.0"),
        ("NoiseDeform", {"prims": cloud(CLOUD * np.float32("nan"))}, "points has 600 numbers that are not finite"),
        ("MeshFromVolume", {}, r"inputs:data has 0 values for 64 x 64 x 64 nodes"),
        ("MeshFromVolume", {"dim1": 10**9, "dim2": 10**9, "dim3": 10**9}, "has 0 values for 1000000000 x"),
        ("MeshFromVolume", {"dim1": 1}, "it needs two in each direction"),
        ("MeshFromVolume", {"size": (0, 1, 1), "data": np.ones(8), "dim1": 2, "dim2": 2, "dim3": 2}, "must be above 0"),
        ("SampleProceduralVolume", {"dim": 10**6}, "at most 67108864 nodes"),
        ("SampleMeshDeform", {}, "inputs:mesh has no bundle"),
        ("SampleOceanDeform", {"mesh": cloud(), "windSpeed": 0.0}, "inputs:windSpeed is 0.0; it must be above 0"),
        ("SampleOceanDeform", {"mesh": cloud(), "scale": float("nan")}, "inputs:scale is nan; it must be above 0"),
    ],
)
def test_errors_say_what_to_write(lone, name, inputs, error):
    assert re.search(error, lone(name).error(**inputs))


def test_a_surface_that_is_too_large_is_refused(lone):
    field = sphere((12, 12, 12), (1.0, 1.0, 1.0), 0.3).ravel()
    dims = dict.fromkeys(("dim1", "dim2", "dim3"), 12)
    error = lone("MeshFromVolume").error(data=field, maxTriangles=20, **dims)
    assert "triangles, and inputs:maxTriangles is 20" in error


def test_faces_of_points_that_do_not_exist_are_refused(lone):
    broken = box((-1, -1, -1), (1, 1, 1)).having({"faceVertexIndices": item("int[]", BOX_FACES + np.int32(3))})
    error = lone("WaveSolve").error(collider=prims_bundle([broken]), size=(4, 4))
    assert "faceVertexIndices names the point 9 of 8 points" in error
