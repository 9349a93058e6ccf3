"""All graphs of a scene in the order in which a frame evaluates them: by pipeline stage, then as in the file.

Simulation, pre-render and post-render graphs run once in every frame, in this order. A graph on demand runs only when
`Schedule.evaluate` names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .attribute import Attribute
from .evaluate import Evaluator
from .instances import NODE_LIMIT, copy_for
from .node_graph import STAGES, Graph, Host, Node

ON_DEMAND = STAGES[-1]


class Schedule:
    """Plays all graphs of a scene, frame by frame."""

    def __init__(self, graphs: list[Graph], host: Host):
        self.host = host
        self._copies: dict[Attribute, list[Attribute]] = {}
        self._copied = 0
        played = [each for graph in graphs for each in self._each(graph)]
        self.evaluators = [Evaluator(graph) for graph in sorted(played, key=lambda graph: STAGES.index(graph.stage))]

    def _each(self, graph: Graph) -> Iterator[Graph]:
        """Yield the graph, or its copies where it is evaluated for prims."""
        log = self.host.log
        if graph.stage == ON_DEMAND:
            log.warning(graph.path, "is evaluated on demand, and nothing in a play asks for it, so it does not run")
        if graph.mode == "Standalone" or (graph.mode == "Automatic" and not graph.instances):
            yield graph
            return
        if not graph.instances:
            log.warning(graph.path, "is evaluated for the prims that name it in omniGraphs, and no prim does")
        for number, instance in enumerate(graph.instances):
            self._copied += len(graph.nodes)
            if self._copied > NODE_LIMIT:
                rest = len(graph.instances) - number
                text = f"the graphs have over {NODE_LIMIT} nodes for all prims together; {rest} prims are left out"
                log.error(graph.path, text)
                return
            yield copy_for(graph, instance, self._copies)

    def nodes(self) -> list[Node]:
        """All nodes of all graphs, those of copies too."""
        return [node for evaluator in self.evaluators for node in evaluator.graph]

    def start(self) -> None:
        """Prepare all nodes."""
        for evaluator in self.evaluators:
            evaluator.start()

    def stop(self) -> None:
        """Release all nodes."""
        for evaluator in self.evaluators:
            evaluator.stop()

    def frame(self) -> None:
        """Evaluate a frame: every graph once, except those on demand."""
        self.host.events.advance()
        for evaluator in self.evaluators:
            if evaluator.graph.stage != ON_DEMAND:
                evaluator.evaluate()

    def evaluate(self, path: str) -> None:
        """Evaluate the graph at `path` now, whatever its pipeline stage; all of its copies if it has any."""
        for evaluator in self.evaluators:
            if evaluator.graph.path == path:
                evaluator.evaluate()

    def share(self, attribute: Attribute) -> None:
        """Give the value of an attribute of the scene to the copies of its graph."""
        for copy in self._copies.get(attribute, ()):
            if not copy.sources:
                copy.set_if_changed(attribute.value)
