"""Enabling an execution output from a node class, in whichever host it runs.

Kit had two ways: an interface of omni.graph.action (since 105.1), and before it an assignment to the output. The
headless host takes the assignment.
"""

from __future__ import annotations

from typing import Any

from .database import ENABLED, Database


def enable(db: Any, name: str) -> None:
    """Let the evaluator follow `outputs:<name>` after this compute."""
    if isinstance(db, Database):
        db.set_execution_enabled(f"outputs:{name}")
        return
    try:
        from omni.graph.action import get_interface  # type: ignore[import-not-found]
    except ImportError:
        setattr(db.outputs, name, ENABLED)
    else:
        get_interface().set_execution_enabled(f"outputs:{name}")
