"""Fit the attributes of a Kernel node to its kernels: what `signature.changes` lists, done on a prim.

Values and connections of an attribute stay where its type still takes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pxr import Sdf, Usd

from ...lang import types as kt
from ...lang.errors import CompileError
from ...usd.numpy_conversion import to_numpy, to_usd
from ..graph.attribute import GraphError
from ..kernel.kernel_bindings import parameters_of
from ..kernel.kernel_source import normalized
from ..kernel.node_values import Attributes, python_name
from ..kernel.program import Request, kernels_of, uses_to_run
from ..kernel.signature import ADDED, REMOVED, RETYPED, Change, Parameter, bundle_with, changes
from ..ogn.ogn_spec import NodeSpec
from ..values.attribute_types import AttributeType, from_sdf
from ..values.attribute_values import ValueTypeError, coerce, converter
from .custom_data import RELATION_TYPE, relationship_type

# What says something about a parameter -> its type, given its value.
_COMPANIONS: dict[str, Callable[[Any], str]] = {
    "counter": lambda value: "token",
    "optional": lambda value: "bool",
    "length": lambda value: "token" if isinstance(value, str) else "int",
    "dims": lambda value: f"int[{len(value)}]",
}
_PORTS = ("inputs", "outputs", "state")


def parameters(text: str, kernels: tuple[str, ...], where: str) -> list[Parameter]:
    """Return the parameters of the kernels that a node with this text runs. This runs the text.

    Raises:
        ValueError: The text has a mistake, or is in the style of omni.warp, whose attributes it does not tell.
    """
    text = normalized(text)
    try:
        uses = uses_to_run(text, kernels)
        if any(use.is_struct for use in uses):
            raise ValueError(f"{where}: a kernel with `inputs: Inputs, outputs: Outputs` does not name its attributes")
        request = Request(text, where, kernels, 0, Attributes({}, {}, {}), "", "cpu")
        found: dict[str, Parameter] = {}
        for kernel, use in zip(kernels_of(request, uses), uses, strict=True):
            for parameter in parameters_of(kernel, use):
                before = found.get(parameter.name, parameter)
                is_written = before.is_written or parameter.is_written
                found[parameter.name] = Parameter(parameter.name, parameter.type, is_written)
    except (GraphError, CompileError) as error:
        raise ValueError(str(error)) from None
    return list(found.values())


def companions(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes that values such as {"found:counter": "count"} ask for, with their types."""
    found = {}
    for key, value in values.items():
        about, _, companion = key.rpartition(":")
        if about and companion in _COMPANIONS:
            found[f"inputs:{key}"] = _COMPANIONS[companion](value)
            if companion == "counter":
                found[f"outputs:{value}"] = "int"  # one number, though the kernel has an array
    return found


def fit(prim: Usd.Prim, spec: NodeSpec, wanted: list[Parameter]) -> list[Change]:
    """Add, retype and remove the attributes that the user gave to a node, and return what was done.

    A parameter that stands for a member of a bundle has no attribute, unless the kernel writes to it: then an output
    such as `outputs:mesh:points`, and the bundle as an output.
    """
    found, taken = given(prim, spec), bundles(prim, spec)
    ports: list[dict[str, AttributeType]] = [
        {python_name(name): kind for (port, name), kind in found.items() if port == each} for each in _PORTS
    ]
    full = {f"{port}:{python_name(name)}": f"{port}:{name}" for port, name in found}
    own = {name for each in ports for name in each}
    needed = [p for p in wanted if p.name in own or _is_output(p) or _bundle_of(p, taken) is None]
    done = []
    for change in changes(needed, *ports):
        name = full.get(change.attribute) or _spelled(change.attribute, taken)
        if change.kind == ADDED:
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Find(change.after), True)
        elif change.kind == REMOVED:
            prim.RemoveProperty(name)
        elif change.kind == RETYPED:
            _retype(prim, name, change.after)
        done.append(replace(change, attribute=name))
    for parameter in filter(_is_output, wanted):
        if (bundle := _bundle_of(parameter, taken)) is not None:
            add_bundle(prim, f"outputs:{bundle}")
    return done


def _is_output(parameter: Parameter) -> bool:
    return parameter.is_written and isinstance(parameter.type, kt.Array)


def _bundle_of(parameter: Parameter, names: list[str]) -> str | None:
    """Return the bundle that a parameter stands for, or a member of."""
    return parameter.name if parameter.name in names else bundle_with(parameter.name, names)


def _spelled(attribute: str, names: list[str]) -> str:
    """Return the attribute of a member as USD spells it: `outputs:mesh:primvars:st` for `outputs:mesh_primvars_st`."""
    port, _, name = attribute.partition(":")
    bundle = bundle_with(name, names)
    if bundle is None:
        return attribute
    member = name.removeprefix(f"{bundle}_")
    return f"{port}:{bundle}:" + re.sub(r"^primvars_", "primvars:", member)


def bundles(prim: Usd.Prim, spec: NodeSpec) -> list[str]:
    """Return the input bundles that the user gave to a node, by name."""
    rels = ((rel.GetName(), rel) for rel in prim.GetAuthoredRelationships())
    found = [(name, rel) for name, rel in rels if name.startswith("inputs:") and name not in spec.attributes]
    return [name.partition(":")[2] for name, rel in found if relationship_type(rel).is_bundle]


def add_bundle(prim: Usd.Prim, name: str) -> None:
    """Give a node an input or output that is a bundle, in the form of Kit: `inputs:mesh`, `outputs_mesh`."""
    shown = name.replace(":", "_", 1) if name.startswith("outputs:") else name
    prim.CreateRelationship(shown, True).SetCustomDataByKey(RELATION_TYPE, "bundle")


def given(prim: Usd.Prim, spec: NodeSpec) -> dict[tuple[str, str], AttributeType]:
    """Return the attributes of a node that its type does not declare, by port and name."""
    found = {}
    for attribute in prim.GetAuthoredAttributes():
        port, _, name = attribute.GetName().partition(":")
        kind = from_sdf(str(attribute.GetTypeName()))
        if port in _PORTS and kind is not None and attribute.GetName() not in spec.attributes:
            found[port, name] = kind
    return found


def _retype(prim: Usd.Prim, name: str, type_name: str) -> None:
    """Give an attribute another type; a value that converts and its connections stay."""
    old = prim.GetAttribute(name)
    sources, value = old.GetConnections(), _converted(old, type_name)
    prim.RemoveProperty(name)
    new = prim.CreateAttribute(name, Sdf.ValueTypeNames.Find(type_name), True)
    if sources:
        new.SetConnections(sources)
    if value is not None:
        new.Set(value)


def _converted(attribute: Usd.Attribute, type_name: str) -> Any:
    before, after = from_sdf(str(attribute.GetTypeName())), from_sdf(type_name)
    value = attribute.Get()
    convert = converter(before, after) if before is not None and after is not None and value is not None else None
    if convert is None or before is None or after is None:
        return None
    try:
        return to_usd(coerce(convert(coerce(to_numpy(value), before)), after), type_name)
    except ValueTypeError:
        return None
