"""Types of `any` and union attributes, found through connections in both directions before the first evaluation.

Downstream, an input has the type of its source (`Attribute.resolved`). A node class says in
`on_connection_type_resolve(node)` what that means for its other attributes. Upstream, an output that is still open
takes the type of the first attribute that reads it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .attribute import Attribute, GraphError, arriving
from .node_graph import Node
from .topology import Topology

_HOOK = "on_connection_type_resolve"


def resolve_types(topology: Topology, explain: Callable[[BaseException], str]) -> None:
    """Ask all node classes that want to know, until nothing changes."""
    resolution = _Resolution(topology, explain)
    if resolution.rounds:
        resolution.forward(resolution.rounds)
        while open_nodes := resolution.backward():
            resolution.forward(open_nodes)


class _Resolution:
    """One search. `rounds` holds the nodes with a hook, and how often each may still be asked.

    An attribute is resolved once, so the bound only stops hooks that never agree.
    """

    def __init__(self, topology: Topology, explain: Callable[[BaseException], str]):
        self._explain = explain
        self.rounds: dict[Node, int] = {}
        self._readers: dict[Attribute, list[Attribute]] = {}
        for node in topology.wirings:
            if node.type is not None and not node.disabled and node.type.hook(_HOOK):
                self.rounds[node] = 2 + sum(a.type.is_any for a in node.attributes.values())
        if not self.rounds:
            return
        for wiring in topology.wirings.values():
            for attribute in wiring.inputs:
                if attribute.feed is not None and (attribute.type.is_any or attribute.feed.type.is_any):
                    self._readers.setdefault(attribute.feed, []).append(attribute)

    def forward(self, nodes: dict[Node, int] | list[Node]) -> None:
        """Ask `nodes`, and whoever is connected to what they resolve."""
        queue = deque(nodes)
        waiting = set(queue)
        while queue:
            node = queue.popleft()
            waiting.discard(node)
            if not self._ask(node):
                continue
            for neighbour in self._neighbours(node):
                if neighbour not in waiting:
                    waiting.add(neighbour)
                    queue.append(neighbour)

    def _ask(self, node: Node) -> bool:
        """Call the hook of a node; True if types have changed."""
        if not self.rounds.get(node):
            return False
        self.rounds[node] -= 1
        before = [a.resolved for a in node.attributes.values() if a.type.is_any]
        hook = node.type.hook(_HOOK) if node.type else None
        try:
            if hook is not None:
                hook(node)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            node.disabled = self._explain(error)
            node.fail(node.disabled)
        return before != [a.resolved for a in node.attributes.values() if a.type.is_any]

    def _neighbours(self, node: Node) -> list[Node]:
        """Return the nodes with hooks that read from this one."""
        found: dict[Node, None] = {}
        for output in node.on("outputs"):
            for reader in self._readers.get(output, ()):
                if reader.node in self.rounds:
                    found[reader.node] = None
        return list(found)

    def backward(self) -> list[Node]:
        """Resolve open outputs from their readers; return the nodes to ask again."""
        changed: dict[Node, None] = {}
        for node in self.rounds:
            for output in node.on("outputs"):
                if output.type.is_any and output.resolved.is_any and self._take_from_readers(output):
                    changed[node] = None
        return list(changed)

    def _take_from_readers(self, output: Attribute) -> bool:
        for reader in self._readers.get(output, ()):
            kind = reader.wanted
            if kind is not None and arriving(kind, output.type) == kind:
                try:
                    output.set_resolved_type(kind)
                except GraphError:
                    continue
                return True
        return False
