"""Nodes of other extensions on a GPU: `memoryType` says where they get their arrays, and the report counts copies."""

import numpy as np
import pytest

from omni.warp_core.nodes.values.bundles import prims_of
from tests.gpu.test_node_geometry import CLOCK, NOISE, mover, taken_out
from tests.gpu.test_node_geometry import READ as MESH
from tests.gpu.test_nodes import DEVICE, Scene
from tests.nodes.conftest import no_stand_ins_stay  # noqa: F401
from tests.nodes.extensions.memory_nodes import bundled, other, sway, write_nodes
from tests.nodes.kernel.kernel_scenes import POINTS, READ, write

FRAMES = 4
FIRST = READ + sway("first", "/G/read.outputs:value")
OUT = "/G/first.outputs:points"


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    return [write_nodes(tmp_path_factory.mktemp("nodes") / "acme_memory_on_gpu")]


def expected(points, frame, times=1):
    """The points after Sway, in float64."""
    points = np.asarray(points, np.float64)
    for _ in range(times):
        points = points + np.outer(np.sin(points[:, 0]), [0, frame / 24, 0])
    return points


def played(folder, nodes, types):
    scene = Scene(folder, nodes, types=types)
    for _ in range(FRAMES):
        scene.step()
    return scene


def test_arrays_stay_on_the_device_from_node_to_node(tmp_path, types):
    nodes = FIRST + sway("second", OUT) + other("pass", "Pass", "/G/second.outputs:points")
    nodes += sway("third", "/G/pass.outputs:points") + other("sized", "Sized", "/G/third.outputs:points")
    scene = played(tmp_path, nodes + other("rows", "Rows", "/G/sized.outputs:points"), types)
    names = ("first", "second", "pass", "third", "sized", "rows")
    assert {name: scene.copies(name) for name in names} == dict.fromkeys(names, (0, 0)) | {"first": (1, 0)}
    assert scene.value("/G/pass.outputs:seen") == scene.value("/G/sized.outputs:seen") == DEVICE
    assert np.allclose(scene.value("/G/rows.outputs:points"), 2 * expected(POINTS, FRAMES - 1, 3), atol=1e-5)
    assert scene.copies("rows") == (0, 1), "the line above asked for the numbers"


def test_kernel_nodes_take_the_same_arrays(tmp_path, types):
    nodes = FIRST + mover(OUT) + sway("last", "/G/move.outputs:q")
    scene = played(tmp_path, nodes, types)
    assert [scene.copies(name) for name in ("first", "move", "last")] == [(1, 0), (0, 0), (0, 0)]
    moved = expected(POINTS, FRAMES - 1) + np.array([0, (FRAMES - 1) / 24, 0])
    assert np.allclose(scene.value("/G/last.outputs:points"), expected(moved, FRAMES - 1), atol=1e-5)


def test_bundles(tmp_path, types):
    noise = MESH + NOISE % "read.outputs_bundle" + bundled("first", "/G/noise.outputs_prims")
    nodes = CLOCK + noise + bundled("last", "/G/first.outputs_mesh") + taken_out("/G/last.outputs_mesh", "/World/Mesh")
    scene = played(tmp_path, nodes, types)
    assert [scene.copies(name) for name in ("noise", "first", "last")] == [(1, 0), (0, 0), (0, 0)]
    assert scene.value("/G/last.outputs:seen") == DEVICE
    prims = [prims_of(scene.value(f"/G/{path}"))[0] for path in ("noise.outputs:prims", "first.outputs:mesh")]
    assert np.array_equal(scene.value("/G/points.outputs:output"), 4 * prims[0].value("points"))
    assert np.array_equal(prims[1].value("before"), prims[0].value("points"))


def test_no_elements(tmp_path, types):
    nodes = CLOCK + sway("first", "") + sway("second", OUT)
    scene = played(tmp_path, nodes, types)
    assert scene.value("/G/second.outputs:points").shape == (0, 3)


def test_the_cpu_gets_a_copy_where_it_asks(tmp_path, types):
    nodes = FIRST + other("count", "Count", OUT) + other("host", "Host", OUT)
    nodes += other("pass", "Pass", "/G/host.outputs:points") + sway("last", "/G/pass.outputs:points")
    scene = played(tmp_path, nodes + write("/G/last.outputs:points"), types)
    assert scene.copies("first") == (1, FRAMES), "points once, and those for Host in each frame"
    assert scene.copies("count") == scene.copies("host") == scene.copies("pass") == (0, 0)
    assert scene.copies("last") == (FRAMES, FRAMES), "from Host, and to the stage"
    assert scene.value("/G/count.outputs:seen") == str(len(POINTS))
    assert scene.value("/G/host.outputs:seen") == scene.value("/G/pass.outputs:seen") == "ndarray"
    wanted = expected(2 * expected(POINTS, FRAMES - 1), FRAMES - 1)
    assert np.allclose(scene.value("/G/last.outputs:points"), wanted, atol=1e-5)


@pytest.mark.parametrize(("kind", "declared"), [("Typed", "token"), ("Dynamic", "point3f[]")])
def test_attributes_typed_later(tmp_path, types, kind, declared):
    scene = played(tmp_path, FIRST + other("late", kind, OUT, declared), types)
    assert scene.value("/G/late.outputs:seen") == DEVICE
    assert scene.copies("first") == (1, 0) and scene.copies("late") == (0, 0)
    assert np.allclose(scene.value("/G/late.outputs:points"), expected(POINTS, FRAMES - 1), atol=1e-6)


def test_other_elements_are_converted_on_the_cpu(tmp_path, types):
    scene = played(tmp_path, FIRST + other("wide", "Wider", OUT), types)
    assert scene.copies("wide") == (0, FRAMES)
    assert np.allclose(scene.value("/G/wide.outputs:points"), expected(POINTS, FRAMES - 1), atol=1e-6)
