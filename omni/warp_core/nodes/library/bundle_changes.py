"""Bundle Inspect Changes: passes a bundle on, and tells what changed since the frame before."""

from __future__ import annotations

from typing import Any

from ..graph.bundle_exchange import input_bundle, output_bundle
from ..values.bundles import EMPTY, Bundle, changed_names

TOPOLOGY = frozenset(
    {"faceVertexCounts", "faceVertexIndices", "holeIndices", "curveVertexCounts", "type", "basis", "wrap"}
    | {"sourcePrimType", "sourcePrimPath", "subdivisionScheme"}
)


class SeenBundle:
    """The bundle of the last frame."""

    def __init__(self) -> None:
        self.bundle = EMPTY


def inspect(db: Any) -> None:
    """Compute Bundle Inspect Changes."""
    state, now = db.per_instance_state, input_bundle(db, "bundle")
    names = _changed(state.bundle, now)
    other_prims = list(state.bundle.children) != list(now.children)
    db.outputs.topologyChanged = other_prims or not TOPOLOGY.isdisjoint(names)
    db.outputs.attrsChanged = " ".join(names)
    output_bundle(db, "bundle", now)
    state.bundle = now


def _changed(before: Bundle, now: Bundle) -> list[str]:
    """Return the names of all attributes that changed, of the bundle and of its prims, each once."""
    names = dict.fromkeys(changed_names(before, now))
    for child in {**before.children, **now.children}:
        names |= dict.fromkeys(changed_names(before.children.get(child, EMPTY), now.children.get(child, EMPTY)))
    return list(names)
