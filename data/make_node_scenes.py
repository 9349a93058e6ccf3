"""Writes the sample scenes of nodes in data/scenes. Run it after a change: python data/make_node_scenes.py [FOLDER]

The node types of omni.warp stand in these scenes as they did in its own. The files are committed, so that scenes play
without this script.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from make_scenes import GraphWriter, add_camera, new_stage
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt

import omni.warp_core as wp

BOX = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
EXEC = "execOut"


def mesh(stage: Usd.Stage, path: str, points: np.ndarray, counts: list, indices: list, color: tuple) -> UsdGeom.Mesh:
    """A mesh of one color."""
    made = UsdGeom.Mesh.Define(stage, path)
    made.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.asarray(points, np.float32)))
    made.CreateFaceVertexCountsAttr(counts)
    made.CreateFaceVertexIndicesAttr(indices)
    made.CreateSubdivisionSchemeAttr("none")
    made.CreateDisplayColorAttr([color])
    return made


def box(stage: Usd.Stage, path: str, half: tuple, color: tuple) -> UsdGeom.Mesh:
    """A box around the origin."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    return mesh(stage, path, corners, [4] * 6, BOX, color)


def ball(stage: Usd.Stage, path: str, radius: float, color: tuple, rows: int = 24) -> UsdGeom.Mesh:
    """A ball of quads, with a row of triangles at each pole."""
    a, b = np.meshgrid(np.linspace(0, math.pi, rows + 1), np.arange(2 * rows) * math.pi / rows, indexing="ij")
    points = radius * np.stack([np.sin(a) * np.cos(b), np.cos(a), np.sin(a) * np.sin(b)], -1).reshape(-1, 3)
    columns, faces = 2 * rows, []
    for i in range(rows):
        for j in range(columns):
            k = (j + 1) % columns
            faces.append([i * columns + j, i * columns + k, (i + 1) * columns + k, (i + 1) * columns + j])
    return mesh(stage, path, points, [4] * len(faces), [c for face in faces for c in face], color)


def empty(stage: Usd.Stage, path: str, kind: str, color: tuple) -> Usd.Prim:
    """A prim that a graph fills."""
    prim = stage.DefinePrim(path, kind)
    UsdGeom.Gprim(prim).CreateDisplayColorAttr([color])
    return prim


def ground(stage: Usd.Stage, half: float, color: tuple = (0.30, 0.30, 0.33)) -> None:
    """A square at the height 0."""
    corners = np.array([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]]) * half
    mesh(stage, "/World/Ground", corners, [4], [0, 1, 2, 3], color)


def run_in_turn(graph: GraphWriter, *names: str) -> None:
    """Connect the execution of nodes, after the tick."""
    before = "tick.outputs:tick"
    for name in names:
        graph.connect(f"{name}.inputs:execIn", before)
        before = f"{name}.outputs:{EXEC}"


def inspected(graph: GraphWriter, bundle: str, target: str) -> None:
    """The two nodes at the end of a graph of omni.warp: what changed goes to a prim."""
    graph.node(
        "changes", "omni.warp.WarpOgnBundleInspectChanges", 1,
        inputs__bundle=("rel", bundle), outputs__attrsChanged=("string", None), outputs__topologyChanged=("bool", None),
    )  # fmt: skip
    graph.node(
        "write", "omni.graph.nodes.WritePrimsV2", 1,
        inputs__primsBundle=("rel", f"{graph.path}/changes.outputs_bundle"), inputs__prims=("rel", target),
        inputs__attrNamesToExport=("string", None), inputs__usdWriteBack=("bool", None),
    )  # fmt: skip
    graph.connect("write.inputs:attrNamesToExport", "changes.outputs:attrsChanged")
    graph.connect("write.inputs:usdWriteBack", "changes.outputs:topologyChanged")


def timed(graph: GraphWriter, *names: str) -> None:
    """Connect the time of nodes."""
    for name in names:
        graph.connect(f"{name}.inputs:time", "tick.outputs:time")


def cloth(folder: Path) -> None:
    """A sheet that falls on a ball: Grid Create, Cloth Simulate."""
    stage = new_stage(folder / "cloth.usda", (1, 48))
    ground(stage, 150)
    ball(stage, "/World/Ball", 30, (0.75, 0.42, 0.16)).AddTranslateOp().Set((0, 40, 0))
    empty(stage, "/World/Cloth", "Mesh", (0.16, 0.30, 0.55))
    add_camera(stage, (140, 130, 190), (0, 38, 0), 38)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.node(
        "grid", "omni.warp.WarpGridCreate", 1, inputs__size=("float2", (130, 130)),
        inputs__dims=("int2", Gf.Vec2i(44, 44)),
        inputs__transform=("matrix4d", Gf.Matrix4d().SetTranslate((6, 82, 4))),
    )  # fmt: skip
    graph.node("ball", "omni.graph.nodes.ReadPrimsV2", 1, inputs__prims=("rel", "/World/Ball"))
    graph.node(
        "simulate", "omni.warp.WarpClothSimulate", 1, inputs__cloth=("rel", "/World/Graph/grid.outputs_mesh"),
        inputs__collider=("rel", "/World/Graph/ball.outputs_primsBundle"), inputs__time=("double", 0.0),
        inputs__colliderContactDistance=("float", 1.5), inputs__clothTriElasticStiffness=("float", 400.0),
        inputs__clothTriAreaStiffness=("float", 400.0), inputs__clothTriDrag=("float", 0.3),
        inputs__clothEdgeBendingStiffness=("float", 0.002),
    )  # fmt: skip
    inspected(graph, "/World/Graph/simulate.outputs_cloth", "/World/Cloth")
    timed(graph, "simulate")
    run_in_turn(graph, "grid", "simulate", "changes", "write")
    stage.Save()


def grains(folder: Path) -> None:
    """Grains that pour over a box: Particles From Mesh, Particles Simulate."""
    stage = new_stage(folder / "grains.usda", (1, 48))
    ground(stage, 150)
    box(stage, "/World/Box", (18, 12, 18), (0.22, 0.32, 0.42)).AddTranslateOp().Set((-6, 12, 0))
    source = box(stage, "/World/Source", (14, 24, 14), (1, 1, 1))
    source.AddTranslateOp().Set((4, 62, 3))
    source.CreateVisibilityAttr("invisible")
    empty(stage, "/World/Grains", "Points", (0.78, 0.55, 0.28))
    add_camera(stage, (110, 95, 150), (0, 24, 0), 42)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.node("box", "omni.graph.nodes.ReadPrimsV2", 1, inputs__prims=("rel", "/World/Box"))
    graph.node("source", "omni.graph.nodes.ReadPrimsV2", 1, inputs__prims=("rel", "/World/Source"))
    graph.node(
        "fill", "omni.warp.WarpParticlesFromMesh", 1, inputs__mesh=("rel", "/World/Graph/source.outputs_primsBundle"),
        inputs__radius=("float", 1.2), inputs__spacing=("float", 2.6), inputs__spacingJitter=("float", 0.3),
        inputs__maxSdf=("float", -1.2),
    )  # fmt: skip
    graph.node(
        "simulate", "omni.warp.WarpParticlesSimulate", 1, inputs__time=("double", 0.0),
        inputs__particles=("rel", "/World/Graph/fill.outputs_particles"),
        inputs__collider=("rel", "/World/Graph/box.outputs_primsBundle"), inputs__substepCount=("int", 32),
        inputs__contactElasticStiffness=("float", 20000.0), inputs__contactFrictionCoeff=("float", 0.6),
        inputs__contactDampingStiffness=("float", 200.0),
    )  # fmt: skip
    inspected(graph, "/World/Graph/simulate.outputs_particles", "/World/Grains")
    timed(graph, "simulate")
    run_in_turn(graph, "fill", "simulate", "changes", "write")
    stage.Save()


def flock(folder: Path, count: int = 240) -> None:
    """Cones that fly together: Sample Prim Flocking."""
    stage = new_stage(folder / "flock.usda", (1, 72))
    random = np.random.default_rng(4)
    UsdGeom.Xform.Define(stage, "/World/Birds")
    for i, place in enumerate(random.uniform(-26, 26, (count, 3)).tolist()):
        cone = UsdGeom.Cone.Define(stage, f"/World/Birds/boid_{i}")
        cone.CreateAxisAttr("Z")
        cone.CreateHeightAttr(2.6)
        cone.CreateRadiusAttr(0.6)
        shade = float(random.uniform(0.5, 1.0))
        cone.CreateDisplayColorAttr([(0.85 * shade, 0.42 * shade, 0.20)])
        cone.AddTranslateOp().Set(tuple(place))
    add_camera(stage, (14, 30, 92), (-8, 2, 0), 40)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action_nodes.OnTick", 1)
    graph.node("fly", "omni.warp.WarpSamplePrimFlocking", 1, inputs__time=("double", 0.0))
    timed(graph, "fly")
    run_in_turn(graph, "fly")
    stage.Save()


PATTERN = """\
# The escape times of z -> z^2 + c, as colors of a texture.

@wp.kernel
def pattern(time: float, size: wp.vec2i, pixels: wp.array[wp.vec4]):
    i = wp.tid()
    x = 2.6 * (float(i - size[0] * (i // size[0])) / float(size[0]) - 0.5)
    y = 2.6 * (float(i // size[0]) / float(size[1]) - 0.5)
    a = 0.5 + 0.35 * time
    cx, cy = 0.7885 * wp.cos(a + 2.0), 0.7885 * wp.sin(a + 2.0)
    n = float(0.0)
    for k in range(64):
        if x * x + y * y < 16.0:
            t = x * x - y * y + cx
            y = 2.0 * x * y + cy
            x = t
            n += 1.0
    s = n / 64.0
    pixels[i] = wp.vec4(s * s, 0.04 + 0.75 * s * s, 0.10 + 0.70 * s, 1.0)
"""
PAINT = """\
# A preview has no textures: each pixel is also the color of a point of a mesh.

@wp.kernel
def paint(pixels: wp.array[wp.vec4], colors: wp.array[wp.vec3]):
    i = wp.tid()
    p = pixels[i]
    colors[i] = wp.vec3(p[0], p[1], p[2])
"""


def show_texture(board: UsdGeom.Mesh, uri: str) -> None:
    """Give a mesh a material whose color is a texture."""
    stage, path = board.GetPrim().GetStage(), board.GetPath().AppendChild("Paper")
    paper = UsdShade.Material.Define(stage, path)
    surface = UsdShade.Shader.Define(stage, path.AppendChild("Surface"))
    surface.CreateIdAttr("UsdPreviewSurface")
    image = UsdShade.Shader.Define(stage, path.AppendChild("Image"))
    image.CreateIdAttr("UsdUVTexture")
    image.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(uri)
    place = UsdShade.Shader.Define(stage, path.AppendChild("Place"))
    place.CreateIdAttr("UsdPrimvarReader_float2")
    place.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
    uv = place.CreateOutput("result", Sdf.ValueTypeNames.Float2)
    image.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(uv)
    color = image.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
    surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).ConnectToSource(color)
    paper.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", Sdf.ValueTypeNames.Token))
    UsdShade.MaterialBindingAPI.Apply(board.GetPrim()).Bind(paper)


def texture(folder: Path, size: int = 192) -> None:
    """A kernel that paints a texture: Texture Write."""
    stage = new_stage(folder / "texture.usda", (1, 24))
    board = UsdGeom.Mesh.Define(stage, "/World/Board")
    board.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex)
    show_texture(board, "dynamic://pattern")
    add_camera(stage, (0.0, 3.4, 1.1), (0, 0, 0.05), 40)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.node(
        "board", "omni.warp.WarpGridCreate", 1, inputs__size=("float2", (2, 2)),
        inputs__dims=("int2", Gf.Vec2i(size - 1, size - 1)),
    )  # fmt: skip
    graph.node(
        "pattern", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", PATTERN), inputs__time=("float", 0.0),
        inputs__size=("int2", Gf.Vec2i(size, size)), inputs__dim1=("int", size * size), outputs__pixels=("color4f[]",
        None),
    )  # fmt: skip
    graph.node(
        "texture", "omni.warp.WarpTextureWrite", 1, inputs__uri=("string", "dynamic://pattern"),
        inputs__data=("color4f[]", None), inputs__dimCount=("int", 2), inputs__dim1=("int", size),
        inputs__dim2=("int", size),
    )  # fmt: skip
    graph.node(
        "paint", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", PAINT), inputs__pixels=("color4f[]", None),
        outputs__colors=("color3f[]", None),
    )  # fmt: skip
    inspected(graph, "/World/Graph/board.outputs_mesh", "/World/Board")
    timed(graph, "pattern")
    graph.connect("texture.inputs:data", "pattern.outputs:pixels")
    graph.connect("paint.inputs:pixels", "pattern.outputs:pixels")
    run_in_turn(graph, "board", "changes", "write", "pattern", "texture", "paint")
    graph.write("color", "/World/Board", "primvars:displayColor", "paint.outputs:colors", "paint.outputs:execOut")
    stage.Save()


MELT = """\
# Opens a box along spheres that wander through it: the difference of two fields of distances.

@wp.kernel
def melt(data: wp.array3d[float], time: float, size: wp.vec3, melted: wp.array3d[float]):
    i, j, k = wp.tid()
    n = wp.vec3(float(data.shape[0] - 1), float(data.shape[1] - 1), float(data.shape[2] - 1))
    p = wp.cw_mul(wp.cw_div(wp.vec3(float(i), float(j), float(k)), n) - wp.vec3(0.5, 0.5, 0.5), size)
    d = data[i, j, k] - 2.0
    for m in range(5):
        a = 1.2566 * float(m) + 1.3 * time
        c = wp.vec3(26.0 * wp.cos(a), 14.0 * wp.sin(2.0 * a), 26.0 * wp.sin(a))
        e = 13.0 - wp.length(p - c)
        d = 0.5 * (d + e + wp.sqrt((d - e) * (d - e) + 6.0))  # max(d, e), rounded
    melted[i, j, k] = d
"""


def melting(folder: Path) -> None:
    """A mesh as a field that a kernel changes, and a mesh again: Volume From Mesh, Mesh From Volume."""
    stage = new_stage(folder / "melting.usda", (1, 48))
    box(stage, "/World/Box", (30, 18, 30), (1, 1, 1)).CreateVisibilityAttr("invisible")
    empty(stage, "/World/Shape", "Mesh", (0.20, 0.45, 0.42))
    add_camera(stage, (85, 75, 110), (0, -3, 0), 40)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.node("box", "omni.graph.nodes.ReadPrimsV2", 1, inputs__prims=("rel", "/World/Box"))
    fields = {
        f"outputs__{n}": (t, None) for n, t in (("data", "float[]"), ("size", "float3"), ("transform", "matrix4d"))
    }
    extents = {f"outputs__dim{n}": ("int", None) for n in (1, 2, 3)}
    graph.node(
        "field", "omni.warp_core.VolumeFromMesh", 1, inputs__mesh=("rel", "/World/Graph/box.outputs_primsBundle"),
        inputs__voxelSize=("float", 1.0), inputs__margin=("float", 5.0), **fields, **extents,
    )  # fmt: skip
    graph.node(
        "melt", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", MELT), inputs__time=("float", 0.0),
        inputs__data=("float[]", None), inputs__data__dims=("int3", Gf.Vec3i(71, 47, 71)), inputs__size=("float3",
        None),
        inputs__dimSource=("token", "data"), outputs__melted=("float[]", None),
    )  # fmt: skip
    graph.node(
        "surface", "omni.warp.WarpMeshFromVolume", 1, inputs__data=("float[]", None), inputs__threshold=("float", 0.0),
        inputs__size=("float3", None), inputs__transform=("matrix4d", None),
        **{f"inputs__dim{n}": ("int", None) for n in (1, 2, 3)},
    )  # fmt: skip
    inspected(graph, "/World/Graph/surface.outputs_mesh", "/World/Shape")
    timed(graph, "melt")
    graph.connect("melt.inputs:data", "field.outputs:data")
    graph.connect("melt.inputs:size", "field.outputs:size")
    graph.connect("surface.inputs:data", "melt.outputs:melted")
    for name in ("size", "transform", "dim1", "dim2", "dim3"):
        graph.connect(f"surface.inputs:{name}", f"field.outputs:{name}")
    run_in_turn(graph, "field", "melt", "surface", "changes", "write")
    stage.Save()


DUNE = """\
# Places stones on a spiral, and lets each turn and grow with its own rhythm.

@wp.kernel
def place(
    time: float,
    positions: wp.array[wp.vec3],
    orientations: wp.array[wp.quat],
    scales: wp.array[wp.vec3],
    kinds: wp.array[int],
):
    i = wp.tid()
    f = float(i)
    r = 0.42 * wp.sqrt(f)
    a = 2.39996 * f
    wave = wp.sin(0.9 * r - 2.5 * time)
    positions[i] = wp.vec3(r * wp.cos(a), 0.7 * wave, r * wp.sin(a))
    orientations[i] = wp.quat_from_axis_angle(wp.normalize(wp.vec3(wp.cos(a), 1.0, wp.sin(a))), time + 0.3 * r)
    s = 0.16 + 0.10 * wave + 0.012 * r
    scales[i] = wp.vec3(s, 1.6 * s, s)
    kinds[i] = i % 3
"""


def spiral(folder: Path, count: int = 700) -> None:
    """Copies of three shapes: Write Instances."""
    stage = new_stage(folder / "spiral.usda", (1, 48))
    shapes = {"Cube": (0.80, 0.36, 0.18), "Sphere": (0.20, 0.42, 0.62), "Cone": (0.86, 0.70, 0.36)}
    copies = UsdGeom.PointInstancer.Define(stage, "/World/Copies")
    for kind, color in shapes.items():
        prim = stage.DefinePrim(f"/World/Copies/{kind}", kind)
        UsdGeom.Gprim(prim).CreateDisplayColorAttr([color])
        copies.CreatePrototypesRel().AddTarget(prim.GetPath())
    add_camera(stage, (8.5, 11, 15), (0, -0.6, 0), 38)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.node(
        "place", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", DUNE), inputs__time=("float", 0.0),
        inputs__dim1=("int", count), outputs__positions=("point3f[]", None), outputs__orientations=("quatf[]", None),
        outputs__scales=("float3[]", None), outputs__kinds=("int[]", None),
    )  # fmt: skip
    graph.node(
        "write", "omni.warp_core.WriteInstances", 1, inputs__prim=("rel", "/World/Copies"),
        inputs__positions=("point3f[]", None), inputs__orientations=("quatf[]", None),
        inputs__scales=("float3[]", None), inputs__protoIndices=("int[]", None),
    )  # fmt: skip
    timed(graph, "place")
    for name in ("positions", "orientations", "scales"):
        graph.connect(f"write.inputs:{name}", f"place.outputs:{name}")
    graph.connect("write.inputs:protoIndices", "place.outputs:kinds")
    run_in_turn(graph, "place", "write")
    stage.Save()


SWAY = """\
# Blades of grass in a gust; each bends the more the higher a point is.

@wp.kernel
def sway(rest: wp.array[wp.vec3], time: float, points: wp.array[wp.vec3]):
    i = wp.tid()
    p = rest[i]
    gust = wp.noise(wp.rand_init(3), wp.vec3(0.5 * p[0] - 1.6 * time, 0.5 * p[2], 0.3 * time))
    b = (0.5 + 0.9 * gust) * p[1] * p[1]
    points[i] = p + wp.vec3(b, -0.3 * b * b, 0.35 * b)
"""


def meadow(folder: Path, count: int = 1000) -> None:
    """Curves that a kernel bends: Read Curves."""
    stage = new_stage(folder / "meadow.usda", (1, 48))
    random = np.random.default_rng(8)
    ground(stage, 4.2, (0.10, 0.12, 0.05))
    roots = random.uniform(-4, 4, (count, 1, 2))
    height = np.linspace(0, 1, 4)[None, :, None] * random.uniform(0.5, 1.3, (count, 1, 1))
    points = np.concatenate([np.broadcast_to(roots[..., :1], height.shape), height,
                             np.broadcast_to(roots[..., 1:], height.shape)], -1)  # fmt: skip
    curves = UsdGeom.BasisCurves.Define(stage, "/World/Grass")
    curves.CreateTypeAttr("cubic")
    curves.CreateBasisAttr("bspline")
    curves.CreateWrapAttr("pinned")
    curves.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.reshape(-1, 3).astype(np.float32)))
    curves.CreateCurveVertexCountsAttr([4] * count)
    curves.CreateWidthsAttr(Vt.FloatArray.FromNumpy(np.tile([0.07, 0.06, 0.04, 0.01], count).astype(np.float32)))
    curves.SetWidthsInterpolation("vertex")
    shade = random.uniform(0.5, 1.0, (count, 1)) * np.array([0.36, 0.52, 0.14])
    curves.CreateDisplayColorPrimvar("uniform").Set(Vt.Vec3fArray.FromNumpy(shade.astype(np.float32)))
    add_camera(stage, (2.5, 2.8, 8.4), (0, 0.15, 0), 40)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.node(
        "read", "omni.warp_core.ReadCurves", 1, inputs__prim=("rel", "/World/Grass"),
        inputs__usdTimecode=("timecode", 1.0), outputs__points=("point3f[]", None),
    )  # fmt: skip
    graph.node(
        "sway", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", SWAY), inputs__time=("float", 0.0),
        inputs__rest=("point3f[]", None), outputs__points=("point3f[]", None),
    )  # fmt: skip
    timed(graph, "sway")
    graph.connect("sway.inputs:rest", "read.outputs:points")
    run_in_turn(graph, "sway")
    graph.write("write", "/World/Grass", "points", "sway.outputs:points", "sway.outputs:execOut")
    stage.Save()


PUFF = """\
# A puff of smoke: noise that rises through a soft ball.

@wp.kernel
def puff(time: float, density: wp.array3d[float]):
    i, j, k = wp.tid()
    half = 0.5 * float(density.shape[0] - 1)
    p = (wp.vec3(float(i), float(j), float(k)) - wp.vec3(half, half, half)) / half
    q = 3.2 * p - wp.vec3(0.0, 1.5 * time, 0.0)
    s = wp.rand_init(11)
    n = wp.noise(s, q) + 0.5 * wp.noise(s, 2.1 * q) + 0.25 * wp.noise(s, 4.3 * q)
    d = 0.75 + 0.45 * n - wp.length(wp.vec3(1.25 * p[0], p[1], 1.25 * p[2]))
    density[i, j, k] = wp.clamp(3.0 * d, 0.0, 1.0)
"""


def puff(folder: Path, size: int = 64) -> None:
    """A field of a kernel as a volume with a file a frame: Write Volume."""
    stage = new_stage(folder / "puff.usda", (1, 24))
    ground(stage, 4, (0.35, 0.32, 0.30))
    add_camera(stage, (2.6, 3.2, 6.4), (0, 1.25, 0), 40)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    dims = {f"inputs__dim{n}": ("int", size) for n in (1, 2, 3)}
    graph.node(
        "puff", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", PUFF), inputs__time=("float", 0.0),
        inputs__dimCount=("int", 3), outputs__density=("float[]", None), **dims,
    )  # fmt: skip
    graph.node(
        "write", "omni.warp_core.WriteVolume", 1, inputs__prim=("rel", "/World/Smoke"), inputs__data=("float[]", None),
        inputs__size=("float3", (3, 3, 3)), inputs__gridClass=("token", "fogVolume"),
        inputs__transform=("matrix4d", Gf.Matrix4d().SetTranslate((0, 1.5, 0))), **dims,
    )  # fmt: skip
    timed(graph, "puff")
    graph.connect("write.inputs:data", "puff.outputs:density")
    run_in_turn(graph, "puff", "write")
    stage.Save()


THROW = """\
# Throws balls with a drag, and writes their ways. The last place of each way is where it lands.

@wp.kernel
def throw(velocities: wp.array[wp.vec3], start: wp.vec3, ways: wp.array2d[wp.vec3]):
    i = wp.tid()
    x = start
    v = velocities[i]
    for k in range(24):
        v += 0.05 * (wp.vec3(0.0, -9.81, 0.0) - 0.08 * wp.length(v) * v)
        x += 0.05 * v
        ways[i, k] = x
"""
MISS = """\
# The mean square distance of the ends of the ways from their targets.

@wp.kernel
def miss(ways: wp.array2d[wp.vec3], targets: wp.array[wp.vec3], loss: wp.array[float]):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(ways[i, 23] - targets[i]) / float(targets.shape[0]))
"""


def aim(folder: Path, count: int = 60) -> None:
    """Velocities that a graph fits so that balls land on a heart: Optimize."""
    stage = new_stage(folder / "aim.usda", (1, 40))
    ground(stage, 6, (0.25, 0.27, 0.30))
    a = np.linspace(0, 2 * math.pi, count, endpoint=False)
    heart = np.stack([1.6 * np.sin(a) ** 3, np.full(count, 0.06),
                      -0.1 * (13 * np.cos(a) - 5 * np.cos(2 * a) - 2 * np.cos(3 * a) - np.cos(4 * a))], -1)  # fmt: skip
    targets = UsdGeom.Points.Define(stage, "/World/Targets")
    targets.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(heart.astype(np.float32)))
    targets.CreateWidthsAttr([0.14])
    targets.CreateDisplayColorAttr([(0.75, 0.10, 0.12)])
    ways = UsdGeom.Points.Define(stage, "/World/Ways")
    ways.CreateWidthsAttr(Vt.FloatArray([0.06] * (24 * count)))
    ways.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.zeros((24 * count, 3), np.float32)))
    ways.CreateDisplayColorAttr([(0.90, 0.75, 0.30)])
    add_camera(stage, (3.0, 4.4, 6.2), (-0.8, 0.6, 0.0), 36)
    graph = GraphWriter(stage, "/World/Graph")
    graph.node("tick", "omni.graph.action.OnTick", 2)
    graph.read("targets", "/World/Targets", "points", timecode=1.0)
    speeds = [(4.0, 6.0, 0.0)] * count
    graph.node(
        "throw", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", THROW), inputs__start=("float3", (-4, 0.3, 1)),
        inputs__velocities=("vector3f[]", Vt.Vec3fArray(speeds)), inputs__ways__dims=("int2", Gf.Vec2i(count, 24)),
        outputs__ways=("point3f[]", None),
    )  # fmt: skip
    graph.node(
        "miss", "omni.warp_core.Kernel", 1, inputs__codeStr=("string", MISS), inputs__ways=("point3f[]", None),
        inputs__ways__dims=("int2", Gf.Vec2i(count, 24)), inputs__targets=("point3f[]", None),
        outputs__loss=("float", None),
    )  # fmt: skip
    graph.node(
        "fit", "omni.warp_core.Optimize", 1, inputs__loss=("token", None), inputs__rate=("float", 0.06),
        inputs__steps=("int", 4), inputs__parameters=("token[]", ["throw.inputs:velocities"]),
    )  # fmt: skip
    for target, source in (
        ("miss.inputs:ways", "throw.outputs:ways"),
        ("miss.inputs:targets", "targets.outputs:value"),
        ("fit.inputs:loss", "miss.outputs:loss"),
    ):
        graph.connect(target, source)
    run_in_turn(graph, "throw", "miss", "fit")
    graph.write("write", "/World/Ways", "points", "throw.outputs:ways", "fit.outputs:execOut")
    stage.Save()


SHORE = """\
# Waves that run over a sheet, higher while the script lets them.

@wp.kernel
def shore(rest: wp.array[wp.vec3], time: float, height: float, points: wp.array[wp.vec3]):
    i = wp.tid()
    p = rest[i]
    a = wp.sin(1.7 * p[0] - 2.6 * time) + 0.6 * wp.sin(1.1 * p[0] + 1.9 * p[2] - 2.0 * time)
    points[i] = wp.vec3(p[0], height * a * wp.smoothstep(-4.0, 1.0, p[0]), p[2])
"""


def lagoon(folder: Path, size: int = 121) -> None:
    """Balls that bounce over a sheet: Read Mesh, Write Mesh, Read Points, Write Points."""
    stage = new_stage(folder / "lagoon.usda", (1, 48))
    x, z = np.meshgrid(np.linspace(-4, 4, size), np.linspace(-4, 4, size), indexing="ij")
    corner = (np.arange(size - 1)[:, None] * size + np.arange(size - 1)).ravel()
    faces = np.stack([corner, corner + 1, corner + size + 1, corner + size], -1)
    flat = np.stack([x.ravel(), 0 * x.ravel(), z.ravel()], -1)
    mesh(stage, "/World/Sheet", flat, [4] * len(faces), faces.ravel().tolist(), (0.1, 0.2, 0.3))
    random = np.random.default_rng(2)
    balls = UsdGeom.Points.Define(stage, "/World/Balls")
    start = random.uniform((-3.5, 1.0, -3.5), (3.5, 4.0, 3.5), (160, 3))
    balls.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(start.astype(np.float32)))
    balls.CreateWidthsAttr([0.22])
    balls.CreateDisplayColorAttr([(0.85, 0.45, 0.15)])
    add_camera(stage, (6.5, 5.2, 9.5), (0, 0.3, 0), 31)
    graph = wp.nodes.GraphBuilder(stage, "/World/Graph")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    sheet = graph.node("sheet", "omni.warp_core.ReadMesh", prim="/World/Sheet", usdTimecode=1.0)
    points = {"inputs:rest": "point3f[]", "outputs:points": "point3f[]"}
    shore = graph.kernel("shore", SHORE, attributes=points, height=0.22)
    ramp = graph.kernel("ramp", preset="ramp", low=-0.3, high=0.35, lower=(0.0, 0.03, 0.1), upper=(0.1, 0.4, 0.45))
    write = graph.node("write", "omni.warp_core.WriteMesh", prim="/World/Sheet")
    drops = graph.node("balls", "omni.warp_core.ReadPoints", prim="/World/Balls", usdTimecode=1.0)
    bounce = graph.kernel("bounce", preset="bounce", spring=0.85)
    fall = graph.node("fall", "omni.warp_core.WritePoints", prim="/World/Balls")
    for source, target in (
        (f"{sheet}.outputs:points", f"{shore}.inputs:rest"),
        (f"{clock}.outputs:time", f"{shore}.inputs:time"),
        (f"{shore}.outputs:points", f"{ramp}.inputs:points"),
        (f"{shore}.outputs:points", f"{write}.inputs:points"),
        (f"{ramp}.outputs:colors", f"{write}.inputs:colors"),
        (f"{drops}.outputs:points", f"{bounce}.inputs:x"),
        (f"{bounce}.outputs:x", f"{fall}.inputs:points"),
    ):
        graph.connect(source, target)
    stage.Save()


def pebble(folder: Path, n: int = 32) -> None:
    """The surface of a grid in a file, at a threshold that goes up and down: Read Volume, Mesh From Volume."""
    stage = new_stage(folder / "pebble.usda", (1, 48))
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, n)] * 3, indexing="ij")
    cells = np.sin(7 * x) * np.cos(7 * y) + np.sin(7 * y) * np.cos(7 * z) + np.sin(7 * z) * np.cos(7 * x)
    field = np.maximum(np.sqrt(x * x + y * y + z * z) - 0.85, np.abs(cells) / 7 - 0.06).astype(np.float32)
    volume = wp.Volume.load_from_numpy(field, (-1, -1, -1), 2 / (n - 1), 1.0, device="cpu")
    wp.usd.write_volume(stage, "/World/Stone", {"distance": volume}, file="pebble_stone.nvdb", codec="blosc")
    UsdGeom.Imageable(stage.GetPrimAtPath("/World/Stone")).MakeInvisible()
    empty(stage, "/World/Shape", "Mesh", (0.72, 0.55, 0.35))
    add_camera(stage, (2.1, 1.5, 2.5), (0, -0.03, 0), 34)
    graph = wp.nodes.GraphBuilder(stage, "/World/Graph")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    stone = graph.node("stone", "omni.warp_core.ReadVolume", prim="/World/Stone", field="distance")
    pulse = graph.kernel("pulse", PULSE)
    surface = graph.node("surface", "omni.warp_core.MeshFromVolume")
    write = graph.node("write", "omni.graph.nodes.WritePrimsV2", prims="/World/Shape")
    graph.connect(f"{clock}.outputs:time", f"{pulse}.inputs:time")
    graph.connect(f"{stone}.outputs:data", f"{pulse}.inputs:data")
    graph.connect(f"{pulse}.outputs:moved", f"{surface}.inputs:data")
    for name in ("dim1", "dim2", "dim3", "size", "transform"):
        graph.connect(f"{stone}.outputs:{name}", f"{surface}.inputs:{name}")
    graph.connect(f"{surface}.outputs:mesh", f"{write}.inputs:primsBundle")
    stage.Save()


PULSE = """\
# Moves the surface of a field of distances in and out.

@wp.kernel
def pulse(data: wp.array[float], time: float, moved: wp.array[float]):
    i = wp.tid()
    moved[i] = data[i] + 0.04 * wp.sin(3.1416 * time) - 0.02
"""
HILLS = """\
# The sum of the heights of a landscape at some places; its gradient is the slope at each.

@wp.kernel
def hills(places: wp.array[wp.vec3], shift: float, total: wp.array[float]):
    i = wp.tid()
    p = places[i]
    h = wp.sin(1.3 * p[0] + shift) * wp.cos(1.1 * p[2]) + 0.4 * wp.sin(2.3 * p[2] - 0.7 * p[0])
    wp.atomic_add(total, 0, h)
"""
HAIRS = """\
# A curve from each place, uphill.

@wp.kernel
def hairs(places: wp.array[wp.vec3], slope: wp.array[wp.float64], points: wp.array[wp.vec3]):
    i = wp.tid()
    p = places[i]
    way = wp.vec3(float(slope[3 * i]), 0.0, float(slope[3 * i + 2]))
    points[2 * i] = p
    points[2 * i + 1] = p + 0.16 * way + wp.vec3(0.0, 0.05 * wp.length(way), 0.0)
"""
WIND = """\
import math

def compute(db):
    db.outputs.shift = 2.0 * math.sin(0.5 * db.inputs.time)
"""


def slope(folder: Path, size: int = 30) -> None:
    """The slope of a landscape as curves: Backward, Script."""
    stage = new_stage(folder / "slope.usda", (1, 48))
    ground(stage, 3.2, (0.16, 0.18, 0.20))
    x, z = np.meshgrid(np.linspace(-3, 3, size), np.linspace(-3, 3, size), indexing="ij")
    places = np.stack([x.ravel(), np.full(x.size, 0.02), z.ravel()], -1).astype(np.float32)
    hair = UsdGeom.BasisCurves.Define(stage, "/World/Hairs")
    hair.CreateTypeAttr("linear")
    hair.CreateCurveVertexCountsAttr([2] * len(places))
    hair.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.repeat(places, 2, axis=0)))
    hair.CreateWidthsAttr([0.035])
    hair.SetWidthsInterpolation("constant")
    hair.CreateDisplayColorAttr([(0.90, 0.55, 0.20)])
    add_camera(stage, (3.2, 4.6, 5.2), (0, 0, 0.1), 30)
    graph = wp.nodes.GraphBuilder(stage, "/World/Graph")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    wind = graph.node("wind", "omni.warp_core.Script", script=WIND)
    graph.attribute(wind, "inputs:time", "double")
    graph.attribute(wind, "outputs:shift", "float")
    hills = graph.kernel("hills", HILLS, attributes={"outputs:total": "float"}, places=places)
    back = graph.node("slope", "omni.warp_core.Backward", parameter=f"{hills}.inputs:places")
    hairs = graph.kernel("hairs", HAIRS, attributes={"inputs:points:length": "int"}, places=places)
    graph.set(f"{hairs}.inputs:points:length", 2 * len(places))
    write = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim="/World/Hairs", name="points")
    for source, target in (
        (f"{clock}.outputs:time", f"{wind}.inputs:time"),
        (f"{wind}.outputs:shift", f"{hills}.inputs:shift"),
        (f"{hills}.outputs:total", f"{back}.inputs:loss"),
        (f"{back}.outputs:gradient", f"{hairs}.inputs:slope"),
        (f"{hairs}.outputs:points", f"{write}.inputs:value"),
    ):
        graph.connect(source, target)
    stage.Save()


SCENES = (cloth, grains, flock, texture, melting, spiral, meadow, puff, aim, lagoon, pebble, slope)


def main() -> None:
    """Write all scenes."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "scenes"
    folder.mkdir(parents=True, exist_ok=True)
    for scene in SCENES:
        scene(folder)
        print(f"wrote {folder / scene.__name__}.usda")


if __name__ == "__main__":
    main()
