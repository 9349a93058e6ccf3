"""Errors for attributes of prims that are not there, or have no value: which there are, and what to write."""

from __future__ import annotations

from pxr import Usd, UsdGeom

from ...lang.errors import MOST_NAMES, did_you_mean, nearest
from ..values.bundles import indices_of

_PRIMVARS = "primvars:"


def why_absent(prim: Usd.Prim, name: str, type_name: str = "") -> str:
    """Return the error for an attribute that a prim lacks. `type_name` is the USD type that it would have, if known."""
    what = f"the prim {prim.GetPath()} has no attribute {name!r}"
    if prim.GetAttribute(_PRIMVARS + name):
        return f"{what}; did you mean {_PRIMVARS}{name}?"
    if not name.startswith(_PRIMVARS) or name.endswith(indices_of("")):
        return what + did_you_mean(nearest(name, prim.GetPropertyNames()))
    if inherited := UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name.removeprefix(_PRIMVARS)):
        return f"{what}; it inherits that of {inherited.GetAttr().GetPrim().GetPath()}, so name that prim"
    return f"{what}; {_primvars_of(prim)}{_to_add(prim, name, type_name)}"


def why_empty(attribute: Usd.Attribute) -> str:
    """Return the error for an attribute of a prim without a value."""
    prim, name = attribute.GetPrim(), attribute.GetName()
    what = f"{attribute.GetPath()} has no value"
    if not name.startswith(_PRIMVARS):
        return what
    return f"{what}; {_primvars_of(prim)}{_to_add(prim, name, str(attribute.GetTypeName()))}"


def _primvars_of(prim: Usd.Prim) -> str:
    """Return which primvars with values a prim has, as a part of a sentence."""
    names = [each.GetName() for each in UsdGeom.PrimvarsAPI(prim).GetPrimvarsWithValues()]
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"its primvars are {', '.join(names[:MOST_NAMES])}{more}" if names else "it has no primvars with values"


def _to_add(prim: Usd.Prim, name: str, type_name: str) -> str:
    """Return the line of USD that adds a primvar, as an array with a value for each point where its type is open."""
    kind = type_name or "float[]"
    value = '[VALUES] (interpolation = "vertex")' if kind.endswith("[]") else 'VALUE (interpolation = "constant")'
    return f"\n    to add it, write into the prim {prim.GetName()} in the .usda: {kind} {name} = {value}"
