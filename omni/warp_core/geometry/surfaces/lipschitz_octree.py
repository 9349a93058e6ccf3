"""Cells near a surface, found top-down by values at their centres and a bound on how fast values change."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import abs, cw_mul, isnan, tid, vec3, vec3i
from ...algo.argument_checks import check_count, require_elements
from ...algo.scan import array_scan
from ...arrays.array import array, array1d
from ...arrays.factories import empty, zeros
from ...devices.device import Device, get_device
from ...dispatch import capture, observers
from ...lang.kernel import Function, kernel
from ...lang.types import F32
from ...lang.values.scalars import float32, int32, int64
from ...launches.launch import launch
from .field_checks import corner, level, number_of
from .grid_words import OPTIONS
from .numbering import MOST

__all__ = ["lipschitz_octree"]

_DEEPEST = 30  # as corners of cells have subscripts of int32
_ROUNDING = 2.0**-21  # of positions and values, some steps of float32


@kernel(**OPTIONS)
def _place_centres(cells: array1d(dtype=vec3i), half: float32, origin: vec3, steps: vec3, points: array1d(dtype=vec3)):
    """Write the centres of cells, which are half a width from their subscripts."""
    i = tid()
    p = cells[i]
    points[i] = origin + cw_mul(steps, vec3(float(p[0]) + half, float(p[1]) + half, float(p[2]) + half))


@kernel(**OPTIONS)
def _judge(values: array1d(dtype=float32), threshold: float32, reach: float32, kept: array1d(dtype=int64)):
    """Write 1 for cells that the surface may pass, as the value at the centre is within reach of the threshold."""
    i = tid()
    value = values[i]
    kept[i] = int64(isnan(value) or abs(value - threshold) <= reach + float(_ROUNDING) * abs(value))


@kernel(**OPTIONS)
def _keep(cells: array1d(dtype=vec3i), starts: array1d(dtype=int64), kept: array1d(dtype=vec3i)):
    i = tid()
    if starts[i + 1] > starts[i]:
        kept[starts[i]] = cells[i]


@kernel(**OPTIONS)
def _count_children(cells: array1d(dtype=vec3i), width: int32, sizes: vec3i, counts: array1d(dtype=int64)):
    """Write 1 for each child that begins inside of the grid."""
    i = tid()
    p, child = cells[i >> 3], i & 7
    inside = True
    for axis in range(3):
        inside = inside and p[axis] + width * (child >> axis & 1) < sizes[axis]
    counts[i] = int64(inside)


@kernel(**OPTIONS)
def _split(cells: array1d(dtype=vec3i), width: int32, starts: array1d(dtype=int64), children: array1d(dtype=vec3i)):
    i = tid()
    if starts[i + 1] > starts[i]:
        child = i & 7
        step = vec3i(child & 1, child >> 1 & 1, child >> 2)
        children[starts[i]] = cells[i >> 3] + width * step


class Octree(NamedTuple):
    """An octree of so many levels below its root. Its leaves have subscripts, and some of them are cells of a grid."""

    origin: vec3
    steps: vec3  # the extents of a leaf
    depth: int
    sizes: tuple[int, ...]  # of the grid, in leaves


class Found(NamedTuple):
    """The leaves that the surface may pass, as vec3i, how often the field was evaluated, and cells outside the grid."""

    cells: array
    evaluations: int
    culled: int


def lipschitz_octree(
    field: Callable[[array], array],
    origin: Sequence[float],
    root_width: float,
    max_depth: int,
    threshold: float = 0.0,
    lipschitz_bound: float = 1.0,
    device: Any = None,
) -> tuple[array, float]:
    """Return the leaves of an octree that the surface where a function has a value may pass.

    A cell of width h is cut into eight if the value at its centre is near the threshold: within `lipschitz_bound` *
    sqrt(3) / 2 * h, and a little more for rounding. That much can change between the centre and a corner. Leaves are
    tested in the same way. A cell is kept if the value is NaN. The test is that of J. Hart, "Sphere tracing", The
    Visual Computer 1996, applied to cells.

    There is no gradient: which cells there are changes in jumps.

    Args:
        field: a function that takes positions, an array of vec3 of shape (n,), and returns the values there, an array
            of float32 of shape (n,) on the same device. It is called once for each level.
        origin: the least corner of the root, three numbers.
        root_width: the length of an edge of the root, greater than zero.
        max_depth: levels below the root, at most 30.
        threshold: the value on the surface; finite.
        lipschitz_bound: how much values differ at most, for each unit of distance: 1 for distances to a surface.
        device: where positions are. None is the current device.

    Returns:
        The subscripts of leaves, an array of vec3i, and the width of a leaf. Leaf (i, j, k) is a cube with its least
        corner at `origin` + width * (i, j, k), as in `wp.geometry.sparse_marching_cubes_from_cells`.

    Raises:
        TypeError: If `field` is no function for arrays, returns no array of float32, or an argument has another type.
        ValueError: If a number is not finite or out of range. If the result of `field` has another shape or device. If
            the surface has too many cells.
        RuntimeError: If a graph captures this, as the number of cells is not known then.

    >>> def plane(p):
    ...     return wp.array(p.numpy()[:, 2] - 0.3, dtype=float, device=p.device)
    >>> cells, width = wp.geometry.lipschitz_octree(plane, (0.0, 0.0, 0.0), 1.0, 4, device="cpu")
    >>> cells.size, width, sorted({int(k) for k in cells.numpy()[:, 2]})
    (512, 0.0625, [4, 5])
    """
    width = number_of("root_width", root_width)
    if width <= 0.0:
        raise ValueError(f"root_width: expected a positive number, got {root_width}")
    depth = check_count("max_depth", max_depth, _DEEPEST, f"subscripts are int32: {_DEEPEST} levels at most")
    value, lower, on = level(threshold), vec3(*corner("origin", origin)), get_device(device)
    capture.refuse("wp.geometry.lipschitz_octree", on)
    leaf = width / (1 << depth)
    with observers.NotRecording():
        tree = Octree(lower, vec3(leaf, leaf, leaf), depth, (1 << depth,) * 3)
        return octree(field, tree, value, lipschitz_bound, on).cells, leaf


def octree(
    field: Callable[[array], array], tree: Octree, threshold: float, lipschitz_bound: Any, device: Device
) -> Found:
    """Return the leaves that the surface may pass, level by level. Raises TypeError, ValueError."""
    _check_function(field)
    bound = number_of("lipschitz_bound", lipschitz_bound)
    if bound < 0.0:
        raise ValueError(f"lipschitz_bound: must not be negative, got {lipschitz_bound}")
    cells, evaluations, culled = zeros(1, dtype=vec3i, device=device), 0, 0
    for depth in range(tree.depth, -1, -1):
        if depth < tree.depth:
            parents = cells.size
            cells = _children(cells, 1 << depth, tree, device)
            culled += 8 * parents - cells.size
        evaluations += cells.size
        cells = _near(cells, field, tree, depth, threshold, bound)
    return Found(cells, evaluations, culled)


def evaluate(field: Callable[[array], array], points: array) -> array:
    """Return the values of a field at points. Raises TypeError, ValueError for other results."""
    values = field(points)
    require_elements("the result of field", values, F32)
    if values.shape != points.shape or values.device is not points.device:
        found = f"shape {values.shape} on {values.device}"
        raise ValueError(f"the result of field: expected shape {points.shape} on {points.device}, got {found}")
    return values


def _check_function(field: Any) -> None:
    if isinstance(field, Function) or not callable(field):
        text = "expected a Python function that takes an array of positions and returns an array of values"
        raise TypeError(f"field: {text}, got {type(field).__name__}; launch a kernel in it")


def _near(
    cells: array, field: Callable[[array], array], tree: Octree, depth: int, threshold: float, bound: float
) -> array:
    """Return the cells that the surface may pass, so many levels above the leaves."""
    n, device = cells.size, cells.device
    points, kept = empty(n, dtype=vec3, device=device), zeros(n + 1, dtype=int64, device=device)
    half = 0.5 * (1 << depth)
    launch(_place_centres, n, [cells, half, tree.origin, tree.steps, points], device=device)
    steps = [math.fabs(s) for s in tree.steps]
    extent = max(math.fabs(o) + s * (1 << tree.depth) for o, s in zip(tree.origin, steps, strict=True))
    far = math.hypot(*steps) * half
    reach = bound * (far + _ROUNDING * (far + extent)) + _ROUNDING * math.fabs(threshold)
    launch(_judge, n, [evaluate(field, points), threshold, reach, kept], device=device)
    near = empty(_number(kept), dtype=vec3i, device=device)
    launch(_keep, n, [cells, kept, near], device=device)
    return near


def _children(cells: array, width: int, tree: Octree, device: Device) -> array:
    """Return the children of cells that begin inside of the grid, and have a width in leaves."""
    n = 8 * cells.size
    if n >= MOST:
        raise ValueError(
            f"field: the surface may pass {cells.size} cells of the octree, more than the limit of {MOST // 8}"
        )
    counts = zeros(n + 1, dtype=int64, device=device)
    launch(_count_children, n, [cells, width, vec3i(*tree.sizes), counts], device=device)
    children = empty(_number(counts), dtype=vec3i, device=device)
    launch(_split, n, [cells, width, counts, children], device=device)
    return children


def _number(counts: array) -> int:
    """Turn counts into the sums of those before, and return the sum of all."""
    array_scan(counts, counts, inclusive=False)
    return int(counts[-1:].numpy()[0])
