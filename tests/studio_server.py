"""A real server of the studio as a process of its own, and a client in Python. Tests of the studio use both.

To import the package, USD and NumPy takes a server more time than most tests of it do. So servers are forks of one
process that has imported them.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from omni.warp_core import cli, config
from omni.warp_core.studio.records import unpack

PATIENCE = 60.0  # seconds until a condition that never comes true fails a test

_FORKS = multiprocessing.get_context("forkserver")
_IMPORTED = (
    *("omni.warp_core.studio.command", "tests.studio_server", "uvicorn.lifespan.on"),
    *("uvicorn.protocols.http.h11_impl", "uvicorn.protocols.websockets.websockets_sansio_impl"),
)
_FORKS.set_forkserver_preload(list(_IMPORTED))
_COMMAND = str(Path(sys.executable).with_name("omni-warp"))


def _serve(arguments: list[str], settings: str, folder: str, output: Connection, is_fresh: bool) -> None:
    """Become the server: in this process, or as `is_fresh` in one that starts like the command of a user."""
    os.chdir(folder)
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    os.environ["OMNI_WARP_SETTINGS_DIR"] = config.settings_dir = settings
    if is_fresh:
        os.execv(_COMMAND, [_COMMAND, *arguments])
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    sys.argv = [_COMMAND, *arguments]
    sys.exit(cli.main())


class Studio:
    """A running server: its process, address and token."""

    def __init__(
        self,
        scene: Path | None,
        settings: Path,
        folder: Path | None = None,
        options: tuple[str, ...] = (),
        is_fresh: bool = False,
    ):
        arguments = ["studio", *([str(scene)] if scene else []), "--no-browser", *options]
        reader, writer = multiprocessing.Pipe(duplex=False)
        with reader, writer:
            folder = folder or Path.cwd()
            self.process = _FORKS.Process(
                target=_serve, args=(arguments, str(settings), str(folder), writer, is_fresh), daemon=True
            )
            self.process.start()
            self._output = os.fdopen(os.dup(reader.fileno()), encoding="utf-8")
        line = self._output.readline()
        found = re.search(r"(http://127\.0\.0\.1:(\d+)/)#token=(\S+)", line)
        assert found, line + self._output.read()
        self.address, self.port, self.token = found[1], int(found[2]), found[3]
        self.url = f"{self.address}#token={self.token}"

    def kill(self) -> None:
        """Kill the server as the system does when memory runs out."""
        self.process.kill()
        self.process.join()

    def close(self) -> None:
        """End the server as Ctrl-C does."""
        self.process.terminate()
        self.process.join(20)
        if self.process.exitcode is None:
            self.kill()
        self.process.close()
        self._output.close()


@contextlib.contextmanager
def running(
    scene: Path | None,
    settings: Path,
    folder: Path | None = None,
    options: tuple[str, ...] = (),
    is_fresh: bool = False,
) -> Iterator[Studio]:
    """Run a server for a scene, or for a new one in a folder, with more options of the command."""
    studio = Studio(scene, settings, folder, options, is_fresh)
    try:
        yield studio
    finally:
        studio.close()


def patched(doc: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return a document after a patch, as the page does it."""
    assert patch["base"] == doc["revision"]
    graphs = {graph["path"]: graph for graph in doc["graphs"]}
    for op in patch["ops"]:
        path = op.pop("graph")
        old = graphs.pop(path, {"nodes": []})
        if op.get("gone"):
            continue
        nodes = {node["path"]: node for node in [*old["nodes"], *op["nodes"]]}
        order = op.pop("order", list(nodes))
        graphs[path] = {"path": path, **op, "nodes": [nodes[each] for each in order]}
    state = {key: patch[key] for key in ("revision", "edited", "undo", "redo", "comments")}
    return {**doc, **state, "graphs": [graphs[path] for path in sorted(graphs)]}


class Client:
    """A page without a browser: it keeps the newest message of each kind, and the arrays of the newest frame."""

    def __init__(self, studio: Studio, **known: Any):
        """Connect; `known` is what the page has from an earlier connection."""
        self.studio = studio
        self._stack = contextlib.ExitStack()
        url = studio.address.replace("http", "ws") + "ws"
        self.socket = self._stack.enter_context(connect(url, max_size=None, open_timeout=PATIENCE))
        self.latest: dict[str, dict[str, Any]] = {}
        self.messages: list[dict[str, Any]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.frames: list[dict[str, Any]] = []
        self.kernels: dict[str, dict[str, Any]] = {}
        self.send("hello", token=studio.token, **known)
        for work in (self._read, self._stream):
            threading.Thread(target=work, daemon=True).start()
        self.wait(lambda: self.latest.get("hello"))

    def close(self) -> None:
        """Close the page."""
        self._stack.close()

    def send(self, what: str, **fields: Any) -> None:
        """Send a message."""
        self.socket.send(json.dumps({"is": what, **fields}))

    def edit(self, *ops: dict[str, Any]) -> None:
        """Send an edit."""
        self.send("edit", ops=list(ops), label="edit")

    def save(self) -> None:
        """Save the scene with all edits that were sent, and wait until the file is written."""
        start = len(self.messages)
        self.send("save")
        self.wait(lambda: any(m["is"] == "disk" for m in self.messages[start:]) and not self.latest["doc"]["edited"])

    def wait(self, condition: Callable[[], Any]) -> Any:
        """Wait until a condition holds, and return what it gave."""
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < end, {"latest": self.latest.keys(), "last": self.messages[-8:]}
            time.sleep(0.01)
        return found

    def trust(self, remember: bool = False) -> None:
        """Agree to all texts of the scene."""
        codes = self.wait(lambda: self.latest.get("consent", {}).get("codes"))
        self.send("trust", digests=[code["digest"] for code in codes], remember=remember)
        self.wait(lambda: not self.latest["consent"]["codes"])

    def node(self, name: str) -> dict[str, Any] | None:
        """The node with a name in the newest document."""
        nodes = [n for graph in self.latest.get("doc", {"graphs": []})["graphs"] for n in graph["nodes"]]
        return next((n for n in nodes if n["name"] == name), None)

    def _read(self) -> None:
        with contextlib.suppress(Exception):  # the connection ends
            for text in self.socket:
                message = json.loads(text)
                self.messages.append(message)
                self.latest[message["is"]] = message
                if message["is"] == "patch":
                    self.latest["doc"] = patched(self.latest["doc"], message)
                if message["is"] == "kernel":
                    self.kernels[message["node"]] = message

    def _stream(self) -> None:
        with contextlib.suppress(httpx.HTTPError, OSError, AssertionError, ConnectionClosed):
            self.wait(lambda: self.latest.get("hello"))
            url = f"{self.studio.address}frames?page={self.latest['hello']['page']}"
            headers = {"Authorization": f"Bearer {self.studio.token}"}
            with httpx.stream("GET", url, headers=headers, timeout=None) as response:
                self.send("credit", count=2)
                rest = b""
                for chunk in response.iter_bytes():
                    rest = self._take(rest + chunk)

    def _take(self, rest: bytes) -> bytes:
        while len(rest) >= 4 and len(rest) >= (length := struct.unpack_from("<I", rest)[0]):
            header, blobs = unpack(rest[:length])
            rest = rest[length:]
            for blob in blobs:
                self.arrays[blob.key] = np.frombuffer(blob.data, blob.dtype).reshape(blob.shape)
            self.frames.append(header)
            with contextlib.suppress(Exception):
                self.send("credit")
        return rest
