"""The engine: a process that evaluates the graphs of a scene for the server, and may crash or hang without harm.

It reads requests, one JSON object each, from a pipe, and answers with records. It runs a text only if the server has
said that the user agreed to exactly this text. Start with `main`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from pxr import Usd

from .. import config
from ..compiler import effects
from ..lang.kernel import Kernel
from ..nodes.graph.database import Database
from ..nodes.graph.node_graph import Log, Node
from ..nodes.kernel import program
from ..nodes.kernel.kernel_bindings import parameters_of
from ..nodes.kernel.kernel_node import RUNS_ON, KernelState
from ..nodes.kernel.node_values import Attributes, dynamic, python_name
from ..nodes.kernel.signature import ADDED, REMOVED, Change, Parameter, changes_with_bundles
from ..nodes.live_session import NodeReport, Session, Settings, SettingsError
from ..nodes.play import child_process
from ..nodes.values.attribute_values import ValueTypeError
from ..usd.stage import StageError, complaints, frame_rate, quiet
from .display import Display
from .editing.document import Patch, put
from .editing.sample_scenes import new_layer
from .records import Blob, blob, pack, plain

FRAMES = (1, 100)  # of a scene that says nothing about its range
MOST_ROWS = 500
MOST_MESSAGES = 50


class Engine:
    """One scene, and the requests of the server about it."""

    def __init__(self, pipe: Connection):
        self.pipe = pipe
        self.agreed: set[str] = set()
        self.is_partial = False
        self.session: Session
        self.display: Display
        self.log = Log(lambda text: None)
        self._compiling: list[KernelState] = []
        self._complaints: list[str] = []  # of USD, about layers of the scene

    def serve(self) -> None:
        """Answer requests until the server closes the pipe."""
        while True:
            while self._compiling and not self.pipe.poll(0.003):
                self._tell_compiled()
            request = json.loads(self.pipe.recv_bytes())
            answer = getattr(self, f"do_{request.pop('do')}")
            try:
                answer(**request)
            except Exception as error:  # the server goes on with the next request
                told = isinstance(error, (StageError, SettingsError, ValueTypeError))
                self.send({"is": "failed", "text": str(error) if told else f"{type(error).__name__}: {error}"})

    def send(self, header: dict[str, Any], blobs: list[Blob] | None = None) -> None:
        """Send a record to the server."""
        self.pipe.send_bytes(pack(header, blobs or []))

    # Requests.

    def do_open(self, path: str, text: str, texts: dict[str, str], device: str, nodes: list[str]) -> None:
        """Open a scene; the root layer is `text` unless that is "", and some nodes have other `texts`.

        `nodes` are folders of node types, whose code runs.
        """
        with quiet():
            opened = Usd.Stage.Open(path if os.path.exists(path) else new_layer(path))
            if text and not opened.GetRootLayer().ImportFromString(text):
                raise StageError(f"{path}: the edited scene cannot be read")
        self._complaints = [f"{os.path.basename(path)}: {complaint}" for complaint in complaints(opened)]
        self.log.warnings[:] = self._complaints
        has_range = opened.HasAuthoredTimeCodeRange()
        settings = Settings(None if has_range else FRAMES, frame_rate(opened), device, nodes=nodes)
        self.session = Session.of(opened, settings, self.log, path)
        self.display = Display(opened)
        self._set_texts(texts)
        self._tell_opened()

    def do_agree(self, digests: list[str], partial: bool) -> None:
        """Run the texts with these digests from now on; a `partial` session runs while other texts wait."""
        self.agreed.update(digests)
        self.is_partial = partial

    def do_frame(self, frame: int, again: bool, stamp: int) -> None:
        """Evaluate up to a frame, or that frame once more, and send what changed."""
        session = self.session
        is_open = self._begin()
        if is_open and again and session.frame == frame:
            session.again(self.display)
        elif is_open:
            if frame < session.next_frame:
                self.display.clear()
            session.seek(frame, self.display)
        else:
            session.host.store.frame = frame
        self._send_frame(frame, stamp)

    def _set_texts(self, texts: dict[str, str]) -> None:
        for node, text in texts.items():
            if self.session.has_code(node):
                self.session.set_code(node, text)

    def do_patch(self, paths: list[str], text: str, is_quiet: bool, texts: dict[str, str]) -> None:
        """Take specs that the user edited. They are quiet if the graphs keep their nodes and connections.

        If they are not, the graphs are read anew, and some nodes have other `texts` than the stage.
        """
        put(Patch(tuple(paths), text), self.session.stage.GetRootLayer())
        if not is_quiet:
            self.log.errors.clear()  # the graphs tell anew what is wrong with them
            self.log.warnings[:] = self._complaints
            self.session.reload()
            self._set_texts(texts)
            self.display.refresh()
            self._tell_opened()

    def do_value(self, path: str, value: Any) -> None:
        """Give an input a value."""
        attribute = self.session.loaded.attribute(path)
        if attribute is not None:
            self.session.set(attribute, value)

    def do_code(self, node: str, text: str) -> None:
        """Give a node another text, to which the user agrees."""
        if self.session.has_code(node):
            self.session.set_code(node, text)
            self.agreed.update(code.digest for code in self.session.codes if code.node == node)

    def do_codes(self) -> None:
        """Send the texts as they are now."""
        self._tell_opened()

    def do_signature(self, node: str, text: str, revision: int) -> None:
        """Send what attributes a text needs that its node has not, and which ones it no longer names."""
        added: list[dict[str, str]] = []
        removed: list[str] = []
        try:
            kernels, steps = _changes(self._node(node), text)
            removed = [step.attribute for step in steps if step.kind == REMOVED]
            found = [{"name": s.attribute, "type": s.after} for s in steps if s.kind == ADDED and s.after]
            if found:  # a half-typed name is a parameter too, but the text has a mistake then
                for kernel in kernels:
                    effects(kernel)
            added = found
        except Exception:
            pass  # the compilation of the text tells its mistakes
        self.send({"is": "signature", "node": node, "revision": revision, "added": added, "removed": removed})

    def do_rows(self, path: str, first: int, count: int) -> None:
        """Send some rows of an array attribute, with its range."""
        attribute = self.session.loaded.attribute(path)
        value = attribute.value if attribute is not None else None
        array = value if isinstance(value, np.ndarray) else np.asarray(value if value is not None else [])
        is_rows = array.ndim > 0 and array.dtype.kind in "biuf" and bool(attribute and attribute.resolved.is_array)
        rows = array[first : first + min(count, MOST_ROWS)] if is_rows else np.zeros((0, 1))
        self.send(
            {
                "is": "rows", "path": path, "first": first, "total": len(array) if is_rows else 0,
                "rows": plain(rows.reshape(len(rows), -1)), **(_range(array) if is_rows else {}),
            }
        )  # fmt: skip

    # Answers.

    def _begin(self) -> bool:
        """Begin the session if the user has agreed to its texts, or to some of them and wants these to run."""
        session = self.session
        waiting = frozenset(code.node for code in session.codes if code.digest not in self.agreed)
        may_run = not waiting or (self.is_partial and len(waiting) < len(session.codes))
        if session.schedule is not None and not (may_run and waiting == session.withheld):
            session.close()
            self.display.clear()
        if session.schedule is None and may_run and waiting == session.withheld:
            session.begin()
        elif session.schedule is None and may_run:
            session.withheld = waiting
            session.rewind()
        return session.schedule is not None

    def _tell_opened(self) -> None:
        session = self.session
        codes = [
            {
                "node": c.node, "digest": c.digest, "inside": c.is_inside, "files": list(c.files),
                "origin": c.origin, "text": c.text if c.is_inside else "", "size": len(c.data),
            }
            for c in session.codes
        ]  # fmt: skip
        view = self.display.view(session.host.store.now)
        self.send(
            {
                "is": "opened",
                "start": session.start,
                "end": session.end,
                "fps": session.fps,
                "codes": codes,
                "view": view,
            }
        )

    def _send_frame(self, frame: int, stamp: int) -> None:
        update = self.display.update(self.session.host.store.now)
        blobs = [blob(f"{path}\n{name}", a) for path, arrays in update.arrays.items() for name, a in arrays.items()]
        is_running = self.session.schedule is not None
        reports = [_report(r) for r in self.session.reports()] if is_running else []
        self._compiling = [s for n in self.session.loaded.nodes() if (s := _compiling(n))] if is_running else []
        self.send(
            {
                "is": "frame", "frame": frame, "stamp": stamp, "exact": self.session.is_exact, "running": is_running,
                "matrices": update.matrices, "nodes": reports, "log": self._messages(reports),
                **({} if update.prims is None else {"prims": update.prims}),
            },
            blobs,
        )  # fmt: skip

    def _messages(self, reports: list[dict[str, Any]]) -> list[str]:
        """Return what is wrong now: an error of a node counts as long as the node fails."""
        nodes = {report["path"] for report in reports}
        errors = [text for text in self.log.errors if text.partition(": ")[0] not in nodes]
        errors += [f"{report['path']}: {report['failed']}" for report in reports if report["failed"]]
        warnings = [w for w in self.log.warnings if RUNS_ON not in w]  # the editor marks mistakes of texts
        return list(dict.fromkeys(errors + warnings + self.display.warnings))[-MOST_MESSAGES:]

    def _tell_compiled(self) -> None:
        if all(state.newest is None or state.newest.is_done for state in self._compiling):
            self._compiling = []
            self.send({"is": "compiled"})

    def _node(self, path: str) -> Node:
        found = self.session.loaded.attribute(f"{path}.inputs:codeStr")
        if found is None:
            raise StageError(f"there is no Kernel node {path}")
        return found.node


def _compiling(node: Node) -> KernelState | None:
    """Return the state of a node that has a text it does not run yet, compiled or not."""
    state = node.shared_state
    return state if isinstance(state, KernelState) and state.newest is not None and not state.is_taken else None


def _changes(node: Node, text: str) -> tuple[list[Kernel], list[Change]]:
    """Return the kernels of a text, and the steps from the attributes of a node to those of the text. Runs the module
    level of the text.
    """
    uses = program.uses_to_run(text, node.attributes["inputs:kernels"].value)
    if any(use.is_struct for use in uses):
        return [], []
    request = program.Request(text, f"{node.path}.inputs:codeStr", (), 0, Attributes({}, {}), "", "cpu")
    parameters: dict[str, Parameter] = {}
    kernels = program.kernels_of(request, uses)
    for kernel, use in zip(kernels, uses, strict=True):
        for parameter in parameters_of(kernel, use):
            written = parameter.name in parameters and parameters[parameter.name].is_written
            parameters[parameter.name] = parameter if not written else parameters[parameter.name]
    own = dynamic(Database(node))
    ports = own.inputs, own.outputs, own.states
    found = changes_with_bundles(parameters.values(), ports, own.bundles, own.bundles_out)
    full = {_python_name(name): name for name in node.attributes}
    return kernels, [replace(change, attribute=full.get(change.attribute, change.attribute)) for change in found]


def _python_name(attribute: str) -> str:
    """Return the name of an attribute as changes have it: `outputs:mesh_points` for `outputs:mesh:points`."""
    port, _, name = attribute.partition(":")
    return f"{port}:{python_name(name)}"


def _report(report: NodeReport) -> dict[str, Any]:
    return {
        "path": report.path, "ms": report.wall_ms, "failed": report.failed,
        "diagnostics": report.diagnostics, "status": report.status,
    }  # fmt: skip


def _range(array: np.ndarray) -> dict[str, Any]:
    """Return least and greatest of the columns of an array, and the number of NaNs."""
    if not array.size or array.dtype.kind == "b":
        return {"least": [], "greatest": [], "nan": 0}
    columns = array.reshape(len(array), -1)
    with np.errstate(all="ignore"):
        least, greatest = np.fmin.reduce(columns, 0), np.fmax.reduce(columns, 0)
    nan = int(np.count_nonzero(np.isnan(array))) if array.dtype.kind == "f" else 0
    return {"least": plain(least), "greatest": plain(greatest), "nan": nan}


def main(descriptor: int, mode: str) -> None:
    """Run the engine until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both; the server closes the pipe
    child_process.end_with_parent()
    pipe = Connection(descriptor)
    config.mode = mode
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, sys.stdout.fileno())  # code in a scene may print
    serve: Callable[[], None] = Engine(pipe).serve
    try:
        serve()
    except (EOFError, OSError):
        os._exit(0)  # threads of a scene's code may still run
