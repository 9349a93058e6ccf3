"""Nodes that print."""

from __future__ import annotations

from ..graph.database import ENABLED, Database
from .declaration import EXEC_IN, EXEC_OUT, attribute, node_type

LEVELS = "Info,Warning,Error"
LONGEST = 1000  # characters of a text that are printed


class PrintText:
    """Prints a text in each evaluation. An empty one prints nothing."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Print it."""
        text: str = db.inputs.text
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}... ({len(text)} characters)"
        if text:
            db.host.log.note(db.inputs.logLevel.lower(), db.node.label, text)
        db.outputs.execOut = ENABLED
        return True


_PRINT = EXEC_IN | {
    "text": attribute("string", "The text"),
    "logLevel": attribute("token", "How important it is", "Info", LEVELS),
    "toScreen": attribute("bool", "Ignored here: there is no viewport", False),
    "viewport": attribute("token", "Ignored here: there is no viewport"),
}

TYPES = [
    node_type(
        "ui_nodes.PrintText", 1, PrintText, "Prints a text", _PRINT, EXEC_OUT,
        limits=f"always prints, at most {LONGEST} characters, and never to a viewport",
    ),
]  # fmt: skip
