"""Checks of the points and indices of meshes. On a GPU kernels look at them, and the host reads two numbers."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

import numpy as np

from .. import atomic_min, isfinite, tid, vec3
from ..arrays.array import array, array1d
from ..arrays.factories import full
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.values.scalars import int32
from ..launches.launch import launch
from .lbvh_kernels import GOOD

_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}


@kernel(**_OPTIONS)
def mesh_check_indices(indices: array1d(dtype=int32), num_points: int, wrong: array1d(dtype=int32)):
    """Find the first index that is out of range."""
    i = tid()
    if indices[i] < 0 or indices[i] >= num_points:
        atomic_min(wrong, 0, i)


@kernel(**_OPTIONS)
def mesh_check_points(points: array1d(dtype=vec3), wrong: array1d(dtype=int32)):
    """Find the first point that is not finite."""
    i = tid()
    if not isfinite(points[i]):
        atomic_min(wrong, 1, i)


def check(points: array, indices: array) -> None:
    """Raise ValueError if an index is out of range or a point is not finite. On a GPU this waits."""
    if points.device.is_cuda:
        refuse(find_wrong(points, indices), points, indices)
        return
    numbers, finite = indices._numbers(), np.isfinite(points._numbers())
    wrong = np.flatnonzero((numbers < 0) | (numbers >= points.size))
    index = int(wrong[0]) if wrong.size else GOOD
    point = GOOD if finite.all() else int(np.flatnonzero(~finite.all(axis=1))[0])
    _refuse(index, point, points, indices)


def find_wrong(points: array, indices: array) -> array:
    """Return where the first wrong index is, and the first point that is not finite, on a GPU; `GOOD` without one."""
    with observers.NotRecording():
        wrong = full(2, GOOD, dtype=int32, device=points.device)
        launch(mesh_check_indices, indices.size, [indices, points.size, wrong], device=points.device)
        launch(mesh_check_points, points.size, [points, wrong], device=points.device)
    return wrong


def refuse(wrong: array, points: array, indices: array) -> None:
    """Raise ValueError for what `find_wrong` has found. This waits."""
    index, point = wrong.list()
    _refuse(index, point, points, indices)


def _refuse(index: int, point: int, points: array, indices: array) -> None:
    if index != GOOD:
        (number,) = indices[index : index + 1].list()
        raise ValueError(f"indices: indices[{index}] is {number}, out of range for {points.size} points")
    if point != GOOD:
        (place,) = points[point : point + 1].numpy().tolist()
        raise ValueError(f"points: points[{point}] is {place}, which is not finite; give it finite coordinates")
