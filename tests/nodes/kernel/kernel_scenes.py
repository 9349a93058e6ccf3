"""Nodes as text for scenes with Kernel nodes, over the world of tests/nodes/conftest.py."""

import json

import numpy as np

POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], np.float64)
READ = """
def OmniGraphNode "read" {
    token node:type = "omni.graph.nodes.ReadPrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "points"
    custom timecode inputs:usdTimecode = 0
}
def OmniGraphNode "time" {
    token node:type = "omni.graph.nodes.ReadTime"
}
"""


def kernel(code, attributes="", name="kernel", kind="omni.warp_core.Kernel", version=1):
    return f"""
def OmniGraphNode "{name}" {{
    token node:type = "{kind}"
    int node:typeVersion = {version}
    custom string inputs:codeStr = {json.dumps(code, ensure_ascii=False)}
    {attributes}
}}
"""


def write(source, name="points", node="write"):
    return f"""
def OmniGraphNode "{node}" {{
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "{name}"
    custom token inputs:value.connect = <{source}>
}}
"""


def value(result, path):
    return result.player.loaded.attribute(path).value
