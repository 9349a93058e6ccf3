"""From the prims of a stage to graphs that can be evaluated.

The format is tolerant, as files in the field are: attributes that are not authored take the default of the node type,
attributes the node type does not declare are dynamic, `any` attributes keep type and value in custom data.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pxr import Usd

from ..lang.errors import did_you_mean, nearest
from ..usd.numpy_conversion import to_numpy
from ..usd.stage import READ_ERRORS, quiet, resolve_beside, unraised_errors, unreadable
from .attribute_types import ANY, EXECUTION, AttributeType, TypeNameError, from_sdf, parse
from .attribute_values import Value, ValueTypeError, coerce, coerce_scalar, converter
from .evaluate import EVALUATORS
from .node_graph import Attribute, Graph, Host, Node
from .node_registry import Registry
from .ogn_spec import PORTS, NodeSpec

HINTS = 20  # names that are not there and get suggestions; a search costs as much as loading ten nodes


@dataclass
class Loaded:
    """The graphs of a stage, and the node attributes whose value in the scene changes with time."""

    graphs: list[Graph] = field(default_factory=list)
    animated: list[tuple[Attribute, Usd.Attribute]] = field(default_factory=list)
    _by_path: dict[str, Node] = field(default_factory=dict)
    _sources: dict[Attribute, list[str]] = field(default_factory=dict)

    def attribute(self, path: str) -> Attribute | None:
        """Return the attribute at a path such as /Graph/node.inputs:x, None if it does not exist."""
        prim, _, name = path.partition(".")
        node = self._by_path.get(prim)
        return node.attributes.get(name) if node else None

    def nodes(self) -> list[Node]:
        """All nodes of all graphs."""
        return [node for graph in self.graphs for node in graph]

    def missing(self, path: str, suits: Callable[[Attribute], bool], hint: bool = True) -> str:
        """Return why there is no attribute at `path`, with the most similar names among attributes that suit."""
        prim, _, name = path.partition(".")
        node = self._by_path.get(prim)
        if node is None:
            return f"there is no node {prim}" + did_you_mean(self._nearest_nodes(prim) if hint else ())
        if node.type is None:
            return f"{prim} is of the unknown type {node.type_name!r}"
        found = [a for a in node.attributes.values() if suits(a)]
        port, _, base = name.partition(":")
        # the base names decide, as the same "outputs:" in front makes all names alike
        bases = nearest(base, [a.base_name for a in found if a.port == port]) if hint else ()
        near = [f"{port}:{base}" for base in bases]
        return f"the node {prim} has no attribute {name!r}" + did_you_mean(near, [a.name for a in found])

    def _nearest_nodes(self, path: str) -> list[str] | tuple[str, ...]:
        """Return the paths most like `path`: of nodes beside it, else of all nodes."""
        folder, _, name = path.rpartition("/")
        beside = [p.rpartition("/")[2] for p in self._by_path if p.rpartition("/")[0] == folder]
        return [f"{folder}/{near}" for near in nearest(name, beside)] if beside else nearest(path, self._by_path)


def load(stage: Usd.Stage, registry: Registry, host: Host) -> Loaded:
    """Read all graphs of a stage. The host's log tells what cannot be used; the rest is loaded.

    Raises StageError where USD itself cannot read a prim.
    """
    with quiet(), _collector_paused(), unraised_errors() as errors:
        return _load(stage, registry, host, errors)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep Python's cycle collector from searching a growing graph in which nothing is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _load(stage: Usd.Stage, registry: Registry, host: Host, errors: list[BaseException]) -> Loaded:
    loaded = Loaded()
    inside: list[Graph] = []  # the graphs around the current prim, innermost last
    for prim in stage.Traverse():
        kind = prim.GetTypeName()
        if kind != "OmniGraphNode" and kind != "OmniGraph":
            continue
        path = prim.GetPath().pathString
        while inside and not path.startswith(f"{inside[-1].path}/"):
            inside.pop()
        try:
            if kind == "OmniGraph":
                inside.append(_graph(prim, path, host))
                loaded.graphs.append(inside[-1])
            elif inside:
                _node(prim, path, inside[-1], registry, loaded)
            else:
                host.log.warning(path, "is a node outside of every graph, so it never runs")
        except READ_ERRORS as error:
            raise unreadable(stage, path, error) from None
        if errors:
            raise unreadable(stage, path, errors[0])
    _tell_instanced(stage, host)
    loaded.graphs = [graph for graph in loaded.graphs if graph.nodes]
    _connect(loaded, host)
    return loaded


def _tell_instanced(stage: Usd.Stage, host: Host) -> None:
    """Graphs inside instances are shared by all of them, so there is no one place where their results could go."""
    for prototype in stage.GetPrototypes():
        if any(prim.GetTypeName() == "OmniGraph" for prim in Usd.PrimRange(prototype)):
            path = str(prototype.GetInstances()[0].GetPath())
            host.log.warning(path, "is instanceable, so the graphs in it are not played; make it not instanceable")


def _graph(prim: Usd.Prim, path: str, host: Host) -> Graph:
    attribute = prim.GetAttribute("evaluator:type")
    evaluator = attribute.Get() if attribute else None
    if evaluator not in EVALUATORS:
        if evaluator is not None:
            host.log.warning(path, f"unknown evaluator {evaluator!r}, played as push; known: {', '.join(EVALUATORS)}")
        evaluator = "push"
    return Graph(path, evaluator, host)


def _node(prim: Usd.Prim, path: str, graph: Graph, registry: Registry, loaded: Loaded) -> None:
    properties = {prop.GetName(): prop for prop in prim.GetAuthoredProperties()}
    type_name = _value(properties, "node:type", str) or ""
    node_type = registry.find(type_name)
    node = loaded._by_path[path] = graph.nodes[path] = Node(path, type_name, node_type, graph.host)
    if node_type is None:
        _tell_unknown(node, registry)
    else:
        for spec in node_type.spec.attributes.values():
            node.add(Attribute(node, spec.name, spec.type, spec))
        node.saved_version = _value(properties, "node:typeVersion", int) or 0
        _check_version(node, node_type.spec)
    for name, prop in properties.items():
        port, colon, _ = name.partition(":")
        if colon and port in PORTS:
            _property(prop, name, node, loaded)


def _value(properties: dict[str, Usd.Property], name: str, kind: type) -> Any:
    """Return the value of an attribute that describes the node; None if it is absent or of another type."""
    prop = properties.get(name)
    value = prop.Get() if isinstance(prop, Usd.Attribute) else None
    return value if isinstance(value, kind) else None


def _tell_unknown(node: Node, registry: Registry) -> None:
    log = node.host.log
    near = registry.nearest(node.type_name) if len(log.errors) < HINTS else ()
    node.disabled = f"there is no node type {node.type_name!r}" if node.type_name else "node:type is not set"
    log.error(node.path, f"{node.disabled} in this host" + did_you_mean(near))


def _check_version(node: Node, spec: NodeSpec) -> None:
    newest = 2 if node.type_name != spec.name else spec.version  # an alias counts by the versions of its own type
    newest = max(newest, spec.version)
    if node.saved_version > newest:
        text = f"was saved by version {node.saved_version} of {node.type_name}; this host has version {newest}"
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
        loaded._sources[attribute] = [p.pathString for p in prop.GetConnections()]
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
    value = prop.Get(time)
    if value is None:
        return
    taken = coerce_scalar(value, attribute.type)
    if taken is None:
        try:
            taken = _converted(value, str(prop.GetTypeName()), attribute.type)
        except ValueTypeError as error:
            attribute.node.host.log.warning(attribute.path, str(error))
            return
    attribute.set_if_changed(taken)


def _converted(value: Any, type_name: str, target: AttributeType) -> Value:
    """Return a value that USD holds as `type_name` as one of type `target`. Raises ValueTypeError."""
    authored = from_sdf(type_name)
    convert = converter(authored, target) if authored else None
    if authored is None or convert is None:
        raise ValueTypeError(f"holds a {type_name} but the node wants {target}; the default is used")
    value = coerce(to_numpy(value), authored)
    return value if authored == target else coerce(convert(value), target)


def _connect(loaded: Loaded, host: Host) -> None:
    """Turn connection paths into sources. Report those that lead nowhere or do not fit."""
    origins: dict[Attribute, Attribute] = {}
    for attribute, paths in loaded._sources.items():
        for path in paths:
            source = loaded.attribute(path)
            if source is None:
                _missing_source(loaded, attribute, path)
            elif _origin(source, origins) is attribute:
                host.log.warning(attribute.path, f"is connected to itself through {path}; the connection is ignored")
            elif converter(source.type, attribute.type) is None:
                text = f"{attribute.name} ({attribute.type}) cannot take {path} ({source.type})"
                attribute.node.disabled = text
                host.log.error(attribute.node.path, text)
            else:
                attribute.sources.append(source)
                if source.port == "inputs":
                    origins.setdefault(attribute, source)  # the first source counts
        if len(attribute.sources) > 1 and not attribute.type.is_execution:
            host.log.warning(attribute.path, f"has {len(attribute.sources)} sources; the player uses the first one")


def _missing_source(loaded: Loaded, attribute: Attribute, path: str) -> None:
    """Report a connection to an attribute that does not exist; a source has the kind of its target."""
    node, log, is_execution = attribute.node, attribute.node.host.log, attribute.type.is_execution
    why = loaded.missing(
        path,
        lambda source: source.port == "outputs" and source.type.is_execution == is_execution,
        hint=len(log.errors) < HINTS,
    )
    node.disabled = f"{attribute.name} is connected to {path}, which is not there: {why}"
    log.error(node.path, node.disabled)


def _origin(attribute: Attribute, origins: dict[Attribute, Attribute]) -> Attribute:
    """Return the attribute at which a chain of connected inputs begins.

    `origins` maps an input to one further up its chain. Each walk shortens the chain, so long ones stay cheap.
    """
    walked = []
    while attribute in origins:
        walked.append(attribute)
        attribute = origins[attribute]
    for link in walked:
        origins[link] = attribute
    return attribute


def beside_scene(stage: Usd.Stage, prim_path: str, attribute: str, name: str) -> str:
    """A file named in an attribute, relative to the layer in which that attribute was authored."""
    prop = stage.GetAttributeAtPath(f"{prim_path}.{attribute}")
    stack = prop.GetPropertyStack() if prop else []
    return resolve_beside(stack[0].layer if stack else stage.GetRootLayer(), name)
