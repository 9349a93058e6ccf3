"""The difference between a kernel's parameters and a node's attributes, with expectations written by hand."""

from omni.warp_core.lang import types as kt
from omni.warp_core.nodes.kernel.signature import ADDED, KEPT, REMOVED, RETYPED, Parameter, changes
from omni.warp_core.nodes.values.attribute_types import parse

POINTS = Parameter("points", kt.Array(kt.Vec(3, kt.F32), 1))
OUT = Parameter("out", kt.Array(kt.Vec(3, kt.F32), 1), is_written=True)
RATE = Parameter("rate", kt.F32)


def types(**names):
    return {name: parse(kind) for name, kind in names.items()}


def listed(*arguments):
    return [(c.kind, c.attribute, c.before, c.after) for c in changes(*arguments)]


def test_parameters_without_attributes_are_added_on_the_side_that_fits():
    assert listed([POINTS, RATE, OUT], {}, {}) == [
        (ADDED, "inputs:points", "", "float3[]"),
        (ADDED, "inputs:rate", "", "float"),
        (ADDED, "outputs:out", "", "float3[]"),
    ]


def test_attributes_of_an_equal_layout_are_kept_whatever_their_role():
    inputs, outputs = types(points="pointf[3][]", rate="double"), types(out="colorf[3][]")
    assert listed([POINTS, RATE, OUT], inputs, outputs) == [
        (KEPT, "inputs:points", "point3f[]", "float3[]"),
        (KEPT, "inputs:rate", "double", "float"),
        (KEPT, "outputs:out", "color3f[]", "float3[]"),
    ]


def test_a_retyped_attribute_says_why():
    (change,) = changes([POINTS], types(points="pointd[3][]"), {})
    assert (change.kind, change.name, change.before, change.after) == (RETYPED, "points", "point3d[]", "float3[]")
    assert "vec3d" in change.reason and "vec3f" in change.reason
    (change,) = changes([RATE], types(rate="float[]"), {})
    assert change.kind == RETYPED and "array of float32" in change.reason
    (change,) = changes([RATE], {}, types(rate="float"))
    assert change.kind == RETYPED and "must be an array" in change.reason


def test_leftovers_are_removed_but_companions_stay():
    inputs = types(points="pointf[3][]", points_length="int", old="float", rate_of="float")
    found = listed([POINTS], inputs, types(gone="int[]"), types(points="pointf[3][]", v="float[]"))
    assert found == [
        (KEPT, "inputs:points", "point3f[]", "float3[]"),
        (KEPT, "state:points", "point3f[]", "float3[]"),
        (REMOVED, "inputs:old", "float", ""),
        (REMOVED, "inputs:rate_of", "float", ""),
        (REMOVED, "outputs:gone", "int[]", ""),
        (REMOVED, "state:v", "float[]", ""),
    ]


def test_a_type_that_usd_lacks_has_no_spelling():
    (change,) = changes([Parameter("q", kt.Vec(9, kt.F32))], {}, {})
    assert (change.kind, change.after) == (ADDED, "") and "`q`" in change.reason
