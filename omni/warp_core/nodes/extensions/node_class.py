"""Classes of other extensions as this host calls them: which node is computing, and the older form of `compute`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..graph.database import Database
from ..graph.node_graph import GraphError, Node

_computing: ContextVar[Database | None] = ContextVar("computing", default=None)


def computing() -> Database:
    """Return the database of the node that computes now. Raises GraphError outside of a compute."""
    database = _computing.get()
    if database is None:
        raise GraphError("this can be called in compute(db) only")
    return database


@contextmanager
def _during(database: Database) -> Iterator[None]:
    token = _computing.set(database)
    try:
        yield
    finally:
        _computing.reset(token)


def adapt(cls: Any) -> Any:
    """Return a class like `cls` whose `compute` tells `computing()`, and takes one argument."""
    takes_node = len(inspect.signature(cls.compute).parameters) >= 2

    class Adapted(cls):  # type: ignore[misc]
        @staticmethod
        def compute(db: Database) -> Any:
            """Compute as the class does; (context, node) is the form of before databases."""
            with _during(db):
                return cls.compute(context_of(db.node), db.node) if takes_node else cls.compute(db)

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


def context_of(node: Node) -> Context:
    """Return the context of a node."""
    return Context(node)
