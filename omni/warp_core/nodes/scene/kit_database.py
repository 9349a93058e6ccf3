"""A database of Kit with what nodes of this package find in one of the headless host: a `host`, and its spellings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..graph.node_graph import Host, Timeline


class KitDatabase:
    """A database of Kit with a `host`. `node` stands for the node where its own code needs more than Kit's node."""

    def __init__(self, db: Any, host: Host, node: Any = None):
        self._db, self.host = db, host
        self.inputs, self.outputs, self.node = _Inputs(db.inputs), _Outputs(db), node or _Node(db)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def seconds_of_kit() -> float:
    """Return where Kit's timeline stands."""
    return float(_clock().get_current_time())


def timeline_of_kit() -> Timeline:
    """Return Kit's timeline, with its own frames."""
    rate = float(_clock().get_time_codes_per_seconds())
    return Timeline(fps=rate, frame=round(seconds_of_kit() * rate))


def _clock() -> Any:
    from omni.timeline import get_timeline_interface  # type: ignore[import-not-found, import-untyped]

    return get_timeline_interface()


class _Inputs:
    """Inputs whose targets and tokens are texts, as the player gives them."""

    def __init__(self, inputs: Any):
        self._inputs = inputs

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inputs, name)
        return tuple(map(str, value)) if isinstance(value, list) else value


class _Outputs:
    """Outputs that take arrays of any length: Kit wants to know the length first."""

    def __init__(self, db: Any):
        self.__dict__["_db"] = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db.outputs, name)

    def __setattr__(self, name: str, value: Any) -> None:
        outputs = self._db.outputs
        if not name.endswith("_size") and self._is_array(name):
            setattr(outputs, f"{name}_size", len(value))
        setattr(outputs, name, value)

    def _is_array(self, name: str) -> bool:
        kind = self._db.node.get_attribute(f"outputs:{name}").get_resolved_type()
        return str(kind.get_ogn_type_name()).endswith("[]")


class _Node:
    """A node of Kit with the questions that nodes of the player may ask."""

    def __init__(self, db: Any):
        self._db = db

    @property
    def path(self) -> str:
        """The path of the node."""
        return str(self._db.node.get_prim_path())

    def find(self, port: str, name: str) -> None:
        """Return None: no node of ours asks for an attribute that it does not have in Kit."""

    def get_attribute(self, name: str) -> Any:
        """Return an output with its `value`."""
        return SimpleNamespace(value=getattr(self._db.outputs, name.partition(":")[2]))
