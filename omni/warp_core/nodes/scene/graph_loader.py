"""From the prims of a stage to graphs that can be evaluated.

The format is tolerant, as files in the field are: attributes that are not authored take the default of the node type,
attributes the node type does not declare are dynamic, `any` attributes keep type and value in custom data. The nodes of
the graph below a compound node are nodes of the graph around it; the compound's attributes pass values through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pxr import Usd

from ...lang.errors import did_you_mean, nearest
from ...usd.numpy_conversion import to_numpy
from ...usd.stage import READ_ERRORS, quiet, resolve_beside, unraised_errors, unreadable
from ..graph import switches
from ..graph.attribute import Attribute, arriving, type_words
from ..graph.evaluate import EVALUATORS
from ..graph.node_graph import MODES, STAGES, Graph, Host, Instance, Node
from ..ogn.ogn_spec import PORTS, NodeSpec
from ..ogn.value_limits import beyond
from ..stock.node_registry import KERNEL, Registry
from ..values.attribute_types import ANY, BUNDLE, EXECUTION, TOKEN, AttributeType, TypeNameError, from_sdf, parse
from ..values.attribute_values import Value, ValueTypeError, coerce, coerce_scalar, converter
from . import collector
from .custom_data import graph_data, relationship_type
from .misspelt_names import misspelt, similar

NODE = "OmniGraphNode"  # the type of a prim that is a node
_ON_PORTS = tuple(f"{port}:" for port in PORTS)
_BUNDLE_OUTPUT = "outputs_"
_OUTPUT_TARGET = re.compile(r"(?P<node>/[^.]+)[/.](?P<port>inputs|outputs|state)[_:](?P<name>[^/.]+)")
_FIRST = Usd.TimeCode.EarliestTime()
_VARIABLE = "graph:variable:"
_INSTANCES = "omniGraphs"  # the relationship by which a prim names the graphs to evaluate for it
HINTS = 20  # names that are not there and get suggestions; a search costs as much as loading ten nodes


@dataclass
class Loaded:
    """The graphs of a stage, and the node attributes whose value in the scene changes with time."""

    graphs: list[Graph] = field(default_factory=list)
    animated: list[tuple[Attribute, Usd.Attribute]] = field(default_factory=list)
    _by_path: dict[str, Node] = field(default_factory=dict)
    _sources: dict[Attribute, list[str]] = field(default_factory=dict)  # paths, until they are connected
    _instances: dict[str, list[Usd.Prim]] = field(default_factory=dict)  # prims by the graph that they name

    def attribute(self, path: str) -> Attribute | None:
        """Return the attribute at a path such as /Graph/node.inputs:x, None if it does not exist."""
        prim, _, name = path.partition(".")
        node = self._by_path.get(prim)
        return node.attributes.get(name) if node else None

    def nodes(self) -> list[Node]:
        """All nodes of all graphs."""
        return [node for graph in self.graphs for node in graph]

    def has_node(self, path: str) -> bool:
        """True if there is a node, or a graph with variables, at a path."""
        return path in self._by_path

    def missing(self, path: str, suits: Callable[[Attribute], bool], hint: bool = True) -> str:
        """Return why there is no attribute at `path`, with the most similar names among attributes that suit."""
        prim, _, name = path.partition(".")
        node = self._by_path.get(prim)
        if node is None:
            return f"there is no node {prim}" + did_you_mean(self._nearest_nodes(prim) if hint else ())
        if node.type is None and node.disabled:
            return f"{prim} is of the unknown type {node.type_name!r}"
        found = [a for a in node.attributes.values() if suits(a)]
        if switches.is_switch(path):  # the one of a node at a graph, or the other way round
            near = [switches.GRAPH if node.graph is None else switches.NODE]
        else:
            near = similar(name, [a.name for a in found]) if hint else []
        port = name.partition(":")[0]
        found.sort(key=lambda a: (a.port != port, a.spec is not None))  # the user's own attributes first
        what = "graph" if node.graph is None else "node"
        return f"the {what} {prim} has no attribute {name!r}" + did_you_mean(near, [a.name for a in found])

    def _nearest_nodes(self, path: str) -> list[str] | tuple[str, ...]:
        """Return the paths most like `path`: of nodes beside it, else of all nodes."""
        folder, _, name = path.rpartition("/")
        beside = [p.rpartition("/")[2] for p in self._by_path if p.rpartition("/")[0] == folder]
        return [f"{folder}/{near}" for near in nearest(name, beside)] if beside else nearest(path, self._by_path)


def load(stage: Usd.Stage, registry: Registry, host: Host) -> Loaded:
    """Read all graphs of a stage. The host's log tells what cannot be used; the rest is loaded.

    Raises StageError where USD itself cannot read a prim.
    """
    with quiet(), collector.paused(), unraised_errors() as errors:
        return _load(stage, registry, host, errors)


def _load(stage: Usd.Stage, registry: Registry, host: Host, errors: list[BaseException]) -> Loaded:
    loaded = Loaded()
    prims = iter(stage.Traverse())
    for prim in prims:
        kind = prim.GetTypeName()
        if kind == "OmniGraph":
            prims.PruneChildren()
            _outermost_graph(prim, registry, host, loaded, errors)
        elif kind == NODE:
            host.log.warning(prim.GetPath().pathString, "is a node outside of every graph, so it never runs")
        elif prim.HasRelationship(_INSTANCES):
            for path in prim.GetRelationship(_INSTANCES).GetTargets():
                loaded._instances.setdefault(path.pathString, []).append(prim)
    _tell_instanced(stage, host)
    loaded.graphs = [graph for graph in loaded.graphs if graph.nodes]
    for graph in loaded.graphs:
        graph.instances = [_instance(prim, graph) for prim in loaded._instances.pop(graph.path, ())]
    for path, prims in loaded._instances.items():
        host.log.warning(str(prims[0].GetPath()), f"names the graph {path} in {_INSTANCES}, which is not there")
    _connect(loaded, stage, host)
    return loaded


def _outermost_graph(
    top: Usd.Prim, registry: Registry, host: Host, loaded: Loaded, errors: list[BaseException]
) -> None:
    """Read a graph and the graphs inside it."""
    inside: list[tuple[int, Graph]] = []  # depth and graph of those around the current prim, innermost last
    for prim, path, depth in _prims_below(top):
        kind = prim.GetTypeName()
        if kind != NODE and kind != "OmniGraph":
            if prim.HasAttribute("node:type"):
                host.log.warning(
                    path, f'is {kind or "of no type"} and never runs: write def OmniGraphNode "{prim.GetName()}"'
                )
            continue
        while inside and inside[-1][0] >= depth:
            inside.pop()
        try:
            if kind == "OmniGraph":
                around = loaded._by_path.get(path.rpartition("/")[0])
                parent = around.graph if around is not None and around.is_compound else None
                graph = _graph(prim, path, host, parent, loaded)
                inside.append((depth, graph))
                if parent is None:
                    loaded.graphs.append(graph)
            else:
                _node(prim, path, inside[-1][1], registry, loaded)
        except READ_ERRORS as error:
            raise unreadable(prim.GetStage(), path, error) from None
        if errors:
            raise unreadable(prim.GetStage(), path, errors[0])


def _prims_below(top: Usd.Prim) -> Iterator[tuple[Usd.Prim, str, int]]:
    """Yield a prim and those below it with path and depth, parents first.

    The names of all children come from one call of USD, whereas a call for each path is slower than all else here.
    """
    levels: list[Iterator[tuple[Usd.Prim, str]]] = [iter([(top, top.GetPath().pathString)])]
    while levels:
        for prim, path in levels[-1]:
            yield prim, path, len(levels)
            if children := prim.GetChildren():
                paths = [f"{path}/{name}" for name in prim.GetChildrenNames()]
                levels.append(zip(children, paths, strict=True))
                break
        else:
            levels.pop()


def _tell_instanced(stage: Usd.Stage, host: Host) -> None:
    """Graphs inside instances are shared by all of them, so there is no one place where their results could go."""
    for prototype in stage.GetPrototypes():
        if any(prim.GetTypeName() == "OmniGraph" for prim in Usd.PrimRange(prototype)):
            path = str(prototype.GetInstances()[0].GetPath())
            host.log.warning(path, "is instanceable, so the graphs in it are not played; make it not instanceable")


def _graph(prim: Usd.Prim, path: str, host: Host, parent: Graph | None, loaded: Loaded) -> Graph:
    names = prim.GetAuthoredPropertyNames()
    evaluator = _setting(prim, names, "evaluator:type", EVALUATORS, "push", host)
    graph = Graph(path, evaluator if parent is None else parent.evaluator, host, parent)
    graph.stage = _setting(prim, names, "pipelineStage", STAGES, STAGES[0], host)
    graph.mode = _setting(prim, names, "evaluationMode", MODES, MODES[0], host)
    graph.enabled = _value(prim, names, switches.GRAPH, bool) is not False
    holder = Node(path, "OmniGraph", None, host)
    for name in names:
        if name.startswith(_VARIABLE):
            _property(prim.GetProperty(name), name, holder, loaded)
    if holder.attributes:
        loaded._by_path[path] = holder
        graph.variables = {name.removeprefix(_VARIABLE): a for name, a in holder.attributes.items()}
    return graph


def _setting(prim: Usd.Prim, names: list[str], name: str, known: tuple[str, ...], default: str, host: Host) -> str:
    """Return a setting of a graph; one that is not known is told and replaced by the default."""
    value = prim.GetAttribute(name).Get() if name in names else None
    if value is None or value == "" or value in known:
        return value or default
    text = f"unknown {name.partition(':')[0]} {value!r}, played as {default}; known: {', '.join(known)}"
    host.log.warning(prim.GetPath().pathString, text)
    return default


def _instance(prim: Usd.Prim, graph: Graph) -> Instance:
    """Return a prim that a graph is evaluated for, with the variables that it sets."""
    instance = Instance(prim.GetPath().pathString)
    for name, variable in graph.variables.items():
        prop = prim.GetAttribute(_VARIABLE + name)
        value = prop.Get(_FIRST) if prop and prop.HasAuthoredValue() else None
        if value is None:
            continue
        try:
            instance.variables[name] = _converted(value, str(prop.GetTypeName()), variable.resolved)
        except ValueTypeError as error:
            graph.host.log.warning(f"{instance.target}.{_VARIABLE}{name}", str(error))
    return instance


def _node(prim: Usd.Prim, path: str, graph: Graph, registry: Registry, loaded: Loaded) -> None:
    names = prim.GetAuthoredPropertyNames()
    type_name = _value(prim, names, "node:type", str) or ""
    node_type = registry.find(type_name)
    node = loaded._by_path[path] = graph.outermost.nodes[path] = Node(path, type_name, node_type, graph.host)
    node.graph = graph
    node.enabled = _value(prim, names, switches.NODE, bool) is not False
    if node_type is None:
        _tell_unknown(node, registry)
    else:
        for spec in node_type.spec.attributes.values():
            node.add(Attribute(node, spec.name, spec.type, spec))
        node.saved_version = _value(prim, names, "node:typeVersion", int) or 0
        _check_version(node, node_type.spec)
    for name in names:
        if name.startswith(_ON_PORTS):
            attribute = node.attributes.get(name)
            if attribute is not None and attribute.type.is_plain:
                _plain_property(prim.GetAttribute(name), attribute, loaded)
            else:
                _property(prim.GetProperty(name), name, node, loaded)
        elif name.startswith(_BUNDLE_OUTPUT) and prim.HasRelationship(name):
            _bundle_output(name.replace("_", ":", 1), node)
    for name, meant in misspelt(node, names).items():
        text = f"the node type {type_name} has no such input, so nothing reads it"
        text += f"; did you mean {meant}?" if meant else ""
        graph.host.log.warning(f"{path}.{name}", text)


def _bundle_output(name: str, node: Node) -> None:
    """Add an output that the scene declares in the form of bundles, `rel outputs_mesh`."""
    if name not in node.attributes:
        node.add(Attribute(node, name, BUNDLE))


def _value(prim: Usd.Prim, names: list[str], name: str, kind: type) -> Any:
    """Return the value of an attribute that describes the node; None if it is absent or of another type."""
    value = prim.GetAttribute(name).Get() if name in names else None
    return value if isinstance(value, kind) else None


def _tell_unknown(node: Node, registry: Registry) -> None:
    log = node.host.log
    near = registry.nearest(node.type_name) if len(log.errors) < HINTS else ()
    if not node.type_name:
        node.disabled = "node:type is not set"
        log.error(node.path, f'{node.disabled}; write it into the node, such as: token node:type = "{KERNEL}"')
        return
    node.disabled = f"there is no node type {node.type_name!r}"
    hint = did_you_mean(near) or "; --nodes FOLDER loads the node types of an extension"
    log.error(node.path, f"{node.disabled} in this host{hint}")


def _check_version(node: Node, spec: NodeSpec) -> None:
    newest = 2 if node.type_name != spec.name else spec.version  # an alias counts by the versions of its own type
    newest = max(newest, spec.version)
    if node.saved_version > newest:
        text = f"was saved by version {node.saved_version} of {node.type_name}; this host has version {newest}"
        node.host.log.warning(node.path, text)


def _plain_property(prop: Usd.Attribute, attribute: Attribute, loaded: Loaded) -> None:
    """Take the authored value and connections of an attribute whose value USD holds as it is."""
    has_value = take(attribute, prop, _FIRST)
    spec = attribute.spec
    if has_value and spec is not None and spec.has_limits and (text := beyond(spec, attribute.value)):
        attribute.node.host.log.warning(attribute.path, text)
    if not has_value and not prop:
        return  # the scene has a relationship of that name
    _note_sources(prop, attribute, loaded)
    if attribute not in loaded._sources:  # whether a source can be used is known at the end
        _note_if_animated(prop, attribute, loaded)


def _note_sources(prop: Usd.Attribute, attribute: Attribute, loaded: Loaded) -> None:
    """Keep the paths to which an input, or any attribute of a compound node, is connected."""
    if (attribute.port == "inputs" or attribute.node.is_compound) and (connections := prop.GetConnections()):
        loaded._sources[attribute] = [p.pathString for p in connections]


def _note_if_animated(prop: Usd.Attribute, attribute: Attribute, loaded: Loaded) -> None:
    if prop.ValueMightBeTimeVarying():
        loaded.animated.append((attribute, prop))


def _property(prop: Usd.Property, name: str, node: Node, loaded: Loaded) -> None:
    """Take one authored property of a node prim, of whichever kind."""
    log, is_rel = node.host.log, isinstance(prop, Usd.Relationship)
    attribute = node.attributes.get(name)
    if attribute is None:
        kind = relationship_type(prop) if is_rel else _dynamic_type(prop)
        if kind == TOKEN and node.is_compound:
            kind = ANY  # the scene holds what a compound passes on as a token, unless its type is known
        if kind is None:
            log.warning(f"{node.path}.{name}", f"type {prop.GetTypeName()} is unknown to OmniGraph; ignored")
            return
        attribute = node.add(Attribute(node, name, kind))
    if is_rel:
        _targets(prop, attribute, loaded)
        return
    if attribute.type.is_plain:
        _plain_property(prop, attribute, loaded)
        return
    _note_sources(prop, attribute, loaded)
    if attribute.type.is_any and _any_value(prop, attribute) and attribute not in loaded._sources:
        _note_if_animated(prop, attribute, loaded)


def _targets(prop: Usd.Relationship, attribute: Attribute, loaded: Loaded) -> None:
    """Take the targets of a relationship: outputs of nodes are connections, prims are values."""
    paths = [path.pathString for path in prop.GetTargets()]
    may_be_child = attribute.type.is_bundle
    outputs = {p: found for p in paths if (may_be_child or "." in p) and (found := output_path(p))}
    if attribute.type.is_paths:
        prims = tuple(path for path in paths if path not in outputs)
        if prims or not outputs:
            attribute.set(prims)
    elif attribute.type.is_bundle:
        for path in paths:
            if path not in outputs:
                text = f"is a bundle, and {path} is no output of a node; read the prim with ReadPrimsV2"
                attribute.node.host.log.warning(attribute.path, text)
    else:
        return
    if outputs and attribute.name.startswith("inputs:"):
        loaded._sources[attribute] = list(outputs.values())


def output_path(path: str) -> str | None:
    """Return the attribute that a relationship target stands for, None for a prim.

    Bundles have had two forms in USD: a child prim </G/node/outputs_mesh>, and a property </G/node.outputs_mesh>.

    >>> output_path("/G/node/outputs_mesh"), output_path("/G/node.outputs_mesh"), output_path("/World/Mesh")
    ('/G/node.outputs:mesh', '/G/node.outputs:mesh', None)
    """
    found = _OUTPUT_TARGET.fullmatch(path)
    return f"{found['node']}.{found['port']}:{found['name']}" if found else None


def _dynamic_type(prop: Usd.Attribute) -> AttributeType | None:
    data = graph_data(prop)
    if data.get("isExecution"):
        return EXECUTION
    if "resolvedType" in data:
        return ANY
    return from_sdf(str(prop.GetTypeName()))


def _any_value(prop: Usd.Attribute, attribute: Attribute) -> bool:
    """Set type and value of an `any` attribute: from the custom data, else as authored; False if USD holds no value.

    An empty token is how a scene holds an attribute whose type is open.
    """
    data = graph_data(prop)
    try:
        if "resolvedType" in data:
            kind = parse(str(data["resolvedType"]))
            value = data.get("attrValue")
            if value is not None:
                attribute.set(coerce(to_numpy(value), kind), kind)
            else:
                attribute.resolve(kind)
            return False
        authored = from_sdf(str(prop.GetTypeName()))
        value = prop.Get(_FIRST)
        if authored is None or value is None or (value == "" and authored == TOKEN and not attribute.node.is_compound):
            return False
        attribute.set(coerce(to_numpy(value), authored), authored)
    except (TypeNameError, ValueTypeError) as error:
        attribute.node.host.log.warning(attribute.path, str(error))
        return False
    return True


def take(attribute: Attribute, prop: Usd.Attribute, time: Usd.TimeCode) -> bool:
    """Set an attribute to what the scene holds at `time`; False if that is nothing.

    A value that does not fit is told and left out.
    """
    value = prop.Get(time)
    if value is None:
        return False
    kind = attribute.resolved
    taken = coerce_scalar(value, kind)
    if taken is None:
        try:
            taken = _converted(value, str(prop.GetTypeName()), kind)
        except ValueTypeError as error:
            attribute.node.host.log.warning(attribute.path, str(error))
            return True
    attribute.set_if_changed(taken)
    return True


def _converted(value: Any, type_name: str, target: AttributeType) -> Value:
    """Return a value that USD holds as `type_name` as one of type `target`. Raises ValueTypeError."""
    authored = from_sdf(type_name)
    convert = converter(authored, target) if authored else None
    if authored is None or convert is None:
        raise ValueTypeError(f"holds a {type_name} but the node wants {target}; the default is used")
    value = coerce(to_numpy(value), authored)
    return value if authored == target else coerce(convert(value), target)


def _connect(loaded: Loaded, stage: Usd.Stage, host: Host) -> None:
    """Turn connection paths into sources. Report those that lead nowhere or do not fit."""
    origins: dict[Attribute, Attribute] = {}
    for attribute, paths in loaded._sources.items():
        for path in paths:
            source = loaded.attribute(path)
            if source is None:
                _missing_source(loaded, stage, attribute, path)
                continue
            if source.type.is_execution != attribute.type.is_execution:
                _note_execution(source, attribute)
            if not attribute.type.is_execution and _origin(source, origins) is attribute:
                host.log.warning(attribute.path, f"is connected to itself through {path}; the connection is ignored")
            elif arriving(source.type, attribute.type) is None:
                text = f"{attribute.name} ({type_words(attribute.type)}) cannot take {path} ({type_words(source.type)})"
                attribute.node.disabled = text
                host.log.error(attribute.node.path, text)
            else:
                attribute.sources.append(source)
                if not attribute.type.is_execution:
                    origins.setdefault(attribute, source)  # the first source counts
        if len(attribute.sources) > 1 and not attribute.type.is_execution and not attribute.gathers:
            host.log.warning(attribute.path, f"has {len(attribute.sources)} sources; the player uses the first one")
        if not attribute.sources and (attribute.type.is_plain or attribute.type.is_any):
            _note_if_animated(stage.GetAttributeAtPath(attribute.path), attribute, loaded)
    loaded._sources.clear()


def _note_execution(source: Attribute, target: Attribute) -> None:
    """Find execution attributes that the scene only knows as numbers: dynamic ones at the end of such a connection."""
    number = source if target.type.is_execution else target
    may_be = number is source or number.node.is_compound  # an input of another node may want the number
    if may_be and number.spec is None and number.type == AttributeType("uint"):
        number.type = EXECUTION


def _missing_source(loaded: Loaded, stage: Usd.Stage, attribute: Attribute, path: str) -> None:
    """Report a connection to an attribute that no node has; a source has the kind of its target."""
    node, log, is_execution = attribute.node, attribute.node.host.log, attribute.type.is_execution
    prim = stage.GetPrimAtPath(path.partition(".")[0])
    if stage.GetAttributeAtPath(path) and prim.GetTypeName() != NODE:
        node.disabled = (
            f"{attribute.name} is connected to {path}, an attribute of a {prim.GetTypeName() or 'prim'}; connect it to "
            f"outputs:value of a node omni.graph.nodes.ReadPrimAttribute with inputs:prim = <{prim.GetPath()}> and "
            f'inputs:name = "{path.partition(".")[2]}"'
        )
        log.error(node.path, node.disabled)
        return
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
