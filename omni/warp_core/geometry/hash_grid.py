"""Hash grids: which points lie near a place. lib/hash_grid_queries.py has the layout in memory and the queries.

A build computes the cell of each point, sorts the points by cell, and looks where each cell begins. The sort is stable,
so results do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .. import tid
from ..algo.argument_checks import check_count, element_type, integer, require_arrays
from ..algo.sort import radix_sort_pairs
from ..arrays.array import array, array1d
from ..arrays.factories import empty
from ..devices.device import Device, get_device
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute
from ..eager.addressed_memory import register
from ..lang.kernel import kernel
from ..lang.types import F32, Vec
from ..lang.values.scalars import float32, int32, uint64
from ..lang.values.value_classes import vec3f
from ..launches.launch import launch
from ..lib.hash_grid_queries import HashGridData, cell_of, cube_of
from ..lib.search import lower_bound
from ..lib.vectors import isfinite
from .descriptors import Descriptors

__all__ = ["HashGrid"]

_MOST = (1 << 30) - 1  # points, whose indices are sorted beside as much scratch; and cells
_SMALLEST = 2.0**-100  # radius, and cells for each unit of length
_RELEASE: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}
_POINT = Vec(3, F32)
_DATA: Any = HashGridData  # with the constructor that `struct` gives it


@kernel(**_RELEASE)
def _find_cells(
    points: array1d(dtype=vec3f),  # type: ignore[valid-type]
    dim_x: int,
    dim_y: int,
    dim_z: int,
    scale: float,
    cells: array1d(dtype=int32),  # type: ignore[valid-type]
    ids: array1d(dtype=int32),  # type: ignore[valid-type]
):
    i = tid()
    p = points[i]
    cell = dim_x * dim_y * dim_z
    if isfinite(p[0]) and isfinite(p[1]) and isfinite(p[2]):
        x = cell_of(cube_of(p[0], scale), dim_x)
        y = cell_of(cube_of(p[1], scale), dim_y)
        z = cell_of(cube_of(p[2], scale), dim_z)
        cell = (z * dim_y + y) * dim_x + x
    cells[i] = cell
    ids[i] = i


@kernel(**_RELEASE)
def _scan_starts(cells: array1d(dtype=int32), num_points: int, num_cells: int, starts: array1d(dtype=int32)):  # type: ignore[valid-type]
    """Thread i fills the starts of the cells after that of point i - 1, up to that of point i."""
    i = tid()
    before, cell = -1, num_cells
    if i > 0:
        before = cells[i - 1]
    if i < num_points:
        cell = cells[i]
    for c in range(before + 1, cell + 1):
        starts[c] = i


@kernel(**_RELEASE)
def _search_starts(cells: array1d(dtype=int32), num_points: int, num_cells: int, starts: array1d(dtype=int32)):  # type: ignore[valid-type]
    cell = tid()
    starts[cell] = lower_bound(cells, 0, num_points, cell)


@kernel(**_RELEASE)
def _publish(place: array1d(dtype=HashGridData), data: HashGridData):  # type: ignore[valid-type]
    place[0] = data


class HashGrid:
    """A grid of cells that finds the points near a place, for kernels that visit neighbours of particles.

    Space is cut into cubes as wide as the radius of the build. Each cube belongs to one of `dim_x * dim_y * dim_z`
    cells, which repeat in every direction: points anywhere in space are found, at negative coordinates too. Memory is
    4 bytes for each cell and 16 for each point. Choose about as many cells as the points' extent has cubes.

    Args:
        dim_x: cells in x, at least 1.
        dim_y: cells in y.
        dim_z: cells in z; all cells together at most 2**30 - 1.
        device: where the grid is, and the kernels that query it run. None is the current device.

    Attributes:
        device: where the grid is.
        id: a uint64 for `wp.hash_grid_query` and `wp.hash_grid_point_id`. It stays the same when the grid is built
            again. It is valid for as long as this object exists: keep the object while kernels use the id. After
            that, a query with the id is a `KernelError`.

    Raises:
        RuntimeError: If a graph of a GPU is captured, and the grid is on that GPU.
        TypeError, ValueError: If a number of cells is not a positive integer, or there are too many cells.

    The results of a query come in an order that depends on the points alone. Kernels with queries have no gradient.

    >>> @wp.kernel
    ... def density(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, near: wp.array(dtype=float)):
    ...     i = wp.tid()
    ...     query = wp.hash_grid_query(grid, points[i], radius)
    ...     index = int(0)
    ...     while wp.hash_grid_query_next(query, index):
    ...         near[i] += wp.max(radius - wp.length(points[i] - points[index]), 0.0)
    >>> points = wp.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> grid = wp.HashGrid(16, 16, 16, device="cpu")
    >>> grid.build(points, radius=1.0)
    >>> near = wp.zeros(3, dtype=float, device="cpu")
    >>> wp.launch(density, dim=3, inputs=[grid.id, points, 1.0, near], device="cpu")
    >>> near.list()
    [1.5, 1.5, 1.0]
    """

    def __init__(self, dim_x: int, dim_y: int, dim_z: int, device: Any = None):
        self._dims = tuple(_extent(n, v) for n, v in (("dim_x", dim_x), ("dim_y", dim_y), ("dim_z", dim_z)))
        self._num_cells = math.prod(self._dims)
        if self._num_cells > _MOST:
            raise ValueError(f"dim_x, dim_y, dim_z: {self._num_cells} cells are more than the limit of {_MOST}")
        self.device = get_device(device)
        if self.device.is_cuda:
            capture.refuse("making a wp.HashGrid", self.device)
        self._starts = _memory(self._num_cells + 1, self.device)
        self._cells = self._ids = _memory(0, self.device)
        self._published: array | None = None  # where the descriptor points to
        self._captured: list[array] = []  # where it will, whenever a graph is launched
        self._place, number = _descriptors(self.device).take(self)
        self.id = uint64(number)
        _descriptors(self.device).write(self._place, _DATA(id=self.id)._wc_pack())

    def reserve(self, num_points: int) -> None:
        """Make room for points, so that a later `build` with at most so many allocates no memory.

        Args:
            num_points: how many, at most 2**30 - 1. Room that the grid has already stays.

        Raises:
            TypeError, ValueError: If it is not an integer from 0 to that limit.

        >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
        >>> grid.reserve(1000)
        """
        count = check_count("num_points", num_points, _MOST, "a hash grid has room for at most 2**30 - 1 points")
        if 2 * count > self._ids.size:
            self._cells, self._ids = (_memory(2 * count, self.device) for _ in range(2))

    def build(self, points: array, radius: float) -> None:
        """Put points into the cells, in place of those that are there.

        Points whose coordinates are not all finite are left out: no query finds them. The grid does not refer to
        `points` later, so build it again when points have moved. A graph can capture a build if `reserve` made room.

        Args:
            points: of vec3, one dimension, on the device of the grid. There may be none.
            radius: the width of a cell, in the unit of the points: about the distance that queries will ask for.

        Raises:
            TypeError: If `points` is not an array of vec3.
            ValueError: If it is on another device or has several dimensions, or the radius is not positive and finite.
            RuntimeError: If a graph captures this and there is no room for the points.

        >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
        >>> grid.build(wp.zeros(10, dtype=wp.vec3, device="cpu"), radius=0.5)
        """
        self._check_points(points)
        scale = _inverse(radius)
        if 2 * points.size > self._ids.size:
            capture.refuse("wp.HashGrid.build without room for the points; call reserve() before the capture")
        self.reserve(points.size)
        writes = {"cells": Write(self._cells), "ids": Write(self._ids), "starts": Write(self._starts)}
        reads = {"points": points}
        execute(
            Operation(
                "wp.HashGrid.build",
                writes=writes,
                reads=reads,
                run=lambda: self._build(points, scale),
                vjp=_no_gradient,
                jvp=[],
            )
        )

    def _build(self, points: array, scale: float) -> None:
        n = points.size
        with observers.NotRecording():
            if n:
                launch(_find_cells, n, [points, *self._dims, scale, self._cells, self._ids], device=self.device)
                radix_sort_pairs(self._cells, self._ids, n, 0, self._num_cells.bit_length())
            self._find_starts(n)
            data = _DATA(self.id, self._starts.ptr, self._ids.ptr, *self._dims, n, scale)
            launch(_publish, 1, [self._place, data], device=self.device)
        if capture.active():
            capture.keep(self)
            self._captured.append(self._ids)
        else:
            self._published = self._ids

    def _find_starts(self, num_points: int) -> None:
        """Find where the points of each cell begin. On a GPU no thread may have many empty cells to fill."""
        given = [self._cells, num_points, self._num_cells, self._starts]
        if self.device.is_cuda:
            launch(_search_starts, self._num_cells + 1, given, device=self.device)
        else:
            launch(_scan_starts, num_points + 1, given, device=self.device)

    def _check_points(self, points: Any) -> None:
        require_arrays(points=points)
        if element_type(points) is not _POINT:
            raise TypeError(f"points: expected elements of vec3, got {points._require_element().name}")
        if points.device is not self.device:
            raise ValueError(f"points: is on {points.device}, but the grid is on {self.device}")
        if points.ndim != 1:
            raise ValueError(f"points: expected one dimension, got shape {points.shape}")


def _extent(name: str, value: Any) -> int:
    n = integer(name, value)
    if n < 1:
        raise ValueError(f"{name}: expected at least one cell, got {n}")
    return n


def _inverse(radius: Any) -> float:
    """The cells for each unit of length, as a float32. Raises TypeError, ValueError."""
    if isinstance(radius, bool) or not isinstance(radius, (int, float, np.integer, np.floating, float32)):
        raise TypeError(f"radius: expected a number, got {type(radius).__name__}")
    width = float(radius)
    scale = 1.0 / width if width > 0.0 else 0.0
    if not _SMALLEST <= scale <= 1.0 / _SMALLEST:
        raise ValueError(f"radius: expected a number from {_SMALLEST:g} to {1.0 / _SMALLEST:g}, got {radius}")
    return float(np.float32(scale))


@cache
def _descriptors(device: Device) -> Descriptors:
    return Descriptors(HashGridData, device)


def _memory(size: int, device: Device) -> array:
    """Memory for int32, which Python code finds by its address, too."""
    made = empty(size, dtype=int32, device=device)
    register(made)
    return made


def _no_gradient() -> Callable[[], None]:
    """The gradient of a build: cells do not change with the points where a derivative exists."""
    return lambda: None
