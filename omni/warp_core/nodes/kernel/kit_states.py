"""The states of nodes that run inside Kit, by the paths of their prims. Kit hands a state to its own node only.

Optimize and Backward read the programs of Kernel nodes here. A state is here for as long as Kit keeps it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

_states: WeakValueDictionary[str, Any] = WeakValueDictionary()


def note_state(db: Any, state: Any) -> None:
    """Remember the state of a node of Kit. Nodes of the headless host are not noted: they have it themselves."""
    if not hasattr(db, "host"):
        _states[str(db.node.get_prim_path())] = state


def state_at(path: str) -> Any:
    """Return the state of the node at a path, None if no node of this package has run there."""
    return _states.get(path)
