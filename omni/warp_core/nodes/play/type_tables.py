"""The tables that `omni-warp nodes` prints: all node types, those of a folder, or one type with its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ...lang.errors import did_you_mean, nearest
from ..extensions import node_folders
from ..ogn.ogn_spec import NodeSpec
from ..stock import node_registry, type_listing
from ..stock.node_registry import Registry
from . import console


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
        _print(_table(("type", "version", "description"), [_summary(spec) for spec in found]))


def _described(folders: Sequence[str]) -> Registry:
    """Return the types that the `.ogn` files of folders describe. Raises OgnError."""
    registry = Registry()
    for folder in folders:
        node_folders.add_descriptions(
            registry, Path(folder), lambda where, text: console.complain(f"warning: {where}: {text}")
        )
    return registry


def _summary(spec: NodeSpec) -> tuple[str, ...]:
    return spec.name, str(spec.version), type_listing.first_sentence(spec)


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=number == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _print(table: Table) -> None:
    console.out.print(table, width=console.columns(), soft_wrap=False)


def _print_type(spec: NodeSpec) -> None:
    console.out.print(Text(f"{spec.name}, version {spec.version}"))
    console.out.print(Text(spec.description))
    if limits := type_listing.limits(spec):
        console.out.print(Text(f"Unlike in Kit: {limits}"))
    console.out.print()
    _print(_table(("attribute", "type", "default", "description"), list(type_listing.attribute_rows(spec))))
