"""Read Volume, Write Volume, Volume From Mesh, Read Curves and Write Instances in scenes and alone."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdVol

import omni.warp_core as wp
from omni.warp_core.files import sweep
from omni.warp_core.nodes.library.prim_bundles import mesh_prim
from omni.warp_core.nodes.values.bundles import item, prims_bundle, prims_of
from omni.warp_core.usd import output_layer

HALF = np.array([3.0, 2.0, 1.5])
FACES = np.array([0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3], np.int32)


def box(world=None):
    corners = np.stack(np.meshgrid(*[(-h, h) for h in HALF], indexing="ij"), -1).reshape(8, 3).astype(np.float32)
    world = np.identity(4) if world is None else world
    return prims_bundle([mesh_prim(corners, np.full(6, 4, np.int32), FACES, world)])


def distance(p):
    q = np.abs(p) - HALF
    return np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0)


def places(size, shape, transform):
    """The world positions of the nodes of a field (l, m, n, 3)."""
    axes = [np.linspace(-s / 2, s / 2, n) for s, n in zip(size, shape, strict=True)]
    p = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    return p @ transform[:3, :3] + transform[3, :3]


def test_a_volume_of_a_mesh_has_its_distances(lone):
    node = lone("VolumeFromMesh")
    seen = node(mesh=box(), voxelSize=0.25, margin=1.0)
    shape = (seen.dim1, seen.dim2, seen.dim3)
    assert shape == (33, 25, 21)
    p = places(seen.size, shape, seen.transform)
    assert np.allclose(p[0, 0, 0], -HALF - 1) and np.allclose(p[-1, -1, -1], HALF + 1)
    assert np.abs(seen.data.reshape(shape) - distance(p)).max() < 1e-5
    world = np.diag([2.0, 2.0, 2.0, 1.0])
    world[3, :3] = 5, 6, 7
    seen = node(mesh=box(world))
    assert np.allclose(places(seen.size, shape, seen.transform), p * 2 + [5, 6, 7])


def test_the_surface_of_that_volume_is_the_mesh_again(lone):
    field = lone("VolumeFromMesh")(mesh=box(), voxelSize=0.2, margin=0.6)
    names = ("data", "dim1", "dim2", "dim3", "size", "transform")
    prim = lone("MeshFromVolume").prim(threshold=0.0, **{name: getattr(field, name) for name in names})
    p = prim.value("points") @ field.transform[:3, :3] + field.transform[3, :3]
    assert len(p) > 500 and np.abs(distance(p)).max() < 0.1  # edges are cut off
    assert np.median(np.abs(distance(p))) < 1e-5


def test_a_left_handed_mesh_has_its_inside_inside(lone):
    """USD says that the faces of such a mesh are clockwise seen from outside."""
    (prim,) = prims_of(box())
    faces = {"faceVertexIndices": item("int[]", FACES.reshape(6, 4)[:, ::-1].ravel())}
    left = prims_bundle([prim.having({**faces, "orientation": item("token", "leftHanded")})])
    seen = lone("VolumeFromMesh")(mesh=left, voxelSize=0.25, margin=1.0)
    shape = (seen.dim1, seen.dim2, seen.dim3)
    assert np.abs(seen.data.reshape(shape) - distance(places(seen.size, shape, seen.transform))).max() < 1e-5


def test_bad_requests_for_volumes(lone):
    node = lone("VolumeFromMesh")
    assert "inputs:mesh has no bundle" in node.error()
    assert "inputs:voxelSize must be above 0" in node.error(mesh=box(), voxelSize=0.0)
    assert "set a larger inputs:voxelSize" in node.error(voxelSize=1e-4)
    empty = mesh_prim(np.zeros((3, 3), np.float32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.identity(4))
    assert "has no triangles" in node.error(mesh=prims_bundle([empty]), voxelSize=1.0)


@pytest.fixture
def stage():
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(2)
    stage.SetTimeCodesPerSecond(24)
    stage.SetFramesPerSecond(24)
    return stage


FILL = """
@wp.kernel
def fill(time: float, values: wp.array3d[float]):
    i, j, k = wp.tid()
    values[i, j, k] = float(i) + 10.0 * float(j) + 100.0 * float(k) + 24.0 * time
"""


def writing(stage, file_format="nvdb"):
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    fill = graph.node("fill", "omni.warp_core.Kernel", codeStr=FILL, dimCount=3, dim1=4, dim2=5, dim3=6)
    graph.attribute(fill, "inputs:time", "double")
    graph.attribute(fill, "outputs:values", "float[]")
    matrix = Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d(0, 0, 1), 90)) * Gf.Matrix4d().SetTranslate((7, 8, 9))
    write = graph.node("write", "omni.warp_core.WriteVolume", prim="/World/Smoke", dim1=4, dim2=5, dim3=6,
                       size=(3.0, 2.0, 10.0), background=-1.0, gridClass="fogVolume",
                       transform=np.array(matrix), fileFormat=file_format)  # fmt: skip
    graph.connect(f"{clock}.outputs:time", f"{fill}.inputs:time")
    graph.connect(f"{fill}.outputs:values", f"{write}.inputs:data")


@pytest.mark.parametrize("kind", ["nvdb", "vdb"])
def test_volumes_are_written_a_file_a_frame_and_read_again(stage, tmp_path, kind):
    UsdGeom.Xform.Define(stage, "/World").AddTranslateOp().Set((1, 0, 0))
    writing(stage, kind)
    with wp.usd.play(stage, frames=(0, 2), fps=24, trust=True) as player:
        player.play(3)
        assert not player.errors
        player.save(tmp_path / "out.usda")
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        *(f"out.World_Smoke_density.{frame:04d}.{kind}" for frame in range(3)), "out.usda",
    ]  # fmt: skip
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    i, j, k = np.meshgrid(*map(np.arange, (4, 5, 6)), indexing="ij")
    for frame in (0, 2):
        (field,) = wp.usd.read_volume(result.GetPrimAtPath("/World/Smoke"), frame).values()
        volume = field.load(device="cpu", world=True)
        assert volume.get_grid_info().name == "density"
        # node (i, j, k) lies at (i, j / 2, 2 k) from the corner; the transform turns by 90 degrees and moves
        p = np.stack([i * 1.0 - 1.5, j * 0.5 - 1.0, k * 2.0 - 5.0], -1).reshape(-1, 3)
        world = np.stack([-p[:, 1], p[:, 0], p[:, 2]], -1) + np.array([7, 8, 9])
        index = [wp.volume_world_to_index(volume.id, wp.vec3(*q)) for q in world.tolist()]
        found = [wp.volume_sample_f(volume.id, q, wp.Volume.CLOSEST) for q in index]
        assert np.allclose(found, (i + 10 * j + 100 * k + frame).ravel(), atol=1e-4)
    # the result plays through Read Volume: the same numbers, at the same places
    graph = wp.nodes.GraphBuilder(result, "/Reading")
    read = graph.node("read", "omni.warp_core.ReadVolume", prim="/World/Smoke", usdTimecode=2.0)
    result.RemovePrim("/Graph")
    with wp.usd.play(result, frames=(0, 0), fps=24, trust=True) as player:
        player.step()
        assert not player.errors
        seen = {n: player.get(f"{read}.outputs:{n}") for n in ("data", "dim1", "dim2", "dim3", "size", "transform")}
    shape = (seen["dim1"], seen["dim2"], seen["dim3"])
    assert shape == (4, 5, 6) and np.allclose(seen["size"], (3, 2, 10) / np.array([1, 0.5, 2]))
    assert np.allclose(seen["data"].reshape(shape), i + 10 * j + 100 * k + 2)
    assert np.allclose(places(seen["size"], shape, seen["transform"]).reshape(-1, 3), world, atol=1e-5)


def test_a_class_of_volumes_that_does_not_exist_is_told(stage):
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    graph.node("write", "omni.warp_core.WriteVolume", prim="/Smoke", data=[0.0] * 8, dim1=2, dim2=2, dim3=2,
               size=(1, 1, 1), gridClass="fog")  # fmt: skip
    with wp.usd.play(stage, frames=(0, 0), fps=24) as player:
        player.step()
        assert "inputs:gridClass is 'fog'; it must be one of unknown, levelSet, fogVolume" in player.errors[0]


def test_a_format_of_volumes_that_does_not_exist_is_told(stage):
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    graph.node("write", "omni.warp_core.WriteVolume", prim="/Smoke", data=[0.0] * 8, dim1=2, dim2=2, dim3=2,
               size=(1, 1, 1), fileFormat="obj")  # fmt: skip
    with wp.usd.play(stage, frames=(0, 0), fps=24) as player:
        player.step()
        assert "inputs:fileFormat is 'obj'; it must be one of nvdb, vdb" in player.errors[0]


def test_no_files_are_left_where_the_play_does_not_end(stage, tmp_path, monkeypatch):
    writing(stage)
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.play(2)

        def fail(self):
            raise output_layer.OutputError("the disk is full")

        monkeypatch.setattr(output_layer.OutputLayer, "commit", fail)
        with pytest.raises(output_layer.OutputError, match="full"):
            player.save(tmp_path / "out.usdc")
    assert not list(tmp_path.iterdir())


def test_volumes_that_cannot_be_read_are_named(stage):
    UsdGeom.Xform.Define(stage, "/World")
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    graph.node("read", "omni.warp_core.ReadVolume", prim="/World")
    with wp.usd.play(stage, frames=(0, 0), fps=24) as player:
        player.step()
        assert "/World" in player.errors[0] and "Volume" in player.errors[0]


def test_curves_are_read_as_arrays(stage):
    curves = UsdGeom.BasisCurves.Define(stage, "/Curves")
    curves.CreatePointsAttr([(i, 0, 0) for i in range(5)])
    curves.CreateCurveVertexCountsAttr([2, 3])
    curves.CreateWidthsAttr([0.5])
    curves.CreateTypeAttr("linear")
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    read = graph.node("read", "omni.warp_core.ReadCurves", prim="/Curves")
    with wp.usd.play(stage, frames=(0, 1), fps=24) as player:
        player.step()
        assert not player.errors
        value = {n: player.get(f"{read}.outputs:{n}") for n in ("points", "curveStarts", "widths", "type", "wrap")}
        assert value["type"] == "linear" and value["wrap"] == "nonperiodic" and list(value["widths"]) == [0.5]
        assert list(value["curveStarts"]) == [0, 2, 5] and value["points"][4, 0] == 4
    curves.CreateCurveVertexCountsAttr([2, 9])
    with wp.usd.play(stage, frames=(0, 1), fps=24) as player:
        player.step()
        assert "/Curves: curveVertexCounts is for 11 points, and there are 5" in player.errors[0]


def copies(stage, **values):
    for name in ("A", "B"):
        UsdGeom.Cube.Define(stage, f"/Shapes/{name}")
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    graph.node("write", "omni.warp_core.WriteInstances", prim="/Copies", **values)
    return wp.usd.play(stage, frames=(0, 1), fps=24)


PLACES = [(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (0.0, 0.0, 3.0)]


def test_instances_are_written(stage, tmp_path):
    turned = [(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)), (0.0, 0.0, 0.0, 1.0)]
    with copies(stage, prototypes=["/Shapes/A", "/Shapes/B"], positions=PLACES, orientations=turned,
                scales=[(2.0, 1.0, 1.0)], protoIndices=[0, 1, 1]) as player:  # fmt: skip
        player.play(2)
        assert not player.errors and not player.warnings
        player.save(tmp_path / "out.usdc")
    result = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    instancer = UsdGeom.PointInstancer(result.GetPrimAtPath("/Copies"))
    assert [str(p) for p in instancer.GetPrototypesRel().GetTargets()] == ["/Shapes/A", "/Shapes/B"]
    assert list(instancer.GetProtoIndicesAttr().Get(1)) == [0, 1, 1]
    matrices = np.array(instancer.ComputeInstanceTransformsAtTime(1, 1, UsdGeom.PointInstancer.ExcludeProtoXform))
    assert np.allclose(matrices[:, 3, :3], PLACES)
    assert np.allclose(matrices[1, :3, :3], [[0, 2, 0], [-1, 0, 0], [0, 0, 1]], atol=2e-3)  # half precision
    assert len(instancer.GetPositionsAttr().GetTimeSamples()) == 1  # nothing changed


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"prototypes": []}, "/Copies has no prototypes; name the prims to copy in inputs:prototypes"),
        ({"prototypes": ["/Nothing"]}, "there is no prim /Nothing"),
        ({"protoIndices": [0, 1, 2]}, "inputs:protoIndices goes from 0 to 2, and /Copies has 1 prototypes"),
        ({"scales": [(1.0, 1.0, 1.0)] * 2}, "inputs:scales has 2 values, and inputs:positions 3"),
    ],
)
def test_instances_that_cannot_be(stage, values, error):
    with copies(stage, **({"prototypes": ["/Shapes/A"], "positions": PLACES} | values)) as player:
        player.step()
        assert error in player.errors[0]


def volume_prim(stage, path, file):
    volume, asset = UsdVol.Volume.Define(stage, path), UsdVol.OpenVDBAsset.Define(stage, f"{path}/density")
    asset.CreateFilePathAttr(str(file))
    volume.CreateFieldRelationship("density", asset.GetPath())


def test_a_scene_reads_volumes_outside_of_its_folder_with_trust_alone(tmp_path):
    elsewhere, scene = tmp_path / "elsewhere.nvdb", tmp_path / "scene" / "scene.usda"
    scene.parent.mkdir()
    wp.Volume.load_from_numpy(np.ones((2, 2, 2), np.float32), device="cpu").save_to_nvdb(elsewhere)
    (scene.parent / "link.nvdb").symlink_to(elsewhere)
    (scene.parent / "inside.nvdb").write_bytes(elsewhere.read_bytes())
    stage = Usd.Stage.CreateNew(str(scene))
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    for name, file in (("far", "../elsewhere.nvdb"), ("link", "./link.nvdb"), ("near", "./inside.nvdb")):
        volume_prim(stage, f"/{name}", file)
        graph.node(name, "omni.warp_core.ReadVolume", prim=f"/{name}")
    stage.Save()
    with wp.usd.play(str(scene), frames=(0, 0), fps=24) as player:
        player.step()
        refused = [error.partition(":")[0] for error in player.errors if "outside of the scene's folder" in error]
        assert refused == ["/Graph/far", "/Graph/link"] and len(player.errors) == 2
        assert len(player.get("/Graph/near.outputs:data")) == 512
    with wp.usd.play(str(scene), frames=(0, 0), fps=24, trust=True) as player:
        player.step()
        assert not player.errors and len(player.get("/Graph/far.outputs:data")) == 512


def test_volumes_of_a_play_replace_those_of_an_earlier_one_and_never_those_of_the_scene(tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "scene.usda"))
    writing(stage)
    stage.Save()
    out, file = tmp_path / "out.usda", tmp_path / "out.World_Smoke_density.0000.nvdb"

    def play(name, time):
        with wp.usd.play(str(name), frames=(0, 0), fps=24, trust=True) as player:
            player.set("/Graph/fill.inputs:time", time)
            player.step()
            player.save(out)

    play(tmp_path / "scene.usda", 0.0)
    first = file.read_bytes()
    play(tmp_path / "scene.usda", 1.0)
    second = file.read_bytes()
    assert second != first
    volume_prim(stage, "/Given", "./" + file.name)
    stage.Save()
    with pytest.raises(output_layer.OutputError, match=f"{file.name}: is part of the scene, which is never changed"):
        play(tmp_path / "scene.usda", 0.0)
    assert file.read_bytes() == second


def test_prims_whose_paths_give_the_same_name_have_files_of_their_own(stage, tmp_path):
    writing(stage)
    graph = wp.nodes.GraphBuilder(stage, "/More")
    write = graph.node("write", "omni.warp_core.WriteVolume", prim="/World_Smoke", dim1=2, dim2=2, dim3=2,
                       size=(1.0, 1.0, 1.0), data=[5.0] * 8)  # fmt: skip
    assert write
    with wp.usd.play(stage, frames=(0, 0), fps=24, trust=True) as player:
        player.step()
        assert not player.errors
        player.save(tmp_path / "out.usda")
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    files = {wp.usd.read_volume(result.GetPrimAtPath(p), 0)["density"].file for p in ("/World/Smoke", "/World_Smoke")}
    assert len(files) == 2


KILLED = """
import os, signal, sys
from pathlib import Path
from pxr import Usd
from omni.warp_core.files import Unfinished
from omni.warp_core.usd.output_layer import FrameFile, OutputLayer

def half(path):
    with Unfinished(path) as unfinished:
        Path(unfinished.path).write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)

with OutputLayer(sys.argv[1], Usd.Stage.CreateInMemory(), 0, 1, 24.0) as output:
    places = (("/Smoke", "filePath"),)
    output.attach(FrameFile("smoke", places, 0, ".nvdb", lambda path: Path(path).write_bytes(b"whole")))
    output.attach(FrameFile("smoke", places, 1, ".nvdb", half))
"""


def test_a_play_that_is_killed_while_it_writes_volumes_leaves_nothing_for_long(tmp_path):
    """The private folder of the result has that of the volume in it."""
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "out.usda")], timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert [p.suffix for p in tmp_path.iterdir()] == [".part"]
    assert sweep(str(tmp_path)) >= 2 and not list(tmp_path.iterdir())
