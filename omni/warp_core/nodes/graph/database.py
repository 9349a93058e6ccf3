"""The `db` that a node class sees in `compute(db)`: its attributes as Python properties, its state and its log.

The shape follows what Kit generates, so that the same class runs in both: `db.inputs.x`, `db.outputs.x = ...`,
`db.outputs.x_size = n` before writing into an array output, `db.per_instance_state`, `db.log_error(...)`. Arrays are
NumPy arrays, or arrays of the device of the play where the `.ogn` file asks for that (`memoryType`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.errors import nearest
from ..values.attribute_types import AttributeType
from ..values.attribute_values import Value, ValueTypeError, coerce, converter, unconverted
from ..values.device_values import DeviceValue
from .attribute import Attribute, GraphError
from .bundle_handles import BundlePorts
from .node_graph import Host, Node
from .placement import asked, given, value_of, zeros

# States of an execution output; the numbers are those of og.ExecutionAttributeState.
DISABLED, ENABLED, ENABLED_AND_PUSH, LATENT_PUSH, LATENT_FINISH = range(5)


class RuntimeAttribute:
    """An attribute whose type is found out at run time: `value`, and `type` once it is resolved."""

    __slots__ = ("_attribute",)
    _attribute: Attribute

    def __init__(self, attribute: Attribute):
        object.__setattr__(self, "_attribute", attribute)

    @property
    def resolved(self) -> bool:
        """True if the type is known."""
        return not self._attribute.resolved.is_any

    @property
    def type(self) -> AttributeType:
        """The type of the value."""
        return self._attribute.resolved

    @property
    def value(self) -> Value:
        """The value, None before the first one."""
        return asked(self._attribute)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "value":
            raise AttributeError(f"{self._attribute.path}: only value can be set, not {name}")
        _store(self._attribute, value)


def _store(attribute: Attribute, value: Any) -> None:
    if attribute.type.is_execution:
        attribute.value = int(value)
        return
    if isinstance(value, array):
        value = given(value, attribute.resolved, attribute.node.timing)
    if type(value) is DeviceValue and converter(value.kind, attribute.resolved) is unconverted:
        attribute.set(value)
        return
    try:
        attribute.set(coerce(value, attribute.resolved))
    except ValueTypeError as error:
        raise GraphError(f"{attribute.name}: {error}") from None


def _zeros(attribute: Attribute, count: int) -> Value:
    kind, node = attribute.resolved, attribute.node
    if not kind.is_numeric:
        return ("",) * count
    if attribute.memory == "cuda":
        return value_of(zeros(node, kind, count), kind, node.timing)
    return np.zeros((count, *kind.shape), kind.dtype)


class Ports:
    """One side of a node: `db.inputs`, `db.outputs` or `db.state`."""

    __slots__ = ("_bundles", "_node", "_port")
    _bundles: BundlePorts
    _node: Node
    _port: str

    def __init__(self, node: Node, port: str, bundles: BundlePorts):
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "_port", port)
        object.__setattr__(self, "_bundles", bundles)

    def _find(self, name: str) -> Attribute:
        found = self._node.find(self._port, name)
        if found is None:
            names = [a.base_name for a in self._node.on(self._port)]
            hint = ", ".join(nearest(name, names)) or ", ".join(names) or "none"
            raise AttributeError(f"{self._node.path} has no {self._port}:{name}; it has {hint}")
        return found

    def _sized(self, name: str) -> Attribute | None:
        if not name.endswith("_size") or self._node.find(self._port, name):
            return None
        found = self._node.find(self._port, name[:-5])
        return found if found is not None and found.resolved.is_array else None

    def __getattr__(self, name: str) -> Any:
        attribute = self._node.find(self._port, name)
        if attribute is None:
            sized = self._sized(name)
            if sized is not None:
                return len(sized.held)
            attribute = self._find(name)
        if attribute.type.is_bundle:
            return self._bundles.contents(attribute)
        return RuntimeAttribute(attribute) if attribute.type.is_any else asked(attribute)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._port == "inputs":
            raise AttributeError(f"{self._node.path}: inputs are read only while computing (inputs:{name})")
        known = self._node.find(self._port, name)
        sized = self._sized(name) if known is None else None
        if sized is None:
            attribute = known or self._find(name)
            if attribute.type.is_bundle:
                self._bundles.store(attribute, value)
            else:
                _store(attribute, value)
            return
        sized.set(_zeros(sized, int(value)))


class Database:
    """The argument of `compute(db)`."""

    __slots__ = ("_bundles", "_node", "inputs", "outputs", "state")

    def __init__(self, node: Node):
        self._node, self._bundles = node, BundlePorts()
        self.inputs, self.outputs, self.state = (
            Ports(node, port, self._bundles) for port in ("inputs", "outputs", "state")
        )

    @property
    def node(self) -> Node:
        """The node being computed."""
        return self._node

    @property
    def host(self) -> Host:
        """Stage, clock and log; only in this host, not in Kit."""
        return self._node.host

    @property
    def tokens(self) -> Any:
        """The tokens the node type declares, by name."""
        return _Tokens(self._node.type.spec.tokens if self._node.type else {})

    @property
    def shared_state(self) -> Any:
        """The object that `internal_state()` of the node class gave for this node."""
        return self._node.shared_state

    per_instance_state = shared_state
    internal_state = shared_state

    def log_error(self, message: str) -> None:
        """Report a failure of this node; it counts as not computed."""
        self._node.fail(message)

    def log_warning(self, message: str) -> None:
        """Report something odd."""
        self._node.warn(message)

    def finish(self) -> None:
        """Let other nodes see the bundles that this compute wrote."""
        self._bundles.finish()

    def set_execution_enabled(self, name: str, state: int = ENABLED) -> None:
        """Let the evaluator follow an execution output: "outputs:execOut". Raises RuntimeError where it is missing."""
        self._execution(name).value = state

    def set_execution_enabled_and_pushed(self, name: str) -> None:
        """Let the evaluator follow an execution output, and compute this node again when that chain has ended."""
        self._execution(name).value = ENABLED_AND_PUSH

    def get_execution_enabled(self, name: str) -> bool:
        """True if the execution input `name` ("inputs:execIn") is the one that made this node run."""
        return self._execution(name).value != DISABLED

    def start_latent_state(self) -> None:
        """Let this node wait: it is computed in every evaluation until it ends the state. Raises RuntimeError."""
        if self._node.latent:
            raise RuntimeError(f"{self._node.path} is in the latent state already")
        self._node.latent = True

    def end_latent_state(self) -> None:
        """End the wait of this node. Raises RuntimeError if it does not wait."""
        if not self._node.latent:
            raise RuntimeError(f"{self._node.path} is not in the latent state")
        self._node.latent = False

    def get_latent_state(self) -> bool:
        """True if this node waits."""
        return self._node.latent

    def _execution(self, name: str) -> Attribute:
        found = self._node.attributes.get(name)
        if found is None or not found.type.is_execution:
            names = ", ".join(a.name for a in self._node.attributes.values() if a.type.is_execution)
            raise RuntimeError(f"{self._node.path} has no execution attribute {name!r}; it has {names or 'none'}")
        return found

    def set_dynamic_attribute_memory_location(self, on_gpu: bool, gpu_ptr_kind: Any = None) -> None:
        """Say where this node wants the arrays of its dynamic attributes: on the device of the play, or as NumPy."""
        for attribute in self._node.attributes.values():
            if attribute.spec is None:
                attribute.memory = "cuda" if on_gpu else "cpu"


class _Current:
    """The node that is being computed, for interfaces that are called without its database."""

    database: Database | None = None


CURRENT = _Current()


class _Tokens:
    def __init__(self, tokens: dict[str, str]):
        self.__dict__.update(tokens)


def start(node: Node) -> None:
    """Prepare a node as Kit does on creation: internal state, version update, `initialize`. Raises GraphError."""
    if node.type is None:
        return
    make = node.type.hook("internal_state")
    node.shared_state = make() if callable(make) else make
    update, version = node.type.hook("update_node_version"), node.type.spec.version
    if update and 0 < node.saved_version < version:
        if update(None, node, node.saved_version, version) is False:
            raise GraphError(f"update_node_version cannot bring version {node.saved_version} to {version}")
        node.saved_version = version
    initialize = node.type.hook("initialize")
    if initialize:
        initialize(None, node)


def stop(node: Node) -> None:
    """Let a node free what it holds."""
    release = node.type.hook("release") if node.type else None
    if release:
        release(node)
