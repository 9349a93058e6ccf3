"""Nodes about their graph: its variables, the prim that it is evaluated for, and graphs below a compound node."""

from __future__ import annotations

import numpy as np

from ...lang.errors import did_you_mean, nearest
from ..graph.attribute import Attribute, GraphError, without_value
from ..graph.database import ENABLED, Database
from ..graph.node_graph import Graph, Node
from ..values.attribute_values import converter
from .declaration import EXEC_IN, EXEC_OUT, execution, node_type


def _graph(node: Node) -> Graph:
    graph = node.get_graph()
    assert graph is not None
    return graph


def variable(node: Node) -> Attribute:
    """Return the variable that `inputs:variableName` names. Raises GraphError."""
    name, graph = node.get_attribute("inputs:variableName").value, _graph(node)
    found = graph.find_variable(name)
    if found is None:
        near = did_you_mean(nearest(name, graph.variables), list(graph.variables))
        raise GraphError(f"the graph {graph.path} has no variable {name!r}{near}")
    return found


class ReadVariable:
    """The value of a variable of the graph."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it. Raises GraphError."""
        source, output = variable(db.node), db.node.get_attribute("outputs:value")
        if output.resolved != source.resolved:
            output.set(source.value, source.resolved)
        else:
            output.set_if_changed(source.value)
        return True

    @staticmethod
    def on_connection_type_resolve(node: Node) -> None:
        """Let the output have the type of the variable."""
        kind = variable(node).resolved
        if not kind.is_any:
            node.get_attribute("outputs:value").set_resolved_type(kind)


class WriteVariable:
    """Gives a variable of the graph a new value."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Write it. Raises GraphError."""
        target, source = variable(db.node), db.node.get_attribute("inputs:value")
        if source.value is None:
            raise without_value(source)
        convert = converter(source.resolved, target.type)
        if convert is None:
            raise GraphError(f"the variable {target.path} is {target.type}; it cannot take {source.resolved}")
        value = convert(source.value)
        if isinstance(value, np.ndarray):
            value = value.copy()  # its node may write over it in the next frame
        if target.type.is_any:
            target.set(value, source.resolved)
        else:
            target.set_if_changed(value)
        db.node.get_attribute("outputs:value").set(value, target.resolved)
        db.outputs.execOut = ENABLED
        return True


class OnVariableChange:
    """Starts a chain when a variable of the graph has changed since the evaluation before."""

    @staticmethod
    def internal_state() -> dict[str, int | None]:
        """The version of the value, None before the first one."""
        return {"version": None}

    @staticmethod
    def compute(db: Database) -> bool:
        """Compare the version with the last one. Raises GraphError."""
        if db.inputs.onlyPlayback and not db.host.timeline.is_playing:
            return True
        version, last = variable(db.node).version, db.shared_state["version"]
        db.shared_state["version"] = version
        if last is not None and version != last:
            db.outputs.changed = ENABLED
        return True


class GraphTarget:
    """The prim that the graph is evaluated for; the graph itself unless it is evaluated for several."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Say which."""
        path = _graph(db.node).outermost.target
        db.node.get_attribute("outputs:primPath").set_if_changed(path)
        return True


class CompoundSubgraph:
    """Stands for the graph below it. Its attributes pass values on, so nothing is left to do."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Do nothing."""
        return True


_NAME = {"variableName": {"type": "token", "description": "Name of the variable"}}
_VALUE = {"value": {"type": "any", "description": "The value"}}
_ONLY_PLAYBACK = {"onlyPlayback": {"type": "bool", "description": "Fire only while playing", "default": True}}
_CHANGED = execution("changed", "Runs when the variable has changed")
_PATH = {"primPath": {"type": "token", "description": "Path of the prim"}}

TYPES = [
    node_type("core.ReadVariable", 2, ReadVariable, "Reads a variable of the graph", _NAME, _VALUE, reads=True),
    node_type(
        "core.WriteVariable",
        2,
        WriteVariable,
        "Writes a variable of the graph",
        EXEC_IN | _NAME | _VALUE,
        EXEC_OUT | _VALUE,
    ),
    node_type(
        "action.OnVariableChange",
        2,
        OnVariableChange,
        "Fires when a variable of the graph has changed",
        _NAME | _ONLY_PLAYBACK,
        _CHANGED,
        reads=True,
    ),
    node_type("nodes.GraphTarget", 1, GraphTarget, "The prim of the graph", {}, _PATH),
    node_type(
        "nodes.CompoundSubgraph",
        1,
        CompoundSubgraph,
        "A graph as a node",
        {},
        {},
        is_compound=True,
        limits="the graph must be a child of the node",
    ),
]
