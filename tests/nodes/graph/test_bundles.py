"""Bundles: sharing, copy on write, changes, and how scenes connect them."""

from types import SimpleNamespace

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.nodes.extensions import graph_names
from omni.warp_core.nodes.graph.bundle_handles import BundleChangeType
from omni.warp_core.nodes.graph.database import Database
from omni.warp_core.nodes.graph.node_graph import GraphError
from omni.warp_core.nodes.scene.graph_loader import output_path
from omni.warp_core.nodes.values.attribute_types import parse
from omni.warp_core.nodes.values.attribute_values import ValueTypeError, coerce
from omni.warp_core.nodes.values.bundles import (
    EMPTY,
    Bundle,
    changed_names,
    item,
    map_prims,
    merged,
    prims_bundle,
    prims_of,
)

POINTS = np.array([(0, 0, 0), (1, 2, 3)], np.float32)


def sheet(**extra):
    return Bundle({"points": item("pointf[3][]", POINTS.copy()), **extra})


def make(compute, build, outputs=None):
    return build("push").node("n", compute, {"a": "bundle"}, outputs or {"b": "bundle"})


@pytest.fixture
def database(build):
    node = make(lambda db: True, build)
    return Database(node)


def test_arrays_in_a_bundle_cannot_be_written_to():
    points = sheet().value("points")
    with pytest.raises(ValueError, match="read-only"):
        points[0] = 1


def test_prims_are_children_or_the_bundle_itself():
    one, two = sheet(), sheet()
    assert prims_of(one) == [one] and prims_of(EMPTY) == []
    both = prims_bundle([one, two])
    assert list(both.children) == ["prim0", "prim1"] and prims_of(both) == [one, two]
    joined = merged([both, one])
    assert list(joined.children) == ["prim0", "prim1", "prim2"] and joined.children["prim2"] is one
    assert merged([both]) is both


def test_a_map_shares_what_it_does_not_change():
    both = prims_bundle([sheet(), sheet(flag=item("bool", True))])
    assert map_prims(both, lambda prim: prim) is both
    marked = map_prims(both, lambda prim: prim.having({"n": item("int", 1)}) if "flag" in prim.attributes else prim)
    assert marked.children["prim0"] is both.children["prim0"]
    assert list(changed_names(both.children["prim1"], marked.children["prim1"])) == ["n"]


def test_types_as_nodes_of_kit_write_them(database):
    og = SimpleNamespace(**graph_names.names())
    child = database.outputs.b.bundle.create_child_bundle("prim0")
    kind = og.Type(og.BaseDataType.FLOAT, 3, 1, og.AttributeRole.POSITION)
    child.create_attribute("points", kind, element_count=2).set(POINTS)
    child.create_attribute("n", og.Controller.attribute_type("int")).set(7)
    child.create_attribute_metadata("points", "interpolation", og.Type(og.BaseDataType.TOKEN)).set("vertex")
    database.finish()
    prim = database.node.attributes["outputs:b"].value.children["prim0"]
    assert np.array_equal(prim.value("points"), POINTS) and prim.value("n") == 7
    assert [item.type for item in prim.attributes.values()] == [parse("pointf[3][]"), parse("int")]
    assert prim.attributes["points"].metadata["interpolation"].type == parse("token")


def test_outputs_are_written_by_handles_and_read_after_the_compute(database):
    root = database.outputs.b.bundle
    assert not database.outputs.b.valid
    child = root.create_child_bundle("prim0")
    points = child.create_attribute("points", parse("pointf[3][]"), element_count=2)
    points.get_array(on_gpu=False, get_for_write=True, reserved_element_count=3)[:2] = POINTS
    child.create_attribute("count", "int").set(7)
    child.create_attribute_metadata("points", "interpolation", "token").set("vertex")
    root.create_bundle_metadata("units", "token").set("cm")
    assert database.node.attributes["outputs:b"].value is EMPTY
    database.finish()
    bundle = database.node.attributes["outputs:b"].value
    prim = bundle.children["prim0"]
    assert np.array_equal(prim.value("points"), [*POINTS, (0, 0, 0)]) and prim.value("count") == 7
    assert prim.attributes["points"].metadata["interpolation"].value == "vertex"
    assert bundle.metadata["units"].value == "cm"
    assert root.get_child_bundle(0).get_attribute_by_name("points").size() == 3
    version = database.node.attributes["outputs:b"].version
    database.finish()
    assert database.node.attributes["outputs:b"].version == version


def test_a_copy_shares_everything_until_it_is_written(database):
    given = prims_bundle([sheet(), sheet()])
    database.node.attributes["inputs:a"].set(given)
    database.outputs.b = database.inputs.a
    assert database.node.attributes["outputs:b"].value is given
    root = database.outputs.b.bundle
    array = root.get_child_bundle(1).get_attribute_by_name("points").get_array(False, True, 2)
    array[0] = 9
    database.finish()
    result = database.node.attributes["outputs:b"].value
    assert result.children["prim0"] is given.children["prim0"]
    assert np.array_equal(result.children["prim1"].value("points"), [(9, 9, 9), (1, 2, 3)])
    assert np.array_equal(given.children["prim1"].value("points"), POINTS)


def test_a_copied_bundle_and_child(database):
    database.node.attributes["inputs:a"].set(prims_bundle([sheet()]))
    source, root = database.inputs.a.bundle, database.outputs.b.bundle
    root.copy_bundle(source)
    root.copy_child_bundle(source.get_child_bundle(0), "again")
    root.get_child_bundle_by_name("again").remove_attribute("points")
    root.get_child_bundle(0).copy_attribute(source.get_child_bundle(0).get_attribute_by_name("points"), "rest")
    result = database.outputs.b.value
    assert list(result.children) == ["prim0", "again"] and not result.children["again"].attributes
    assert list(result.children["prim0"].attributes) == ["points", "rest"]
    root.remove_child_bundle("prim0")
    assert root.get_child_bundle_count() == 1 and root.get_child_bundle_by_name("prim0") is None
    root.clear_contents()
    assert not database.outputs.b.value.children and database.outputs.b.valid


def test_inputs_are_read_only(database):
    database.node.attributes["inputs:a"].set(prims_bundle([sheet()]))
    contents = database.inputs.a
    assert contents.read_only and contents.valid
    child = contents.bundle.get_child_bundle(0)
    for write in (
        lambda: child.create_attribute("n", "int"),
        lambda: child.get_attribute_by_name("points").set(POINTS),
        lambda: contents.clear(),
    ):
        with pytest.raises(GraphError, match=r"inputs:a.* only reads; write to a bundle of its outputs"):
            write()


def test_arrays_of_a_device_share_the_memory_of_the_cpu(database):
    points = database.outputs.b.insert(("pointf[3][]", "points"))
    points.set(wp.array(POINTS, dtype=wp.vec3))
    assert np.array_equal(points.get(), POINTS) and not points.get().flags.writeable
    old = points.get_array(on_gpu=True)
    assert old.dtype is wp.vec3 and np.shares_memory(old.numpy(), points.get())
    made = points.get_array(on_gpu=True, get_for_write=True, reserved_element_count=len(POINTS) + 1)
    made.numpy()[-1] = 7
    assert points.size() == len(POINTS) + 1 and np.array_equal(points.get(), [*POINTS, [7, 7, 7]])
    with pytest.raises(GraphError, match=r"outputs:b\.points: pointf\[3\]\[\] needs"):
        points.set(wp.zeros(2))


def test_values_must_fit_their_type(database):
    count = database.outputs.b.insert(("int", "count"))
    with pytest.raises(GraphError, match=r"outputs:b\.count: int needs"):
        count.set([1, 2])
    assert count.get(on_gpu=True) == 0, "a single number is on the CPU"
    with pytest.raises(GraphError, match="is a bundle and cannot be int"):
        database.outputs.b = 3
    with pytest.raises(ValueTypeError, match="bundle from a node"):
        coerce(1, parse("bundle"))


def test_changes_tell_what_was_written_since_the_last_look(database):
    source = database.node.attributes["inputs:a"]
    first = prims_bundle([sheet(count=item("int", 1)), sheet()])
    source.set(first)
    contents = database.inputs.a
    with contents.changes() as changes:
        changes.activate()
        assert changes and changes.get_change(contents) == BundleChangeType.MODIFIED
    with contents.changes() as changes:
        assert not changes and changes.get_change(contents.bundle.get_child_bundle(0)) == BundleChangeType.NONE
    changed = first.children["prim0"].having({"count": item("int", 2)})
    source.set(Bundle(children={**first.children, "prim0": changed}))
    with contents.changes() as changes:
        one, two = contents.bundle.get_child_bundles()
        assert [changes.get_change(part) for part in (contents, one, two)] == [1, 1, 0]
        assert changes.get_change(one.get_attribute_by_name("count")) == BundleChangeType.MODIFIED
        assert changes.get_change(one.get_attribute_by_name("points")) == BundleChangeType.NONE


def test_a_bundle_reaches_the_next_node_and_several_are_merged(build):
    graph = build("push")

    def give(db):
        db.outputs.b.bundle.create_child_bundle("prim0").create_attribute("n", "int").set(db.inputs.n)

    seen = []
    graph.node("one", give, {"n": "int"}, {"b": "bundle"})
    graph.node("two", give, {"n": "int"}, {"b": "bundle"})

    def take(db):
        seen.append([child.get_attribute_by_name("n").get() for child in db.inputs.a.bundle.get_child_bundles()])

    graph.node("take", take, {"a": "bundle"})
    graph.connect("one.outputs:b", "take.inputs:a")
    graph.connect("two.outputs:b", "take.inputs:a")
    graph.graph.nodes["/G/two"].attributes["inputs:n"].set(5)
    evaluator = graph.start()
    evaluator.evaluate()
    graph.graph.nodes["/G/one"].attributes["inputs:n"].set(4)
    evaluator.evaluate()
    assert seen == [[0, 5], [4, 5]] and not graph.host.log.errors


@pytest.mark.parametrize(
    ("target", "attribute"),
    [
        ("/G/n/outputs_mesh", "/G/n.outputs:mesh"),
        ("/G/n.outputs_mesh", "/G/n.outputs:mesh"),
        ("/G/n.outputs:mesh", "/G/n.outputs:mesh"),
        ("/G/n.state_b", "/G/n.state:b"),
        ("/World/Mesh", None),
        ("/World/Mesh.points", None),
        ("/World/outputs_all/Mesh", None),
    ],
)
def test_both_forms_of_bundle_links(target, attribute):
    assert output_path(target) == attribute
