"""Particles in meshes, changes of bundles, the clock and textures."""

import numpy as np
import pytest

from omni.warp_core.nodes.library.prim_bundles import mesh_prim
from omni.warp_core.nodes.values.bundles import Bundle, item, prims_bundle

FACES = np.array([0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3], np.int32)
HALF = np.array([3.0, 2.0, 1.5])


def box(offset=(0.0, 0.0, 0.0)):
    corners = np.stack(np.meshgrid(*[(-h, h) for h in HALF], indexing="ij"), -1).reshape(8, 3).astype(np.float32)
    world = np.identity(4)
    world[3, :3] = offset
    return prims_bundle([mesh_prim(corners, np.full(6, 4, np.int32), FACES, world)])


def distance(p):
    """The signed distance to the box."""
    q = np.abs(p) - HALF
    return np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0)


def lattice(spacing, margin=0.0):
    """The points of a grid in the middle of the box, x slowest."""
    counts = np.floor((2 * HALF + 2 * margin) / spacing).astype(int)
    places = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 3)
    return (places - (counts - 1) / 2) * spacing


@pytest.mark.parametrize(("low", "high", "margin"), [(-100.0, -0.25, 0.0), (-0.9, -0.3, 0.0), (0.15, 0.4, 0.4)])
def test_particles_are_the_points_of_a_grid_at_the_wanted_distances(lone, low, high, margin):
    prim = lone("ParticlesFromMesh").prim(mesh=box(), spacing=0.37, minSdf=low, maxSdf=high, radius=0.1, mass=2.0)
    grid = lattice(0.37, margin)
    wanted = grid[(distance(grid) >= low) & (distance(grid) <= high)]
    assert 20 < len(wanted) < len(grid)
    assert np.abs(prim.value("points") - wanted).max() < 1e-5
    assert prim.value("sourcePrimType") == "Points"
    for name, value in (("widths", 0.2), ("masses", 2.0)):
        assert np.allclose(prim.value(name), value) and len(prim.value(name)) == len(wanted)
    assert prim.value("velocities").shape == (len(wanted), 3) and not prim.value("velocities").any()


def test_jitter_is_bounded_and_goes_with_the_seed(lone):
    node = lone("ParticlesFromMesh")
    first = node.prim(mesh=box(), spacing=0.5, spacingJitter=0.6, maxSdf=-0.3).value("points")
    assert (distance(first.astype(np.float64)) <= -0.3 + 1e-5).all()
    grid = lattice(0.5)
    away = np.abs(first[:, None] - grid[None]).max(-1).min(1)
    assert away.max() <= 0.3 * 0.5 * 2 + 1e-5 and away.max() > 0.1
    assert np.array_equal(lone("ParticlesFromMesh").prim(mesh=box(), spacing=0.5, spacingJitter=0.6, maxSdf=-0.3)
                          .value("points"), first)  # fmt: skip
    assert not np.array_equal(node.prim(seed=1).value("points")[:5], first[:5])


def test_particles_lie_where_the_mesh_lies_in_the_world(lone):
    transform = np.diag([2.0, 2.0, 2.0, 1.0])
    transform[3, :3] = 1, 0, 0
    prim = lone("ParticlesFromMesh").prim(mesh=box((5, 6, 7)), spacing=0.3, transform=transform)
    points = prim.value("points").astype(np.float64) @ transform[:3, :3] + transform[3, :3] - (5, 6, 7)
    assert len(points) and (distance(points) <= 1e-5).all()
    assert np.array_equal(prim.value("worldMatrix"), transform)


def test_velocity_and_the_most_particles(lone):
    node = lone("ParticlesFromMesh")
    full = node.prim(mesh=box(), spacing=0.5, velocityDir=(0, 3, 4), velocityAmount=2.0)
    assert np.allclose(full.value("velocities"), (0, 1.2, 1.6))
    cut = node.prim(maxPoints=7)
    assert np.array_equal(cut.value("points"), full.value("points")[:7])
    assert f"{len(full.value('points'))} particles fit" in node.host.log.warnings[0]
    assert node.prim() is cut  # nothing changed


def test_bad_requests_for_particles(lone):
    node = lone("ParticlesFromMesh")
    assert "inputs:mesh has no bundle" in node.error()
    assert "inputs:spacing is 0.0; it must be above 0" in node.error(mesh=box(), spacing=0.0)
    assert "set a larger inputs:spacing" in node.error(spacing=1e-4)
    assert "inputs:transform cannot be inverted" in node.error(spacing=1.0, transform=np.zeros((4, 4)))


def prim(**values):
    return Bundle({"sourcePrimType": item("token", "Mesh"), **{k: item("int", v) for k, v in values.items()}})


def test_changes_name_what_was_written(lone):
    node = lone("BundleInspectChanges")
    one, two = prim(points=1, normals=2, faceVertexCounts=3), prim(points=4)
    seen = node(bundle=prims_bundle([one, two]))
    assert seen.topologyChanged and set(seen.attrsChanged.split()) == {
        *("sourcePrimType", "points", "normals", "faceVertexCounts")
    }
    given = prims_bundle([one, two])
    seen = node(bundle=given)
    assert seen.attrsChanged == "" and not seen.topologyChanged and seen.bundle is given
    seen = node(bundle=prims_bundle([one.having({"normals": item("int", 5)}), two.having({"points": item("int", 5)})]))
    assert seen.attrsChanged == "normals points" and not seen.topologyChanged
    seen = node(bundle=prims_bundle([one.having({"faceVertexCounts": item("int", 5)}), two]))
    assert "faceVertexCounts" in seen.attrsChanged.split() and seen.topologyChanged
    assert node(bundle=prims_bundle([one])).topologyChanged


def test_the_old_name_of_a_node_is_the_same_node(lone):
    seen = lone("omni.warp.WarpOgnBundleInspectChanges")(bundle=prims_bundle([prim(points=1)]))
    assert seen.attrsChanged == "sourcePrimType points"


def test_fixed_time_goes_on_by_frames_and_stays_at_its_end(lone):
    node = lone("omni.warp.FixedTime")
    times = [node(fps=4.0, start=1.0, end=1.6).time for _ in range(4)]
    assert times == [1.0, 1.25, 1.5, 1.6]
    node.host.timeline.is_playing = False
    stopped = lone("FixedTime")
    stopped.host.timeline.is_playing = False
    assert [stopped().time, stopped().time] == [0.0, 0.0]


@pytest.mark.parametrize("fps", [0.0, -1.0, float("nan")])
def test_fixed_time_needs_a_rate(lone, fps):
    node = lone("FixedTime")
    node.node.attributes["inputs:fps"].set(fps)
    with pytest.raises(Exception, match=r"inputs:fps is .*; it must be above 0"):
        node.node.type.cls.compute(node.db)
