"""Chains of Kernel nodes as one graph that runs without Python: captured after a frame, replayed in the next ones.

A chain is a sequence of Kernel nodes that an evaluator runs one after the other. After a frame in which all of them
have run, `Chain.learn` captures their fills, launches and copies. `Chain.replay` then runs a frame: it passes new
numbers and arrays to the recorded launches, and refuses when anything else has changed. The nodes are then evaluated as
ever, and the chain learns again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.attribute import Attribute, GraphError
from ..graph.node_graph import Node
from .diagnostics import show_status
from .kernel_bindings import Binding
from .kernel_node import KernelState, settled_run
from .kernel_run import Run
from .kernel_types import as_array, as_scalar
from .signature import COMPANIONS

_MOST_LAUNCHES = 1 << 14  # in one graph
_MOST_CAPTURES = 4  # without a replay between them


class Refused(Exception):
    """A chain that cannot be replayed, and why. `node` is the one to leave out, None if the reason may pass."""

    def __init__(self, text: str, node: Node | None = None):
        super().__init__(text)
        self.node = node


@dataclass
class _Feed:
    """A value from outside of the chain, and the recorded launches that take it in one form.

    `attribute` is one of the inputs that it goes to. The others stand for the same value and are not pulled.
    """

    attribute: Attribute
    binding: Binding | None
    value: Any
    targets: list[tuple[Any, int]] = field(default_factory=list)

    @property
    def is_nested(self) -> bool:
        """True if the value comes through a chain of connected inputs."""
        source = self.attribute.source
        return source is not None and bool(source.sources)

    def pass_on(self) -> bool:
        """Give the newest value to the launches. Returns False if that takes another graph."""
        self.attribute.pull()
        value, before, binding = self.attribute.value, self.value, self.binding
        if value is before:
            return True
        if binding is None:
            return False
        if not binding.rank:
            argument = as_scalar(value, binding.attribute, binding.type)
        elif value.shape == before.shape and value.dtype == before.dtype:
            argument = as_array(value, binding.element, value.shape[:1])
        else:
            return False
        for command, index in self.targets:
            command.set_param_at_index(index, argument)
        self.value = value
        return True


class Chain:
    """Nodes in the order in which they run. Start with `replay` and `learn`."""

    def __init__(self, nodes: Sequence[Node], databases: Sequence[Any]):
        self.nodes, self._databases = list(nodes), list(databases)
        self.why = ""  # the reason why the chain is not replayed
        self._graph: Any = None
        self._captures = 0
        self._replays = 0
        self._ms = 0.0
        self._frame = 0
        self._feeds: dict[Any, _Feed] = {}
        self._before: dict[Node, None] = {}
        self._keeps_arrays = False
        self._outputs: list[Attribute] = []
        self._edits: list[int] = []
        self._code: dict[str, str] = {}
        self._launches: dict[Node, int] = {}

    # -- replaying ----------------------------------------------------------------------------------------------------

    def replay(self) -> bool:
        """Run a frame of all nodes. Returns False if the nodes have to be evaluated instead."""
        if self._graph is None:
            return False
        started = time.perf_counter()
        try:
            if not self._is_current():
                self._graph = None
                return False
            wp.capture_launch(self._graph)
        except (GraphError, wp.KernelError, TypeError, ValueError) as error:
            self._graph = None
            if self._keeps_arrays and isinstance(error, wp.KernelError):
                self.nodes[0].fail(str(error))  # another run would advance its arrays again
                return True
            return False  # the evaluation of the nodes finds the one that is wrong, and tells
        for output in self._outputs:
            output.version += 1
        self._ms += (time.perf_counter() - started) * 1e3
        self._replays += 1
        self._captures = 0
        return True

    def _is_current(self) -> bool:
        host = self.nodes[0].host
        frame = host.timeline.frame
        if frame < self._frame or host.code is not self._code or any(node.failed for node in self._before):
            return False
        self._frame = frame
        if [node.edits for node in self.nodes] != self._edits or not all(node.enabled for node in self.nodes):
            return False
        return all(feed.pass_on() for feed in self._feeds.values() if feed.is_nested or feed.attribute.is_behind)

    def finish(self) -> None:
        """Add the costs of all replays to the nodes."""
        for node in self.nodes:
            node.timing.kernel_ms += self._ms / len(self.nodes)
            node.timing.replays += self._replays
            node.timing.launches += self._replays * self._launches.get(node, 0)
            node.timing.launched_because = self.why
        self._ms, self._replays = 0.0, 0

    # -- capturing ----------------------------------------------------------------------------------------------------

    def learn(self) -> list[Chain]:
        """Capture the frame that the nodes have just run; `why` says why not.

        Returns:
            The chains to go on with: this one, or its parts where a node has to be left out.
        """
        if any(node.failed or not node.enabled for node in self.nodes):
            return [self]
        try:
            if self._captures >= _MOST_CAPTURES:
                raise Refused("its inputs change in size or kind in every frame")
            self._capture()
            self.why = ""
        except Refused as refused:
            self._graph, self.why = None, str(refused)
            if refused.node is not None and len(self.nodes) > 1:
                return self._without(refused.node)
        except (GraphError, RuntimeError, ValueError, TypeError) as error:
            self._graph, self.why = None, str(error)
        self._tell()
        self._edits = [node.edits for node in self.nodes]
        return [self]

    def _without(self, node: Node) -> list[Chain]:
        """The parts before and after a node, and the node alone. They learn in the next frame."""
        at = self.nodes.index(node)
        cuts = [slice(0, at), slice(at, at + 1), slice(at + 1, None)]
        return [Chain(self.nodes[cut], self._databases[cut]) for cut in cuts if self.nodes[cut]]

    def _tell(self) -> None:
        for db in self._databases:
            status = db.per_instance_state.status
            status.replay = f"launched: {self.why}" if self.why else "replayed"
            show_status(db, status)

    def _capture(self) -> None:
        runs = [_run_of(node, db) for node, db in zip(self.nodes, self._databases, strict=True)]
        if sum(len(run.dims) * run.substeps for run in runs) > _MOST_LAUNCHES:
            raise Refused(f"it has more than {_MOST_LAUNCHES} launches in a frame")
        self._feeds, self._before = {}, {}
        keepers = [node for node, run in zip(self.nodes, runs, strict=True) if _keeps_arrays(run)]
        if keepers and len(self.nodes) > 1:
            raise Refused(f"{keepers[0].path} keeps arrays, so it is replayed alone", keepers[0])
        self._keeps_arrays = bool(keepers)
        with wp.ScopedCapture(device="cpu") as captured:
            for number, (node, run) in enumerate(zip(self.nodes, runs, strict=True)):
                commands = _record(node, run)
                self._find_feeds(number, node, run, commands)
        self._graph = captured.graph
        self._launches = {node: run.launches for node, run in zip(self.nodes, runs, strict=True)}
        self._captures += 1
        self._outputs = [a for node in self.nodes for a in node.on("outputs") if not a.type.is_execution]
        host = self.nodes[0].host
        self._frame, self._code = host.timeline.frame, host.code

    def _find_feeds(self, number: int, node: Node, run: Run, commands: list[Any]) -> None:
        """Find the inputs of a node that come from outside of the chain, and where their values go."""
        earlier = self.nodes[:number]
        for attribute in node.on("inputs"):
            source = attribute.source
            if attribute.type.is_execution or source is None:
                continue
            origin = _origin(source)
            if origin.port == "outputs" and origin.node in earlier:
                if attribute.value is not origin.value:
                    raise Refused(f"{attribute.name} of {node.path} converts the array of {origin.path}", node)
                continue
            if origin.port == "outputs" and origin.node in self.nodes:
                raise Refused(f"{attribute.name} is part of a cycle; state:NAME carries a state without one", node)
            if origin.node not in self.nodes:
                self._before[origin.node] = None
            self._add_feeds(attribute, run, commands)

    def _add_feeds(self, attribute: Attribute, run: Run, commands: list[Any]) -> None:
        """Add the launches of a node that take an input to the feeds of its source."""
        name = attribute.base_name.replace(":", "_")
        uses = [
            (command, index, binding)
            for step, command in zip(run.program.steps, commands, strict=True)
            for index, binding in enumerate(step.bindings)
            if binding.source == name
        ]
        named = name in _named(run)
        if not uses and not named and attribute.spec is None and not attribute.type.is_array:
            return  # nothing reads the value
        if not uses or named or not all(_is_free(binding) for _, _, binding in uses):
            self._feeds[attribute] = _Feed(attribute, None, attribute.value)
            return
        for command, index, binding in uses:
            key = attribute.source, attribute.type, binding.type, binding.attribute
            feed = self._feeds.setdefault(key, _Feed(attribute, binding, attribute.value))
            feed.targets.append((command, index))


def _origin(source: Attribute) -> Attribute:
    """The attribute at the begin of a chain of connected inputs, or the source itself."""
    while source.port == "inputs" and source.source is not None:
        source = source.source
    return source


def _named(run: Run) -> set[str]:
    """The inputs that decide dimensions and sizes by their value. The length of an array is compared anyway."""
    inputs = run.values.attributes.inputs
    parts = {part.strip().replace(":", "_") for part in run.values.value("dimSource").split("*")}
    sized = {name for name in inputs if name.rpartition("_")[2] in COMPANIONS}
    return sized | {name for name in parts if name in inputs and not inputs[name].is_array}


def _is_free(binding: Binding) -> bool:
    """True if another value of the input is another argument of a launch, and nothing else."""
    return not binding.target and not binding.state and binding.rank <= 1


def _run_of(node: Node, db: Any) -> Run:
    """The last run of a node. Raises Refused if a graph cannot repeat it."""
    state: KernelState = db.per_instance_state
    run = settled_run(db, state)
    if run is None:
        raise Refused(f"{node.path} is being compiled or reset")
    if run.program.request.device != "cpu":
        text = f"{node.path} runs on {run.program.request.device}, and only nodes on the CPU are replayed"
        raise Refused(text, node)
    if wp.config.mode != "release":
        raise Refused(f"wp.config.mode is {wp.config.mode!r}")
    if run.program.structs:
        raise Refused(f"{node.path} is in the style of omni.warp", node)
    for step in run.program.steps:
        for binding in step.bindings:
            _check(node, run, binding)
    return run


def _check(node: Node, run: Run, binding: Binding) -> None:
    """Raises Refused for a parameter whose value the host computes in each frame."""
    kind, name = binding.attribute, f"parameter `{binding.name}` of {node.path}"
    if binding.structure:
        raise Refused(f"{name} is a mesh, hash grid or volume", node)
    if binding.private:
        raise Refused(f"{name} is an input array that the kernel writes to", node)
    if binding.target and not kind.is_array:
        raise Refused(f"{name} is a single value, which the host reads", node)
    if binding.rank and kind.base in ("bool", "token"):
        raise Refused(f"{name} is an array of {kind.base}", node)
    if run.values.companion(binding.name, "counter"):
        raise Refused(f"{name} has a counter, which the host reads", node)


def _keeps_arrays(run: Run) -> bool:
    """True if a node has arrays that live between frames: running it twice in a frame is not running it once."""
    return any(binding.state for step in run.program.steps for binding in step.bindings)


def _record(node: Node, run: Run) -> list[Any]:
    """Put what a node does in a frame into the graph that is captured. Returns its recorded launches."""
    bindings = {b.key: b for step in run.program.steps for b in step.bindings if b.rank}
    for key, binding in bindings.items():
        if binding.target and not binding.state:
            memory = _bytes(run.arrays[key])
            if binding.source:
                wp.copy(memory, _bytes(run.values.numbers(binding.source)))
            else:
                memory.zero_()
    commands = [
        wp.launch(step.kernel, dim=dims, inputs=given, device="cpu", record_cmd=True)
        for step, dims, given in zip(run.program.steps, run.dims, run.arguments, strict=True)
    ]
    for _ in range(run.substeps):
        for command, dims in zip(commands, run.dims, strict=True):
            if 0 not in dims:
                command.launch()
    for key, binding in bindings.items():
        if binding.target and binding.state:
            wp.copy(_bytes(node.attributes[f"outputs:{binding.target}"].value), _bytes(run.arrays[key]))
    return commands


def _bytes(memory: np.ndarray) -> Any:
    """The bytes of an array, without a copy."""
    if not memory.flags.c_contiguous:
        raise Refused("an array has gaps")
    return wp.array(memory.reshape(-1).view(np.uint8), dtype=wp.uint8, copy=False, device="cpu")


def chain_of(nodes: Sequence[Node], database: Callable[[Node], Any]) -> Chain:
    """The chain of nodes that run one after the other, with the `db` of each."""
    return Chain(nodes, [database(node) for node in nodes])
