"""Cameras for pictures: the stage's own, or one fitted to what there is to see."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from pxr import Usd, UsdGeom

from ..stage import StageError, prim_at

FILLED = 0.92  # of the width or the height of a picture by what a fitted camera sees


@dataclass(frozen=True)
class View:
    """A camera: position, orthonormal axes (right, up, forward) and focal lengths in units of the image's width.

    A perspective camera maps a point at camera coordinates (x, y, z) to x * scale / z, an orthographic one to
    x * scale.
    The result counts image widths from the centre.
    """

    eye: np.ndarray
    right: np.ndarray
    up: np.ndarray
    forward: np.ndarray
    scale: float
    perspective: bool = True


def stage_view(stage: Usd.Stage, time: Usd.TimeCode, aspect: float, path: str | None = None) -> View | None:
    """Return the camera at `path`, or the first of the stage, if it has one. Raises StageError for a wrong path."""
    if path is not None:
        prim = prim_at(stage, path)
        if prim is None or not prim.IsA(UsdGeom.Camera):
            cameras = ", ".join(str(p.GetPath()) for p in stage.Traverse() if p.IsA(UsdGeom.Camera)) or "none"
            raise StageError(f"there is no camera {path}; cameras of the stage: {cameras}")
    else:
        prim = next((p for p in stage.Traverse() if p.IsA(UsdGeom.Camera)), None)
    if prim is None:
        return None
    camera = UsdGeom.Camera(prim).GetCamera(time)
    axes = np.asarray(camera.transform)[:3, :3]
    axes = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-30)
    perspective = str(camera.projection).endswith("Perspective")
    # apertures are tenths of a scene unit, as is the focal length: only their ratio matters in perspective
    width, height = camera.horizontalAperture, camera.verticalAperture
    shown = max(width, height * aspect)  # all of the aperture is in the picture
    scale = camera.focalLength / shown if perspective else 10.0 / shown
    eye = np.asarray(camera.transform)[3, :3]
    return View(eye, axes[0], axes[1], -axes[2], float(scale), perspective)


def up_axis(stage: Usd.Stage) -> np.ndarray:
    """The direction that is up in a stage."""
    return np.array([0.0, 0.0, 1.0] if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z else [0.0, 1.0, 0.0])


def look_at(eye: np.ndarray, target: np.ndarray, up: np.ndarray, scale: float, perspective: bool = True) -> View:
    """A camera at `eye` that looks at `target`."""
    forward = (target - eye) / np.linalg.norm(target - eye)
    if abs(forward @ up) > 0.999:
        up = np.roll(up, 1)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return View(eye, right, np.cross(right, forward), forward, scale, perspective)


def fitted(low: np.ndarray, high: np.ndarray, up: np.ndarray, aspect: float) -> View:
    """A camera that sees the whole box from the front, the right and above, as near as its corners let it."""
    side = np.array([0.62, 0.0, 0.62]) if up[1] else np.array([0.62, -0.62, 0.0])
    direction = (side + 0.48 * up) / np.linalg.norm(side + 0.48 * up)
    centre, size = (low + high) / 2, np.maximum((high - low) / 2, 1e-6)
    scale = 35.0 / 36.0
    view = look_at(direction, np.zeros(3), up, scale)  # far from the origin, centre + direction may be centre
    corners = size * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    # Seen from a distance d, a corner at (x, y, z) from the centre is |x| scale / (d + z) widths from the middle.
    x, y, z = (corners @ axis for axis in (view.right, view.up, view.forward))
    reach = np.maximum(np.abs(x), np.abs(y) * aspect) * scale / (0.5 * FILLED)
    return replace(view, eye=centre + direction * float(np.max(reach - z)))
