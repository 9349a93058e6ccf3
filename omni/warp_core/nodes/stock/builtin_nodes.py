"""The nodes of omni.graph that this host brings along: ticks, time, constants, reading and writing prims.

They are described here in the form of a `.ogn` file rather than in files of their own. Kit registers every `.ogn` that
it finds in an extension, and has these nodes already. `node_types()` lists them; `ALIASES` are other names under which
scenes know them.
"""

from __future__ import annotations

import math

from ..graph.database import ENABLED, Database
from ..graph.node_graph import GraphError, NodeType
from ..ogn.ogn_spec import from_dict

_TIME = {
    "time": "double",
    "frame": "double",
    "deltaSeconds": "double",
    "timeSinceStart": "double",
    "absoluteSimTime": "double",
    "isPlaying": "bool",
}
_DESCRIPTIONS = {
    "time": "Time on the timeline in seconds",
    "frame": "Frame on the timeline",
    "deltaSeconds": "Seconds since the frame before",
    "timeSinceStart": "Seconds since the play began",
    "absoluteSimTime": "Seconds of simulation since the play began",
    "isPlaying": "Whether the timeline is playing",
}
_TIME_OUTPUTS = {name: {"type": kind, "description": _DESCRIPTIONS[name]} for name, kind in _TIME.items()}
_PRIM_INPUTS = {
    "prim": {"type": "target", "description": "The prim", "optional": True},
    "primPath": {"type": "token", "description": "Path of the prim, where usePath is set", "optional": True},
    "usePath": {"type": "bool", "description": "Whether primPath names the prim", "default": False},
}
_EXEC_IN = {"execIn": {"type": "execution", "description": "Runs the node"}}
_EXEC_OUT = {"execOut": {"type": "execution", "description": "Runs after the node"}}


def _write_time(db: Database) -> None:
    line = db.host.timeline
    values = {
        "time": line.time,
        "frame": float(line.frame),
        "deltaSeconds": line.delta_seconds,
        "timeSinceStart": line.elapsed,
        "absoluteSimTime": line.elapsed,
        "isPlaying": line.is_playing,
    }
    for name, value in values.items():
        db.node.get_attribute(f"outputs:{name}").set_if_changed(value)


class OnTick:
    """Starts a chain at every frame, or at every `framePeriod`+1st."""

    @staticmethod
    def internal_state() -> dict[str, int]:
        """Frames to let pass before the next tick."""
        return {"wait": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Tick."""
        if db.inputs.onlyPlayback and not db.host.timeline.is_playing:
            return True
        state = db.shared_state
        if state["wait"] > 0:
            state["wait"] -= 1
            return True
        state["wait"] = max(0, db.inputs.framePeriod)
        _write_time(db)
        db.outputs.tick = ENABLED
        return True


class OnPlaybackTick:
    """Starts a chain at every frame while the timeline plays."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Tick."""
        if db.host.timeline.is_playing:
            _write_time(db)
            db.outputs.tick = ENABLED
        return True


class OnLoaded:
    """Starts a chain once, at the first frame."""

    @staticmethod
    def internal_state() -> dict[str, bool]:
        """True if it has fired."""
        return {"fired": False}

    @staticmethod
    def compute(db: Database) -> bool:
        """Fire once."""
        if not db.shared_state["fired"]:
            db.shared_state["fired"] = True
            db.outputs.execOut = ENABLED
        return True


class ReadTime:
    """The clock, for graphs without ticks."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read the clock."""
        _write_time(db)
        return True


class Constant:
    """Holds a value in `inputs:value`; connections start at that input."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Nothing to do: readers take the input itself."""
        return True


def _prim_path(db: Database) -> str:
    """The path of the one prim a node works on. Raises GraphError."""
    if db.inputs.usePath:
        path = db.inputs.primPath
        if not path:
            raise GraphError("inputs:usePath is set but inputs:primPath is empty")
        return path
    targets = db.inputs.prim
    if len(targets) != 1:
        raise GraphError(f"inputs:prim must name one prim, it names {len(targets) or 'none'}")
    return targets[0]


class ReadPrimAttribute:
    """The value of a prim's attribute; arrays come as views of USD's memory."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it: what this play wrote last, or at `usdTimecode` what the stage holds."""
        path, name = _prim_path(db), db.inputs.name
        if not name:
            raise GraphError("inputs:name is empty; it names the attribute to read")
        timecode = db.inputs.usdTimecode
        kind, value = db.host.store.read(path, name, None if math.isnan(timecode) else timecode)
        output = db.node.get_attribute("outputs:value")
        if output.resolved != kind or output.value is not value:
            output.set(value, kind)
        return True


class WritePrimAttribute:
    """Writes a value onto a prim's attribute: a time sample of the result, and what later reads see."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Write it."""
        path, name = _prim_path(db), db.inputs.name
        source = db.node.get_attribute("inputs:value")
        if not name:
            raise GraphError("inputs:name is empty; it names the attribute to write")
        if source.value is None:
            raise GraphError("inputs:value has no value; connect it or set it")
        db.host.store.write(path, name, source.resolved, source.value)
        db.outputs.execOut = ENABLED
        return True


class GetPrimLocalToWorldTransform:
    """The transform of a prim to the world, in USD's row-vector convention."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it."""
        matrix = db.host.store.local_to_world(_prim_path(db))
        db.node.get_attribute("outputs:localToWorldTransform").set_if_changed(matrix)
        return True


def _node(
    name: str, version: int, cls: type, about: str, inputs: dict, outputs: dict, reads: bool = False, time: bool = False
) -> NodeType:
    body = {"description": about, "version": version, "language": "Python"}
    body |= {"inputs": inputs, "outputs": outputs}
    return NodeType(from_dict({f"omni.graph.{name}": body}, name), cls, reads_stage=reads, uses_time=time)


_TICK = {"tick": {"type": "execution", "description": "Runs at the tick"}}
_ON_TICK_INPUTS = {
    "framePeriod": {"type": "uint", "description": "Frames to skip between ticks", "default": 0},
    "onlyPlayback": {"type": "bool", "description": "Tick only while playing", "default": True},
}
_READ_INPUTS = _PRIM_INPUTS | {
    "name": {"type": "token", "description": "Attribute to read"},
    "usdTimecode": {"type": "timecode", "description": "When to read it; NaN is now", "default": "nan"},
}
_WRITE_INPUTS = (
    _EXEC_IN
    | _PRIM_INPUTS
    | {
        "name": {"type": "token", "description": "Attribute to write"},
        "usdWriteBack": {"type": "bool", "description": "Ignored here: all writes are results", "default": False},
        "value": {"type": "any", "description": "The value"},
    }
)
_CONSTANTS = {
    "Bool": "bool",
    "Double": "double",
    "Float": "float",
    "Int": "int",
    "Int64": "int64",
    "String": "string",
    "Token": "token",
    "UInt": "uint",
    **{f"{word}{n}": f"{word.lower()}[{n}]" for word in ("Double", "Float", "Int") for n in (2, 3, 4)},
    "Color3f": "colorf[3]",
    "Point3f": "pointf[3]",
}
ALIASES = {
    "omni.graph.action_nodes.OnTick": "omni.graph.action.OnTick",
    "omni.graph.action_nodes.OnLoaded": "omni.graph.action.OnLoaded",
    "omni.graph.action_nodes.OnPlaybackTick": "omni.graph.action.OnPlaybackTick",
}


def node_types() -> list[NodeType]:
    """All node types of this file."""
    value = {"type": "any", "description": "The value"}
    matrix = {"type": "matrixd[4]", "description": "Transform to the world"}
    types = [
        _node("action.OnTick", 2, OnTick, "Ticks", _ON_TICK_INPUTS, _TICK | _TIME_OUTPUTS, time=True),
        _node("action.OnPlaybackTick", 1, OnPlaybackTick, "Ticks while playing", {}, _TICK | _TIME_OUTPUTS, time=True),
        _node("action.OnLoaded", 1, OnLoaded, "Fires once", {}, _EXEC_OUT, time=True),
        _node("nodes.ReadTime", 1, ReadTime, "The clock", {}, _TIME_OUTPUTS, time=True),
        _node("nodes.ReadPrimAttribute", 3, ReadPrimAttribute, "Reads", _READ_INPUTS, {"value": value}, reads=True),
        _node("nodes.WritePrimAttribute", 2, WritePrimAttribute, "Writes", _WRITE_INPUTS, _EXEC_OUT),
        _node(
            "nodes.GetPrimLocalToWorldTransform",
            2,
            GetPrimLocalToWorldTransform,
            "Reads a transform",
            _PRIM_INPUTS,
            {"localToWorldTransform": matrix},
            reads=True,
        ),
    ]
    for name, kind in _CONSTANTS.items():
        about = {"type": kind, "description": "The value", "metadata": {"outputOnly": "1"}}
        types.append(_node(f"nodes.Constant{name}", 1, Constant, "A constant", {"value": about}, {}))
    return types
