"""Nodes that write bundles back to prims: attributes, topology and new prims.

Three ways lead from the prims of a bundle to places on the stage: to where they were read, to one target for each
root among their source paths, or scattered below every target. Whatever a node made and its bundle no longer has, the
node removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ...graph.attribute import GraphError
from ...graph.database import ENABLED, Database
from ...values.attribute_values import same
from ...values.bundles import Bundle, Item, indices_of, prims_of
from ...values.wildcards import Wildcards
from ..declaration import EXEC_IN, EXEC_OUT, node_type
from .bundle_nodes import dynamic_names
from .prim_nodes import one_target
from .prim_readers import graph_path

# What a bundle has besides the attributes of its prim.
_BOX = ("bboxMinCorner", "bboxMaxCorner", "bboxTransform", "bboxCenter", "bboxSize")
DERIVED = frozenset(("sourcePrimPath", "sourcePrimType", "worldMatrix", "_debugStamp", *_BOX))

Place = tuple[str, Bundle]


def source_path(prim: Bundle) -> str:
    """Return the path of the prim that a bundle was read from, "" for one that a node made."""
    path = prim.value("sourcePrimPath", "")
    return path if isinstance(path, str) and path.startswith("/") and path != "/" else ""


def _is_below(path: str, root: str) -> bool:
    return path.startswith(f"{root}/")


def places_at_sources(prims: list[Bundle]) -> Iterator[Place]:
    """Yield each prim where it was read. Raises GraphError."""
    for prim in prims:
        if not source_path(prim):
            raise GraphError("a prim of the bundle has no sourcePrimPath; use WritePrimsV2 with a target for it")
        yield source_path(prim), prim


def places_at_targets(prims: list[Bundle], targets: tuple[str, ...]) -> Iterator[Place]:
    """Yield a target for each root among the source paths, and places below the target for the prims below the root.

    Raises GraphError for more roots than targets.
    """
    root = ""
    count = 0
    for prim in sorted(prims, key=lambda prim: source_path(prim).split("/")):
        path = source_path(prim)
        if not (path and root and _is_below(path, root)):
            root, count = path, count + 1
        if count <= len(targets):
            yield targets[count - 1] + path[len(root) :], prim
    if count > len(targets):
        raise GraphError(
            f"the bundle has {count} prims that are not below others, and inputs:prims names {len(targets)}; "
            "name one target for each of them"
        )


def places_below_targets(prims: list[Bundle], targets: tuple[str, ...]) -> Iterator[Place]:
    """Yield every prim below every target, at its source path."""
    for target in targets:
        for i, prim in enumerate(prims):
            yield target.rstrip("/") + (source_path(prim) or f"/prim{i}"), prim


class PrimWriter:
    """What a node has written: the attributes of each prim, and which of them it made."""

    def __init__(self) -> None:
        self._last: dict[str, dict[str, Item]] = {}
        self._made: dict[str, set[str]] = {}

    def write(self, db: Database, places: Iterable[Place], names: str) -> None:
        """Write prims to their places, the attributes that fit `names`, and remove what has gone. Raises GraphError."""
        fits = Wildcards(names).fits
        written: set[str] = set()
        for path, prim in places:
            written.add(path)
            self._prim(db, path, prim, fits)
        for path in [p for p in self._last if p not in written]:
            del self._last[path]
            if db.host.store.prims.is_created(path):
                db.host.store.remove_prim(path)
            else:
                self._remove_attributes(db, path, self._made.pop(path, set()))

    def _prim(self, db: Database, path: str, prim: Bundle, fits: Callable[[str], bool]) -> None:
        store = db.host.store
        if path not in self._last or not store.prims.exists(path):
            store.prims.define(path, str(prim.value("sourcePrimType", "")))
        last, made = self._last.setdefault(path, {}), self._made.setdefault(path, set())
        names = [name for name in prim.attributes if name not in DERIVED and fits(name)]
        if "points" in names and "extent" in names:
            names.remove("extent")  # it goes with the points, and is computed from them
        for name in names:
            found = prim.attributes[name]
            if last.get(name) is not found:
                if self._attribute(db, path, name, found):
                    made.add(name)
                if found.type.is_array and indices_of(name) not in prim.attributes:
                    store.drop_indices(path, name, len(found.held))
                last[name] = found
        self._remove_attributes(db, path, made.difference(prim.attributes))
        made.intersection_update(prim.attributes)
        if not any(name.startswith("xformOp") for name in names):
            _move(db, path, prim.value("worldMatrix"))

    def _attribute(self, db: Database, path: str, name: str, found: Item) -> bool:
        """Write one attribute; True if it had to be made."""
        store = db.host.store
        interpolation = found.metadata.get("interpolation")
        made: bool = store.ensure_attribute(path, name, found.type, interpolation.value if interpolation else "")
        if not made and store.value_names(path, name):
            kind, value = store.look(path, name)
            if kind == found.type and same(value, found.value):
                store.has_equal = True
                return False
        store.write(path, name, found.type, found.value)
        return made

    def _remove_attributes(self, db: Database, path: str, names: set[str]) -> None:
        for name in names:
            db.host.store.remove_attribute(path, name)
            self._last.get(path, {}).pop(name, None)


def _move(db: Database, path: str, world: np.ndarray | None) -> None:
    """Put a prim where `world` says, by a transform of its own."""
    store = db.host.store
    if world is None or not store.is_xformable(path):
        return
    present, above = store.local_to_world(path), store.local_to_world(path.rpartition("/")[0] or "/")
    if np.allclose(present, world, rtol=1e-9, atol=1e-9):
        return
    try:
        local = world @ np.linalg.inv(above)
    except np.linalg.LinAlgError:
        db.log_warning(f"{path} stays where it is: the transform of the prim above it cannot be inverted")
        return
    store.move(path, local)


def selected(db: Database) -> list[Bundle]:
    """Return the prims of the bundle that fit the patterns of the node. Raises GraphError."""
    contents = db.inputs.primsBundle
    if not db.node.get_attribute("inputs:primsBundle").sources:
        raise GraphError("inputs:primsBundle is not connected; connect it to a bundle of prims")
    path_fits, type_fits = Wildcards(db.inputs.pathPattern).fits, Wildcards(db.inputs.typePattern).fits
    return [
        prim
        for prim in prims_of(contents.value)
        if path_fits(source_path(prim)) and type_fits(str(prim.value("sourcePrimType", "")))
    ]


class WritePrims:
    """Writes the prims of a bundle where they were read."""

    @staticmethod
    def internal_state() -> PrimWriter:
        """What the node has written."""
        return PrimWriter()

    @staticmethod
    def compute(db: Database) -> bool:
        """Write them."""
        db.shared_state.write(db, places_at_sources(selected(db)), db.inputs.attrNamesToExport)
        db.outputs.execOut = ENABLED
        return True


class WritePrimsV2:
    """Writes the prims of a bundle to targets, or below them."""

    @staticmethod
    def internal_state() -> PrimWriter:
        """What the node has written."""
        return PrimWriter()

    @staticmethod
    def compute(db: Database) -> bool:
        """Write them."""
        prims, targets = selected(db), db.inputs.prims
        if not targets:
            places = list(places_at_sources(prims))
        else:
            for target in targets:
                db.host.store.require_no_loop(graph_path(db), target)
            place = places_below_targets if db.inputs.scatterUnderTargets else places_at_targets
            places = list(place(prims, targets))
        db.shared_state.write(db, places, db.inputs.attrNamesToExport)
        db.outputs.execOut = ENABLED
        return True


class WritePrim:
    """Writes the connected dynamic inputs of the node to the attributes of a prim that have their names."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Write them."""
        path = one_target(db, "prim")
        for name, full in dynamic_names(db.node, "inputs").items():
            source = db.node.get_attribute(full)
            if source.value is None:
                continue
            if source.sources:
                db.host.store.write(path, name, source.resolved, source.value)
            else:
                db.log_warning(
                    f"{full} is not connected, so it is not written; connect it to a node, such as a constant"
                )
        db.outputs.execOut = ENABLED
        return True


_PATTERNS = {
    "attrNamesToExport": {"type": "string", "description": "Patterns of attribute names to write", "default": "*"},
    "pathPattern": {"type": "string", "description": "Patterns of source paths to write", "default": "*"},
    "typePattern": {"type": "string", "description": "Patterns of prim types to write", "default": "*"},
}
_INPUTS = EXEC_IN | {
    "primsBundle": {
        "type": "bundle",
        "description": "The prims: a child bundle for each",
        "metadata": {"allowMultiInputs": "1"},
    },
    "usdWriteBack": {"type": "bool", "description": "Ignored here: all writes are results", "default": True},
}
_TARGETS = {
    "prims": {"type": "target", "description": "Where to write", "optional": True},
    "scatterUnderTargets": {"type": "bool", "description": "Whether to write below each target", "default": False},
    "layerIdentifier": {"type": "token", "description": "Ignored here: results go to one layer", "default": ""},
}

_ONE = EXEC_IN | {
    "prim": {"type": "target", "description": "The prim"},
    "usdWriteBack": _INPUTS["usdWriteBack"],
    "layerIdentifier": _TARGETS["layerIdentifier"],
}

TYPES = [
    node_type("nodes.WritePrim", 4, WritePrim, "Writes attributes of a prim", _ONE, EXEC_OUT),
    node_type(
        "nodes.WritePrims",
        2,
        WritePrims,
        "Writes the prims of a bundle to where they were read",
        _INPUTS | _PATTERNS,
        EXEC_OUT,
    ),
    node_type(
        "nodes.WritePrimsV2",
        1,
        WritePrimsV2,
        "Writes the prims of a bundle to targets, or to where they were read",
        _INPUTS | _PATTERNS | _TARGETS,
        EXEC_OUT,
    ),
]
