"""The server's handle of an engine: start it, send requests, get its records, and end it whatever it does."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from . import own_python
from .records import Blob, unpack

_START = "from omni.warp_core.studio.engine import main; main(int(sys.argv[1]), sys.argv[2])"
GRACE = 0.5  # seconds between the request to end and the kill

Receive = Callable[[dict[str, Any], list[Blob]], None]


@dataclass(frozen=True)
class EngineOptions:
    """What the user chose for all engines: the device of kernels, and folders of node types whose code runs."""

    device: str = "cpu"
    nodes: tuple[str, ...] = ()

    def request(self) -> dict[str, Any]:
        """Return the options as fields of the request that opens a scene."""
        return {"device": self.device, "nodes": list(self.nodes)}


class EngineProcess:
    """A running engine. `received` and `gone` are called in the event loop that has started it.

    Args:
        received: Called with each record.
        gone: Called once with the signal that ended the engine, or 0.
        mode: "release", or "debug" to check every access of kernels.
    """

    def __init__(self, received: Receive, gone: Callable[[int], None], mode: str = "release"):
        self._loop = asyncio.get_running_loop()
        self._received, self._gone = received, gone
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._scratch = tempfile.TemporaryDirectory(prefix="omni-warp-studio-", ignore_cleanup_errors=True)
        own, other = socket.socketpair()
        with other:
            self.process = subprocess.Popen(
                own_python.command(_START, str(other.fileno()), mode),
                pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "TMPDIR": self._scratch.name},  # it may be killed, and we remove what it leaves
            )  # fmt: skip
        self._pipe = Connection(own.detach())
        self.is_closed = False
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def send(self, **request: Any) -> None:
        """Send a request; it waits while the engine is busy."""
        self._requests.put(json.dumps(request).encode())

    def stop(self) -> None:
        """End the engine: ask first, kill it soon after. `gone` is called then."""
        self.process.send_signal(signal.SIGTERM)
        self._loop.call_later(GRACE, self._kill)

    def close(self) -> None:
        """End the engine at once, without a call of `gone`."""
        self.is_closed = True
        self._kill()
        self.process.wait()
        self._scratch.cleanup()
        self._requests.put(None)

    def _kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()

    def _read(self) -> None:
        try:
            while True:
                header, blobs = unpack(self._pipe.recv_bytes())
                self._call(self._received, header, blobs)
        except (EOFError, OSError, ValueError):
            self._kill()
            code = self.process.wait()
            self._scratch.cleanup()
            self._requests.put(None)
            self._call(self._gone, -code if code < 0 else 0)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        def call() -> None:
            if not self.is_closed:
                function(*arguments)

        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop is closed: the server ends
            self._kill()

    def _write(self) -> None:
        try:
            while (request := self._requests.get()) is not None:
                self._pipe.send_bytes(request)
        except (OSError, ValueError):
            pass  # the engine is gone, which `_read` tells
        finally:
            self._pipe.close()
