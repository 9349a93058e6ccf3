"""Event nodes and the clock: where the chains of an Action Graph begin."""

from __future__ import annotations

from ..graph.attribute import GraphError
from ..graph.database import ENABLED, Database
from ..values.attribute_values import Value, same
from .declaration import EXEC_IN, EXEC_OUT, execution, node_type

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


def _rests(db: Database) -> bool:
    """True if the node waits for the timeline to play."""
    return db.inputs.onlyPlayback and not db.host.timeline.is_playing


class OnTick:
    """Starts a chain at every frame, or at every `framePeriod`+1st."""

    @staticmethod
    def internal_state() -> dict[str, bool]:
        """True until the first tick."""
        return {"is_new": True}

    @staticmethod
    def compute(db: Database) -> bool:
        """Tick."""
        if _rests(db):
            return True
        db.state.accumulatedSeconds += db.host.timeline.delta_seconds
        db.state.frameCount += 1
        if db.shared_state["is_new"] or db.state.frameCount > db.inputs.framePeriod:
            _write_time(db)
            db.node.get_attribute("outputs:deltaSeconds").set_if_changed(db.state.accumulatedSeconds)
            db.state.accumulatedSeconds, db.state.frameCount = 0.0, 0
            db.shared_state["is_new"] = False
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
    """Starts a chain once, at the first frame, before all other events."""

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


class OnImpulseEvent:
    """Starts a chain once when `state:enableImpulse` is set."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Fire, and reset the state."""
        if db.state.enableImpulse and not _rests(db):
            db.state.enableImpulse = False
            db.outputs.execOut = ENABLED
        return True


class OnStageEvent:
    """Starts a chain at an event of the stage. In a play, only the starts of playing happen, at the first frame."""

    STARTS = ("OmniGraph Start Play", "Simulation Start Play", "Animation Start Play")

    @staticmethod
    def internal_state() -> dict[str, bool]:
        """True from the second frame on."""
        return {"fired": False}

    @staticmethod
    def compute(db: Database) -> bool:
        """Fire at the first frame."""
        if db.inputs.eventName not in OnStageEvent.STARTS:
            known = ", ".join(OnStageEvent.STARTS)
            db.log_warning(f"the event {db.inputs.eventName!r} does not happen in a play; those that do: {known}")
        elif not db.shared_state["fired"] and not _rests(db):
            db.shared_state["fired"] = True
            db.outputs.execOut = ENABLED
        return True


class SendCustomEvent:
    """Sends an event to the OnCustomEvent nodes of the same name."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Send it; it arrives in the next frame."""
        db.host.events.send(db.inputs.eventName, db.inputs.path)
        db.outputs.execOut = ENABLED
        return True


class OnCustomEvent:
    """Starts a chain when an event of its name was sent in the frame before."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Look whether the event has arrived."""
        path = db.host.events.arrived.get(db.inputs.eventName)
        if path is not None and not _rests(db):
            db.outputs.path = path
            db.outputs.execOut = ENABLED
        return True


class OnObjectChange:
    """Starts a chain when the value of a prim's attribute differs from that of the frame before."""

    @staticmethod
    def internal_state() -> dict[str, Value]:
        """The value, and False before the first one."""
        return {"value": None, "is_known": False}

    @staticmethod
    def compute(db: Database) -> bool:
        """Compare the value with the last one."""
        if _rests(db):
            return True
        path, name = OnObjectChange.watched(db)
        value = db.host.store.look(path, name)[1]
        last = db.shared_state
        if last["is_known"] and not same(last["value"], value):
            db.outputs.propertyName = name
            db.outputs.changed = ENABLED
        last["value"], last["is_known"] = value, True
        return True

    @staticmethod
    def watched(db: Database) -> tuple[str, str]:
        """Return the path of the prim and the name of the attribute. Raises GraphError."""
        path, name = db.inputs.path, db.inputs.name
        if db.inputs.prim:
            path = db.inputs.prim[0]
        elif "." in path:
            path, _, name = path.partition(".")
        if not path or not name:
            raise GraphError("inputs:prim with inputs:name, or inputs:path, must name the attribute of a prim")
        return path, name


class ReadTime:
    """The clock, for graphs without ticks."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read the clock."""
        _write_time(db)
        return True


_TICK = execution("tick", "Runs at the tick")
_ONLY_PLAYBACK = {"onlyPlayback": {"type": "bool", "description": "Fire only while playing", "default": True}}
_ON_TICK_INPUTS = {
    "framePeriod": {"type": "uint", "description": "Frames without a tick between two ticks", "default": 0},
    **_ONLY_PLAYBACK,
}
_ON_TICK_STATE = {
    "accumulatedSeconds": {"type": "double", "description": "Seconds since the last tick"},
    "frameCount": {"type": "uint", "description": "Frames since the last tick"},
}
_EVENT_NAME = {"eventName": {"type": "token", "description": "Name of the event"}}
_STAGE_EVENT = {
    "eventName": {"type": "token", "description": "The event", "default": "Animation Start Play"},
    **_ONLY_PLAYBACK,
}
_OBJECT = {
    "prim": {"type": "target", "description": "The prim to watch", "optional": True},
    "path": {"type": "path", "description": "The attribute to watch, or its prim, where prim is empty"},
    "name": {"type": "token", "description": "The name of the attribute to watch"},
    **_ONLY_PLAYBACK,
}
_CHANGED = execution("changed", "Runs when the value has changed")

TYPES = [
    node_type(
        "action.OnTick",
        2,
        OnTick,
        "Ticks in every frame, with `framePeriod` 1 in every second one, with 2 in every third one",
        _ON_TICK_INPUTS,
        _TICK | _TIME_OUTPUTS,
        time=True,
        state=_ON_TICK_STATE,
    ),
    node_type("action.OnPlaybackTick", 2, OnPlaybackTick, "Ticks while playing", {}, _TICK | _TIME_OUTPUTS, time=True),
    node_type("action.OnLoaded", 2, OnLoaded, "Fires once, in the first frame", {}, EXEC_OUT, time=True, is_first=True),
    node_type(
        "action.OnImpulseEvent",
        3,
        OnImpulseEvent,
        "Fires once when its `state:enableImpulse` is set",
        _ONLY_PLAYBACK,
        EXEC_OUT,
        state={"enableImpulse": {"type": "bool", "description": "Set it to fire once"}},
    ),
    node_type(
        "action.OnStageEvent",
        4,
        OnStageEvent,
        "Fires at an event of the stage",
        _STAGE_EVENT,
        EXEC_OUT,
        time=True,
        limits="only the starts of playing, which come in the first frame",
    ),
    node_type(
        "action.SendCustomEvent",
        2,
        SendCustomEvent,
        "Sends an event to the OnCustomEvent nodes of the same name",
        EXEC_IN | _EVENT_NAME | {"path": {"type": "token", "description": "A path to send with it"}},
        EXEC_OUT,
        limits="no `bundle`",
    ),
    node_type(
        "action.OnCustomEvent",
        3,
        OnCustomEvent,
        "Fires when an event of its name arrives",
        _EVENT_NAME | _ONLY_PLAYBACK,
        EXEC_OUT | {"path": {"type": "token", "description": "The path that came with it"}},
        time=True,
        limits="no `bundle`, no events from outside of the scene",
    ),
    node_type(
        "action.OnObjectChange",
        5,
        OnObjectChange,
        "Fires when an attribute of a prim changes",
        _OBJECT,
        _CHANGED | {"propertyName": {"type": "token", "description": "The name of the attribute"}},
        reads=True,
        limits="attributes only; a change is a difference to the evaluation before",
    ),
    node_type(
        "nodes.ReadTime", 1, ReadTime, "The time and the frame of the play, without ticks", {}, _TIME_OUTPUTS, time=True
    ),
]
