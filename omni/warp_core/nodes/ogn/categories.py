"""Node categories: those every host knows, and those that a `.ogn` file or its JSON neighbour defines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

KNOWN = frozenset(
    (
        *("animation", "bundle", "constants", "debug", "event", "examples", "function", "geometry", "graph", "input"),
        *("internal", "io", "material", "math", "rendering", "sceneGraph", "script", "sound", "texture", "time"),
        *("tutorials", "ui", "viewport"),
    )
)


def names(value: Any) -> list[str]:
    """Category names out of the forms a `.ogn` allows: comma text, list of texts or objects, object."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, dict):
        return [key for key in value if not key.startswith("$")]
    return [name for part in value for name in names(part)] if isinstance(value, list) else []


def problems_of(value: Any, definitions: Any, base: Path | None) -> list[str]:
    """Return the errors in the categories of a node: unknown names, definition files that cannot be read."""
    problems: list[str] = []
    defined = _defined(value, problems, base, inline=True) | _defined(definitions, problems, base, inline=False)
    for name in names(value):
        if name.partition(":")[0] not in KNOWN and name not in defined:
            problems.append(f"unknown category {name!r}; define it with categoryDefinitions")
    return problems


def _defined(value: Any, problems: list[str], base: Path | None, inline: bool) -> set[str]:
    if isinstance(value, dict):
        return set(value)
    if isinstance(value, list):
        return {
            name
            for part in value
            if not (inline and isinstance(part, str))
            for name in _defined(part, problems, base, inline)
        }
    return _from_file(value, problems, base) if isinstance(value, str) and value and not inline else set()


def _from_file(name: str, problems: list[str], base: Path | None) -> set[str]:
    folders = [base, base.parent / "config", base.parent] if base else []
    for path in [Path(name), *(folder / name for folder in folders)]:
        if not os.path.isfile(path):  # False also for a name that no file can have
            continue
        try:
            content = json.loads(path.read_text("utf-8"))
            return set(content["categoryDefinitions"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            problems.append(f"{path} does not define categories: {error!r}")
            return set()
    problems.append(f"the category definitions {name!r} are not there")
    return set()
