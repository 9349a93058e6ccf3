"""Nodes that read whole prims into bundles: every attribute with a value, and where the prim is.

An attribute that has not changed stays the same object in the bundle from frame to frame, so that later nodes see what
changed. The inputs that turn this tracking on in Kit have no effect here: it is always on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ...graph.attribute import GraphError
from ...graph.database import Database
from ...graph.node_graph import NodeType
from ...values.attribute_types import AttributeType, parse
from ...values.attribute_values import Value, same
from ...values.bundles import EMPTY, Bundle, Item, frozen, item, prims_bundle
from ...values.wildcards import Wildcards
from ..declaration import node_type
from .bundle_nodes import dynamic_names, take
from .prim_nodes import PRIM_INPUTS, one_target, prim_path

_REST = ":default"  # ends the names of what a posed mesh has in its rest pose
GRAPH_TYPES = frozenset({"OmniGraph", "OmniGraphNode", "ComputeGraph", "ComputeNode", "Output"})


def timecode(db: Database) -> float | None:
    """Return the time code to read at, None for now."""
    given: float = db.inputs.usdTimecode
    return None if math.isnan(given) else given


def graph_path(db: Database) -> str:
    """Return the path of the graph that a node is in."""
    return db.node.path.rpartition("/")[0]


class PrimReader:
    """Bundles of prims, made from those of the last time."""

    def __init__(self) -> None:
        self._last: dict[str, Bundle] = {}
        self._states: dict[str, tuple] = {}  # of each prim: what decides its attributes, and which of them may vary
        self._bundle = EMPTY

    def read(self, db: Database, paths: Iterable[str], names: str, posed_by: str = "") -> Bundle:
        """Return the bundle of prims, of the attributes that fit `names`; the one before if nothing changed.

        `posed_by` names the input by which the node asks for meshes as their skeletons pose them, "" for the rest pose.
        Raises GraphError.
        """
        prims = {path: self._prim(db, path, names, posed_by) for path in dict.fromkeys(paths)}
        unchanged = list(prims) == list(self._last) and all(self._last[path] is prim for path, prim in prims.items())
        self._last = prims
        if not unchanged or self._bundle is EMPTY:
            self._bundle = prims_bundle(list(prims.values()))
        return self._bundle

    def read_one(self, db: Database, path: str, names: str, posed_by: str = "") -> Bundle:
        """Return the bundle of one prim."""
        return self.read(db, [path], names, posed_by).children["prim0"]

    def _prim(self, db: Database, path: str, patterns: str, posed_by: str) -> Bundle:
        store, time, last = db.host.store, timecode(db), self._last.get(path, EMPTY)
        if time is None:
            store.note_read(graph_path(db), path)
            store.note_use(path, "points")  # of all that a bundle has, what a graph moves
        items, names = self._unchanged(db, path, time, (patterns, posed_by))
        for name in names:
            kind, value = store.look(path, name, time)
            items[name] = _item(last, name, kind, value, store.interpolation(path, name))
        if posed_by:
            _pose(db, path, time, items, last, posed_by)
        for name, kind_name, value in _derived(db, path, time, items):
            items[name] = _item(last, name, parse(kind_name), value, "")
        if len(items) == len(last.attributes) and all(last.attributes.get(n) is i for n, i in items.items()):
            return last
        return Bundle(items)

    def _unchanged(
        self, db: Database, path: str, time: float | None, choice: tuple[str, str]
    ) -> tuple[dict[str, Item], list[str]]:
        """Return the attributes that need no reading, and the names of the others."""
        store = db.host.store
        state = (store.changes_of(path) if time is None else 0, time, choice, _wants_box(db))
        known, varying = self._states.get(path, ((), []))
        if known == state and path in self._last:
            return dict(self._last[path].attributes), varying
        fits = Wildcards(choice[0]).fits
        names = [name for name in store.value_names(path) if fits(name)]
        self._states[path] = (state, store.varying(path, names) if time is None else [])
        return {}, names


def _item(last: Bundle, name: str, kind: AttributeType, value: Value, interpolation: str) -> Item:
    """Return an attribute, the same object as last time if nothing about it changed."""
    before = last.attributes.get(name)
    if before is not None and before.type == kind and same(before.value, value):
        old = before.metadata.get("interpolation")
        if interpolation == (old.value if old else ""):
            return before
    metadata = {"interpolation": item("token", interpolation)} if interpolation else {}
    return Item(kind, frozen(value), metadata)


def _pose(db: Database, path: str, time: float | None, items: dict[str, Item], last: Bundle, posed_by: str) -> None:
    """Give a prim the values of its pose; those of the rest pose get names that end with `:default`."""
    store = db.host.store
    try:
        posed = store.posed.of(path, time)
    except GraphError as error:
        raise GraphError(f"{error}; set inputs:{posed_by} to false to read the rest pose") from None
    for name in posed.stale if posed is not None else ():
        items.pop(name, None)
    for name, (kind, value) in posed.values.items() if posed is not None else ():
        if name in items:
            interpolation = store.interpolation(path, name)
            rest_kind, rest = store.look(path, name, time)
            items[f"{name}{_REST}"] = _item(last, f"{name}{_REST}", rest_kind, rest, interpolation)
            items[name] = _item(last, name, kind, value, interpolation)


def _wants_box(db: Database) -> bool:
    box = db.node.find("inputs", "computeBoundingBox")
    return box is not None and bool(box.value)


def _derived(db: Database, path: str, time: float | None, items: dict[str, Item]) -> Iterator[tuple[str, str, Any]]:
    """Yield what a bundle has besides the attributes of its prim."""
    store = db.host.store
    yield "sourcePrimPath", "token", path
    yield "sourcePrimType", "token", str(store.prim(path).GetTypeName())
    yield "worldMatrix", "matrixd[4]", store.local_to_world(path, time)
    if _wants_box(db):
        posed = items["points"].value if f"points{_REST}" in items else None
        low, high, matrix = store.local_box(path, posed)
        yield "bboxMinCorner", "pointd[3]", low
        yield "bboxMaxCorner", "pointd[3]", high
        yield "bboxTransform", "matrixd[4]", matrix


def search(db: Database, roots: tuple[str, ...], path_pattern: str, type_pattern: str) -> list[str]:
    """Return the prims below `roots`, or below "/", that fit both patterns. Graphs and nodes are left out."""
    path_fits, type_fits = Wildcards(path_pattern).fits, Wildcards(type_pattern or "*").fits
    found: dict[str, None] = {}
    for root in roots or ("/",):
        for prim in db.host.store.prims.below(root):
            kind, path = str(prim.GetTypeName()), str(prim.GetPath())
            if kind not in GRAPH_TYPES and path_fits(path) and type_fits(kind):
                found[path] = None
    return list(found)


class _Reading:
    """A node that reads prims; its subclasses say which."""

    @staticmethod
    def internal_state() -> PrimReader:
        """What the node read last."""
        return PrimReader()


def _skel(db: Database) -> str:
    return "applySkelBinding" if db.inputs.applySkelBinding else ""


class ReadPrimsV2(_Reading):
    """Prims as a bundle with one child for each: `prims`, or those below them that fit `pathPattern`."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read them."""
        paths = db.inputs.prims
        if db.inputs.pathPattern.strip():
            paths = search(db, paths, db.inputs.pathPattern, db.inputs.typePattern)
        else:
            type_fits = Wildcards(db.inputs.typePattern or "*").fits
            paths = [path for path in paths if type_fits(str(db.host.store.prim(path).GetTypeName()))]
        db.outputs.primsBundle = db.shared_state.read(db, paths, db.inputs.attrNamesToImport, _skel(db))
        return True


class ReadPrims(_Reading):
    """Prims as a bundle; `useFindPrims` decides between `prims` and those below them that fit the patterns."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read them."""
        paths = db.inputs.prims
        if db.inputs.useFindPrims:
            paths = search(db, paths, db.inputs.pathPattern, db.inputs.typePattern)
        db.outputs.primsBundle = db.shared_state.read(db, paths, db.inputs.attrNamesToImport, _skel(db))
        return True


class ReadPrimsBundle(_Reading):
    """Prims as a bundle, named by targets or by paths."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read them."""
        paths = db.inputs.primPaths if db.inputs.usePaths else db.inputs.prims
        db.outputs.primsBundle = db.shared_state.read(db, paths, db.inputs.attrNamesToImport)
        return True


class ReadPrimBundle(_Reading):
    """One prim as a bundle that has its attributes."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it."""
        db.outputs.primBundle = db.shared_state.read_one(db, prim_path(db), db.inputs.attrNamesToImport)
        return True


class ReadPrim(_Reading):
    """One prim, named by a target, as a bundle that has its attributes."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it."""
        db.outputs.primBundle = db.shared_state.read_one(db, one_target(db, "prim"), db.inputs.attrNamesToImport)
        return True


class ReadPrimAttributes(_Reading):
    """The attributes of a prim: those for which the node has dynamic outputs, and all of them as a bundle."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read them."""
        path = prim_path(db)
        bundle = db.shared_state.read_one(db, path, db.inputs.attrNamesToImport)
        db.outputs.primBundle = bundle
        absent = []
        for name, output in dynamic_names(db.node, "outputs").items():
            if name in bundle.attributes:
                take(db, output, bundle.attributes[name])
            else:
                absent.append(f"{output} gets no value: {_why_not_read(db, path, name)}")
        if absent:
            db.log_warning("; ".join(absent))
        return True


def _why_not_read(db: Database, path: str, name: str) -> str:
    """Return why a prim's bundle lacks an attribute."""
    try:
        db.host.store.look(path, name, timecode(db))
    except GraphError as error:
        return str(error)
    return f"inputs:attrNamesToImport leaves {name} out; write it there too, or *"


_TIME = {"usdTimecode": {"type": "timecode", "description": "When to read; NaN is now", "default": "nan"}}
_NAMES = {
    "attrNamesToImport": {"type": "string", "description": "Patterns of attribute names to read", "default": "*"},
    "computeBoundingBox": {"type": "bool", "description": "Whether to add the bounds", "default": False},
}
_PRIMS = {"prims": {"type": "target", "description": "The prims", "optional": True}}
_SKEL = {
    "applySkelBinding": {
        "type": "bool",
        "description": "Whether to read points and normals as skeletons and blend shapes pose them",
        "default": False,
    }
}
_UNUSED = {
    "enableChangeTracking": {"type": "bool", "description": "No effect: changes are tracked", "default": False},
    "enableBundleChangeTracking": {"type": "bool", "description": "No effect: changes are tracked", "default": False},
    "_debugStamp": {"type": "int", "description": "No effect", "default": 0},
}


def _patterns(path: str) -> dict[str, dict]:
    return {
        "pathPattern": {"type": "string", "description": "Patterns of prim paths to search for", "default": path},
        "typePattern": {"type": "string", "description": "Patterns of prim types", "default": "*"},
    }


_BUNDLE = {"primsBundle": {"type": "bundle", "description": "One child bundle for each prim"}}
_ONE = {"primBundle": {"type": "bundle", "description": "The attributes of the prim"}}
_FIND = {"useFindPrims": {"type": "bool", "description": "Whether to search below the prims", "default": False}}
_PATHS = {
    "primPaths": {"type": "token[]", "description": "Paths of the prims, where usePaths is set", "optional": True},
    "usePaths": {"type": "bool", "description": "Whether primPaths names the prims", "default": False},
}
_ONE_PRIM = {"prim": {"type": "target", "description": "The prim"}}


def _reader(name: str, version: int, cls: type, inputs: dict, outputs: dict) -> NodeType:
    return node_type(
        f"nodes.{name}", version, cls, str(cls.__doc__).rstrip("."), _NAMES | _TIME | inputs, outputs, reads=True
    )


TYPES = [
    _reader("ReadPrimsV2", 1, ReadPrimsV2, _PRIMS | _patterns("") | _SKEL | _UNUSED, _BUNDLE),
    _reader("ReadPrims", 3, ReadPrims, _PRIMS | _FIND | _patterns("*") | _SKEL | _UNUSED, _BUNDLE),
    _reader("ReadPrimsBundle", 3, ReadPrimsBundle, _PRIMS | _PATHS, _BUNDLE),
    _reader("ReadPrimBundle", 6, ReadPrimBundle, PRIM_INPUTS, _ONE),
    _reader("ReadPrim", 9, ReadPrim, _ONE_PRIM, _ONE),
    _reader("ReadPrimAttributes", 3, ReadPrimAttributes, PRIM_INPUTS, _ONE),
]
