"""Classes of other extensions as this host calls them: the node that computes, and the older form of `compute`."""

from __future__ import annotations

import inspect
from typing import Any

from ..graph.database import CURRENT, Database
from ..graph.node_graph import Node


def computing() -> Database:
    """Return the database of the node that computes now. Raises RuntimeError outside of a compute."""
    if CURRENT.database is None:
        raise RuntimeError("this can be called in compute(db) only: no node is being computed")
    return CURRENT.database


def adapt(cls: Any) -> Any:
    """Return a class whose `compute` takes a database, for one that takes (context, node); others as they are."""
    if len(inspect.signature(cls.compute).parameters) < 2:
        return cls

    class Adapted(cls):  # type: ignore[misc]
        @staticmethod
        def compute(db: Database) -> Any:
            """Compute as the class does."""
            return cls.compute(Context(db.node), db.node)

    Adapted.__name__, Adapted.__qualname__, Adapted.__module__ = cls.__name__, cls.__qualname__, cls.__module__
    return Adapted


class Context:
    """The `context` argument of older node classes: the clock of the node's graph."""

    def __init__(self, node: Node):
        self._line = node.host.timeline

    def get_time(self) -> float:
        """Return the seconds on the timeline."""
        return self._line.time

    def get_elapsed_time(self) -> float:
        """Return the seconds since the frame before."""
        return self._line.delta_seconds

    def get_frame(self) -> float:
        """Return the frame."""
        return float(self._line.frame)

    def get_is_playing(self) -> bool:
        """Return whether the timeline plays."""
        return self._line.is_playing

    def get_time_since_start(self) -> float:
        """Return the seconds since the play began."""
        return self._line.elapsed
