"""The text of a node inside Kit, if the user has agreed to run it. The headless host keeps its own list."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ..graph.node_graph import GraphError
from . import code_file, consented_code

_HOW = "\n".join(
    (
        "the code of this node runs after you have agreed to it.",
        "Menu: Window > Omni Warp Core > Code in This Stage.",
        "Without windows: set /exts/omni.warp_core/trust_all_code, or agree once with omni-warp play --remember.",
    )
)


class CodeInputs(NamedTuple):
    """The inputs of a node type that say what code runs: which of the two, the text, and a file."""

    choice: str
    text: str
    file: str


KERNEL_CODE = CodeInputs("codeProvider", "codeStr", "codeFile")
SCRIPT_CODE = CodeInputs("usePath", "script", "scriptPath")


def consented_text(db: Any, inputs: CodeInputs) -> str:
    """Return the text of a node. Raises GraphError without consent, or if its file cannot be read."""
    text = code_of(inputs, lambda name: getattr(db.inputs, name), _folder()).text
    if not consented_code.is_allowed(consented_code.digest(text)):
        raise GraphError(_HOW)
    return text


def code_of(inputs: CodeInputs, value: Callable[[str], Any], folder: str) -> code_file.CodeFile:
    """Return the code in a node, or in a file whose relative name starts at `folder`. Raises GraphError.

    `value` gives the value of an input by its name.
    """
    if value(inputs.choice) not in (True, "file"):
        return code_file.CodeFile(value(inputs.text), True)
    file = value(inputs.file)
    try:
        return code_file.read(os.path.join(folder, file), folder)
    except GraphError as error:
        raise GraphError(f"inputs:{inputs.file} {file!r} cannot be read: {error}") from None


def _folder() -> str:
    """Return the folder of the stage that Kit has open, "" for one in memory."""
    from omni.usd import get_context  # type: ignore[import-not-found, import-untyped]

    stage = get_context().get_stage()
    return os.path.dirname(stage.GetRootLayer().realPath) if stage is not None else ""
