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

from ..extensions.node_folders import NodeFile
from ..graph.node_graph import Attribute, Log, Node
from ..ogn.ogn_spec import PORTS, OgnError
from ..ogn.ogn_tests import GETS, entries, full_name
from ..stock.node_registry import Registry
from ..values.attribute_types import AttributeType, TypeNameError
from ..values.attribute_values import ValueTypeError, coerce
from ..values.bundles import prims_of
from .node_test_scene import NodeTestError, SkippedTestError, TestScene, named, set_value, typed

TOLERANCE = 1e-5

Place = Attribute | tuple[str, str]  # of a node, or prim and name


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
            result.failures = _Run(registry, file.path.parent).run(spec.name, test)
        except SkippedTestError as error:
            result.skipped = str(error)
        yield result


def _tests(path: Path) -> list:
    body = next(value for key, value in json.loads(path.read_text("utf-8")).items() if not key.startswith("$"))
    tests = body.get("tests", [])
    if not isinstance(tests, list):
        raise OgnError(str(path), ["tests: must be a list"])
    return tests


class _Run:
    """One test: a scene with the node, what is set, what is expected."""

    def __init__(self, registry: Registry, folder: Path):
        self.registry, self.folder = registry, folder
        self.failures: list[str] = []

    def run(self, type_name: str, test: Any) -> list[str]:
        """Return what went wrong. Raises SkippedTestError."""
        if not isinstance(test, dict):
            return ["a test must be an object"]
        if test.get("gpu"):
            raise SkippedTestError("'gpu' is not supported")
        log = Log(self.failures.append)
        try:
            if test.get("file"):
                scene = TestScene.of_file(self.folder / str(test["file"]), self.registry, log)
                expected = list(_expected(scene, test))
            else:
                scene = TestScene.empty(self.registry, log)
                scene.set_up(test.get("setup", {}))
                expected = list(self._fill(scene, _tested(scene, type_name), test))
            scene.evaluate()
            for place, wanted in expected:
                self._compare(scene, place, wanted)
        except (ValueTypeError, TypeNameError, ValueError) as error:
            self.failures.append(str(error))
        return self.failures

    def _fill(self, scene: TestScene, node: Node, test: dict) -> Iterator[tuple[Place, Any]]:
        """Set the values of a test of one node, and yield the places of which it expects values."""
        for key, value in test.items():
            if key.startswith("/"):
                yield from _at(scene, key, value)
        for entry in entries(test):
            attribute = named(node, full_name(entry, node.attributes))
            if entry.section in GETS or attribute.port == "outputs":
                yield attribute, entry.value
            else:
                set_value(attribute, entry.value)

    def _compare(self, scene: TestScene, place: Place, wanted: Any) -> None:
        if isinstance(place, tuple):
            kind, found = scene.host.store.read(*place)
            self._compare_value(".".join(place), kind, found, wanted)
        elif place.type.is_bundle and isinstance(wanted, dict):
            self._compare_prim(place, wanted)
        else:
            kind, wanted = typed(place, wanted)
            self._compare_value(place.name, kind, place.value, wanted)

    def _compare_value(self, name: str, kind: AttributeType, found: Any, wanted: Any) -> None:
        expected = coerce(wanted, kind)
        if found is None or not _agree(found, expected):
            self.failures.append(f"{name}: expected {_short(expected)}, found {_short(found)}")

    def _compare_prim(self, attribute: Attribute, wanted: dict) -> None:
        """Compare attributes of the first prim of a bundle."""
        prims = prims_of(attribute.value) if attribute.value is not None else []
        for name, value in wanted.items():
            item = prims[0].attributes.get(name) if prims else None
            expected = value if item is None else coerce(value, item.type)
            if item is None or not _agree(item.value, expected):
                found = "nothing" if item is None else _short(item.value)
                self.failures.append(f"{attribute.name}, {name}: expected {_short(expected)}, found {found}")


def _tested(scene: TestScene, type_name: str) -> Node:
    """Return the node under test: the first one of its type, else a new one."""
    nodes = [node for node in scene.graph if node.type_name == type_name]
    return nodes[0] if nodes else scene.add_node("Template_" + type_name.replace(".", "_"), type_name)


def _expected(scene: TestScene, test: dict) -> Iterator[tuple[Place, Any]]:
    """Yield the places of which a test of a file expects values, by their paths."""
    for key, value in test.items():
        if key.startswith("/"):
            yield from _at(scene, key, value)
        elif key not in ("description", "file", "gpu") and not key.startswith("$"):
            raise NodeTestError(f"{key}: a test of a file names attributes by path, such as /Graph/node.outputs:x")


def _at(scene: TestScene, path: str, value: Any) -> Iterator[tuple[Place, Any]]:
    """Yield what lies at a path: an attribute of a node or of another prim, or all that an object lists of a node."""
    owner, _, name = path.partition(".")
    node = scene.node(owner)
    if node is None:
        if not name:
            raise NodeTestError(f"{path}: there is no such node; write an attribute of a prim as /World/Mesh.points")
        yield (owner, name), value
        return
    entries = {name: value} if name else value
    if not isinstance(entries, dict):
        raise NodeTestError(f"{path}: must be an object")
    for key, given in entries.items():
        inner = {f"{key}:{base}": each for base, each in given.items()} if key in PORTS else {key: given}
        for full, wanted in inner.items():
            if not full.startswith(("outputs:", "state:")):
                raise NodeTestError(f"{path}, {full}: only outputs and states are expected")
            yield named(node, full), wanted


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
