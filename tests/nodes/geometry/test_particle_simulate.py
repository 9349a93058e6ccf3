"""Grains: motion and rest against formulas of mechanics."""

import numpy as np
import pytest

from omni.warp_core.nodes.library.prim_bundles import points_prim
from omni.warp_core.nodes.values.bundles import item, prims_bundle, prims_of

SI = {"globalScale": 1.0, "gravity": (0.0, -9.81, 0.0)}
NAME = "ParticlesSimulate"


def grains(points, velocities=None, width=0.2, masses=None, world=None):
    points = np.asarray(points, np.float32)
    prim = points_prim(points, np.array([width], np.float32), np.identity(4) if world is None else world)
    more = {"velocities": item("vectorf[3][]", velocities)} if velocities is not None else {}
    more |= {"masses": item("float[]", masses)} if masses is not None else {}
    return prims_bundle([prim.having(more)])


def state(seen):
    (prim,) = prims_of(seen.particles)
    return prim.value("points").astype(np.float64), prim.value("velocities").astype(np.float64)


def test_a_grain_flies_as_thrown_in_the_space_of_its_prim(lone):
    world = np.diag([2.0, 2.0, 2.0, 1.0])
    world[3, :3] = 1, 5, 0
    node = lone(NAME)
    given = grains([(0, 0, 0)], [(3, 1, 0)], world=world)
    free = SI | {"groundEnabled": False, "contactElasticStiffness": 0.0, "contactDampingStiffness": 0.0}
    for frame in range(5):
        points, velocities = state(node(particles=given, time=frame / 24, substepCount=16, **free))
    n, dt = 4 * 16, 1 / 24 / 16
    wanted = np.array([3 * n * dt * 2, 1 * n * dt * 2 - 9.81 * dt * dt * n * (n + 1) / 2, 0]) / 2
    assert np.allclose(points[0], wanted, atol=1e-5)
    assert np.allclose(velocities[0], [3, 1 - 9.81 * n * dt / 2, 0], atol=1e-5)


@pytest.mark.parametrize("coefficient", [0.1, 0.4])
def test_friction_brakes_a_sliding_grain_as_coulomb_says(lone, coefficient):
    node = lone(NAME)
    for frame in range(13):
        points, velocities = state(node(
            particles=grains([(0, 0.1, 0)], [(4, 0, 0)]), time=frame / 24, contactFrictionCoeff=coefficient,
            contactFrictionStiffness=100.0, contactDampingStiffness=100.0, **SI,
        ))  # fmt: skip
    t = 12 / 24
    assert velocities[0, 0] == pytest.approx(4 - coefficient * 9.81 * t, rel=0.01)
    assert points[0, 0] == pytest.approx(4 * t - 0.5 * coefficient * 9.81 * t * t, rel=0.01)
    assert points[0, 1] == pytest.approx(0.1, abs=1e-3)


def test_two_grains_exchange_momentum(lone):
    node = lone(NAME)
    masses = np.array([1.0, 3.0], np.float32)
    given = grains([(-0.3, 0, 0), (0.3, 0.05, 0)], [(2, 0, 0), (-1, 0, 0)], masses=masses)
    settings = {"gravity": (0, 0, 0), "globalScale": 1.0, "groundEnabled": False, "contactDampingStiffness": 0.0,
                "contactFrictionStiffness": 0.0, "contactElasticStiffness": 2e6, "substepCount": 400}  # fmt: skip
    for frame in range(13):
        points, velocities = state(node(particles=given, time=frame / 24, **settings))
    # two smooth balls: the velocity along the line between the centers turns around, as the masses say
    offset = 0.05 / 0.2
    n = np.array([-np.sqrt(1 - offset**2), -offset, 0])
    v = np.array([[2.0, 0, 0], [-1, 0, 0]])
    j = -2 * (v[0] - v[1]) @ n / (1 + 1 / 3)
    assert np.allclose(velocities, v + np.array([j * n, -j * n / 3]), atol=0.02)
    assert np.allclose((masses[:, None] * velocities).sum(0), [-1, 0, 0], atol=1e-4)
    energy = 0.5 * (masses * np.sum(velocities**2, 1)).sum()
    assert energy == pytest.approx(0.5 * (1 * 4 + 3 * 1), rel=5e-3)
    assert np.linalg.norm(points[0] - points[1]) > 0.3


def test_cohesion_holds_grains_together_and_adhesion_to_the_ground(lone):
    pair = grains([(0, 0.1, 0), (0.22, 0.1, 0)], [(0, 0, 0), (0.3, 0, 0)])
    for cohesion, together in ((0.0, False), (0.15, True)):
        node = lone(NAME)
        for frame in range(25):
            points, _ = state(node(particles=pair, time=frame / 24, particlesContactCohesion=cohesion, **SI,
                                   contactFrictionCoeff=0.0, contactFrictionStiffness=0.0))  # fmt: skip
        assert (np.linalg.norm(points[0] - points[1]) < 0.35) == together
    for adhesion, stays in ((0.0, False), (0.1, True)):
        node = lone(NAME)
        for frame in range(13):
            points, _ = state(node(particles=grains([(0, 0.12, 0)]), time=frame / 24, globalScale=1.0,
                                   gravity=(0, 1.0, 0), particlesContactAdhesion=adhesion))  # fmt: skip
        assert (points[0, 1] < 0.13) == stays


def heap():
    grid = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), -1).reshape(-1, 3)
    return grains(grid * 0.21 + [0, 0.3, 0] + np.random.default_rng(2).normal(0, 0.005, grid.shape))


def test_a_heap_comes_to_rest_above_the_ground_and_plays_the_same_twice(lone):
    def play(node, last):
        return [state(node(particles=heap(), time=f / 24, **SI))[0] for f in range(last)]

    node = lone(NAME)
    first = play(node, 49)
    again, other = play(node, 8), play(lone(NAME), 8)
    for one, two, three in zip(first, again, other, strict=False):
        assert np.array_equal(one, two) and np.array_equal(one, three)
    points = first[-1]
    assert points[:, 1].min() > 0.1 - 0.005 and points[:, 1].max() < 1.0
    away = np.linalg.norm(points[:, None] - points, axis=-1) + 10 * np.identity(len(points))
    assert away.min() > 0.2 - 0.01
    before = first[-2]
    assert np.abs(points - before).max() * 24 < 0.5


def test_requests_that_cannot_be_grains(lone):
    node = lone(NAME)
    assert "inputs:particles has no bundle" in node.error()
    (prim,) = prims_of(grains([(0, 0, 0)] * 3))
    without = type(prim)({k: v for k, v in prim.attributes.items() if k != "widths"})
    assert "need widths" in node.error(particles=prims_bundle([without]))
    assert "need masses" in node.error(particles=prims_bundle([prim.having({"masses": item("float[]", [1.0, 2.0])})]))
    assert "must be above 0" in node.error(particles=prims_bundle([prim.having({"widths": item("float[]", [0.0])})]))
    node(particles=prims_bundle([prim]))
    assert "set lower stiffnesses, or larger masses" in node.error(contactElasticStiffness=1e15, time=0.1)
    assert lone("omni.warp.WarpParticlesSimulate").prim(particles=prims_bundle([prim])) is not None
