"""The point of a cell of a mesh that is nearest to a position, in kernels.

A search finds its coordinates, and the matrix of a step of Newton's method there. It has no derivative. One more step
has: at the nearest point, its derivative is that of the point. Start with `nearest_in_cell`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef,type-arg,type-var,operator"

import itertools
from typing import Any

import numpy as np

from ... import abs, clamp, dot, func_grad, inverse, matrix_from_cols, max, min, transpose, where
from ...lang.generics import F, Mat, Vec
from ...lang.kernel import Function, func
from ...lang.values.struct_operators import StructOperator
from ..kernel_records import jacobian_at, position_at
from .lookup import padded
from .reference_cells import Element
from .vertex_maps import vertex

_FEW = 8  # rounds for positions in a cell, which need 3 to 4
_ROUNDS = 30  # of Newton's method, which needs 3 to 6 unless cells are very oblique
INFINITE = 3.0e38

# Operators on geometries.
search_in = StructOperator("search_in")  # (geometry, cell, x) -> coordinates of the nearest point, matrix of a step
inside_of = StructOperator("inside_of")  # (geometry, cell, x) -> coordinates, and whether they are in the cell


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
def step_at(g: Any, cell: int, coords: Any):
    """The matrix that leads from a slope to a step, at coordinates of a position in the cell."""
    j = jacobian_at(g, cell, padded(coords))
    return inverse(transpose(j) * j)


@func
def solved(j: Mat[2, 2, F], to: Vec[2, F]):
    """The change of coordinates that a derivative makes a change of positions."""
    return inverse(j) * to


@func
def solved(j: Mat[3, 3, F], to: Vec[3, F]):  # noqa: F811 - an overload
    """In space."""
    return inverse(j) * to


@func
def solved(j: Mat[3, 2, F], to: Vec[3, F]):  # noqa: F811 - an overload
    """In a surface, of its part there."""
    return inverse(transpose(j) * j) * (transpose(j) * to)


@func
def nearest_in_cell(g: Any, cell: int, x: Any):
    """The coordinates of the nearest point of a cell, and the squared distance to it."""
    coords, step = search_in(g, cell, x)
    found = refined(g, cell, coords, step, x)
    away = away_from(g, cell, found, x)
    return padded(found), dot(away, away)


# -- triangles and tetrahedra: all faces are tried ------------------------------------------------------------------


@func
def outside_of_simplex(coords: Any):
    """How far coordinates are outside of a simplex, beyond the worst of its sides."""
    last, least = coords.dtype(1.0), coords.dtype(0.0)
    for k in range(len(coords)):
        last, least = last - coords[k], min(least, coords[k])
    return -min(least, last)


@func
def inside_simplex(g: Any, cell: int, x: Any):
    """The coordinates of a position, and whether they are in the simplex."""
    coords = solved(jacobian_at(g, cell, padded(g.starts[0])), -away_from(g, cell, g.starts[0], x))
    return coords, outside_of_simplex(coords) <= g.tolerance


@func
def search_in_simplex(g: Any, cell: int, x: Any):
    """The nearest point of a simplex: of the nearest points of its faces that are inside of them."""
    j = jacobian_at(g, cell, padded(g.starts[0]))
    squares = transpose(j) * j
    best = type(g.tolerance)(INFINITE)
    found, found_step = g.starts[0], g.bases[0]
    face, end = 0, g.starts.shape[0]
    while face < end:
        step = newton_matrix(squares, g.bases[face])
        coords = g.starts[face] - step * slope_at(g, cell, g.starts[face], x)
        away = away_from(g, cell, coords, x)
        if outside_of_simplex(coords) < g.tolerance and dot(away, away) < best:
            best, found, found_step = dot(away, away), coords, step
            if face == 0:
                end = 0
        face += 1
    return found, found_step


@func_grad(search_in_simplex)
def no_gradient(g: Any, cell: int, x: Any, found: Any, found_step: Any):
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


# Newton's method for positions in a cell: rounds read no vertices, but what they made of these before.


@func
def is_done(tolerance: Any, coords: Any, change: Any):
    """True after the last round: the next change would be small, or the coordinates are farther outside than this one
    was long. Changes become shorter.
    """
    moved, outside = type(tolerance)(0.0), outside_of_box(coords)
    for k in range(len(coords)):
        moved = max(moved, abs(change[k]))
    return outside > moved or type(moved)(10.0) * moved * moved <= tolerance


@func
def outside_of_box(coords: Any):
    """How far coordinates are outside of a cell, along the worst axis."""
    outside = coords[0] - coords[0]
    for k in range(len(coords)):
        outside = max(outside, max(-coords[k], coords[k] - type(outside)(1.0)))
    return outside


@func
def inside_square(g: Any, cell: int, x: Any):
    """The coordinates of a position in a quadrilateral, and whether they are in the cell."""
    first, start = vertex(g, cell, 0), vertex(g, cell, 0) - x
    a, b = vertex(g, cell, 1) - first, vertex(g, cell, 3) - first
    ab = vertex(g, cell, 2) - vertex(g, cell, 1) - b
    coords, rounds = g.starts[0], 0
    while rounds < _FEW:
        u, v = coords[0], coords[1]
        change = solved(matrix_from_cols(a + ab * v, b + ab * u), start + a * u + b * v + ab * (u * v))
        coords -= change
        rounds = where(is_done(g.tolerance, coords, change), _FEW, rounds + 1)
    return coords, outside_of_box(coords) <= g.tolerance


@func
def inside_cube(g: Any, cell: int, x: Any):
    """The coordinates of a position in a hexahedron, and whether they are in the cell."""
    first, start = vertex(g, cell, 0), vertex(g, cell, 0) - x
    a, b, c = vertex(g, cell, 1) - first, vertex(g, cell, 3) - first, vertex(g, cell, 4) - first
    ab = vertex(g, cell, 2) - first - a - b
    bc, ca = vertex(g, cell, 7) - first - b - c, vertex(g, cell, 5) - first - c - a
    abc = vertex(g, cell, 6) - first - a - b - c - ab - bc - ca
    coords, rounds = g.starts[0], 0
    while rounds < _FEW:
        u, v, w = coords[0], coords[1], coords[2]
        along_u, along_v = a + ab * v + (ca + abc * v) * w, b + bc * w + (ab + abc * w) * u
        along_w = c + ca * u + (bc + abc * u) * v
        away = start + along_u * u + (b + bc * w) * v + c * w
        change = solved(matrix_from_cols(along_u, along_v, along_w), away)
        coords -= change
        rounds = where(is_done(g.tolerance, coords, change), _FEW, rounds + 1)
    return coords, outside_of_box(coords) <= g.tolerance


@func
def search_in_box(g: Any, cell: int, x: Any):
    """The nearest point of a quadrilateral or hexahedron."""
    coords, step = newton_in_box(g, cell, x, True)
    return coords, step


@func
def coords_in_box(g: Any, cell: int, x: Any):
    """The coordinates of a position, beyond the cell too."""
    coords, step = newton_in_box(g, cell, x, False)
    return padded(refined(g, cell, coords, step, x))


_INSIDE = {Element.SQUARE: inside_square, Element.CUBE: inside_cube}


def cell_searches(kind: Element) -> dict[str, Function]:
    """What meshes of a kind of cells supply to find coordinates in a cell."""
    is_box = kind in _INSIDE
    search, coords = (search_in_box, coords_in_box) if is_box else (search_in_simplex, coords_in_simplex)
    inside = _INSIDE.get(kind, inside_simplex)
    return {"search_in": search, "inside_of": inside, "coords_in": coords, "nearest_in": nearest_in_cell}


Faces = tuple[np.ndarray, np.ndarray]  # faces x coordinates, and faces x coordinates x directions


def search_faces(dimension: int, is_simplex: bool) -> Faces:
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
