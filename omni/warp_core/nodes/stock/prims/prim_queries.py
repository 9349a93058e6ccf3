"""Nodes that find prims, and tell paths and places of prims."""

from __future__ import annotations

from pxr import Usd

from ...graph.attribute import GraphError
from ...graph.database import Database
from ...values.wildcards import Wildcards
from ..declaration import node_type
from .prim_nodes import PRIM_INPUTS, goes_by_path, one_target, prim_path
from .prim_readers import GRAPH_TYPES


def _related(prim: Usd.Prim, name: str) -> list[str]:
    relationship = prim.GetRelationship(name) if name else None
    return [str(path) for path in relationship.GetTargets()] if relationship else []


class FindPrims:
    """The prims below a root that fit: name, type, path, attributes and relationships."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Search."""
        roots = db.inputs.rootPrim or ((db.inputs.rootPrimPath,) if db.inputs.rootPrimPath else ("/",))
        prims = db.host.store.prims
        for root in roots:
            if not prims.exists(root):
                raise GraphError(f"there is no prim {root} to search below")
        found = (
            p for root in roots for p in prims.below(root, recursive=db.inputs.recursive) if FindPrims._fits(db, p)
        )
        paths = tuple(dict.fromkeys(str(prim.GetPath()) for prim in found))
        db.node.get_attribute("outputs:primPaths").set_if_changed(paths)
        db.node.get_attribute("outputs:prims").set_if_changed(paths)
        return True

    @staticmethod
    def _fits(db: Database, prim: Usd.Prim) -> bool:
        inputs, kind = db.inputs, str(prim.GetTypeName())
        if inputs.ignoreSystemPrims and kind in GRAPH_TYPES:
            return False
        wanted = set(inputs.requiredTarget) | ({inputs.requiredRelationshipTarget} - {""})
        targets = _related(prim, inputs.requiredRelationship)
        return (
            prim.GetName().startswith(inputs.namePrefix)
            and Wildcards(inputs.type or "*").fits(kind)
            and Wildcards(inputs.pathPattern or "*").fits(str(prim.GetPath()))
            and all(prim.HasAttribute(name) for name in inputs.requiredAttributes.split())
            and (not inputs.requiredRelationship or bool(targets))
            and (not (inputs.requiredRelationship and wanted) or bool(wanted & set(targets)))
        )


class GetPrimPath:
    """The path of a prim, as a token."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Tell it."""
        path = one_target(db, "prim")
        for name in ("primPath", "path"):
            db.node.get_attribute(f"outputs:{name}").set_if_changed(path)
        return True


class GetPrimPaths:
    """The paths of prims, as tokens."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Tell them."""
        db.node.get_attribute("outputs:primPaths").set_if_changed(db.inputs.prims)
        return True


class GetPrimsAtPath:
    """Paths as targets."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Tell them."""
        given = db.inputs.path.value
        paths = (given,) if isinstance(given, str) else tuple(given or ())
        db.node.get_attribute("outputs:prims").set_if_changed(tuple(path for path in paths if path))
        return True


class GetPrims:
    """Those prims of a bundle whose paths and types fit, as a bundle."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Choose them."""
        path_fits, type_fits = (Wildcards(text or "*").fits for text in (db.inputs.pathPattern, db.inputs.typePattern))
        wanted = set(db.inputs.prims)
        inverse, root = db.inputs.inverse, db.inputs.bundle.bundle
        out = db.outputs.bundle.bundle
        out.clear_contents()
        for child in root.get_child_bundles():
            prim = child.freeze()
            path = str(prim.value("sourcePrimPath", ""))
            fits = path in wanted if wanted else path_fits(path) and type_fits(str(prim.value("sourcePrimType", "")))
            if fits != inverse:
                out.copy_child_bundle(child)
        return True


class GetCameraPosition:
    """The position of a camera in the world; without that camera, of the first camera of the stage."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it."""
        store = db.host.store
        path = db.inputs.primPath if goes_by_path(db) else prim_path(db)
        if not store.prims.exists(path):
            first = store.prims.first_camera()
            if first is None:
                raise GraphError(f"there is no camera {path}, and the stage has no other one")
            db.log_warning(f"there is no camera {path or '(no path)'}; the node uses {first}")
            path = first
        db.node.get_attribute("outputs:position").set_if_changed(store.local_to_world(path)[3, :3].copy())
        return True


def _text(about: str, default: str = "", kind: str = "token") -> dict:
    return {"type": kind, "description": about, "default": default}


def _flag(about: str) -> dict:
    return {"type": "bool", "description": about, "default": False}


def _targets(about: str) -> dict:
    return {"type": "target", "description": about, "optional": True}


_FIND = {
    "ignoreSystemPrims": _flag("Leave out graphs and nodes"),
    "namePrefix": _text("How names begin"),
    "pathPattern": _text("Patterns of paths"),
    "recursive": _flag("Search at all depths, not only the children"),
    "requiredAttributes": _text("Names of attributes that the prims have", kind="string"),
    "requiredRelationship": _text("Relationship that the prims have"),
    "requiredRelationshipTarget": _text("A target of that relationship"),
    "requiredTarget": _targets("Targets of that relationship"),
    "rootPrim": _targets("Where to search"),
    "rootPrimPath": _text("Path of where to search"),
    "type": _text("Patterns of prim types", "*"),
}
_PRIMS_OUT = {"prims": {"type": "target", "description": "The prims"}}
_PATHS_OUT = {"primPaths": {"type": "token[]", "description": "The paths of the prims"}}
_PATH_OUT = {name: {"type": "token", "description": "The path of the prim"} for name in ("primPath", "path")}
_AT_PATH = {"path": {"type": ["token", "token[]", "path", "string"], "description": "A path, or paths"}}
_GET_PRIMS = {
    "bundle": {"type": "bundle", "description": "Prims"},
    "prims": _targets("The prims to keep"),
    "pathPattern": _text("Patterns of paths to keep", "*"),
    "typePattern": _text("Patterns of types to keep", "*"),
    "inverse": _flag("Keep the others"),
}
_CAMERA = PRIM_INPUTS | {"usePath": {"type": "bool", "description": "Whether primPath names it", "default": True}}
_POSITION = {"position": {"type": "pointd[3]", "description": "Position in the world"}}

TYPES = [
    node_type(
        "nodes.FindPrims",
        2,
        FindPrims,
        "Finds the prims below a root that fit in name, type, path, attributes and relationships",
        _FIND,
        _PRIMS_OUT | _PATHS_OUT,
        reads=True,
    ),
    node_type(
        "nodes.GetPrimPath", 3, GetPrimPath, "The path of a prim, as a token", {"prim": _targets("The prim")}, _PATH_OUT
    ),
    node_type(
        "nodes.GetPrimPaths",
        1,
        GetPrimPaths,
        "The paths of prims, as tokens",
        {"prims": _targets("The prims")},
        _PATHS_OUT,
    ),
    node_type("nodes.GetPrimsAtPath", 1, GetPrimsAtPath, "Paths as targets", _AT_PATH, _PRIMS_OUT),
    node_type(
        "nodes.GetPrims",
        2,
        GetPrims,
        "The prims of a bundle whose paths and types fit",
        _GET_PRIMS,
        {"bundle": _GET_PRIMS["bundle"]},
    ),
    node_type(
        "ui_nodes.GetCameraPosition",
        2,
        GetCameraPosition,
        "The position of a camera in the world",
        _CAMERA,
        _POSITION,
        reads=True,
    ),
]
