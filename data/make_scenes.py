"""Writes the sample scenes of data/scenes. Run it after changing a scene here: python data/make_scenes.py [FOLDER]

Each scene is a readable `.usda` with its graph and its kernels; geometry too large for text lies beside it in a
`.usdc`. The files are committed, so that scenes play without this script.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

TYPES = Sdf.ValueTypeNames

WAVE = """\
# Waves on a pool: three swells, and rings that run outwards from the middle.

@wp.func
def swell(x: float, z: float, angle: float, length: float, t: float) -> float:
    k = 6.2831853 / length
    along = x * wp.cos(angle) + z * wp.sin(angle)
    return wp.sin(k * along - wp.sqrt(9.81 * k) * t)


@wp.kernel
def wave(
    time: float,
    height: float,
    rest: wp.array[wp.vec3],
    points: wp.array[wp.vec3],
    colors: wp.array[wp.vec3],
):
    i = wp.tid()
    p = rest[i]
    x = p[0]
    z = p[2]
    r = wp.sqrt(x * x + z * z)

    y = 0.40 * swell(x, z, 0.35, 4.3, time)
    y += 0.24 * swell(x, z, 1.45, 2.6, time)
    y += 0.13 * swell(x, z, -0.70, 1.5, time)
    y += 0.05 * swell(x, z, 2.20, 0.8, time)
    y += 0.02 * swell(x, z, 0.90, 0.45, time)
    y += 0.85 * wp.cos(4.6 * r - 6.5 * time) * wp.exp(-0.22 * r * r)

    points[i] = wp.vec3(x, height * y, z)

    s = wp.clamp(0.5 + 0.5 * y, 0.0, 1.0)
    deep = wp.vec3(0.003, 0.012, 0.060)
    clear = wp.vec3(0.010, 0.190, 0.260)
    foam = wp.vec3(0.800, 0.920, 0.940)
    f = wp.clamp(4.0 * s - 3.1, 0.0, 1.0)
    water = deep * (1.0 - s) + clear * s
    colors[i] = water * (1.0 - f * f) + foam * (f * f)
"""

TWIST = """\
# First of two nodes: turns every ring of the column about its axis, the further up the more.

@wp.kernel
def twist(rest: wp.array[wp.vec3], time: float, turns: float, twisted: wp.array[wp.vec3]):
    i = wp.tid()
    p = rest[i]
    a = turns * p[1] * wp.sin(time)
    c = wp.cos(a)
    s = wp.sin(a)
    twisted[i] = wp.vec3(c * p[0] + s * p[2], p[1], c * p[2] - s * p[0])
"""

BULGE = """\
# Second of two nodes: takes what the first one made, lets bulges travel up the column and colours them.

@wp.kernel
def bulge(
    twisted: wp.array[wp.vec3],
    time: float,
    points: wp.array[wp.vec3],
    colors: wp.array[wp.vec3],
):
    i = wp.tid()
    p = twisted[i]
    b = wp.sin(2.4 * p[1] - 3.0 * time)
    g = 1.0 + 0.28 * b
    points[i] = wp.vec3(p[0] * g, p[1], p[2] * g)
    w = 0.5 + 0.5 * b
    colors[i] = wp.vec3(0.10, 0.18, 0.42) * (1.0 - w) + wp.vec3(0.95, 0.42, 0.16) * w
"""

GALAXY = """\
import warp as wp

# A disc of stars, each on its own orbit. Written in the style of the omni.warp kernel node, version 2.

@wp.kernel
def compute(inputs: Inputs, outputs: Outputs):
    i = wp.tid()
    p = inputs.points[i]
    r = wp.sqrt(p[0] * p[0] + p[2] * p[2]) + 0.05
    a = inputs.speed * inputs.time / (r * wp.sqrt(r))
    c = wp.cos(a)
    s = wp.sin(a)
    outputs.points[i] = wp.vec3(c * p[0] - s * p[2], p[1], s * p[0] + c * p[2])
    w = wp.exp(-0.55 * r * r)
    outputs.colors[i] = wp.vec3(0.16, 0.34, 1.0) * (1.0 - w) + wp.vec3(1.0, 0.62, 0.24) * w
"""


def new_stage(path: Path, frames: tuple[int, int]) -> Usd.Stage:
    """A stage with units, time range and a world."""
    if path.exists():
        path.unlink()
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetStartTimeCode(frames[0])
    stage.SetEndTimeCode(frames[1])
    stage.SetTimeCodesPerSecond(24)
    stage.SetFramesPerSecond(24)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
    return stage


def add_camera(stage: Usd.Stage, eye: tuple, target: tuple, focal: float = 35.0) -> None:
    """A camera at `eye` that looks at `target`."""
    camera = UsdGeom.Camera.Define(stage, "/World/Camera")
    view = Gf.Matrix4d().SetLookAt(Gf.Vec3d(*eye), Gf.Vec3d(*target), Gf.Vec3d(0, 1, 0))
    camera.AddTransformOp().Set(view.GetInverse())
    camera.CreateFocalLengthAttr(focal)
    camera.CreateHorizontalApertureAttr(36.0)
    camera.CreateVerticalApertureAttr(20.25)
    camera.CreateClippingRangeAttr(Gf.Vec2f(0.1, 1000))


def add_colours(geometry: UsdGeom.Gprim) -> None:
    """A display colour for every point, left empty for kernels to write."""
    geometry.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex)


def grid_mesh(columns: int, rows: int, wrap: bool) -> tuple[np.ndarray, np.ndarray]:
    """Face counts and indices of a grid of quads over points in row-major order; `wrap` closes the columns."""
    across = columns if wrap else columns - 1
    j, i = np.meshgrid(np.arange(rows - 1), np.arange(across), indexing="ij")
    right = (i + 1) % columns
    corners = np.stack([j * columns + i, (j + 1) * columns + i, (j + 1) * columns + right, j * columns + right], -1)
    return np.full(corners.size // 4, 4, np.int32), corners.reshape(-1).astype(np.int32)


def write_mesh(path: Path, points: np.ndarray, columns: int, rows: int, wrap: bool) -> None:
    """A mesh in a layer of its own, at its default prim /Mesh."""
    if path.exists():
        path.unlink()
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    stage.SetDefaultPrim(mesh.GetPrim())
    counts, indices = grid_mesh(columns, rows, wrap)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(counts))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(indices))
    mesh.CreateSubdivisionSchemeAttr("none")
    mesh.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(*map(float, f(points, axis=0))) for f in (np.min, np.max)]))
    add_colours(mesh)
    stage.Save()


class GraphWriter:
    """Adds an Action Graph to a stage, node by node."""

    def __init__(self, stage: Usd.Stage, path: str):
        self.stage, self.path = stage, path
        prim = stage.DefinePrim(path, "OmniGraph")
        for name, kind, value in (
            ("evaluator:type", TYPES.Token, "execution"),
            ("fabricCacheBacking", TYPES.Token, "Shared"),
            ("fileFormatVersion", TYPES.Int2, Gf.Vec2i(1, 9)),
            ("pipelineStage", TYPES.Token, "pipelineStageSimulation"),
        ):
            prim.CreateAttribute(name, kind, custom=False).Set(value)

    def node(self, name: str, kind: str, version: int = 1, **values: tuple) -> None:
        """A node; values are (USD type, value), (USD type, None) or ("rel", path), with `__` for `:` in names."""
        prim = self.stage.DefinePrim(f"{self.path}/{name}", "OmniGraphNode")
        prim.CreateAttribute("node:type", TYPES.Token, custom=False).Set(kind)
        prim.CreateAttribute("node:typeVersion", TYPES.Int, custom=False).Set(version)
        for key, (type_name, value) in values.items():
            name = key.replace("__", ":")
            if type_name == "rel":
                prim.CreateRelationship(name).AddTarget(value)
                continue
            attribute = prim.CreateAttribute(name, TYPES.Find(type_name))
            if value is not None:
                attribute.Set(value)

    def connect(self, target: str, source: str) -> None:
        """Connect an input, such as "wave.inputs:time", to a source; execution is marked as such."""
        attribute = self.stage.GetAttributeAtPath(f"{self.path}/{target}")
        if not attribute:
            prim, name = target.split(".")
            attribute = self.stage.GetPrimAtPath(f"{self.path}/{prim}").CreateAttribute(name, TYPES.UInt)
            attribute.SetCustomDataByKey("isExecution", True)
        attribute.AddConnection(f"{self.path}/{source}")

    def read(self, name: str, prim: str, attribute: str, timecode: float = math.nan) -> None:
        """A node that reads an attribute; a `timecode` reads what the scene holds, not what the play wrote."""
        self.node(
            name, "omni.graph.nodes.ReadPrimAttribute", 3, inputs__prim=("rel", prim),
            inputs__name=("token", attribute), inputs__usdTimecode=("double", timecode), outputs__value=("token", None),
        )  # fmt: skip

    def write(self, name: str, prim: str, attribute: str, source: str, after: str) -> None:
        """A node that writes `source` to an attribute when `after` is done."""
        self.node(
            name, "omni.graph.nodes.WritePrimAttribute", 2, inputs__prim=("rel", prim),
            inputs__name=("token", attribute), inputs__usdWriteBack=("bool", True), inputs__value=("token", None),
        )  # fmt: skip
        self.connect(f"{name}.inputs:execIn", after)
        self.connect(f"{name}.inputs:value", source)


def wave(folder: Path, size: int = 256) -> None:
    """A grid of size x size points, deformed by the kernel WAVE."""
    x, z = np.meshgrid(np.linspace(-5, 5, size), np.linspace(-5, 5, size))
    points = np.stack([x, np.zeros_like(x), z], -1).reshape(-1, 3)
    write_mesh(folder / "wave_grid.usdc", points, size, size, False)
    stage = new_stage(folder / "wave.usda", (1, 48))
    stage.DefinePrim("/World/Water").GetReferences().AddReference("./wave_grid.usdc")
    add_camera(stage, (3.5, 6.3, 13.8), (-0.4, -0.75, 0.3))
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.read("read", "/World/Water", "points", 1.0)
    graph.node(
        "wave", "omni.warp_core.Kernel", 1,
        inputs__codeStr=("string", WAVE), inputs__dimSource=("token", "rest"), inputs__time=("float", 0.0),
        inputs__height=("float", 0.62), inputs__rest=("point3f[]", None), outputs__points=("point3f[]", None),
        outputs__colors=("color3f[]", None),
    )  # fmt: skip
    graph.connect("wave.inputs:execIn", "tick.outputs:tick")
    graph.connect("wave.inputs:time", "tick.outputs:time")
    graph.connect("wave.inputs:rest", "read.outputs:value")
    graph.write("writePoints", "/World/Water", "points", "wave.outputs:points", "wave.outputs:execOut")
    graph.write(
        "writeColors", "/World/Water", "primvars:displayColor", "wave.outputs:colors", "writePoints.outputs:execOut"
    )
    stage.Save()


def chain(folder: Path, columns: int = 96, rows: int = 160) -> None:
    """A column that one kernel twists and the next one bulges."""
    a, y = np.meshgrid(np.linspace(0, 2 * math.pi, columns, endpoint=False), np.linspace(-2.5, 2.5, rows))
    radius = 0.62 * (1 + 0.22 * np.cos(5 * a))
    points = np.stack([radius * np.cos(a), y, radius * np.sin(a)], -1).reshape(-1, 3)
    write_mesh(folder / "chain_column.usdc", points, columns, rows, True)
    stage = new_stage(folder / "chain.usda", (1, 48))
    stage.DefinePrim("/World/Column").GetReferences().AddReference("./chain_column.usdc")
    add_camera(stage, (5.4, 3.6, 9.4), (0.0, -0.05, 0.0))
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnPlaybackTick", 1)
    graph.node("turns", "omni.graph.nodes.ConstantFloat", 1, inputs__value=("float", 0.9))
    graph.read("read", "/World/Column", "points", timecode=0.0)
    graph.node(
        "twist", "omni.warp_core.Kernel", 1,
        inputs__codeStr=("string", TWIST), inputs__dimSource=("token", "rest"), inputs__rest=("point3f[]", None),
        inputs__time=("float", 0.0), inputs__turns=("float", 0.0), outputs__twisted=("point3f[]", None),
    )  # fmt: skip
    graph.node(
        "bulge", "omni.warp_core.Kernel", 1,
        inputs__codeStr=("string", BULGE), inputs__dimSource=("token", "twisted"), inputs__time=("float", 0.0),
        inputs__twisted=("point3f[]", None), outputs__points=("point3f[]", None), outputs__colors=("color3f[]", None),
    )  # fmt: skip
    for target, source in (
        ("twist.inputs:execIn", "tick.outputs:tick"),
        ("twist.inputs:rest", "read.outputs:value"),
        ("twist.inputs:time", "tick.outputs:time"),
        ("twist.inputs:turns", "turns.inputs:value"),
        ("bulge.inputs:execIn", "twist.outputs:execOut"),
        ("bulge.inputs:twisted", "twist.outputs:twisted"),
        ("bulge.inputs:time", "tick.outputs:time"),
    ):
        graph.connect(target, source)
    graph.write("writePoints", "/World/Column", "points", "bulge.outputs:points", "bulge.outputs:execOut")
    graph.write(
        "writeColors", "/World/Column", "primvars:displayColor", "bulge.outputs:colors", "writePoints.outputs:execOut"
    )
    stage.Save()


def stars(count: int) -> np.ndarray:
    """Points of a flat disc with two arms and a thick middle."""
    random = np.random.default_rng(7)
    r = 0.12 + 3.5 * random.random(count) ** 1.15
    arm = math.pi * random.integers(0, 2, count) + -2.3 * np.log(r + 0.3) + random.normal(0, 0.32, count)
    height = random.normal(0, 1, count) * (0.05 + 0.28 * np.exp(-2.2 * r))
    return np.stack([r * np.cos(arm), height, r * np.sin(arm)], -1)


def record(port: int, name: str, type_name: str, shape: int | None) -> dict:
    """What the attribute editor of omni.warp notes of an array attribute."""
    base = {"port_type": port, "base_name": name, "data_type_name": type_name, "is_array": True, "array_format": 0}
    return {**base, "array_shape_source": shape, "optional": False}


def galaxy(folder: Path, count: int = 9000) -> None:
    """Points moved by a kernel node as omni.warp wrote it: struct style, old names, double connected to float."""
    stage = new_stage(folder / "galaxy.usda", (1, 48))
    stars_path = folder / "galaxy_stars.usdc"
    if stars_path.exists():
        stars_path.unlink()
    asset = Usd.Stage.CreateNew(str(stars_path))
    points = UsdGeom.Points.Define(asset, "/Stars")
    asset.SetDefaultPrim(points.GetPrim())
    positions = stars(count)
    points.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(positions.astype(np.float32)))
    sizes = 0.012 + 0.035 * np.random.default_rng(3).random(count) ** 5
    points.CreateWidthsAttr(Vt.FloatArray.FromNumpy(sizes.astype(np.float32)))
    add_colours(points)
    asset.Save()
    stage.DefinePrim("/World/Stars").GetReferences().AddReference("./galaxy_stars.usdc")
    add_camera(stage, (0.6, 4.6, 7.6), (0.0, -0.2, 0.0))
    graph = GraphWriter(stage, "/World/ActionGraph")
    graph.node("on_tick", "omni.graph.action_nodes.OnTick", 1)
    graph.read("read_prim_attribute", "/World/Stars", "points", timecode=0.0)
    graph.node("speed", "omni.graph.nodes.ConstantFloat", 1, inputs__value=("float", 0.55))
    records = [
        record(0, "points", "point3f", None),
        record(1, "points", "point3f", 0),
        record(1, "colors", "color3f", 1),
    ]
    graph.node(
        "kernel", "omni.warp.WarpKernel", 2,
        inputs__codeProvider=("token", "embedded"), inputs__codeStr=("string", GALAXY),
        inputs__device=("token", "cuda"), inputs__dimCount=("int", 1), inputs__dimSource=("token", "points"),
        inputs__points=("point3f[]", None), inputs__speed=("float", 0.0), inputs__time=("float", 0.0),
        outputs__points=("point3f[]", None), outputs__colors=("color3f[]", None),
        state__userAttrDescs=("string", json.dumps(records)),
    )  # fmt: skip
    for target, source in (
        ("kernel.inputs:execIn", "on_tick.outputs:tick"),
        ("kernel.inputs:points", "read_prim_attribute.outputs:value"),
        ("kernel.inputs:speed", "speed.inputs:value"),
        ("kernel.inputs:time", "on_tick.outputs:time"),
    ):
        graph.connect(target, source)
    graph.write("write_points", "/World/Stars", "points", "kernel.outputs:points", "kernel.outputs:execOut")
    graph.write(
        "write_colors", "/World/Stars", "primvars:displayColor", "kernel.outputs:colors", "write_points.outputs:execOut"
    )
    stage.Save()


def main() -> None:
    """Write all scenes."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "scenes"
    folder.mkdir(parents=True, exist_ok=True)
    for scene in (wave, chain, galaxy):
        scene(folder)
        print(f"wrote {folder / scene.__name__}.usda")


if __name__ == "__main__":
    main()
