"""Loading graphs: the work grows with the number of nodes, whatever their connections look like."""

import gc
import sys

import pytest
from pxr import Sdf, Usd

from omni.warp_core.nodes.graph.node_graph import Host, Log
from omni.warp_core.nodes.scene.graph_loader import load
from omni.warp_core.nodes.stock import node_registry

CONSTANT = "omni.graph.nodes.ConstantDouble"


def add_node(graph, name, kind=CONSTANT, source=""):
    node = Sdf.PrimSpec(graph, name, Sdf.SpecifierDef, "OmniGraphNode")
    Sdf.AttributeSpec(node, "node:type", Sdf.ValueTypeNames.Token).default = kind
    value = Sdf.AttributeSpec(node, "inputs:value", Sdf.ValueTypeNames.Double)
    if source:
        value.connectionPathList.Append(source)


def add_graph(parent, name):
    return Sdf.PrimSpec(parent, name, Sdf.SpecifierDef, "OmniGraph")


def unconnected(layer, count):
    graph = add_graph(layer, "G")
    for i in range(count):
        add_node(graph, f"n{i}")


def chain(layer, count):
    graph = add_graph(layer, "G")
    for i in range(count):
        add_node(graph, f"n{i}", source=f"/G/n{i - 1}.inputs:value" if i else "")


def reversed_chain(layer, count):
    graph = add_graph(layer, "G")
    for i in range(count):
        add_node(graph, f"n{i}", source=f"/G/n{i + 1}.inputs:value" if i < count - 1 else "")


def graphs_in_a_chain(layer, count):
    for i in range(count):
        add_node(add_graph(layer, f"G{i}"), "n", source=f"/G{i - 1}/n.inputs:value" if i else "")


def unknown_types(layer, count):
    graph = add_graph(layer, "G")
    for i in range(count):
        add_node(graph, f"n{i}", kind=f"omni.graph.nodes.Gone{i}")


def missing_sources(layer, count):
    graph = add_graph(layer, "G")
    for i in range(count):
        add_node(graph, f"n{i}", source=f"/G/gone{i}.inputs:value")


def stage_of(build, count):
    layer = Sdf.Layer.CreateAnonymous(".usda")
    with Sdf.ChangeBlock():
        build(layer, count)
    return Usd.Stage.Open(layer)


def lines_run(stage, types) -> int:
    """The lines of Python that loading runs: what a clock would show, without its noise."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    host = Host(Log(emit=lambda text: None))
    before = sys.gettrace()
    gc.collect()  # finalizers of what other tests left would be counted
    sys.settrace(trace)
    try:
        load(stage, types, host)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "build", [unconnected, chain, reversed_chain, graphs_in_a_chain, unknown_types, missing_sources]
)
def test_the_work_is_proportional_to_the_nodes(build):
    types = node_registry.standard()
    stages = [stage_of(build, count) for count in (100, 200, 800)]
    load(stages[0], types, Host(Log(emit=lambda text: None)))  # caches of types are filled
    few, twice, many = (lines_run(stage, types) for stage in stages)
    step = (twice - few) / 100
    assert many - twice <= 1.05 * 600 * step


@pytest.mark.parametrize(
    ("kind", "usd_type", "value"),
    [
        ("Int", Sdf.ValueTypeNames.Int, 7),
        ("Double", Sdf.ValueTypeNames.Double, 0.5),
        ("Float", Sdf.ValueTypeNames.Double, 0.1),
        ("Bool", Sdf.ValueTypeNames.Bool, True),
        ("String", Sdf.ValueTypeNames.Token, "text"),
    ],
)
def test_a_scalar_costs_little_more_than_no_value(kind, usd_type, value):
    def empty(layer, count):
        graph = add_graph(layer, "G")
        for i in range(count):
            node = Sdf.PrimSpec(graph, f"n{i}", Sdf.SpecifierDef, "OmniGraphNode")
            Sdf.AttributeSpec(node, "node:type", Sdf.ValueTypeNames.Token).default = f"omni.graph.nodes.Constant{kind}"
            Sdf.AttributeSpec(node, "inputs:value", usd_type)

    def filled(layer, count):
        empty(layer, count)
        for node in layer.GetPrimAtPath("/G").nameChildren:
            node.attributes["inputs:value"].default = value

    types = node_registry.standard()
    load(stage_of(filled, 1), types, Host(Log(emit=lambda text: None)))  # caches of types are filled
    without, with_value = (lines_run(stage_of(build, 100), types) for build in (empty, filled))
    assert with_value <= 1.25 * without  # versions of Python count the lines of long expressions differently


def test_a_ring_of_inputs_loses_the_connection_that_closes_it():
    layer = Sdf.Layer.CreateAnonymous(".usda")
    graph = add_graph(layer, "G")
    for name, source in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "d"), ("e", "a")):
        add_node(graph, name, source=f"/G/{source}.inputs:value")
    log = Log(emit=lambda text: None)
    loaded = load(Usd.Stage.Open(layer), node_registry.standard(), Host(log))
    sources = {node.path: node.attributes["inputs:value"].sources for node in loaded.nodes()}
    assert [str(s) for s in sources["/G/a"] + sources["/G/b"]] == ["/G/b.inputs:value", "/G/c.inputs:value"]
    assert sources["/G/c"] == sources["/G/d"] == [] and [str(s) for s in sources["/G/e"]] == ["/G/a.inputs:value"]
    assert [text.partition(" ")[0] for text in log.warnings] == ["/G/c.inputs:value:", "/G/d.inputs:value:"]


def test_nodes_belong_to_the_innermost_graph():
    layer = Sdf.Layer.CreateAnonymous(".usda")
    outer = add_graph(layer, "G")
    add_node(outer, "a")
    add_node(add_graph(outer, "Inner"), "b")
    add_node(outer, "c")
    add_node(Sdf.PrimSpec(outer, "Scope", Sdf.SpecifierDef, "Scope"), "d")
    add_node(add_graph(layer, "GG"), "e")
    log = Log(emit=lambda text: None)
    loaded = load(Usd.Stage.Open(layer), node_registry.standard(), Host(log))
    owned = {graph.path: list(graph.nodes) for graph in loaded.graphs}
    assert owned == {"/G": ["/G/a", "/G/c", "/G/Scope/d"], "/G/Inner": ["/G/Inner/b"], "/GG": ["/GG/e"]}
    assert not log.warnings


def test_a_connected_node_takes_few_calls_of_usd(monkeypatch):
    calls = {}

    def count(cls, name):
        original = getattr(cls, name)

        def counted(*args):
            calls[name] = calls.get(name, 0) + 1
            return original(*args)

        monkeypatch.setattr(cls, name, counted)

    stage, types = stage_of(chain, 100), node_registry.standard()
    for cls in (Usd.Object, Usd.Prim, Usd.Property, Usd.Attribute):
        for name, member in vars(cls).items():
            if callable(member) and name[0] != "_":
                count(cls, name)
    load(stage, types, Host(Log(emit=lambda text: None)))
    assert calls["GetConnections"] == 100
    assert sum(calls.values()) <= 100 * 8 + 20, calls  # type, children, names; two attributes, their values, sources
    assert calls["GetPath"] < 5, "paths come from the names of children"


def test_paths_are_those_of_usd_at_any_depth():
    layer = Sdf.Layer.CreateAnonymous(".usda")
    add_node(layer, "outside")
    for top in ("A", "B"):
        scope = Sdf.PrimSpec(Sdf.PrimSpec(layer, top, Sdf.SpecifierDef, "Xform"), "S", Sdf.SpecifierDef, "Scope")
        graph = add_graph(scope, "G")
        for name in ("z", "é", "a"):
            add_node(graph, name)
        add_node(graph.nameChildren["z"], "below")  # a node under a node belongs to its graph
        add_node(Sdf.PrimSpec(graph, "over", Sdf.SpecifierOver), "unseen")
        graph.nameChildren["a"].SetInfo("active", False)
        add_graph(scope, "Empty")
    stage = Usd.Stage.Open(layer)
    log = Log(emit=lambda text: None)
    loaded = load(stage, node_registry.standard(), Host(log))
    expected = [str(p.GetPath()) for p in stage.Traverse() if p.GetTypeName() == "OmniGraphNode"]
    assert [node.path for node in loaded.nodes()] == expected[1:]
    assert len(expected) == 7 and "/A/S/G/z/below" in expected
    assert log.warnings == ["/outside: is a node outside of every graph, so it never runs"]


def test_a_relationship_with_the_name_of_a_declared_input_is_ignored():
    layer = Sdf.Layer.CreateAnonymous(".usda")
    graph = add_graph(layer, "G")
    node = Sdf.PrimSpec(graph, "n", Sdf.SpecifierDef, "OmniGraphNode")
    Sdf.AttributeSpec(node, "node:type", Sdf.ValueTypeNames.Token).default = CONSTANT
    Sdf.RelationshipSpec(node, "node:typeVersion").targetPathList.Append("/G/n")
    Sdf.RelationshipSpec(node, "inputs:value").targetPathList.Append("/G/n")
    log = Log(emit=lambda text: None)
    loaded = load(Usd.Stage.Open(layer), node_registry.standard(), Host(log))
    (node,) = loaded.nodes()
    value = node.attributes["inputs:value"]
    assert (value.value, value.sources, node.saved_version, loaded.animated) == (0.0, [], 0, [])
    assert not log.errors and not log.warnings


def test_an_animated_input_counts_as_animated_unless_it_has_a_source():
    layer = Sdf.Layer.CreateAnonymous(".usda")
    graph = add_graph(layer, "G")
    for name, source in (
        ("plain", ""),
        ("circular", "/G/circular.inputs:value"),
        ("connected", "/G/plain.inputs:value"),
    ):
        add_node(graph, name, source=source)
        for time in (0.0, 1.0):
            layer.SetTimeSample(f"/G/{name}.inputs:value", time, time + 2.0)
    loaded = load(Usd.Stage.Open(layer), node_registry.standard(), Host(Log(emit=lambda text: None)))
    assert [attribute.path for attribute, _ in loaded.animated] == ["/G/plain.inputs:value", "/G/circular.inputs:value"]
    assert {node.attributes["inputs:value"].value for node in loaded.nodes()} == {2.0}


def stock_node(layer_text):
    """The node /G/n of type omni.graph.nodes.<type>, as it is loaded, and what is animated."""
    layer = Sdf.Layer.CreateAnonymous(".usda")
    kind, attributes = layer_text
    layer.ImportFromString(
        '#usda 1.0\ndef OmniGraph "G"\n{\n    def OmniGraphNode "n"\n    {\n'
        f'        token node:type = "omni.graph.nodes.{kind}"\n        {attributes}\n    }}\n}}\n'
    )
    loaded = load(Usd.Stage.Open(layer), node_registry.standard(), Host(Log(emit=lambda text: None)))
    (node,) = loaded.nodes()
    return node, [attribute.name for attribute, _ in loaded.animated]


def test_a_token_that_says_something_is_the_value_of_an_any_attribute():
    node, _ = stock_node(("AppendPath", 'custom token inputs:path = "/World"'))
    assert node.attributes["inputs:path"].value == "/World"
    assert str(node.attributes["inputs:path"].resolved) == "token"


def test_an_empty_token_leaves_the_type_of_an_any_attribute_open():
    node, _ = stock_node(("Multiply", 'custom token inputs:a = ""'))
    assert node.attributes["inputs:a"].value is None and node.attributes["inputs:a"].resolved.is_any


def test_values_of_any_attributes_may_be_animated():
    node, animated = stock_node(("Multiply", "custom float inputs:a.timeSamples = { 1: 2, 3: 4 }"))
    assert (node.attributes["inputs:a"].value, str(node.attributes["inputs:a"].resolved)) == (2.0, "float")
    assert animated == ["inputs:a"]


def test_the_type_in_the_custom_data_of_kit_wins_over_an_animation():
    data = 'dictionary graph = { double attrValue = 5\nstring resolvedType = "double" }'
    data = f"customData = {{ dictionary omni = {{ {data} }} }}"
    node, animated = stock_node(("Multiply", f'custom token inputs:a = "x" (\n{data}\n)'))
    assert (node.attributes["inputs:a"].value, animated) == (5.0, [])
