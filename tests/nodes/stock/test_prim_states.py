"""Switching prims off and on, the directions of a prim, and printing."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core import cli


@pytest.fixture
def stage():
    """A stage with a ball, and a prim that is never drawn."""
    made = Usd.Stage.CreateInMemory()
    made.SetStartTimeCode(1)
    made.SetEndTimeCode(4)
    made.SetTimeCodesPerSecond(24)
    UsdGeom.Sphere.Define(made, "/Ball")
    UsdGeom.Sphere.Define(made, "/Off").GetPrim().SetActive(False)
    made.DefinePrim("/Data", "Backdrop")
    return made


def switched(stage, **named):
    """A graph that makes a prim active in frames 3 and later, and asks before and after."""
    graph = wp.nodes.GraphBuilder(stage, "/G", evaluator="execution")
    graph.node("tick", "omni.graph.action.OnTick")
    graph.node("limit", "omni.graph.nodes.ConstantDouble", value=2.5)
    graph.node("late", "omni.graph.nodes.Compare", operation=">")
    graph.node("set", "omni.graph.action.SetPrimActive", **named)
    graph.node("is", "omni.graph.nodes.IsPrimActive", **named)
    graph.kernel("note", "@wp.kernel\ndef note(on: bool, seen: wp.array(dtype=int)):\n    seen[0] = int(on)\n")
    graph.connect("/G/tick.outputs:frame", "/G/late.inputs:a")
    graph.connect("/G/limit.inputs:value", "/G/late.inputs:b")
    graph.connect("/G/late.outputs:result", "/G/set.inputs:active")
    graph.connect("/G/tick.outputs:tick", "/G/set.inputs:execIn")
    graph.connect("/G/set.outputs:execOut", "/G/note.inputs:execIn")
    graph.connect("/G/is.outputs:active", "/G/note.inputs:on")


@pytest.mark.parametrize("named", [{"prim": "/Ball"}, {"primTarget": "/Ball"}], ids=str)
def test_a_prim_is_switched_off_and_on(stage, tmp_path, named):
    switched(stage, **named)
    seen = []
    with wp.usd.play(stage, trust=True) as player:
        for _ in range(4):
            player.step()
            seen.append(player.get("/G/note.outputs:seen")[0])
        assert not player.errors
        player.save(str(tmp_path / "o.usda"))
    assert seen == [0, 0, 1, 1]
    result = Usd.Stage.Open(str(tmp_path / "o.usda"))
    visible = result.GetAttributeAtPath("/Ball.visibility")
    assert [visible.Get(f) for f in (1, 2, 3, 4)] == ["invisible", "invisible", "inherited", "inherited"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/Off", "/Off is inactive in the scene"),
        ("/Data", "/Data has no attribute visibility"),
        ("/Nobody", "/Nobody"),
        ("", "no prim is named"),
    ],
)
def test_prims_that_cannot_be_switched(stage, path, words):
    switched(stage, prim=path)
    with wp.usd.play(stage, frames=(1, 1), trust=True) as player:
        player.step()
        assert words in player.errors[0]


def test_a_prim_that_is_hidden_is_active(stage):
    UsdGeom.Imageable(stage.GetPrimAtPath("/Ball")).MakeInvisible()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    graph.node("ball", "omni.graph.nodes.IsPrimActive", prim="/Ball")
    graph.node("off", "omni.graph.nodes.IsPrimActive", prim="/Off")
    with wp.usd.play(stage) as player:
        player.step()
        assert player.get("/G/ball.outputs:active") and not player.get("/G/off.outputs:active")


def test_directions_of_a_prim(stage):
    matrix = Gf.Matrix4d().SetScale(Gf.Vec3d(2, 3, 0.5)) * Gf.Matrix4d().SetRotate(Gf.Rotation((1, 2, 3), 40))
    UsdGeom.Xformable(stage.GetPrimAtPath("/Ball")).AddTransformOp().Set(matrix)
    graph = wp.nodes.GraphBuilder(stage, "/G")
    graph.node("way", "omni.graph.nodes.GetPrimDirectionVector", primPath="/Ball")
    with wp.usd.play(stage) as player:
        player.step()
        found = {name: player.get(f"/G/way.outputs:{name}Vector") for name in ("right", "up", "backward", "forward")}
    rotation = np.array(Gf.Matrix3d(Gf.Rotation((1, 2, 3), 40)))
    np.testing.assert_allclose([found[n] for n in ("right", "up", "backward")], rotation, atol=1e-12)
    np.testing.assert_allclose(found["forward"], -rotation[2], atol=1e-12)


def printing(stage, **inputs):
    graph = wp.nodes.GraphBuilder(stage, "/G", evaluator="execution")
    graph.node("tick", "omni.graph.action.OnTick")
    graph.node("print", "omni.graph.ui_nodes.PrintText", **inputs)
    graph.connect("/G/tick.outputs:tick", "/G/print.inputs:execIn")


def test_a_text_is_printed_in_each_frame(stage, tmp_path, capsys):
    printing(stage, text="Hello \x1b[2J", logLevel="Warning")
    with wp.usd.play(stage, frames=(1, 2)) as player:
        player.play()
        assert not player.errors and not player.warnings
    assert capsys.readouterr().out == "warning: /G/print: Hello \\x1b[2J\n" * 2
    stage.Export(str(tmp_path / "s.usda"))
    code = cli.main(["play", str(tmp_path / "s.usda"), "-o", str(tmp_path / "o.usda"), "--frames", "1:1"])
    told = capsys.readouterr().err
    assert "warning: /G/print: Hello \\x1b[2J" in told
    assert code == cli.NODES and "no node wrote anything" in told


def test_a_long_text_is_cut(stage, capsys):
    printing(stage, text="x" * 5000, logLevel="Error")
    with wp.usd.play(stage, frames=(1, 1)) as player:
        player.play()
        assert not player.errors
    assert capsys.readouterr().out == f"error: /G/print: {'x' * 1000}... (5000 characters)\n"


@pytest.mark.parametrize("kind", ["nodes.GetPrimDirectionVector", "ui_nodes.GetCameraPosition"])
def test_a_prim_counts_where_a_path_would_by_default(stage, kind):
    """`usePath` is true by default; a scene that names a prim and no path means that prim."""
    for name, x in (("First", 1.0), ("Second", 2.0)):
        camera = UsdGeom.Camera.Define(stage, f"/{name}")
        camera.AddTranslateOp().Set((x, 0, 0))
        camera.AddRotateYOp().Set(90.0 * x)
    graph = wp.nodes.GraphBuilder(stage, "/G")
    graph.node("ask", f"omni.graph.{kind}", prim="/Second")
    graph.node("path", f"omni.graph.{kind}", prim="/Second", primPath="/First")
    graph.node("text", "omni.graph.nodes.ConstantToken")
    graph.node("empty", f"omni.graph.{kind}", prim="/Second")
    graph.connect("/G/text.inputs:value", "/G/empty.inputs:primPath")
    with wp.usd.play(stage, trust=True) as player:
        player.step()
        output = "position" if "Camera" in kind else "forwardVector"
        found = {name: player.get(f"/G/{name}.outputs:{output}") for name in ("ask", "path")}
        messages = [*player.errors, *player.warnings]
    expected = [[2, 0, 0], [1, 0, 0]] if "Camera" in kind else [[0, 0, 1], [-1, 0, 0]]
    assert np.allclose([found["ask"], found["path"]], expected, atol=1e-6)
    assert len(messages) == 1 and messages[0].startswith("/G/empty: ")
