"""Damaged node types: descriptions that a scene's nodes use, and what scenes say of their types.

Whatever they say, a play ends with one of its exit codes and sentences with names, and the studio describes the scene.
`OMNI_WARP_SCENES=0:300` takes more seeds, as `make fuzz` does.
"""

import contextlib
import copy
import json
import random

import pytest
from pxr import Sdf, Tf, Usd

from omni.warp_core import cli
from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.live_session import registry
from omni.warp_core.studio.editing.scene_description import describe, node_types
from omni.warp_core.studio.records import to_json
from tests.nodes.test_fuzz import BASE, CODES, SEEDS

SCALE = {
    "fuzz.Scale": {
        "version": 2,
        "description": ["Scales points.", "All of them."],
        "language": "Python",
        "uiName": "Scale",
        "categories": {"fuzz:scale": "scaling"},
        "tags": "a, b",
        "scheduling": ["threadsafe", "usd-read"],
        "memoryType": "cpu",
        "icon": {"path": "icon.svg", "color": "#FF00FF00", "backgroundColor": [1, 2, 3, 4]},
        "tokens": {"up": "Up", "down": "Down"},
        "metadata": {"hidden": "false", "list": ["a", "b"]},
        "exclude": ["c++"],
        "inputs": {
            "points": {"type": "pointf[3][]", "description": "Points", "metadata": {"outputOnly": "0"}},
            "factor": {"type": "float", "description": "Scale", "default": 2.0, "minimum": 0, "maximum": 9},
            "sizes": {"type": "int[3]", "description": "Sizes", "default": [1, 2, 3], "minimum": [0, 0, 0]},
            "way": {"type": "token", "description": "Way", "default": "up", "allowedTokens": ["up", "down"]},
            "any": {"type": ["float", "double[3]", "numerics"], "description": "Any", "optional": True},
            "bundle": {"type": "bundle", "description": "Bundle", "optional": True},
            "prim": {"type": "target", "description": "Prim"},
            "exec": {"type": "execution", "description": "Runs", "optional": True},
            "matrix": {"type": "matrixd[4]", "description": "Matrix", "default": [[1, 0, 0, 0]] * 4},
            "many": {"type": "half[2][]", "description": "Many", "default": [[1, 2], [3, 4]]},
            "text": {"type": "string", "description": "Text", "default": "a"},
        },
        "outputs": {
            "points": {"type": "pointf[3][]", "description": "Points"},
            "any": {"type": "any", "description": "Any"},
            "path": {"type": "path", "description": "Path"},
        },
        "state": {"count": {"type": "int64", "description": "Count", "default": 0}},
        "tests": [
            {"inputs:points": [[1, 2, 3]], "inputs:factor": 3, "outputs:points": [[3, 6, 9]]},
            {"inputs": {"points": [[1, 2, 3]]}, "outputs": {"points": [[2, 4, 6]]}, "setup": {}},
        ],
    }
}
COMPUTE = """class OgnScale:
    @staticmethod
    def compute(db):
        db.state.count += 1
        db.outputs.points = db.inputs.points * db.inputs.factor
        db.outputs.any = db.inputs.sizes
        return True
"""
SCENE = """#usda 1.0
def Points "Dots"
{
    point3f[] points = [(0, 0, 0), (1, 2, 3)]
}
def OmniGraph "G"
{
    token evaluator:type = "push"
    def OmniGraphNode "scale"
    {
        token node:type = "fuzz.Scale"
        int node:typeVersion = 2
        custom point3f[] inputs:points = [(1, 2, 3)]
        custom float inputs:factor = 3
        custom int3 inputs:sizes = (1, 2, 3)
        custom token inputs:way = "down"
        custom rel inputs:prim = </Dots>
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom rel inputs:prim = </Dots>
        custom token inputs:name = "points"
        custom token inputs:value.connect = </G/scale.outputs:points>
    }
}
"""
TYPES = [
    *("float", "float[]", "double[3]", "int", "uint", "int64", "bool", "token", "string", "bundle", "target", "path"),
    *("execution", "any", "union", "colorf[4][]", "quatd[4]", "matrixd[4][]", "frame[4]", "timecode", "objectId"),
    *("half", "uchar[]", "vectorf[3]", "float[0]", "float[99]", "float[][]", "[]", "", " float", "float\n", "é"),
    *("pointf[2]", "bool[4]", "string[]", "token[]", "transform[4]", "normald[3][]", "texcoordh[2]", "uint64", "void"),
]
ODD = [
    *(None, True, False, 0, -1, 2**31, 2**64, 1e308, -1e-320, float("nan"), float("inf"), "", " ", "\x00", "\ud800"),
    *("nan", "a,b,,c", "up", "<img>", "x" * 4000, [], [[]], [None], [1, "a", None], [[1], [2, 3]], [[[1.0]]], {}),
    *({"": ""}, {"type": "float"}, {"a": {"b": [1]}}, {"$x": 1}, ["up", "up"], [0] * 300, TYPES[:5]),
]
KEYS = ["type", "default", "description", "minimum", "maximum", "optional", "allowedTokens", "metadata", "memoryType"]
KEYS += ["uiName", "inputs:points", "class", "a b", "a:b:c", "__class__", "state", "$comment", "tests", "compute", "é"]


def damaged(value, rng):
    """A description with some of its values replaced, removed, added, renamed or swapped."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 4)):
        places = [(holder, key) for holder in _holders(value) for key in holder]
        if not places:
            break
        holder, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.1:
            del holder[key]
        elif kind < 0.25:
            holder[rng.choice(KEYS)] = rng.choice(ODD)
        elif kind < 0.35:
            holder[rng.choice(KEYS)] = holder.pop(key)
        elif kind < 0.5:
            other, name = rng.choice(places)
            holder[key] = copy.deepcopy(other[name])
        elif key == "type":
            holder[key] = rng.choice(TYPES) if rng.random() < 0.9 else rng.sample(TYPES, 3)
        else:
            holder[key] = rng.choice(ODD)
    return value


def _holders(value):
    found = [value] if isinstance(value, dict) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found + [holder for each in inner for holder in _holders(each)]


def play(scene, folder, capsys, *options):
    """Play a scene; check how the play ends, and that the studio can describe the scene."""
    command = ["play", str(scene), "-o", str(folder / "out.usdc"), "--trust", "--frames", "0:1", *options]
    code = cli.main(command)
    told = capsys.readouterr().err
    assert code in CODES and "Traceback" not in told, told
    for line in told.splitlines():
        assert line.strip() not in ("error:", "warning:"), told
    return code, told


def check_studio(stage, nodes):
    known = registry(nodes, Log(emit=lambda text: None))
    to_json({"types": node_types(known), "doc": describe(stage, known)}).encode()


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_with_damaged_descriptions(tmp_path, capsys, seed):
    rng = random.Random(seed)
    (tmp_path / "scene.usda").write_text(SCENE)
    (tmp_path / "OgnScale.py").write_text(COMPUTE)
    stage = Usd.Stage.Open(str(tmp_path / "scene.usda"))
    for _ in range(20):
        (tmp_path / "OgnScale.ogn").write_text(json.dumps(damaged(SCALE, rng)))
        try:
            code, told = play(tmp_path / "scene.usda", tmp_path, capsys, "--nodes", str(tmp_path))
            assert code == cli.OK or "Scale" in told or "scale" in told, told  # the place
            check_studio(stage, [str(tmp_path)])
        except BaseException:
            print((tmp_path / "OgnScale.ogn").read_text())
            raise


SAYS = {  # what scenes say of a node, and odd forms of it
    "node:type": ["", " ", "fuzz.None", "omni.warp_core.Kernel", "omni.graph.nodes.Add", "a/b", "é", "x" * 3000, "."],
    "node:typeVersion": [-1, 0, 1, 99, 2**31 - 1],
    "evaluator:type": ["", "push", "lazy", "execution", "é"],
    "evaluationMode": ["Automatic", "Standalone", "Instanced", ""],
    "fileFormatVersion": [(1, 0), (0, 0), (99, 99), (-1, 2)],
    "pipelineStage": ["pipelineStageSimulation", "pipelineStageOnDemand", "x"],
    "ui:nodegraph:node:pos": [(0.0, 0.0), (float("nan"), 1.0), (1e38, -1e38)],
    "ui:nodegraph:node:expansionState": ["open", "é", ""],
    "node:enabled": [True, False],
    "state:userAttrDescs": ["[]", "{", "null", "[1]", '[{"port_type": 9}]', '[{"base_name": 7}]', "[[]]" * 99, "\x00"],
}
SDF_TYPES = ["token", "int", "float2", "string", "bool", "int2", "token[]", "asset", "double[]", "matrix4d", "opaque"]
METADATA = [
    {"omni": {"graph": {"attrType": "float"}}},
    {"omni": {"graph": {"attrType": "nonsense[", "resolvedType": 7}}},
    {"omni": {"graph": []}},
    {"omni": 3},
    {"ExtendedAttributeType": "Any", "resolvedType": "double[3][]"},
    {"omni": {"graph": {"uiName": "é", "minimum": "a", "range": [1, 2]}}},
]


def say(layer, rng):
    """Let a node or graph of a layer say something odd of its type."""
    prims = [layer.GetPrimAtPath(path) for path in ("/G", "/G/kernel", "/G/read", "/G/tick", "/G/write")]
    prim = rng.choice(prims)
    name = rng.choice(list(SAYS))
    kind = rng.random()
    if kind < 0.15:
        prim.typeName = rng.choice(["OmniGraphNode", "OmniGraph", "", "Mesh", "OmniGraphCompound", "é"])
    elif kind < 0.3:
        spec = rng.choice(list(prim.properties))
        if isinstance(spec, Sdf.AttributeSpec):
            spec.customData = rng.choice(METADATA)
    elif kind < 0.4:
        prim.properties and prim.RemoveProperty(rng.choice(list(prim.properties)))
    elif kind < 0.5:
        prim.customData = rng.choice(METADATA)
    else:
        if name in prim.properties:
            prim.RemoveProperty(prim.properties[name])
        if rng.random() < 0.15:
            Sdf.RelationshipSpec(prim, name).targetPathList.Append(rng.choice(["/Mesh", "/G", "/G/gone"]))
            return
        value = rng.choice(SAYS[name])
        natural = {str: "token", bool: "bool", int: "int", tuple: "float2"}[type(value)]
        kind = natural if rng.random() < 0.7 else rng.choice(SDF_TYPES)
        made = Sdf.AttributeSpec(prim, name, Sdf.ValueTypeNames.Find(kind))
        if kind == natural or kind in ("string", "asset"):
            texts = {"asset": lambda text: Sdf.AssetPath(text.replace("\x00", "")), "string": str}
            made.default = texts[kind](str(value)) if kind in texts else value
        if rng.random() < 0.1:
            layer.SetTimeSample(made.path, 1.0, made.default)
        if rng.random() < 0.1:
            made.connectionPathList.Append("/G/read.outputs:value")


@pytest.mark.parametrize("seed", SEEDS)
def test_scenes_that_say_odd_things_of_node_types(tmp_path, capsys, seed):
    rng = random.Random(seed)
    for number in range(12):
        path = tmp_path / f"scene{number}.usda"
        layer = Sdf.Layer.CreateNew(str(path))
        layer.ImportFromString(BASE)
        for _ in range(rng.randint(1, 4)):
            with contextlib.suppress(Tf.ErrorException):  # what USD does not let a scene say
                say(layer, rng)
        layer.Save()
        try:
            play(path, tmp_path, capsys)
            check_studio(Usd.Stage.Open(str(path)), [])
        except BaseException:
            print(path.read_text())
            raise
