"""Values that a user gives to attributes of a loaded scene: their types, their limits, and paths that lead nowhere."""

from __future__ import annotations

from typing import Any

from pxr import Usd

from ...usd.stage import prim_at
from ..graph.attribute import Attribute, arriving, type_words
from ..graph.switches import GRAPH
from ..ogn.value_limits import beyond
from ..values.attribute_types import AttributeType
from ..values.attribute_values import ValueTypeError
from ..values.literals import type_of_literal
from .graph_loader import NODE, Loaded


def type_for(attribute: Attribute, value: Any) -> AttributeType:
    """Return the type of an attribute; one that is open takes that of the value. Raises ValueTypeError."""
    kind = attribute.resolved
    if not kind.is_any:
        return kind
    own = type_of_literal(value)
    if own is None or arriving(own, attribute.type) is None:
        raise ValueTypeError(f"{value!r} is no value for an attribute of type {type_words(attribute.type)}")
    return own


def tell_limits(attribute: Attribute) -> None:
    """Warn of a value beyond the limits that the node type gives, as for values of the scene."""
    spec = attribute.spec
    if spec is not None and spec.has_limits and (text := beyond(spec, attribute.value)):
        attribute.node.warn(f"{attribute.name}: {text}")


def why_absent(stage: Usd.Stage, loaded: Loaded, path: str) -> str:
    """Return why no node or graph has an attribute at `path`, and what to write."""
    place, _, name = path.partition(".")
    prim = prim_at(stage, place)
    if prim is None or loaded.has_node(place) or prim.GetTypeName() == NODE:
        return loaded.missing(path, lambda attribute: not attribute.type.is_execution)
    if prim.GetTypeName() == "OmniGraph":
        return f"{place} is a graph, which has no attribute {name!r} to set; it has {GRAPH}, true or false"
    kind = prim.GetTypeName() or "prim without a type"
    return (
        f"{place} is no node, but a {kind} of the scene, and a play sets attributes of nodes only. Set this one on the "
        f'stage before you play: stage.GetAttributeAtPath("{place}.{name or "NAME"}").Set(VALUE). In each frame, a '
        f"node omni.graph.nodes.WritePrimAttribute with inputs:prim = <{place}> writes to it"
    )
