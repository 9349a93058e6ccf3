"""`wp.usd.preview`: pictures of stages from Python."""

from __future__ import annotations

import os

from pxr import Usd

from ...logger import warn
from ..stage import first_and_last
from . import preview as pictures


def preview(
    scene: str | os.PathLike[str] | Usd.Stage,
    output: str | os.PathLike[str],
    *,
    frame: float | None = None,
    frames: tuple[int, int] | range | None = None,
    size: tuple[int, int] = (960, 540),
    camera: str | None = None,
) -> str:
    """Draw a frame or an animation of a stage, as `omni-warp preview` does.

    Args:
        scene: Path of a USD file or of a volume file (`.vdb`, `.nvdb`), or a stage.
        output: The picture: `.png`, `.jpg` and others; with `frames` a `.gif` or `.webp`.
        frame: The frame to draw. None: the first of the stage.
        frames: First and last frame of an animation, or a `range`, in place of `frame`.
        size: Width and height in pixels.
        camera: Path of the camera to look through. None: the first of the stage, else one that shows everything.

    Returns:
        A description of the picture.

    Raises:
        StageError: The stage cannot be used.
        ValueError: The request does not fit, such as a name of another kind of file.
        OSError: The file cannot be written.

    Warns:
        UserWarning: The stage has no such frame, or a prim cannot be drawn as a whole.

    Example:
        >>> from pxr import Usd, UsdGeom
        >>> stage = Usd.Stage.CreateInMemory()
        >>> ball = UsdGeom.Sphere.Define(stage, "/Ball")
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     text = wp.usd.preview(stage, os.path.join(folder, "ball.png"), size=(64, 64))
        ...     os.listdir(folder)
        ['ball.png']
    """
    given = scene if isinstance(scene, Usd.Stage) else os.fspath(scene)
    chosen = None if frames is None else first_and_last(frames)
    request = pictures.Request(given, os.fspath(output), frame, chosen, size, camera)
    return pictures.preview(request, warn=lambda text: warn(text, stacklevel=3))
