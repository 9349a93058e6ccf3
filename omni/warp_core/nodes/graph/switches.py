"""Switches of a scene: `node:enabled` of a node and `graph:enabled` of a graph, by path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .node_graph import Graph, Node

NODE, GRAPH = "node:enabled", "graph:enabled"


def is_switch(path: str) -> bool:
    """True if a path has the name of a switch."""
    return path.partition(".")[2] in (NODE, GRAPH)


def switched(nodes: Iterable[Node], path: str) -> list[Node | Graph]:
    """Return whatever the switch at a path such as /Graph/node.node:enabled switches; nothing if it is no switch.

    A node or graph that was copied for several prims is there once for each.
    """
    prim, _, name = path.partition(".")
    if name == NODE:
        return [node for node in nodes if node.path == prim]
    if name == GRAPH:
        return list(dict.fromkeys(graph for node in nodes for graph in _around(node) if graph.path == prim))
    return []


def _around(node: Node) -> Iterator[Graph]:
    """Yield the graph of a node and those around it."""
    graph = node.graph
    while graph is not None:
        yield graph
        graph = graph.parent
