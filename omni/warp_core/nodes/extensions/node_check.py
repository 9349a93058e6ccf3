"""Checking node files without running any of their code: the description, and the class that goes with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...lang.errors import nearest
from ..ogn.ogn_spec import NodeSpec, OgnError
from ..ogn.ogn_tests import SETS, Entry, entries, full_name
from ..ogn.value_limits import beyond
from ..values.attribute_values import ValueTypeError, coerce
from .node_folders import NodeFile, find


@dataclass(frozen=True)
class Finding:
    """The result of one file: its problems, none if all is well."""

    path: Path
    name: str
    problems: tuple[str, ...]


def check(folder: Path) -> Iterator[Finding]:
    """Check every node below `folder`. Raises OgnError if it has none."""
    seen: dict[str, Path] = {}
    for file in find(folder):
        try:
            spec = file.read()
            name = spec.name
            problems = [*_class_problems(file), *_test_problems(spec)]
        except OgnError as error:
            name, problems = "", error.problems
        if name and (other := seen.setdefault(name, file.path)) != file.path:
            problems.append(f"{name} is also described in {other}")
        yield Finding(file.path, name, tuple(problems))


def _test_problems(spec: NodeSpec) -> Iterator[str]:
    """Yield the mistakes of names and values in tests. A test of a file, or one that adds attributes, may name more."""
    for number, test in enumerate(spec.tests, 1):
        where = f"{spec.name}.tests: test {number}"
        if not isinstance(test, dict):
            yield f"{where} must be an object"
            continue
        setup = test.get("setup", {})
        if test.get("file") or (isinstance(setup, dict) and "create_attributes" in setup):
            continue
        try:
            for entry in entries(test):
                yield from (f"{where}, {text}" for text in _value_problems(spec, entry))
        except ValueError as error:
            yield f"{where}, {error}"


def _value_problems(spec: NodeSpec, entry: Entry) -> Iterator[str]:
    name = full_name(entry, spec.attributes)
    attribute = spec.attributes.get(name)
    if attribute is None:
        port, _, base = name.partition(":")
        near = nearest(base, [other.partition(":")[2] for other in spec.attributes if other.startswith(f"{port}:")])
        yield f"{name}: the node has no such attribute" + (f"; did you mean {port}:{near[0]}?" if near else "")
        return
    is_given = entry.section in SETS and not isinstance(entry.value, dict)
    if is_given and attribute.has_limits:
        try:
            text = beyond(attribute, coerce(entry.value, attribute.type))
        except ValueTypeError as error:
            text = str(error)
        if text:
            yield f"{name}: {text}"


def _class_problems(file: NodeFile) -> Iterator[str]:
    source, stem = file.path.with_suffix(".py"), file.path.stem
    try:
        tree = ast.parse(source.read_text("utf-8"), str(source))
    except FileNotFoundError:
        yield f"{source.name} is missing; it holds the class {stem}"
        return
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield f"{source.name} cannot be read: {error}"
        return
    cls = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == stem), None)
    if cls is None:
        yield f"{source.name} needs a class {stem}"
        return
    compute = next((n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "compute"), None)
    if compute is None:
        if not cls.bases:
            yield f"{source.name}:{cls.lineno}: the class {stem} needs a static method compute(db)"
        return
    decorators = {d.id for d in compute.decorator_list if isinstance(d, ast.Name)}
    if not decorators & {"staticmethod", "classmethod"}:
        yield f"{source.name}:{compute.lineno}: {stem}.compute needs @staticmethod in front"
