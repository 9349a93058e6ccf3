"""Scenes for tests of the studio: a small mesh that a kernel lifts, with text to edit."""

from __future__ import annotations

from pathlib import Path

LIFT = """@wp.kernel
def lift(points: wp.array(dtype=wp.vec3), time: float, height: float, lifted: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    lifted[i] = points[i] + wp.vec3(0.0, height + time, 0.0)
"""
REST = [(x, 0.0, z) for z in (-1.0, 0.0, 1.0) for x in (-1.0, 0.0, 1.0)]

_SCENE = '''#usda 1.0
(
    startTimeCode = 1
    endTimeCode = 24
    framesPerSecond = 24
    upAxis = "Y"
)

def Mesh "Sheet"
{{
    int[] faceVertexCounts = [4, 4, 4, 4]
    int[] faceVertexIndices = [0, 3, 4, 1, 1, 4, 5, 2, 3, 6, 7, 4, 4, 7, 8, 5]
    point3f[] points = {points}
}}

def OmniGraph "Graph"
{{
    token evaluator:type = "push"

    def OmniGraphNode "read"
    {{
        token node:type = "omni.graph.nodes.ReadPrimAttribute"
        custom token inputs:name = "points"
        custom rel inputs:prim = </Sheet>
        custom timecode inputs:usdTimecode = 1
    }}

    def OmniGraphNode "clock"
    {{
        token node:type = "omni.graph.nodes.ReadTime"
    }}

    def OmniGraphNode "lift"
    {{
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = """{text}"""
        custom float inputs:height = 0.5
        custom point3f[] inputs:points.connect = </Graph/read.outputs:value>
        custom double inputs:time.connect = </Graph/clock.outputs:time>
        custom point3f[] outputs:lifted
    }}

    def OmniGraphNode "write"
    {{
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom token inputs:name = "points"
        custom rel inputs:prim = </Sheet>
        custom token inputs:value.connect = </Graph/lift.outputs:lifted>
    }}
}}
'''


def write_scene(path: Path, text: str = LIFT) -> Path:
    """Write the scene with a kernel's text, and return its path. Saving without an edit would change nothing in it."""
    path.write_text(_SCENE.format(points=list(REST), text=text))
    return path


_LARGE = '''#usda 1.0
(
    startTimeCode = 1
    endTimeCode = 24
    framesPerSecond = 24
    upAxis = "Y"
)

def Points "Cloud"
{{
    point3f[] points = []
    float[] widths = [0.002] (interpolation = "constant")
}}

def OmniGraph "Graph"
{{
    token evaluator:type = "push"
{nodes}
    def OmniGraphNode "spread"
    {{
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = """{text}"""
        custom float inputs:height = 0.5
        custom int inputs:dim1 = {count}
        custom point3f[] outputs:placed
        custom token inputs:placed:length = "kernel"
    }}

    def OmniGraphNode "write"
    {{
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom token inputs:name = "points"
        custom rel inputs:prim = </Cloud>
        custom token inputs:value.connect = </Graph/spread.outputs:placed>
    }}
}}
'''
_MORE = """
    def OmniGraphNode "n{number}"
    {{
        token node:type = "omni.graph.nodes.ReadTime"
    }}
"""
SPREAD = """@wp.kernel
def spread(height: float, placed: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    placed[i] = wp.vec3(float(i % SIDE) / float(SIDE), height, float(i / SIDE) / float(SIDE))
"""


def write_large(path: Path, side: int, nodes: int) -> Path:
    """Write a scene with side * side points that a kernel places, and some more nodes."""
    more = "".join(_MORE.format(number=number) for number in range(nodes))
    path.write_text(_LARGE.format(count=side * side, nodes=more, text=SPREAD.replace("SIDE", str(side))))
    return path
