"""Finds where the inputs of a captured chain come from, and makes a feed of each that comes from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.attribute import Attribute
from ..graph.node_graph import Node
from .chain_capture import Refused, read_by_host
from .chain_feeds import ArgumentFeed, Feed, LengthFeed, StartFeed, StructureFeed, Target
from .kernel_bindings import Binding
from .kernel_run import Run
from .node_values import python_name
from .signature import COMPANIONS


class FeedFinder:
    """The feeds of one chain.

    `before` has the nodes outside of the chain that its inputs come from, `by_host` the outputs that the host makes.
    """

    def __init__(self, nodes: Sequence[Node], runs: Sequence[Run]):
        self._nodes, self._runs = nodes, runs
        self.by_host = {
            node.attributes[f"outputs:{name}"]
            for node, run in zip(nodes, runs, strict=True)
            for name in map(_attribute_names(node).__getitem__, read_by_host(run))
        }
        self.feeds: dict[Any, Feed] = {}
        self.before: dict[Node, None] = {}

    def inner(self, number: int) -> set[str]:
        """The inputs of a node that earlier nodes of the chain write. Raises Refused where the host is between them."""
        node, names = self._nodes[number], set()
        for attribute in _connected(node):
            origin = _origin(attribute)
            if origin.port != "outputs" or origin.node not in self._nodes:
                continue
            if origin.node not in self._nodes[:number]:
                raise Refused(f"{attribute.name} is part of a cycle; state:NAME carries a state without one", node)
            if origin in self.by_host:
                raise Refused(f"{attribute.name} of {node.path} takes {origin.path}, which the host reads", node)
            if attribute.held is not origin.held:
                raise Refused(f"{attribute.name} of {node.path} converts the array of {origin.path}", node)
            names.add(python_name(attribute.base_name))
        return names

    def find(self, number: int, inner: set[str], commands: Sequence[Any]) -> None:
        """Add the feeds of a node. `commands` are its recorded launches, `inner` the inputs from within the chain."""
        node, run = self._nodes[number], self._runs[number]
        self._add_starts(node, run, inner)
        for attribute in _connected(node):
            origin, name = _origin(attribute), python_name(attribute.base_name)
            if origin.node not in self._nodes:
                self.before[origin.node] = None
            if name not in inner:
                self._add(attribute, name, run, inner, commands)
            elif any(name == f"{b.structure}_{what}" for b in _bindings(run) if b.structure for what in _TOPOLOGY):
                raise Refused(f"{attribute.name} of {node.path} is made in each frame", node)

    def _add_starts(self, node: Node, run: Run, inner: set[str]) -> None:
        for key, binding in {b.key: b for b in _bindings(run)}.items():
            is_copy = (binding.target or binding.private) and not binding.state
            if is_copy and binding.source and binding.source not in inner:
                attribute = node.find("inputs", binding.source)
                assert attribute is not None
                self.feeds[attribute, key] = StartFeed(attribute, attribute.held, run, binding, run.arrays[key])

    def _add(self, attribute: Attribute, name: str, run: Run, inner: set[str], commands: Sequence[Any]) -> None:
        """Add the feeds of an input from outside of the chain."""
        structure = next(
            (b.structure for b in _bindings(run) if b.structure and name.startswith(b.structure + "_")), ""
        )
        uses = [
            (step, command, index, binding)
            for step, command in zip(run.program.steps, commands, strict=True)
            for index, binding in enumerate(step.bindings)
            if binding.source == name
        ]
        if structure:
            follows = run.follows(structure) or f"{structure}_points" in inner
            made = Feed(attribute, attribute.held)
            if not follows:
                made = StructureFeed(attribute, attribute.held, run, structure, run.structure(structure))
            self.feeds[attribute] = made
        elif name in _deciding(run) or (attribute.spec is not None):
            self.feeds[attribute] = Feed(attribute, attribute.held)
        elif attribute.type.is_array and (not uses or any(b.state for *_, b in uses)):
            self.feeds[attribute] = LengthFeed(attribute, attribute.held, len(attribute.held))
        for step, command, index, binding in uses:
            if not (binding.target or binding.state or binding.private):
                self._add_argument(attribute, run, binding, Target(command, index), step)

    def _add_argument(self, attribute: Attribute, run: Run, binding: Binding, target: Target, step: Any) -> None:
        at = run.program.steps.index(step)
        structs = run.program.structs
        if structs is not None:
            argument = getattr(structs[0], binding.name)
            target = Target(target.command, 0, structs[0], binding.name)
        else:
            argument = run.arguments[at][target.index]
        shape = tuple(argument.shape) if binding.rank else ()
        key = attribute.source, attribute.type, binding.type, binding.attribute, shape
        feed = self.feeds.get(key)
        if feed is None:
            count = len(attribute.held) if binding.rank else 0
            feed = self.feeds[key] = ArgumentFeed(attribute, attribute.held, run, binding, shape, count)
        assert isinstance(feed, ArgumentFeed)
        feed.targets.append(target)


# Of structures: what a graph does not follow.
_TOPOLOGY = ("faceVertexIndices", "faceVertexCounts", "orientation", "holeIndices", "radius", "cells", "file")


def _bindings(run: Run) -> list[Binding]:
    return [binding for step in run.program.steps for binding in step.bindings]


def _connected(node: Node) -> list[Attribute]:
    return [a for a in node.on("inputs") if a.source is not None and not a.type.is_execution]


def _origin(attribute: Attribute) -> Attribute:
    """The attribute at the begin of a chain of connected inputs."""
    source = attribute.source
    assert source is not None
    while source.port == "inputs" and source.source is not None:
        source = source.source
    return source


def _attribute_names(node: Node) -> dict[str, str]:
    """Names of outputs by the names that Python gives them."""
    return {python_name(a.base_name): a.base_name for a in node.on("outputs")}


def _deciding(run: Run) -> set[str]:
    """The inputs that decide dimensions and sizes by their value. The length of an array is compared anyway."""
    inputs = run.values.attributes.inputs
    parts = {part.strip().replace(":", "_") for part in run.values.value("dimSource").split("*")}
    sized = {name for name in inputs if name.rpartition("_")[2] in COMPANIONS}
    return sized | {name for name in parts if name in inputs and not inputs[name].is_array}
