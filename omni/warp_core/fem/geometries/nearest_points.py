"""The point of a cell of a mesh that is nearest to a position, in kernels.

A search finds its coordinates, and the matrix of a step of Newton's method there. It has no derivative. One more step
has: at the nearest point, its derivative is that of the point. Start with `nearest_in_cell`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef"

import itertools
from typing import Any

import numpy as np

from ... import abs, clamp, dot, func_grad, inverse, max, min, transpose, where
from ...lang.kernel import Function, func
from ...lang.values.struct_operators import StructOperator
from ..kernel_records import jacobian_at, position_at
from .lookup import padded

_FEW = 8  # rounds of a search that is not thorough
_ROUNDS = 30  # of Newton's method, which needs 3 to 6 unless cells are very oblique
INFINITE = 3.0e38

# (geometry, cell, x, is_thorough) -> coordinates of the nearest point, matrix of a step. A search that is not thorough
# finds positions in the cell, and some point of the cell for others.
search_in = StructOperator("search_in")


@func
def away_from(g: Any, cell: int, coords: Any, x: Any):
    """The vector from a position to a point of a cell."""
    place = padded(coords)
    return position_at(g, cell, place, place) - x


@func
def slope_at(g: Any, cell: int, coords: Any, x: Any):
    """The derivative by coordinates of half the squared distance to a position."""
    return transpose(jacobian_at(g, cell, padded(coords))) * away_from(g, cell, coords, x)


@func
def newton_matrix(squares: Any, basis: Any):
    """The matrix that leads from a slope to a step along the columns of `basis`; columns of zeros are no directions."""
    reduced = transpose(basis) * squares * basis
    for k in range(len(reduced)):
        if reduced[k, k] == type(reduced[k, k])(0.0):
            reduced[k, k] = type(reduced[k, k])(1.0)
    return basis * inverse(reduced) * transpose(basis)


@func
def refined(g: Any, cell: int, coords: Any, step: Any, x: Any):
    """Coordinates after one more step, which has the derivative of the nearest point."""
    return coords - step * slope_at(g, cell, coords, x)


@func
def nearest_in_cell(g: Any, cell: int, x: Any):
    """The coordinates of the nearest point of a cell, and the squared distance to it."""
    coords, step = search_in(g, cell, x, True)
    found = refined(g, cell, coords, step, x)
    away = away_from(g, cell, found, x)
    return padded(found), dot(away, away)


# -- triangles and tetrahedra: all faces are tried ------------------------------------------------------------------


@func
def search_in_simplex(g: Any, cell: int, x: Any, is_thorough: bool):
    """The nearest point of a simplex: of the nearest points of its faces that are inside of them."""
    j = jacobian_at(g, cell, padded(g.starts[0]))
    squares = transpose(j) * j
    best = type(g.tolerance)(INFINITE)
    found, found_step = g.starts[0], g.bases[0]
    face, end = 0, where(is_thorough, g.starts.shape[0], 1)
    while face < end:
        step = newton_matrix(squares, g.bases[face])
        coords = g.starts[face] - step * slope_at(g, cell, g.starts[face], x)
        last, least = type(g.tolerance)(1.0), type(g.tolerance)(0.0)
        for k in range(len(coords)):
            last = last - coords[k]
            least = min(least, coords[k])
        away = away_from(g, cell, coords, x)
        if min(least, last) > -g.tolerance and dot(away, away) < best:
            best, found, found_step = dot(away, away), coords, step
            if face == 0:
                end = 0
        face += 1
    return found, found_step


@func_grad(search_in_simplex)
def no_gradient(g: Any, cell: int, x: Any, is_thorough: bool, found: Any, found_step: Any):
    """None: `refined` has it."""


@func
def coords_in_simplex(g: Any, cell: int, x: Any):
    """The coordinates of a position, beyond the cell too."""
    coords, step = whole_simplex(g, cell, x)
    return padded(refined(g, cell, coords, step, x))


@func
def whole_simplex(g: Any, cell: int, x: Any):
    """The coordinates of a position by one step, as positions are linear."""
    j = jacobian_at(g, cell, padded(g.starts[0]))
    step = newton_matrix(transpose(j) * j, g.bases[0])
    return refined(g, cell, g.starts[0], step, x), step


@func_grad(whole_simplex)
def no_gradient(g: Any, cell: int, x: Any, found: Any, found_step: Any):  # noqa: F811
    """None: `refined` has it."""


# -- quadrilaterals and hexahedra: Newton's method ------------------------------------------------------------------


@func
def curvature(g: Any, cell: int, coords: Any, away: Any, squares: Any):
    """The second derivatives of half the squared distance: positions are linear in each coordinate."""
    found = squares
    for b in range(len(coords)):
        lower, upper = coords, coords
        lower[b], upper[b] = coords.dtype(0.0), coords.dtype(1.0)
        bent = transpose(jacobian_at(g, cell, padded(upper)) - jacobian_at(g, cell, padded(lower))) * away
        for a in range(len(coords)):
            if a != b:
                found[a, b] = found[a, b] + bent[a]
    return found


@func
def newton_in_box(g: Any, cell: int, x: Any, is_bounded: bool):
    """The nearest point of a cell, or of all coordinates."""
    coords, step = g.starts[0], g.bases[0]
    zero, one = type(g.tolerance)(0.0), type(g.tolerance)(1.0)
    moved, rounds = one, 0
    while moved > g.tolerance and rounds < _ROUNDS:
        j = jacobian_at(g, cell, padded(coords))
        slope, basis = transpose(j) * away_from(g, cell, coords, x), g.bases[0]
        if is_bounded:
            for k in range(len(coords)):
                if (coords[k] <= zero and slope[k] > zero) or (coords[k] >= one and slope[k] < zero):
                    basis[k, k] = zero
        step = newton_matrix(transpose(j) * j, basis)
        change = step * slope
        moved = zero
        for k in range(len(coords)):
            to = coords[k] - change[k]
            if is_bounded:
                to = clamp(to, zero, one)
            moved = max(moved, abs(to - coords[k]))
            coords[k] = to
        rounds += 1
    j = jacobian_at(g, cell, padded(coords))
    away = away_from(g, cell, coords, x)
    slope, basis = transpose(j) * away, g.bases[0]
    if is_bounded:
        for k in range(len(coords)):
            if (coords[k] <= zero and slope[k] > zero) or (coords[k] >= one and slope[k] < zero):
                basis[k, k] = zero
    return coords, newton_matrix(curvature(g, cell, coords, away, transpose(j) * j), basis)


@func_grad(newton_in_box)
def no_gradient(g: Any, cell: int, x: Any, is_bounded: bool, found: Any, found_step: Any):  # noqa: F811
    """None: `refined` has it."""


@func
def position_in_box(g: Any, cell: int, x: Any):
    """The coordinates of a position in the cell, by Newton's method; those of some point of the cell for others."""
    coords, step = g.starts[0], g.bases[0]
    zero, one = type(g.tolerance)(0.0), type(g.tolerance)(1.0)
    moved, rounds = one, 0
    while moved > g.tolerance and rounds < _FEW:
        j = jacobian_at(g, cell, padded(coords))
        step = inverse(transpose(j) * j)
        change = step * (transpose(j) * away_from(g, cell, coords, x))
        moved = zero
        for k in range(len(coords)):
            to = clamp(coords[k] - change[k], -one, one + one)
            moved = max(moved, abs(to - coords[k]))
            coords[k] = to
        rounds += 1
    for k in range(len(coords)):
        coords[k] = clamp(coords[k], zero, one)
    return coords, step


@func_grad(position_in_box)
def no_gradient(g: Any, cell: int, x: Any, found: Any, found_step: Any):  # noqa: F811
    """None: `refined` has it."""


@func
def search_in_box(g: Any, cell: int, x: Any, is_thorough: bool):
    """The nearest point of a quadrilateral or hexahedron."""
    if is_thorough:
        coords, step = newton_in_box(g, cell, x, True)
    else:
        coords, step = position_in_box(g, cell, x)
    return coords, step


@func
def coords_in_box(g: Any, cell: int, x: Any):
    """The coordinates of a position, beyond the cell too."""
    coords, step = newton_in_box(g, cell, x, False)
    return padded(refined(g, cell, coords, step, x))


def cell_searches(is_simplex: bool) -> dict[str, Function]:
    """What meshes supply to find coordinates in a cell."""
    search, coords = (search_in_simplex, coords_in_simplex) if is_simplex else (search_in_box, coords_in_box)
    return {"search_in": search, "nearest_in": nearest_in_cell, "coords_in": coords}


def search_faces(dimension: int, is_simplex: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where a search begins on each face of a cell, and the directions along the face, as columns. A simplex has a face
    for each set of its vertices, the largest first. A box has one: all of it.
    """
    if not is_simplex:
        return np.full((1, dimension), 0.5), np.eye(dimension)[None]
    corners = np.vstack([np.zeros(dimension), np.eye(dimension)])
    starts, bases = [], []
    for count in range(dimension + 1, 0, -1):
        for first, *others in itertools.combinations(range(dimension + 1), count):
            basis = np.zeros((dimension, dimension))
            for v in others:
                basis[:, v - 1] = corners[v] - corners[first]
            starts.append(corners[first])
            bases.append(basis)
    return np.array(starts), np.array(bases)
