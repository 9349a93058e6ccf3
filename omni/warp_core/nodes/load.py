"""From the prims of a stage to graphs that can be evaluated.

The format is tolerant, as files in the field are: attributes that are not authored take the default of the node type,
attributes the node type does not declare are dynamic, `any` attributes keep type and value in custom data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pxr import Sdf, Usd

from ..usd.convert import to_numpy
from ..usd.stage import resolve_beside
from .evaluate import EVALUATORS
from .graph import Attribute, Graph, Host, Node
from .ogn import PORTS, NodeSpec
from .registry import Registry
from .types import ANY, EXECUTION, AttributeType, TypeNameError, from_sdf, parse
from .values import ValueTypeError, coerce, converter


@dataclass
class Loaded:
    """The graphs of a stage, and the node attributes whose value in the scene changes with time."""

    graphs: list[Graph] = field(default_factory=list)
    animated: list[tuple[Attribute, Usd.Attribute]] = field(default_factory=list)
    _sources: dict[Attribute, list[str]] = field(default_factory=dict)

    def attribute(self, path: str) -> Attribute | None:
        """The attribute at a path such as /Graph/node.inputs:x."""
        prim, _, name = path.partition(".")
        for graph in self.graphs:
            if prim in graph.nodes:
                return graph.nodes[prim].attributes.get(name)
        return None

    def nodes(self) -> list[Node]:
        """All nodes of all graphs."""
        return [node for graph in self.graphs for node in graph]


def load(stage: Usd.Stage, registry: Registry, host: Host) -> Loaded:
    """Read all graphs of a stage. What cannot be used is told to the host's log; the rest is loaded."""
    loaded = Loaded()
    by_path: dict[Sdf.Path, Graph] = {}
    for prim in stage.Traverse():
        kind = prim.GetTypeName()
        if kind == "OmniGraph":
            by_path[prim.GetPath()] = _graph(prim, host)
        elif kind == "OmniGraphNode":
            graph = _owner(prim, by_path)
            if graph is None:
                host.log.warning(str(prim.GetPath()), "is a node outside of any graph; it never runs")
            else:
                _node(prim, graph, registry, loaded)
    _tell_instanced(stage, host)
    loaded.graphs = [graph for graph in by_path.values() if graph.nodes]
    _connect(loaded, host)
    return loaded


def _tell_instanced(stage: Usd.Stage, host: Host) -> None:
    """Graphs inside instances are shared by all of them, so there is no one place where their results could go."""
    for prototype in stage.GetPrototypes():
        if any(prim.GetTypeName() == "OmniGraph" for prim in Usd.PrimRange(prototype)):
            path = str(prototype.GetInstances()[0].GetPath())
            host.log.warning(path, "is instanceable, so the graphs in it are not played; make it not instanceable")


def _owner(prim: Usd.Prim, graphs: dict[Sdf.Path, Graph]) -> Graph | None:
    for path in prim.GetPath().GetAncestorsRange():
        if path in graphs:
            return graphs[path]
    return None


def _graph(prim: Usd.Prim, host: Host) -> Graph:
    path, attribute = str(prim.GetPath()), prim.GetAttribute("evaluator:type")
    evaluator = attribute.Get() if attribute else None
    if evaluator not in EVALUATORS:
        if evaluator is not None:
            host.log.warning(path, f"unknown evaluator {evaluator!r}, played as push; known: {', '.join(EVALUATORS)}")
        evaluator = "push"
    return Graph(path, evaluator, host)


def _node(prim: Usd.Prim, graph: Graph, registry: Registry, loaded: Loaded) -> None:
    path, log = str(prim.GetPath()), graph.host.log
    type_name = _text(prim, "node:type")
    node_type = registry.find(type_name)
    node = Node(path, type_name, node_type, graph.host)
    graph.nodes[path] = node
    if node_type is None:
        known = ", ".join(registry.nearest(type_name))
        node.disabled = f"there is no node type {type_name!r}" if type_name else "node:type is not set"
        log.error(path, f"{node.disabled} in this host" + (f"; did you mean {known}?" if known else ""))
    else:
        for spec in node_type.spec.attributes.values():
            node.add(Attribute(node, spec.name, spec.type, spec))
        _check_version(prim, node, node_type.spec)
    for prop in prim.GetAuthoredProperties():
        name = prop.GetName()
        if name.partition(":")[0] in PORTS and ":" in name:
            _property(prop, name, node, loaded)


def _text(prim: Usd.Prim, name: str) -> str:
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute else None
    return value if isinstance(value, str) else ""


def _check_version(prim: Usd.Prim, node: Node, spec: NodeSpec) -> None:
    attribute = prim.GetAttribute("node:typeVersion")
    saved = attribute.Get() if attribute else None
    node.saved_version = saved if isinstance(saved, int) else 0
    newest = 2 if node.type_name != spec.name else spec.version  # an alias counts by the versions of its own type
    if node.saved_version > max(newest, spec.version):
        text = f"was saved by version {saved} of {node.type_name}; this host has version {max(newest, spec.version)}"
        node.host.log.warning(node.path, text)


def _property(prop: Usd.Property, name: str, node: Node, loaded: Loaded) -> None:
    """Take one authored property of a node prim."""
    log, is_rel = node.host.log, isinstance(prop, Usd.Relationship)
    attribute = node.attributes.get(name)
    if attribute is None:
        kind = parse("target") if is_rel else _dynamic_type(prop)
        if kind is None:
            log.warning(f"{node.path}.{name}", f"type {prop.GetTypeName()} is unknown to OmniGraph; ignored")
            return
        attribute = node.add(Attribute(node, name, kind))
    if is_rel:
        if attribute.type.is_paths:
            attribute.set(tuple(str(p) for p in prop.GetTargets()))
        return
    if name.startswith("inputs:"):
        loaded._sources[attribute] = [str(p) for p in prop.GetConnections()]
    if attribute.type.is_execution or attribute.type.is_paths:
        return
    if attribute.type.is_any:
        _any_value(prop, attribute)
        return
    if prop.ValueMightBeTimeVarying():
        loaded.animated.append((attribute, prop))
    take(attribute, prop, Usd.TimeCode.EarliestTime())


def _graph_data(prop: Usd.Attribute) -> dict[str, Any]:
    """The custom data OmniGraph keeps on an attribute, nested or flat."""
    data = prop.GetCustomData()
    nested = data.get("omni", {})
    nested = nested.get("graph", {}) if isinstance(nested, dict) else {}
    flat = {key.removeprefix("omni.graph."): value for key, value in data.items() if key.startswith("omni.graph.")}
    return {**(nested if isinstance(nested, dict) else {}), **flat, "isExecution": data.get("isExecution")}


def _dynamic_type(prop: Usd.Attribute) -> AttributeType | None:
    data = _graph_data(prop)
    if data.get("isExecution"):
        return EXECUTION
    if "resolvedType" in data:
        return ANY
    return from_sdf(str(prop.GetTypeName()))


def _any_value(prop: Usd.Attribute, attribute: Attribute) -> None:
    """Type and value of an `any` attribute: from the custom data, else as authored."""
    data = _graph_data(prop)
    try:
        if "resolvedType" in data:
            kind = parse(str(data["resolvedType"]))
            value = data.get("attrValue")
            if value is not None:
                attribute.set(coerce(to_numpy(value), kind), kind)
            else:
                attribute.set(None, kind)
            return
        authored = from_sdf(str(prop.GetTypeName()))
        value = prop.Get()
        if authored is not None and authored.base != "token" and value is not None:
            attribute.set(coerce(to_numpy(value), authored), authored)
    except (TypeNameError, ValueTypeError) as error:
        attribute.node.host.log.warning(attribute.path, str(error))


def take(attribute: Attribute, prop: Usd.Attribute, time: Usd.TimeCode) -> None:
    """Set an attribute to what the scene holds at `time`; a value that does not fit is told and left out."""
    value, log = prop.Get(time), attribute.node.host.log
    authored = from_sdf(str(prop.GetTypeName()))
    if value is None:
        return
    convert = converter(authored, attribute.type) if authored else None
    if authored is None or convert is None:
        text = f"holds a {prop.GetTypeName()} but the node wants {attribute.type}; the default is used"
        log.warning(attribute.path, text)
        return
    try:
        attribute.set_if_changed(coerce(convert(coerce(to_numpy(value), authored)), attribute.type))
    except ValueTypeError as error:
        log.warning(attribute.path, str(error))


def _connect(loaded: Loaded, host: Host) -> None:
    """Turn connection paths into sources, telling those that lead nowhere or do not fit."""
    for attribute, paths in loaded._sources.items():
        for path in paths:
            source = loaded.attribute(path)
            if source is None:
                _missing_source(attribute, path)
            elif _leads_back(source, attribute):
                host.log.warning(attribute.path, f"is connected to itself through {path}; the connection is ignored")
            elif converter(source.type, attribute.type) is None:
                text = f"{attribute.name} ({attribute.type}) cannot take {path} ({source.type})"
                attribute.node.disabled = text
                host.log.error(attribute.node.path, text)
            else:
                attribute.sources.append(source)
        if len(attribute.sources) > 1 and not attribute.type.is_execution:
            host.log.warning(attribute.path, f"has {len(attribute.sources)} sources; the first counts")


def _missing_source(attribute: Attribute, path: str) -> None:
    node = attribute.node
    node.disabled = f"{attribute.name} is connected to {path}, which is not there"
    node.host.log.error(node.path, node.disabled)


def _leads_back(source: Attribute, attribute: Attribute) -> bool:
    """Whether following inputs from `source` arrives at `attribute`, without any node between."""
    while True:
        if source is attribute:
            return True
        if source.port != "inputs" or not source.sources:
            return False
        source = source.sources[0]


def beside_scene(stage: Usd.Stage, prim_path: str, attribute: str, name: str) -> str:
    """A file named in an attribute, relative to the layer in which that attribute was authored."""
    prop = stage.GetAttributeAtPath(f"{prim_path}.{attribute}")
    stack = prop.GetPropertyStack() if prop else []
    return resolve_beside(stack[0].layer if stack else stage.GetRootLayer(), name)
