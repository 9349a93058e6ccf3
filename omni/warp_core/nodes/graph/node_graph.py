"""Graphs of nodes in memory: nodes with their attributes and variables, and the log they report to.

A graph knows nothing of USD (see graph_loader.py) nor of when to run (see evaluate.py). Values and connections are
those of attributes (see attribute.py). `Graph`, `Node` and `Attribute` carry the method names of `omni.graph.core`, so
that node classes written for Kit find what they call.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from ..ogn.ogn_spec import PORTS, NodeSpec
from ..values.attribute_types import AttributeType, parse
from ..values.attribute_values import Value
from .attribute import Attribute, GraphError

STAGES = ("pipelineStageSimulation", "pipelineStagePreRender", "pipelineStagePostRender", "pipelineStageOnDemand")
MODES = ("Automatic", "Standalone", "Instanced")
_NUMBER = re.compile(r"0x[0-9a-f]+|[-+]?\d+(\.\d+)?(e[-+]?\d+)?|\b(inf|nan)\b")


@dataclass
class Log:
    """Collects what goes wrong; every message names the node and is told once until it changes.

    `show`, or else `emit`, gets what nodes print; that is no failure.
    """

    emit: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
    show: Callable[[str], None] | None = None
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

    def note(self, level: str, where: str, text: str) -> None:
        """Print what a node wants to tell the user."""
        (self.show or self.emit)(f"{level}: {where}: {text}")


@dataclass(slots=True)
class Timing:
    """Costs of a node so far. The evaluator adds `wall_ms`, which nodes that run as one graph share equally.

    Nodes that compile and launch kernels fill the rest. `replays` counts the frames that ran as part of a graph, and
    `launched_because` says why others did not. `uploads` and `downloads` are copies to a
    device and from it.
    """

    wall_ms: float = 0.0
    compile_ms: float = 0.0
    kernel_ms: float = 0.0
    launches: int = 0
    replays: int = 0
    launched_because: str = ""
    uploads: int = 0
    downloads: int = 0

    def count_upload(self) -> None:
        """Count an array that was copied to a device."""
        self.uploads += 1

    def count_download(self) -> None:
        """Count an array or number that was copied from a device."""
        self.downloads += 1


class NodeType:
    """A registered node type: its description and the class that computes.

    `reads_stage` and `uses_time` say what a node depends on besides its inputs. An event node that `is_first` starts
    its chain before all others. The attributes of a compound node (`is_compound`) pass values on, and its class does
    nothing.
    """

    def __init__(
        self,
        spec: NodeSpec,
        cls: Any,
        reads_stage: bool = False,
        uses_time: bool = False,
        is_first: bool = False,
        is_compound: bool = False,
    ):
        self._describe(spec)
        self.cls = cls
        self.reads_stage, self.uses_time = reads_stage, uses_time
        self.is_first, self.is_compound = is_first, is_compound

    def _describe(self, spec: NodeSpec) -> None:
        self.spec = spec
        self.is_execution, self.is_event = spec.is_execution, spec.is_event
        self.on_request = "compute-on-request" in spec.scheduling

    def with_spec(self, spec: NodeSpec) -> NodeType:
        """Return a type of the same class with another description."""
        variant = copy(self)
        variant._describe(spec)
        return variant

    def hook(self, name: str) -> Callable | None:
        """A method of the node class, None when it has none."""
        return getattr(self.cls, name, None)


class Node:
    """A node of a graph.

    `disabled` is the reason why it can never run, `failed` the reason why it gave no result in the current evaluation.
    `has_failed` is true once its own code has failed, in any frame. A node that is not `enabled` was switched off by
    the scene or by a program: it rests, and its outputs keep their values. `latent`: it waits, and is computed in every
    evaluation until it ends that. `requested`: it asked to be computed in the next evaluation. `layout` grows whenever
    an attribute is added or removed.
    """

    __slots__ = (
        "_by_python_name",
        "_told",
        "_warned",
        "attributes",
        "disabled",
        "edits",
        "enabled",
        "failed",
        "graph",
        "has_failed",
        "host",
        "latent",
        "layout",
        "path",
        "ran",
        "requested",
        "saved_version",
        "shared_state",
        "timing",
        "type",
        "type_name",
    )

    def __init__(self, path: str, type_name: str, node_type: NodeType | None, host: Host):
        self.path, self.type_name, self.type, self.host = path, type_name, node_type, host
        self.graph: Graph | None = None
        self.attributes: dict[str, Attribute] = {}
        self.enabled = True
        self.latent = self.requested = False
        self.disabled = ""
        self.failed = ""
        self.has_failed = False
        self.edits = self.layout = 0
        self.ran = False
        self.timing = Timing()
        self.shared_state: Any = None
        self.saved_version = 0
        self._told = self._warned = ""
        self._by_python_name: dict[tuple[str, str], Attribute] | None = None  # until it is needed

    def __repr__(self) -> str:
        return self.path

    def add(self, attribute: Attribute) -> Attribute:
        """Add an attribute, declared or dynamic."""
        self.attributes[attribute.name] = attribute
        self._changed()
        return attribute

    def remove(self, attribute: Attribute) -> None:
        """Remove an attribute."""
        del self.attributes[attribute.name]
        self._changed()

    def _changed(self) -> None:
        self._by_python_name = None
        self.layout += 1
        if self.graph is not None:
            self.graph.is_changed = True

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
        return self.type is not None and self.type.is_execution

    @property
    def is_compound(self) -> bool:
        """True if the attributes of the node pass values between its graph and the graph below it."""
        return self.type is not None and self.type.is_compound

    @property
    def is_on(self) -> bool:
        """True if neither the node nor a compound node or graph around it was switched off."""
        graph = self.graph
        return self.enabled and (graph is None or (graph.enabled if graph.parent is None else graph.is_on))

    @property
    def label(self) -> str:
        """The path, and the prim that the node is evaluated for if there are several."""
        graph = self.graph.outermost if self.graph is not None else None
        return self.path if graph is None or graph.target == graph.path else f"{self.path} for {graph.target}"

    def fail(self, text: str) -> None:
        """Mark the node as failed in this evaluation, telling the reason once until it changes."""
        self.failed = self.failed or text
        self.has_failed = True
        if self._is_news(text):
            self.host.log.error(self._where, text)

    def warn(self, text: str) -> None:
        """Report something odd, once until it changes."""
        gist = _NUMBER.sub("0", text)
        before, self._warned = self._warned, gist
        if gist != before:
            self.host.log.warning(self._where, text)

    @property
    def _where(self) -> str:
        """The label, and the frame if it is not the first one."""
        timeline = self.host.timeline
        return self.label if timeline.frame == timeline.start else f"{self.label} in frame {timeline.frame}"

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

    def create_attribute(self, name: str, kind: str | AttributeType, port: str = "inputs") -> Attribute:
        """Add a dynamic attribute, as in Kit; a name without port gets `port`. Raises GraphError."""
        full = name if name.partition(":")[0] in PORTS else f"{port}:{name}"
        if full in self.attributes:
            raise GraphError(f"{self.path} has an attribute {full} already")
        return self.add(Attribute(self, full, parse(kind) if isinstance(kind, str) else kind))

    def remove_attribute(self, name: str) -> bool:
        """Remove a dynamic attribute and what is connected to it, as in Kit; False where there was no such one."""
        found = self.attributes.get(name)
        if found is None or found.spec is not None:
            return False
        del self.attributes[name]
        for node in self.graph.outermost if self.graph is not None else ():
            for attribute in node.attributes.values():
                if found in attribute.sources:
                    attribute.sources.remove(found)
        self._changed()
        return True

    def get_graph(self) -> Graph | None:
        """The graph of the node, as in Kit."""
        return self.graph

    def is_disabled(self) -> bool:
        """True if the node was switched off, as in Kit."""
        return not self.enabled

    def set_disabled(self, disabled: bool) -> None:
        """Switch the node off or on, as in Kit."""
        self.enabled = not disabled

    def request_compute(self) -> bool:
        """Ask to be computed in the next evaluation, as in Kit; for nodes with the hint compute-on-request."""
        self.requested = True
        return True

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
class Events:
    """Custom events by name: the path that was sent with each.

    An event sent in one frame reaches its listeners in the next one, as over the message bus of Kit. Of several with
    the same name, the last one counts.
    """

    sent: dict[str, str] = field(default_factory=dict)
    arrived: dict[str, str] = field(default_factory=dict)

    def send(self, name: str, path: str) -> None:
        """Send an event to the listeners of the next frame."""
        self.sent[name] = path

    def advance(self) -> None:
        """Begin a frame: what was sent has arrived."""
        self.arrived, self.sent = self.sent, {}


class Observer:
    """Is told what a play does: frames, and nodes that begin and end, several where they run as one."""

    def frame(self, frame: int) -> None:
        """A frame begins."""

    def begin(self, nodes: Sequence[Node]) -> None:
        """These nodes are going to run."""

    def end(self, nodes: Sequence[Node]) -> None:
        """They have run."""


@dataclass
class Host:
    """Services for nodes beyond their graph: the log, the clock, the stage and the device to run on.

    `code` holds the text of each node that carries one, by node path, as it was when the user consented to run it.
    `files` has the paths of the other files that such nodes read, by node path and input. Nodes without code read files
    below `folder` only, "" if anywhere. `observers` are told what runs. `replays` is False where nodes must run one by
    one.
    """

    log: Log = field(default_factory=Log)
    timeline: Timeline = field(default_factory=Timeline)
    store: Any = None
    device: str = "cpu"
    code: dict[str, str] = field(default_factory=dict)
    files: dict[tuple[str, str], str] = field(default_factory=dict)
    folder: str = ""
    events: Events = field(default_factory=Events)
    observers: list[Observer] = field(default_factory=list)
    replays: bool = True

    def require_readable(self, path: str) -> None:
        """Raise GraphError for a file that nodes must not read. Links are followed."""
        root, real = os.path.realpath(self.folder), os.path.realpath(path)
        if self.folder and os.path.commonpath((root, real)) != root:
            raise GraphError(
                f"{path} lies outside of the scene's folder {self.folder}; put the file there, or, if you trust the "
                "scene, play with --trust (trust=True in Python)"
            )


@dataclass
class Instance:
    """A prim that a graph is evaluated for, and the values that it gives to variables of the graph."""

    target: str
    variables: dict[str, Value] = field(default_factory=dict)


class Graph:
    """Nodes with their connections. `evaluator` is execution, push or dirty_push, `stage` a pipeline stage.

    The graph below a compound node has a `parent`. Its nodes are among the `nodes` of the `outermost` graph, which runs
    them. `target` is the prim that a graph is evaluated for: the graph itself, or each of its `instances`. `variables`
    are the graph's own. `is_changed` tells the evaluator that attributes were added or removed.
    """

    def __init__(self, path: str, evaluator: str, host: Host, parent: Graph | None = None):
        self.path, self.evaluator, self.host, self.parent = path, evaluator, host, parent
        self.outermost: Graph = self if parent is None else parent.outermost
        self.nodes: dict[str, Node] = {}
        self.variables: dict[str, Attribute] = {}
        self.stage = STAGES[0]
        self.mode = MODES[0]
        self.enabled = True
        self.target = path
        self.instances: list[Instance] = []
        self.is_changed = False

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    @property
    def is_on(self) -> bool:
        """True if neither the graph nor a compound node or graph around it was switched off."""
        graph: Graph | None = self
        while graph is not None:
            holder = self.outermost.nodes.get(graph.path.rpartition("/")[0])
            if not graph.enabled or (holder is not None and not holder.enabled):
                return False
            graph = graph.parent
        return True

    # The spellings of omni.graph.core.

    def find_variable(self, name: str) -> Attribute | None:
        """A variable of this graph or of one around it, as in Kit."""
        graph: Graph | None = self
        while graph is not None:
            if name in graph.variables:
                return graph.variables[name]
            graph = graph.parent
        return None

    def get_path_to_graph(self) -> str:
        """The path of the graph's prim, as in Kit."""
        return self.path

    def is_disabled(self) -> bool:
        """True if the graph was switched off, as in Kit."""
        return not self.enabled

    def set_disabled(self, disabled: bool) -> None:
        """Switch the graph off or on, as in Kit."""
        self.enabled = not disabled
