"""Damaged scenes: whatever is in the file, a play ends with one of its exit codes and never with a traceback."""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

from omni.warp_core import cli, cli_arguments
from omni.warp_core.nodes.stock import node_registry
from omni.warp_core.usd.numpy_conversion import to_usd

SEEDS = range(*map(int, os.environ.get("OMNI_WARP_SCENES", "0:6").split(":")))
MUTATIONS_PER_SEED = 8
SCENES = Path(__file__).parents[2] / "data" / "scenes"
CODES = set(cli_arguments.EXIT_CODES) - {cli.INTERNAL, cli.INTERRUPTED}

BASE = """#usda 1.0
(
    startTimeCode = 0
    endTimeCode = 2
)
def Mesh "Mesh"
{
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    custom double height = 2
    custom float3[] primvars:displayColor = [(1, 0, 0)]
}
def OmniGraph "G"
{
    token evaluator:type = "execution"
    def OmniGraphNode "tick"
    {
        token node:type = "omni.graph.action.OnTick"
        int node:typeVersion = 2
        custom uint inputs:framePeriod = 0
    }
    def OmniGraphNode "read"
    {
        token node:type = "omni.graph.nodes.ReadPrimAttribute"
        custom rel inputs:prim = </Mesh>
        custom token inputs:name = "points"
        custom double inputs:usdTimecode = nan
    }
    def OmniGraphNode "kernel"
    {
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = "CODE"
        custom token inputs:dimSource = "a"
        custom int inputs:dimCount = 1
        custom int inputs:dim1 = 4
        custom point3f[] inputs:a.connect = </G/read.outputs:value>
        custom float inputs:s.connect = </G/tick.outputs:time>
        custom uint inputs:execIn.connect = </G/tick.outputs:tick>
        custom point3f[] outputs:b
        custom string state:userAttrDescs = "[]"
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom uint inputs:execIn.connect = </G/kernel.outputs:execOut>
        custom rel inputs:prim = </Mesh>
        custom token inputs:name = "points"
        custom token inputs:value.connect = </G/kernel.outputs:b>
    }
}
"""
BASE = BASE.replace(
    "CODE",
    "@wp.kernel\\ndef k(a: wp.array(dtype=wp.vec3), s: float, b: wp.array(dtype=wp.vec3)):"
    "\\n    i = wp.tid()\\n    b[i] = a[i] * s\\n",
)
TOKENS = [
    "token",
    "float",
    "point3f[]",
    "string",
    "int",
    "uint",
    "double",
    "matrix4d",
    "rel",
    "custom",
    "inputs:a",
    "inputs:s",
    "outputs:b",
    "</G/tick.outputs:time>",
    "</G/kernel.outputs:b>",
    "</Mesh>",
    "</G>",
    "points",
    "height",
    "nan",
    "-1",
    "1e39",
    "[]",
    '""',
    '"push"',
    '"dirty_push"',
    '"omni.graph.nodes.ReadTime"',
    '"omni.warp.WarpKernel"',
    '"explicit"',
    "3",
    "inputs:dimCount",
    ".connect",
    "wp.vec3",
    "float",
]


def mutated(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        kind = rng.random()
        if kind < 0.2:
            lines.insert(at, lines[rng.randrange(len(lines))])
        elif kind < 0.35:
            del lines[at]
        elif kind < 0.85:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(TOKENS)
            lines[at] = " ".join(words)
        else:
            where = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:where] + rng.choice("\"'()[]{}<>@=\\\x00é ") + lines[at][where + 1 :]
    return "\n".join(lines)


# -- scenes that USD can read and OmniGraph would never write ----------------------------------------------------------

CODE = (
    "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    i = wp.tid()\n    outputs.b[i] = inputs.a[i]\n",
    "@wp.kernel\ndef k(a: wp.array(dtype=wp.vec3), s: float, b: wp.array(dtype=wp.vec3)):\n    b[0] = a[0] * s\n",
    "@wp.kernel\ndef k():\n    pass\n",
    "def (",
    "",
)
VALUES = {
    "token": ["", "points", "height", "explicit", "a", "embedded", "file", "/Mesh", "not a path"],
    "string": [*CODE, "[]", '[{"port_type": 1, "base_name": "b", "array_shape_source": 1}]', "{", "null", "[3]"],
    "float": [0.0, 1.5, float("nan"), float("inf")],
    "double": [0.0, -2.0, float("nan"), 1e300],
    "int": [0, 1, 3, -1, 5000],
    "uint": [0, 1, 2**32 - 1],
    "bool": [True, False],
    "point3f[]": [[(0, 0, 0)], [], [(float("nan"), 0, 1)] * 3],
    "float[]": [[], [1.0, 2.0]],
    "matrix4d": [None],
    "quatf": [None],
    "int3": [(1, 2, 3)],
    "half3[]": [[(1, 2, 3)]],
    "asset": [None],
    "token[]": [["a", "b"], []],
    "timecode": [None],
    "double3": [(1, 2, 3)],
    "opaque": [None],
}
MESH_ATTRIBUTES = ("points", "height", "primvars:displayColor", "faceVertexCounts", "gone")
NAMES = ["inputs:a", "inputs:s", "outputs:b", "outputs:c:d", "inputs:", "state:x", "inputs:class"]


class RandomScene:
    """A readable scene with a graph of random nodes, attributes, types, values and connections."""

    def __init__(self, path: Path, rng: random.Random):
        self.rng, self.paths = rng, []
        self.layer = Sdf.Layer.CreateNew(str(path))
        self.layer.ImportFromString(BASE)
        self.types = list(node_registry.standard()._types.values())
        graph = self.layer.GetPrimAtPath("/G")
        graph.attributes["evaluator:type"].default = rng.choice(["execution", "push", "dirty_push", "other"])
        for i in range(rng.randint(1, 6)):
            self.node(Sdf.PrimSpec(graph, f"n{i}", Sdf.SpecifierDef, "OmniGraphNode"))
        self.connect(graph)
        self.layer.Save()

    def node(self, prim) -> None:
        kind = self.rng.choice(self.types)
        name = kind.spec.name if self.rng.random() < 0.95 else "omni.warp.WarpKernel"
        Sdf.AttributeSpec(prim, "node:type", Sdf.ValueTypeNames.Token).default = name
        for declared in kind.spec.attributes.values():
            if self.rng.random() < 0.7:
                same = self.rng.random() < 0.6
                self.attribute(prim, declared.name, declared.type.sdf if same else self.rng.choice(list(VALUES)))
        for name in NAMES:
            if self.rng.random() < 0.3:
                self.attribute(prim, name, self.rng.choice([*VALUES, "point3f[]", "rel"]))

    def attribute(self, prim, name: str, kind: str) -> None:
        if not Sdf.Path.IsValidNamespacedIdentifier(name) or name in prim.properties:
            return
        if kind == "rel":
            relationship = Sdf.RelationshipSpec(prim, name)
            for _ in range(self.rng.choice([0, 1, 1, 1, 2])):
                relationship.targetPathList.Prepend(self.rng.choice(["/Mesh", "/G", "/gone", "/G/n0.outputs:b"]))
            return
        made = Sdf.AttributeSpec(prim, name, Sdf.ValueTypeNames.Find(kind))
        self.paths.append(made.path)
        named = name == "inputs:name" and kind == "token"
        value = self.rng.choice(MESH_ATTRIBUTES if named else VALUES.get(kind, [None]))
        if value is not None and self.rng.random() < 0.8:
            made.default = to_usd(np.asarray(value), kind) if isinstance(value, tuple) else value
        if self.rng.random() < 0.1:
            made.customData = {
                "omni": {"graph": {"resolvedType": self.rng.choice(["pointf[3][]", "float", "junk"]), "attrValue": 1.5}}
            }

    def connect(self, graph) -> None:
        paths = self.paths + [
            Sdf.Path(p) for p in ("/G/tick.outputs:tick", "/G/read.outputs:value", "/Mesh.points", "/G/x.y")
        ]
        for path in self.paths:
            for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
                self.layer.GetAttributeAtPath(path).connectionPathList.Append(self.rng.choice(paths))


def check(scene, folder, capsys) -> int:
    code = cli.main(["play", str(scene), "-o", str(folder / "out.usdc"), "--trust", "--frames", "0:2"])
    captured = capsys.readouterr()
    assert code in CODES, captured.err
    assert (code == cli.OK) == ("error: " not in captured.err), captured.err
    assert "Traceback" not in captured.err
    assert not [p.name for p in folder.iterdir() if ".part" in p.name]
    return code


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_text(tmp_path, capsys, seed):
    rng = random.Random(seed)
    for i in range(MUTATIONS_PER_SEED):
        scene = tmp_path / f"scene{i}.usda"
        scene.write_text(mutated(BASE, rng))
        check(scene, tmp_path, capsys)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_graphs(tmp_path, capsys, seed):
    rng = random.Random(seed)
    for i in range(MUTATIONS_PER_SEED):
        RandomScene(tmp_path / f"scene{i}.usda", rng)
        check(tmp_path / f"scene{i}.usda", tmp_path, capsys)


def test_damaged_binary_scenes(tmp_path, capsys):
    rng = random.Random(5)
    whole = (SCENES / "chain_column.usdc").read_bytes()
    for i in range(20):
        data = bytearray(whole[: rng.randrange(len(whole))] if i % 3 == 0 else whole)
        for _ in range(rng.randint(1, 30)):
            if data:
                data[rng.randrange(min(len(data), 200) if i % 2 else len(data))] = rng.randrange(256)
        path = tmp_path / f"{i}.usdc"
        path.write_bytes(data)
        (tmp_path / f"{i}.usda").write_text((SCENES / "chain.usda").read_text().replace("chain_column.usdc", path.name))
        check(tmp_path / f"{i}.usda", tmp_path, capsys)
