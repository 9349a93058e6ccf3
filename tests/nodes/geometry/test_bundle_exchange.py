"""Bundles of another host, for which handles stand in: they have the method names of omni.graph.core."""

from types import SimpleNamespace

import numpy as np

from omni.warp_core.nodes.graph.bundle_exchange import copied_in, copy_out, input_bundle, output_bundle
from omni.warp_core.nodes.graph.bundle_handles import BundleHandle
from omni.warp_core.nodes.values.bundles import EMPTY, Bundle, item, prims_bundle

POINTS = np.arange(6, dtype=np.float32).reshape(2, 3)
PRIM = Bundle(
    {
        "points": item("pointf[3][]", POINTS),
        "primvars:displayColor": item("colorf[3][]", POINTS / 6, interpolation="vertex"),
        "worldMatrix": item("matrixd[4]", np.identity(4)),
        "sourcePrimType": item("token", "Points"),
    }
)


def other_host():
    return BundleHandle(Bundle(), "", "/G/n.outputs:b", None, read_only=False)


def test_a_bundle_goes_to_another_host_and_back():
    handle = other_host()
    copy_out(prims_bundle([PRIM, PRIM]), handle)
    back = copied_in(handle)
    assert list(back.children) == ["prim0", "prim1"] and not back.attributes
    prim = back.children["prim1"]
    assert list(prim.attributes) == list(PRIM.attributes)
    for name, found in prim.attributes.items():
        assert found.type == PRIM.attributes[name].type
        assert np.array_equal(found.value, PRIM.attributes[name].value)
    assert prim.attributes["primvars:displayColor"].metadata["interpolation"].value == "vertex"
    assert not prim.attributes["points"].metadata


def test_what_was_there_before_is_gone():
    handle = other_host()
    handle.create_child_bundle("prim7").create_attribute("n", "int")
    copy_out(PRIM, handle)
    assert not handle.get_child_bundle_count() and handle.get_attribute_count() == 4


def test_the_ports_of_another_host():
    handle = other_host()
    contents = SimpleNamespace(valid=False, bundle=handle)
    db = SimpleNamespace(inputs=SimpleNamespace(b=contents), outputs=SimpleNamespace(b=contents))
    assert input_bundle(db, "b") is EMPTY
    output_bundle(db, "b", prims_bundle([PRIM]))
    contents.valid = True
    assert list(input_bundle(db, "b").children) == ["prim0"]
