"""The difference between the parameters of a kernel and the attributes of its node, as data.

`changes` says for each parameter and attribute whether it is added, retyped, kept or removed. Errors are made of it,
and an editor can apply it: it keeps the values and connections of what stays, by name. Nothing here compiles or runs.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from ...lang import types as kt
from ..values.array_elements import element_type
from ..values.attribute_types import AttributeType
from .kernel_structures import hint, kind_of
from .kernel_types import fits, spelled, usd_type

ADDED, REMOVED, RETYPED, KEPT = "added", "removed", "retyped", "kept"
# Attributes inputs:NAME:<companion> say something about the parameter NAME.
COMPANIONS = (
    *("length", "dims", "counter", "optional"),
    *("points", "faceVertexCounts", "faceVertexIndices", "orientation", "holeIndices", "radius", "cells", "file"),
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. `is_written` is True if the kernel may write to the array."""

    name: str
    type: kt.Type
    is_written: bool = False


@dataclass(frozen=True)
class Change:
    """A step from the attributes of a node to those that its kernel needs.

    `kind` is "added", "removed", "retyped" or "kept", `attribute` a full name such as inputs:height. `before` and
    `after` are types in USD's spelling or "". `reason` says what does not fit.
    """

    kind: str
    attribute: str
    before: str = ""
    after: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        """The name without its port, which is that of the parameter."""
        return self.attribute.partition(":")[2]


def changes(
    parameters: Iterable[Parameter],
    inputs: Mapping[str, AttributeType],
    outputs: Mapping[str, AttributeType],
    states: Mapping[str, AttributeType] | None = None,
) -> list[Change]:
    """Return what to do with the attributes of a node so that they fit a kernel, parameter by parameter.

    Args:
        parameters: Those of the kernel, in its order.
        inputs: The attributes of the node that the user added, base name -> type.
        outputs: The same for outputs.
        states: The same for persistent arrays.

    Returns:
        One change for each pair of a parameter and its attribute, then the attributes that no parameter has.

    >>> from omni.warp_core.lang import types
    >>> from omni.warp_core.nodes.values.attribute_types import parse
    >>> wanted = [Parameter("x", types.Array(types.F32, 1)), Parameter("rate", types.F32)]
    >>> [(c.kind, c.attribute, c.after) for c in changes(wanted, {"x": parse("int[]"), "y": parse("float")}, {})]
    [('retyped', 'inputs:x', 'float[]'), ('added', 'inputs:rate', 'float'), ('removed', 'inputs:y', '')]
    """
    ports = {"inputs": inputs, "outputs": outputs, "state": states or {}}
    wanted = list(parameters)
    found = [change for parameter in wanted for change in _of_parameter(parameter, ports)]
    names = {p.name for p in wanted}
    for port, attributes in ports.items():
        for name, kind in attributes.items():
            if name not in names and not is_companion(name, names):
                found.append(Change(REMOVED, f"{port}:{name}", kind.sdf))
    return found


def changes_with_bundles(
    parameters: Iterable[Parameter],
    ports: tuple[Mapping[str, AttributeType], Mapping[str, AttributeType], Mapping[str, AttributeType]],
    taken: Iterable[str],
    given: Container[str],
) -> list[Change]:
    """Return the changes for a node that takes bundles. Attributes that are added have the names that USD has for them.

    A parameter that stands for a member of a bundle has no attribute, unless the kernel writes to it: then an output
    such as `outputs:mesh:points`, and the bundle as an output.

    Args:
        parameters: Those of the kernel, in its order.
        ports: The attributes of the node that the user added, as in `changes`: inputs, outputs, states.
        taken: Names of the bundles among its inputs.
        given: Names of the bundles among its outputs.

    >>> from omni.warp_core.lang import types
    >>> points = Parameter("mesh_points", types.Array(types.F32, 1), is_written=True)
    >>> [(c.attribute, c.after) for c in changes_with_bundles([points], ({}, {}, {}), ["mesh"], [])]
    [('outputs:mesh:points', 'float[]'), ('outputs:mesh', 'bundle')]
    """
    wanted, bundles = list(parameters), list(taken)
    own = {name for attributes in ports for name in attributes}
    needed = [p for p in wanted if p.name in own or _is_output(p) or _bundle_of(p, bundles) is None]
    found = [
        replace(change, attribute=_spelled(change.attribute, bundles)) if change.kind == ADDED else change
        for change in changes(needed, *ports)
    ]
    written = dict.fromkeys(_bundle_of(p, bundles) for p in wanted if _is_output(p))
    return found + [Change(ADDED, f"outputs:{b}", "", "bundle") for b in written if b is not None and b not in given]


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


def is_companion(name: str, names: Iterable[str]) -> bool:
    """True if an attribute says something about one of the parameters `names`, such as `points_length`."""
    base, _, what = name.rpartition("_")
    return what in COMPANIONS and base in names


def bundle_with(name: str, bundles: Iterable[str]) -> str | None:
    """The bundle of which a parameter is a member by its name: `mesh` for `mesh_points`. None without such a bundle."""
    return next((bundle for bundle in bundles if name.startswith(f"{bundle}_")), None)


def _of_parameter(parameter: Parameter, ports: Mapping[str, Mapping[str, AttributeType]]) -> list[Change]:
    name, wanted = parameter.name, usd_type(parameter.type) or ""
    found = []
    for port, attributes in ports.items():
        if name in attributes:
            given = attributes[name]
            reason = mismatch(port, given, parameter)
            found.append(Change(RETYPED if reason else KEPT, f"{port}:{name}", given.sdf, wanted, reason))
    if not found and parameter.type is kt.U64 and kind_of(name, ports["inputs"]):
        return [Change(KEPT, f"inputs:{name}", wanted, wanted)]
    if not found:
        port = "outputs" if parameter.is_written and isinstance(parameter.type, kt.Array) else "inputs"
        reason = f"parameter `{name}` ({spelled(parameter.type)}) has no attribute inputs:{name} or outputs:{name}"
        reason += hint(name, ports["inputs"]) if parameter.type is kt.U64 else ""
        return [Change(ADDED, f"{port}:{name}", "", wanted, reason)]
    return found


def mismatch(port: str, given: AttributeType, parameter: Parameter) -> str:
    """Return why an attribute cannot be a parameter, "" when it can."""
    name, wanted, attribute = parameter.name, parameter.type, f"{port}:{parameter.name}"
    element = element_type(given)
    if element is None or (port != "inputs" and given.base == "token"):
        return f"{attribute} is {given}, which kernels cannot {'take' if port == 'inputs' else 'make'}"
    if isinstance(wanted, kt.Array):
        if (given.is_array or port == "outputs") and fits(element, wanted.dtype):
            return ""
        kind = "an array" if given.is_array else "one value"
        return f"parameter `{name}` is a {spelled(wanted)} but {attribute} is {given}: {kind} of {spelled(element)}"
    if port != "inputs":
        return f"parameter `{name}` is written to {attribute}, so it must be an array, not {spelled(wanted)}"
    plain = isinstance(wanted, kt.Scalar) and isinstance(element, kt.Scalar)
    if not given.is_array and (plain or fits(element, wanted) or _same_shape(element, wanted)):
        return ""
    kind = "an array of " if given.is_array else ""
    return f"parameter `{name}` is {spelled(wanted)} but {attribute} is {given}: {kind}{spelled(element)}"


def _same_shape(a: kt.Type, b: kt.Type) -> bool:
    """True if only the precision differs: vec3f and vec3d, quatf and quatd."""
    return isinstance(a, kt.Packed) and type(a) is type(b) and isinstance(b, kt.Packed) and a.count == b.count
