"""The values of a node's attributes as a kernel run needs them, by the names that Python gives them.

An attribute `inputs:grid:dims` is called `grid_dims` here. It is a *companion* of the parameter `grid`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..graph.attribute import Attribute
from ..graph.node_graph import Timing
from ..values.array_elements import as_numbers
from ..values.attribute_types import AttributeType, parse


@dataclass(frozen=True)
class Attributes:
    """The attributes the user added to a node, base name -> type. Where they change, another program is needed."""

    inputs: dict[str, AttributeType]
    outputs: dict[str, AttributeType]
    states: dict[str, AttributeType] = field(default_factory=dict)
    own: tuple[str, ...] = ()  # the inputs that every Kernel node has, whose names no parameter can have

    @property
    def arrays(self) -> list[str]:
        """The names of the input arrays."""
        return [name for name, kind in self.inputs.items() if kind.is_array]


_PORTS = {"inputs": "inputs", "outputs": "outputs", "state": "states"}


def dynamic(db: Any) -> Attributes:
    """The user's attributes of the node."""
    own = (a.get_name() for a in db.node.get_attributes() if not a.is_dynamic())
    found = Attributes({}, {}, {}, tuple(name.partition(":")[2] for name in own if name.startswith("inputs:")))
    for attribute in db.node.get_attributes():
        if not attribute.is_dynamic():
            continue
        port, _, name = attribute.get_name().partition(":")
        kind = parse(attribute.get_resolved_type().get_ogn_type_name())
        if port in _PORTS and not kind.is_execution:
            getattr(found, _PORTS[port])[name.replace(":", "_")] = kind
    return found


class NodeValues:
    """The values of one node in one evaluation."""

    def __init__(self, db: Any, attributes: Attributes):
        self.db, self.attributes = db, attributes
        self._find = getattr(db.node, "find", None)  # of this host, as Kit's nodes have no such method

    def value(self, name: str, port: str = "inputs") -> Any:
        """The value of an attribute in its canonical form."""
        found = self._find(port, name) if self._find is not None else None
        if found is not None:
            return found.held
        value = getattr(getattr(self.db, port), name)
        return value.value if hasattr(value, "resolved") else value

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of an input; None in Kit, whose attributes are others."""
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
        """True if a connection leads to `inputs:<name>`."""
        wanted = f"inputs:{name}"
        found = (a for a in self.db.node.get_attributes() if a.get_name().replace(":", "_") == wanted.replace(":", "_"))
        return any(a.get_upstream_connection_count() for a in found)
