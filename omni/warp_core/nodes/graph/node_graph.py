"""Graphs of nodes in memory: attributes with values and connections, nodes, and the log they report to.

A graph knows nothing of USD (see graph_loader.py) nor of when to run (see evaluate.py). Data travels by
`Attribute.pull`: an input takes the value of its source, converted, when the source's `version` has moved. `Node` and
`Attribute` carry the method names of `omni.graph.core`, so that node classes written for Kit find what they call.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..ogn.ogn_spec import AttributeSpec, NodeSpec
from ..values.attribute_types import AttributeType
from ..values.attribute_values import Value, converter, same, zero

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?|\b(inf|nan)\b")


class GraphError(Exception):
    """Something in a graph that keeps part of it from running: where, what, and what to do."""


@dataclass
class Log:
    """Collects what goes wrong; every message names the node and is told once until it changes."""

    emit: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def error(self, where: str, text: str) -> None:
        """Report a failure; the play ends with a non-zero exit code."""
        self.errors.append(f"{where}: {text}")
        self.emit(f"error: {where}: {text}")

    def warning(self, where: str, text: str) -> None:
        """Report something odd that does not stop anything."""
        self.warnings.append(f"{where}: {text}")
        self.emit(f"warning: {where}: {text}")


class Attribute:
    """One attribute of one node. `spec` is None for dynamic attributes, which the node type does not declare."""

    __slots__ = (
        "_from",
        "_resolved",
        "_seen",
        "name",
        "node",
        "sources",
        "spec",
        "type",
        "value",
        "version",
    )

    def __init__(self, node: Node, name: str, kind: AttributeType, spec: AttributeSpec | None = None):
        self.node, self.name, self.type, self.spec = node, name, kind, spec
        self.value: Value = zero(kind) if spec is None else spec.default
        self.version = 0
        self.sources: list[Attribute] = []
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
    def port(self) -> str:
        """inputs, outputs or state."""
        return self.name.partition(":")[0]

    @property
    def base_name(self) -> str:
        """The name without its port."""
        return self.name.partition(":")[2]

    @property
    def resolved(self) -> AttributeType:
        """The type of the value: of the source for a connected `any`, else what was set, else the declared type."""
        attribute = self
        while attribute.type.is_any and attribute.sources:
            attribute = attribute.sources[0]
        return attribute._resolved or attribute.type

    def set(self, value: Value, kind: AttributeType | None = None) -> None:
        """Store a value; `kind` resolves an `any` attribute."""
        if kind is not None and self.type.is_any:
            self._resolved = kind
        self.value = value
        self.version += 1

    def set_if_changed(self, value: Value) -> None:
        """Store a value; nodes after this one only notice when it differs from the last."""
        if not same(self.value, value):
            self.set(value)

    def pull(self) -> None:
        """Take over the value of the source if it has one and it moved. Raises GraphError when types do not fit.

        Before the first value arrives over a cycle, the attribute keeps its own.
        """
        chain = [self]  # inputs connected to inputs
        while chain[-1].sources and chain[-1].sources[0].port == "inputs" and not chain[-1].type.is_execution:
            chain.append(chain[-1].sources[0])
        for attribute in reversed(chain):
            attribute._pull_one()

    def _pull_one(self) -> None:
        if not self.sources or self.type.is_execution:
            return
        source = self.sources[0]
        if source.version == self._seen or source.value is None:
            return
        kind = source.resolved
        if self._from is None or self._from[0] != kind:
            convert = converter(kind, self.type)
            if convert is None:
                raise GraphError(
                    f"{self.name} ({self.type}) cannot take {source.path} ({kind}); connect it to an attribute of the "
                    "same shape, or put a conversion between them"
                )
            self._from = (kind, convert)
        self.value = self._from[1](source.value)
        self._seen, self.version = source.version, self.version + 1

    @property
    def is_behind(self) -> bool:
        """True if the source has changed since the last `pull`."""
        attribute = self
        while attribute.sources:
            source = attribute.sources[0]
            if source.version != attribute._seen:
                return True
            attribute = source
        return False

    # The spellings of omni.graph.core.

    def get_name(self) -> str:
        """The name with its port, as in Kit."""
        return self.name

    def get_resolved_type(self) -> AttributeType:
        """The type of the value, as in Kit."""
        return self.resolved

    def set_resolved_type(self, kind: AttributeType) -> None:
        """Give an `any` attribute the type of its values, as in Kit."""
        if self.type.is_any:
            self._resolved = kind

    def is_dynamic(self) -> bool:
        """True if the node type does not declare the attribute, as in Kit."""
        return self.spec is None

    def get_upstream_connection_count(self) -> int:
        """Number of sources, as in Kit."""
        return len(self.sources)


@dataclass(slots=True)
class Timing:
    """Costs of a node so far, filled by nodes that compile and launch kernels."""

    compile_ms: float = 0.0
    kernel_ms: float = 0.0
    launches: int = 0


class NodeType:
    """A registered node type: its description and the class that computes."""

    def __init__(self, spec: NodeSpec, cls: Any, reads_stage: bool = False, uses_time: bool = False):
        self.spec, self.cls = spec, cls
        self.reads_stage, self.uses_time = reads_stage, uses_time

    def hook(self, name: str) -> Callable | None:
        """A method of the node class, None when it has none."""
        return getattr(self.cls, name, None)


class Node:
    """A node of a graph.

    `disabled` is the reason why it can never run, `failed` the reason why it gave no result in the current evaluation.
    `has_failed` is true once its own code has failed, in any frame.
    """

    __slots__ = (
        "_by_python_name",
        "_told",
        "attributes",
        "disabled",
        "failed",
        "has_failed",
        "host",
        "path",
        "ran",
        "saved_version",
        "shared_state",
        "timing",
        "type",
        "type_name",
    )

    def __init__(self, path: str, type_name: str, node_type: NodeType | None, host: Host):
        self.path, self.type_name, self.type, self.host = path, type_name, node_type, host
        self.attributes: dict[str, Attribute] = {}
        self.disabled = ""
        self.failed = ""
        self.has_failed = False
        self.ran = False
        self.timing = Timing()
        self.shared_state: Any = None
        self.saved_version = 0
        self._told = ""
        self._by_python_name: dict[tuple[str, str], Attribute] | None = None  # until it is needed

    def __repr__(self) -> str:
        return self.path

    def add(self, attribute: Attribute) -> Attribute:
        """Add an attribute, declared or dynamic."""
        self.attributes[attribute.name] = attribute
        self._by_python_name = None
        return attribute

    def remove(self, attribute: Attribute) -> None:
        """Remove an attribute."""
        del self.attributes[attribute.name]
        self._by_python_name = None

    def find(self, port: str, python_name: str) -> Attribute | None:
        """The attribute that Python calls `db.<port>.<python_name>`."""
        if self._by_python_name is None:
            self._by_python_name = {
                (attribute.port, attribute.base_name.replace(":", "_").replace(".", "_")): attribute
                for attribute in self.attributes.values()
            }
        return self._by_python_name.get((port, python_name))

    def on(self, port: str) -> Iterator[Attribute]:
        """The attributes of one port."""
        return (a for a in self.attributes.values() if a.port == port)

    @property
    def is_execution(self) -> bool:
        """True if execution connections run the node."""
        return self.type is not None and self.type.spec.is_execution

    def fail(self, text: str) -> None:
        """Mark the node as failed in this evaluation, telling the reason once until it changes."""
        self.failed = self.failed or text
        self.has_failed = True
        if self._is_news(text):
            self.host.log.error(self.path, text)

    def warn(self, text: str) -> None:
        """Report something odd, once until it changes."""
        if self._is_news(text):
            self.host.log.warning(self.path, text)

    def _is_news(self, text: str) -> bool:
        """True if `text` differs from the last report in more than its numbers: threads, indices, values."""
        gist = _NUMBER.sub("0", text)
        before, self._told = self._told, gist
        return gist != before

    def succeeded(self) -> None:
        """Forget what was told: the same mistake coming back is news again."""
        self._told = ""

    # The spellings of omni.graph.core.

    def get_prim_path(self) -> str:
        """Path of the node's prim, as in Kit."""
        return self.path

    def get_attributes(self) -> list[Attribute]:
        """All attributes, as in Kit."""
        return list(self.attributes.values())

    def get_attribute(self, name: str) -> Attribute:
        """An attribute by its full name, as in Kit. Raises KeyError."""
        return self.attributes[name]

    def get_attribute_exists(self, name: str) -> bool:
        """True if there is an attribute of that full name, as in Kit."""
        return name in self.attributes

    def node_id(self) -> int:
        """A number that is the node's own, as in Kit."""
        return id(self)

    def is_valid(self) -> bool:
        """Always true: nodes live as long as their graph."""
        return True


@dataclass
class Timeline:
    """The clock of a play. Frames are those of the command line; `fps` turns them into seconds."""

    fps: float = 24.0
    start: int = 0
    frame: int = 0
    is_playing: bool = True

    @property
    def time(self) -> float:
        """Seconds on the timeline."""
        return self.frame / self.fps

    @property
    def delta_seconds(self) -> float:
        """Seconds from one frame to the next."""
        return 1.0 / self.fps

    @property
    def elapsed(self) -> float:
        """Seconds since the play began."""
        return (self.frame - self.start) / self.fps


@dataclass
class Host:
    """Services for nodes beyond their graph: the log, the clock, the stage and the device to run on.

    `code` holds the text of each node that carries one, by node path, as it was when the user consented to run it.
    """

    log: Log = field(default_factory=Log)
    timeline: Timeline = field(default_factory=Timeline)
    store: Any = None
    device: str = "cpu"
    code: dict[str, str] = field(default_factory=dict)


class Graph:
    """Nodes with their connections. `evaluator` is execution, push or dirty_push."""

    def __init__(self, path: str, evaluator: str, host: Host):
        self.path, self.evaluator, self.host = path, evaluator, host
        self.nodes: dict[str, Node] = {}

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def sources_of(self, node: Node) -> Iterable[Node]:
        """The nodes whose data `node` reads, each once, in the order of its inputs."""
        found = (s.node for a in node.on("inputs") if not a.type.is_execution for s in a.sources)
        return dict.fromkeys(found)
