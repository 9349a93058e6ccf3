"""The Script node: Python in a scene, behind the same consent as the text of a Kernel node.

A text has a function `compute(db)`, and may have `setup(db)` and `cleanup(db)`. Without `compute`, the whole text runs
in each evaluation, and finds `db` as a global name. Attributes that the user adds are `db.inputs.NAME` and
`db.outputs.NAME`. A text that raises is told with its own line.
"""

from __future__ import annotations

import ast
import symtable
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any

from ...lang.errors import nearest
from ..graph import execution
from ..graph.attribute import GraphError
from ..kernel.kernel_source import normalized
from ..kernel.kit_code import SCRIPT_CODE, consented_text
from ..kernel.kit_states import note_state, state_at
from ..kernel.program import text_namespace
from . import kit_modules

_DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class ScriptState:
    """The text that a node runs, compiled, and the names that it has defined."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.file = ""
        self.code: CodeType | None = None
        self.names: dict[str, Any] = {}
        self.error = ""
        self.db: Any = None

    def release(self) -> None:
        """Let the text clean up."""
        if callable(self.names.get("cleanup")):
            _call(self, lambda: self.names["cleanup"](self.db))
        self.names = {}


def compute(db: Any) -> bool:
    """Run the node once. Raises GraphError with the line of the text that raised."""
    host, state = getattr(db, "host", None), db.per_instance_state
    note_state(db, state)
    text = normalized(host.code[db.node.get_prim_path()] if host is not None else consented_text(db, SCRIPT_CODE))
    state.db = db
    if text != state.text:
        _warn_of_text(db, text)
        state.release()
        _take(state, text, f"{db.node.get_prim_path()}.inputs:{'scriptPath' if db.inputs.usePath else 'script'}")
    if state.error:
        raise GraphError(state.error)
    step = state.names.get("compute")
    if callable(step):
        done = _call(state, lambda: step(db))
    else:
        code = state.code
        assert code is not None
        done = _call(state, lambda: exec(code, state.names | {"db": db}))
    if done is False:
        raise GraphError("compute(db) returned False")
    execution.enable(db, "execOut")
    return True


def release(node: Any) -> None:
    """Let the text of a node that goes clean up."""
    state = getattr(node, "shared_state", None) or state_at(str(node.get_prim_path()))
    if state is not None:
        state.release()


def _take(state: ScriptState, text: str, file: str) -> None:
    """Compile a text, and let it define its names. A failure is kept, and told in each frame."""
    kit_modules.install()
    state.text, state.file, state.error, state.code = text, file, "", None
    state.names = text_namespace() | {"__name__": "script"}
    try:
        state.code = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        what, where = getattr(error, "msg", error), f"{file}:{line}" if line else file
        state.error = f"{type(error).__name__}: {what}\n --> {where}"
        return
    code, names = state.code, state.names
    if not _defines_compute(text):  # the whole text runs in each evaluation
        return
    try:
        _call(state, lambda: exec(code, names))
        if callable(names.get("setup")):
            _call(state, lambda: names["setup"](state.db))
    except GraphError as error:
        state.error = str(error)


def _warn_of_text(db: Any, text: str) -> None:
    """Warn of a text without `compute` that has a function of a similar name, or only defines names."""
    try:
        body = ast.parse(text).body
        is_whole = _defines_compute(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return  # compiling it tells
    functions = [part.name for part in body if isinstance(part, ast.FunctionDef)]
    near = nearest("compute", functions)
    if not is_whole and (near or all(isinstance(part, _DEFINITIONS) for part in body)):
        called = f"; {' and '.join(near)} should perhaps be compute" if near else ""
        db.log_warning(f"the text has no function compute(db), so an evaluation only runs it as a whole{called}")


def _defines_compute(text: str) -> bool:
    try:
        symbol = symtable.symtable(text, "script", "exec").lookup("compute")
    except KeyError:
        return False
    return symbol.is_assigned() or symbol.is_imported()


def _call(state: ScriptState, action: Callable[[], Any]) -> Any:
    """Run a part of a text. Raises GraphError for whatever it raises, with the line."""
    try:
        return action()
    except (KeyboardInterrupt, GraphError):
        raise
    except BaseException as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == state.file]
        where = f"{state.file}:{lines[-1]}" if lines else state.file
        raise GraphError(f"{''.join(traceback.format_exception_only(error)).strip()}\n --> {where}") from None
