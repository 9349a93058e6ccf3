"""`memoryType` of nodes of other extensions, in a play on the CPU: arrays over the memory of the values."""

import numpy as np
import pytest

from omni.warp_core.nodes.extensions.node_pages import page
from omni.warp_core.nodes.ogn.ogn_spec import from_dict
from tests.nodes.extensions.memory_nodes import other, sway, write_nodes
from tests.nodes.kernel.kernel_scenes import POINTS, READ, write

FIRST = READ + sway("first", "/G/read.outputs:value")
OUT = "/G/first.outputs:points"


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    return [str(write_nodes(tmp_path_factory.mktemp("nodes") / "acme_memory_on_cpu"))]


def test_arrays_of_the_cpu_share_memory(make_scene, play, types):
    nodes = FIRST + other("pass", "Pass", OUT) + other("rows", "Rows", "/G/pass.outputs:points")
    nodes += other("sized", "Sized", "/G/rows.outputs:points") + write("/G/sized.outputs:points")
    done = play(make_scene(nodes), nodes=types)
    assert not done.log.errors and not done.log.warnings
    value = {
        name: done.player.loaded.attribute(f"/G/{name}.outputs:points").value for name in ("first", "rows", "sized")
    }
    assert np.shares_memory(value["first"], value["rows"])
    wanted = POINTS + np.outer(np.sin(POINTS[:, 0].astype(np.float64)), [0, 3 / 24, 0])
    assert np.allclose(value["rows"], wanted, atol=1e-6) and np.allclose(value["sized"], 2 * wanted, atol=1e-6)
    seen = [done.player.loaded.attribute(f"/G/{name}.outputs:seen").value for name in ("pass", "rows", "sized")]
    assert seen == ["ndarray", "cpu", "cpu"]
    timings = [node.timing for node in done.player.loaded.nodes()]
    assert not any(timing.uploads or timing.downloads for timing in timings)


@pytest.mark.parametrize(("kind", "declared"), [("Typed", "token"), ("Dynamic", "point3f[]"), ("Wider", "point3f[]")])
def test_attributes_and_elements_of_other_types(make_scene, play, types, kind, declared):
    done = play(make_scene(FIRST + other("late", kind, OUT, declared)), nodes=types)
    assert not done.log.errors
    assert done.player.loaded.attribute("/G/late.outputs:seen").value == "cpu"
    first, late = (done.player.loaded.attribute(f"/G/{name}.outputs:points").value for name in ("first", "late"))
    assert np.array_equal(first, late) and np.shares_memory(first, late) == (kind != "Wider")


def test_an_array_that_does_not_fit_is_told(make_scene, play, types):
    done = play(make_scene(FIRST + other("late", "Wrong", OUT)), nodes=types)
    assert "outputs:points: pointf[3][] needs a list of elements of 3 numbers" in done.log.errors[0]


def test_the_memory_of_an_attribute_is_its_own_or_that_of_the_node():
    points = {"type": "pointf[3][]", "description": "Points"}
    about = {"description": "d", "language": "Python", "memoryType": "any", "cudaPointers": "cpu"}
    ports = {"inputs": {"a": points, "b": points | {"memoryType": "cpu"}}, "outputs": {"c": points}}
    spec = from_dict({"acme.Node": about | ports})
    assert [a.memory for a in spec.attributes.values()] == ["any", "cpu", "any"]
    assert ["memory: any" in line for line in page(spec).splitlines() if line.startswith("| `")] == [True, False, True]
    plain = from_dict({"acme.Node": {"description": "d", "language": "Python", **ports}})
    assert [a.memory for a in plain.attributes.values()] == ["cpu", "cpu", "cpu"]
