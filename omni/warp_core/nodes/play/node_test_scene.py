"""The scene in which a test of a `.ogn` runs: from a USD file beside it, or a new stage with what `setup` lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pxr import Sdf, Usd

from ...usd.numpy_conversion import to_usd
from ...usd.output_layer import SampleLayer
from ...usd.stage import StageError, frame_range, frame_rate, open_stage
from ..graph.node_graph import Attribute, Graph, Host, Log, Node
from ..live_session import Session, Settings
from ..scene.graph_loader import Loaded, load
from ..stock.node_registry import Registry
from ..values.attribute_types import AttributeType, from_sdf, parse
from ..values.attribute_values import coerce

GRAPH = "/TestGraph"
SETUP = ("create_nodes", "create_prims", "create_attributes", "create_variables", "connect", "set_values")


class SkippedTestError(Exception):
    """A test that needs what this host does not have."""


class NodeTestError(ValueError):
    """A test that says something that cannot be."""


class TestScene:
    """A stage with graphs of which one frame is evaluated."""

    __test__ = False  # pytest takes the name for a class of tests

    def __init__(self, stage: Usd.Stage, name: str, registry: Registry, loaded: Loaded, host: Host):
        self.stage, self.name, self.registry, self.loaded, self.host = stage, name, registry, loaded, host

    @classmethod
    def of_file(cls, path: Path, registry: Registry, log: Log) -> TestScene:
        """Open a USD file. Raises NodeTestError."""
        try:
            stage, host = open_stage(str(path)).stage, Host(log)
            return cls(stage, str(path), registry, load(stage, registry, host), host)
        except StageError as error:
            raise NodeTestError(str(error)) from None

    @classmethod
    def empty(cls, registry: Registry, log: Log) -> TestScene:
        """Make a stage with an empty push graph."""
        host = Host(log)
        return cls(Usd.Stage.CreateInMemory(), "test", registry, Loaded([Graph(GRAPH, "push", host)]), host)

    @property
    def graph(self) -> Graph:
        """The first graph, which `empty` made."""
        return self.loaded.graphs[0]

    def add_node(self, name: str, type_name: str) -> Node:
        """Add a node to the graph. Raises SkippedTestError for an unknown type."""
        found = self.registry.find(type_name)
        if found is None:
            raise SkippedTestError(f"there is no node type {type_name!r} in this host")
        node = Node(_absolute(name, GRAPH), type_name, found, self.host)
        node.graph = self.graph
        for spec in found.spec.attributes.values():
            node.add(Attribute(node, spec.name, spec.type, spec))
        self.graph.nodes[node.path] = node
        return node

    def set_up(self, setup: Any) -> None:
        """Do what the `setup` of a test says. Raises NodeTestError, SkippedTestError."""
        if not isinstance(setup, dict):
            raise NodeTestError("setup: must be an object")
        for key in setup:
            if not key.startswith("$") and key not in SETUP:
                raise SkippedTestError(f"setup.{key} is not supported")
        for path, *details in _rows(setup, "create_prims", 1, 3):
            self._add_prim(_absolute(path, ""), details)
        for name, type_name in _rows(setup, "create_nodes"):
            self.add_node(name, type_name)
        for name, kind in _rows(setup, "create_variables"):
            holder = Node(GRAPH, "OmniGraph", None, self.host)
            self.graph.variables[name] = Attribute(holder, f"graph:variable:{name}", _type(kind))
        for name, kind in _rows(setup, "create_attributes"):
            node, full = self._split(name)
            node.add(Attribute(node, full, _type(kind)))
        for source, target in _rows(setup, "connect"):
            self.attribute(target).sources.append(self.attribute(source))
        for name, value in _rows(setup, "set_values"):
            set_value(self.attribute(name), value)

    def _add_prim(self, path: str, details: list) -> None:
        """Add a prim: `details` are its type and an object of attributes, name -> [type, value]."""
        if not Sdf.Path.IsValidPathString(path):
            raise NodeTestError(f"setup.create_prims: {path!r} is not the path of a prim")
        prim = self.stage.DefinePrim(path, *[given for given in details if isinstance(given, str)][:1])
        values = next((given for given in details if isinstance(given, dict)), {})
        for name, (kind, value) in values.items():
            if kind == "target":
                prim.CreateRelationship(name, False).SetTargets([Sdf.Path(target) for target in value])
                continue
            sdf = kind if from_sdf(kind) else _type(kind).sdf
            attribute = prim.CreateAttribute(name, Sdf.ValueTypeNames.Find(sdf), False)
            attribute.Set(to_usd(coerce(value, _type(kind)), sdf))

    def evaluate(self) -> None:
        """Evaluate the first frame. To run the tests of a folder is to agree to their code."""
        frames = frame_range(self.stage, frame_rate(self.stage)) or (0, 0)
        session = Session(self.name, self.stage, self.host, self.loaded, Settings(frames=(frames[0], frames[0])))
        session.begin()
        try:
            session.step(SampleLayer())
        finally:
            session.close()

    def attribute(self, path: str) -> Attribute:
        """Return the attribute of a node. Raises NodeTestError."""
        return named(*self._split(path))

    def node(self, path: str) -> Node | None:
        """Return the node at a path or of a name, None if the graphs lack it."""
        wanted = _absolute(path, GRAPH)
        return next((node for node in self.loaded.nodes() if node.path == wanted), None)

    def _split(self, path: str) -> tuple[Node, str]:
        name, _, attribute = str(path).partition(".")
        node = self.node(name)
        if node is None:
            raise NodeTestError(f"there is no node {name!r}")
        return node, attribute


def _absolute(name: str, folder: str) -> str:
    return name if name.startswith("/") else f"{folder}/{name}"


def _type(name: str) -> AttributeType:
    return from_sdf(name) or parse(name)


def _rows(setup: dict, key: str, least: int = 2, most: int = 2) -> list[list]:
    given = setup.get(key, [])
    rows = [[name, value] for name, value in given.items()] if isinstance(given, dict) else given
    if rows and isinstance(rows, list) and not isinstance(rows[0], (list, tuple)):
        rows = [rows]
    if not isinstance(rows, list) or not all(isinstance(r, (list, tuple)) and least <= len(r) <= most for r in rows):
        raise NodeTestError(
            f"setup.{key}: must be a list of " + ("pairs" if most == 2 else "paths with type and values")
        )
    return [list(row) for row in rows]


def named(node: Node, name: str) -> Attribute:
    """Return the attribute of a node by its full name. Raises NodeTestError."""
    if name not in node.attributes:
        raise NodeTestError(f"{node.type_name} has no attribute {name!r}")
    return node.attributes[name]


def typed(attribute: Attribute, value: Any) -> tuple[AttributeType, Any]:
    """Return type and value; those of `any` attributes are written {"type": ..., "value": ...}."""
    if isinstance(value, dict) and set(value) == {"type", "value"}:
        return _type(str(value["type"])), value["value"]
    kind = attribute.resolved
    if kind.is_any:
        raise NodeTestError(f'{attribute.name}: write {{"type": ..., "value": ...}}, as its type is open')
    return kind, value


def set_value(attribute: Attribute, value: Any) -> None:
    """Set an attribute to a value as JSON has it. Raises NodeTestError, ValueTypeError."""
    kind, value = typed(attribute, value)
    attribute.set(coerce(value, kind), kind)
