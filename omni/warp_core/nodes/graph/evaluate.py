"""When nodes run: the evaluators push, dirty_push (lazy) and execution (Action Graph).

`Evaluator.evaluate()` plays one frame of one graph. What is left open by the public description of OmniGraph is decided
here, always the same way:

* Order follows data connections, ties broken by the order in the file. A data cycle is told once, and its last
  connection in that order carries the value of the frame before.
* A node that fails gives no result for the frame. Data nodes after it do not run; other nodes do.
* Action Graph: several connections from one execution output run depth first, in the order of the node paths in the
  file. A data node runs at most once per frame and unchanged inputs; nodes that read the stage run for every consumer.
* A chain that passes `STEP_LIMIT` nodes in one frame is stopped and told.
"""

from __future__ import annotations

import traceback

from .database import DISABLED, ENABLED_AND_PUSH, LATENT_FINISH, LATENT_PUSH, Database, reset_execution, start, stop
from .node_graph import Attribute, Graph, GraphError, Node

STEP_LIMIT = 100_000
EVALUATORS = ("execution", "push", "dirty_push")


def data_order(graph: Graph) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """The nodes, sources first, and the connections (source, target) that close a cycle."""
    order: list[Node] = []
    back: list[tuple[Node, Node]] = []
    state: dict[Node, int] = {}  # 1 while on the stack, 2 when done
    for root in graph:
        if root in state:
            continue
        state[root] = 1
        stack = [(root, iter(graph.sources_of(root)))]
        while stack:
            node, sources = stack[-1]
            source = next(sources, None)
            if source is None:
                state[node] = 2
                order.append(node)
                stack.pop()
            elif state.get(source) == 1:
                back.append((source, node))
            elif source not in state:
                state[source] = 1
                stack.append((source, iter(graph.sources_of(source))))
    return order, back


class Evaluator:
    """Plays one graph, frame by frame."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.order, back = data_order(graph)
        self._back = set(back)
        self._databases = {node: Database(node) for node in graph}
        self._computed: dict[Node, int] = {}
        self._latent: list[Node] = []
        self._step_told = False
        self._targets: dict[Attribute, list[Node]] = {}
        for node in graph:
            for attribute in node.on("inputs"):
                for source in attribute.sources if attribute.type.is_execution else ():
                    self._targets.setdefault(source, []).append(node)
        for first, last in back:
            if first is not last:
                text = f"data cycle: {first.path} also depends on this node; it reads the frame before"
                graph.host.log.warning(last.path, text)
        self._warn_unreachable()

    def _warn_unreachable(self) -> None:
        if self.graph.evaluator != "execution":
            return
        for node in self.graph:
            inputs = [a for a in node.on("inputs") if a.type.is_execution]
            if inputs and not node.disabled and not any(a.sources for a in inputs):
                names = " or ".join(a.name for a in inputs)
                self.graph.host.log.warning(node.path, f"never runs: nothing is connected to {names}")

    def start(self) -> None:
        """Prepare every node."""
        for node in self.graph:
            try:
                start(node)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # also sys.exit(), which would end the play without a word
                node.fail(_explain(error))

    def stop(self) -> None:
        """Release every node."""
        for node in self.graph:
            stop(node)

    def evaluate(self) -> None:
        """Play one frame."""
        for node in self.graph:
            node.failed = node.disabled
        self._computed.clear()
        {"execution": self._execution, "push": self._push, "dirty_push": self._dirty_push}[self.graph.evaluator]()

    def _push(self) -> None:
        for node in self.order:
            self._compute(node)

    def _dirty_push(self) -> None:
        for node in self.order:
            if self._is_dirty(node):
                self._compute(node)

    def _is_dirty(self, node: Node) -> bool:
        if node.type is None or node.type.uses_time or node.type.reads_stage or not node.ran:
            return True
        return any(a.is_behind for a in node.on("inputs") if not a.type.is_execution)

    def _execution(self) -> None:
        """Run what is latent, then every chain from its event node."""
        steps = 0
        starts = self._latent + [n for n in self.graph if n.type and n.type.spec.is_event]
        for first in starts:
            stack = [first]
            while stack:
                node = stack.pop()
                steps += 1
                if steps > STEP_LIMIT:
                    self._tell_limit(node)
                    return
                self._compute_sources(node)
                if self._compute(node):
                    stack += self._enabled(node)

    def _tell_limit(self, node: Node) -> None:
        if not self._step_told:
            self._step_told = True
            node.fail(f"stopped after {STEP_LIMIT} steps in one frame; an execution loop does not end")

    def _enabled(self, node: Node) -> list[Node]:
        """Return the nodes that run next, last first, as they go onto a stack."""
        follow: list[Node] = []
        again = False
        for output in (a for a in node.on("outputs") if a.type.is_execution):
            if output.value == DISABLED:
                continue
            again |= output.value == ENABLED_AND_PUSH
            if output.value == LATENT_PUSH and node not in self._latent:
                self._latent.append(node)
            if output.value == LATENT_FINISH and node in self._latent:
                self._latent.remove(node)
            follow += self._targets.get(output, [])
        return ([node] if again else []) + follow[::-1]

    def _compute_sources(self, node: Node) -> None:
        """Compute the data nodes that `node` depends on, sources first."""
        order: list[Node] = []
        seen = {node}
        stack = [(node, iter(self.graph.sources_of(node)))]
        while stack:
            current, sources = stack[-1]
            source = next(sources, None)
            if source is None:
                stack.pop()
                if current is not node:
                    order.append(current)
            elif source not in seen and not source.is_execution:
                seen.add(source)
                stack.append((source, iter(self.graph.sources_of(source))))
        for source in order:
            behind = any(a.is_behind for a in source.on("inputs"))
            if behind or source not in self._computed or (source.type and source.type.reads_stage):
                self._compute(source)

    def _compute(self, node: Node) -> bool:
        """Compute one node; False when it gave no result."""
        if node.disabled or node.type is None:
            return False
        node.failed = ""
        for source in self.graph.sources_of(node):
            if source.failed and (source, node) not in self._back:
                node.failed = f"waits for {source.path}"
                return False
        node.ran = True
        self._computed[node] = self._computed.get(node, 0) + 1
        try:
            for attribute in node.on("inputs"):
                attribute.pull()
            reset_execution(node)
            if node.type.cls.compute(self._databases[node]) is False and not node.failed:
                node.fail("compute returned False")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            node.fail(_explain(error))
        if node.failed:
            reset_execution(node)
            return False
        node.succeeded()
        return True


def _explain(error: BaseException) -> str:
    """Return the text for an exception: our own errors as they are, others with the line that raised them."""
    if isinstance(error, GraphError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = "".join(traceback.format_exception_only(error)).strip()  # also of an error whose text cannot be had
    return f"{text} ({last.filename}:{last.lineno})"
