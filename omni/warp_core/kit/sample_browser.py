"""The sample scenes of the extension in Kit's sample browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAME = "Omni Warp Core"


def folder() -> Path:
    """Return the folder of the sample scenes: at the top of the extension, beside the package."""
    return Path(__file__).parents[3] / "data" / "scenes"


class Samples:
    """The folder, while the browser lists it. `browser` is `omni.kit.browser.sample`."""

    def __init__(self, browser: Any):
        self._browser, self._folder = browser, str(folder())
        browser.register_sample_folder(self._folder, NAME)

    def close(self) -> None:
        """Take the folder out of the browser."""
        self._browser.unregister_sample_folder(self._folder)
