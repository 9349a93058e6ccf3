"""Attributes of nodes: a value with a type and a version, and where the value comes from.

Data travels by `Attribute.pull`: an input takes the value of its source, converted, when the source's `version` has
moved. The source is what `feed` names. That is the connected attribute, or the one at the other side of a compound
node, which topology.py finds.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..ogn.ogn_spec import AttributeSpec
from ..values.attribute_types import AttributeType, parse
from ..values.attribute_values import Value, converter, is_unchanged, unconverted, zero
from ..values.bundles import merged
from ..values.device_values import DeviceValue, known, on_cpu

if TYPE_CHECKING:
    from .node_graph import Node

_LISTED = 6  # members of a union that an error names
_PORTS = {port: port for port in ("inputs", "outputs", "state")}  # one text for all attributes


class GraphError(Exception):
    """Something in a graph that keeps part of it from running: where, what, and what to do."""


def arriving(source: AttributeType, target: AttributeType) -> AttributeType | None:
    """Return the type that a value of type `source` has in an attribute of type `target`; None if it does not fit.

    A union takes its own members as they are, and converts others to the first member that can hold them.
    """
    if (target.is_any and source.is_execution) or (target.is_execution and source.is_any):
        return None
    if not target.is_any:
        return target if converter(source, target) else None
    if source.is_any or source in target.members or not target.members:
        return source
    return next((m for m in target.members if not m.is_any and converter(source, m)), None)


def type_words(kind: AttributeType) -> str:
    """Return the name of a type for an error; of a long union the first members."""
    more = len(kind.members) - _LISTED
    if more <= 0:
        return str(kind)
    return "one of " + ", ".join(map(str, kind.members[:_LISTED])) + f" and {more} more"


def without_value(attribute: Attribute) -> GraphError:
    """Return the error for an input that a node needs and that has no value."""
    name = attribute.name
    if attribute.source is None:
        return GraphError(f"{name} has no value; connect it or set it")
    return GraphError(
        f"{name} has no value: it is connected to {attribute.source.path}, which has none yet. Let the node there run "
        f"before this one; in a cycle of connections, set {name} too: the first frame starts with that value"
    )


class Attribute:
    """One attribute of one node. `spec` is None for dynamic attributes, which the node type does not declare.

    `memory` is where the node class wants arrays: cpu, cuda, or any for where they lie.
    """

    __slots__ = (
        "_from",
        "_resolved",
        "_seen",
        "_value",
        "feed",
        "memory",
        "name",
        "node",
        "others",
        "port",
        "sources",
        "spec",
        "type",
        "version",
    )

    def __init__(self, node: Node, name: str, kind: AttributeType, spec: AttributeSpec | None = None):
        self.node, self.name, self.type, self.spec = node, name, kind, spec
        port = name.partition(":")[0]
        self.port = _PORTS.get(port, port)
        self.memory = "cpu" if spec is None else spec.memory
        self._value: Value = zero(kind) if spec is None else spec.default
        self.version = 0
        self.sources: list[Attribute] = []
        self.feed: Attribute | None = None
        self.others: tuple[Attribute, ...] = ()  # further sources, of an attribute that gathers
        self._resolved: AttributeType | None = None
        self._seen = -1
        self._from: tuple[AttributeType, Callable[[Value], Value]] | None = None

    def __repr__(self) -> str:
        return self.path

    @property
    def path(self) -> str:
        """The path of the attribute: /Graph/node.inputs:x."""
        return f"{self.node.path}.{self.name}"

    @property
    def base_name(self) -> str:
        """The name without its port."""
        return self.name.partition(":")[2]

    # -- types --------------------------------------------------------------------------------------------------------

    @property
    def resolved(self) -> AttributeType:
        """The type of the value: of the source for a connected `any`, else what was set, else the declared type."""
        if not self.type.is_any:
            return self.type
        chain = [self]  # up to the first attribute whose type is known
        while chain[-1].type.is_any and (source := chain[-1].source) is not None:
            if source.version == chain[-1]._seen:
                break
            chain.append(source)
        kind = chain[-1]._resolved or chain[-1].type
        for link in reversed(chain[:-1]):
            held = None if kind.is_any else arriving(kind, link.type)
            kind = held or link._resolved or link.type
        return kind

    @property
    def wanted(self) -> AttributeType | None:
        """The type that the node itself gives to the attribute, whatever is connected; None if that is open."""
        return self.type if not self.type.is_any else self._resolved

    def set_resolved_type(self, wanted: AttributeType | Any) -> None:
        """Decide the type of an `any` or union attribute, as `on_connection_type_resolve` does in Kit.

        `wanted` may be an `og.Type`; an unknown one leaves the type open. A value that the attribute has already is
        converted; one that cannot be becomes the type's empty value. Raises GraphError where the attribute cannot have
        that type.
        """
        kind = wanted
        if not isinstance(wanted, AttributeType):
            name = wanted.get_ogn_type_name()
            if name == "unknown":
                self._resolved = None
                return
            kind = parse(name)
        if not self.type.is_any or kind.is_any or arriving(kind, self.type) != kind:
            raise GraphError(f"{self.name} is {type_words(self.type)}; it cannot be resolved to {kind}")
        before, self._resolved = self._resolved, kind
        if before == kind or self.sources:
            return
        convert = converter(before, kind) if before is not None and self.value is not None else None
        self.set(zero(kind) if convert is None else convert(self.value))

    def resolve(self, kind: AttributeType) -> None:
        """Take the type that the scene notes for an `any` attribute, whose value is not known yet."""
        self._resolved = kind

    # -- values -------------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        """The value in its canonical form. One that lies on a device is copied."""
        return on_cpu(self._value)

    @value.setter
    def value(self, value: Value) -> None:
        self._value = value

    @property
    def held(self) -> Value:
        """The value where it lies: a DeviceValue for one on a device."""
        return self._value

    def set(self, value: Value, kind: AttributeType | None = None) -> None:
        """Store a value; `kind` resolves an `any` attribute."""
        if kind is not None and self.type.is_any:
            self._resolved = kind
        self._value = value
        self.version += 1
        self.node.edits += 1

    def set_if_changed(self, value: Value) -> None:
        """Store a value; nodes after this one only notice when it differs from the last."""
        if not is_unchanged(known(self._value), value):
            self.set(value)

    def hold(self, value: DeviceValue) -> None:
        """Hold the same numbers on a device, too, as do the attributes that they came from."""
        before = self._value
        attribute: Attribute | None = self
        while attribute is not None and attribute._value is before:
            attribute._value = value
            attribute = attribute.source

    def pull(self) -> None:
        """Take over the value of the source if it moved, through a chain of connected inputs if there is one.

        Raises GraphError when types do not fit. Before the first value arrives over a cycle, the attribute keeps its
        own.
        """
        chain = [self]
        while (source := chain[-1].source) is not None and source.port == "inputs" and source.sources:
            if source.type.is_execution:
                break
            chain.append(source)
        for attribute in reversed(chain):
            attribute.pull_one()

    def pull_one(self) -> None:
        """Take over the value of the source if it moved; the source itself is up to date."""
        source = self.source
        if source is not None and self.others:
            self._gather((source, *self.others))
            return
        if source is None or self.type.is_execution or source.version == self._seen or source._value is None:
            return
        kind = source.resolved
        if self._from is None or self._from[0] != kind:
            self._from = (kind, self._converter(source, kind))
        convert = self._from[1]
        self._value = source._value if convert is unconverted else convert(source.value)
        self._seen, self.version = source.version, self.version + 1

    @property
    def gathers(self) -> bool:
        """True if the attribute takes the values of all of its sources: bundles and targets do."""
        return self.type.is_bundle or self.type.is_paths

    def _gather(self, sources: tuple[Attribute, ...]) -> None:
        versions = sum(source.version for source in sources)
        if versions != self._seen:
            values = [source.value for source in sources]
            self.value = merged(values) if self.type.is_bundle else tuple(dict.fromkeys(chain.from_iterable(values)))
            self._seen, self.version = versions, self.version + 1

    def _converter(self, source: Attribute, kind: AttributeType) -> Callable[[Value], Value]:
        held = arriving(kind, self.type)
        convert = converter(kind, held) if held is not None else None
        if convert is None:
            raise GraphError(
                f"{self.name} ({type_words(self.type)}) cannot take {source.path} ({type_words(kind)}); connect it to "
                "an attribute of the same shape, or put a conversion between them"
            )
        self._resolved = held
        return convert

    @property
    def source(self) -> Attribute | None:
        """The attribute whose value this one takes, None if it is not connected."""
        if not self.sources:
            return None
        return self.feed or self.sources[0]

    @property
    def is_behind(self) -> bool:
        """True if the source has changed since the last `pull`."""
        source = self.source
        if source is None:
            return False
        return source.version + sum(other.version for other in self.others) != self._seen

    def feed_from(self, source: Attribute | None, others: tuple[Attribute, ...] = ()) -> None:
        """Decide the attributes that values come from; new ones are taken over at the next `pull`."""
        if source is not self.feed or others != self.others:
            self.feed, self.others, self._seen, self._from = source, others, -1, None

    # -- the spellings of omni.graph.core -----------------------------------------------------------------------------

    def get(self) -> Value:
        """The value, as in Kit."""
        return self.value

    def connect(self, target: Attribute, modify_usd: bool = False) -> bool:
        """Let `target` take the value of this attribute, as in Kit; the stage stays as it is."""
        target.sources.append(self)
        return True

    def get_name(self) -> str:
        """The name with its port, as in Kit."""
        return self.name

    def get_node(self) -> Node:
        """The node of the attribute, as in Kit."""
        return self.node

    def get_resolved_type(self) -> AttributeType:
        """The type of the value, as in Kit."""
        return self.resolved

    def is_dynamic(self) -> bool:
        """True if the node type does not declare the attribute, as in Kit."""
        return self.spec is None

    def get_upstream_connections(self) -> list[Attribute]:
        """The sources, as in Kit."""
        return list(self.sources)

    def get_upstream_connection_count(self) -> int:
        """Number of sources, as in Kit."""
        return len(self.sources)
