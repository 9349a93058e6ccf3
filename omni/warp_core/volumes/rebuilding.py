"""Room that rebuildable volumes reserve, and whether a tree fits in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algo.argument_checks import element_type, integer, require_arrays
from ..arrays.array import array
from ..lang.types import I32, U32
from .grid_builder import Leaves, blocks
from .info import RebuildInfo
from .layout import LEAF_SIDE, LOWER_WIDTH, UPPER_WIDTH

SUCCESS, LEAVES, LOWER, UPPER, VOXELS, INVALID = 0, 1, 2, 4, 8, 16
NOT_REBUILDABLE = RebuildInfo(None, 0, 0, 0, 0)
_MOST = 2**31 - 1


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


def status_of(leaves: Leaves, room: RebuildInfo) -> int:
    """Return what of a tree does not fit in the room, as the sum of status codes."""
    lower, _ = blocks(leaves.origins, LOWER_WIDTH)
    upper, _ = blocks(lower, UPPER_WIDTH)
    status = LEAVES * (len(leaves.origins) > room.max_leaf_node_count)
    status += LOWER * (len(lower) > room.max_lower_node_count) + UPPER * (len(upper) > room.max_upper_node_count)
    return status + VOXELS * (int(leaves.masks.sum()) > room.max_voxel_count)


def check_status(status: Any) -> None:
    """Raise TypeError, ValueError unless `status` is None or an array of one uint32."""
    if status is None:
        return
    require_arrays(status=status)
    if element_type(status) is not U32 or status.shape != (1,):
        raise TypeError(f"status: expected an array of one uint32, got shape {status.shape}")


def is_kept(point_mask: Any, count: int) -> np.ndarray:
    """Return which points count, as a mask of int32 says. Raises TypeError, ValueError."""
    if point_mask is None:
        return np.ones(count, bool)
    require_arrays(point_mask=point_mask)
    if element_type(point_mask) is not I32 or point_mask.shape != (count,):
        raise TypeError(f"point_mask: expected {count} elements of int32, got shape {point_mask.shape}")
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
