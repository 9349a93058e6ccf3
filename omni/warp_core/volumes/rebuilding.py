"""Room that rebuildable volumes reserve, and whether a tree fits in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algo.argument_checks import integer, require_arrays, require_elements
from ..arrays.array import array
from ..lang.types import I32, U32
from .allocation import FarAway, points_as_voxels, whole_leaves
from .grid_builder import GridPlan, Placement, leaves_of_voxels
from .grid_tree import count_bits
from .info import RebuildInfo
from .layout import LEAF_SIDE, ValueType

SUCCESS, LEAVES, LOWER, UPPER, VOXELS, INVALID = 0, 1, 2, 4, 8, 16
NOT_REBUILDABLE = RebuildInfo(None, 0, 0, 0, 0)
_MOST = 2**31 - 1
_NO_VOXELS = np.zeros((0, 3), np.int32)


def room_for_tiles(count: int, leaves: int | None, lower: int | None, upper: int | None) -> RebuildInfo:
    """Return the room for a number of points in leaves, or what is asked for. Raises TypeError, ValueError."""
    most = _room("max_tiles", leaves, count)
    voxels = min(most * LEAF_SIDE**3, _MOST)
    return RebuildInfo(
        "tiles", voxels, most, _room("max_lower_nodes", lower, most), _room("max_upper_nodes", upper, most)
    )


def room_for_voxels(
    count: int, voxels: int | None, leaves: int | None, lower: int | None, upper: int | None
) -> RebuildInfo:
    """Return the room for a number of voxels, or what is asked for. Raises TypeError, ValueError."""
    most = _room("max_active_voxels", voxels, count)
    nodes = _room("max_leaf_nodes", leaves, most)
    return RebuildInfo(
        "voxels", most, nodes, _room("max_lower_nodes", lower, nodes), _room("max_upper_nodes", upper, nodes)
    )


def plan_around(
    points: array, placement: Placement, value_type: ValueType, room: RebuildInfo, status: Any, point_mask: Any
) -> tuple[int, GridPlan]:
    """Plan a grid around points.

    Returns:
        Whether the points have room, as the sum of status codes, and the grid: an empty one if not.

    Raises:
        TypeError, ValueError: An array has another type or shape, or a point is too far away and there is no `status`.
    """
    _check_status(status)
    name = "tile_points" if room.kind == "tiles" else "voxel_points"
    require_arrays(**{name: points})
    try:
        voxels = points_as_voxels(name, points, placement, _kept(point_mask, points.shape[0]))
    except FarAway:
        if status is None:
            raise
        return INVALID, _nothing(value_type)
    plan = GridPlan(whole_leaves(voxels) if room.kind == "tiles" else leaves_of_voxels(voxels), value_type)
    code = _status_of(plan, room)
    return code, plan if code == SUCCESS else _nothing(value_type)


def _nothing(value_type: ValueType) -> GridPlan:
    return GridPlan(leaves_of_voxels(_NO_VOXELS), value_type)


def _status_of(plan: GridPlan, room: RebuildInfo) -> int:
    leaves, lower, upper, _ = plan.nodes.counts
    status = LEAVES * (leaves > room.max_leaf_node_count)
    status += LOWER * (lower > room.max_lower_node_count)
    status += UPPER * (upper > room.max_upper_node_count)
    return status + VOXELS * (count_bits(plan.leaves.masks) > room.max_voxel_count)


def _check_status(status: Any) -> None:
    """Raise TypeError, ValueError unless `status` is None or an array of one uint32."""
    if status is None:
        return
    require_elements("status", status, U32)
    if status.shape != (1,):
        raise ValueError(f"status: expected one element, got shape {status.shape}; write wp.zeros(1, dtype=wp.uint32)")


def _kept(point_mask: Any, count: int) -> np.ndarray | None:
    """Which points count, as a mask of int32 says; None if all do. Raises TypeError, ValueError."""
    if point_mask is None:
        return None
    require_elements("point_mask", point_mask, I32)
    if point_mask.shape != (count,):
        raise ValueError(f"point_mask: expected {count} elements, one for each point, got shape {point_mask.shape}")
    return point_mask.numpy() != 0


def report(code: int, status: array | None, room: RebuildInfo) -> None:
    """Write a status code into an array. Raises RuntimeError without an array, unless it is SUCCESS."""
    if status is not None:
        status.fill_(code)
    elif code:
        text = f"the points need more nodes or voxels than the volume has room for ({room})"
        text = "a point is not finite or too far away" if code == INVALID else text
        raise RuntimeError(f"wp.Volume: {text}; pass status= to get the code {code} instead of this error")


def _room(name: str, value: int | None, otherwise: int) -> int:
    if value is None:
        return min(otherwise, _MOST)
    found = integer(name, value)
    if not 0 < found <= _MOST:
        raise ValueError(f"{name}: expected a positive number up to {_MOST}, got {found}")
    return found
