"""The node that runs, written down where the process that started the play sees it: see isolation.py."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.node_graph import Node, Observer
from . import child_process


class RunningNode(Observer):
    """Writes down which node runs, where the parent process sees it."""

    def __init__(self) -> None:
        self._frame = 0

    def frame(self, frame: int) -> None:
        """See Observer."""
        self._frame = frame

    def begin(self, nodes: Sequence[Node]) -> None:
        """See Observer."""
        child_process.enter_node(nodes[0].path, self._frame)

    def end(self, nodes: Sequence[Node]) -> None:
        """See Observer."""
        child_process.leave_node()
