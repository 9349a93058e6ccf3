"""Custom data that OmniGraph keeps on properties of nodes: what USD's own types cannot say."""

from __future__ import annotations

from typing import Any

from pxr import Sdf, Usd

from ..ogn.ogn_spec import PORTS
from ..values.attribute_types import AttributeType, parse

RELATION_TYPE = "omni:graph:relType"  # "bundle" for a relationship that is one
_BUNDLE_PORTS = tuple(f"{port}_" for port in PORTS)


def graph_data(prop: Usd.Property) -> dict[str, Any]:
    """Return the custom data of OmniGraph on a property, nested or flat."""
    data = prop.GetCustomData()
    nested = data.get("omni", {})
    nested = nested.get("graph", {}) if isinstance(nested, dict) else {}
    flat = {key.removeprefix("omni.graph."): value for key, value in data.items() if key.startswith("omni.graph.")}
    return {**(nested if isinstance(nested, dict) else {}), **flat, "isExecution": data.get("isExecution")}


def property_of(prim: Usd.Prim, name: str) -> Usd.Property:
    """Return the property that holds an attribute of a node: for a bundle that is an output, `outputs_mesh`."""
    return prim.GetProperty(name) or prim.GetProperty(name.replace("outputs:", "outputs_", 1))


def attribute_names(prim: Usd.Prim) -> list[str]:
    """Return the names of the attributes that the scene has of a node: `outputs:mesh` for the bundle `outputs_mesh`."""
    names = prim.GetAuthoredPropertyNames()
    return [f"outputs:{n.removeprefix('outputs_')}" if n.startswith("outputs_") else n for n in names]


def relationship_type(prop: Usd.Relationship) -> AttributeType:
    """Return the type of an attribute that the scene holds as a relationship: a bundle, or targets."""
    is_bundle = graph_data(prop).get("relType") == "bundle"
    return parse("bundle" if is_bundle or any(map(_is_bundle_target, prop.GetTargets())) else "target")


def _is_bundle_target(path: Sdf.Path) -> bool:
    return path.name.startswith(_BUNDLE_PORTS)
