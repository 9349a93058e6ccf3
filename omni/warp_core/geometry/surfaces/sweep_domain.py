"""Poses of moving meshes, boxes around them, and grids in these boxes, in float64. Start with `find_domain`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import vec3
from ...algo.argument_checks import integer
from ...arrays.array import array
from ...dispatch import capture
from ..mesh import Mesh
from .field_checks import corner, number_of

_MARGIN = 2  # cells around the poses
_MOST = 2**31 - 1  # nodes
_UNIT = 1e-3  # by how much the square of the length of a quaternion may differ from 1
_WIDER = 1.01  # the reach of queries, to be sure


class Domain(NamedTuple):
    """A grid around all poses."""

    shape: tuple[int, ...]  # nodes
    lower: vec3
    upper: vec3
    reach: float  # more than the distance of a node from any pose
    poses: np.ndarray  # of shape (meshes, times, 7)
    boxes: np.ndarray  # of meshes at rest, of shape (meshes, 2, 3)


def poses_of(meshes: Sequence[Mesh], transforms: Any) -> np.ndarray:
    """Return the transforms as float64 of shape (meshes, times, 7). Raises TypeError, ValueError."""
    given = transforms.numpy() if isinstance(transforms, array) else transforms
    try:
        poses = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"transforms: expected numbers, got {type(transforms).__name__}") from None
    if poses.ndim != 3 or poses.shape[0] != len(meshes) or poses.shape[2] != 7 or poses.shape[1] == 0:
        shape = f"({len(meshes)}, times, 7) or transforms of shape ({len(meshes)}, times)"
        raise ValueError(f"transforms: expected numbers of shape {shape}, got {poses.shape}")
    if not np.isfinite(poses).all():
        raise ValueError("transforms: expected finite numbers")
    squares = (poses[..., 3:] ** 2).sum(-1)
    if abs(squares - 1.0).max() > _UNIT:
        m, s = np.unravel_index(abs(squares - 1.0).argmax(), squares.shape)
        raise ValueError(
            f"transforms: the quaternion of mesh {m} at time {s} has length {squares[m, s] ** 0.5:.6g}; expected 1"
        )
    return poses


def boxes_of(meshes: Sequence[Mesh]) -> np.ndarray:
    """Return the least and the greatest corner of each mesh at rest, of shape (meshes, 2, 3); NaN without points."""
    boxes = np.full((len(meshes), 2, 3), np.nan)
    for box, mesh in zip(boxes, meshes, strict=True):
        points = mesh.points.numpy()
        if len(points):
            box[:] = points.min(0), points.max(0)
    if np.isnan(boxes).all():
        raise ValueError("meshes: expected a mesh with points")
    return boxes


def bounds_of(boxes: np.ndarray, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest corner of all boxes in all poses."""
    corners = np.array([[[box[i, 0], box[j, 1], box[k, 2]] for i, j, k in np.ndindex(2, 2, 2)] for box in boxes])
    placed = _rotate(poses[:, :, None, 3:], corners[:, None]) + poses[:, :, None, :3]
    return np.nanmin(placed, (0, 1, 2)), np.nanmax(placed, (0, 1, 2))


def _rotate(q: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Rotate points by unit quaternions x, y, z, w."""
    axis, w = q[..., :3], q[..., 3:]
    twice = 2.0 * np.cross(axis, points)
    return points + w * twice + np.cross(axis, twice)


def find_domain(
    meshes: Sequence[Mesh],
    transforms: Any,
    voxel_size: float | None,
    resolution: Any,
    lower: Any,
    upper: Any,
    threshold: float,
) -> Domain:
    """Return the grid that arguments ask for. Raises TypeError, ValueError, RuntimeError."""
    capture.refuse("wp.geometry.swept_volume_field", meshes[0].device)
    poses, boxes = poses_of(meshes, transforms), boxes_of(meshes)
    least, greatest = bounds_of(boxes, poses)
    if (voxel_size is None) == (resolution is None):
        raise ValueError("voxel_size, resolution: expected one of them")
    if (lower is None) != (upper is None):
        raise ValueError("lower, upper: expected both or none")
    if lower is None:
        _refuse_gradient(transforms)
    if voxel_size is not None:
        if lower is not None:
            raise ValueError("voxel_size: cells of a given size do not fit between given corners; pass resolution")
        shape, first, last = _with_cells(least, greatest, number_of("voxel_size", voxel_size), max(threshold, 0.0))
    else:
        shape = _shape(resolution)
        first, last = _with_nodes(least, greatest, shape, max(threshold, 0.0))
        if lower is not None:
            first, last = np.array(corner("lower", lower)), np.array(corner("upper", upper))
    if math.prod(shape) > _MOST:
        raise ValueError(f"voxel_size, resolution: {shape} are more nodes than the limit of {_MOST}")
    ends = np.stack([first, last, least, greatest])
    reach = _WIDER * float(np.linalg.norm(ends.max(0) - ends.min(0)))
    return Domain(shape, vec3(*first), vec3(*last), reach, poses, boxes)


def _refuse_gradient(transforms: Any) -> None:
    """Raise RuntimeError if the corners of the grid would have a gradient."""
    if isinstance(transforms, array) and transforms.requires_grad:
        text = "lower, upper: the default corners depend on the transforms, which require gradients"
        raise RuntimeError(f"{text}, and have none; pass lower, upper and resolution")


def _shape(resolution: Any) -> tuple[int, ...]:
    shape = tuple(integer("resolution", n) for n in resolution)
    if len(shape) != 3 or min(shape) < 2:
        raise ValueError(f"resolution: expected three numbers of nodes, at least two each, got {resolution!r}")
    return shape


def _with_cells(
    least: np.ndarray, greatest: np.ndarray, width: float, room: float
) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    """Return a grid of cells with a width around a box with some room."""
    if width <= 0.0:
        raise ValueError(f"voxel_size: expected a positive number, got {width}")
    extents = greatest - least + 2.0 * (room + _MARGIN * width)
    cells = np.ceil(np.minimum(extents / width - 1e-4, _MOST))  # but for rounding
    middle = 0.5 * (least + greatest)
    return tuple(int(n) + 1 for n in cells), middle - 0.5 * width * cells, middle + 0.5 * width * cells


def _with_nodes(
    least: np.ndarray, greatest: np.ndarray, shape: Sequence[int], room: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a grid with so many nodes around a box with some room."""
    widths = (greatest - least + 2.0 * room) / (np.array(shape) - 1)
    widths[widths == 0.0] = widths.max() or 1.0  # a flat box
    pad = room + _MARGIN * widths
    return least - pad, greatest + pad
