"""Tuples that volumes describe themselves with."""

from __future__ import annotations

from typing import Any, NamedTuple


class GridInfo(NamedTuple):
    """What a volume says about itself; see `Volume.get_grid_info`."""

    name: str
    size_in_bytes: int
    grid_index: int
    grid_count: int
    type_str: str
    translation: Any
    transform_matrix: Any


class ActiveStats(NamedTuple):
    """How many voxels and nodes a volume has; see `Volume.get_active_stats`."""

    voxel_count: int
    leaf_node_count: int
    lower_node_count: int
    upper_node_count: int


class RebuildInfo(NamedTuple):
    """How a volume can be rebuilt, and the room that it has; see `Volume.get_rebuild_info`."""

    kind: str | None
    max_voxel_count: int
    max_leaf_node_count: int
    max_lower_node_count: int
    max_upper_node_count: int


class FeatureArrayInfo(NamedTuple):
    """An array that a grid carries along; see `Volume.get_feature_array_info`."""

    name: str
    ptr: int
    value_size: int
    value_count: int
    type_str: str
