"""Edits of a stage: small functions by name, which `Document.edit` runs as one step of undo.

Each takes the `Editor` and the fields of the request, and raises EditError with a sentence for the user. Specs that the
root layer defines change in place; what other layers define gets an `over`, or is made inactive in place of a delete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pxr import Sdf, Usd

from ...nodes.graph import switches
from ...nodes.graph.evaluate import EVALUATORS
from ...nodes.scene import kernel_presets
from ...nodes.scene.custom_data import property_of
from ...nodes.scene.graph_builder import GraphBuilder
from . import connections
from .editor import EditError, Editor, graph_of

POSITION = "ui:nodegraph:node:pos"
MOST_TEXT = 1 << 20  # characters of a kernel's text, as in a file of code


def _set(editor: Editor, path: str, value: Any) -> None:
    editor.builder(path.partition(".")[0]).set(path, value)


def _code(editor: Editor, node: str, text: str) -> None:
    if len(text) > MOST_TEXT:
        raise EditError(f"the text of {node} has more than {MOST_TEXT} characters")
    editor.builder(node).set(f"{node}.inputs:codeStr", text)


def _attribute(editor: Editor, node: str, name: str, type: str, value: Any = None) -> None:
    if not editor.prim(node).GetProperty(name):
        editor.builder(node).attribute(node, name, type, value)


def _add(
    editor: Editor, graph: str, type: str, name: str, position: list[float] | None = None, preset: str = ""
) -> None:
    """Add a node. A Kernel node may get the attributes of a preset; the page sends the text as if it were typed."""
    editor.prim(graph)
    builder = GraphBuilder.over(editor.stage, graph, editor.registry)
    path = builder.node(name, type)
    if preset:
        if preset not in kernel_presets.names():  # no path of a file
            raise EditError(f"there is no preset {preset!r}")
        builder.prepare(path, kernel_presets.load(preset))
    if position is not None:
        _move(editor, {path: position})


def _add_graph(editor: Editor, path: str, evaluator: str = "push") -> None:
    if evaluator not in EVALUATORS:
        raise EditError(f"evaluator {evaluator!r} is not one of {', '.join(EVALUATORS)}")
    if editor.stage.GetPrimAtPath(path):
        raise EditError(f"there is a prim {path} already")
    GraphBuilder(editor.stage, path, evaluator)


def _delete(editor: Editor, nodes: list[str]) -> None:
    gone = {node for node in nodes if editor.prim(node)}
    for node in gone:
        connections.cut(editor, node, node)
    layer = editor.stage.GetRootLayer()
    for node in gone:
        spec = layer.GetPrimAtPath(node)
        if spec is not None and len(editor.stage.GetPrimAtPath(node).GetPrimStack()) == 1:
            del spec.nameParent.nameChildren[spec.name]
        else:
            editor.stage.GetPrimAtPath(node).SetActive(False)


def _remove(editor: Editor, paths: list[str]) -> None:
    """Remove attributes that nodes have beside those of their types, and the connections of other nodes to them."""
    for path in paths:
        node, _, name = path.partition(".")
        prim = editor.prim(node)
        if name in editor.declared(prim):
            raise EditError(f"{path} belongs to the type of the node")
        if not (found := property_of(prim, name)):
            raise EditError(f"{node} has no attribute {name}")
        held = found.GetName()
        prim.RemoveProperty(held)
        if prim.GetProperty(held):
            raise EditError(f"{path} cannot be removed: another layer defines it")
        connections.cut(editor, node, f"{node}.{held}")


def _duplicate(editor: Editor, graph: str, names: dict[str, str]) -> None:
    """Copy nodes into a graph, under new names. Connections between them become connections between the copies.

    Copies keep the other connections of their inputs, unless these come from another graph.
    """
    editor.prim(graph)
    copies = {}
    for node, name in names.items():
        _require_free(editor, graph, name)
        _copy(editor, editor.prim(node), f"{graph}/{name}")
        copies[node] = f"{graph}/{name}"
    for copy in copies.values():
        for prim in Usd.PrimRange(editor.stage.GetPrimAtPath(copy)):
            for prop in prim.GetAuthoredProperties():
                _redirect(editor, prop, copies)


def _copy(editor: Editor, prim: Usd.Prim, copy: str) -> None:
    layer = editor.stage.GetRootLayer()
    if len(prim.GetPrimStack()) == 1 and layer.GetPrimAtPath(prim.GetPath()) is not None:
        Sdf.CopySpec(layer, prim.GetPath(), layer, copy)
    elif prim.GetAllChildren():
        raise EditError(
            f"{prim.GetPath()} has nodes below it, and another layer defines them; only single nodes are copied"
        )
    else:
        target = editor.stage.DefinePrim(copy, prim.GetTypeName())
        for prop in prim.GetAuthoredProperties():
            prop.FlattenTo(target)


def _redirect(editor: Editor, prop: Usd.Property, copies: dict[str, str]) -> None:
    """Let a property of a copy refer to other copies in place of their originals, and to no other graph."""
    is_rel = isinstance(prop, Usd.Relationship)
    graph = graph_of(editor.stage, str(prop.GetPath()))
    found = prop.GetTargets() if is_rel else prop.GetConnections()
    kept = []
    for path in found:
        node = next((node for node in copies if path.HasPrefix(node)), None)
        place = path if node is None else path.ReplacePrefix(node, copies[node])
        home = editor.stage.GetPrimAtPath(graph_of(editor.stage, str(place)))
        if str(home.GetPath()) == graph or home.GetTypeName() != "OmniGraph":
            kept.append(place)
    if kept != found:
        (prop.SetTargets if is_rel else prop.SetConnections)(kept)


def _require_free(editor: Editor, graph: str, name: str) -> None:
    """Raise EditError unless a graph may get a node of this name."""
    if not Sdf.Path.IsValidIdentifier(name):
        raise EditError(f"{name!r} is not a name for a node: letters, digits and _ only")
    if editor.stage.GetPrimAtPath(f"{graph}/{name}"):
        raise EditError(f"there is a node {name} already")


def _rename(editor: Editor, node: str, name: str) -> None:
    prim = editor.prim(node)
    _require_free(editor, str(prim.GetPath().GetParentPath()), name)
    namespace = Usd.NamespaceEditor(editor.stage)
    namespace.RenamePrim(prim, name)
    can = namespace.CanApplyEdits()
    if not can or not namespace.ApplyEdits():
        raise EditError(f"{node} cannot be renamed: {getattr(can, 'whyNot', 'another layer defines it')}")


def _move(editor: Editor, positions: dict[str, list[float]]) -> None:
    for node, place in positions.items():
        prim = editor.prim(node)
        attribute = prim.CreateAttribute(POSITION, Sdf.ValueTypeNames.Float2, False, Sdf.VariabilityUniform)
        attribute.Set((float(place[0]), float(place[1])))


def _enable(editor: Editor, node: str, on: bool) -> None:
    """Switch a node or a graph on or off."""
    prim = editor.prim(node)
    name = switches.GRAPH if prim.GetTypeName() == "OmniGraph" else switches.NODE
    if on and not prim.HasAttribute(name):
        return
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Bool, True).Set(bool(on))


OPERATIONS: dict[str, Callable[..., None]] = {
    "set": _set,
    "code": _code,
    "attribute": _attribute,
    "connect": connections.connect,
    "insert": connections.insert,
    "disconnect": connections.disconnect,
    "add": _add,
    "addGraph": _add_graph,
    "delete": _delete,
    "remove": _remove,
    "duplicate": _duplicate,
    "rename": _rename,
    "move": _move,
    "enable": _enable,
}
# Edits after which the graphs of the engine are still those of the stage, as it takes values and texts by themselves.
_QUIET = {"set", "code", "move"}
# Inputs that say which program a node runs: the engine reads the graphs anew, and asks for consent.
_PROGRAMS = {f"inputs:{name}" for name in ("script", "scriptPath", "usePath", "codeFile", "codeProvider")}
# Edits that change nothing but the nodes that they name in these fields.
_LOCAL = {
    "set": ("path",), "code": ("node",), "attribute": ("node",), "connect": ("target", "source"),
    "disconnect": ("target",), "insert": ("node", "target"), "move": ("positions",), "enable": ("node",),
}  # fmt: skip
# Fields that say which graph an edit changes.
_PLACES = ("node", "graph", "path", "target", "nodes", "paths", "positions")


def changed_by(stage: Usd.Stage, edit: dict[str, Any]) -> list[str]:
    """Return the paths of the prims whose specs in the root layer an edit changes: nodes, or a whole graph.

    A step of undo holds these specs, so that a small edit of a large graph is a small step. Raises EditError.
    """
    names = _LOCAL.get(edit.get("do", ""), ())
    nodes = list(dict.fromkeys(path for name in names for path in _paths(edit.get(name))))
    if nodes and all(stage.GetRootLayer().GetPrimAtPath(node) for node in nodes):
        return nodes
    places = [path for name in _PLACES for path in _paths(edit.get(name))[:1]]
    if not places:
        raise EditError("the edit names no place in the scene")
    return [graph_of(stage, places[0])]


def is_quiet(edit: dict[str, Any]) -> bool:
    """True if the engine need not read the graphs anew after an edit."""
    return edit["do"] in _QUIET and str(edit.get("path", "")).partition(".")[2] not in _PROGRAMS


def _paths(value: Any) -> list[str]:
    """Return the paths of prims in a field of an edit: a path, or several as a list or as keys."""
    found = list(value) if isinstance(value, (list, dict)) else [value]
    paths = [
        each for each in found if isinstance(each, str) and each.startswith("/") and Sdf.Path.IsValidPathString(each)
    ]
    return [str(Sdf.Path(path).GetPrimPath()) for path in paths]


def run(editor: Editor, edit: dict[str, Any]) -> None:
    """Do one edit: its field `do` names it, the others are its arguments. Raises EditError."""
    fields = dict(edit)
    name = fields.pop("do", "")
    if name not in OPERATIONS:
        raise EditError(f"there is no edit {name!r}")
    try:
        OPERATIONS[name](editor, **fields)
    except (ValueError, TypeError, RuntimeError, AttributeError, IndexError) as error:
        raise EditError(str(error)) from None
