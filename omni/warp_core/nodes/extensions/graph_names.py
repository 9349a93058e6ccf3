"""The names of `omni.graph.core` that node classes use, for this host. Scripts know the module as `og`.

Values follow Kit where the public documentation gives them. Types are compared by their names, so that `og.Type`
and the types of this host are equal where they mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import Any

from ..graph.database import DISABLED, ENABLED, ENABLED_AND_PUSH, LATENT_FINISH, LATENT_PUSH, Database
from ..graph.node_graph import Attribute, Graph, GraphError, Node
from ..values.attribute_types import BASES, AttributeType, from_sdf, parse
from ..values.attribute_values import coerce
from ..values.kit_types import AttributeRole, BaseDataType
from .node_class import Context


class ExecutionAttributeState(IntEnum):
    """States of an execution output."""

    DISABLED = DISABLED
    ENABLED = ENABLED
    ENABLED_AND_PUSH = ENABLED_AND_PUSH
    LATENT_PUSH = LATENT_PUSH
    LATENT_FINISH = LATENT_FINISH


AttributePortType = Enum("AttributePortType", "INPUT OUTPUT STATE UNKNOWN", start=0)
ExtendedAttributeType = Enum("ExtendedAttributeType", "REGULAR UNION ANY", start=0)
MemoryType = Enum("MemoryType", "CPU CUDA ANY", start=0)
PtrToPtrKind = Enum("PtrToPtrKind", "NA CPU GPU", start=0)
PORTS = {
    AttributePortType.INPUT: "inputs",  # type: ignore[attr-defined]
    AttributePortType.OUTPUT: "outputs",  # type: ignore[attr-defined]
    AttributePortType.STATE: "state",  # type: ignore[attr-defined]
}


class OmniGraphError(Exception):
    """What og raises."""


class Type:
    """A type as Kit writes it: base type, tuple count (16 for a 4x4 matrix), array depth, role."""

    def __init__(self, base_type: Any, tuple_count: int = 1, array_depth: int = 0, role: Any = None):
        self.base_type, self.tuple_count, self.array_depth = base_type, tuple_count, array_depth
        self.role = AttributeRole["NONE"] if role is None else role

    def __eq__(self, other: object) -> bool:
        ours = type_of(other) if isinstance(other, AttributeType) else other
        return isinstance(ours, Type) and self._key() == ours._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return self.get_ogn_type_name()

    def _key(self) -> tuple:
        return (self.base_type.name, self.tuple_count, self.array_depth, self.role.name)

    def get_ogn_type_name(self) -> str:
        """Return the name in a `.ogn` file; "unknown" for a type of no `.ogn`."""
        kind = attribute_type(self)
        return "unknown" if kind is None else str(kind)


def type_of(kind: AttributeType) -> Type:
    """Return a type of this host as `og.Type`."""
    return Type(kind.base_type, kind.tuple_count, kind.array_depth, kind.role)


_KINDS = {
    type_of(kind): kind
    for base, info in BASES.items()
    for count in info.tuples
    for kind in [AttributeType(base, count)] + ([AttributeType(base, count, True)] if info.arrays else [])
    if base != "any"
}


def attribute_type(kind: Any) -> AttributeType | None:
    """Return the type of this host for an `og.Type`, a `.ogn` name or a type of this host; None if it has no name."""
    if isinstance(kind, str):
        return parse(kind)
    return kind if isinstance(kind, AttributeType) else _KINDS.get(kind)


class TypeNames:
    """`og.AttributeType`: types from their names."""

    @staticmethod
    def type_from_ogn_type_name(name: str) -> Type:
        """Return the type called `name` in a `.ogn` file."""
        return type_of(parse(name))

    @staticmethod
    def type_from_sdf_type_name(name: str) -> Type:
        """Return the type called `name` in USD; an unknown one for a name that OmniGraph does not have."""
        kind = from_sdf(name)
        return Type(BaseDataType["UNKNOWN"]) if kind is None else type_of(kind)


class Controller:
    """`og.Controller`, as far as a node works on its own attributes."""

    @staticmethod
    def attribute(name: str | Attribute, node: Node | None = None) -> Attribute:
        """Return an attribute by its full name. Raises OmniGraphError."""
        if isinstance(name, Attribute):
            return name
        if node is None or not node.get_attribute_exists(name):
            raise OmniGraphError(f"{node or 'no node'} has no attribute {name!r}")
        return node.get_attribute(name)

    @staticmethod
    def attribute_type(kind: Any) -> Any:
        """Return a type from its name in `.ogn` files."""
        return type_of(parse(kind)) if isinstance(kind, str) else kind

    @classmethod
    def get(cls, attribute: Any, node: Node | None = None) -> Any:
        """Return the value of an attribute."""
        return cls.attribute(attribute, node).value

    @classmethod
    def set(cls, attribute: Any, value: Any, node: Node | None = None) -> None:
        """Set the value of an attribute."""
        found = cls.attribute(attribute, node)
        found.set(coerce(value, found.resolved))

    @staticmethod
    def create_attribute(node: Node, name: str, kind: Any, port: Any = None, default: Any = None) -> Attribute:
        """Add a dynamic attribute to a node, an input unless `port` or the name says otherwise."""
        wanted = attribute_type(kind)
        if wanted is None:
            raise OmniGraphError(f"{node}: there is no attribute type {kind!r}")
        full = name if name.partition(":")[0] in PORTS.values() else f"{PORTS.get(port, 'inputs')}:{name}"
        attribute = node.add(Attribute(node, full, wanted))
        if default is not None:
            attribute.set(coerce(default, wanted))
        return attribute

    @staticmethod
    def remove_attribute(attribute: Attribute) -> bool:
        """Remove a dynamic attribute; false if the node type declares it."""
        if attribute.spec is not None:
            return False
        attribute.node.remove(attribute)
        return True


def resolve_fully_coupled(attributes: Iterable[Attribute]) -> None:
    """Give all attributes the type of the first one that has one."""
    listed = list(attributes)
    kind = next((a.resolved for a in listed if not a.resolved.is_any), None)
    if kind is None:
        return
    for attribute in listed:
        if attribute.resolved.is_any:
            attribute.set_resolved_type(kind)


def names() -> dict[str, Any]:
    """Return the contents of the stand-in for `omni.graph.core`."""
    return {
        "Attribute": Attribute,
        "AttributePortType": AttributePortType,
        "AttributeRole": AttributeRole,
        "AttributeType": TypeNames,
        "BaseDataType": BaseDataType,
        "Controller": Controller,
        "Database": Database,
        "ExecutionAttributeState": ExecutionAttributeState,
        "ExtendedAttributeType": ExtendedAttributeType,
        "Graph": Graph,
        "GraphContext": Context,
        "MemoryType": MemoryType,
        "Node": Node,
        "OmniGraphError": OmniGraphError,
        "OmniGraphValueError": GraphError,
        "PtrToPtrKind": PtrToPtrKind,
        "Type": Type,
        "resolve_fully_coupled": resolve_fully_coupled,
    }
