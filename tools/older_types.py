"""Node types of omni.warp for the packaged extension: Kit has no aliases, so each gets files of its own.

A description is that of our node, with the name, the version and the defaults that stages of omni.warp count on.
"""

from __future__ import annotations

import json
from pathlib import Path

from omni.warp_core.nodes.stock.node_registry import ALIASES, EXTENSION, OLD_TYPES

FOLDER = "older_types"  # below the folder of our nodes
PREFIX = "omni.warp."
_CLASS = '''"""{name} of the extension omni.warp, played by {own}."""

from ogn.{base} import {base} as Own

from omni.warp_core.kit.older_types import is_free


class {stem}(Own):
    """{own} by the name that omni.warp gave it."""


if not is_free():
    del {stem}  # without a class, Kit registers no type
'''


def write(nodes: Path) -> None:
    """Write the types below `nodes`, the folder with our own `.ogn` files."""
    folder = nodes / FOLDER
    folder.mkdir()
    (folder / "__init__.py").write_text('"""Node types of omni.warp, which `make extension` makes from ours."""\n')
    for name, own in ALIASES.items():
        if name.startswith(PREFIX) and own.startswith(f"{EXTENSION}."):
            base, stem = f"Ogn{own.rpartition('.')[2]}", f"Ogn{name.removeprefix(PREFIX)}"
            described = json.loads((nodes / f"{base}.ogn").read_text("utf-8"))
            (folder / f"{stem}.ogn").write_text(json.dumps({name: _renamed(described[own], name)}, indent=4) + "\n")
            (folder / f"{stem}.py").write_text(_CLASS.format(name=name, own=own, base=base, stem=stem))


def _renamed(body: dict, name: str) -> dict:
    """Return a description as the type `name` has it, with paths that start one folder further down."""
    version, defaults = OLD_TYPES.get(name, (body["version"], {}))
    for key, value in defaults.items():
        port, _, attribute = key.partition(":")
        body[port][attribute]["default"] = value
    for key in ("icon", "categoryDefinitions"):
        if key in body:
            body[key] = f"../{body[key]}"
    body.pop("tests", None)
    return {**body, "version": version, "uiName": f"{body['uiName']} (omni.warp)"}
