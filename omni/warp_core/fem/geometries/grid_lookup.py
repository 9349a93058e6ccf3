"""Lookup in grids: the cell of a position by arithmetic."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from typing import Any

from ... import clamp, cw_div, dot, floor, min, vector
from ...lang.kernel import Function, func
from ..kernel_records import position_at
from .lookup import OUTSIDE, padded, passes


@func
def line_of_cell(x: Any, last: int):
    """The place along an axis: the cell, and the coordinate in it; of positions beyond the grid the nearest."""
    inside = clamp(x, type(x)(0.0), type(x)(last + 1))
    cell = min(int(floor(inside)), last)
    return cell, inside - type(x)(cell)


@func
def find_2d(g: Any, x: Any, guess: int, filter: Any, target: Any):
    """The cell and the coordinates of a position in the plane."""
    at = cw_div(x - g.origin, g.size)
    i, u = line_of_cell(at[0], g.rows - 1)
    j, v = line_of_cell(at[1], g.columns - 1)
    cell, coords = i * g.columns + j, vector(u, v, u - u)
    if not passes(filter, cell, target):
        cell, coords = -1, type(coords)(type(u)(OUTSIDE))
    return cell, coords


@func
def find_3d(g: Any, x: Any, guess: int, filter: Any, target: Any):
    """The cell and the coordinates of a position in space."""
    at = cw_div(x - g.origin, g.size)
    i, u = line_of_cell(at[0], g.layers - 1)
    j, v = line_of_cell(at[1], g.rows - 1)
    k, w = line_of_cell(at[2], g.columns - 1)
    cell, coords = (i * g.rows + j) * g.columns + k, vector(u, v, w)
    if not passes(filter, cell, target):
        cell, coords = -1, type(coords)(type(u)(OUTSIDE))
    return cell, coords


@func
def coords_in_box(g: Any, cell: int, x: Any):
    """The coordinates of a position in a cell, or beyond it."""
    corner = position_at(g, cell, 0, padded(x - x))
    return padded(cw_div(x - corner, g.size))


@func
def nearest_in_box(g: Any, cell: int, x: Any):
    """The coordinates of the nearest point of a cell, and the squared distance to it."""
    coords = coords_in_box(g, cell, x)
    for k in range(3):
        coords[k] = clamp(coords[k], type(coords[k])(0.0), type(coords[k])(1.0))
    away = position_at(g, cell, 0, coords) - x
    return coords, dot(away, away)


def grid_lookups(dimension: int) -> dict[str, Function]:
    """What grids supply for lookups."""
    find = {2: find_2d, 3: find_3d}[dimension]
    return {"find_cell": find, "coords_in": coords_in_box, "nearest_in": nearest_in_box}
