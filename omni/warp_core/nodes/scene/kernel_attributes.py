"""Fit the attributes of a Kernel node to its kernels: what `signature.changes` lists, done on a prim.

Values and connections of an attribute stay where its type still takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pxr import Sdf, Usd

from ...lang.errors import CompileError
from ...usd.numpy_conversion import to_numpy, to_usd
from ..graph.attribute import GraphError
from ..kernel.kernel_bindings import parameters_of
from ..kernel.kernel_source import normalized
from ..kernel.node_values import Attributes, python_name
from ..kernel.program import Request, kernels_of, uses_to_run
from ..kernel.signature import ADDED, REMOVED, RETYPED, Change, Parameter, changes_with_bundles
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
_BUNDLE_OUTPUT = "outputs_"


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
    """Add, retype and remove the attributes that the user gave to a node, and return what was done."""
    found = given(prim, spec)
    ports = [{python_name(name): kind for (port, name), kind in found.items() if port == each} for each in _PORTS]
    full = {f"{port}:{python_name(name)}": f"{port}:{name}" for port, name in found}
    outputs = [n.removeprefix(_BUNDLE_OUTPUT) for n in prim.GetAuthoredPropertyNames() if n.startswith(_BUNDLE_OUTPUT)]
    done = []
    for change in changes_with_bundles(wanted, (ports[0], ports[1], ports[2]), bundles(prim, spec), outputs):
        name = full.get(change.attribute, change.attribute)
        if change.kind == ADDED and change.after == "bundle":
            add_bundle(prim, name)
        elif change.kind == ADDED:
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Find(change.after), True)
        elif change.kind == REMOVED:
            prim.RemoveProperty(name)
        elif change.kind == RETYPED:
            _retype(prim, name, change.after)
        done.append(replace(change, attribute=name))
    return done


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
