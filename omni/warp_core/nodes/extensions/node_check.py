"""Checking node files without running any of their code: the description, and the class that goes with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..ogn.ogn_spec import OgnError
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
            name = file.read().name
            problems = list(_class_problems(file))
        except OgnError as error:
            name, problems = "", error.problems
        if name and (other := seen.setdefault(name, file.path)) != file.path:
            problems.append(f"{name} is also described in {other}")
        yield Finding(file.path, name, tuple(problems))


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
