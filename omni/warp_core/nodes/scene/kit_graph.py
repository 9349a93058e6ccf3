"""The graph of a node that runs inside Kit, as a graph of this package, for nodes that go back through other nodes.

`work_on_kit_graph` copies the graph as it stands: nodes, types, connections, and the values that Kernel nodes take. The
work runs on the copy. Values that it sets go back to Kit's attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.attribute import Attribute, GraphError
from ..graph.node_graph import Graph, Host, Log, Node
from ..kernel.kernel_node import KernelState
from ..kernel.kit_states import state_at
from ..ogn.ogn_spec import AttributeSpec
from ..stock.node_registry import KERNEL_NAMES
from ..values.attribute_types import AttributeType, TypeNameError, parse
from ..values.attribute_values import ValueTypeError, coerce, zero
from .kit_database import KitDatabase, timeline_of_kit

_COPIED = 1  # the version of a value that came from Kit


def work_on_kit_graph(db: Any, work: Callable[[Any], None]) -> None:
    """Do the work of a node on a copy of its graph in Kit. Raises GraphError."""
    copied = _CopiedGraph(db.node.get_graph())
    node = copied.graph.nodes[str(db.node.get_prim_path())]
    try:
        work(KitDatabase(db, copied.graph.host, node))
    finally:
        copied.give_back()


class _CopiedGraph:
    """A graph of Kit as it stands now. Raises GraphError for a value that a kernel cannot take."""

    def __init__(self, graph: Any):
        host = Host(Log(lambda text: None), timeline_of_kit())
        self.graph = Graph(str(graph.get_path_to_graph()), "push", host)
        self._originals: dict[Attribute, Any] = {}
        for node in graph.get_nodes():
            self._node(node)
        for attribute, original in list(self._originals.items()):  # a source may lie in another graph
            self._connect(attribute, original)
        for node in list(self.graph):
            if isinstance(node.shared_state, KernelState):
                for attribute in node.on("inputs"):
                    self._take(attribute)

    def _node(self, original: Any) -> Node:
        path = str(original.get_prim_path())
        if path not in self.graph.nodes:
            node = Node(path, str(original.get_type_name()), None, self.graph.host)
            node.graph, node.enabled = self.graph, not original.is_disabled()
            node.shared_state = state_at(path) or (KernelState() if node.type_name in KERNEL_NAMES else None)
            if isinstance(node.shared_state, KernelState) and not node.shared_state.works:
                node.failed = "it has no result"
            self.graph.nodes[path] = node
            for attribute in original.get_attributes():
                name, kind = attribute.get_name(), _type_of(attribute)
                spec = None if attribute.is_dynamic() else AttributeSpec(name, kind, zero(kind))
                self._originals[node.add(Attribute(node, name, kind, spec))] = attribute
        return self.graph.nodes[path]

    def _connect(self, attribute: Attribute, original: Any) -> None:
        for source in original.get_upstream_connections():
            found = self._node(source.get_node()).attributes.get(source.get_name())
            if found is not None and found not in attribute.sources:
                attribute.sources.append(found)
                self._connect(found, source)

    def _take(self, attribute: Attribute) -> None:
        """Copy a value of Kit, and those that it comes from."""
        kind = attribute.type
        if attribute.version or not (kind.is_numeric or kind.is_text or kind.is_any):
            return
        value = self._originals[attribute].get()
        try:
            held = None if kind.is_any else coerce(np.array(value) if isinstance(value, np.ndarray) else value, kind)
        except ValueTypeError as error:
            raise GraphError(f"{attribute.path}: {error}") from None
        attribute.value, attribute.version = held, _COPIED
        for source in attribute.sources:
            self._take(source)

    def give_back(self) -> None:
        """Set the values that the work has changed in Kit too."""
        for attribute, original in self._originals.items():
            if attribute.version > _COPIED and not attribute.sources:
                original.set(attribute.value)


def _type_of(attribute: Any) -> AttributeType:
    """Return the type of an attribute of Kit, `any` while it is not resolved."""
    try:
        return parse(str(attribute.get_resolved_type().get_ogn_type_name()))
    except TypeNameError:
        return parse("any")
