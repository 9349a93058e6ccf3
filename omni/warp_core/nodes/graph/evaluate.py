"""When nodes run: the evaluators push, dirty_push (lazy) and execution (Action Graph).

`Evaluator.evaluate()` plays one frame of one graph. What is left open by the public description of OmniGraph is decided
here and in action_graph.py, always the same way:

* Order follows data connections, ties broken by the order in the file. A data cycle is told once, and its last
  connection in that order carries the value of the frame before.
* A node that fails gives no result for the frame. Data nodes after it do not run; other nodes do.
* A node of a lazy graph runs when one of its inputs was set since it last succeeded, or when it depends on the clock or
  on the stage.
* Nodes with the hint compute-on-request run in the evaluation after their request.
"""

from __future__ import annotations

import os
import time
import traceback

from . import chains
from .action_graph import ActionGraph
from .attribute import Attribute, GraphError
from .database import CURRENT, DISABLED, ENABLED, Database, start, stop
from .node_graph import Graph, Node
from .topology import Topology
from .type_resolution import resolve_types

EVALUATORS = ("execution", "push", "dirty_push")
_HERE = os.path.dirname(__file__)
_OURS = (_HERE, os.path.join(os.path.dirname(_HERE), "values"))  # folders of the code that answers to nodes


class Evaluator:
    """Plays one graph, frame by frame."""

    topology: Topology

    def __init__(self, graph: Graph):
        self.graph = graph
        self._databases: dict[Node, Database] = {}
        self._computed: dict[Node, int] = {}
        self._seen: dict[Node, int] = {}
        self._groups: list[chains.Group] = []
        is_action = graph.evaluator == "execution"
        self._actions = ActionGraph(graph, self._compute, self._databases) if is_action else None

    def start(self) -> None:
        """Prepare every node, and the ways between them."""
        for node in self.graph:
            node.graph = node.graph or self.graph
            node.ran = node.is_compound  # there is nothing to run
            if node.type is not None:
                self._databases[node] = Database(node)
            try:
                start(node)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # also sys.exit(), which would end the play without a word
                node.fail(_explain(error))
        self._follow_connections()
        for first, last in self.topology.cycles():
            fed = [a for a in self.topology.wirings[last].inputs if first in {s.node for s in (a.feed, *a.others) if s}]
            names = " and ".join(a.name for a in fed)
            self.graph.host.log.warning(
                last.path,
                f"data cycle: {first.path} also depends on this node; it reads the frame before, "
                f"and in the first frame the value that {names} has beside the connection",
            )
        if self._actions is not None:
            self._warn_unreachable()

    def _follow_connections(self) -> None:
        self.graph.is_changed = False
        self.topology = Topology(self.graph)
        resolve_types(self.topology, _explain)
        if self._actions is not None:
            self._actions.follow(self.topology)
        else:
            chains.finish(self._groups)
            self._groups = chains.in_order(self.topology.order, self._databases)

    def _warn_unreachable(self) -> None:
        for node, wiring in self.topology.wirings.items():
            inputs = wiring.execution_inputs
            if inputs and not node.disabled and not node.is_compound and not any(a.sources for a in inputs):
                names = " or ".join(a.name for a in inputs)
                self.graph.host.log.warning(node.path, f"never runs: nothing is connected to {names}")

    def stop(self) -> None:
        """Release every node."""
        chains.finish(self._groups)
        if self._actions is not None:
            self._actions.stop()
        for node in self.graph:
            stop(node)

    def evaluate(self) -> None:
        """Play one frame."""
        if not self.graph.enabled:
            return
        if self.graph.is_changed:
            self._follow_connections()
        for node in self.graph:
            node.failed = node.disabled
        self._computed.clear()
        if self._actions is not None:
            self._actions.run(self._computed)
        elif self.graph.evaluator == "push":
            self._push()
        else:
            self._dirty_push()

    def _push(self) -> None:
        groups: list[chains.Group] = []
        for nodes, chain in self._groups:
            if chain is not None and chains.replayed(chain):
                groups.append((nodes, chain))
                continue
            for node in nodes:
                if node.requested or node.type is None or not node.type.on_request:
                    self._compute(node)
            groups += chains.learned(nodes, chain)
        self._groups = groups

    def _dirty_push(self) -> None:
        groups: list[chains.Group] = []
        for nodes, chain in self._groups:
            dirty = self._dirty_among(nodes)
            if chain is not None and all(dirty) and chains.replayed(chain):
                self._take_over(nodes)
                groups.append((nodes, chain))
                continue
            ran = [node for node in nodes if self._is_dirty(node) and self._compute(node)]
            if all(dirty):
                groups += chains.learned(nodes, chain)
            else:  # next time, the nodes that changed run as one
                groups += chains.divided(nodes, chain, dirty) if any(dirty) else [(nodes, chain)]
            for node in ran:
                self._seen[node] = _age(node)
        self._groups = groups

    def _dirty_among(self, nodes: list[Node]) -> list[bool]:
        """Tell which nodes of a group will run: those that are dirty, and those that read one of them."""
        dirty: set[Node] = set()
        for node in nodes:
            if self._is_dirty(node) or (len(nodes) > 1 and dirty.intersection(self.topology.wirings[node].sources)):
                dirty.add(node)
        return [node in dirty for node in nodes]

    def _take_over(self, nodes: list[Node]) -> None:
        """Let the inputs of nodes that were replayed take their values, so that the nodes count as up to date."""
        for node in nodes:
            try:
                for attribute in self.topology.wirings[node].inputs:
                    attribute.pull()
            except GraphError as error:
                node.fail(str(error))
            else:
                self._seen[node] = _age(node)

    def _is_dirty(self, node: Node) -> bool:
        kind = node.type
        if kind is None or not node.is_on:
            return False
        if kind.on_request:
            return node.requested
        if kind.uses_time or kind.reads_stage or not node.ran or self._seen.get(node) != _age(node):
            return True
        return any(a.is_behind for a in self.topology.wirings[node].inputs)

    def _compute(self, node: Node, fired: Attribute | None = None) -> bool:
        """Compute one node, which the input `fired` has activated; False when it gave no result."""
        observers = node.host.observers
        if not observers:
            return self._run(node, fired)
        for observer in observers:
            observer.begin((node,))
        try:
            return self._run(node, fired)
        finally:
            for observer in reversed(observers):
                observer.end((node,))

    def _run(self, node: Node, fired: Attribute | None) -> bool:
        if node.disabled or node.type is None or not node.is_on:
            return False
        wiring = self.topology.wirings[node]
        node.failed = ""
        for source in wiring.sources:
            if (source.failed or _has_no_values(source, node)) and (source, node) not in self.topology.back:
                node.failed = f"waits for {source.path}"
                return False
        node.ran, node.requested, was_latent = True, False, node.latent
        self._computed[node] = self._computed.get(node, 0) + 1
        database = CURRENT.database = self._databases[node]
        started = time.perf_counter()
        try:
            for attribute in wiring.chained:
                attribute.pull()
            for attribute in wiring.inputs:
                attribute.pull_one()
            for attribute in wiring.execution_inputs:
                attribute.value = ENABLED if attribute is fired else DISABLED
            for attribute in wiring.execution_outputs:
                attribute.value = DISABLED
            if node.type.cls.compute(database) is False and not node.failed:
                node.fail("compute returned False")
            database.finish()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            node.fail(_explain(error))
        finally:
            CURRENT.database = None
            node.timing.wall_ms += (time.perf_counter() - started) * 1e3
        if node.failed:
            node.latent = was_latent
            return False
        node.succeeded()
        return True


def _has_no_values(source: Node, reader: Node) -> bool:
    """True if `source` is switched off and never ran, so that an output which `reader` takes has no value: warn."""
    if source.ran or source.is_on:
        return False
    for attribute in reader.attributes.values():
        for output in (attribute.feed, *attribute.others):
            if output is not None and output.node is source and output.port == "outputs" and not output.version:
                off = "is switched off and has not run yet"
                reader.warn(f"waits for {output.path}, which {attribute.name} reads: that node {off}")
                return True
    return False


def _age(node: Node) -> int:
    """Return a number that grows whenever an input or a state of the node is set."""
    return sum(a.version for a in node.attributes.values() if a.port != "outputs")


def _explain(error: BaseException) -> str:
    """Return the text for an exception: our own errors as they are, others with the line that raised them."""
    if isinstance(error, GraphError):
        return str(error)
    if isinstance(error, MemoryError):
        size = f" ({error})" if str(error) else ""
        return f"its result does not fit into memory{size}; make fewer elements, or let the play take more: --memory GB"
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if os.path.dirname(frame.filename) not in _OURS]
    last = (outside or frames)[-1]  # the line of the node, not that of the attribute or value it asked for
    text = "".join(traceback.format_exception_only(error)).strip()  # also of an error whose text cannot be had
    return f"{text} ({last.filename}:{last.lineno})"
