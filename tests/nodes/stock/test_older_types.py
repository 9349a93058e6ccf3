"""Node types of omni.warp: attributes and defaults as the public description of its release 1.6 has them."""

import numpy as np
import pytest

from omni.warp_core.nodes.stock import node_registry
from tools import type_pages

IDENTITY = np.identity(4)
# Type without "omni.warp." -> inputs with type and default, outputs with type.
TYPES = {
    "FixedTime": ({"fps": ("double", 60), "start": ("double", 0), "end": ("double", 1000)}, {"time": "double"}),
    "WarpGridCreate": (
        {"transform": ("matrixd[4]", IDENTITY), "size": ("float[2]", (100, 100)), "dims": ("int[2]", (1, 1))},
        {"mesh": "bundle"},
    ),
    "WarpMeshFromVolume": (
        {
            "transform": ("matrixd[4]", IDENTITY), "size": ("float[3]", (100, 100, 100)), "dim1": ("int", 64),
            "dim2": ("int", 64), "dim3": ("int", 64), "data": ("float[]", ()), "maxPoints": ("int", 1000000),
            "maxTriangles": ("int", 1000000), "threshold": ("float", 0),
        },
        {"mesh": "bundle"},
    ),
    "WarpNoiseDeform": (
        {
            "mode": ("token", "global"), "upAxis": ("token", "+Y"), "base": ("float", 0), "falloff": ("float", 0),
            "func": ("token", "perlin"), "cellSize": ("float", 100), "speed": ("float", 1), "amplitude": ("float", 10),
            "axisAmplitude": ("float[3]", (1, 1, 1)), "seed": ("int", 0), "time": ("double", 0),
            "prims": ("bundle", None),
        },
        {"prims": "bundle"},
    ),
    "WarpParticlesFromMesh": (
        {
            "transform": ("matrixd[4]", IDENTITY), "seed": ("int", 0), "mesh": ("bundle", None),
            "minSdf": ("float", -100), "maxSdf": ("float", 0), "radius": ("float", 1), "spacing": ("float", 4),
            "spacingJitter": ("float", 0), "mass": ("float", 1), "velocityDir": ("vectorf[3]", (0, 0, 1)),
            "velocityAmount": ("float", 0), "maxPoints": ("int", 1000000),
        },
        {"particles": "bundle"},
    ),
    "WarpWaveSolve": (
        {
            "transform": ("matrixd[4]", IDENTITY), "size": ("float[2]", (100, 100)), "cellSize": ("float", 1),
            "collider": ("bundle", None), "amplitude": ("float", 1), "speed": ("float", 100),
            "damping": ("float", 0.25), "time": ("double", 0),
        },
        {"mesh": "bundle"},
    ),
    "WarpOgnBundleInspectChanges": (
        {"bundle": ("bundle", None)},
        {"bundle": "bundle", "topologyChanged": "bool", "attrsChanged": "string"},
    ),
    "WarpTextureWrite": (
        {
            "uri": ("string", "dynamic://"), "data": ("colorf[4][]", ()), "dimCount": ("int", 2), "dim1": ("int", 0),
            "dim2": ("int", 0), "dim3": ("int", 0), "dim4": ("int", 0),
        },
        {},
    ),
    "WarpSampleMeshDeform": ({"mesh": ("bundle", None), "time": ("double", 0)}, {"mesh": "bundle"}),
    "WarpSampleProceduralVolume": (
        {
            "torusAltitude": ("float", None), "torusMajorRadius": ("float", None), "torusMinorRadius": ("float", None),
            "smoothMinRadius": ("float", None), "dim": ("int", 64), "time": ("double", 0),
        },
        {"data": "float[]"},
    ),
    "WarpSampleOceanDeform": (
        {
            "mesh": ("bundle", None), "directionality": ("float", None), "amplitude": ("float", None),
            "direction": ("float", None), "scale": ("float", None), "waterDepth": ("float", 50),
            "windSpeed": ("float", 10), "cameraPos": ("vectorf[3]", (0, 0, 0)), "clipmapCellSize": ("float", 1),
            "time": ("double", 0),
        },
        {"mesh": "bundle"},
    ),
    "WarpSamplePrimFlocking": ({"time": ("double", 0)}, {}),
    "WarpClothSimulate": (
        {
            "enabled": ("bool", True), "substepCount": ("int", 32), "gravity": ("vectorf[3]", (0, -980, 0)),
            "globalScale": ("float", 100), "collider": ("bundle", None), "springIndexPairs": ("int[2][]", ()),
            "time": ("double", 0),
        },
        {"cloth": "bundle", "visualization": "bundle"},
    ),
    "WarpParticlesSimulate": (
        {
            "enabled": ("bool", True), "gravity": ("vectorf[3]", (0, -980, 0)), "globalScale": ("float", 100),
            "collider": ("bundle", None), "time": ("double", 0),
        },
        {"particles": "bundle"},
    ),
    "WarpKernel": (
        {
            "dimSource": ("token", "explicit"), "dimCount": ("int", 1), "dim1": ("int", 1), "dim2": ("int", 1),
            "dim3": ("int", 1), "dim4": ("int", 1), "codeProvider": ("token", "embedded"), "codeFile": ("token", ""),
        },
        {},
    ),
}  # fmt: skip
TWO_VERSIONS = {"WarpKernel": 2}


@pytest.mark.parametrize("name", TYPES)
def test_attributes_and_defaults_are_those_of_the_description(registry, name):
    spec = registry.find(f"omni.warp.{name}").spec
    assert spec.version == TWO_VERSIONS.get(name, 1)
    inputs, outputs = TYPES[name]
    for base, (kind, default) in inputs.items():
        found = spec.attributes[f"inputs:{base}"]
        assert str(found.type) == kind, base
        if default is not None:
            assert np.array_equal(found.default, default) or (default == () and not len(found.default)), base
    for base, kind in outputs.items():
        assert str(spec.attributes[f"outputs:{base}"].type) == kind, base
    assert spec.is_execution == (name != "FixedTime")


def test_no_other_type_is_promised(registry):
    known = {name for name in node_registry.ALIASES if name.startswith("omni.warp.")}
    assert known == {f"omni.warp.{name}" for name in TYPES}
    page = type_pages.page()
    assert all(page.count(f"\n| `omni.warp.{name}` | {TWO_VERSIONS.get(name, 1)} |") == 1 for name in TYPES)


@pytest.fixture(scope="module")
def registry():
    return node_registry.standard()
