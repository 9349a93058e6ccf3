"""Types that are found through connections, and values that are converted on the way."""

import numpy as np
import pytest

from omni.warp_core.nodes.graph.attribute import Attribute, GraphError, arriving, type_words
from omni.warp_core.nodes.values.attribute_types import ANY, parse, parse_union


def giving(value):
    def compute(db):
        db.outputs.x = value
        return True

    return compute


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        ("double", "float", 0.1, float(np.float32(0.1))),
        ("pointd[3]", "vectorf[3]", [0.1, 2, 3], np.array([0.1, 2, 3], np.float32)),
        ("float[2]", "texcoordh[2]", [0.1, 1], np.array([0.1, 1], np.float16)),
        ("double[]", "float[]", [0.1, 2], np.array([0.1, 2], np.float32)),
        ("pointf[3][]", "colorf[3][]", [[1, 2, 3]], np.array([[1, 2, 3]], np.float32)),
        ("int", "double", 3, 3.0),
        ("double", "int", 2.9, 2),
        ("bool", "int", True, 1),
        ("token", "string", "a", "a"),
    ],
)
def test_connections_convert(build, source, target, value, expected):
    b = build("push")
    b.node("give", giving(value), {}, {"x": source})
    b.node("take", lambda db: b.trace.append(db.inputs.x), {"x": target}, {})
    b.connect("give.outputs:x", "take.inputs:x")
    b.start().evaluate()
    assert not b.host.log.errors
    (seen,) = b.trace
    np.testing.assert_array_equal(seen, expected)
    assert type(seen) is type(expected) and getattr(seen, "dtype", None) == getattr(expected, "dtype", None)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float[]", "float"), ("float", "float[]"), ("float[3]", "float[4]"), ("token", "float"), ("float[3]", "float")],
)
def test_what_does_not_fit_is_told_with_both_ends(build, source, target):
    b = build("push")
    b.node("give", lambda db: True, {}, {"x": source})
    b.node("take", lambda db: b.trace.append(1), {"x": target}, {})
    b.connect("give.outputs:x", "take.inputs:x")
    b.start().evaluate()
    assert b.trace == []
    (error,) = b.host.log.errors
    assert error.startswith(f"/G/take: inputs:x ({target}) cannot take /G/give.outputs:x ({source})")


@pytest.mark.parametrize(
    ("members", "given", "held"),
    [
        (["float", "double"], "double", "double"),
        (["float", "double[3]"], "double", "float"),
        (["float", "double[3]"], "pointf[3]", "double[3]"),
        (["int", "token"], "string", "token"),
        (["numerics"], "colorf[3][]", "colorf[3][]"),
        (["float", "float[]"], "int[]", "float[]"),
    ],
)
def test_a_union_takes_its_members_and_converts_others_to_the_first_that_fits(members, given, held):
    assert arriving(parse(given), parse_union(members)) == parse(held)


def test_a_union_says_what_it_takes(build):
    b = build("push")
    b.node("give", giving("text"), {}, {"x": "token"})
    b.node("take", lambda db: True, {"x": ["numerics"]}, {})
    b.connect("give.outputs:x", "take.inputs:x")
    b.start().evaluate()
    (error,) = b.host.log.errors
    assert "one of uchar, int, uint, int64, uint64, half and " in error and " more) cannot take " in error
    assert len(error) < 300
    assert type_words(parse_union(["float", "int"])) == "[float, int]" and type_words(parse("float")) == "float"


def test_a_union_keeps_the_converted_value_and_its_type(build):
    b = build("push")
    b.node("give", giving(2.5), {}, {"x": "double"})
    b.node("take", lambda db: b.trace.append((db.inputs.x.value, str(db.inputs.x.type))), {"x": ["int", "token"]}, {})
    b.connect("give.outputs:x", "take.inputs:x")
    b.start().evaluate()
    assert b.trace == [(2, "int")]


def same_types(node):
    """The hook of a node whose attributes all have one type."""
    found = next((a.resolved for a in node.attributes.values() if not a.resolved.is_any), None)
    for attribute in node.attributes.values() if found else ():
        if attribute.resolved.is_any:
            attribute.set_resolved_type(found)


def passing(b, name):
    def compute(db):
        db.outputs.x = db.inputs.x.value
        return True

    b.node(name, compute, {"x": "any"}, {"x": "any"}, hooks={"on_connection_type_resolve": same_types})


def types(b):
    return {path[3:]: str(node.attributes["outputs:x"].resolved) for path, node in b.graph.nodes.items()}


def test_types_travel_downstream_through_hooks_whatever_the_order(build):
    b = build("push")
    for name in "cab":
        passing(b, name)
    b.node("give", giving([1, 2, 3]), {}, {"x": "pointf[3]"})
    for source, target in ("give", "a"), ("a", "b"), ("b", "c"):
        b.connect(f"{source}.outputs:x", f"{target}.inputs:x")
    play = b.start()
    assert types(b) == dict.fromkeys(["a", "b", "c", "give"], "pointf[3]")
    play.evaluate()
    np.testing.assert_array_equal(b.value("c.outputs:x"), np.array([1, 2, 3], np.float32))


def test_types_travel_upstream_from_the_first_reader(build):
    b = build("push")
    for name in "ab":
        passing(b, name)
    for name, kind in (("one", "float[2]"), ("two", "double[2]")):
        b.node(name, lambda db: b.trace.append(db.inputs.x), {"x": kind}, {"x": "int"})
        b.connect("b.outputs:x", f"{name}.inputs:x")
    b.connect("a.outputs:x", "b.inputs:x")
    play = b.start()
    assert types(b)["a"] == types(b)["b"] == "float[2]"
    assert str(b.graph.nodes["/G/a"].attributes["inputs:x"].resolved) == "float[2]"
    play.evaluate()
    np.testing.assert_array_equal(b.trace, np.zeros((2, 2)))
    assert not b.host.log.errors


def test_hooks_that_never_agree_end(build):
    b = build("push")

    def flip(node):
        b.trace.append(1)
        output = node.attributes["outputs:x"]
        output.set_resolved_type(parse("int" if str(output.resolved) == "float" else "float"))

    for name in "ab":
        hooks = {"on_connection_type_resolve": flip}
        b.node(name, lambda db: True, {"x": "any"}, {"x": "any"}, hooks=hooks)
    b.connect("a.outputs:x", "b.inputs:x")
    b.connect("b.outputs:x", "a.inputs:x")
    b.start()
    assert len(b.trace) == 2 * 4  # two attributes of each, and two more


def test_a_hook_that_fails_disables_its_node(build):
    b = build("push")

    def refuse(node):
        node.attributes["inputs:x"].set_resolved_type(parse("token"))

    b.node("n", lambda db: b.trace.append(1), {"x": ["int", "float"]}, {}, hooks={"on_connection_type_resolve": refuse})
    play = b.start()
    play.evaluate()
    assert b.trace == []
    assert b.host.log.errors == ["/G/n: inputs:x is [int, float]; it cannot be resolved to token"]


def test_a_resolved_attribute_converts_its_value_or_empties_it(build):
    node = build("push").node("n", lambda db: True, {"x": "any"}, {})
    attribute = Attribute(node, "inputs:y", ANY)
    attribute.set_resolved_type(parse("float[2]"))
    np.testing.assert_array_equal(attribute.value, [0, 0])
    attribute.set(2.75, parse("double"))
    attribute.set_resolved_type(parse("int"))
    assert attribute.value == 2 and str(attribute.get_resolved_type()) == "int"
    attribute.set_resolved_type(parse("token"))
    assert attribute.value == ""
    with pytest.raises(GraphError, match="cannot be resolved to any"):
        attribute.set_resolved_type(ANY)
    with pytest.raises(GraphError, match="inputs:z is int; it cannot be resolved to float"):
        Attribute(node, "inputs:z", parse("int")).set_resolved_type(parse("float"))
