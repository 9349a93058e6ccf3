"""`warp.examples`: where programs look for scenes that warp-lang ships. This package has none of them."""

from __future__ import annotations

import os

VARIABLE = "OMNI_WARP_EXAMPLE_ASSETS"


def get_asset_directory() -> str:
    """Return the folder that the environment names for these scenes (`bunny.usd` and others).

    Raises:
        FileNotFoundError: the environment names no folder.
    """
    folder = os.environ.get(VARIABLE, "")
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"the example scenes of warp-lang are not part of this package: set {VARIABLE} to a folder with them"
        )
    return folder
