"""Kernel nodes from their text: presets compute what NumPy computes, and attributes follow from signatures."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core import cli
from omni.warp_core.nodes.scene import kernel_presets

RANDOM = np.random.default_rng(3)
POINTS = RANDOM.uniform(-1, 1, (40, 3)).astype(np.float32)


@pytest.fixture
def graph():
    return wp.nodes.GraphBuilder(Usd.Stage.CreateInMemory(), "/G")


def run(graph, path, frames=1, **inputs):
    """Play some frames of a preset, and return its outputs."""
    for name, value in inputs.items():
        graph.set(f"{path}.inputs:{name.replace('__', ':')}", value)
    with wp.usd.play(graph.stage, frames=(0, frames - 1), trust=True) as player:
        player.play()
        assert not player.errors, player.errors
        (node,) = player.nodes()
        return {a.base_name: a.value for a in node.on("outputs") if not a.type.is_execution}


def test_twist(graph):
    found = run(graph, graph.kernel("k", preset="twist"), points=POINTS, turns=0.7)["twisted"]
    z = (POINTS[:, 0] + 1j * POINTS[:, 2]) * np.exp(-0.7j * POINTS[:, 1])
    np.testing.assert_allclose(found, np.stack([z.real, POINTS[:, 1], z.imag], -1), atol=1e-6)


def test_displace_moves_along_normals(graph):
    normals = RANDOM.normal(size=(40, 3)).astype(np.float32)
    given = {"points": POINTS, "normals": normals, "height": 0.5}
    moved = run(graph, graph.kernel("k", preset="displace"), **given)["displaced"] - POINTS
    length = (moved * normals).sum(1) / (normals * normals).sum(1)
    np.testing.assert_allclose(moved, length[:, None] * normals, atol=1e-6)
    assert 0.02 < np.abs(length).max() <= 0.5


def test_ramp(graph):
    found = run(graph, graph.kernel("k", preset="ramp"), points=POINTS, low=-0.5, high=0.5)["colors"]
    s = np.clip(POINTS[:, 1:2] + 0.5, 0, 1)
    np.testing.assert_allclose(found, (1 - s) * [0.05, 0.1, 0.3] + s * [0.9, 0.6, 0.2], atol=1e-6)


def test_keep(graph):
    found = run(graph, graph.kernel("k", preset="keep"), points=POINTS, height=0.2)
    wanted = POINTS[POINTS[:, 1] >= 0.2]
    assert found["count"] == len(wanted) and sorted(found["kept"].tolist()) == sorted(wanted.tolist())


def test_project(graph):
    square = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], np.float32)
    mesh = {"mesh__points": square, "mesh__faceVertexCounts": [4], "mesh__faceVertexIndices": [0, 1, 2, 3]}
    far = 2 * POINTS
    found = run(graph, graph.kernel("k", preset="project"), points=far, **mesh)["projected"]
    np.testing.assert_allclose(found, np.clip(far, -1, 1) * [1, 0, 1], atol=1e-6)


def test_spread(graph):
    given = {"points": POINTS, "grid__points": POINTS, "radius": 0.6, "amount": 0.25}
    found = run(graph, graph.kernel("k", preset="spread"), **given)["moved"]
    away = POINTS[:, None] - POINTS[None].astype(np.float64)
    distance = np.linalg.norm(away, axis=-1)
    near = (distance > 0) & (distance < 0.6)
    push = np.where(near, (0.6 - distance) / np.where(near, distance, 1), 0)[..., None] * away
    np.testing.assert_allclose(found, POINTS + 0.25 * push.sum(1), atol=2e-6)


def test_bounce(graph):
    start = POINTS + np.float32([0, 1.2, 0])
    found = run(graph, graph.kernel("k", preset="bounce"), 8, x=start, dt=0.02)["x"]
    x, v = start.astype(np.float64), np.zeros((40, 3))
    for _ in range(8 * 4):
        v[:, 1] -= 9.81 * 0.02
        x += 0.02 * v
        low = x[:, 1] < 0
        x[low, 1], v[low, 1] = 0, 0.7 * np.abs(v[low, 1])
    np.testing.assert_allclose(found, x, atol=2e-5)


def test_diffuse(graph):
    heat = np.zeros((64, 64), np.float32)
    heat[20:30, 3:9] = 1
    found = run(graph, graph.kernel("k", preset="diffuse"), 3, heat=heat.ravel())["heat"].reshape(64, 64)
    wanted = heat.astype(np.float64)
    for _ in range(3 * 4):
        p = np.pad(wanted, 1, mode="edge")
        wanted = wanted + np.float32(0.2) * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * wanted)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_every_preset_is_tested_and_fits_its_own_signature(graph):
    for name in kernel_presets.names():
        assert f"test_{name}" in globals() or name == "displace"
        changes = graph.fit(graph.kernel(name, preset=name))
        assert {change.kind for change in changes} == {"kept"}, name


OLD = """
@wp.kernel
def k(points: wp.array(dtype=wp.vec3), scale: float, count: int, moved: wp.array(dtype=wp.vec3)):
    moved[wp.tid()] = scale * points[wp.tid()]
"""
NEW = """
@wp.kernel
def k(points: wp.array(dtype=wp.vec3), scale: wp.vec3, weight: float, moved: wp.array(dtype=wp.vec3),
      colors: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    moved[i] = weight * wp.cw_mul(scale, points[i])
    colors[i] = wp.vec4(1.0, 0.0, 0.0, 1.0)
"""


def test_a_new_text_keeps_values_and_connections(graph):
    UsdGeom.Points.Define(graph.stage, "/Dots").CreatePointsAttr([(1, 2, 3)])
    read = graph.node("read", "omni.graph.nodes.ReadPrimAttribute", prim="/Dots", name="points")
    path = graph.kernel("k", OLD, scale=2.0, count=7, attributes={"inputs:points": "point3f[]"})
    graph.connect(f"{read}.outputs:value", f"{path}.inputs:points")
    graph.set(f"{path}.inputs:codeStr", NEW)
    assert [(c.kind, c.attribute, c.before, c.after) for c in graph.fit(path)] == [
        ("kept", "inputs:points", "point3f[]", "float3[]"),
        ("retyped", "inputs:scale", "float", "float3"),
        ("added", "inputs:weight", "", "float"),
        ("kept", "outputs:moved", "float3[]", "float3[]"),
        ("added", "outputs:colors", "", "float4[]"),
        ("removed", "inputs:count", "int", ""),
    ]
    prim = graph.stage.GetPrimAtPath(path)
    assert str(prim.GetAttribute("inputs:points").GetConnections()[0]) == "/G/read.outputs:value"
    assert not prim.HasAttribute("inputs:count") and prim.GetAttribute("inputs:scale").GetTypeName() == "float3"
    graph.set(f"{path}.inputs:scale", (1, 2, 3))
    graph.set(f"{path}.inputs:weight", 10.0)
    with wp.usd.play(graph.stage, frames=(0, 0), trust=True) as player:
        player.step()
        assert not player.errors and player.get(f"{path}.outputs:moved").tolist() == [[10, 40, 90]]


def test_a_retyped_value_that_converts_stays(graph):
    path = graph.kernel("k", OLD, scale=2.5, count=7)
    graph.set(f"{path}.inputs:codeStr", OLD.replace("count: int", "count: wp.float64"))
    assert not [c for c in graph.fit(path) if c.kind != "kept"], "the node converts an int to a double itself"
    graph.set(f"{path}.inputs:codeStr", OLD.replace("scale: float", "scale: wp.array(dtype=float)"))
    (change,) = [c for c in graph.fit(path) if c.kind != "kept"]
    assert (change.kind, change.after) == ("retyped", "float[]")
    assert graph.stage.GetPrimAtPath(path).GetAttribute("inputs:scale").Get() is None, "one value is no array"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "twists"}, "there is no preset 'twists'; did you mean twist?"),
        ({}, "either the code"),
        ({"preset": "twist", "nothing": 1}, "has no attribute 'inputs:nothing'"),
        ({"attributes": {"points": "float3[]"}, "preset": "twist"}, "must start with inputs:"),
    ],
)
def test_mistakes(graph, options, words):
    with pytest.raises(ValueError, match=words):
        graph.kernel("k", **options)


def test_mistakes_of_a_text(graph):
    with pytest.raises(ValueError, match=r"/G/a\.inputs:codeStr:3"):
        graph.kernel("a", f"\nimport math\n1 / 0\n{OLD}")
    with pytest.raises(ValueError, match="does not name its attributes"):
        graph.kernel("b", "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    pass\n")
    with pytest.raises(ValueError, match="is not a Kernel node"):
        graph.fit(graph.node("time", "omni.graph.nodes.ReadTime"))


def test_the_command_lists_presets_and_prints_one(capsys, tmp_path):
    assert cli.main(["presets"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == kernel_presets.names()
    assert cli.main(["presets", "twist"]) == 0
    (tmp_path / "twist.usda").write_text(capsys.readouterr().out)
    stage = Usd.Stage.Open(str(tmp_path / "twist.usda"))
    assert stage.GetAttributeAtPath("/Graph/twist.outputs:twisted").GetTypeName() == "point3f[]"
    assert cli.main(["presets", "twst"]) == cli.USAGE
    assert "did you mean twist?" in capsys.readouterr().err


SLOW = """# Turns slowly.
@wp.kernel
def slow(points: wp.array(dtype=wp.vec3), speed: float, velocity: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    velocity[i] += speed * points[i]
"""
STATE = {"state:velocity": "vector3f[]", "outputs:velocity": "vector3f[]"}


def slow_node(graph):
    """A node with a state, a setting and values."""
    path = graph.kernel("slow", SLOW, attributes=STATE, speed=0.25)
    graph.set(f"{path}.inputs:substeps", 3)
    return path


@pytest.mark.parametrize("use", [False, True])
def test_a_node_is_saved_as_a_preset_and_used_again(tmp_path, use):
    stage = Usd.Stage.CreateNew(str(tmp_path / "a" / "scene.usda"))
    graph = wp.nodes.GraphBuilder(stage, "/G")
    path, file = slow_node(graph), tmp_path / "b" / "slow.py"
    file.parent.mkdir()
    graph.save_preset(path, file, use=use)
    other = wp.nodes.GraphBuilder(Usd.Stage.CreateInMemory(), "/H")
    again = other.kernel("again", preset=str(file))
    np.testing.assert_allclose(run(other, again, frames=2, points=POINTS)["velocity"], 6 * 0.25 * POINTS, rtol=1e-6)
    stage.Save()
    np.testing.assert_allclose(run(graph, path, frames=2, points=POINTS)["velocity"], 6 * 0.25 * POINTS, rtol=1e-6)
    code = stage.GetPrimAtPath(path).GetAttribute("inputs:codeFile")
    assert (code.Get() if use else code.IsValid()) == ("../b/slow.py" if use else False)


def test_the_command_saves_and_shows_a_preset(tmp_path, capsys):
    stage = Usd.Stage.CreateNew(str(tmp_path / "scene.usda"))
    path = slow_node(wp.nodes.GraphBuilder(stage, "/G"))
    stage.Save()
    scene, file = str(tmp_path / "scene.usda"), str(tmp_path / "slow.py")
    assert cli.main(["presets", path, "--from", scene, "-o", file]) == cli.OK
    lines = (tmp_path / "slow.py").read_text().splitlines()
    assert lines[0] == "# Turns slowly." and "# custom float inputs:speed = 0.25" in lines
    assert "# custom vector3f[] state:velocity" in lines and "# custom int inputs:substeps = 3" in lines
    capsys.readouterr()
    assert cli.main(["presets", file]) == cli.OK
    assert "vector3f[] state:velocity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["/G/nothing", "--from", "SCENE", "-o", "OUT.py"], cli.USAGE, "has no Kernel node /G/nothing"),
        (["/G", "--from", "SCENE", "-o", "OUT.py"], cli.USAGE, "has no Kernel node /G"),
        (["a b", "--from", "SCENE", "-o", "OUT.py"], cli.USAGE, "has no Kernel node a b"),
        (["/G/slow", "--from", "SCENE"], cli.USAGE, "NODE --from SCENE -o OUT.py"),
        (["/G/slow", "--from", "SCENE", "-o", "OUT.txt"], cli.USAGE, "NODE --from SCENE -o OUT.py"),
        (["/G/slow", "-o", "OUT.py"], cli.USAGE, "NODE --from SCENE -o OUT.py"),
        (["/G/slow", "--from", "missing.usda", "-o", "OUT.py"], cli.INPUT, "there is no such file"),
        (["/G/slow", "--from", "SCENE", "-o", "none/OUT.py"], cli.OUTPUT, "cannot be written"),
        (["missing.py"], cli.USAGE, "missing.py cannot be read: No such file"),
    ],
)
def test_a_preset_that_cannot_be_saved_or_read(tmp_path, monkeypatch, capsys, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    stage = Usd.Stage.CreateNew("SCENE.usda")
    slow_node(wp.nodes.GraphBuilder(stage, "/G"))
    stage.Save()
    arguments = [a.replace("SCENE", "SCENE.usda") if a == "SCENE" else a for a in arguments]
    assert cli.main(["presets", *arguments]) == code
    assert words in capsys.readouterr().err


def test_text_in_a_file_is_not_saved_again(graph, tmp_path):
    path = slow_node(graph)
    with pytest.raises(ValueError, match=r"ends in \.py"):
        graph.save_preset(path, tmp_path / "slow.txt")
    graph.save_preset(path, tmp_path / "slow.py", use=True)
    with pytest.raises(ValueError, match="is that file"):
        graph.save_preset(path, tmp_path / "again.py")


def test_an_attribute_may_be_an_asset(graph):
    """USD keeps the paths of assets when layers are flattened or packed, those of tokens it does not."""
    text = """
@wp.kernel
def sample(smoke: wp.uint64, points: wp.array[wp.vec3], found: wp.array[float]):
    found[wp.tid()] = wp.volume_sample_f(smoke, points[wp.tid()], wp.Volume.LINEAR)
"""
    node = graph.kernel("sample", text, attributes={"inputs:smoke:file": "asset"}, **{"smoke:file": "a.vdb"})
    authored = graph.stage.GetAttributeAtPath(f"{node}.inputs:smoke:file")
    assert (str(authored.GetTypeName()), authored.Get().path) == ("asset", "a.vdb")
    graph.set(f"{node}.inputs:smoke:file", "b.vdb")
    assert (str(authored.GetTypeName()), authored.Get().path) == ("asset", "b.vdb")
