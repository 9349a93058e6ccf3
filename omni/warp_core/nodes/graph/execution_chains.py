"""Chains of nodes in an Action Graph: nodes that an execution connection runs one right after the other.

Two nodes are in one chain if nothing else can run the second, the first runs nothing else, and no data node between
them reads the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import chains
from .node_graph import Graph, Node
from .topology import Topology

_MOST_LOOKS = 1_000_000  # at data nodes, while chains are found
Upstream = Callable[[Node], list[Node]]


class Chains:
    """The chains of one graph. The evaluator asks for the chain `starting_at` a node, and tells which nodes `ran`."""

    def __init__(self) -> None:
        self._by_first: dict[Node, Any] = {}
        self._running: Any = None
        self._count = 0  # nodes of the running chain that have run

    def follow(self, graph: Graph, topology: Topology, upstream: Upstream, databases: chains.Databases) -> None:
        """Find the chains of these connections."""
        self.finish()
        links = _Links(topology, upstream)
        after = {node: target for node in graph if (target := links.target_of(node)) is not None}
        later = set(after.values())
        self._by_first = {}
        for first in graph:
            make = chains.maker(first)
            if make is None or first in later:
                continue
            nodes = [first]
            while nodes:
                target = after.get(nodes[-1])
                if target is None or links.reads_between(nodes, target):
                    self._add(make(nodes, databases.__getitem__))
                    nodes = []
                if target is not None:
                    nodes.append(target)

    def _add(self, chain: Any) -> None:
        self._by_first[chain.nodes[0]] = chain

    def starting_at(self, node: Node) -> Any:
        """Return the chain that begins with a node; None if no chain does."""
        return self._by_first.get(node)

    def ran(self, node: Node) -> None:
        """Note that a node has run by itself. A chain whose nodes have all run learns how to replay them."""
        chain = self._by_first.get(node)
        if chain is not None:
            self._running, self._count = chain, 0
        running = self._running
        if running is None or running.nodes[self._count] is not node:
            self._running = None
            return
        self._count += 1
        if self._count == len(running.nodes):
            self._running = None
            for part in running.learn():
                self._add(part)

    def finish(self) -> None:
        """Let all chains account for their costs."""
        for chain in self._by_first.values():
            chain.finish()


class _Links:
    """Which node runs right after another one."""

    def __init__(self, topology: Topology, upstream: Upstream):
        self._topology, self._upstream = topology, upstream
        self._looks = 0

    def target_of(self, node: Node) -> Node | None:
        """Return the one node that the execution outputs of a node run, if the two can be in one chain."""
        make = chains.maker(node)
        if make is None:
            return None
        targets = [
            target
            for output in self._topology.wirings[node].execution_outputs
            for target in self._topology.targets.get(output, ())
        ]
        if len(targets) != 1 or chains.maker(targets[0].node) is not make or targets[0].node is node:
            return None
        activating = [
            source for entry in self._topology.wirings[targets[0].node].execution_inputs for source in entry.sources
        ]
        return targets[0].node if len(activating) == 1 else None

    def reads_between(self, nodes: list[Node], target: Node) -> bool:
        """True if a data node before `target` reads one of the nodes."""
        sources = self._upstream(target) if self._looks < _MOST_LOOKS else None
        if sources is None:
            return True
        self._looks += len(sources)
        members = set(nodes)
        return any(members.intersection(self._topology.wirings[source].sources) for source in sources)
