"""Nodes that take bundles apart and put them together."""

from __future__ import annotations

from ...graph.attribute import GraphError, without_value
from ...graph.database import Database
from ...graph.node_graph import Node
from ...values.attribute_values import converter, unconverted
from ...values.bundles import EMPTY, Bundle, Item, kept
from ...values.device_values import known
from ..declaration import node_type


def dynamic_names(node: Node, port: str) -> dict[str, str]:
    """Return the names of the dynamic attributes of a port, by what they are called in a bundle."""
    return {a.base_name: a.name for a in node.on(port) if a.is_dynamic() and not a.type.is_execution}


def take(db: Database, name: str, found: Item) -> None:
    """Give an output the value of a bundle's attribute. Raises GraphError for types that do not fit."""
    output = db.node.get_attribute(name)
    convert = converter(found.type, output.type)
    if convert is None:
        raise GraphError(f"{name} is {output.type}, and the bundle has a {found.type} of that name")
    value = found.held if convert is unconverted else convert(found.value)
    if known(output.held) is not known(value) or output.resolved != found.type:
        output.set(value, found.type)


class ExtractPrim:
    """One prim of a bundle of prims: that with the path, or nothing."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Look for it."""
        wanted = db.inputs.prim[0] if db.inputs.prim else db.inputs.primPath
        prims = db.inputs.prims.value.children.values()
        db.outputs.primBundle = next((p for p in prims if p.value("sourcePrimPath") == wanted), EMPTY)
        return True


class ExtractBundle:
    """The attributes of a bundle as outputs, for which the node has dynamic attributes."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Take it apart."""
        bundle = db.inputs.bundle.value
        db.outputs.passThrough = bundle
        for name, output in dynamic_names(db.node, "outputs").items():
            if name in bundle.attributes:
                take(db, output, bundle.attributes[name])
        return True


class ExtractAttribute:
    """One attribute of a bundle as an output."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Take it."""
        name, bundle = db.inputs.attrName, db.inputs.data.value
        if name not in bundle.attributes:
            names = ", ".join(bundle.attributes) or "none"
            raise GraphError(f"the bundle has no attribute {name!r}; its attributes are {names}")
        take(db, "outputs:output", bundle.attributes[name])
        return True


class InsertAttribute:
    """A bundle with one attribute more."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Put it in."""
        source = db.node.get_attribute("inputs:attrToInsert")
        if source.held is None:
            raise without_value(source)
        added = Item(source.resolved, kept(source.held))
        db.outputs.data = db.inputs.data.value.having({db.inputs.outputAttrName: added})
        return True


class HasAttribute:
    """True if a bundle has an attribute."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Look for it."""
        found = db.inputs.attrName in db.inputs.data.value.attributes
        db.node.get_attribute("outputs:output").set_if_changed(found)
        return True


class BundleConstructor:
    """A bundle of the dynamic inputs of the node."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Put it together."""
        inputs = ((name, db.node.get_attribute(full)) for name, full in dynamic_names(db.node, "inputs").items())
        items = {
            name: Item(a.resolved, kept(a.held)) for name, a in inputs if a.held is not None and not a.type.is_bundle
        }
        db.outputs.bundle = Bundle(items)
        return True


_NAME = {"attrName": {"type": "token", "description": "Name of the attribute", "default": "points"}}
_DATA = {"data": {"type": "bundle", "description": "The bundle"}}
_EXTRACT_PRIM = {
    "prims": {"type": "bundle", "description": "Prims"},
    "prim": {"type": "target", "description": "The prim to look for", "optional": True},
    "primPath": {"type": "path", "description": "Its path, where prim is not set", "optional": True},
}
_INSERT = _DATA | {
    "attrToInsert": {"type": "any", "description": "The value"},
    "outputAttrName": {"type": "token", "description": "Its name in the bundle", "default": "attr0"},
}

TYPES = [
    node_type(
        "nodes.ExtractPrim",
        1,
        ExtractPrim,
        "One prim of a bundle",
        _EXTRACT_PRIM,
        {"primBundle": {"type": "bundle", "description": "The prim"}},
    ),
    node_type(
        "nodes.ExtractBundle",
        3,
        ExtractBundle,
        "Attributes of a bundle",
        {"bundle": {"type": "bundle", "description": "The bundle"}},
        {"passThrough": {"type": "bundle", "description": "The bundle"}},
    ),
    node_type(
        "nodes.ExtractAttribute",
        1,
        ExtractAttribute,
        "An attribute of a bundle",
        _NAME | _DATA,
        {"output": {"type": "any", "description": "The value"}},
    ),
    node_type("nodes.InsertAttribute", 1, InsertAttribute, "Adds an attribute to a bundle", _INSERT, _DATA),
    node_type(
        "nodes.HasAttribute",
        1,
        HasAttribute,
        "Looks for an attribute in a bundle",
        _NAME | _DATA,
        {"output": {"type": "bool", "description": "Whether it is there"}},
    ),
    node_type(
        "nodes.BundleConstructor",
        1,
        BundleConstructor,
        "Makes a bundle",
        {},
        {"bundle": {"type": "bundle", "description": "The bundle"}},
    ),
]
