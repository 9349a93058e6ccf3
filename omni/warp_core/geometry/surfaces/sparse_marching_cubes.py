"""Marching cubes on a list of cells, and on those that an octree finds.

Cells list the edges that have a vertex as keys, equal keys are one vertex (numbered_keys.py), and kernels connect them
by the table of marching_cubes_table.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ... import vec3, vec3i
from ...algo.argument_checks import element_type, integer, require_elements
from ...arrays.array import array
from ...arrays.factories import empty, full, zeros
from ...devices.device import Device, get_device
from ...dispatch import capture, observers
from ...lang.types import F32, I32, Vec
from ...lang.values.scalars import float32, int32, int64
from ...launches.launch import launch
from . import numbering
from . import sparse_kernels as kernels
from .field_checks import corner, level, number_of, spacing
from .lipschitz_octree import Octree, evaluate, octree
from .marching_cubes import MarchingCubes
from .marching_cubes_table import EDGES
from .numbered_keys import number

__all__ = ["sparse_marching_cubes", "sparse_marching_cubes_from_cells"]

_VEC3I = Vec(3, I32)
_KEYS = 2**63 // 3  # corners, as an edge is a corner times three plus an axis
_MOST_CELLS = numbering.MOST // 15  # as a cell has up to five triangles


def sparse_marching_cubes(
    field: Callable[[array], array],
    nx: int,
    ny: int,
    nz: int,
    *,
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
    threshold: float = 0.0,
    lipschitz_bound: float = 1.0,
    device: Any = None,
    return_stats: bool = False,
) -> tuple[array, array] | tuple[array, array, dict[str, Any]]:
    """Return the surface where a function has a value, asking for values near the surface only.

    It is the surface that `wp.MarchingCubes` finds of the values at all nodes of the same grid, in another order. Cells
    are found as by `wp.geometry.lipschitz_octree`. Time and memory grow with the area of the surface.

    Vertices have gradients with respect to the values that `field` returns at corners of cells, if its result requires
    gradients, on tapes and in forward mode. Which cells there are changes in jumps and has no derivative.

    Args:
        field: a function that takes positions, an array of vec3 of shape (n,), and returns the values there, an array
            of float32 of shape (n,) on the same device. It is called with many positions at once.
        nx: nodes in x, at least two.
        ny: nodes in y, at least two.
        nz: nodes in z, at least two.
        lower: where the first node is, three numbers. None is the origin.
        upper: where the last node is. None puts the nodes at their indices.
        threshold: the value on the surface; finite.
        lipschitz_bound: how much values differ at most, for each unit of distance: 1 for distances to a surface. Where
            values differ more, parts of the surface may be missing.
        device: where positions are. None is the current device.
        return_stats: whether to return counts as well.

    Returns:
        The vertices, an array of vec3, and the indices of vertices, three int32 for each triangle. With `return_stats`,
        also a dictionary. Its counts are "leaf_cells" that the surface may pass, their "unique_corners", and
        "field_evaluations" of positions in all. "resolution" is that of the octree in cells, "requested_ncells" that of
        the grid in each direction. "culled_cells" are cells of the octree that lie outside of the grid.

    Raises:
        TypeError: If `field` is no function for arrays, returns no array of float32, or an argument has another type.
        ValueError: If a number of nodes is less than two, a number is not finite, or the bound is negative. If the
            result of `field` has another shape or device. If the surface has too many cells.
        RuntimeError: If a graph captures this, as the sizes of the results are not known then.

    >>> @wp.kernel
    ... def distances(p: wp.array[wp.vec3], d: wp.array[float]):
    ...     d[wp.tid()] = wp.length(p[wp.tid()]) - 0.8
    >>> def ball(p):
    ...     d = wp.empty(p.size, dtype=float, device=p.device)
    ...     wp.launch(distances, dim=p.size, inputs=[p, d], device=p.device)
    ...     return d
    >>> bounds = {"lower": (-1.0, -1.0, -1.0), "upper": (1.0, 1.0, 1.0)}
    >>> vertices, indices = wp.geometry.sparse_marching_cubes(ball, 65, 65, 65, **bounds, device="cpu")
    >>> vertices.size - indices.size // 6
    2
    """
    nodes = [integer(name, n) for name, n in (("nx", nx), ("ny", ny), ("nz", nz))]
    if min(nodes) < 2:
        raise ValueError(f"nx, ny, nz: expected at least two nodes in each direction, got {tuple(nodes)}")
    value, (origin, steps), on = level(threshold), spacing(nodes, lower, upper), get_device(device)
    capture.refuse("wp.geometry.sparse_marching_cubes", on)
    box = _Box((0, 0, 0), tuple(n - 1 for n in nodes))
    depth = (max(box.cells) - 1).bit_length()
    with observers.NotRecording():
        found = octree(field, Octree(origin, steps, depth, box.cells), value, lipschitz_bound, on)
    cells = found.cells.view(int32)
    values, num_corners = _corner_values(field, cells, box, origin, steps)
    surface = _surface(cells, values, origin, steps, value, box)
    stats = {
        "leaf_cells": cells.shape[0],
        "unique_corners": num_corners,
        "field_evaluations": found.evaluations + num_corners,
        "resolution": 1 << depth,
        "requested_ncells": box.cells,
        "culled_cells": found.culled,
    }
    return (*surface, stats) if return_stats else surface


def sparse_marching_cubes_from_cells(
    cells: Any,
    corner_values: Any,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    cell_width: float = 1.0,
    threshold: float = 0.0,
    device: Any = None,
) -> tuple[array, array]:
    """Return the surface in a list of cells, from the values at their corners.

    Cells that share an edge share its vertex, whose place comes from the first of them in the list. They are expected
    to agree about the values of corners that they share. Vertices have gradients with respect to these values, on tapes
    and in forward mode; those of a shared edge go to the first cell.

    Args:
        cells: the subscripts of cells, each of which occurs once: an array of vec3i of shape (n,) or of int32 of shape
            (n, 3), or what makes one. Cell (i, j, k) is a cube with its least corner at `origin` + `cell_width` *
            (i, j, k). Subscripts may be negative.
        corner_values: float32 of shape (n, 8), or what makes such an array: the values at the corners of each cell, in
            the order of `wp.MarchingCubes.CUBE_CORNER_OFFSETS`. A cell with a value that is NaN has no surface.
        origin: where cell (0, 0, 0) begins, three numbers.
        cell_width: the length of an edge, greater than zero.
        threshold: the value on the surface; finite.
        device: where lists and NumPy arrays go. None is the device of the arrays, or the current one.

    Returns:
        The vertices, an array of vec3, in the order of their edges, and the indices of vertices, three int32 for each
        triangle, in the order of cells.

    Raises:
        TypeError: If an argument has another type.
        ValueError: If shapes do not fit, arrays are on several devices, a number is not finite, or the width is not
            positive. If there are too many cells, or they lie too far apart for keys of 64 bits.
        RuntimeError: If a graph captures this, as the sizes of the results are not known then.

    >>> values = [[1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0]]
    >>> cut_corner = wp.geometry.sparse_marching_cubes_from_cells([(2, 0, -1)], values, cell_width=2.0, device="cpu")
    >>> cut_corner[0].numpy().tolist()
    [[5.0, 0.0, -2.0], [4.0, 1.0, -2.0], [4.0, 0.0, -1.0]]
    """
    on = _device_of(device, cells, corner_values)
    subscripts, values = _cells(cells, on), _values(corner_values, on)
    if values.shape != (subscripts.shape[0], 8):
        raise ValueError(f"corner_values: expected shape {(subscripts.shape[0], 8)}, got {values.shape}")
    if subscripts.shape[0] > _MOST_CELLS:
        raise ValueError(f"cells: {subscripts.shape[0]} are more than the limit of {_MOST_CELLS}")
    width = number_of("cell_width", cell_width)
    if width <= 0.0:
        raise ValueError(f"cell_width: expected a positive number, got {cell_width}")
    value, lower = level(threshold), vec3(*corner("origin", origin))
    capture.refuse("wp.geometry.sparse_marching_cubes_from_cells", on)
    return _surface(subscripts, values, lower, vec3(width, width, width), value, _bounds(subscripts))


class _Box(NamedTuple):
    """Corners that cells may have: from the lower ones, so many in each direction besides."""

    lower: tuple[int, ...]
    cells: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(n + 1 for n in self.cells)

    @property
    def num_corners(self) -> int:
        a, b, c = self.sizes
        return a * b * c

    @property
    def given(self) -> list[vec3i]:
        """The arguments of kernels."""
        return [vec3i(*self.lower), vec3i(*self.sizes)]


class _Tables(NamedTuple):
    ranges: array
    corners: array
    cuts: array
    ends: array


@cache
def _tables(device: Device) -> _Tables:
    """Return the table of triangles, the edges with a vertex of each case as bits, and the corners of edges."""
    ranges, corners = MarchingCubes.CASE_TO_TRI_RANGE, MarchingCubes.TRI_LOCAL_INDICES
    cuts = [sum(1 << edge for edge in {*corners[ranges[i] : ranges[i + 1]]}) for i in range(256)]
    tables = (np.ravel(t).astype(np.int32) for t in (ranges, corners, cuts, EDGES))
    return _Tables(*(array(t, dtype=int32, device=device) for t in tables))


def _surface(
    cells: array, values: array, lower: vec3, steps: vec3, threshold: float, box: _Box
) -> tuple[array, array]:  # fmt: skip
    """Return the vertices and the indices."""
    device, tables = cells.device, _tables(cells.device)
    with observers.NotRecording():
        edges, firsts, indices = _connect(cells, values, threshold, box)
    positions = zeros(firsts.size, dtype=vec3, device=device, requires_grad=values.requires_grad)
    given = [values, threshold, cells, edges, firsts, tables.ends, lower, steps, positions]
    launch(kernels.place_vertices, firsts.size, given, device=device)  # a tape records it for no vertices, too
    return positions, indices


def _connect(cells: array, values: array, threshold: float, box: _Box) -> tuple[array, array, array]:
    """Return the edges of cells that have a vertex, the first of them for each vertex, and the indices."""
    n, device, tables = cells.shape[0], cells.device, _tables(cells.device)
    cases, counts = empty(n, dtype=int32, device=device), zeros((2, n + 1), dtype=int64, device=device)
    launch(kernels.count, n, [values, threshold, tables.ranges, tables.cuts, cases, counts], device=device)
    starts = [counts[0], counts[1]]
    num_edges, num_indices = numbering.read_sizes(numbering.sum_up(starts))
    keys = empty(2 * num_edges, dtype=int64, device=device)
    edges, indices = (empty(m, dtype=int32, device=device) for m in (num_edges, num_indices))
    given = [cells, cases, tables.cuts, tables.ends, *box.given, starts[0], keys, edges]
    launch(kernels.list_edges, n, given, device=device)
    vertices, firsts = number(keys, num_edges, 3 * box.num_corners)
    given = [cases, tables.cuts, tables.ranges, tables.corners, *starts, vertices, indices]
    launch(kernels.connect, n, given, device=device)
    return edges, firsts, indices


def _corner_values(
    field: Callable[[array], array], cells: array, box: _Box, origin: vec3, steps: vec3
) -> tuple[array, int]:
    """Return the values of a field at the corners of each cell, and how many corners were evaluated."""
    n, device = cells.shape[0], cells.device
    if n > _MOST_CELLS:
        raise ValueError(f"field: the surface may pass {n} cells, more than the limit of {_MOST_CELLS}")
    if box.num_corners > _KEYS:
        raise ValueError(f"nx, ny, nz: {box.num_corners} nodes are more than the limit of {_KEYS}")
    with observers.NotRecording():
        keys = empty(16 * n, dtype=int64, device=device)
        launch(kernels.list_corners, (n, 8), [cells, *box.given, keys], device=device)
        numbers, firsts = number(keys, 8 * n, box.num_corners)
        points = empty(firsts.size, dtype=vec3, device=device)
        launch(kernels.place_corners, points.size, [cells, firsts, origin, steps, points], device=device)
    found = evaluate(field, points)
    values = zeros((n, 8), dtype=float32, device=device, requires_grad=found.requires_grad)
    launch(kernels.gather, (n, 8), [found, numbers, values], device=device)
    return values, points.size


def _bounds(cells: array) -> _Box:
    """Return the corners that cells may have. Raises ValueError."""
    n = cells.shape[0]
    if n == 0:
        return _Box((0, 0, 0), (0, 0, 0))
    with observers.NotRecording():
        found = full((2, 3), 0, dtype=int32, device=cells.device)
        found[0:1].fill_(2**31 - 1)
        found[1:2].fill_(-(2**31))
        launch(kernels.find_bounds, -(-n // kernels.CHUNK), [cells, found], device=cells.device)
    least, greatest = found.numpy().tolist()
    box = _Box(tuple(least), tuple(b - a + 1 for a, b in zip(least, greatest, strict=True)))
    if box.num_corners > _KEYS or max(greatest) == 2**31 - 1 or max(box.sizes) > numbering.MOST:
        raise ValueError(f"cells: subscripts from {least} to {greatest} lie too far apart for keys of 64 bits")
    return box


def _device_of(device: Any, *given: Any) -> Device:
    """Return the given device, that of the first array, or the current one."""
    if device is None:
        return next((a.device for a in given if isinstance(a, array)), get_device(None))
    return get_device(device)


def _cells(cells: Any, device: Device) -> array:
    """Return cells as int32 of shape (n, 3). Raises TypeError, ValueError."""
    if not isinstance(cells, array):
        cells = array(_integers(cells), dtype=int32, device=device)
    if element_type(cells) is _VEC3I and cells.ndim == 1:
        cells = cells.contiguous().view(int32)
    require_elements("cells", cells, I32)
    if cells.ndim != 2 or cells.shape[1] != 3:
        raise ValueError(f"cells: expected shape (n, 3), got {cells.shape}")
    return _on("cells", cells, device)


def _integers(cells: Any) -> np.ndarray:
    found = np.asarray(cells)
    if found.size == 0:
        return np.zeros((0, 3), np.int32)
    if found.dtype.kind not in "iu":
        raise TypeError(f"cells: expected integers, got {found.dtype}")
    if found.min() < -(2**31) or found.max() >= 2**31:
        raise ValueError("cells: a subscript does not fit into int32")
    return found.astype(np.int32)


def _values(values: Any, device: Device) -> array:
    """Return the values of corners as float32. Raises TypeError, ValueError."""
    if not isinstance(values, array):
        found = np.asarray(values, np.float32)
        values = array(found if found.size else found.reshape(0, 8), dtype=float32, device=device)
    require_elements("corner_values", values, F32)
    return _on("corner_values", values, device)


def _on(name: str, a: array, device: Device) -> array:
    if a.device is not device:
        raise ValueError(
            f"{name}: is on {a.device}, but the surface is to be on {device}; pass {name}.to({str(device)!r})"
        )
    return a
