"""Hash grids: which points lie near a place. Layout and queries are in lib/geometry/hash_grid_queries.py.

A build computes the cell of each point, sorts the points by cell and then by group, looks where each cell begins, and
writes the coordinates in that order. The sort is stable, so results do not depend on the number of threads. On CPUs
native code counts the points of each cell, which gives the places of cells and of points at once
(native/src/algo/bucket_sort.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from .. import _native, tid
from ..algo.argument_checks import check_count, element_type, integer, require_elements
from ..algo.sort import radix_sort_pairs
from ..arrays.array import array, array1d
from ..arrays.factories import empty
from ..devices.device import Device, get_device
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute
from ..eager.addressed_memory import register_arrays_of
from ..lang.annotations import Structure, type_or_none
from ..lang.kernel import Kernel, kernel
from ..lang.types import F16, F32, F64, I32, Scalar, Type, Vec
from ..lang.values.scalars import float16, float32, float64, int32, uint32, uint64
from ..lang.values.value_classes import python_type
from ..launches.launch import launch
from ..lib.geometry.hash_grid_queries import HashGridData, cell_of, cube_of
from ..lib.geometry.structure_ids import HASH_GRID
from ..lib.search import first_at_least
from ..lib.vectors import isfinite
from ..tape import structures
from .descriptors import Descriptors

__all__ = ["HashGrid"]

_MOST = (1 << 30) - 1  # points, whose indices are sorted beside as much scratch; and cells
_SMALLEST = 2.0**-100  # radius, and cells for each unit of length
_RELEASE: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}
_NUMBERS = (int, float, np.integer, np.floating, float16, float32, float64)
_SIGN = 0x8000_0000
_BEHIND = 8  # numbers behind the last point, which native queries may read, but do not use
_SCALARS = (F16, F32, F64)
_DATA: Any = HashGridData  # with the constructor that `struct` gives it
_TABLES = ("cell_starts", "point_ids", "groups", "xs", "ys", "zs")  # addresses in it


@cache
def _find_cells(point: Vec) -> Kernel:
    """Return the kernel that finds the cells of points of a type."""
    scalar = float64 if point.scalar is F64 else float32  # for the number of a cube

    @kernel(**_RELEASE)
    def hash_grid_find_cells(
        points: array1d(dtype=python_type(point)),  # type: ignore[valid-type]
        dim_x: int,
        dim_y: int,
        dim_z: int,
        scale: scalar,  # type: ignore[valid-type]
        cells: array1d(dtype=int32),  # type: ignore[valid-type]
        ids: array1d(dtype=int32),  # type: ignore[valid-type]
    ):
        i = tid()
        p = points[i]
        cell = dim_x * dim_y * dim_z
        if isfinite(p[0]) and isfinite(p[1]) and isfinite(p[2]):
            x = cell_of(cube_of(scalar(p[0]), scale), dim_x)
            y = cell_of(cube_of(scalar(p[1]), scale), dim_y)
            z = cell_of(cube_of(scalar(p[2]), scale), dim_z)
            cell = (z * dim_y + y) * dim_x + x
        cells[i] = cell
        ids[i] = i

    return hash_grid_find_cells


@kernel(**_RELEASE)
def _join_keys(cells: array1d(dtype=int32), groups: array1d(dtype=int32), keys: array1d(dtype=uint64)):  # type: ignore[valid-type]
    """A key is a cell, and behind it a group with the sign changed, so that unsigned keys are in order."""
    i = tid()
    keys[i] = uint64(cells[i]) << uint64(32) | uint64(uint32(groups[i]) ^ uint32(_SIGN))


@kernel(**_RELEASE)
def _split_keys(keys: array1d(dtype=uint64), cells: array1d(dtype=int32), groups: array1d(dtype=int32)):  # type: ignore[valid-type]
    i = tid()
    cells[i] = int32(keys[i] >> uint64(32))
    groups[i] = int32(uint32(keys[i]) ^ uint32(_SIGN))


@cache
def _put_in_order(point: Vec) -> Kernel:
    """Return the kernel that writes the coordinates of points of a type in the order of their cells."""

    @kernel(**_RELEASE)
    def hash_grid_put_in_order(
        points: array1d(dtype=python_type(point)),  # type: ignore[valid-type]
        ids: array1d(dtype=int32),  # type: ignore[valid-type]
        xs: array1d(dtype=float32),  # type: ignore[valid-type]
        ys: array1d(dtype=float32),  # type: ignore[valid-type]
        zs: array1d(dtype=float32),  # type: ignore[valid-type]
    ):
        i = tid()
        p = points[ids[i]]
        xs[i] = float32(p[0])
        ys[i] = float32(p[1])
        zs[i] = float32(p[2])

    return hash_grid_put_in_order


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
    starts[cell] = first_at_least(cells, 0, num_points, cell)


@kernel(**_RELEASE)
def _publish(place: array1d(dtype=HashGridData), data: HashGridData):  # type: ignore[valid-type]
    place[0] = data


class HashGrid(Structure):
    """A grid of cells that finds the points near a place, for kernels that visit neighbours of particles.

    Space is cut into cubes as wide as the radius of the build. Each cube belongs to one of `dim_x * dim_y * dim_z`
    cells, which repeat in every direction: points anywhere in space are found, at negative coordinates too. Memory is
    4 bytes for each cell, 28 for each point (16 if it is of doubles), and 20 more for each point with a group. Choose
    about as many cells as the points' extent has cubes.

    Args:
        dim_x: cells in x, at least 1.
        dim_y: cells in y.
        dim_z: cells in z; all cells together at most 2**30 - 1.
        device: where the grid is, and the kernels that query it run. None is the current device.
        dtype: the type of coordinates: float16, float32 or float64. Points are vec3h, vec3 or vec3d.

    Attributes:
        device: where the grid is.
        dtype: the type of coordinates.
        id: a uint64 for `wp.hash_grid_query` and `wp.hash_grid_point_id`. It stays the same when the grid is built
            again. It is valid for as long as this object exists: keep the object while kernels use the id. After
            that, a query with the id is a `KernelError`.

    Raises:
        RuntimeError: If a graph of a GPU is captured, and the grid is on that GPU.
        TypeError, ValueError: If a number of cells is not a positive integer, there are too many cells, or `dtype` is
            another type.

    The results of a query come in an order that depends on the points alone. Queries have no derivative, and what a
    kernel computes of the points that it finds has one. A tape keeps the grid as it was at each launch.

    >>> @wp.kernel
    ... def density(grid: wp.uint64, points: wp.array[wp.vec3], radius: float, near: wp.array[float]):
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

    _another = "make another wp.HashGrid, and build it of the points"

    def __init__(self, dim_x: int, dim_y: int, dim_z: int, device: Any = None, dtype: Any = float32):
        self._dims = tuple(_extent(n, v) for n, v in (("dim_x", dim_x), ("dim_y", dim_y), ("dim_z", dim_z)))
        self._num_cells = math.prod(self._dims)
        if self._num_cells > _MOST:
            raise ValueError(f"dim_x, dim_y, dim_z: {self._num_cells} cells are more than the limit of {_MOST}")
        scalar = _coordinate(dtype)
        self.device, self.dtype = get_device(device), python_type(scalar)
        self._scalar = scalar
        if self.device.is_cuda:
            capture.refuse("making a wp.HashGrid", self.device)
        self._starts = empty(self._num_cells + 1, dtype=int32, device=self.device)
        self._cells = self._ids = self._groups = _no_points(self.device)
        self._coordinates: tuple[array, ...] = ()  # x, y and z of points in order, unless they are of doubles
        self._keys = _no_keys(self.device)
        self._published: tuple[array, ...] = ()  # where the descriptor points to
        self._captured: list[array] = []  # where it will, whenever a graph is launched
        kept = _descriptors(self.device)
        self._place, number = kept.take(self)
        self.id = uint64(number)
        structures.register(self, self._place, _TABLES, kept.take)
        kept.write(self._place, kept.pack(id=number))
        register_arrays_of(self)

    def reserve(self, num_points: int, with_groups: bool = False) -> None:
        """Make room for points, so that a later `build` with at most so many allocates no memory of the grid.

        Args:
            num_points: how many, at most 2**30 - 1. Room that the grid has already stays.
            with_groups: whether the points have groups.

        Raises:
            TypeError, ValueError: If `num_points` is not an integer from 0 to that limit.

        >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
        >>> grid.reserve(1000)
        """
        count = check_count("num_points", num_points, _MOST, "a hash grid has room for at most 2**30 - 1 points")
        if not self._has_room(count, False):
            self._cells, self._ids = (empty(2 * count + _BEHIND, dtype=int32, device=self.device) for _ in range(2))
            if self._scalar is not F64:
                behind = count + _BEHIND
                self._coordinates = tuple(empty(behind, dtype=float32, device=self.device) for _ in range(3))
            register_arrays_of(self)
        if with_groups and not self._has_room(count, True):
            self._keys = empty(2 * count, dtype=uint64, device=self.device)
            self._groups = empty(count, dtype=int32, device=self.device)
            register_arrays_of(self)

    def _addressed_arrays(self) -> Iterable[array]:
        """Return all arrays that its descriptor leads to, now or when a captured build runs."""
        now = (self._starts, self._ids, self._groups, *self._coordinates)
        return (*now, *self._published, *self._captured)

    def _has_room(self, count: int, with_groups: bool) -> bool:
        return 2 * count <= (self._keys.size if with_groups else self._ids.size - _BEHIND)

    def build(self, points: array, radius: float, groups: array | None = None) -> None:
        """Put points into the cells, in place of those that are there.

        Points whose coordinates are not all finite are left out: no query finds them. The grid does not refer to
        `points` and `groups` later, so build it again when points have moved. A graph can capture a build if `reserve`
        made room.

        Args:
            points: of vec3, or vec3h or vec3d as `dtype` says; one dimension, on the device of the grid. There may be
                none.
            radius: the width of a cell, in the unit of the points: about the distance that queries will ask for.
            groups: int32, any number for each point. A query can ask for the points of one group, as where particles
                of several worlds share a grid.

        Raises:
            TypeError: If `points` or `groups` is not an array of that type.
            ValueError: If one of them is on another device, has several dimensions or another length, or the radius
                is not positive and finite.
            RuntimeError: If a graph captures this and there is no room for the points.

        >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
        >>> grid.build(wp.zeros(10, dtype=wp.vec3, device="cpu"), radius=0.5)
        """
        self._check("points", points, Vec(3, self._scalar))
        if groups is not None:
            self._check("groups", groups, I32)
            if groups.size != points.size:
                raise ValueError(f"groups: expected {points.size}, one for each point, got {groups.size}")
        scale = _inverse(radius, self.dtype)
        if not (self._has_room(points.size, False) and (groups is None or self._has_room(points.size, True))):
            capture.refuse("wp.HashGrid.build without room for the points; call reserve() before the capture")
        self.reserve(points.size, groups is not None)
        written = {"cells": self._cells, "ids": self._ids, "starts": self._starts}
        written |= dict(zip(("x", "y", "z"), self._coordinates))
        if groups is not None:
            written |= {"keys": self._keys, "groups in order": self._groups}
        execute(
            Operation(
                "wp.HashGrid.build",
                writes={name: Write(a) for name, a in written.items()},
                reads={"points": points, "groups": groups},
                run=lambda: self._build(points, scale, groups),
                vjp=_no_gradient,
                jvp=[],
            )
        )

    def _build(self, points: array, scale: float, groups: array | None) -> None:
        n = points.size
        structures.note_build(self)
        with observers.NotRecording():
            if n:
                find = _find_cells(element_type(points))
                launch(find, n, [points, *self._dims, scale, self._cells, self._ids], device=self.device)
                self._sort(n, groups)
                if self._coordinates:
                    put = _put_in_order(element_type(points))
                    launch(put, n, [points, self._ids, *self._coordinates], device=self.device)
            else:
                self._starts.zero_()
            groups_at = 0 if groups is None else self._groups.ptr
            coordinates_at = [a.ptr for a in self._coordinates] or [0, 0, 0]
            tables = self._starts.ptr, self._ids.ptr, groups_at, *coordinates_at
            data = _DATA(self.id, *tables, scale, *self._dims, n, self._scalar.bits)
            launch(_publish, 1, [self._place, data], device=self.device)
        if capture.active():
            capture.keep(self)
            self._captured += [self._ids, self._groups, *self._coordinates]
        else:
            self._published = (self._ids, self._groups, *self._coordinates)

    def _sort(self, n: int, groups: array | None) -> None:
        """Sort the points by cell, and those of a cell by group. Find where the points of each cell begin."""
        bits = self._num_cells.bit_length()
        if groups is not None:
            launch(_join_keys, n, [self._cells, groups, self._keys], device=self.device)
            radix_sort_pairs(self._keys, self._ids, n, 0, 32 + bits)
            launch(_split_keys, n, [self._keys, self._cells, self._groups], device=self.device)
        elif self.device.is_cuda:
            radix_sort_pairs(self._cells, self._ids, n, 0, bits)
        else:
            written = [self._cells, self._ids, self._starts]
            given = self._cells, self._ids, n, self._starts
            capture.call(_native.sort_into_buckets, *given, label=f"sort {n} points by cell", writes=written)
            return
        self._find_starts(n)

    def _find_starts(self, num_points: int) -> None:
        """Find where the points of each cell begin. On a GPU no thread may have many empty cells to fill."""
        given = [self._cells, num_points, self._num_cells, self._starts]
        if self.device.is_cuda:
            launch(_search_starts, self._num_cells + 1, given, device=self.device)
        else:
            launch(_scan_starts, num_points + 1, given, device=self.device)

    def _summary(self) -> str:
        return f"cells={self._dims}, dtype={self.dtype.__name__}, device={self.device}"

    def _check(self, name: str, a: Any, wanted: Type) -> None:
        require_elements(name, a, wanted)
        if a.device is not self.device:
            raise ValueError(f"{name}: is on {a.device}, but the grid is on {self.device}")
        if a.ndim != 1:
            raise ValueError(f"{name}: expected one dimension, got shape {a.shape}")


def _extent(name: str, value: Any) -> int:
    n = integer(name, value)
    if n < 1:
        raise ValueError(f"{name}: expected at least one cell, got {n}")
    return n


def _coordinate(dtype: Any) -> Scalar:
    found = type_or_none(dtype)
    if not isinstance(found, Scalar) or found not in _SCALARS:
        raise TypeError(f"dtype: expected wp.float16, wp.float32 or wp.float64, got {dtype!r}")
    return found


def _inverse(radius: Any, dtype: Any) -> float:
    """The cells for each unit of length. Raises TypeError, ValueError."""
    if isinstance(radius, bool) or not isinstance(radius, _NUMBERS):
        raise TypeError(f"radius: expected a number, got {type(radius).__name__}")
    width = float(radius)
    scale = 1.0 / width if width > 0.0 else 0.0
    if not _SMALLEST <= scale <= 1.0 / _SMALLEST:
        raise ValueError(f"radius: expected a number from {_SMALLEST:g} to {1.0 / _SMALLEST:g}, got {radius}")
    return scale if dtype is float64 else float(np.float32(scale))


@cache
def _descriptors(device: Device) -> Descriptors:
    return Descriptors(HashGridData, HASH_GRID, device)


@cache
def _no_points(device: Device) -> array:
    """The places of no points, which all grids share that have no room yet."""
    return empty(_BEHIND, dtype=int32, device=device)


@cache
def _no_keys(device: Device) -> array:
    return empty(0, dtype=uint64, device=device)


def _no_gradient() -> Callable[[], None]:
    """The gradient of a build: cells do not change with the points where a derivative exists."""
    return lambda: None
