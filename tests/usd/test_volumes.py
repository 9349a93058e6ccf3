"""Volumes of stages: grids in and out, against USD itself, NanoVDB's own tool and values by hand."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdUtils, UsdVol

import omni.warp_core as wp
from tests.usd.validation import require_valid
from tests.volumes.expected_vdb import leaf, unpacked

VALUES = np.random.default_rng(5).normal(size=(8, 16, 8)).astype(np.float32)


def made(values=VALUES, voxel_size=0.5, corner=(1.0, 2.0, 3.0)):
    return wp.Volume.load_from_numpy(values, corner, voxel_size, device="cpu")


def voxels_of(volume, shape=VALUES.shape):
    """The values of a volume in a box of voxels from 0 on."""
    places = np.stack(np.indices(shape), -1).reshape(-1, 3)
    found = [wp.volume_lookup_f(volume.id, *map(int, place)) for place in places[::37]]
    return places[::37], np.array(found, np.float32)


def require_values(volume, values=VALUES):
    places, found = voxels_of(volume, values.shape)
    assert np.array_equal(found, values[tuple(places.T)])


def stage_over(folder, file, grid="density", index=None, name="s.usda"):
    """A stage whose volume has the field rho in a file beside it."""
    stage = Usd.Stage.CreateNew(str(folder / name))
    volume = UsdVol.Volume.Define(stage, "/Smoke")
    field = UsdVol.OpenVDBAsset.Define(stage, "/Smoke/rho")
    field.CreateFilePathAttr(file)
    field.CreateFieldNameAttr(grid)
    if index is not None:
        field.CreateFieldIndexAttr(index)
    volume.CreateFieldRelationship("rho", field.GetPath())
    return stage


def field_of(stage, time=None, name="rho"):
    return wp.usd.read_volume(stage.GetPrimAtPath("/Smoke"), time)[name]


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stream.vdb", "stream_zip.nvdb"])
def test_fields_of_files_that_openvdb_and_nanovdb_wrote(name, tmp_path):
    unpacked(name, tmp_path)
    volume = field_of(stage_over(tmp_path, f"./{name}")).load("cpu")
    origin, _, values = leaf("float", 1, 0)
    for at, expected in zip(np.indices((8, 8, 8)).reshape(3, -1).T[::50], values[::50]):
        assert wp.volume_lookup_f(volume.id, *map(int, origin + at)) == expected
    shared = field_of(stage_over(tmp_path, f"./{name}", "shared", name="t.usda")).load("cpu")
    assert shared.get_grid_info().name == "shared" and shared.get_voxel_size() == (0.5, 0.5, 0.5)


def test_an_index_tells_grids_of_one_name_apart(tmp_path):
    unpacked("several.vdb", tmp_path)
    stage = stage_over(tmp_path, "./several.vdb", index=1)
    assert field_of(stage).load("cpu").get_tile_count() == 2
    stage.GetPrimAtPath("/Smoke/rho").GetAttribute("fieldIndex").Set(0)
    assert field_of(stage).load("cpu").get_tile_count() == 7
    stage.GetPrimAtPath("/Smoke/rho").GetAttribute("fieldIndex").Set(2)
    with pytest.raises(wp.usd.StageError, match=r"/Smoke/rho: .*several\.vdb has 2 grids named 'density', so none at"):
        field_of(stage).load("cpu")


def test_volumes_in_world_space(tmp_path):
    made().save_to_nvdb(tmp_path / "d.nvdb")
    stage = stage_over(tmp_path, "./d.nvdb", "")
    turn = UsdGeom.Xformable(stage.GetPrimAtPath("/Smoke")).AddTransformOp()
    turn.Set(Gf.Matrix4d(0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 3, 0, 10, 20, 30, 1))  # rows: x goes to 2 y, y to -2 x
    own, world = field_of(stage).load("cpu"), field_of(stage).load("cpu", world=True)
    require_values(world)
    matrix = UsdGeom.XformCache().GetLocalToWorldTransform(stage.GetPrimAtPath("/Smoke/rho"))
    for place in [(0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (4.5, -2.0, 7.0)]:
        expected = matrix.Transform(Gf.Vec3d(*wp.volume_index_to_world(own.id, wp.vec3(*place))))
        found = wp.volume_index_to_world(world.id, wp.vec3(*place))
        assert np.allclose(found, expected, atol=1e-5)
        assert np.allclose(wp.volume_world_to_index(world.id, found), place, atol=1e-5)
    assert np.allclose(world.get_voxel_size(), (1.0, 1.0, 1.5))


def test_a_space_without_volume_is_refused(tmp_path):
    made().save_to_nvdb(tmp_path / "d.nvdb")
    stage = stage_over(tmp_path, "./d.nvdb", "")
    UsdGeom.Xformable(stage.GetPrimAtPath("/Smoke")).AddScaleOp().Set((1, 0, 1))
    with pytest.raises(wp.usd.StageError, match=r"/Smoke/rho: .*d\.nvdb: .* its voxels would have no volume"):
        field_of(stage).load("cpu", world=True)


def test_a_package_holds_its_files(tmp_path):
    made().save_to_nvdb(tmp_path / "d.nvdb")
    stage_over(tmp_path, "./d.nvdb", "").Save()
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "s.usda"), str(tmp_path / "s.usdz"))
    (tmp_path / "d.nvdb").unlink()
    require_values(field_of(Usd.Stage.Open(str(tmp_path / "s.usdz"))).load("cpu"))


def test_files_that_are_no_volumes_are_named(tmp_path):
    stage = stage_over(tmp_path, "./bad.nvdb")
    (tmp_path / "bad.nvdb").write_text("a secret")
    with pytest.raises(wp.usd.StageError, match=r"/Smoke/rho: .*bad\.nvdb: byte 0: this is no \.nvdb or") as raised:
        field_of(stage).load("cpu")
    assert "secret" not in str(raised.value)
    made().save_to_nvdb(tmp_path / "bad.nvdb")
    with pytest.raises(wp.usd.StageError, match=r"has 0 grids named 'density', so none at 0; its grids: ''"):
        field_of(stage).load("cpu")
    whole = (tmp_path / "bad.nvdb").read_bytes()
    (tmp_path / "bad.nvdb").write_bytes(whole[:5000])
    with pytest.raises(wp.usd.StageError, match="promises 309376 bytes, but the payload holds at most"):
        field_of(stage_over(tmp_path, "./bad.nvdb", "", name="t.usda")).load("cpu")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "d.vdb")
    with pytest.raises(wp.usd.StageError, match=r"d\.vdb cannot be read: it is not a regular file"):
        field_of(stage_over(tmp_path, "./d.vdb")).load("cpu")


def test_a_size_that_a_header_promises_is_not_believed(tmp_path):
    made().save_to_nvdb(tmp_path / "d.nvdb", "zip")
    data = bytearray((tmp_path / "d.nvdb").read_bytes())
    data[16:24] = (1 << 45).to_bytes(8, "little")  # the bytes of the grid in memory
    (tmp_path / "d.nvdb").write_bytes(data)
    with pytest.raises(wp.usd.StageError, match=r"d\.nvdb: grid ''"):
        field_of(stage_over(tmp_path, "./d.nvdb", "")).load("cpu")


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nvdb", "vdb"])
def test_volumes_there_and_back_with_a_file_for_each_frame(tmp_path, kind):
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Y")
    for frame in (3, 1, 2):
        fields = {"density": made(VALUES * frame), "heat": made(VALUES - frame)}
        wp.usd.write_volume(stage, "/World/Smoke", fields, frame, file=f"smoke.{kind}", grid_class="fogVolume")
    stage.Save()
    assert sorted(os.listdir(tmp_path)) == ["s.usda", *(f"smoke.{frame:04d}.{kind}" for frame in (1, 2, 3))]
    again = Usd.Stage.Open(str(tmp_path / "s.usda"))
    smoke = UsdVol.Volume(again.GetPrimAtPath("/World/Smoke"))
    assert {str(k): str(v) for k, v in smoke.GetFieldPaths().items()} == {
        "density": "/World/Smoke/density", "heat": "/World/Smoke/heat",
    }  # fmt: skip
    heat = UsdVol.OpenVDBAsset(again.GetPrimAtPath(smoke.GetFieldPath("heat")))
    assert heat.GetFilePathAttr().GetTimeSamples() == [1.0, 2.0, 3.0]
    assert heat.GetFilePathAttr().Get(2).path == f"./smoke.0002.{kind}"
    assert heat.GetFilePathAttr().Get(2).resolvedPath == str(tmp_path / f"smoke.0002.{kind}")
    assert (heat.GetFieldClassAttr().Get(), heat.GetFieldDataTypeAttr().Get()) == ("fogVolume", "float")
    assert np.allclose(smoke.GetExtentAttr().Get(2), [(1, 2, 3), (5, 10, 7)])
    for frame in (1, 2, 3):
        fields = wp.usd.read_volume(smoke, frame)
        require_values(fields["density"].load("cpu"), VALUES * frame)
        require_values(fields["heat"].load("cpu"), VALUES - frame)
    require_valid(tmp_path / "s.usda")


def test_nanovdb_accepts_the_files(tmp_path):
    if not shutil.which("nanovdb_validate"):
        pytest.skip("NanoVDB's tools are not installed; on Debian: apt-get install libnanovdb-tools")
    stage = Usd.Stage.CreateInMemory()
    fields = {"density": made(), "heat": wp.Volume.load_from_numpy(np.ones((9, 8, 8)), device="cpu")}
    wp.usd.write_volume(stage, "/Smoke", fields, file=tmp_path / "a.nvdb", grid_class="fogVolume", codec="zip")
    subprocess.run(["nanovdb_validate", str(tmp_path / "a.nvdb")], check=True, capture_output=True)
    listed = subprocess.run(["nanovdb_print", str(tmp_path / "a.nvdb")], check=True, capture_output=True, text=True)
    rows = [line.split() for line in listed.stdout.splitlines() if line.split()[:1] in (["1"], ["2"])]
    assert [row[1:4] for row in rows] == [["density", "float", "FOG"], ["heat", "float", "FOG"]]


def test_a_stage_in_memory_finds_its_files_from_where_it_is_saved(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    stage = Usd.Stage.CreateInMemory()
    wp.usd.write_volume(stage, "/Smoke", {"density": made()}, 2.5)
    assert os.listdir(tmp_path / "out") == [] and (tmp_path / "Smoke.0002.500.nvdb").exists()
    wp.usd.save(stage, "out/s.usda")
    assert "@../Smoke.0002.500.nvdb@" in (tmp_path / "out" / "s.usda").read_text()
    require_values(field_of(Usd.Stage.Open("out/s.usda"), 2.5, "density").load("cpu"))


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    for file, message in (("a.bgeo", r"must end in \.nvdb or \.vdb"), ("no/a.nvdb", "cannot be written: No such file")):
        with pytest.raises(wp.usd.OutputError, match=message):
            wp.usd.write_volume(stage, "/Smoke", {"density": made()}, file=file)
    with pytest.raises(ValueError, match="grid_class is 'fog'; it must be one of 'levelSet', 'fogVolume'"):
        wp.usd.write_volume(stage, "/Smoke", {"density": made()}, grid_class="fog")
    UsdGeom.Xform.Define(stage, "/World")
    with pytest.raises(wp.usd.StageError, match="/World is Xform already"):
        wp.usd.write_volume(stage, "/World", {"density": made()})
    assert os.listdir(tmp_path) == ["s.usda"]


def test_an_older_file_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "Smoke.nvdb").symlink_to(tmp_path / "victim")
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    for factor in (1, 2):
        wp.usd.write_volume(stage, "/Smoke", {"density": made(VALUES * factor)})
    assert (tmp_path / "victim").read_text() == "mine" and not (tmp_path / "Smoke.nvdb").is_symlink()
    require_values(field_of(stage, name="density").load("cpu"), VALUES * 2)


def test_files_are_beside_the_layer_that_is_written_to(tmp_path):
    (tmp_path / "sub").mkdir()
    layer = Sdf.Layer.CreateNew(str(tmp_path / "sub" / "part.usda"))
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    stage.GetRootLayer().subLayerPaths = ["./sub/part.usda"]
    with Usd.EditContext(stage, layer):
        wp.usd.write_volume(stage, "/Smoke", {"density": made()})
    assert (tmp_path / "sub" / "Smoke.nvdb").exists()
    require_values(field_of(stage, name="density").load("cpu"))


def test_time_codes_that_are_near_each_other_have_files_of_their_own(tmp_path):
    stage, codes = Usd.Stage.CreateNew(str(tmp_path / "s.usda")), (1.25, 1.0001, 1.0002, 1 / 3, 2 / 3 - 1 / 3 + 1e-9)
    for code in codes:
        volume = wp.Volume.load_from_numpy(np.full((2, 2, 2), code), device="cpu")
        prim = wp.usd.write_volume(stage, "/Smoke", {"density": volume}, code, file="s.nvdb")
    for code in codes:
        loaded = wp.usd.read_volume(prim, code)["density"].load(device="cpu")
        assert wp.volume_lookup_f(loaded.id, 1, 1, 1) == np.float32(code)
    assert (tmp_path / "s.0001.250.nvdb").exists()


def test_absolute_paths_below_the_layer_are_written_relative_to_it(tmp_path):
    """So the folder can move. A file elsewhere keeps its absolute path."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "shots" / "a.usda"))
    volume = wp.Volume.load_from_numpy(np.ones((2, 2, 2), np.float32), device="cpu")
    named = {}
    for name in ("shots/fog.nvdb", "shots/cache/fog.nvdb", "elsewhere/fog.nvdb", "shots2/fog.nvdb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        prim = wp.usd.write_volume(stage, "/Fog", {"density": volume}, file=tmp_path / name)
        asset = UsdVol.OpenVDBAsset(prim.GetChild("density")).GetFilePathAttr().Get()
        named[name] = asset.path
        assert wp.usd.read_volume(prim)["density"].file == str(tmp_path / name)
    assert named["shots/fog.nvdb"] == "./fog.nvdb" and named["shots/cache/fog.nvdb"] == "./cache/fog.nvdb"
    for name in ("elsewhere/fog.nvdb", "shots2/fog.nvdb"):
        assert named[name] == str(tmp_path / name)


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_times_that_are_not_finite_are_refused(time, tmp_path):
    """USD takes NaN for its default time, so a default value would be read or written without a word."""
    stage = Usd.Stage.CreateInMemory()
    prim = wp.usd.write_volume(stage, "/Fog", {"density": ("./fog.nvdb", "density")})
    for call in (
        lambda: wp.usd.read_volume(prim, time),
        lambda: wp.usd.write_volume(stage, "/Fog", {"density": ("./fog.nvdb", "density")}, time),
    ):
        with pytest.raises(ValueError, match=r"time is (nan|inf), and a time code must be finite"):
            call()
