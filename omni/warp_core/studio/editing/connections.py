"""Edits of connections between nodes. Start with `connect` and `insert`."""

from __future__ import annotations

from itertools import chain, count

from pxr import Usd

from ...nodes.scene.custom_data import attribute_names, property_of, relationship_type
from ...nodes.scene.graph_loader import output_path
from .editor import EditError, Editor, graph_of


def connect(editor: Editor, source: str, target: str) -> None:
    """Connect an output to an input of another node of the graph. Raises EditError."""
    for path in (source, target):
        editor.prim(path.partition(".")[0])
    if source.partition(".")[0] == target.partition(".")[0]:
        raise EditError("a node cannot take its own output")
    if graph_of(editor.stage, source) != graph_of(editor.stage, target):
        raise EditError("a connection between two graphs would never carry a value; use a variable or the stage")
    for path, other in ((source, target), (target, source)):
        _let_take_bundle(editor, path, other)
    editor.builder(target.partition(".")[0]).connect(source, target)


def _let_take_bundle(editor: Editor, path: str, other: str) -> None:
    """Give a Kernel node the bundle at one end of a connection, if it lacks it and the other end is a bundle."""
    node, _, name = path.partition(".")
    prim = editor.prim(node)
    is_missing = name not in editor.declared(prim) and not property_of(prim, name)
    if editor.is_kernel(prim) and is_missing and _is_bundle(editor, other):
        editor.builder(node).attribute(node, name, "bundle")


def _is_bundle(editor: Editor, path: str) -> bool:
    node, _, name = path.partition(".")
    prim = editor.prim(node)
    if (declared := editor.declared(prim).get(name)) is not None:
        return declared.type.is_bundle
    found = property_of(prim, name)
    return isinstance(found, Usd.Relationship) and relationship_type(found).is_bundle


def insert(editor: Editor, node: str, source: str = "", target: str = "") -> None:
    """Put a node between the ends of a connection, or at the end of one: its first ports that fit are connected.

    Ports without a connection go before others.
    """
    if source and target:
        disconnect(editor, target, source)
    for other, side in ((source, "inputs:"), (target, "outputs:")):
        if other and not any(
            _joins(editor, node, other, name, side == "inputs:") for name in _port_names(editor, node, side, other)
        ):
            raise EditError(f"{node.rpartition('/')[2]} has no {side[:-2]} that fits {other}")


def _port_names(editor: Editor, node: str, side: str, other: str) -> list[str]:
    """Return the ports of one side of a node that may be joined to another port, those without a connection first."""
    prim = editor.prim(node)
    declared = editor.declared(prim)
    gives = {name for name, spec in declared.items() if spec.metadata.get("outputOnly") == "1"}
    added = [name for name in attribute_names(prim) if name not in declared]
    names = [name for name in [*added, *declared] if name.startswith(side) and name not in gives]
    if editor.is_kernel(prim):
        names += _bundle_names(editor, prim, side, other)
    return names + sorted(gives) if side == "outputs:" else sorted(names, key=lambda name: _is_connected(prim, name))


def _bundle_names(editor: Editor, kernel: Usd.Prim, side: str, other: str) -> list[str]:
    """Return the bundles that a Kernel node may get: an input named as its source, outputs named as its inputs."""
    if side == "outputs:":
        inputs = kernel.GetAuthoredPropertiesInNamespace("inputs")
        return [f"outputs:{each.GetBaseName()}" for each in inputs if _is_bundle(editor, str(each.GetPath()))]
    base = other.rpartition(":")[2]
    names = (base + number for number in chain([""], map(str, count(2))))
    return [f"inputs:{next(name for name in names if not kernel.GetProperty(f'inputs:{name}'))}"]


def _is_connected(prim: Usd.Prim, name: str) -> bool:
    prop = prim.GetProperty(name)
    paths = prop.GetTargets() if isinstance(prop, Usd.Relationship) else prop.GetConnections() if prop else []
    return bool(paths)


def _joins(editor: Editor, node: str, other: str, name: str, is_input: bool) -> bool:
    """True if a port of a node could be connected to a port of another one, and is now."""
    try:
        connect(editor, *((other, f"{node}.{name}") if is_input else (f"{node}.{name}", other)))
    except (EditError, ValueError):
        return False
    return True


def disconnect(editor: Editor, target: str, source: str = "") -> None:
    """Cut the connection of an input to a source, or all that it has."""
    node, _, name = target.partition(".")
    found = editor.prim(node).GetProperty(name)
    if isinstance(found, Usd.Relationship):
        kept = [p for p in found.GetTargets() if source and output_path(str(p)) != source and str(p) != source]
        found.SetTargets(kept)
    elif found:
        found.SetConnections([p for p in found.GetConnections() if source and str(p) != source])


def cut(editor: Editor, node: str, gone: str) -> None:
    """Cut the connections of the other nodes of a graph to a node that goes, or to one of its attributes."""
    graph = editor.stage.GetPrimAtPath(graph_of(editor.stage, node))
    for prim in Usd.PrimRange(graph):
        if str(prim.GetPath()) == node:
            continue
        for prop in prim.GetAuthoredProperties():
            is_rel = isinstance(prop, Usd.Relationship)
            paths = prop.GetTargets() if is_rel else prop.GetConnections()
            kept = [p for p in paths if not p.HasPrefix(gone)]
            if len(kept) < len(paths):
                (prop.SetTargets if is_rel else prop.SetConnections)(kept)
