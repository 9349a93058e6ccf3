"""Chains of Kernel nodes as one graph that runs without Python: captured after a frame, replayed in the next ones.

A chain is a sequence of Kernel nodes that an evaluator runs one after the other. After a frame in which all of them
have run, `Chain.learn` captures their fills, launches and copies. `Chain.replay` then runs a frame: it passes new
numbers and arrays to the recorded launches, and refuses when anything else has changed. The nodes are then evaluated as
ever, and the chain learns again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import omni.warp_core as wp

from ..graph.attribute import Attribute, GraphError
from ..graph.node_graph import Node
from ..values.device_values import DeviceValue
from .chain_capture import Refused, keeps_arrays, read_by_host, record, run_of
from .chain_feeds import Feed
from .diagnostics import show_status
from .feed_finder import FeedFinder
from .kernel_bindings import Binding
from .kernel_node import publish
from .kernel_run import Run

_MOST_LAUNCHES = 1 << 14  # in one graph
_MOST_CAPTURES = 4  # without a replay between them


class Chain:
    """Nodes in the order in which they run. Start with `replay` and `learn`."""

    def __init__(self, nodes: Sequence[Node], databases: Sequence[Any]):
        self.nodes, self._databases = list(nodes), list(databases)
        self.why = ""  # the reason why the chain is not replayed
        self._changed = ""  # what made the last graph useless
        self._graph: Any = None
        self._captures = 0
        self._replays = 0
        self._ms = 0.0
        self._frame = 0
        self._feeds: dict[Any, Feed] = {}
        self._by_host: list[tuple[Any, Run, dict[str, Binding]]] = []
        self._before: dict[Node, None] = {}
        self._keeps_arrays = False
        self._outputs: list[Attribute] = []
        self._edits: list[int] = []
        self._code: dict[str, str] = {}
        self._launches: dict[Node, int] = {}

    @property
    def is_ready(self) -> bool:
        """True if there is a graph to replay."""
        return self._graph is not None

    # -- replaying ----------------------------------------------------------------------------------------------------

    def replay(self) -> bool:
        """Run a frame of all nodes. Returns False if the nodes have to be evaluated instead."""
        if self._graph is None:
            return False
        started = time.perf_counter()
        try:
            self._changed = self._change()
            if self._changed:
                self._graph = None
                return False
            wp.capture_launch(self._graph)
            self._publish()
        except (GraphError, wp.KernelError, TypeError, ValueError) as error:
            self._graph, self._changed = None, str(error)
            if self._keeps_arrays and isinstance(error, wp.KernelError):
                self.nodes[0].fail(str(error))  # another run would advance its arrays again
                return True
            return False  # the evaluation of the nodes finds the one that is wrong, and tells
        for output in self._outputs:
            output.version += 1
            if isinstance(output.held, DeviceValue):
                output.held.forget()
        self._ms += (time.perf_counter() - started) * 1e3
        self._replays += 1
        self._captures = 0
        return True

    def _change(self) -> str:
        """Return what has changed beyond numbers since the capture, "" if the graph still holds."""
        host = self.nodes[0].host
        frame = host.timeline.frame
        if frame < self._frame:
            return "the timeline goes back"
        if host.code is not self._code:
            return "the text of a node changes"
        if failed := next((node for node in self._before if node.failed), None):
            return f"{failed.path} fails"
        if off := next((node for node in self.nodes if not node.is_on), None):
            return f"{off.path} is switched off"
        edited = (node for node, edits in zip(self.nodes, self._edits, strict=True) if node.edits != edits)
        if node := next(edited, None):
            return f"a value of {node.path} is set"
        self._frame = frame
        for feed in self._feeds.values():
            if feed.may_have_changed and not feed.pass_on():
                return f"{feed.attribute.name} of {feed.attribute.node.path} changes in size or kind"
        return ""

    def _publish(self) -> None:
        """Give outputs their values that the host makes, and tell persistent arrays how far they are."""
        for db, run, outputs in self._by_host:
            publish(db, db.per_instance_state, run, outputs)
        if self._by_host:
            self._edits = [node.edits for node in self.nodes]
        if self._keeps_arrays:
            for db in self._databases:
                db.per_instance_state.frame = self._frame

    def finish(self) -> None:
        """Add the costs of all replays to the nodes."""
        for node in self.nodes:
            node.timing.kernel_ms += self._ms / len(self.nodes)
            node.timing.replays += self._replays
            node.timing.launches += self._replays * self._launches.get(node, 0)
            node.timing.launched_because = self.why
        self._ms, self._replays = 0.0, 0

    # -- capturing ----------------------------------------------------------------------------------------------------

    def learn(self) -> list[Chain]:
        """Capture the frame that the nodes have just run; `why` says why not.

        Returns:
            The chains to go on with: this one, or its parts where a node has to be left out.
        """
        if any(node.failed or not node.is_on for node in self.nodes):
            return [self]
        try:
            if self._captures >= _MOST_CAPTURES:
                raise Refused(f"{self._changed} in every frame")
            self._capture()
            self.why = ""
        except Refused as refused:
            self._graph, self.why = None, str(refused)
            if refused.node is not None and len(self.nodes) > 1:
                return self._without(refused.node)
        except (GraphError, RuntimeError, ValueError, TypeError) as error:
            self._graph, self.why = None, str(error)
        self._tell()
        self._edits = [node.edits for node in self.nodes]
        return [self]

    def _without(self, node: Node) -> list[Chain]:
        """The parts before and after a node, and the node alone. They learn in the next frame."""
        at = self.nodes.index(node)
        return self.divided([slice(0, at), slice(at, at + 1), slice(at + 1, None)])

    def divided(self, parts: Sequence[slice]) -> list[Chain]:
        """Return the parts of this chain that are not empty; none of them has a graph yet."""
        self.finish()
        return [Chain(self.nodes[part], self._databases[part]) for part in parts if self.nodes[part]]

    def _tell(self) -> None:
        for db in self._databases:
            status = db.per_instance_state.status
            status.replay = f"launched: {self.why}" if self.why else "replayed"
            show_status(db, status)

    def _capture(self) -> None:
        runs = [run_of(node, db) for node, db in zip(self.nodes, self._databases, strict=True)]
        if sum(len(run.dims) * run.substeps for run in runs) > _MOST_LAUNCHES:
            raise Refused(f"it has more than {_MOST_LAUNCHES} launches in a frame")
        keepers = [node for node, run in zip(self.nodes, runs, strict=True) if keeps_arrays(run)]
        if keepers and len(self.nodes) > 1:
            raise Refused(f"{keepers[0].path} keeps arrays, so it is replayed alone", keepers[0])
        self._keeps_arrays = bool(keepers)
        self._by_host = [
            (db, run, outputs) for db, run in zip(self._databases, runs, strict=True) if (outputs := read_by_host(run))
        ]
        finder = FeedFinder(self.nodes, runs)
        with wp.ScopedCapture(device=self.nodes[0].host.device) as captured:
            for number, (node, run) in enumerate(zip(self.nodes, runs, strict=True)):
                inner = finder.inner(number)
                finder.find(number, inner, record(node, run, inner))
        self._graph, self._feeds, self._before = captured.graph, finder.feeds, finder.before
        self._launches = {node: run.launches for node, run in zip(self.nodes, runs, strict=True)}
        self._captures += 1
        everything = (a for node in self.nodes for a in node.on("outputs") if not a.type.is_execution)
        self._outputs = [attribute for attribute in everything if attribute not in finder.by_host]
        host = self.nodes[0].host
        self._frame, self._code = host.timeline.frame, host.code


def chain_of(nodes: Sequence[Node], database: Callable[[Node], Any]) -> Chain:
    """The chain of nodes that run one after the other, with the `db` of each."""
    return Chain(nodes, [database(node) for node in nodes])
