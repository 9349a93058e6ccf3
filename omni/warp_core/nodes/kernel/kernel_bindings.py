"""Which attribute goes with which parameter of a kernel, in both styles of text; raises GraphError where none fits.

Start with `bind_parameters` (plain style) and `make_structs` (the `Inputs` and `Outputs` of omni.warp).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

import omni.warp_core as wp

from ...lang import types as kt
from ...lang.errors import did_you_mean, nearest
from ...lang.generics import spell_pattern
from ...lang.values.type_registry import python_type
from ..graph.node_graph import GraphError
from ..values.attribute_types import AttributeType, parse
from .kernel_source import TextInfo
from .kernel_types import element_type, fits, spelled, struct_element_type, usd_type


@dataclass
class Binding:
    """The source of the value of one parameter, or of one field of `Inputs` or `Outputs`.

    `source` and `target` are attribute base names, "" for none; an output that has both starts as a copy of its input.
    """

    name: str
    type: kt.Type
    attribute: AttributeType
    source: str = ""
    target: str = ""
    private: bool = False
    optional: bool = False
    like: str = ""
    buffer: np.ndarray | None = None

    @property
    def rank(self) -> int:
        """Dimensions of the array that the kernel sees, 0 for a plain value."""
        return self.type.ndim if isinstance(self.type, kt.Array) else 0

    @property
    def element(self) -> kt.Type:
        """The type of one element of that array, or of the plain value."""
        return self.type.dtype if isinstance(self.type, kt.Array) else self.type


@dataclass(frozen=True)
class Attributes:
    """The attributes the user added to a node, base name -> type. Where they change, another kernel is needed."""

    inputs: dict[str, AttributeType]
    outputs: dict[str, AttributeType]


def dynamic(db: Any) -> Attributes:
    """The user's attributes of the node."""
    found = Attributes({}, {})
    for attribute in db.node.get_attributes():
        if not attribute.is_dynamic():
            continue
        port, _, name = attribute.get_name().partition(":")
        kind = parse(attribute.get_resolved_type().get_ogn_type_name())
        if port in ("inputs", "outputs") and not kind.is_execution:
            getattr(found, port)[name.replace(":", "_")] = kind
    return found


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


def bind_parameters(db: Any, attributes: Attributes, kernel: Any, info: TextInfo) -> list[Binding]:
    """Plain style: parameters by attribute names. Raises GraphError listing every parameter that has no match."""
    inputs, outputs = attributes.inputs, attributes.outputs
    problems: list[str] = []
    bindings = []
    try:
        params = kernel.params
    except TypeError as error:
        raise GraphError(str(error)) from None
    for name, wanted in params:
        if not isinstance(wanted, kt.Type):
            problems.append(f"parameter `{name}` leaves its type open: {spell_pattern(wanted)}; name the type")
            continue
        given = outputs.get(name) or inputs.get(name)
        if given is None:
            near = nearest(name, {*inputs, *outputs})
            text = f"parameter `{name}` ({spelled(wanted)}) has no attribute inputs:{name} or outputs:{name}"
            problems.append(text + did_you_mean(near) + _line_to_add(name, wanted, ("", name) in info.touched))
            continue
        port = "outputs" if name in outputs else "inputs"
        wrong = _mismatch(f"{port}:{name}", given, name, wanted, port)
        if not wrong and name in outputs and name in inputs and inputs[name] != given:
            wrong = f"inputs:{name} is {inputs[name]} but outputs:{name} is {given}; make them the same"
        if wrong:
            problems.append(wrong)
            continue
        source, target = name if name in inputs else "", name if name in outputs else ""
        private = bool(source and not target and ("", name) in info.touched)
        bindings.append(Binding(name, wanted, given, source, target, private, like=source))
    if problems:
        raise GraphError(f"kernel `{kernel.name}` does not fit the attributes:\n  " + "\n  ".join(problems))
    unused = [n for n in outputs if n not in {b.name for b in bindings}]
    if unused:
        db.log_warning(f"no parameter of `{kernel.name}` writes outputs:{', outputs:'.join(unused)}")
    return bindings


def _line_to_add(name: str, wanted: kt.Type, is_written: bool) -> str:
    """Return the part of an error with the line that gives a node the attribute; "" if USD has no type for it."""
    declared = usd_type(wanted)
    port = "outputs" if is_written and isinstance(wanted, kt.Array) else "inputs"
    return f"\n    to add it, write into the node in the .usda: custom {declared} {port}:{name}" if declared else ""


def _mismatch(attribute: str, given: AttributeType, name: str, wanted: kt.Type, port: str) -> str:
    """Return why an attribute cannot be a parameter of type `wanted`, "" when it can."""
    element = element_type(given)
    if element is None or (port == "outputs" and given.base == "token"):
        return f"{attribute} is {given}, which kernels cannot {'take' if port == 'inputs' else 'make'}"
    if isinstance(wanted, kt.Array):
        if (given.is_array or port == "outputs") and fits(element, wanted.dtype):
            return ""
        kind = "an array" if given.is_array else "one value"
        return f"parameter `{name}` is a {spelled(wanted)} but {attribute} is {given}: {kind} of {spelled(element)}"
    if port == "outputs":
        return f"parameter `{name}` is written to outputs:{name}, so it must be an array, not {spelled(wanted)}"
    plain = isinstance(wanted, kt.Scalar) and isinstance(element, kt.Scalar)
    if not given.is_array and (plain or fits(element, wanted) or _same_shape(element, wanted)):
        return ""
    kind = "an array of " if given.is_array else ""
    return f"parameter `{name}` is {spelled(wanted)} but {attribute} is {given}: {kind}{spelled(element)}"


def _same_shape(a: kt.Type, b: kt.Type) -> bool:
    """True if only the precision differs: vec3f and vec3d, quatf and quatd."""
    return isinstance(a, kt.Packed) and type(a) is type(b) and isinstance(b, kt.Packed) and a.count == b.count


def make_structs(
    attributes: Attributes, records_json: str, info: TextInfo, rank: int
) -> tuple[list[Binding], tuple[Any, Any]]:
    """Struct style: an `Inputs` and an `Outputs` made of the attributes, and the bindings of their fields."""
    records = _records(records_json)
    inputs, outputs = attributes.inputs, attributes.outputs
    bindings: list[Binding] = []
    for name, given in inputs.items():
        element = _field_element(f"inputs:{name}", given, ("inputs", name) in info.mentioned)
        if element is not None:
            optional = bool(records.get((0, name), {}).get("optional"))
            private = ("inputs", name) in info.touched
            kind = kt.Array(element, 1) if given.is_array else element
            bindings.append(Binding(name, kind, given, name, "", private, optional))
    for name, given in outputs.items():
        element = _field_element(f"outputs:{name}", given, ("outputs", name) in info.mentioned)
        if element is None:
            continue
        if given.base == "token":
            raise GraphError(f"outputs:{name} is {given}; kernels can read tokens but not make them")
        if not given.is_array:
            raise GraphError(f"outputs:{name} is {given}; outputs of this style must be arrays")
        like_kernel = records.get((1, name), {}).get("array_shape_source") == 1
        like = name if not like_kernel and name in inputs and inputs[name].is_array else ""
        ndim = info.ranks.get(("outputs", name), 1 if like else rank)
        bindings.append(Binding(name, kt.Array(element, ndim), given, "", name, like=like))
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
