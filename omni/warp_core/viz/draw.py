"""The picture of a tape, as text for Graphviz and in files. Start with `draw_tape`."""

from __future__ import annotations

import os
from typing import Any

from . import graphviz
from .dot import dot
from .svg import svg
from .tape_graph import Options, build

_BY_GRAPHVIZ = (".png", ".pdf", ".jpg", ".gif")


def draw_tape(tape: Any, filename: str | os.PathLike | None, direction: str, *options: Any) -> str:
    """Return the text for Graphviz; write it, or the picture, to a file if one is named.

    Args:
        tape: The tape, with its steps, their call sites and its scopes.
        filename: The file; its ending says what to write.
        direction: Where edges go: LR, TB, RL or BT.
        options: The fields of `tape_graph.Options`.

    Raises:
        ValueError: If the ending of the file is unknown.
        RuntimeError: If the file is for Graphviz to write, and `dot` is not installed.
    """
    graph = build(tape.launches, tape.notes, tape.scopes, Options(*options))
    text = dot(graph, direction)
    if filename is not None:
        path = os.fspath(filename)
        ending = os.path.splitext(path)[1].lower()
        if ending == ".svg":
            _write(path, svg(graph, direction))
        elif ending in _BY_GRAPHVIZ:
            graphviz.draw(path, ending, text)
        elif ending in ("", ".dot", ".gv"):
            _write(path, text)
        else:
            raise ValueError(f"filename: {ending} is not one of .svg, .dot, .gv, {', '.join(_BY_GRAPHVIZ)}")
    return text


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
