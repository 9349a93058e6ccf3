"""The connections of a graph as an evaluator follows them: between nodes that compute, with compound nodes left out.

`Topology` is made when a graph starts, and again after its attributes or connections have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .attribute import Attribute
from .node_graph import Graph, Node


@dataclass(slots=True)
class Wiring:
    """What an evaluator does around one node: nodes it reads, inputs to pull, execution inputs and outputs to set.

    `chained` are the inputs connected to inputs of execution nodes, which may wait for their own sources.
    """

    sources: tuple[Node, ...]
    inputs: tuple[Attribute, ...]
    chained: tuple[Attribute, ...]
    execution_inputs: tuple[Attribute, ...]
    execution_outputs: tuple[Attribute, ...]


class Topology:
    """Wirings of all nodes, their data order, and the targets of execution outputs.

    `order` has sources first. `back` holds the connections (source, target) that close a cycle. A target of an
    execution output is an input, or an attribute of a compound node, which has targets itself.
    """

    def __init__(self, graph: Graph):
        self._far: dict[Attribute, Attribute] = {}
        self.targets: dict[Attribute, list[Attribute]] = {}
        self.wirings = {node: self._wiring(node) for node in graph}
        self._far.clear()
        self.order, self._closing = data_order(self)
        self.back = set(self._closing)

    def _wiring(self, node: Node) -> Wiring:
        sources: dict[Node, None] = {}
        inputs, execution = [], []
        for attribute in node.attributes.values():
            if attribute.port != "inputs" and not node.is_compound:
                continue
            if attribute.type.is_execution:
                execution.append(attribute)
                for source in attribute.sources:
                    self.targets.setdefault(source, []).append(attribute)
            elif attribute.sources and not node.is_compound:
                used = attribute.sources if attribute.gathers else attribute.sources[:1]
                first, *others = (self._origin(source) for source in used)
                attribute.feed_from(first, tuple(others))
                inputs.append(attribute)
                sources |= dict.fromkeys(source.node for source in (first, *others))
        outputs = tuple(a for a in node.on("outputs") if a.type.is_execution) if node.is_execution else ()
        chained = tuple(a for a in inputs if _is_chained(a.feed))
        return Wiring(tuple(sources), tuple(inputs), chained, tuple(execution), outputs)

    def _origin(self, source: Attribute) -> Attribute:
        """Return the attribute at the other side of the compound nodes that `source` leads through."""
        walked: dict[Attribute, None] = {}
        while source.sources and source.node.is_compound and source not in walked:
            if source in self._far:
                source = self._far[source]
                break
            walked[source] = None
            source = source.sources[0]
        for link in walked:
            self._far[link] = source
        return source

    def sources_of(self, node: Node) -> Iterator[Node]:
        """The nodes of the graph whose data `node` reads, each once, in the order of its inputs."""
        return (source for source in self.wirings[node].sources if source in self.wirings)

    def cycles(self) -> Iterable[tuple[Node, Node]]:
        """The connections (source, target) that close a cycle of several nodes."""
        return ((source, target) for source, target in self._closing if source is not target)


def _is_chained(source: Attribute | None) -> bool:
    return source is not None and bool(source.sources) and source.port == "inputs" and source.node.is_execution


def data_order(topology: Topology) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """Return the nodes, sources first, and the connections (source, target) that close a cycle.

    Ties are broken by the order in the file.
    """
    order: list[Node] = []
    back: list[tuple[Node, Node]] = []
    is_done: dict[Node, bool] = {}  # False while on the stack
    for root in topology.wirings:
        if root in is_done:
            continue
        is_done[root] = False
        stack = [(root, topology.sources_of(root))]
        while stack:
            node, sources = stack[-1]
            source = next(sources, None)
            if source is None:
                is_done[node] = True
                order.append(node)
                stack.pop()
            elif source not in is_done:
                is_done[source] = False
                stack.append((source, topology.sources_of(source)))
            elif not is_done[source]:
                back.append((source, node))
    return order, back
