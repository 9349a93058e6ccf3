"""Consent inside Kit: when a stage opens, code in its nodes is shown, and runs after the user has agreed.

Until then the nodes fail with a message that says so; all other nodes run. A Kit without windows does not ask: the
setting `/exts/omni.warp_core/trust_all_code`, or consent that was remembered before, lets code run there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from ..nodes.graph.node_graph import GraphError
from ..nodes.kernel import consented_code
from ..nodes.kernel.code_file import CodeFile
from ..nodes.kernel.kit_code import KERNEL_CODE, SCRIPT_CODE, code_of
from ..nodes.scene.visible_text import plain
from ..nodes.stock.node_registry import KERNEL_NAMES, SCRIPT

TRUST = "/exts/omni.warp_core/trust_all_code"
_SHOWN = 12  # lines of each text
_NODES = 8
_CODE = {**dict.fromkeys(KERNEL_NAMES, KERNEL_CODE), SCRIPT: SCRIPT_CODE}  # node type -> the inputs with its code


class ConsentGate:
    """Asks when a stage opens. `close` undoes everything."""

    def __init__(self, usd: Any, settings: Any, ask: Callable[[str, Callable[[bool], None]], None] | None):
        self._usd, self._ask, self._settings = usd, ask, settings
        self._watch = None
        self._take_setting()
        if hasattr(settings, "subscribe_to_node_change_events"):
            self._watch = settings.subscribe_to_node_change_events(TRUST, lambda *event: self._take_setting())
        context = usd.get_context()
        stream = context.get_stage_event_stream()
        self._subscription = stream.create_subscription_to_pop(self._on_event, name="omni.warp_core consent")
        self.look(context.get_stage())

    def close(self) -> None:
        """Stop listening, and let no code run any longer that was not agreed to."""
        self._subscription = None
        if self._watch is not None:
            self._settings.unsubscribe_to_change_events(self._watch)
        consented_code.allow_everything(False)

    def _take_setting(self) -> None:
        """Let all code run, or only what the user agreed to, as the setting says now."""
        consented_code.allow_everything(bool(self._settings.get(TRUST)) if self._settings is not None else False)

    def look(self, stage: Any) -> None:
        """Ask about the code in a stage that has no consent yet."""
        if stage is None or self._ask is None:
            return
        waiting = {node: code for node, code in code_in(stage).items() if not _may_run(code)}
        if waiting:
            digests = [consented_code.digest(code.text) for code in waiting.values()]
            self._ask(question(waiting), lambda remember: self._agree(digests, remember))

    def _on_event(self, event: Any) -> None:
        if event.type == int(self._usd.StageEventType.OPENED):
            self.look(self._usd.get_context().get_stage())

    def _agree(self, digests: list[str], remember: bool) -> None:
        consented_code.allow(digests)
        if remember:
            consented_code.remember(digests)


def _may_run(code: CodeFile) -> bool:
    return consented_code.is_allowed(consented_code.digest(code.text))


def code_in(stage: Any) -> dict[str, CodeFile]:
    """Return the code of the Kernel and Script nodes of a stage, by node path."""
    found = {}
    folder = os.path.dirname(stage.GetRootLayer().realPath)
    for prim in stage.Traverse():
        kind = prim.GetAttribute("node:type")
        inputs = _CODE.get(kind.Get()) if kind else None
        if inputs is not None:
            with contextlib.suppress(GraphError):  # the node tells that the file cannot be read
                found[str(prim.GetPath())] = code_of(inputs, partial(_value, prim), folder)
    return {path: code for path, code in found.items() if code.text}


def _value(prim: Any, name: str) -> Any:
    attribute = prim.GetAttribute(f"inputs:{name}")
    return (attribute.Get() if attribute else None) or ""


def question(codes: dict[str, CodeFile]) -> str:
    """Return the text of the dialog. It shows no file from outside of the stage's folder."""
    parts = [f"Code in {len(codes)} nodes of this stage would run on this machine:"]
    for path, code in list(codes.items())[:_NODES]:
        lines = code.text.splitlines() if code.is_inside else ["(a file outside of the stage's folder)"]
        more = [f"... {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
        shown = [plain(line) for line in lines[:_SHOWN]]
        parts.append("\n".join([f"\n{path}  SHA-256 {consented_code.digest(code.text)}", *shown, *more]))
    if len(codes) > _NODES:
        parts.append(f"\n... and {len(codes) - _NODES} more nodes")
    return "\n".join([*parts, "\nRun it only if you trust where the stage comes from."])
