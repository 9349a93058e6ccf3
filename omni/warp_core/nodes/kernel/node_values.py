"""The values of a node's attributes as a kernel run needs them, by the names that Python gives them.

An attribute `inputs:grid:dims` is called `grid_dims` here. It is a *companion* of the parameter `grid`. A bundle
`inputs:mesh` gives its members as if they were such attributes: its points are `mesh_points`.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..graph.attribute import Attribute, GraphError
from ..graph.bundle_exchange import input_bundle, output_bundle
from ..graph.node_graph import Timing
from ..values.array_elements import as_numbers, element_type
from ..values.attribute_types import AttributeType, parse
from ..values.bundles import Bundle, Item, expanded, kept, map_prims, prims_of, with_changed


@dataclass(frozen=True)
class Attributes:
    """The attributes the user added to a node, base name -> type. Where they change, another program is needed."""

    inputs: dict[str, AttributeType]
    outputs: dict[str, AttributeType]
    states: dict[str, AttributeType] = field(default_factory=dict)
    own: tuple[str, ...] = ()  # the inputs that every Kernel node has, whose names no parameter can have
    bundles: dict[str, tuple[str, ...]] = field(default_factory=dict)  # inputs, with the names of their members
    bundles_out: tuple[str, ...] = ()

    @property
    def arrays(self) -> list[str]:
        """The names of the input arrays."""
        return [name for name, kind in self.inputs.items() if kind.is_array]


_PORTS = {"inputs": "inputs", "outputs": "outputs", "state": "states"}


def dynamic(db: Any) -> Attributes:
    """The user's attributes of the node."""
    own = (a.get_name() for a in db.node.get_attributes() if not a.is_dynamic())
    found = Attributes({}, {}, {}, tuple(name.partition(":")[2] for name in own if name.startswith("inputs:")))
    bundles: dict[str, list[str]] = {"inputs": [], "outputs": []}
    for attribute in db.node.get_attributes():
        if not attribute.is_dynamic():
            continue
        port, _, name = attribute.get_name().partition(":")
        kind = parse(attribute.get_resolved_type().get_ogn_type_name())
        if kind.is_bundle and port in bundles:
            bundles[port].append(python_name(name))
        elif port in _PORTS and not kind.is_execution:
            getattr(found, _PORTS[port])[python_name(name)] = kind
    return replace(found, bundles=dict.fromkeys(bundles["inputs"], ()), bundles_out=tuple(bundles["outputs"]))


def python_name(name: str) -> str:
    """The name of the parameter that an attribute stands for, given without its port."""
    return name.replace(":", "_")


def _prim(db: Any, name: str) -> Bundle:
    """The one prim of the bundle of an input. Raises GraphError."""
    prims = prims_of(input_bundle(db, name))
    if not prims:
        raise GraphError(f"inputs:{name} has no bundle with a prim; connect it to a node that gives one")
    if len(prims) > 1:
        raise GraphError(
            f"inputs:{name} has {len(prims)} prims, and a kernel takes the members of one; put a node "
            "omni.graph.nodes.ExtractPrim before it"
        )
    return prims[0]


class NodeValues:
    """The values of one node in one evaluation. Raises GraphError for a bundle that is not one prim.

    `attributes` are those of the node, with the members of its bundles among the inputs.
    """

    def __init__(self, db: Any, attributes: Attributes):
        self.db, self.attributes = db, attributes
        self._find = getattr(db.node, "find", None)  # of this host, as Kit's nodes have no such method
        self._members: dict[str, Item] = {}
        if attributes.bundles:
            self._unpack({name: _prim(db, name) for name in attributes.bundles})

    def _unpack(self, prims: dict[str, Bundle]) -> None:
        """Take the members of bundles. An attribute of the node of the same name goes before a member."""
        inputs = self.attributes.inputs
        for bundle, prim in prims.items():
            try:
                members = {f"{bundle}_{python_name(name)}": expanded(prim, name) for name in prim.attributes}
            except IndexError as error:
                raise GraphError(f"the bundle inputs:{bundle}: {error}") from None
            self._members |= {n: item for n, item in members.items() if n not in inputs and n.isidentifier()}
        kinds = {name: item.type for name, item in self._members.items()}
        names = {bundle: tuple(prim.attributes) for bundle, prim in prims.items()}
        self.attributes = replace(self.attributes, inputs={**inputs, **kinds}, bundles=names)

    def give_bundles(self, written: Container[str]) -> None:
        """Give each output bundle: that of the input of the same name, with the outputs `written` by the kernels."""
        for bundle in self.attributes.bundles_out:
            if bundle not in self.attributes.bundles:
                raise GraphError(f"outputs:{bundle} is a copy of the bundle inputs:{bundle}, which the node lacks")
            given = input_bundle(self.db, bundle)
            output_bundle(self.db, bundle, map_prims(given, partial(self._with_outputs, bundle, written)))

    def _with_outputs(self, bundle: str, written: Container[str], prim: Bundle) -> Bundle:
        """Return a prim with the values of the outputs that stand for its members. Metadata of members stay."""
        members = {f"{bundle}_{python_name(member)}": member for member in prim.attributes}
        changed = {}
        for full in (attribute.get_name() for attribute in self.db.node.get_attributes()):
            name, prefix = python_name(full.removeprefix("outputs:")), f"outputs:{bundle}:"
            member = full.removeprefix(prefix) if full.startswith(prefix) else members.get(name, "")
            if member and full.startswith("outputs:") and name in written:
                before = prim.attributes.get(member)
                about, kind = before.metadata if before else {}, self.attributes.outputs[name]
                if before is not None and element_type(before.type) is element_type(kind):
                    kind = before.type  # points stay points where the output has no role
                changed[member] = Item(kind, kept(self.value(name, "outputs")), about)
        return with_changed(prim, changed)

    def value(self, name: str, port: str = "inputs") -> Any:
        """The value of an attribute in its canonical form."""
        if port == "inputs" and name in self._members:
            return self._members[name].held
        found = self._find(port, name) if self._find is not None else None
        if found is not None:
            return found.held
        value = getattr(getattr(self.db, port), name)
        return value.value if hasattr(value, "resolved") else value

    def holder(self, name: str) -> Attribute | Item | None:
        """What holds the value of an input; None in Kit, whose attributes are others."""
        if name in self._members:
            return self._members[name]
        return self._find("inputs", name) if self._find is not None else None

    @property
    def timing(self) -> Timing:
        """The costs of the node; in Kit, they go nowhere."""
        found: Timing = getattr(self.db.node, "timing", None) or Timing()
        return found

    def numbers(self, name: str) -> np.ndarray:
        """The elements of an input array."""
        return as_numbers(self.value(name), self.attributes.inputs[name])

    def companion(self, name: str, what: str) -> Any:
        """The value of `inputs:<name>:<what>`, None if there is no such attribute."""
        full = f"{name}_{what}"
        return self.value(full) if full in self.attributes.inputs else None

    def is_optional(self, name: str) -> bool:
        """True if an input array may be left without elements."""
        return bool(self.companion(name, "optional"))

    def has_source(self, name: str) -> bool:
        """True if a connection leads to `inputs:<name>`, or to the bundle that has it."""
        if name in self._members:
            return True
        wanted = python_name(f"inputs:{name}")
        found = (a for a in self.db.node.get_attributes() if python_name(a.get_name()) == wanted)
        return any(a.get_upstream_connection_count() for a in found)
