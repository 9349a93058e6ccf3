"""`string[]` and `asset[]`, for which OmniGraph has no types: nodes have tokens, and the stage keeps its own types."""

import pytest
from pxr import Sdf, Usd

import omni.warp_core as wp

MORE = "def compute(db):\n    db.outputs.texts = [*db.inputs.texts, 'ü b']\n"
KINDS = {"string[]": Sdf.ValueTypeNames.StringArray, "asset[]": Sdf.ValueTypeNames.AssetArray}


def texts(value):
    return [each.path if isinstance(each, Sdf.AssetPath) else each for each in value]


@pytest.mark.parametrize("kind", KINDS)
def test_texts_go_from_a_prim_through_a_script_to_a_prim(kind, tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "scene.usda"))
    attribute = stage.DefinePrim("/P").CreateAttribute("texts", KINDS[kind])
    attribute.Set(["a", "b"] if kind == "string[]" else [Sdf.AssetPath("a"), Sdf.AssetPath("b")])
    graph = wp.nodes.GraphBuilder(stage, "/G")
    read = graph.node("read", "omni.graph.nodes.ReadPrimAttribute", prim="/P", name="texts", usdTimecode=0.0)
    more = graph.node("more", "omni.warp_core.Script", script=MORE)
    graph.attribute(more, "inputs:texts", kind)
    graph.attribute(more, "outputs:texts", kind)
    write = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim="/P", name="texts")
    graph.connect(f"{read}.outputs:value", f"{more}.inputs:texts")
    graph.connect(f"{more}.outputs:texts", f"{write}.inputs:value")
    assert stage.GetAttributeAtPath(f"{more}.inputs:texts").GetTypeName() == KINDS[kind]
    stage.Save()
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.play()
        assert not player.errors and not player.warnings
        assert player.get("/P.texts") == ("a", "b", "ü b")
        player.save(str(tmp_path / "out.usda"))
    played = Usd.Stage.Open(str(tmp_path / "out.usda"))
    result = played.GetAttributeAtPath("/P.texts")
    assert result.GetTypeName() == KINDS[kind]
    assert texts(result.Get(1)) == ["a", "b", "ü b"]


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_a_node_keep_the_type_of_the_stage(kind):
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    more = graph.node("more", "omni.warp_core.Script", script=MORE)
    graph.attribute(more, "inputs:texts", kind, ["x"])
    graph.set(f"{more}.inputs:texts", ["x", "y"])
    found = stage.GetAttributeAtPath(f"{more}.inputs:texts")
    assert found.GetTypeName() == KINDS[kind] and texts(found.Get()) == ["x", "y"]
    graph.attribute(more, "outputs:texts", "token[]")
    with wp.usd.play(stage, frames=(0, 0), fps=24, trust=True) as player:
        player.step()
        assert player.get(f"{more}.outputs:texts") == ("x", "y", "ü b")
