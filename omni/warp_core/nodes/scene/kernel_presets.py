"""Presets: texts for Kernel nodes to start from, in `ogn/presets`, one file each.

The first line of a file says what the kernel does. Lines such as `# custom float inputs:height = 0.1` list attributes
of the node that the kernel's signature does not tell: roles, values, companions and states.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...lang.errors import did_you_mean, nearest
from ..stock import node_registry

_ATTRIBUTE = re.compile(r"# custom (?P<type>\S+) (?P<name>\S+)(?: = (?P<value>.+))?")


@dataclass(frozen=True)
class Preset:
    """A text for a Kernel node. `attributes` are name, USD type and value of each, None where it has no value."""

    name: str
    about: str
    text: str
    attributes: tuple[tuple[str, str, Any], ...]


def folder() -> Path:
    """Return the folder of the presets."""
    return node_registry.folder() / "presets"


def names() -> list[str]:
    """Return the names of all presets."""
    return sorted(path.stem for path in folder().glob("*.py"))


def load(name: str) -> Preset:
    """Return a preset.

    Raises:
        ValueError: No preset has that name.
    """
    known = names()
    if name not in known:
        raise ValueError(f"there is no preset {name!r}" + did_you_mean(nearest(name, known), known))
    text = (folder() / f"{name}.py").read_text("utf-8")
    found = [match for line in text.splitlines() if (match := _ATTRIBUTE.fullmatch(line))]
    attributes = tuple((m["name"], m["type"], json.loads(m["value"]) if m["value"] else None) for m in found)
    return Preset(name, text.partition("\n")[0].removeprefix("# "), text, attributes)
