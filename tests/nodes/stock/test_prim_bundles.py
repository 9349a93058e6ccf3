"""Reading prims into bundles and writing bundles to prims, judged by what USD finds in the result."""

import itertools

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.play.player import Player, Settings

READ = """
def OmniGraphNode "read"
{
    token node:type = "omni.graph.nodes.ReadPrimsV2"
    custom rel inputs:prims = </World/Mesh>
    %s
    def Output "outputs_primsBundle" {}
}
"""
WRITE = """
def OmniGraphNode "write"
{
    token node:type = "omni.graph.nodes.WritePrimsV2"
    custom rel inputs:primsBundle = </G/read/outputs_primsBundle>
    %s
}
"""


@pytest.fixture
def result(make_scene, play):
    """result(nodes, ...) -> the stage of the played scene, the log and the nodes by name."""

    number = itertools.count()  # USD keeps layers by name, so each scene needs its own

    def run(nodes, clean=True):
        played = play(make_scene(nodes, name=f"scene{next(number)}.usda"))
        if clean:
            assert not played.log.errors and not played.log.warnings
            played.stage = Usd.Stage.Open(str(played.target)) if played.outcome.written else None
        played.node = {n.path.rpartition("/")[2]: n for n in played.outcome.nodes}
        return played

    return run


def bundle(played, name="read", output="outputs:primsBundle"):
    return played.node[name].attributes[output].value


def test_a_prim_is_read_with_all_its_attributes(result):
    played = result(READ % "custom bool inputs:computeBoundingBox = 1", clean=False)
    prim = bundle(played).children["prim0"]
    assert np.array_equal(prim.value("points")[2], (1, 1, 0)) and prim.value("height") == 2.0
    assert prim.value("sourcePrimPath") == "/World/Mesh" and prim.value("sourcePrimType") == "Mesh"
    assert np.array_equal(prim.value("worldMatrix")[3], (1, 2, 3, 1))
    assert np.array_equal(prim.value("bboxMinCorner"), (0, 0, 0)) and np.array_equal(
        prim.value("bboxMaxCorner"), (1, 1, 0)
    )
    assert prim.value("subdivisionScheme") == "catmullClark"  # the fallback of the schema
    assert prim.value("animated") == 3.0  # of the last frame
    assert "normals" not in prim.attributes


@pytest.mark.parametrize(
    ("inputs", "names"),
    [
        ('custom string inputs:attrNamesToImport = "faceVertex* ^*Counts"', {"faceVertexIndices"}),
        ('custom string inputs:attrNamesToImport = "h?ight count"', {"height", "count"}),
        ('custom token inputs:attrNamesToImport = "* ^* points"', set()),
    ],
)
def test_patterns_choose_attributes(result, inputs, names):
    prim = bundle(result(READ % inputs, clean=False)).children["prim0"]
    assert set(prim.attributes) - {"sourcePrimPath", "sourcePrimType", "worldMatrix"} == names


@pytest.mark.parametrize(
    ("inputs", "paths"),
    [
        ('custom string inputs:pathPattern = "*"', ["/World", "/World/Mesh"]),
        ('custom string inputs:pathPattern = "*"\ncustom string inputs:typePattern = "Mesh"', ["/World/Mesh"]),
        ('custom string inputs:pathPattern = "/W* ^*/Mesh"', ["/World"]),
    ],
)
def test_a_path_pattern_searches_the_stage(result, inputs, paths):
    read = READ.replace("custom rel inputs:prims = </World/Mesh>", "") % inputs
    found = bundle(result(read, clean=False)).children.values()
    assert [prim.value("sourcePrimPath") for prim in found] == paths


def test_unchanged_parts_of_a_bundle_stay_the_same_objects(make_scene, tmp_path):
    seen = []
    player = Player.open(make_scene(READ % ""), Settings(), Log(emit=lambda text: None))
    output = player.loaded.attribute("/G/read.outputs:primsBundle")
    player.run(str(tmp_path / "out.usda"), lambda frame: seen.append(output.value))
    one, two = seen[0].children["prim0"], seen[1].children["prim0"]
    assert one is not two and one.value("animated") == 0.0 and two.value("animated") == 1.0
    changed = [name for name in one.attributes if one.attributes[name] is not two.attributes[name]]
    assert changed == ["animated"]


def test_a_new_prim_is_written_with_its_topology(result):
    played = result(READ % "" + WRITE % "custom rel inputs:prims = </Out/Copy>")
    mesh = UsdGeom.Mesh(played.stage.GetPrimAtPath("/Out/Copy"))
    assert mesh and played.stage.GetPrimAtPath("/Out").GetTypeName() == "Xform"
    assert np.array_equal(mesh.GetPointsAttr().Get(2)[1], (1, 0, 0)) and list(
        mesh.GetFaceVertexCountsAttr().Get(2)
    ) == [4]
    assert mesh.GetPrim().GetAttribute("animated").Get(2) == 2.0
    assert np.array_equal(mesh.GetExtentAttr().Get(2), [(0, 0, 0), (1, 1, 0)])
    assert len(mesh.GetPointsAttr().GetTimeSamples()) == 1  # unchanged values are written once
    placed = UsdGeom.XformCache(0).GetLocalToWorldTransform(mesh.GetPrim())
    assert np.array_equal(placed.ExtractTranslation(), (1, 2, 3))  # where the source is in the world


def test_an_existing_prim_takes_values_in_uniform_attributes_too(result):
    world = 'def Xform "Target"\n{\n def Mesh "Shape"\n {\n  uniform token subdivisionScheme = "none"\n }\n}\n'
    played = result(READ % "" + WRITE % "custom rel inputs:prims = </G/Target/Shape>" + world)
    scheme = played.stage.GetAttributeAtPath("/G/Target/Shape.subdivisionScheme")
    assert scheme.Get() == "catmullClark" and not scheme.GetTimeSamples()


def test_writing_below_what_the_graph_reads_is_refused(result):
    for target in ("/World/Mesh", "/World/Mesh/Out"):
        played = result(READ % "" + WRITE % f"custom rel inputs:prims = <{target}>", clean=False)
        assert len(played.log.errors) == 1 and "the same graph reads" in played.log.errors[0]
    played = result(READ % "custom timecode inputs:usdTimecode = 0" + WRITE % "custom rel inputs:prims = </World/Mesh>")
    assert not played.outcome.failed


def test_roots_go_to_one_target_each_and_the_rest_below(result):
    read = (READ % "").replace("</World/Mesh>", "[</World>, </World/Mesh>]")
    played = result(read + WRITE % "custom rel inputs:prims = </Out>")
    assert played.stage.GetPrimAtPath("/Out").GetTypeName() == "Xform"
    assert played.stage.GetPrimAtPath("/Out/Mesh").GetTypeName() == "Mesh"
    place = UsdGeom.XformCache(0).GetLocalToWorldTransform(played.stage.GetPrimAtPath("/Out/Mesh"))
    assert np.array_equal(place.ExtractTranslation(), (1, 2, 3))


def test_more_roots_than_targets_are_an_error(result):
    read = (READ % "").replace("</World/Mesh>", "[</World/Mesh>, </Other>]")
    played = result(read + WRITE % "custom rel inputs:prims = </Out>" + 'def Xform "T" {}', clean=False)
    assert "there is no prim /Other" in played.log.errors[0]
    read = (READ % "").replace("</World/Mesh>", "[</World/Mesh>, </G/T>]")
    played = result(read + WRITE % "custom rel inputs:prims = </Out>" + 'def Xform "T" {}', clean=False)
    assert "2 prims that are not below others, and inputs:prims names 1" in played.log.errors[0]


def test_scattering_puts_every_prim_below_every_target(result):
    inputs = "custom rel inputs:prims = [</A>, </B>]\ncustom bool inputs:scatterUnderTargets = 1"
    played = result(READ % "" + WRITE % inputs)
    for path in ("/A/World/Mesh", "/B/World/Mesh"):
        assert played.stage.GetPrimAtPath(path).GetTypeName() == "Mesh"


def test_write_prims_without_targets_writes_to_the_sources(result):
    nodes = READ % "" + (WRITE % "").replace("WritePrimsV2", "WritePrims")
    assert not result(nodes).outcome.failed


def test_the_path_and_attribute_patterns_of_a_writer(result):
    inputs = 'custom rel inputs:prims = </Out>\ncustom string inputs:attrNamesToExport = "points"'
    played = result(READ % "" + WRITE % inputs)
    mesh = played.stage.GetPrimAtPath("/Out")
    assert mesh.GetAttribute("points").Get(0) and not mesh.GetAttribute("faceVertexCounts").Get(0)
    inputs = 'custom rel inputs:prims = </Out>\ncustom string inputs:typePattern = "Points"'
    assert not result(READ % "" + WRITE % inputs, clean=False).outcome.written


def test_a_prim_of_another_type_is_not_overwritten(result):
    nodes = READ % "" + WRITE % "custom rel inputs:prims = </G/Cloud>" + 'def Points "Cloud" {}'
    played = result(nodes, clean=False)
    assert "/G/Cloud is Points and cannot become Mesh" in played.log.errors[0]


def test_bad_targets_are_named(result):
    nodes = READ % "" + WRITE % "custom rel inputs:prims = </World/Mesh.scale>"
    assert "'/World/Mesh.scale' is no path of a prim" in result(nodes, clean=False).log.errors[0]


def test_the_newer_form_of_a_bundle_link(result):
    nodes = READ % "" + WRITE % "custom rel inputs:prims = </Out>"
    nodes = nodes.replace("read/outputs_primsBundle", "read.outputs_primsBundle")
    nodes = nodes.replace('def Output "outputs_primsBundle" {}', "custom rel outputs_primsBundle")
    assert result(nodes).stage.GetPrimAtPath("/Out").GetTypeName() == "Mesh"


def test_a_bundle_link_to_a_prim_or_a_missing_output_is_told(result):
    played = result((WRITE % "").replace("/G/read/outputs_primsBundle", "/World/Mesh"), clean=False)
    assert "/World/Mesh is no output of a node" in played.log.warnings[0]
    played = result(READ % "" + (WRITE % "").replace("outputs_primsBundle", "outputs_primBundle"), clean=False)
    assert "primsBundle" in played.log.errors[0] and "is not there" in played.log.errors[0]


FIND = """
def OmniGraphNode "find"
{
    token node:type = "omni.graph.nodes.FindPrims"
    %s
}
"""


@pytest.mark.parametrize(
    ("inputs", "paths"),
    [
        ('custom token inputs:type = "Mesh"\ncustom bool inputs:recursive = 1', ("/World/Mesh",)),
        ('custom token inputs:namePrefix = "Wo"', ("/World",)),
        ("custom bool inputs:ignoreSystemPrims = 1\ncustom bool inputs:recursive = 1", ("/World", "/World/Mesh")),
        ("custom rel inputs:rootPrim = </World>", ("/World/Mesh",)),
        ('custom token inputs:rootPrimPath = "/World"\ncustom string inputs:requiredAttributes = "label points"',
         ("/World/Mesh",)),
        ('custom token inputs:rootPrimPath = "/World"\ncustom string inputs:requiredAttributes = "size"', ()),
        ('custom token inputs:requiredRelationship = "inputs:prims"\ncustom bool inputs:recursive = 1\n'
         'custom token inputs:requiredRelationshipTarget = "/World/Mesh"', ("/G/read",)),
    ],
)  # fmt: skip
def test_find_prims(result, inputs, paths):
    played = result(FIND % inputs + READ % "", clean=False)
    assert not played.log.errors
    assert played.node["find"].attributes["outputs:primPaths"].value == paths


def test_targets_travel_over_connections(result):
    find = FIND % 'custom token inputs:type = "Mesh"\ncustom bool inputs:recursive = 1'
    read = (READ % "").replace("</World/Mesh>", "</G/find.outputs:prims>")
    paths = """
    def OmniGraphNode "paths"
    {
        token node:type = "omni.graph.nodes.GetPrimPaths"
        custom rel inputs:prims = </G/find.outputs:prims>
    }
    """
    played = result(find + read + paths, clean=False)
    assert not played.log.errors
    assert bundle(played).children["prim0"].value("sourcePrimPath") == "/World/Mesh"
    assert played.node["paths"].attributes["outputs:primPaths"].value == ("/World/Mesh",)


TAKE = (
    READ % ""
    + """
def OmniGraphNode "prim"
{
    token node:type = "omni.graph.nodes.ExtractPrim"
    custom rel inputs:prims = </G/read.outputs_primsBundle>
    custom string inputs:primPath = "/World/Mesh"
}
def OmniGraphNode "attribute"
{
    token node:type = "omni.graph.nodes.ExtractAttribute"
    custom rel inputs:data = </G/prim/outputs_primBundle>
    custom token inputs:attrName = "height"
}
def OmniGraphNode "parts"
{
    token node:type = "omni.graph.nodes.ExtractBundle"
    custom rel inputs:bundle = </G/prim.outputs_primBundle>
    custom float outputs:height
    custom point3f[] outputs:points
}
def OmniGraphNode "has"
{
    token node:type = "omni.graph.nodes.HasAttribute"
    custom rel inputs:data = </G/prim.outputs_primBundle>
    custom token inputs:attrName = "size"
}
def OmniGraphNode "add"
{
    token node:type = "omni.graph.nodes.InsertAttribute"
    custom rel inputs:data = </G/prim.outputs_primBundle>
    custom token inputs:attrToInsert.connect = </G/attribute.outputs:output>
    custom token inputs:outputAttrName = "tall"
}
"""
)


def test_taking_bundles_apart(result):
    played = result(TAKE, clean=False)
    assert not played.log.errors
    value = {name: {a.name: a.value for a in node.attributes.values()} for name, node in played.node.items()}
    assert value["attribute"]["outputs:output"] == 2.0 and value["has"]["outputs:output"] is False
    assert value["parts"]["outputs:height"] == 2.0 and value["parts"]["outputs:points"].shape == (4, 3)
    assert value["add"]["outputs:data"].value("tall") == 2.0


def test_dynamic_attributes_of_prim_nodes(result):
    nodes = """
    def OmniGraphNode "read"
    {
        token node:type = "omni.graph.nodes.ReadPrimAttributes"
        custom rel inputs:prim = </World/Mesh>
        custom double outputs:height
        custom double outputs:animated
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrim"
        custom rel inputs:prim = </World/Mesh>
        custom float inputs:scale.connect = </G/read.outputs:animated>
        custom int inputs:count = 7
    }
    """
    played = result(nodes, clean=False)
    (told,) = played.log.warnings
    assert "inputs:count is not connected, so it is not written" in told and not played.log.errors
    stage = Usd.Stage.Open(str(played.target))
    assert stage.GetAttributeAtPath("/World/Mesh.scale").Get(3) == 3.0
    assert stage.GetAttributeAtPath("/World/Mesh.count").Get(3) == 0  # not connected, so not written


def test_outputs_of_read_prim_attributes_without_a_value_are_told_once(result):
    nodes = """
    def OmniGraphNode "read"
    {
        token node:type = "omni.graph.nodes.ReadPrimAttributes"
        custom rel inputs:prim = </World/Mesh>
        custom string inputs:attrNamesToImport = "* ^scale"
        custom double outputs:height
        custom float[] outputs:primvars:heat
        custom float outputs:scale
    }
    """
    played = result(nodes, clean=False)
    (told,) = played.log.warnings
    assert "outputs:primvars:heat gets no value: the prim /World/Mesh has no attribute 'primvars:heat'" in told
    assert "outputs:scale gets no value: inputs:attrNamesToImport leaves scale out" in told
    assert "height" not in told


def test_camera_relationship_and_paths(result):
    nodes = """
    def Camera "Eye"
    {
        double3 xformOp:translate = (4, 5, 6)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        custom rel friends = [</World>, </World/Mesh>]
    }
    def OmniGraphNode "eye"
    {
        token node:type = "omni.graph.ui_nodes.GetCameraPosition"
        custom token inputs:primPath = "/OmniverseKit_Persp"
    }
    def OmniGraphNode "friends"
    {
        token node:type = "omni.graph.nodes.GetPrimRelationship"
        custom rel inputs:prim = </G/Eye>
        custom token inputs:name = "friends"
    }
    def OmniGraphNode "at"
    {
        token node:type = "omni.graph.nodes.GetPrimsAtPath"
        custom token inputs:path.connect = </G/friends.outputs:paths>
    }
    """
    played = result(nodes, clean=False)
    assert not played.log.errors and "the node uses /G/Eye" in played.log.warnings[0]
    assert np.array_equal(played.node["eye"].attributes["outputs:position"].value, (4, 5, 6))
    assert played.node["at"].attributes["outputs:prims"].value == ("/World", "/World/Mesh")


ADD = """
def OmniGraphNode "add"
{
    token node:type = "omni.graph.action.AddPrimRelationship"
    custom token inputs:name = "%s"
    custom string inputs:path = "%s"
    custom string inputs:target = "%s"
}
"""


def test_relationships_are_written_read_back_and_extended(result):
    write = """
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimRelationship"
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "light:link"
        custom rel inputs:value = [</World>, </G>]
    }
    def OmniGraphNode "read"
    {
        token node:type = "omni.graph.nodes.ReadPrimRelationship"
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "light:link"
    }
    """
    played = result(write + ADD % ("light:link", "/World/Mesh", "/World/Mesh"))
    wanted = ("/World", "/G", "/World/Mesh")
    assert played.stage.GetRelationshipAtPath("/World/Mesh.light:link").GetTargets() == list(wanted)
    assert played.outcome.written == ["/World/Mesh.light:link"]
    assert played.node["read"].attributes["outputs:value"].value[:2] == wanted[:2]
    assert played.node["add"].attributes["outputs:isSuccessful"].value is True


@pytest.mark.parametrize(
    ("name", "path", "target", "words"),
    [
        ("points", "/World/Mesh", "/World", "/World/Mesh.points is an attribute"),
        ("a b", "/World/Mesh", "/World", "'a b' is not the name of a relationship"),
        ("link", "/World/Mash", "/World", "there is no prim /World/Mash; did you mean /World/Mesh?"),
        ("link", "/World/Mesh", "no path", "'no path' is no path"),
        ("link", "/World/Mesh", "", "inputs:path and inputs:target must name"),
    ],
)
def test_relationships_that_cannot_be_written(result, name, path, target, words):
    played = result(ADD % (name, path, target), clean=False)
    assert words in played.log.errors[0] and not played.outcome.written
