"""Diagnostics and status of a Kernel node, as JSON in two attributes that any editor can show.

`state:diagnostics` lists mistakes with their place in the user's text. `state:status` says whether the text is
compiled, what the node costs, and how it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...lang.errors import CompileError, Diagnostic, Place
from ..graph.node_graph import GraphError

COMPILED, COMPILING, ERROR = "compiled", "compiling", "error"


class ProgramError(GraphError):
    """A text that cannot run. `diagnostics` has its mistakes as data."""

    def __init__(self, text: str, diagnostics: Sequence[dict[str, Any]] = ()):
        super().__init__(text)
        self.diagnostics = list(diagnostics) or [entry(text)]


@dataclass
class Status:
    """State and costs of a Kernel node. `replay` says how it runs: launched with the reason, or replayed."""

    state: str = ""
    compile_ms: float = 0.0
    kernel_ms: float = 0.0
    dims: list[list[int]] = field(default_factory=list)
    replay: str = ""
    device: str = ""


# In errors of checked kernels: the place, and below it the line of the text.
_QUOTED_LINE = re.compile(r"^ *--> .+:(\d+)\n\1 \|", re.MULTILINE)


def entry(message: str, file: str = "", line: int = 0) -> dict[str, Any]:
    """One mistake: `line` counts from 1, 0 says that the mistake has no place in the text, or that `message` tells."""
    quoted = None if line else _QUOTED_LINE.search(message)
    line = int(quoted[1]) if quoted else line
    place = {"file": file, "line": line, "column": 0, "endLine": line, "endColumn": 0}
    return {"severity": "error", "code": "", "message": message, **place, "help": ""}


def of_compiler(error: CompileError) -> list[dict[str, Any]]:
    """Return the mistakes in a report of the compiler."""
    return [_of_one(d) for d in error.diagnostics] or [entry(str(error))]


def _of_one(found: Diagnostic) -> dict[str, Any]:
    notes = [_at(place) | {"message": text} for text, place in found.notes]
    more = {"code": found.code, "help": found.help, "candidates": list(found.candidates), "notes": notes}
    return entry(found.message) | more | (_at(found.place) if found.place else {})


def _at(place: Place) -> dict[str, Any]:
    """The place with columns that count characters from 1; the end is the first character behind it."""
    span = place.span
    raw = place.text.encode()
    column, end = (len(raw[:at].decode(errors="replace")) + 1 for at in (span.col, span.end_col))
    end_line = span.end_line or span.line
    return {"file": span.file, "line": span.line, "column": column, "endLine": end_line, "endColumn": end}


def show_diagnostics(db: Any, diagnostics: list[dict[str, Any]]) -> None:
    """Write the mistakes to the node, an empty list where there are none."""
    _write(db, "diagnostics", diagnostics)


def show_status(db: Any, status: Status) -> None:
    """Write the status to the node."""
    _write(db, "status", vars(status))


def _write(db: Any, name: str, value: Any) -> None:
    text = json.dumps(value) if value else "[]"
    if getattr(db.state, name) != text:
        setattr(db.state, name, text)
