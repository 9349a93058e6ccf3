"""Fixed Time: a clock that goes on by one frame at each compute while the timeline plays."""

from __future__ import annotations

import math
from typing import Any

from ..graph.attribute import GraphError


class ClockState:
    """The number of computes so far."""

    def __init__(self) -> None:
        self.ticks = 0


def tick(db: Any) -> bool:
    """Compute Fixed Time. Raises GraphError."""
    state, inputs = db.per_instance_state, db.inputs
    if not (math.isfinite(inputs.fps) and inputs.fps > 0):
        raise GraphError(f"inputs:fps is {inputs.fps}; it must be above 0")
    db.outputs.time = min(inputs.start + state.ticks / inputs.fps, max(inputs.start, inputs.end))
    host = getattr(db, "host", None)
    state.ticks += host is None or host.timeline.is_playing
    return True
