"""Nodes that steer the flow of an Action Graph: which way it goes, how often, and when.

Loops are in loop_nodes.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable

from ..graph.database import ENABLED, Database
from ..graph.node_graph import NodeType
from .declaration import EXEC_IN, EXEC_OUT, execution, node_type

_NUMBERED = re.compile(r"outputs:output(\d{1,9})")


def fired(db: Database, name: str) -> bool:
    """True if the execution input `name` made the node run."""
    return db.get_execution_enabled(f"inputs:{name}")


class Branch:
    """Goes one of two ways."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Look at the condition."""
        if db.inputs.condition:
            db.outputs.execTrue = ENABLED
        else:
            db.outputs.execFalse = ENABLED
        return True


class Gate:
    """Lets the flow through while it is open; `toggle` opens and closes it."""

    @staticmethod
    def internal_state() -> dict[str, bool | None]:
        """True if the gate is open, None before the first run."""
        return {"is_open": None}

    @staticmethod
    def compute(db: Database) -> bool:
        """Toggle the gate, or try to pass it."""
        state = db.shared_state
        if state["is_open"] is None:
            state["is_open"] = not db.inputs.startClosed
        if fired(db, "toggle"):
            state["is_open"] = not state["is_open"]
        elif state["is_open"]:
            db.outputs.exit = ENABLED
        return True


class Once:
    """Goes one way the first time, and the other way afterwards."""

    @staticmethod
    def internal_state() -> dict[str, bool]:
        """True if it ran since the last reset."""
        return {"ran": False}

    @staticmethod
    def compute(db: Database) -> bool:
        """Reset, or choose the way."""
        state = db.shared_state
        if fired(db, "reset"):
            state["ran"] = False
        elif state["ran"]:
            db.outputs.after = ENABLED
        else:
            state["ran"] = True
            db.outputs.once = ENABLED
        return True


class FlipFlop:
    """Goes two ways in turn."""

    @staticmethod
    def internal_state() -> dict[str, bool]:
        """True if `a` is next."""
        return {"is_a": True}

    @staticmethod
    def compute(db: Database) -> bool:
        """Choose the way."""
        is_a = db.shared_state["is_a"]
        db.shared_state["is_a"] = not is_a
        db.outputs.isA = is_a
        db.set_execution_enabled("outputs:a" if is_a else "outputs:b")
        return True


class Counter:
    """Counts how often the flow came by since the last reset."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Reset, or count and go on."""
        db.state.count = 0 if fired(db, "reset") else db.state.count + 1
        db.outputs.count = db.state.count
        if not fired(db, "reset"):
            db.outputs.execOut = ENABLED
        return True


def _numbered_outputs(db: Database) -> list[str]:
    """Return the execution outputs output0, output1, ... in the order of their numbers."""
    state, attributes = db.shared_state, db.node.attributes
    if state["count"] != len(attributes):
        found = [
            (int(match[1]), name)
            for name, attribute in attributes.items()
            if attribute.type.is_execution and (match := _NUMBERED.fullmatch(name))
        ]
        state["names"], state["count"] = [name for _, name in sorted(found)], len(attributes)
    return state["names"]


class Multigate:
    """Goes a different way each time: output0, output1, ... and again from the start."""

    @staticmethod
    def internal_state() -> dict:
        """The names of the outputs, among how many attributes they were found, and the next one."""
        return {"names": [], "count": -1, "next": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Reset, or choose the way."""
        state, names = db.shared_state, _numbered_outputs(db)
        if fired(db, "reset"):
            state["next"] = 0
            return True
        db.set_execution_enabled(names[state["next"] % len(names)])
        state["next"] = (state["next"] + 1) % len(names)
        return True


class Multisequence:
    """Goes all ways one after the other: each chain ends before the next begins."""

    @staticmethod
    def internal_state() -> dict:
        """The names of the outputs, among how many attributes they were found, and the next one."""
        return {"names": [], "count": -1, "next": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Start with the first way, or come back for the next one."""
        return _next_of(db, _numbered_outputs(db))


class Sequence:
    """Goes two ways one after the other."""

    @staticmethod
    def internal_state() -> dict[str, int]:
        """The number of the next way."""
        return {"next": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Start with the first way, or come back for the second one."""
        return _next_of(db, ["outputs:a", "outputs:b"])


def _next_of(db: Database, names: list[str]) -> bool:
    number = 0 if fired(db, "execIn") else db.shared_state["next"]
    db.shared_state["next"] = number + 1
    if number + 1 < len(names):
        db.set_execution_enabled_and_pushed(names[number])
    elif number < len(names):
        db.set_execution_enabled(names[number])
    return True


class SwitchToken:
    """Goes the way `outputN` whose token `branchN` equals the value; the first one of several."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Compare the tokens."""
        value, attributes = db.inputs.value, db.node.attributes
        for name, attribute in attributes.items():
            if name.startswith("inputs:branch") and attribute.type.is_text and attribute.value == value:
                output = attributes.get(name.replace("inputs:branch", "outputs:output", 1))
                if output is not None and output.type.is_execution:
                    db.set_execution_enabled(output.name)
                    break
        return True


def _pass_when_all_came(db: Database, value: Hashable) -> None:
    """Go on when as many executions came with the same value as the input has connections."""
    state = db.shared_state
    if state["value"] != value:
        state["value"], state["count"] = value, 0
    state["count"] += 1
    if state["count"] >= db.node.get_attribute("inputs:execIn").get_upstream_connection_count():
        state["count"] = 0
        db.outputs.execOut = ENABLED


class SyncGate:
    """Goes on when all its executions came with the same value."""

    @staticmethod
    def internal_state() -> dict:
        """The value, and how many came with it."""
        return {"value": None, "count": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Count."""
        db.outputs.syncValue = db.inputs.syncValue
        _pass_when_all_came(db, db.inputs.syncValue)
        return True


class RationalTimeSyncGate:
    """Goes on when all its executions came with the same fraction."""

    @staticmethod
    def internal_state() -> dict:
        """The fraction, and how many came with it."""
        return {"value": None, "count": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Count."""
        above, below = db.inputs.rationalTimeNumerator, db.inputs.rationalTimeDenominator
        db.outputs.rationalTimeNumerator, db.outputs.rationalTimeDenominator = above, below
        divisor = math.gcd(above, below) if below else 1
        _pass_when_all_came(db, (above // divisor, below // divisor))
        return True


class Delay:
    """Goes on after some seconds of the timeline, at the earliest in the next frame."""

    @staticmethod
    def internal_state() -> dict[str, int]:
        """The frame in which the wait began."""
        return {"since": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Begin to wait, anew if it waits already, or look at the clock."""
        line, state = db.host.timeline, db.shared_state
        if fired(db, "execIn"):
            state["since"] = line.frame
            if not db.get_latent_state():
                db.start_latent_state()
        elif (line.frame - state["since"]) / line.fps >= db.inputs.duration * (1.0 - 1e-12):
            db.end_latent_state()
            db.outputs.finished = ENABLED
        return True


class Countdown:
    """Counts frames after it was activated: `tick` in every `period`th, `finished` in the last one."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Begin, anew if it counts already, or count a frame."""
        duration, period = max(db.inputs.duration, 1), max(db.inputs.period, 1)
        count = 0 if fired(db, "execIn") else db.state.count + 1
        if count == 0:
            if not db.get_latent_state():
                db.start_latent_state()
        else:
            db.outputs.tickValue = count
            if count % period == 0:
                db.outputs.tick = ENABLED
            if count >= duration:
                db.end_latent_state()
                db.outputs.finished = ENABLED
        db.outputs.alpha = count / duration
        db.state.count = -1 if count >= duration else count
        return True


def _flow(
    name: str, cls: type, about: str, inputs: dict, outputs: dict, state: dict | None = None, limits: str = ""
) -> NodeType:
    return node_type(f"action.{name}", 2, cls, about, inputs, outputs, state=state, limits=limits)


_RESET = execution("reset", "Starts from the beginning")
_CONDITION = {"condition": {"type": "bool", "description": "Which way to go"}}
_TRUE_FALSE = execution("execTrue", "Runs if it is true") | execution("execFalse", "Runs if it is false")
_GATE = (
    execution("enter", "Wants to pass")
    | execution("toggle", "Opens or closes the gate")
    | {"startClosed": {"type": "bool", "description": "Whether the gate is closed at first"}}
)
_TWO_WAYS = execution("a", "Runs first") | execution("b", "Runs second")
_COUNT = {"count": {"type": "int", "description": "How often the flow came by"}}
_IS_A = {"isA": {"type": "bool", "description": "Whether a runs"}}
_OUTPUT0 = execution("output0", "The first way; output1 and so on are dynamic")
_SYNC = {"syncValue": {"type": "uint64", "description": "The value that all have in common"}}
_FRACTION = {
    "rationalTimeNumerator": {"type": "int64", "description": "Above the line"},
    "rationalTimeDenominator": {"type": "uint64", "description": "Below the line"},
}
_SECONDS = {"duration": {"type": "double", "description": "Seconds to wait"}}
_FINISHED = execution("finished", "Runs at the end")
_COUNTDOWN = {
    "duration": {"type": "int", "description": "Frames to count", "default": 5},
    "period": {"type": "int", "description": "Frames from tick to tick", "default": 1},
}
_PROGRESS = {
    "tickValue": {"type": "int", "description": "Frames so far"},
    "alpha": {"type": "float", "description": "Progress from 0 to 1"},
}
_TICKS = execution("tick", "Runs in every period") | _FINISHED | _PROGRESS
_COUNTED = {"count": {"type": "int", "description": "Frames so far, -1 while it does not count", "default": -1}}

TYPES = [
    _flow("Branch", Branch, "Goes one of two ways, by a condition", EXEC_IN | _CONDITION, _TRUE_FALSE),
    _flow(
        "Gate",
        Gate,
        "Lets executions through while it is open; `toggle` opens and closes it",
        _GATE,
        execution("exit", "Runs after the gate"),
    ),
    _flow(
        "Once",
        Once,
        "Goes one way the first time, and another one afterwards",
        EXEC_IN | _RESET,
        execution("once", "Runs the first time") | execution("after", "Runs later"),
    ),
    _flow("FlipFlop", FlipFlop, "Goes two ways in turn, one for each execution", EXEC_IN, _TWO_WAYS | _IS_A),
    _flow("Counter", Counter, "Counts executions since the last reset", EXEC_IN | _RESET, EXEC_OUT | _COUNT, _COUNT),
    _flow(
        "Multigate",
        Multigate,
        "Goes one way for each execution: output0, output1, ... and again from the start",
        EXEC_IN | _RESET,
        _OUTPUT0,
    ),
    _flow(
        "Multisequence", Multisequence, "Goes all ways one after the other: output0, output1, ...", EXEC_IN, _OUTPUT0
    ),
    _flow("Sequence", Sequence, "Goes two ways in one execution, one after the other", EXEC_IN, _TWO_WAYS),
    _flow(
        "SwitchToken",
        SwitchToken,
        "Goes the way `outputN` whose token `branchN` equals the value",
        EXEC_IN | {"value": {"type": "token", "description": "The token to look for"}},
        {},
    ),
    _flow(
        "SyncGate",
        SyncGate,
        "Goes on when all its executions came with the same value",
        EXEC_IN | _SYNC,
        EXEC_OUT | _SYNC,
    ),
    _flow(
        "RationalTimeSyncGate",
        RationalTimeSyncGate,
        "Goes on when all its executions came with the same fraction",
        EXEC_IN | _FRACTION,
        EXEC_OUT | _FRACTION,
    ),
    _flow(
        "Delay",
        Delay,
        "Waits some seconds",
        EXEC_IN | _SECONDS,
        _FINISHED,
        limits="the timeline counts, not the wall clock",
    ),
    _flow(
        "Countdown",
        Countdown,
        "Counts frames: `tick` in every `period`th one, `finished` in the last one",
        EXEC_IN | _COUNTDOWN,
        _TICKS,
        _COUNTED,
    ),
]
