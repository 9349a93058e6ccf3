"""Event nodes and the clock: where the chains of an Action Graph begin."""

from __future__ import annotations

from ..graph.database import ENABLED, Database
from .declaration import EXEC_OUT, node_type

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


_TICK = {"tick": {"type": "execution", "description": "Runs at the tick"}}
_ON_TICK_INPUTS = {
    "framePeriod": {"type": "uint", "description": "Frames to skip between ticks", "default": 0},
    "onlyPlayback": {"type": "bool", "description": "Tick only while playing", "default": True},
}

TYPES = [
    node_type("action.OnTick", 2, OnTick, "Ticks", _ON_TICK_INPUTS, _TICK | _TIME_OUTPUTS, time=True),
    node_type("action.OnPlaybackTick", 1, OnPlaybackTick, "Ticks while playing", {}, _TICK | _TIME_OUTPUTS, time=True),
    node_type("action.OnLoaded", 1, OnLoaded, "Fires once", {}, EXEC_OUT, time=True),
    node_type("nodes.ReadTime", 1, ReadTime, "The clock", {}, _TIME_OUTPUTS, time=True),
]
