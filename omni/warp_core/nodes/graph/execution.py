"""Enabling execution outputs from a node class, in whichever host it runs.

Kit has two ways: an interface of omni.graph.action (since 105.1), and before it an assignment to the output. The
headless host takes both; `get_interface` is Kit's interface there, and here the same methods of the database.
"""

from __future__ import annotations

from typing import Any

from .database import CURRENT, ENABLED, Database


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


def get_interface() -> Any:
    """Return what steers the execution from the node that is being computed.

    It has `set_execution_enabled`, `set_execution_enabled_and_pushed`, `get_execution_enabled`, `start_latent_state`,
    `end_latent_state` and `get_latent_state`. Raises RuntimeError outside of a compute.
    """
    if CURRENT.database is not None:
        return CURRENT.database
    try:
        from omni.graph.action import get_interface as of_kit
    except ImportError:
        raise RuntimeError("get_interface() is for compute(db): no node is being computed") from None
    return of_kit()
