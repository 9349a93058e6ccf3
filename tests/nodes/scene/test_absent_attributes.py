"""Errors of a play for attributes and primvars that a prim lacks."""

import pytest
from pxr import Sdf, Usd, UsdGeom

import omni.warp_core as wp


@pytest.fixture
def stage():
    """A mesh with two primvars below a prim that has one to inherit."""
    stage = Usd.Stage.CreateInMemory()
    world = UsdGeom.Xform.Define(stage, "/World").GetPrim()
    UsdGeom.PrimvarsAPI(world).CreatePrimvar("tint", Sdf.ValueTypeNames.Color3f, "constant").Set((1, 0, 0))
    mesh = UsdGeom.Mesh.Define(stage, "/World/Mesh").GetPrim()
    api = UsdGeom.PrimvarsAPI(mesh)
    api.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "vertex").Set([(0, 0)])
    api.CreatePrimvar("heat", Sdf.ValueTypeNames.FloatArray, "vertex").Set([1.0])
    UsdGeom.Mesh.Define(stage, "/World/Bare")
    return stage


def error_of(stage, type_name, **inputs):
    """The error of the only node of a play, without its path."""
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    path = graph.node("n", f"omni.graph.nodes.{type_name}", **inputs)
    with wp.usd.play(stage, frames=(1, 1)) as player:
        player.step()
        (error,) = player.errors
    assert error.startswith(f"{path}: ")
    return error.removeprefix(f"{path}: ")


PRESENT = "its primvars are primvars:heat, primvars:st"
ADD = "\n    to add it, write into the prim Mesh in the .usda: "


def test_a_primvar_that_is_not_there_lists_those_that_are(stage):
    error = error_of(stage, "ReadPrimAttribute", prim="/World/Mesh", name="primvars:wind")
    add = ADD + 'float[] primvars:wind = [VALUES] (interpolation = "vertex")'
    assert error == f"the prim /World/Mesh has no attribute 'primvars:wind'; {PRESENT}{add}"


def test_a_primvar_without_its_prefix_is_meant(stage):
    error = error_of(stage, "ReadPrimAttribute", prim="/World/Mesh", name="heat")
    assert error == "the prim /World/Mesh has no attribute 'heat'; did you mean primvars:heat?"


def test_an_inherited_primvar_names_the_prim_that_has_it(stage):
    error = error_of(stage, "ReadPrimAttribute", prim="/World/Mesh", name="primvars:tint")
    assert error.endswith("'primvars:tint'; it inherits that of /World, so name that prim")


def test_a_declared_primvar_without_value(stage):
    error = error_of(stage, "ReadPrimAttribute", prim="/World/Mesh", name="primvars:displayColor")
    add = ADD + 'color3f[] primvars:displayColor = [VALUES] (interpolation = "vertex")'
    assert error == f"/World/Mesh.primvars:displayColor has no value; {PRESENT}{add}"


def test_a_prim_without_primvars(stage):
    error = error_of(stage, "ReadPrimAttribute", prim="/World/Bare", name="primvars:wind")
    assert "has no attribute 'primvars:wind'; it has no primvars with values\n" in error


def test_a_primvar_to_write_has_the_type_of_the_value(stage):
    error = error_of(stage, "WritePrimAttribute", prim="/World/Mesh", name="primvars:age", value=2.5)
    assert error.endswith(ADD + 'double primvars:age = VALUE (interpolation = "constant")')


def test_indices_are_no_primvar(stage):
    error = error_of(stage, "ReadPrimAttribute", prim="/World/Mesh", name="primvars:heat:indices")
    assert error.startswith("the prim /World/Mesh has no attribute 'primvars:heat:indices'; did you mean primvars:heat")


def test_other_attributes_get_similar_names(stage):
    error = error_of(stage, "ReadPrimAttribute", prim="/World/Mesh", name="pionts")
    assert error == "the prim /World/Mesh has no attribute 'pionts'; did you mean points?"


def test_the_lines_that_are_proposed_are_usd(tmp_path):
    lines = 'float[] primvars:wind = [1, 2] (interpolation = "vertex")\n'
    lines += 'double primvars:age = 3 (interpolation = "constant")\n'
    file = tmp_path / "proposed.usda"
    file.write_text('#usda 1.0\ndef Mesh "Mesh"\n{\n' + lines + "}\n")
    stage = Usd.Stage.Open(str(file))
    found = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath("/Mesh")).GetPrimvarsWithValues()
    assert [(p.GetPrimvarName(), p.GetInterpolation()) for p in found] == [("age", "constant"), ("wind", "vertex")]
