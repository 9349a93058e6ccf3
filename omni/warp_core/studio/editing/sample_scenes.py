"""Sample scenes for an empty start: which there are, and copies of them for the user to change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from pxr import Sdf, UsdUtils

from .editor import EditError

_PACKAGE = Path(__file__).resolve().parents[2]
# Inside the package once installed, at the top of a checkout.
_FOLDERS = (_PACKAGE / "data" / "scenes", _PACKAGE.parents[1] / "data" / "scenes")
# What each one shows, in the order of the gallery.
SAMPLES = {
    "wave": "Swells and rings on a pool: one kernel moves and colors 65,536 points.",
    "spiral": "Stones on a spiral that turn and grow: instances with places of a kernel.",
    "puff": "Smoke that rises: a kernel fills a volume.",
    "galaxy": "9,000 stars that attract one another: points with velocities.",
    "grains": "Grains that fall into a box: collisions by a hash grid.",
    "cloth": "A cloth that falls over a ball: constraints, solved again and again.",
    "meadow": "Grass in the wind: 25,000 points of curves.",
    "ocean": "Waves that the wind makes, without a kernel of your own.",
    "terrain": "A grid that noise lifts, without a kernel of your own.",
}


def folder() -> Path | None:
    """Return the folder of the sample scenes, None for an installation without them."""
    return next((found for found in _FOLDERS if found.is_dir()), None)


def listed() -> list[dict[str, Any]]:
    """Return names and descriptions of the sample scenes that there are."""
    found = folder()
    if found is None:
        return []
    return [{"name": n, "about": about} for n, about in SAMPLES.items() if (found / f"{n}.usda").is_file()]


def copy_to(name: str, target: str) -> str:
    """Copy a sample scene and the layers it needs into a folder, over no other file; return the path of the copy.

    Raises:
        EditError: There is no such sample, or it cannot be copied.
    """
    source = folder()
    if name not in SAMPLES or source is None:
        raise EditError(f"there is no sample scene {name!r}")
    layers, _, _ = UsdUtils.ComputeAllDependencies(str(source / f"{name}.usda"))
    try:
        for layer in layers:
            needed = Path(layer.realPath)
            if needed.stem != name and not (Path(target) / needed.name).exists():
                shutil.copyfile(needed, Path(target) / needed.name)
        path = free_name(target, name)
        with open(path, "xb") as file:
            file.write((source / f"{name}.usda").read_bytes())
    except OSError as error:
        raise EditError(f"{name}.usda cannot be copied to {target}: {error.strerror or error}") from None
    return path


def free_name(target: str, stem: str) -> str:
    """Return a path in a folder where no file is: STEM.usda, or with a number behind."""
    path, number = os.path.join(target, f"{stem}.usda"), 2
    while os.path.lexists(path):
        path, number = os.path.join(target, f"{stem}{number}.usda"), number + 1
    return path


EMPTY = """#usda 1.0
(
    defaultPrim = "World"
    endTimeCode = 100
    framesPerSecond = 24
    startTimeCode = 1
    timeCodesPerSecond = 24
    upAxis = "Y"
)

def Xform "World"
{
    def OmniGraph "Graph"
    {
        token evaluator:type = "push"
    }
}
"""


def new_layer(path: str) -> Sdf.Layer:
    """Return an empty scene in memory that belongs to a path where no file is yet."""
    known = Sdf.Layer.Find(path)
    layer = known or Sdf.Layer.New(Sdf.FileFormat.FindById("usda"), path)
    layer.ImportFromString(EMPTY)
    return layer
