"""Presets: texts for Kernel nodes to start from, one file each, in `ogn/presets` or wherever the user keeps them.

The first line of a file says what the kernel does. Lines such as `# custom float inputs:height = 0.1` list attributes
of the node that the kernel's signature does not tell: roles, values, companions and states. `text_of` writes a node as
such a text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Usd

from ...lang.errors import did_you_mean, nearest
from ...usd.numpy_conversion import to_numpy
from ..ogn.ogn_spec import NodeSpec
from ..stock import node_registry
from . import kernel_attributes

SUFFIX = ".py"
_MOST = 16  # numbers of a value that a preset keeps
_ABOUT_CODE = frozenset(f"inputs:{name}" for name in ("codeProvider", "codeStr", "codeFile", "device", "reset"))

_KINDS = {"rel": "bundle"}  # what GraphBuilder calls a type of USD
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
    """Return a preset by its name, or by the path of its file, which ends in .py.

    Raises:
        ValueError: No preset has that name, or the file cannot be read.
    """
    known = names()
    if not name.endswith(SUFFIX) and name not in known:
        near = did_you_mean(nearest(name, known), known)
        raise ValueError(f"there is no preset {name!r}{near}, or write the path of a file that ends in {SUFFIX}")
    path = Path(name) if name.endswith(SUFFIX) else folder() / f"{name}{SUFFIX}"
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found = [match for line in text.splitlines() if (match := _ATTRIBUTE.fullmatch(line))]
    attributes = tuple((m["name"], _KINDS.get(m["type"], m["type"]), _value(m["value"])) for m in found)
    return Preset(path.stem, text.partition("\n")[0].removeprefix("# "), text, attributes)


def _value(text: str | None) -> Any:
    return json.loads(text) if text else None


def text_of(prim: Usd.Prim, spec: NodeSpec) -> str:
    """Return the text of a Kernel node as a preset, with the attributes that its user has given it.

    Raises:
        ValueError: The text is not in the node.
    """
    code = prim.GetAttribute("inputs:codeStr").Get() if prim.GetAttribute("inputs:codeStr") else ""
    if not code or prim.GetAttribute("inputs:codeProvider").Get() == "file":
        raise ValueError(f"{prim.GetPath()} has no inputs:codeStr to save; the text of a node in a file is that file")
    lines = [line for line in code.strip("\n").splitlines() if not _ATTRIBUTE.fullmatch(line)]
    has_title = lines[0].startswith("# ")
    title, rest = lines[0] if has_title else f"# {prim.GetName()}", lines[has_title:]
    while rest and not rest[0]:
        rest.pop(0)
    return "\n".join([title, "", *_attribute_lines(prim, spec), "", "", *rest]) + "\n"


def _attribute_lines(prim: Usd.Prim, spec: NodeSpec) -> list[str]:
    """Return the attributes of a node that its type does not declare, and the settings that have a value."""
    names = [f"{port}:{name}" for port, name in kernel_attributes.given(prim, spec)]
    settings = spec.attributes.keys() - _ABOUT_CODE
    names += [a.GetName() for a in prim.GetAuthoredAttributes() if a.GetName() in settings and a.HasAuthoredValue()]
    bundles = [f"# custom rel inputs:{name}" for name in kernel_attributes.bundles(prim, spec)]
    return bundles + [_line(prim.GetAttribute(name)) for name in names]


def _line(attribute: Usd.Attribute) -> str:
    start = f"# custom {attribute.GetTypeName()} {attribute.GetName()}"
    value = None if attribute.HasAuthoredConnections() else attribute.Get()
    if value is None or attribute.GetName().startswith("outputs:"):
        return start
    plain = np.asarray(to_numpy(value))
    if plain.size > _MOST or plain.dtype.kind not in "biufU":
        return start
    return f"{start} = {json.dumps(plain.tolist())}"
