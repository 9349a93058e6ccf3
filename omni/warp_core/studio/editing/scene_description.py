"""The scene as data for the page: graphs, nodes, ports, connections, and the types of nodes that can be added."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pxr import Usd

from ...nodes.graph import switches
from ...nodes.graph.node_graph import NodeType
from ...nodes.ogn.ogn_spec import AttributeSpec
from ...nodes.scene import kernel_presets
from ...nodes.scene.custom_data import attribute_names, property_of, relationship_type
from ...nodes.scene.graph_loader import output_path
from ...nodes.stock.node_registry import KERNEL, Registry
from ...nodes.stock.type_listing import all_specs, first_sentence
from ...nodes.values.attribute_types import EXECUTION, AttributeType, from_sdf
from ...usd.numpy_conversion import to_numpy
from ...usd.stage import READ_ERRORS, layer_file
from ..records import plain
from .edits import POSITION

MOST_SHOWN = 16  # numbers of an array in a field
MOST_NODES = 20_000
_PORTS = ("inputs:", "outputs:")


def describe(stage: Usd.Stage, registry: Registry) -> dict[str, Any]:
    """Return the graphs of a stage as the page shows them."""
    graphs = [_graph(prim, registry) for prim in _outermost(stage)]
    graphs.sort(key=lambda graph: graph["path"])
    return {"graphs": graphs, "file": layer_file(stage.GetRootLayer())}


def describe_graph(stage: Usd.Stage, registry: Registry, path: str) -> dict[str, Any] | None:
    """Return one graph as the page shows it, None if the path has no graph."""
    prim = stage.GetPrimAtPath(path)
    return _graph(prim, registry) if prim and prim.IsActive() and prim.GetTypeName() == "OmniGraph" else None


def describe_node(stage: Usd.Stage, registry: Registry, path: str) -> dict[str, Any]:
    """Return the node at a path as the page shows it."""
    return _node(stage.GetPrimAtPath(path), registry)


def node_types(registry: Registry) -> list[dict[str, str]]:
    """Return the types of nodes that a user can add."""
    return [
        {"name": spec.name, "label": spec.ui_name or spec.name.rpartition(".")[2], "about": first_sentence(spec)}
        for spec in all_specs(registry)
    ]


def presets() -> list[dict[str, str]]:
    """Return the texts that a Kernel node can start from."""
    found = [kernel_presets.load(name) for name in kernel_presets.names()]
    return [{"name": preset.name, "about": preset.about.rstrip("."), "text": preset.text} for preset in found]


def _outermost(stage: Usd.Stage) -> Iterator[Usd.Prim]:
    prims = iter(stage.Traverse())
    for prim in prims:
        if prim.GetTypeName() == "OmniGraph":
            prims.PruneChildren()
            yield prim


def _graph(graph: Usd.Prim, registry: Registry) -> dict[str, Any]:
    found = [prim for prim in Usd.PrimRange(graph) if prim.GetTypeName() == "OmniGraphNode"]
    nodes = [_node(prim, registry) for prim in found[:MOST_NODES]]
    return {
        "path": str(graph.GetPath()),
        "evaluator": _get(graph, "evaluator:type") or "push",
        "enabled": _get(graph, switches.GRAPH) is not False,
        "nodes": nodes,
        "omitted": max(0, len(found) - MOST_NODES),
    }


def _node(prim: Usd.Prim, registry: Registry) -> dict[str, Any]:
    type_name = str(_get(prim, "node:type") or "")
    node_type = registry.find(type_name)
    return {
        "path": str(prim.GetPath()),
        "name": prim.GetName(),
        "type": type_name,
        "label": (node_type.spec.ui_name if node_type else "") or type_name.rpartition(".")[2],
        "known": node_type is not None,
        "enabled": _get(prim, switches.NODE) is not False,
        "position": _position(prim),
        "code": _code(prim, node_type),
        "ports": [*_ports(prim, node_type)],
    }


def _position(prim: Usd.Prim) -> list[float] | None:
    """The place of a node in the graph, None if the scene has none that can be shown."""
    try:
        x, y = map(float, _get(prim, POSITION) or ())
    except (TypeError, ValueError):
        return None
    return [x, y] if math.isfinite(x) and math.isfinite(y) else None


def _code(prim: Usd.Prim, node_type: NodeType | None) -> str | None:
    """The text of a Kernel node, None for one whose text lies in a file, and for other nodes."""
    if node_type is None or node_type.spec.name != KERNEL or _get(prim, "inputs:codeProvider") == "file":
        return None
    text = _get(prim, "inputs:codeStr")
    return node_type.spec.attributes["inputs:codeStr"].default if text is None else str(text)


def _ports(prim: Usd.Prim, node_type: NodeType | None) -> Iterator[dict[str, Any]]:
    authored = {name: None for name in attribute_names(prim) if name.startswith(_PORTS)}
    declared = node_type.spec.attributes if node_type is not None else {}
    plain_ports = _plain_ports(node_type) if node_type is not None else {}
    for name, port in plain_ports.items():
        yield _port(prim, port, declared[name].type) if name in authored else port
    for name in authored:
        if name not in plain_ports and (kind := _authored_type(prim, name)) is not None:
            yield _port(prim, _plain_port(name, kind, None), kind) | _about(name, kind)


def _about(name: str, kind: AttributeType) -> dict[str, str]:
    """Return what the page tells about a port that the user added."""
    if not kind.is_bundle:
        return {}
    bundle = name.partition(":")[2]
    return {"about": f"its members are parameters of the kernel, such as {bundle}_points and {bundle}_normals"}


@lru_cache(maxsize=4096)
def _plain_ports(node_type: NodeType) -> dict[str, dict[str, Any]]:
    """Return the ports of a node that has no values and connections of its own; nodes of the type share them."""
    declared = node_type.spec.attributes
    return {name: _plain_port(name, spec.type, spec) for name, spec in declared.items() if name.startswith(_PORTS)}


def _authored_type(prim: Usd.Prim, name: str) -> AttributeType | None:
    prop = property_of(prim, name)
    if isinstance(prop, Usd.Relationship):
        return relationship_type(prop)
    if prop.GetCustomDataByKey("isExecution"):
        return EXECUTION
    return from_sdf(str(prop.GetTypeName()))


def _plain_port(name: str, kind: AttributeType, spec: AttributeSpec | None) -> dict[str, Any]:
    port: dict[str, Any] = {
        "name": name,
        "type": str(kind) if not kind.is_any else "any",
        "shape": "exec" if kind.is_execution else "array" if kind.is_array or kind.is_bundle else "value",
        "sources": [],
        "added": spec is None,
    }
    if _takes_value(name, kind):
        port |= {"value": [] if kind.is_paths else plain(spec.default) if spec is not None else None, "set": False}
    if spec is not None:
        port["about"] = spec.description
        if spec.metadata.get("outputOnly") == "1":
            port["gives"] = True  # connections start at it, as at the value of a constant
        if spec.allowed_tokens:
            port["tokens"] = list(spec.allowed_tokens)
        port |= {key: plain(v) for key, v in (("min", spec.minimum), ("max", spec.maximum)) if v is not None}
    return port


def _takes_value(name: str, kind: AttributeType) -> bool:
    return name.startswith("inputs:") and not kind.is_execution and not kind.is_bundle


def _port(prim: Usd.Prim, plain_port: dict[str, Any], kind: AttributeType) -> dict[str, Any]:
    """Return a port with the connections and the value that a node has for it."""
    name = plain_port["name"]
    port = {**plain_port, "sources": _sources(prim, name)}
    return port | _value(prim, name, kind) if _takes_value(name, kind) else port


def _sources(prim: Usd.Prim, name: str) -> list[str]:
    prop = property_of(prim, name)
    if isinstance(prop, Usd.Relationship):
        return [found for path in prop.GetTargets() if (found := output_path(str(path)))]
    return [str(path) for path in prop.GetConnections()] if prop else []


def _value(prim: Usd.Prim, name: str, kind: AttributeType) -> dict[str, Any]:
    """Return the value that a node has for an input, nothing if it has none."""
    if kind.is_paths:
        targets = prim.GetRelationship(name).GetTargets() if prim.HasRelationship(name) else []
        return {"value": [str(path) for path in targets if not output_path(str(path))], "set": bool(targets)}
    value = _get(prim, name)
    if value is None:
        return {}
    held = to_numpy(value)
    size = getattr(held, "size", 0)
    if size > MOST_SHOWN:
        return {"value": None, "count": len(held), "set": True}
    return {"value": plain(held), "set": True}


def _get(prim: Usd.Prim, name: str) -> Any:
    attribute = prim.GetAttribute(name)
    try:
        return attribute.Get(Usd.TimeCode.EarliestTime()) if attribute else None
    except READ_ERRORS:
        return None
