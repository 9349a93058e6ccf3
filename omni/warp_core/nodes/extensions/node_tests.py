"""Running the `tests` section of a `.ogn`: values into inputs, one evaluation, values of outputs compared.

docs/node-extensions.md lists the keys. Expected numbers are compared to 1e-5, relative and absolute, or exactly if they
are integers. A test that asks for what this host does not have is told as skipped, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..graph.evaluate import Evaluator
from ..graph.node_graph import Attribute, Graph, Host, Log, Node
from ..ogn.ogn_spec import PORTS, OgnError
from ..stock.node_registry import Registry
from ..values.attribute_types import AttributeType, TypeNameError, parse
from ..values.attribute_values import ValueTypeError, coerce
from ..values.bundles import prims_of
from .node_folders import NodeFile

TOLERANCE = 1e-5
GRAPH = "/TestGraph"
_SETS = {"inputs": "inputs", "state_set": "state", "state": "state"}
_GETS = {"outputs": "outputs", "state_get": "state"}
_SETUP = ("create_nodes", "connect", "set_values", "create_attributes")


class _SkippedError(Exception):
    """A test that needs what this host does not have."""


@dataclass
class Result:
    """The result of one test. `failures` is empty where it passed; `skipped` says why it did not run."""

    node: str
    test: str
    failures: list[str] = field(default_factory=list)
    skipped: str = ""


def run_tests(file: NodeFile, registry: Registry) -> Iterator[Result]:
    """Run the tests of a node file whose types are registered. Raises OgnError if it cannot be read."""
    spec = file.read()
    for number, test in enumerate(_tests(file.path), 1):
        about = test.get("description", "") if isinstance(test, dict) else ""
        result = Result(spec.name, f"test {number}" + (f" ({about})" if isinstance(about, str) and about else ""))
        try:
            result.failures = _Run(registry).run(spec.name, test)
        except _SkippedError as error:
            result.skipped = str(error)
        yield result


def _tests(path: Path) -> list:
    body = next(value for key, value in json.loads(path.read_text("utf-8")).items() if not key.startswith("$"))
    tests = body.get("tests", [])
    if not isinstance(tests, list):
        raise OgnError(str(path), ["tests: must be a list"])
    return tests


class _Run:
    """One test: a graph with the node, what is set, what is expected."""

    def __init__(self, registry: Registry):
        self.registry = registry
        self.failures: list[str] = []
        self.host = Host(Log(self.failures.append))
        self.graph = Graph(GRAPH, "push", self.host)

    def run(self, type_name: str, test: Any) -> list[str]:
        """Return what went wrong. Raises _SkippedError."""
        if not isinstance(test, dict):
            return ["a test must be an object"]
        for key in ("file", "gpu"):
            if test.get(key):
                raise _SkippedError(f"{key!r} is not supported")
        try:
            self._set_up(test.get("setup", {}))
            node = self._node("", type_name) if not self.graph.nodes else self._first(type_name)
            expected = list(self._fill(node, test))
            self._evaluate()
            for attribute, wanted in expected:
                self._compare(attribute, wanted)
        except (_TestError, ValueTypeError, TypeNameError) as error:
            self.failures.append(str(error))
        return self.failures

    def _evaluate(self) -> None:
        for node in self.graph:  # running the tests of a folder runs its code
            text = node.find("inputs", "codeStr") or node.find("inputs", "script")
            if text is not None:
                self.host.code[node.path] = text.value
        evaluator = Evaluator(self.graph)
        evaluator.start()
        try:
            evaluator.evaluate()
        finally:
            evaluator.stop()

    def _node(self, name: str, type_name: str) -> Node:
        found = self.registry.find(type_name)
        if found is None:
            raise _SkippedError(f"there is no node type {type_name!r} in this host")
        node = Node(f"{GRAPH}/{name or 'Template_' + type_name.replace('.', '_')}", type_name, found, self.host)
        for spec in found.spec.attributes.values():
            node.add(Attribute(node, spec.name, spec.type, spec))
        self.graph.nodes[node.path] = node
        return node

    def _first(self, type_name: str) -> Node:
        for node in self.graph:
            if node.type_name == type_name:
                return node
        return self._node("", type_name)

    def _set_up(self, setup: Any) -> None:
        if not isinstance(setup, dict):
            raise _TestError("setup: must be an object")
        for key in setup:
            if not key.startswith("$") and key not in _SETUP:
                raise _SkippedError(f"setup.{key} is not supported")
        for name, type_name in _pairs(setup, "create_nodes"):
            self._node(name, type_name)
        for name, kind in _pairs(setup, "create_attributes"):
            node, full = self._split(name)
            node.add(Attribute(node, full, parse(kind)))
        for source, target in _pairs(setup, "connect"):
            self._attribute(target).sources.append(self._attribute(source))
        for name, value in _pairs(setup, "set_values"):
            self._set(self._attribute(name), value)

    def _split(self, path: str) -> tuple[Node, str]:
        name, _, attribute = str(path).partition(".")
        node = self.graph.nodes.get(name if name.startswith("/") else f"{GRAPH}/{name}")
        if node is None:
            raise _TestError(f"setup: there is no node {name!r}")
        return node, attribute

    def _attribute(self, path: str) -> Attribute:
        node, name = self._split(path)
        return _named(node, name)

    def _fill(self, node: Node, test: dict) -> Iterator[tuple[Attribute, Any]]:
        """Set the values of a test, and yield the attributes that it expects values of."""
        for key, value in test.items():
            if key in ("description", "setup", "gpu", "file") or key.startswith("$"):
                continue
            section, colon, name = key.partition(":")
            entries = {name: value} if colon else value if section in _SETS | _GETS else {key: value}
            if not isinstance(entries, dict):
                raise _TestError(f"{key}: must be an object")
            for base, given in entries.items():
                attribute = _named(node, _full_name(node, section, base))
                if section in _GETS or attribute.port == "outputs":
                    yield attribute, given
                else:
                    self._set(attribute, given)

    def _set(self, attribute: Attribute, value: Any) -> None:
        kind, value = _typed(attribute, value)
        attribute.set(coerce(value, kind), kind)

    def _compare(self, attribute: Attribute, wanted: Any) -> None:
        if attribute.type.is_bundle and isinstance(wanted, dict):
            self._compare_prim(attribute, wanted)
            return
        kind, wanted = _typed(attribute, wanted)
        expected = coerce(wanted, kind)
        found = attribute.value
        if found is None or not _agree(found, expected):
            self.failures.append(f"{attribute.name}: expected {_short(expected)}, found {_short(found)}")

    def _compare_prim(self, attribute: Attribute, wanted: dict) -> None:
        """Compare attributes of the first prim of a bundle."""
        prims = prims_of(attribute.value) if attribute.value is not None else []
        for name, value in wanted.items():
            item = prims[0].attributes.get(name) if prims else None
            expected = value if item is None else coerce(value, item.type)
            if item is None or not _agree(item.value, expected):
                found = "nothing" if item is None else _short(item.value)
                self.failures.append(f"{attribute.name}, {name}: expected {_short(expected)}, found {found}")


class _TestError(ValueError):
    """A test that says something that cannot be."""


def _pairs(setup: dict, key: str) -> list[tuple[Any, Any]]:
    given = setup.get(key, [])
    rows = list(given.items()) if isinstance(given, dict) else given
    if rows and isinstance(rows, list) and not isinstance(rows[0], (list, tuple)):
        rows = [rows]
    if not isinstance(rows, list) or not all(isinstance(row, (list, tuple)) and len(row) == 2 for row in rows):
        raise _TestError(f"setup.{key}: must be a list of pairs")
    return [(row[0], row[1]) for row in rows]


def _full_name(node: Node, section: str, name: str) -> str:
    """Return the name with its port; a bare name that only one port has needs none."""
    port = (_SETS | _GETS).get(section)
    if port is not None:
        return f"{port}:{name}"
    found = [f"{port}:{name}" for port in PORTS if f"{port}:{name}" in node.attributes]
    if len(found) != 1:
        raise _TestError(
            f"{name}: " + ("is on more than one port; write inputs: or outputs:" if found else "no such key")
        )
    return found[0]


def _named(node: Node, name: str) -> Attribute:
    if name not in node.attributes:
        raise _TestError(f"{node.type_name} has no attribute {name!r}")
    return node.attributes[name]


def _typed(attribute: Attribute, value: Any) -> tuple[AttributeType, Any]:
    """Return type and value; those of `any` attributes are written {"type": ..., "value": ...}."""
    if isinstance(value, dict) and set(value) == {"type", "value"}:
        return parse(str(value["type"])), value["value"]
    kind = attribute.resolved
    if kind.is_any:
        raise _TestError(f'{attribute.name}: write {{"type": ..., "value": ...}}, as its type is open')
    return kind, value


def _agree(found: Any, expected: Any) -> bool:
    if isinstance(expected, str) or (isinstance(expected, tuple) and not isinstance(found, np.ndarray)):
        return found == expected
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape:
        return False
    if b.dtype.kind == "f":
        return bool(np.allclose(a, b, TOLERANCE, TOLERANCE, equal_nan=True))
    return bool((a == b).all())


def _short(value: Any) -> str:
    text = str(value.tolist() if isinstance(value, np.ndarray) else repr(value))
    return text if len(text) <= 120 else f"{text[:117]}..."
