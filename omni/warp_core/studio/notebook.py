"""`wp.studio.show`: the studio in a cell of a notebook."""

from __future__ import annotations

import atexit
import html
import os
import re
import subprocess
import threading
from collections.abc import Sequence

from . import own_python

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/#token=\S+")


class StudioError(Exception):
    """A studio that does not start; the text says why."""


class Frame:
    """A running studio, which a notebook shows in a frame. `address` opens it in a tab of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str, height: int):
        self.address, self.height = address, height
        self._process = process
        atexit.register(self.close)

    def close(self) -> None:
        """End the studio. What was not saved is offered at the next start."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _repr_html_(self) -> str:
        source = html.escape(self.address)
        return f'<iframe src="{source}" width="100%" height="{self.height}" style="border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<studio at {self.address}>"


def show(
    scene: str | os.PathLike[str],
    *,
    height: int = 640,
    device: str = "cpu",
    nodes: Sequence[str | os.PathLike[str]] = (),
) -> Frame:
    """Open a scene in the studio, and show it below the cell of a notebook.

    The studio is a process of its own that answers on this machine alone; notebooks on this machine may frame it.

    Args:
        scene: Path of the scene.
        height: Height of the frame in pixels.
        device: Where kernels run.
        nodes: Folders of node types of your own; their code runs.

    Returns:
        The frame, which the notebook draws as the result of the cell. Its `close` ends the studio.

    Raises:
        StudioError: The scene cannot be opened.

    Example:
        >>> wp.studio.show("no scene.usda")
        Traceback (most recent call last):
            ...
        omni.warp_core.studio.notebook.StudioError: no scene.usda: there is no such file
    """
    arguments = ["studio", os.fspath(scene), "--no-browser", "--notebook", "--device", device]
    arguments += [f"--nodes={os.fspath(folder)}" for folder in nodes]
    process = subprocess.Popen(
        own_python.omni_warp(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        if found := _ADDRESS.search(line):
            threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()
            return Frame(process, found[0], height)
        lines.append(line)
    process.wait()
    process.stdout.close()
    raise StudioError("".join(lines).strip().removeprefix("error: ") or "the studio does not start")


def _drain(stream: object) -> None:
    """Take what the studio prints, so that it never waits."""
    try:
        for _ in stream:  # type: ignore[attr-defined]
            pass
    except ValueError:
        pass  # closed
