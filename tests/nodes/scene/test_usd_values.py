"""Values of USD's own types, as a script reads them from a stage, for attributes of nodes."""

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd

import omni.warp_core as wp

VALUES = [
    ("quatf", Gf.Quatf(4, 1, 2, 3), [1, 2, 3, 4]),
    ("quatd", Gf.Quatd(4, 1, 2, 3), [1, 2, 3, 4]),
    ("timecode", Sdf.TimeCode(3), 3.0),
    ("asset", Sdf.AssetPath("smoke.vdb"), "smoke.vdb"),
    ("float3", Gf.Vec3f(1, 2, 3), [1, 2, 3]),
]


@pytest.mark.parametrize(("kind", "value", "wanted"), VALUES, ids=[kind for kind, _, _ in VALUES])
def test_values_of_usd_are_taken_by_builders_and_players(kind, value, wanted):
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G", "push")
    node = graph.node("k", "omni.warp_core.Kernel", codeStr="@wp.kernel\ndef k():\n    pass\n")
    path = graph.attribute(node, "inputs:x", kind, value)
    held = stage.GetAttributeAtPath(path)
    assert held.Get() == value and str(held.GetTypeName()) == kind
    with wp.usd.play(stage, frames=(0, 1), trust=True) as player:
        player.set(path, value)
        player.step()
        assert np.array_equal(np.asarray(player.get(path)), np.asarray(wanted))
