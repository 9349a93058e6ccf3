"""Damaged scenes: whatever is in the file, a play ends with one of its exit codes and never with a traceback."""

import random
from pathlib import Path

import pytest

from omni.warp_core import cli

SEEDS = range(12)
MUTATIONS_PER_SEED = 8
SCENES = Path(__file__).parents[2] / "data" / "scenes"
CODES = set(cli.EXIT_CODES) - {cli.INTERNAL, cli.INTERRUPTED}

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
        custom string inputs:codeStr = "@wp.kernel\\ndef k(a: wp.array(dtype=wp.vec3), s: float, b: wp.array(dtype=wp.vec3)):\\n    i = wp.tid()\\n    b[i] = a[i] * s\\n"
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
TOKENS = [
    "token", "float", "point3f[]", "string", "int", "uint", "double", "matrix4d", "rel", "custom", "inputs:a", "inputs:s", "outputs:b",
    "</G/tick.outputs:time>", "</G/kernel.outputs:b>", "</Mesh>", "</G>", "points", "height", "nan", "-1", "1e39", "[]", '""', '"push"',
    '"dirty_push"', '"omni.graph.nodes.ReadTime"', '"omni.warp.WarpKernel"', '"explicit"', "3", "inputs:dimCount", ".connect", "wp.vec3", "float",
]  # fmt: skip


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


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_scenes(tmp_path, capsys, seed):
    rng = random.Random(seed)
    for i in range(MUTATIONS_PER_SEED):
        scene = tmp_path / f"scene{i}.usda"
        scene.write_text(mutated(BASE, rng))
        code = cli.main(["play", str(scene), "-o", str(tmp_path / "out.usdc"), "--trust", "--frames", "0:2"])
        captured = capsys.readouterr()
        assert code in CODES, (scene.read_text(), captured.err)
        assert code == cli.OK or "error: " in captured.err
        assert "Traceback" not in captured.err
        assert not [p.name for p in tmp_path.iterdir() if ".part" in p.name]


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
        code = cli.main(["play", str(tmp_path / f"{i}.usda"), "-o", str(tmp_path / "o.usdc"), "--trust", "--frames", "1:2"])
        captured = capsys.readouterr()
        assert code in CODES and "Traceback" not in captured.err, captured.err
