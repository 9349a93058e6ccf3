"""Sides of an adaptive sparse grid: squares between two cells, or between a cell and the outside.

A side between cells of two sizes is a whole side of the smaller one, which is its first cell. Of the larger one it is a
part of a side. What smaller cells leave uncovered of a side is on the boundary. Start with `adaptive_sides`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .cell_geometry import SideTable, Ways
from .lattice_numbers import Lattice, Places
from .reference_cells import ReferenceCell


class _Squares(NamedTuple):
    """Squares across an axis: the cell that each is a side of, the other cell or -1, and where it is."""

    cells: np.ndarray
    others: np.ndarray
    axes: np.ndarray
    is_upper: np.ndarray  # whether it is the side of its cell at the upper end of the axis
    corners: np.ndarray  # the lower corner, in voxels
    widths: np.ndarray


def _joined(parts: list[_Squares]) -> _Squares:
    return _Squares(*(np.concatenate(column) for column in zip(*parts)))


def adaptive_sides(corners: np.ndarray, levels: np.ndarray, cell: ReferenceCell) -> tuple[SideTable, Ways, Ways]:
    """The sides of cells, and how they lie in their first and other cells.

    Args:
        corners: The lower corner of each cell, in voxels.
        levels: A cell of level l is 2**l voxels wide.
        cell: The reference cell.
    """
    sizes = 1 << levels
    lattice = Lattice.around(corners, corners + sizes[:, None])
    squares = _joined([s for axis in range(3) for s in _across(axis, corners, levels, lattice)])
    order = np.lexsort((*squares.corners.T, squares.is_upper, squares.axes, squares.cells))
    squares = _Squares(*(column[order] for column in squares))
    facets = {(int(np.abs(f.normal).argmax()), bool(f.normal.max() > 0.5)): i for i, f in enumerate(cell.facets)}
    of_side = np.array([[facets[axis, is_upper] for is_upper in (False, True)] for axis in range(3)])
    which = of_side[squares.axes, squares.is_upper.astype(int)]
    tangents = np.array([f.tangents for f in cell.facets])[which]
    whole = np.array([[f.origin, *(f.origin + f.tangents)] for f in cell.facets])
    first, other = (_ends(squares, tangents, corners, sizes, of) for of in (squares.cells, squares.others))
    is_part = squares.widths < sizes[squares.cells]
    parts, numbers = np.unique(first[is_part], axis=0, return_inverse=True)
    ways = which.copy()
    ways[is_part] = numbers.ravel() + len(whole)
    other_ends, other_ways = np.unique(other, axis=0, return_inverse=True)
    table = SideTable(*(a.astype(np.int32) for a in (squares.cells, which, squares.others)))
    own = Ways(np.concatenate([whole, parts]), ways.astype(np.int32))
    return table, own, Ways(other_ends, other_ways.ravel().astype(np.int32))


def _ends(
    squares: _Squares, tangents: np.ndarray, corners: np.ndarray, sizes: np.ndarray, cells: np.ndarray
) -> np.ndarray:
    """Where the origin and the ends of the axes of squares are in a cell of each; of those without one in the first."""
    of = np.where(cells >= 0, cells, squares.cells)
    points = np.stack([np.zeros_like(tangents[:, 0]), *tangents.transpose(1, 0, 2)], axis=1)
    points = squares.corners[:, None] + squares.widths[:, None, None] * points
    return (points - corners[of][:, None]) / sizes[of][:, None, None]


def _across(axis: int, corners: np.ndarray, levels: np.ndarray, lattice: Lattice) -> Iterator[_Squares]:
    """The squares across an axis."""
    sizes, along = 1 << levels, np.eye(3, dtype=np.int64)[axis]
    ends = corners, corners + sizes[:, None] * along  # lower corners of the sides of cells: lower and upper ones
    covered = np.zeros((2, len(corners)), dtype=np.int64)  # the area of each side that has another cell
    covering: tuple[list[np.ndarray], ...] = [], []
    for smaller, larger, is_upper in _touching(axis, ends, levels, lattice):
        swapped = (sizes[smaller] == sizes[larger]) & (larger < smaller)
        cells, others = np.where(swapped, larger, smaller), np.where(swapped, smaller, larger)
        made = ends[int(is_upper)][smaller], sizes[smaller]
        yield _Squares(cells, others, np.full(len(cells), axis), np.where(swapped, not is_upper, is_upper), *made)
        np.add.at(covered[int(is_upper)], smaller, sizes[smaller] ** 2)
        np.add.at(covered[1 - int(is_upper)], larger, sizes[smaller] ** 2)
        covering[1 - int(is_upper)].append(np.stack([larger, smaller], axis=1))
    for upper in (0, 1):
        pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *covering[upper]])
        for cells, at, widths in _uncovered(axis, ends[upper], sizes, covered[upper], pairs, corners):
            none, axes, uppers = (np.full(len(cells), value) for value in (-1, axis, bool(upper)))
            yield _Squares(cells, none, axes, uppers, at, widths)


def _touching(
    axis: int, ends: tuple[np.ndarray, np.ndarray], levels: np.ndarray, lattice: Lattice
) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Pairs of cells that touch: the smaller ones, the larger ones, and which end of the smaller ones it is."""
    across = [a for a in range(3) if a != axis]
    for level in np.unique(levels):
        targets = np.flatnonzero(levels == level)
        for is_upper in (True, False):
            near = np.flatnonzero(levels <= level if is_upper else levels < level)
            at = ends[int(is_upper)][near].copy()
            at[:, across] = (at[:, across] >> level) << level
            found = Places(lattice, ends[1 - int(is_upper)][targets]).find(at)
            yield near[found >= 0], targets[found[found >= 0]], is_upper


def _uncovered(
    axis: int, ends: np.ndarray, sizes: np.ndarray, covered: np.ndarray, pairs: np.ndarray, corners: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The squares on the boundary: their cells, lower corners and widths. Sides that smaller cells cover in part are
    halved along both axes until each square is covered, or is not.

    Args:
        axis: The axis across sides.
        ends: The lower corner of the side of each cell.
        sizes: The width of each cell.
        covered: The area of each side that smaller cells cover.
        pairs: Cells and the smaller cells at their sides, a row each.
        corners: The lower corner of each cell.
    """
    cells = np.flatnonzero(covered == 0)
    yield cells, ends[cells], sizes[cells]
    across = [a for a in range(3) if a != axis]
    quarters = np.zeros((4, 3), dtype=np.int64)
    quarters[:, across] = [[0, 0], [0, 1], [1, 0], [1, 1]]
    cells = np.flatnonzero((covered > 0) & (covered < sizes**2))
    at, widths = ends[cells], sizes[cells]
    squares = np.full(len(sizes), -1)
    squares[cells] = np.arange(len(cells))
    is_left = squares[pairs[:, 0]] >= 0
    square, smaller = squares[pairs[is_left, 0]], pairs[is_left, 1]  # the square that each smaller cell is at
    while len(cells):
        widths = widths // 2
        is_beyond = corners[smaller][:, across] >= (at[:, across] + widths[:, None])[square]
        quarter = 4 * square + is_beyond @ [2, 1]
        area = np.bincount(quarter, sizes[smaller] ** 2, minlength=4 * len(cells))
        at = (at[:, None] + widths[:, None, None] * quarters).reshape(-1, 3)
        cells, widths = np.repeat(cells, 4), np.repeat(widths, 4)
        yield cells[area == 0], at[area == 0], widths[area == 0]
        is_left = (area > 0) & (area < widths**2)
        cells, at, widths = cells[is_left], at[is_left], widths[is_left]
        square, smaller = (np.cumsum(is_left) - 1)[quarter], smaller[is_left[quarter]]
        square = square[is_left[quarter]]
