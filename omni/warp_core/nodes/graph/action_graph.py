"""The evaluator of Action Graphs: nodes run along execution connections, data nodes when a node needs them.

One evaluation computes the nodes that wait (latent), then starts a chain at every event node. Chains go depth first.
Whatever a graph looks like, an evaluation ends: `STEP_LIMIT` and `VISIT_LIMIT` bound its work, and nothing here calls
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import chains, execution_chains
from .attribute import Attribute
from .chains import Databases
from .database import DISABLED, ENABLED_AND_PUSH, LATENT_FINISH, LATENT_PUSH
from .node_graph import Graph, Node
from .topology import Topology

STEP_LIMIT = 100_000  # steps along execution connections in one evaluation, beyond one for each node
VISIT_LIMIT = 10_000_000  # looks at data nodes in one evaluation
_KEPT = 64  # data nodes upstream of a node that are kept in a list; more are found anew each time


class _Branch:
    """The steps of a chain that are still to do, side by side: inputs to activate, or a node to come back to."""

    __slots__ = ("next", "steps")

    def __init__(self, steps: Sequence[Attribute | Node]):
        self.steps, self.next = steps, 0


class _LimitReached(Exception):
    """An evaluation that takes too long, and the node where it was stopped."""

    def __init__(self, node: Node, why: str):
        super().__init__(why)
        self.node = node


class ActionGraph:
    """Runs one graph along its execution connections.

    `compute(node, fired)` computes a node that the input `fired` has activated, and returns False where the node gave
    no result.
    """

    def __init__(self, graph: Graph, compute: Callable[[Node, Attribute | None], bool], databases: Databases):
        self.graph, self._compute, self._databases = graph, compute, databases
        self._chains = execution_chains.Chains()
        self._latent: dict[Node, None] = {}
        self._upstream: dict[Node, list[Node]] = {}
        self._steps = self._visits = 0
        self._is_told = False

    def follow(self, topology: Topology) -> None:
        """Use these connections from now on."""
        self.topology = topology
        self._upstream.clear()
        self._chains.follow(self.graph, topology, self._find_upstream, self._databases)
        events = [node for node in self.graph if node.type and node.type.is_event]
        self._events = sorted(events, key=lambda node: not (node.type and node.type.is_first))

    def stop(self) -> None:
        """Let the chains of nodes account for their costs."""
        self._chains.finish()

    def run(self, computed: dict[Node, int]) -> None:
        """Play one evaluation. `computed` counts how often each node ran in it."""
        self._steps = self._visits = 0
        due = [node for node in self._events if node.requested or not (node.type and node.type.on_request)]
        try:
            for first in [*self._latent, *due]:
                self._run_chain(first, computed)
        except _LimitReached as limit:
            if not self._is_told:
                self._is_told = True
                limit.node.fail(str(limit))

    def _run_chain(self, first: Node, computed: dict[Node, int]) -> None:
        stack = [_Branch((first,))]
        while stack:
            branch = stack[-1]
            step = branch.steps[branch.next]
            branch.next += 1
            if branch.next == len(branch.steps):
                stack.pop()
            node, fired = (step, None) if isinstance(step, Node) else (step.node, step)
            self._count_step(node)
            if node.is_compound and fired is not None:
                self._push(stack, [fired] if node.is_on else [])
                continue
            chain = self._chains.starting_at(node)
            if chain is not None and self._replay(chain, computed):
                if not any(member.failed for member in chain.nodes):
                    self._go_on(chain.nodes[-1], stack)
                continue
            self._compute_sources(node, computed)
            if self._compute(node, fired):
                self._chains.ran(node)
                self._go_on(node, stack)

    def _replay(self, chain: Any, computed: dict[Node, int]) -> bool:
        """Run a chain of nodes as one. Returns False if they have to run one by one."""
        for member in chain.nodes:
            self._compute_sources(member, computed)
        if not chains.replayed(chain):
            return False
        for member in chain.nodes[1:]:
            self._count_step(member)
        for member in chain.nodes:
            computed[member] = computed.get(member, 0) + 1
        return True

    def _count_step(self, node: Node) -> None:
        self._steps += 1
        if self._steps > STEP_LIMIT + len(self.graph.nodes):
            raise _LimitReached(
                node, f"stopped after {self._steps - 1} steps in one frame; an execution loop does not end"
            )

    def _push(self, stack: list[_Branch], enabled: list[Attribute]) -> None:
        for output in reversed(enabled):
            if output in self.topology.targets:
                stack.append(_Branch(self.topology.targets[output]))

    def _go_on(self, node: Node, stack: list[_Branch]) -> None:
        """Put onto the stack what the computed node asks for with its execution outputs."""
        enabled = []
        again = False
        for output in self.topology.wirings[node].execution_outputs:
            state = output.value
            if state == LATENT_PUSH:
                node.latent = True
            elif state != DISABLED:
                again |= state == ENABLED_AND_PUSH
                if state == LATENT_FINISH:
                    node.latent = False
                enabled.append(output)
        if node.latent:
            self._latent[node] = None
        else:
            self._latent.pop(node, None)
        if again:
            stack.append(_Branch((node,)))
        self._push(stack, enabled)

    def _compute_sources(self, node: Node, computed: dict[Node, int]) -> None:
        """Compute the data nodes that `node` depends on, sources first.

        A node runs again only if its inputs have changed; those that read the stage run every time.
        """
        if not self.topology.wirings[node].sources:
            return
        order = self._upstream.get(node)
        if order is None:
            order = self._find_upstream(node)
            if len(order) <= _KEPT:
                self._upstream[node] = order
        self._visits += len(order)
        if self._visits > VISIT_LIMIT:
            raise _LimitReached(node, f"stopped after {VISIT_LIMIT} looks at data nodes in one frame; split the graph")
        for source in order:
            if source not in computed or self._may_have_changed(source):
                self._compute(source, None)

    def _may_have_changed(self, node: Node) -> bool:
        wiring = self.topology.wirings[node]
        reads_stage = node.type is not None and node.type.reads_stage
        return reads_stage or bool(wiring.chained) or any(a.is_behind for a in wiring.inputs)

    def _find_upstream(self, node: Node) -> list[Node]:
        """Return the data nodes that `node` depends on, sources first."""
        order: list[Node] = []
        seen = {node}
        stack = [(node, self.topology.sources_of(node))]
        while stack:
            current, sources = stack[-1]
            source = next(sources, None)
            if source is None:
                stack.pop()
                if current is not node:
                    order.append(current)
            elif source not in seen and not source.is_execution:
                seen.add(source)
                stack.append((source, self.topology.sources_of(source)))
        return order
