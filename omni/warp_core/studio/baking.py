"""Bake: play the saved scene into a file with time samples, as `omni-warp play` does, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable
from typing import Any

from ..cli_arguments import CONSENT
from . import own_python
from .editing.editor import EditError
from .engine_process import EngineOptions
from .pages import Pages


class Baking:
    """One run of `omni-warp play` at a time."""

    def __init__(self, pages: Pages, options: EngineOptions):
        self._pages, self._options = pages, options
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task | None = None

    def start(self, scene: str, agreed: Iterable[str]) -> None:
        """Play a scene into SCENE_baked.usdc. Raises EditError while one runs.

        `agreed` are the digests of the texts that the user agreed to run: a text that has changed since does not run.
        """
        if self._task is not None and not self._task.done():
            raise EditError("the scene is being baked already")
        self._task = asyncio.create_task(self._run(scene, f"{os.path.splitext(scene)[0]}_baked.usdc", " ".join(agreed)))

    def stop(self) -> None:
        """End a run; it leaves no file."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()

    async def _run(self, scene: str, target: str, agreed: str) -> None:
        self._tell("running", f"Baking into {os.path.basename(target)}")
        with tempfile.NamedTemporaryFile("w", prefix="omni-warp-studio-") as file:
            file.write(agreed)
            file.flush()
            arguments = ["play", scene, "-o", target, "--agreed", file.name, "--device", self._options.device]
            arguments += [f"--nodes={folder}" for folder in self._options.nodes]
            self._process = await asyncio.create_subprocess_exec(
                *own_python.omni_warp(*arguments), stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            _, errors = await self._process.communicate()
        lines = errors.decode(errors="replace").strip().splitlines()
        if self._process.returncode == CONSENT:
            self._tell("done", "Baking failed: the scene has changed on disk, and its new texts were not run.")
        elif self._process.returncode == 0:
            self._tell("done", f"Baked: {target}")
        elif (self._process.returncode or 0) < 0:
            self._tell("done", "Baking was stopped; there is no file.")
        else:
            self._tell("done", f"Baking failed: {lines[-1] if lines else 'play gave no reason'}")

    def _tell(self, state: str, text: str) -> None:
        message: dict[str, Any] = {"is": "bake", "state": state, "text": text}
        self._pages.post(message)
