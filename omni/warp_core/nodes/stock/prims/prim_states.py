"""Nodes that switch prims off and on, and tell where their axes point."""

from __future__ import annotations

import numpy as np

from ...graph.attribute import GraphError
from ...graph.database import ENABLED, Database
from ...values.attribute_types import parse
from ..declaration import EXEC_IN, EXEC_OUT, attribute, node_type
from .prim_nodes import PRIM_INPUTS, one_target, prim_path

_TOKEN = parse("token")
_SHOWN, _HIDDEN = "inherited", "invisible"
_AXES = {
    "rightVector": (1, 0, 0),
    "leftVector": (-1, 0, 0),
    "upVector": (0, 1, 0),
    "downVector": (0, -1, 0),
    "backwardVector": (0, 0, 1),
    "forwardVector": (0, 0, -1),
}


def _named(db: Database) -> str:
    """The path of the prim that primTarget or prim names. Raises GraphError."""
    path: str = one_target(db, "primTarget") if db.inputs.primTarget else db.inputs.prim
    if not path:
        raise GraphError("no prim is named; set inputs:primTarget, or inputs:prim to its path")
    return path


def _is_active(db: Database, path: str) -> bool:
    store = db.host.store
    is_hidden = store.value_names(path, "visibility") and store.look(path, "visibility")[1] == _HIDDEN
    return store.prim(path).IsActive() and not (is_hidden and path in store.switched)


class SetPrimActive:
    """Switches a prim off or on: in the result its visibility, as `active` of USD has no time samples."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Switch it."""
        path, active, store = _named(db), db.inputs.active, db.host.store
        if not store.prim(path).IsActive():
            raise GraphError(f"{path} is inactive in the scene, and a play cannot load it; set active = true there")
        if not store.prim(path).GetAttribute("visibility"):
            raise GraphError(f"{path} has no attribute visibility, which stands for active; name a prim that is drawn")
        if path in store.switched or not active:
            store.switched.add(path)
            store.write(path, "visibility", _TOKEN, _SHOWN if active else _HIDDEN)
        db.outputs.execOut = ENABLED
        return True


class IsPrimActive:
    """Whether a prim is active, in the scene and by SetPrimActive."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Look."""
        db.node.get_attribute("outputs:active").set_if_changed(_is_active(db, _named(db)))
        return True


class GetPrimDirectionVector:
    """Where the axes of a prim point in the world."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Turn the axes, without scale. Raises GraphError for a prim that is flat along an axis."""
        path = prim_path(db)
        matrix = db.host.store.local_to_world(path)[:3, :3]
        for name, axis in _AXES.items():
            turned = np.asarray(axis) @ matrix
            length = float(np.linalg.norm(turned))
            if not length:
                raise GraphError(f"{path} has a scale of 0, so that its axes point nowhere")
            db.node.get_attribute(f"outputs:{name}").set_if_changed(turned / length)
        return True


_NAMED = {
    "prim": attribute("path", "Path of the prim") | {"optional": True},
    "primTarget": attribute("target", "The prim") | {"optional": True},
}
_SET = EXEC_IN | _NAMED | {"active": attribute("bool", "Whether the prim is active", False)}
_PRIM = PRIM_INPUTS | {"usePath": attribute("bool", "Whether primPath names the prim", True)}
_VECTORS = {name: attribute("double[3]", "A vector of length 1") for name in _AXES}

TYPES = [
    node_type(
        "action.SetPrimActive", 2, SetPrimActive, "Switches a prim off or on", _SET, EXEC_OUT,
        limits="the result has its visibility, as `active` has no time samples; other nodes still find the prim",
    ),
    node_type(
        "nodes.IsPrimActive", 1, IsPrimActive, "Whether a prim is active", _NAMED,
        {"active": attribute("bool", "Whether it is active")}, reads=True,
    ),
    node_type(
        "nodes.GetPrimDirectionVector", 2, GetPrimDirectionVector, "Where the axes of a prim point", _PRIM, _VECTORS,
        reads=True, limits="which axis is forward has no public source: here right, up and backward are x, y and z. "
        "Without transforms that this play has written",
    ),
]  # fmt: skip
