"""Cloth: forces against central differences of energies in NumPy's float64, motion against formulas."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.nodes.library.cloth_model import ElementForces, Material, rest_of
from omni.warp_core.nodes.library.grid_mesh import grid_prim
from omni.warp_core.nodes.library.prim_bundles import mesh_prim
from omni.warp_core.nodes.values.bundles import prims_bundle, prims_of

MU, LAMBDA, BENDING, SPRING = 700.0, 300.0, 2.5, 40.0
SHAPE = np.array([[0, 0, 0], [1, 0.1, 0], [0.2, 0.9, 0.3], [1.2, 1.1, -0.2], [2.0, 0.4, 0.3]])
TRIANGLES = np.array([[0, 1, 2], [1, 3, 2], [1, 4, 3]], np.int32)
SPRINGS = np.array([[0, 4], [2, 4]], np.int32)


def strain_energy(x):
    total = 0.0
    for t in TRIANGLES:
        edges = [(p[t[1:]] - p[t[0]]).T for p in (SHAPE, x)]
        # any two independent vectors in the plane at rest serve as its basis: use an orthonormal one
        basis = np.linalg.qr(edges[0])[0]
        f = edges[1] @ np.linalg.inv(basis.T @ edges[0])
        e = 0.5 * (f.T @ f - np.identity(2))
        area = 0.5 * np.linalg.norm(np.cross(*edges[0].T))
        total += area * (MU * np.sum(e * e) + 0.5 * LAMBDA * np.trace(e) ** 2)
    return total


def normal(x, t):
    n = np.cross(x[t[1]] - x[t[0]], x[t[2]] - x[t[0]])
    return n / np.linalg.norm(n), np.linalg.norm(n)


def turn(x, a, b):
    """The angle between neighbors, with the sign of the side to which they fold."""
    shared = [p for p in a if p in b]
    at = [a[i:] + a[:i] for i in range(3)]
    first = next(t for t in at if t[0] not in shared)
    e = x[first[2]] - x[first[1]]
    (n1, _), (n2, _) = normal(x, a), normal(x, [b[0], b[1], b[2]])
    return np.arctan2(np.cross(n1, n2) @ e / np.linalg.norm(e), n1 @ n2)


def bending_energy(x):
    total = 0.0
    for a, b in [([0, 1, 2], [1, 3, 2]), ([1, 3, 2], [1, 4, 3])]:
        shared = [p for p in a if p in b]
        length = np.linalg.norm(SHAPE[shared[0]] - SHAPE[shared[1]])
        weight = 3 * length**2 / (normal(SHAPE, a)[1] + normal(SHAPE, b)[1])
        total += 0.5 * BENDING * weight * (turn(x, a, b) - turn(SHAPE, a, b)) ** 2
    return total


def spring_energy(x):
    lengths = [np.linalg.norm(p[SPRINGS[:, 1]] - p[SPRINGS[:, 0]], axis=1) for p in (SHAPE, x)]
    return 0.5 * SPRING * np.sum((lengths[1] - lengths[0]) ** 2)


def forces(x, v, mu=0.0, area=0.0, damping=0.0, drag=0.0, bending=(0.0, 0.0), spring=(0.0, 0.0)):
    rest = rest_of(SHAPE, TRIANGLES, SPRINGS)
    elements = ElementForces(rest, lambda values, dtype: wp.array(values, dtype=dtype, device="cpu"))
    material = Material()
    material.mu, material.area, material.damping, material.drag, material.lift = mu, area, damping, drag, 0.0
    arrays = [wp.array(a.astype(np.float32), dtype=wp.vec3, device="cpu") for a in (x, v)]
    elements.compute(*arrays, material, bending, spring)
    corners = elements.forces.numpy()[rest.slots]
    return np.stack([corners[a:b].sum(0) for a, b in zip(rest.starts[:-1], rest.starts[1:], strict=True)])


def gradient(energy, x, h=1e-6):
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        found[i] = (energy(x + step) - energy(x - step)) / (2 * h)
    return found


@pytest.mark.parametrize(
    ("energy", "parts"),
    [
        (strain_energy, {"mu": MU, "area": LAMBDA}),
        (bending_energy, {"bending": (BENDING, 0.0)}),
        (spring_energy, {"spring": (SPRING, 0.0)}),
    ],
)
def test_forces_are_the_slopes_of_the_energy(energy, parts):
    x = SHAPE + np.random.default_rng(5).normal(0, 0.15, SHAPE.shape)
    found, wanted = forces(x, np.zeros_like(x), **parts), -gradient(energy, x)
    assert np.abs(wanted).max() > 1e-2
    assert np.abs(found - wanted).max() < 2e-4 * np.abs(wanted).max()
    assert np.abs(forces(SHAPE, np.zeros_like(x), **parts)).max() < 1e-3  # at rest


@pytest.mark.parametrize("parts", [{"damping": 3.0}, {"bending": (0.0, 2.0)}, {"spring": (0.0, 4.0)}, {"drag": 1.5}])
def test_damping_takes_energy_and_leaves_momentum(parts):
    random = np.random.default_rng(6)
    x, v = SHAPE + random.normal(0, 0.15, SHAPE.shape), random.normal(0, 1, SHAPE.shape)
    found = forces(x, v, **parts)
    assert np.sum(found * v) < 0
    if "drag" not in parts:
        assert np.abs(found.sum(0)).max() < 1e-5 and np.abs(np.cross(x, found).sum(0)).max() < 1e-5
        still = forces(x, np.cross([0.3, -0.2, 0.5], x) + np.array([1.0, 2.0, 3.0]), **parts)
        assert np.abs(still).max() < 1e-5  # as a rigid body


def sheet(height=0.0, cells=4, size=100.0):
    world = np.identity(4)
    world[3, 1] = height
    return prims_bundle([grid_prim(np.array([size, size]), (cells, cells), world)])


def world_points(seen):
    (prim,) = prims_of(seen.cloth)
    return prim.value("points").astype(np.float64) + prim.value("worldMatrix")[3, :3]


FREE = {"groundEnabled": False, "clothTriElasticStiffness": 0.0, "clothTriAreaStiffness": 0.0,
        "clothTriDampingStiffness": 0.0, "clothEdgeBendingStiffness": 0.0}  # fmt: skip


def test_free_cloth_falls_as_a_stone(lone):
    node = lone("ClothSimulate")
    start = world_points(node(cloth=sheet(30.0), substepCount=8, time=0.5, **FREE))
    assert np.allclose(start[:, 1], 30)
    for frame in range(1, 4):
        now = world_points(node(time=0.5 + frame / 24))
    n, dt = 3 * 8, 1 / 24 / 8
    assert np.allclose(now[:, [0, 2]], start[:, [0, 2]], atol=1e-4)
    assert np.allclose(now[:, 1], 30 - 980 * dt * dt * n * (n + 1) / 2, atol=1e-3)
    (prim,) = prims_of(node().cloth)
    assert np.allclose(prim.value("velocities")[:, 1], -980 * n * dt, rtol=1e-5)


def test_hanging_cloth_comes_to_rest_where_energy_is_least(lone):
    mesh = mesh_prim(SHAPE.astype(np.float32), np.full(3, 3, np.int32), TRIANGLES.ravel(), np.identity(4))
    node = lone("ClothSimulate")
    settings = {"globalScale": 1.0, "gravity": (0, -9.81, 0), "groundEnabled": False, "clothDensity": 4.0,
                "clothTriElasticStiffness": MU, "clothTriAreaStiffness": LAMBDA, "clothEdgeBendingStiffness": BENDING,
                "clothTriDrag": 20.0, "springElasticStiffness": SPRING}  # fmt: skip
    for frame in range(0, 200, 4):
        seen = node(cloth=prims_bundle([mesh]), fixedPoints=[0, 2], springIndexPairs=SPRINGS, time=frame / 24,
                    **settings)  # fmt: skip
    x = world_points(seen)
    areas = [0.5 * normal(SHAPE, list(t))[1] for t in TRIANGLES]
    masses = np.zeros(5)
    np.add.at(masses, TRIANGLES.ravel(), np.repeat(areas, 3) * 4.0 / 3)
    rest = gradient(lambda y: strain_energy(y) + bending_energy(y) + spring_energy(y), x)
    weight = masses[:, None] * [0, -9.81, 0]
    assert np.abs((rest - weight)[[1, 3, 4]]).max() < 0.02 * np.abs(weight).max()
    assert np.allclose(x[[0, 2]], SHAPE[[0, 2]], atol=1e-6) and x[4, 1] < SHAPE[4, 1] - 0.01
    assert np.allclose(prims_of(seen.visualization)[0].value("points"), x[SPRINGS.ravel()], atol=1e-6)


def box(half=20.0, height=0.0):
    corners = half * np.stack(np.meshgrid(*[(-1, 1)] * 3, indexing="ij"), -1).reshape(8, 3)
    faces = np.array([0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3], np.int32)
    world = np.identity(4)
    world[3, 1] = height
    return prims_bundle([mesh_prim(corners.astype(np.float32), np.full(6, 4, np.int32), faces, world)])


def test_cloth_stays_outside_of_the_collider_and_rides_on_it(lone):
    node = lone("ClothSimulate")
    for frame in range(49):
        lift = 2.0 * min(max(frame - 12, 0), 12)
        seen = node(cloth=sheet(24.0, 12), collider=box(height=lift), time=frame / 24, colliderContactDistance=2.0,
                    clothEdgeBendingStiffness=0.0)  # fmt: skip
        x = world_points(seen) - [0, lift, 0]
        inside = np.abs(x).max(1) < 20 - 0.5
        assert not inside.any(), frame
    top = x[np.abs(x[:, [0, 2]]).max(1) < 15]
    assert len(top) > 4 and np.abs(top[:, 1] - 22).max() < 0.3
    assert x[:, 1].min() < 0  # the sides hang down


def test_the_ground_carries_cloth_and_the_state_begins_anew(lone):
    def play(node):
        return [world_points(node(cloth=sheet(10.0, 6), time=f / 24, groundAltitude=-3.0)) for f in range(13)]

    node = lone("ClothSimulate")
    first, again, other = play(node), play(node), play(lone("ClothSimulate"))
    assert np.allclose(first[-1][:, 1], -3 + 5, atol=0.05)
    for one, two, three in zip(first, again, other, strict=True):
        assert np.array_equal(one, two) and np.array_equal(one, three)
    assert np.array_equal(world_points(node(time=12 / 24)), first[-1])  # no time passed
    assert np.array_equal(world_points(node(enabled=False)), first[0])


@pytest.mark.parametrize("kind", ["ClothSimulate", "WaveSolve"])
def test_a_time_that_nothing_drives_is_told_once(lone, kind):
    node = lone(kind)
    given = {"cloth": sheet(height=50.0)} if kind == "ClothSimulate" else {}
    for time in (0.0, 0.1):
        node(time=time, **given)
    assert not node.host.log.warnings
    node()
    node()
    (told,) = node.host.log.warnings
    assert "inputs:time is 0.1 again, and nothing is connected to it" in told


def test_requests_that_cannot_be_cloth(lone):
    node = lone("ClothSimulate")
    assert "inputs:cloth has no bundle" in node.error()
    assert "inputs:fixedPoints names the point 99, and the cloth has 25" in node.error(cloth=sheet(), fixedPoints=[99])
    assert "inputs:clothDensity is 0" in node.error(fixedPoints=[], clothDensity=0.0)
    assert "inputs:globalScale is -1" in node.error(clothDensity=1.0, globalScale=-1.0)
    node(globalScale=100.0, time=0.0)
    assert "set lower stiffnesses, or a coarser mesh" in node.error(clothTriElasticStiffness=1e12, time=0.1)
    assert "inputs:substepCount is 0" in node.error(clothTriElasticStiffness=1.0, substepCount=0, time=0.1)
    assert "inputs:springElasticStiffness is -5" in node.error(substepCount=1, springElasticStiffness=-5.0)


def test_the_old_type_is_the_same_node(lone):
    seen = lone("omni.warp.WarpClothSimulate")(cloth=sheet(7.0))
    assert np.allclose(world_points(seen)[:, 1], 7.0)
