"""Meshes, hash grids and volumes as parameters of a kernel, compared with NumPy."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.nodes.play import console
from tests.nodes.kernel.kernel_scenes import READ, kernel, value

RAY = """
@wp.kernel
def drop(mesh: wp.uint64, at: wp.array(dtype=wp.vec3), height: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, at[i], wp.vec3(0.0, 0.0, -1.0), 100.0)
    height[i] = -1.0
    if hit.result:
        height[i] = at[i][2] - hit.t
"""
# A quad over the unit square, lifted by the time of the frame at one side.
LIFT = "@wp.kernel\ndef lift(p: wp.array(dtype=wp.vec3), time: float, q: wp.array(dtype=wp.vec3)):\n"
LIFT += "    i = wp.tid()\n    q[i] = p[i] + wp.vec3(0.0, 0.0, time * p[i][0])\n"
LIFT_ATTRIBUTES = """
    custom point3f[] inputs:p.connect = </G/read.outputs:value>
    custom float inputs:time.connect = </G/time.outputs:frame>
    custom point3f[] outputs:q
"""
MESH = """
    custom point3f[] inputs:mesh:points.connect = </G/lift.outputs:q>
    custom int[] inputs:mesh:faceVertexCounts = COUNTS
    custom int[] inputs:mesh:faceVertexIndices = [0, 1, 2, 3]
    custom point3f[] inputs:at = [(0.5, 0.25, 9), (0.25, 0.125, 9), (2, 2, 9)]
    custom float[] outputs:height
"""


def test_a_mesh_follows_its_points_without_being_made_anew(make_scene, play, device, monkeypatch):
    made = []
    mesh = wp.Mesh
    monkeypatch.setattr(wp, "Mesh", lambda *arguments: made.append(1) or mesh(*arguments))
    nodes = READ + kernel(LIFT, LIFT_ATTRIBUTES, "lift") + kernel(RAY, MESH.replace("COUNTS", "[4]"))
    result = play(make_scene(nodes, frames="0:3"), device=str(device))
    assert not result.log.errors and len(made) == 1
    lift, drop = (next(n for n in result.outcome.nodes if n.path == f"/G/{name}") for name in ("lift", "kernel"))
    assert lift.timing.replays == drop.timing.replays == 3, "the mesh follows the points in the graph, too"
    assert np.allclose(value(result, "/G/kernel.outputs:height"), [3 * 0.5, 3 * 0.25, -1], atol=1e-6)
    result.player.loaded.attribute("/G/kernel.inputs:mesh:faceVertexIndices").set(np.array([0, 1, 2], np.int32))
    result.player.loaded.attribute("/G/kernel.inputs:mesh:faceVertexCounts").set(np.array([3], np.int32))
    result.player.run(str(result.target))
    assert len(made) == 2, "only other faces make another mesh"
    assert np.allclose(value(result, "/G/kernel.outputs:height"), [3 * 0.5, 3 * 0.25, -1], atol=1e-6)


NEAR = """
@wp.kernel
def count(grid: wp.uint64, x: wp.array(dtype=wp.vec3), radius: float, near: wp.array(dtype=int)):
    i = wp.tid()
    query = wp.hash_grid_query(grid, x[i], radius)
    index = int(0)
    while wp.hash_grid_query_next(query, index):
        if wp.length(x[index] - x[i]) <= radius:
            near[i] += 1
"""
GRID = """
    custom point3f[] inputs:x = POINTS
    custom float inputs:radius = 0.25
    custom float inputs:grid:radius = 0.25
    custom int[] outputs:near
"""


def counted(points, radius):
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.abs(apart - radius).min() > 1e-5, "no pair is so near to the radius that rounding decides"
    return (apart <= radius).sum(1).tolist()


def test_a_hash_grid_of_points(make_scene, play, device):
    points = np.random.default_rng(5).random((60, 3)).astype(np.float32)
    attributes = GRID.replace("POINTS", str([tuple(p) for p in points.tolist()]))
    connected = attributes + "custom point3f[] inputs:grid:points.connect = </G/kernel.inputs:x>\n"
    negative = connected.replace("grid:radius = 0.25", "grid:radius = -1")
    missing = attributes + 'custom token inputs:grid:points = "y"\n'
    nodes = kernel(NEAR, connected + "custom int3 inputs:grid:cells = (4, 8, 2)\n")
    nodes += kernel(NEAR, negative, "negative") + kernel(NEAR, missing, "missing") + kernel(NEAR, attributes, "none")
    result = play(make_scene(nodes, frames="0:1"), device=str(device))
    assert value(result, "/G/kernel.outputs:near").tolist() == counted(points.astype(np.float64), 0.25)
    errors = dict(text.split(": ", 1) for text in result.log.errors)
    assert sorted(errors) == ["/G/missing", "/G/negative", "/G/none"]
    assert "the hash grid of parameter `grid` cannot be made: radius" in errors["/G/negative"]
    assert (
        "has the array 'y'" in errors["/G/missing"] and "for a wp.HashGrid add inputs:grid:points" in errors["/G/none"]
    )


MOVE = (
    NEAR.replace("near[i] += 1", "wp.atomic_add(near, i, 1)")
    + """
@wp.kernel
def move(x: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x[i] = 1.5 * x[i]
"""
)


def test_a_hash_grid_follows_a_persistent_array_in_every_substep(make_scene, play, device):
    points = np.random.default_rng(6).random((40, 3)).astype(np.float32)
    attributes = GRID.replace("POINTS", str([tuple(p) for p in points.tolist()]))
    attributes += 'custom point3f[] state:x\ncustom token inputs:grid:points = "x"\ncustom int inputs:substeps = 3\n'
    result = play(make_scene(kernel(MOVE, attributes), frames="0:1"), device=str(device))
    assert not result.log.errors
    steps = [counted(points.astype(np.float64) * 1.5**n, 0.25) for n in range(6)]
    assert value(result, "/G/kernel.outputs:near").tolist() == np.sum(steps[3:], axis=0).tolist()


SAMPLE = """
@wp.kernel
def sample(smoke: wp.uint64, at: wp.array(dtype=wp.vec3), found: wp.array(dtype=float)):
    i = wp.tid()
    found[i] = wp.volume_sample_f(smoke, at[i], wp.Volume.LINEAR)
"""
VOLUME = """
    custom point3f[] inputs:at = [(1, 2, 3), (2.5, 0, 1), (99, 0, 0)]
    custom float[] outputs:found
"""


def test_a_volume_from_a_file_beside_the_scene(make_scene, play, tmp_path, capsys):
    dense = np.random.default_rng(7).random((4, 4, 4)).astype(np.float32)
    (tmp_path / "smoke.nvdb").write_bytes(wp.Volume.load_from_numpy(dense, bg_value=0.5, device="cpu").array().numpy())
    (tmp_path / "broken.nvdb").write_bytes(b"no volume")
    nodes = kernel(SAMPLE, VOLUME + "custom asset inputs:smoke:file = @./smoke.nvdb@\n")
    nodes += kernel(SAMPLE, VOLUME + "custom asset inputs:smoke:file = @./broken.nvdb@\n", "broken")
    nodes += kernel(SAMPLE, VOLUME + 'custom token inputs:smoke:file = "gone.nvdb"\n', "gone")
    nodes += kernel(SAMPLE, VOLUME + "custom token inputs:smoke:file.connect = </G/maker.outputs:x>\n", "computed")
    nodes += 'def OmniGraphNode "maker" {\n token node:type = "omni.warp_core.Kernel"\n custom token outputs:x\n}\n'
    result = play(make_scene(nodes, frames="0:1"))
    wanted = [dense[1, 2, 3], (dense[2, 0, 1] + dense[3, 0, 1]) / 2, 0.5]
    assert np.allclose(value(result, "/G/kernel.outputs:found"), wanted, atol=1e-6)
    errors = dict(text.split(": ", 1) for text in result.log.errors)
    assert sorted(errors) == ["/G/broken", "/G/computed", "/G/gone", "/G/maker"]
    assert "No such file" in errors["/G/gone"] and "is computed by /G/maker.outputs:x" in errors["/G/computed"]
    console.ask_consent("scene.usda", result.player.codes)
    assert f"reads {tmp_path / 'smoke.nvdb'}" in capsys.readouterr().err
    digests = {code.node: code.digest for code in result.player.codes}
    assert digests["/G/kernel"] != digests["/G/broken"], "consent is for this text with this file"


@pytest.mark.parametrize("kind", ["float[]", "point3d[]"])
def test_points_of_a_structure_must_be_points(make_scene, play, kind):
    authored = "[1, 2]" if kind == "float[]" else "[(0, 0, 0), (1, 0, 0), (0, 1, 0)]"
    attributes = MESH.replace("COUNTS", "[3]").replace("[0, 1, 2, 3]", "[0, 1, 2]")
    attributes = attributes.replace(
        "point3f[] inputs:mesh:points.connect = </G/lift.outputs:q>", f"{kind} inputs:mesh:points = {authored}"
    )
    result = play(make_scene(kernel(RAY, attributes), frames="0:0"))
    if kind == "float[]":
        assert len(result.log.errors) == 1 and "such as point3f[]" in result.log.errors[0]
    else:
        assert value(result, "/G/kernel.outputs:height").tolist() == [0, 0, -1], "float64 becomes float32"
