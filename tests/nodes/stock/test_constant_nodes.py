"""Constants: one for each type, read through the connection that starts at their input."""

import pytest

from omni.warp_core.nodes.values.attribute_types import parse
from tests.nodes.stock.single_node import TYPES

KINDS = {
    "Bool": "bool", "UChar": "uchar", "Int3": "int[3]", "UInt": "uint", "Int64": "int64", "UInt64": "uint64",
    "Half": "half", "Half2": "half[2]", "Float4": "float[4]", "Double": "double", "Timecode": "timecode",
    "Token": "token", "String": "string", "Path": "path", "Target": "target", "Prims": "target",
    "Matrix2d": "matrixd[2]", "Matrix4d": "matrixd[4]", "Frame": "frame[4]", "Quatf": "quatf[4]", "Quath": "quath[4]",
    "Color3f": "colorf[3]", "Color4h": "colorh[4]", "Normal3d": "normald[3]", "Point3h": "pointh[3]",
    "TexCoord2f": "texcoordf[2]", "TexCoord3d": "texcoordd[3]", "Vector3d": "vectord[3]",
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_the_value_is_an_input_of_the_type(name):
    spec = TYPES[f"omni.graph.nodes.Constant{name}"].spec
    (attribute,) = spec.attributes.values()
    assert attribute.name == "inputs:value" and attribute.type == parse(KINDS[name])
    assert attribute.metadata["outputOnly"] == "1"
