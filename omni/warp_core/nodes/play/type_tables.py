"""Lists of `omni-warp nodes`: all node types, those of a folder, or one type with its attributes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from ...lang.errors import did_you_mean, nearest
from ..extensions import node_folders
from ..ogn.ogn_spec import NodeSpec
from ..stock import node_registry, type_listing
from ..stock.node_registry import Registry
from . import console

_WIDEST = 100  # columns that people read with ease
_INDENT = "    "


def show(name: str | None, folders: Sequence[str] = ()) -> None:
    """Print all types, those that `name` fits, or the one that it names; of `folders` alone if there are some.

    No code of the folders runs. A description with a mistake is told, and left out. Raises KeyError if there is no such
    type, OgnError if a folder has no nodes.
    """
    registry = _described(folders) if folders else node_registry.standard()
    found = type_listing.find(registry, name) if name else type_listing.all_specs(registry)
    if name and not found:
        near = nearest(name, type_listing.short_names(registry)) or registry.nearest(name)
        where = f" in {', '.join(folders)}" if folders else ""
        raise KeyError(f"there is no node type {name!r}{where}" + did_you_mean(near))
    if name and len(found) == 1:
        _print_type(found[0])
    else:
        _print_list(found)


def _described(folders: Sequence[str]) -> Registry:
    """Return the types that the `.ogn` files of folders describe. Raises OgnError."""
    registry = Registry()
    for folder in folders:
        node_folders.add_descriptions(
            registry, Path(folder), lambda where, text: console.complain(f"warning: {where}: {text}")
        )
    return registry


def _print_list(specs: list[NodeSpec]) -> None:
    """Print a line for each type; in a terminal, long descriptions go on below their own column."""
    rows = [(spec.name, str(spec.version), type_listing.first_sentence(spec)) for spec in specs]
    head = ("type", "version", "description")
    wide = max(len(name) for name, *_ in (head, *rows))
    for name, version, description in (head, *rows):
        begin = f"{name:<{wide}}  {version:<7}  "
        _print(description, console.columns(), begin, " " * len(begin), "bold" if name == head[0] else "")


def _print_type(spec: NodeSpec) -> None:
    """Print a type: for each attribute a line with type and default, and below it the description."""
    width = min(console.columns(), _WIDEST)
    _print(f"{spec.name}, version {spec.version}", width, style="bold")
    _print(spec.description, width)
    if limits := type_listing.limits(spec):
        _print(f"Unlike in Kit: {limits}", width)
    console.out.print()
    for name, kind, default, description in type_listing.attribute_rows(spec):
        is_text = "\n" in default
        shown = f" = {default}" if default and not is_text else ""
        _print(f"{name}  {kind}{shown}", width, rest=" " * 8)
        _print(description, width, _INDENT, _INDENT)
        for line in ("the default:", *(f"    {line}" for line in default.splitlines())) if is_text else ():
            console.out.print(Text(f"{_INDENT}{line}".rstrip()))


def _print(text: str, width: int, begin: str = "", rest: str = "", style: str = "") -> None:
    lines = textwrap.wrap(text, width, initial_indent=begin, subsequent_indent=rest, break_long_words=False)
    for line in lines or [begin.rstrip()]:
        console.out.print(Text(line, style))
