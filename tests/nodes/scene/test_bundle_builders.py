"""GraphBuilder, `fit` and presets with bundles as arguments of a kernel. Expected values by hand."""

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom

import omni.warp_core as wp

LIFT = """
@wp.kernel
def lift(mesh: wp.uint64, mesh_points: wp.array[wp.vec3], mesh_primvars_displayColor: wp.array[wp.vec3],
         mesh_widths: wp.array[float], height: float):
    i = wp.tid()
    mesh_points[i] += wp.vec3(0.0, 0.0, height * mesh_widths[i])
    mesh_primvars_displayColor[i] = wp.vec3(0.0, 1.0, 0.0)
"""
BUNDLE = {"inputs:mesh": "bundle"}
OUTPUTS = ["outputs:mesh:points", "outputs:mesh:primvars:displayColor"]


@pytest.fixture
def graph():
    stage = Usd.Stage.CreateInMemory()
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    mesh.CreateDisplayColorPrimvar("vertex").Set([(1, 0, 0)] * 4)
    mesh.GetPrim().CreateAttribute("widths", Sdf.ValueTypeNames.FloatArray).Set([1, 2, 3, 4])
    return wp.nodes.GraphBuilder(stage, "/G")


def names(graph, node):
    found = graph.stage.GetPrimAtPath(node).GetPropertyNames()
    return [name for name in found if name not in ("inputs:codeStr", "node:type", "node:typeVersion")]


def test_a_kernel_over_a_bundle_has_outputs_for_the_members_that_it_writes(graph):
    read = graph.node("read", "omni.warp_core.ReadMesh", prim="/Mesh", usdTimecode=0.0)
    lift = graph.kernel("lift", LIFT, attributes=BUNDLE, height=2.0)
    write = graph.node("write", "omni.graph.nodes.WritePrimsV2", prims="/Lifted")
    graph.connect(f"{read}.outputs:bundle", f"{lift}.inputs:mesh")
    graph.connect(f"{lift}.outputs:mesh", f"{write}.inputs:primsBundle")
    assert names(graph, lift) == ["inputs:height", "inputs:mesh", *OUTPUTS, "outputs_mesh"]
    assert {change.kind for change in graph.fit(lift)} == {"kept"}
    with wp.usd.play(graph.stage, frames=(0, 0), fps=24, trust=True) as player:
        player.step()
        assert not player.errors and not player.warnings
        assert player.get("/Lifted.points")[:, 2].tolist() == [2, 4, 6, 8]
        assert np.array_equal(player.get("/Lifted.primvars:displayColor"), [(0, 1, 0)] * 4)


def test_a_text_without_a_member_that_it_wrote_loses_its_output(graph):
    lift = graph.kernel("lift", LIFT, attributes=BUNDLE)
    text = LIFT.replace("    mesh_primvars_displayColor[i] = wp.vec3(0.0, 1.0, 0.0)\n", "")
    graph.set(f"{lift}.inputs:codeStr", text.replace("mesh_primvars_displayColor: wp.array[wp.vec3],", ""))
    gone = [change.attribute for change in graph.fit(lift) if change.kind == "removed"]
    assert gone == OUTPUTS[1:] and names(graph, lift) == ["inputs:height", "inputs:mesh", OUTPUTS[0], "outputs_mesh"]


def test_an_attribute_of_the_node_goes_before_a_member(graph):
    lift = graph.kernel("lift", LIFT, attributes=BUNDLE | {"inputs:mesh:widths": "float[]"})
    assert "inputs:mesh:widths" in names(graph, lift)


def test_a_preset_keeps_bundles(graph, tmp_path):
    graph.save_preset(graph.kernel("lift", LIFT, attributes=BUNDLE), tmp_path / "lift.py")
    again = graph.kernel("again", preset=str(tmp_path / "lift.py"))
    assert names(graph, again) == names(graph, "/G/lift")


def test_a_node_that_cannot_be_made_leaves_nothing_behind(graph):
    with pytest.raises(ValueError, match=r"no attribute 'inputs:heigt'; did you mean inputs:height"):
        graph.kernel("lift", LIFT, attributes=BUNDLE, heigt=2.0)
    with pytest.raises(ValueError, match="token needs a text"):
        graph.node("read", "omni.graph.nodes.ReadPrimAttribute", name=3)
    assert not graph.stage.GetPrimAtPath("/G").GetChildren()


def test_an_output_with_the_name_of_the_parameter_is_a_member_too(graph):
    """As the studio adds it to a text before a bundle is connected."""
    lift = graph.kernel("lift", LIFT, attributes=BUNDLE | {"outputs:mesh_points": "float3[]"}, height=2.0)
    read = graph.node("read", "omni.warp_core.ReadMesh", prim="/Mesh", usdTimecode=0.0)
    write = graph.node("write", "omni.graph.nodes.WritePrimsV2", prims="/Lifted")
    graph.connect(f"{read}.outputs:bundle", f"{lift}.inputs:mesh")
    graph.connect(f"{lift}.outputs:mesh", f"{write}.inputs:primsBundle")
    assert OUTPUTS[0] not in names(graph, lift)
    with wp.usd.play(graph.stage, frames=(0, 0), fps=24, trust=True) as player:
        player.step()
        assert not player.errors
        assert player.get("/Lifted.points")[:, 2].tolist() == [2, 4, 6, 8]
