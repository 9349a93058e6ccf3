"""Copies of a graph, one for each prim that it is evaluated for.

Every copy has nodes, values, variables and states of its own. What the scene animates comes from the graph itself, in
every frame.
"""

from __future__ import annotations

from .attribute import Attribute
from .node_graph import Graph, Instance, Node

NODE_LIMIT = 200_000  # nodes in all copies of a scene


def copy_for(graph: Graph, instance: Instance, copies: dict[Attribute, list[Attribute]]) -> Graph:
    """Return a copy of `graph` for one prim, and note in `copies` which attributes were copied from which."""
    scopes: dict[Graph, Graph] = {}
    made: dict[Attribute, Attribute] = {}
    copy = _scope(graph, scopes, made)
    copy.target = instance.target
    for name, value in instance.variables.items():
        if name in copy.variables:
            copy.variables[name].set(value)
    for node in graph:
        copy.nodes[node.path] = _node(node, _scope(node.graph or graph, scopes, made), made)
    for original, attribute in made.items():
        attribute.sources = [made.get(source, source) for source in original.sources]
        copies.setdefault(original, []).append(attribute)
    return copy


def _scope(graph: Graph, scopes: dict[Graph, Graph], made: dict[Attribute, Attribute]) -> Graph:
    """Return the copy of a graph without its nodes, and of the graphs around it."""
    around = []
    outer: Graph | None = graph
    while outer is not None and outer not in scopes:
        around.append(outer)
        outer = outer.parent
    for inner in reversed(around):
        parent = scopes[inner.parent] if inner.parent is not None else None
        copy = scopes[inner] = Graph(inner.path, inner.evaluator, inner.host, parent)
        copy.stage, copy.mode, copy.enabled = inner.stage, inner.mode, inner.enabled
        for name, variable in inner.variables.items():
            copy.variables[name] = _attribute(variable, variable.node, made)
    return scopes[graph]


def _node(node: Node, graph: Graph, made: dict[Attribute, Attribute]) -> Node:
    copy = Node(node.path, node.type_name, node.type, node.host)
    copy.disabled, copy.enabled, copy.saved_version = node.disabled, node.enabled, node.saved_version
    for attribute in node.attributes.values():
        copy.add(_attribute(attribute, copy, made))
    copy.graph = graph
    return copy


def _attribute(attribute: Attribute, node: Node, made: dict[Attribute, Attribute]) -> Attribute:
    copy = made[attribute] = Attribute(node, attribute.name, attribute.type, attribute.spec)
    if attribute.wanted is not None:
        copy.resolve(attribute.wanted)
    copy.value, copy.version = attribute.value, attribute.version
    return copy
