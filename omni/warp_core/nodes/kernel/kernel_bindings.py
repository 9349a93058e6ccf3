"""Which attribute goes with which parameter of a kernel, in both styles of text; raises GraphError where none fits.

Start with `bind_parameters` (plain style) and `make_structs` (the `Inputs` and `Outputs` of omni.warp).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import omni.warp_core as wp

from ...lang import types as kt
from ...lang.errors import did_you_mean, nearest
from ...lang.generics import Constant, spell_pattern
from ...lang.values.type_registry import python_type
from ..graph.node_graph import GraphError
from ..values.array_elements import element_type
from ..values.attribute_types import AttributeType
from .kernel_source import KernelUse
from .kernel_types import struct_element_type
from .node_values import Attributes, python_name
from .signature import ADDED, RETYPED, Change, Parameter, bundle_with, changes

_ID = AttributeType("uint64")


@dataclass
class Binding:
    """The source of the value of one parameter, or of one field of `Inputs` or `Outputs`.

    `source`, `target` and `state` are attribute base names, "" for none. An output that has a source starts as a copy
    of it, and so does a state, once. `private` is True for an input array that the kernel may write to. `structure` is
    the name of a mesh, hash grid or volume.
    """

    name: str
    type: kt.Type
    attribute: AttributeType
    source: str = ""
    target: str = ""
    state: str = ""
    private: bool = False
    optional: bool = False
    like: str = ""
    structure: str = ""

    @property
    def rank(self) -> int:
        """Dimensions of the array that the kernel sees, 0 for a plain value."""
        return self.type.ndim if isinstance(self.type, kt.Array) else 0

    @property
    def element(self) -> kt.Type:
        """The type of one element of that array, or of the plain value."""
        return self.type.dtype if isinstance(self.type, kt.Array) else self.type

    @property
    def key(self) -> str:
        """The name of the memory: bindings of several kernels to one attribute share it."""
        return (
            f"state:{self.state}"
            if self.state
            else f"outputs:{self.target}"
            if self.target
            else f"inputs:{self.source}"
        )

    @property
    def attribute_name(self) -> str:
        """The attribute that errors are about."""
        return f"outputs:{self.target}" if self.target else self.key


def records_text(db: Any) -> str:
    """Return the JSON that the attribute editor of omni.warp saved; "" without one."""
    return getattr(db.state, "userAttrDescs", "") or ""


def _records(text: str) -> dict[tuple[int, str], dict]:
    """Return the record of each attribute in `records_text`: (port, base name) -> record."""
    try:
        records = json.loads(text or "[]")
        return {(r["port_type"], r["base_name"]): r for r in records if isinstance(r, dict)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def parameters_of(kernel: Any, use: KernelUse) -> list[Parameter]:
    """Return the parameters of a compiled kernel. Raises GraphError for those whose type is open."""
    try:
        params = kernel.params
    except TypeError as error:
        raise GraphError(str(error)) from None
    open_ones = [
        f"parameter `{name}` is a string, a type or a function; nodes pass numbers, vectors, matrices and arrays"
        if wanted is Constant
        else f"parameter `{name}` leaves its type open: {spell_pattern(wanted)}; name the type"
        for name, wanted in params
        if not isinstance(wanted, kt.Type)
    ]
    if open_ones:
        raise GraphError(_unfit(kernel.name, open_ones))
    return [Parameter(name, kind, isinstance(kind, kt.Array) and ("", name) in use.touched) for name, kind in params]


def bind_parameters(name: str, parameters: list[Parameter], attributes: Attributes) -> list[Binding]:
    """Plain style: bind the parameters of the kernel `name`. Raises GraphError listing every one without a match."""
    inputs, outputs, states = attributes.inputs, attributes.outputs, attributes.states
    found = changes(parameters, inputs, outputs, states)
    problems = [_problem(c, attributes) for c in found if c.kind in (ADDED, RETYPED)]
    wrong = {c.name for c in found if c.kind in (ADDED, RETYPED)}
    bindings = []
    for parameter in parameters:
        param = parameter.name
        given = [(port, kinds[param]) for port, kinds in _ports(attributes) if param in kinds]
        if param in wrong:
            continue
        if not given:
            bindings.append(Binding(param, parameter.type, _ID, structure=param))
            continue
        port, kind = given[-1]
        other = next(((p, k) for p, k in given if not are_alike(k, kind)), None)
        if other:
            problems.append(f"{other[0]}:{param} is {other[1]} but {port}:{param} is {kind}; make them the same")
            continue
        source, target, state = (param if param in kinds else "" for kinds in (inputs, outputs, states))
        private = bool(source and not target and not state and parameter.is_written)
        bindings.append(Binding(param, parameter.type, kind, source, target, state, private, like=source))
    if problems:
        raise GraphError(_unfit(name, problems))
    return bindings


def are_alike(a: AttributeType, b: AttributeType) -> bool:
    """True if two types are the same to a kernel, such as `pointf[3][]` and `float[3][]`."""
    return a == b or (a.is_array == b.is_array and element_type(a) is element_type(b) is not None)


def _ports(attributes: Attributes) -> tuple[tuple[str, dict[str, AttributeType]], ...]:
    return ("inputs", attributes.inputs), ("state", attributes.states), ("outputs", attributes.outputs)


def _unfit(kernel: str, problems: list[str]) -> str:
    return f"kernel `{kernel}` does not fit the attributes:\n  " + "\n  ".join(problems)


def _problem(change: Change, attributes: Attributes) -> str:
    """Return the error for a change, with what to write instead."""
    name = change.name
    if (bundle := bundle_with(name, attributes.bundles)) is not None:
        return _member_problem(change, bundle, attributes.bundles[bundle])
    if change.kind != ADDED:
        remedy = f"; give the attribute the type {change.after}, or the parameter that of the attribute"
        return change.reason + (remedy if change.after else "")
    if name in attributes.own:
        return f"parameter `{name}` is called as a setting of the node, inputs:{name}; rename the parameter"
    if name in attributes.bundles:
        return f"{change.reason}; the bundle inputs:{name} has {', '.join(attributes.bundles[name])}"
    if any(other.startswith(f"{name}_") for other in attributes.inputs):  # the reason says what a structure lacks
        return change.reason
    near = nearest(name, {*attributes.inputs, *attributes.outputs})
    line = f"\n    to add it, write into the node in the .usda: custom {change.after} {change.attribute}"
    return change.reason + did_you_mean(near) + (line if change.after else "")


def _member_problem(change: Change, bundle: str, members: tuple[str, ...]) -> str:
    """Return the error for a parameter that stands for a member of a bundle."""
    parameter, known = change.name, {python_name(name): name for name in members}
    wanted = parameter.removeprefix(f"{bundle}_")
    place = f"the member {known.get(wanted, wanted)!r} of the bundle inputs:{bundle}"
    if change.kind != ADDED:
        reason = change.reason.replace(f"inputs:{parameter}", place)
        return f"{reason}; give the parameter the type of the member"
    meant = did_you_mean([known[name] for name in nearest(wanted, known)])
    return f"parameter `{parameter}` is {place}, which has no such member{meant}; it has {', '.join(members)}"


def make_structs(
    attributes: Attributes, records_json: str, use: KernelUse, rank: int
) -> tuple[list[Binding], tuple[Any, Any]]:
    """Struct style: an `Inputs` and an `Outputs` made of the attributes, and the bindings of their fields."""
    records = _records(records_json)
    inputs, outputs = attributes.inputs, attributes.outputs
    bindings: list[Binding] = []
    for name, given in inputs.items():
        element = _field_element(f"inputs:{name}", given, ("inputs", name) in use.mentioned)
        if element is not None:
            optional = bool(records.get((0, name), {}).get("optional"))
            private = given.is_array and ("inputs", name) in use.touched
            kind = kt.Array(element, 1) if given.is_array else element
            bindings.append(Binding(name, kind, given, name, private=private, optional=optional))
    for name, given in outputs.items():
        element = _field_element(f"outputs:{name}", given, ("outputs", name) in use.mentioned)
        if element is None:
            continue
        if given.base == "token":
            raise GraphError(f"outputs:{name} is {given}; kernels can read tokens but not make them")
        if not given.is_array:
            raise GraphError(f"outputs:{name} is {given}; outputs of this style must be arrays")
        like_kernel = records.get((1, name), {}).get("array_shape_source") == 1
        like = name if not like_kernel and name in inputs and inputs[name].is_array else ""
        ndim = use.ranks.get(("outputs", name), 1 if like else rank)
        bindings.append(Binding(name, kt.Array(element, ndim), given, target=name, like=like))
    fields = [b for b in bindings if not b.target], [b for b in bindings if b.target]
    return bindings, (_struct("Inputs", fields[0]), _struct("Outputs", fields[1]))


def _field_element(attribute: str, given: AttributeType, mentioned: bool) -> kt.Type | None:
    """The type of a field's element; None for leftovers of types that kernels do not know and the text does not use."""
    element = struct_element_type(given)
    if element is None and mentioned:
        raise GraphError(f"{attribute} is {given}, which kernels cannot take")
    return element


def _struct(name: str, bindings: list[Binding]) -> Any:
    annotations = {
        b.name: wp.array(dtype=python_type(b.element), ndim=b.rank) if b.rank else python_type(b.element)
        for b in bindings
    }
    return wp.struct(type(name, (), {"__annotations__": annotations, "__module__": __name__}))()
