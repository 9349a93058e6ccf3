"""Searches in curved cells, in kernels: the coordinates of a position, and the nearest point of a cell. Control points
bound the cells on the host.

Positions are polynomials of coordinates, whatever their degree. Newton's method begins at the middle of each face, and
a step that leads away from the position is halved. As in meshes (nearest_points.py), a search has no derivative, and
the step behind it has. Start with `curved_searches`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef,type-var,operator"

import itertools
import math
from functools import cache
from typing import Any

import numpy as np

from ... import abs, clamp, dot, func_grad, max, transpose, where
from ...lang.kernel import Function, func
from ...lang.types import F32, Scalar
from ...lang.values.struct_operators import StructOperator
from ..kernel_records import jacobian_at
from .lookup import padded
from .nearest_points import (
    INFINITE,
    Faces,
    away_from,
    nearest_in_cell,
    newton_matrix,
    outside_of_box,
    outside_of_simplex,
    refined,
    search_faces,
    solved,
)
from .reference_cells import Element, ReferenceCell, reference_cell

_ROUNDS = 30  # of Newton's method, which needs 4 to 8
_HALVINGS = 12
_LONGEST = 0.5  # step, in coordinates
_LEAVES = 1.0  # how far outside a search gives up

# Operators on geometries.
outside_of = StructOperator("outside_of")  # (geometry, coords) -> how far they are outside of the cell
bounded_step = StructOperator("bounded_step")  # (geometry, coords, step) -> the coordinates after it, in the cell
free_directions = StructOperator("free_directions")  # (geometry, coords, slope, basis) -> those that stay in the cell


@func
def beyond_simplex(g: Any, coords: Any):
    """How far coordinates are outside of a triangle or tetrahedron."""
    return outside_of_simplex(coords)


@func
def beyond_box(g: Any, coords: Any):
    """How far coordinates are outside of a square or cube."""
    return outside_of_box(coords)


@func
def step_in_face(g: Any, coords: Any, step: Any):
    """Coordinates after a step, outside of a simplex too: each face is searched alone."""
    return coords - step


@func
def step_in_box(g: Any, coords: Any, step: Any):
    """Coordinates after a step, in the box."""
    found = coords - step
    for k in range(len(coords)):
        found[k] = clamp(found[k], type(found[k])(0.0), type(found[k])(1.0))
    return found


@func
def all_directions(g: Any, coords: Any, slope: Any, basis: Any):
    """All directions along a face."""
    return basis


@func
def directions_in_box(g: Any, coords: Any, slope: Any, basis: Any):
    """The directions but for those that lead out of the box."""
    found = basis
    zero, one = type(g.tolerance)(0.0), type(g.tolerance)(1.0)
    for k in range(len(coords)):
        if (coords[k] <= g.tolerance and slope[k] > zero) or (coords[k] >= one - g.tolerance and slope[k] < zero):
            found[k, k] = zero
    return found


@func
def limited(step: Any):
    """A step no longer than positions are nearly linear."""
    longest, most = abs(step[0]), type(step[0])(_LONGEST)
    for k in range(1, len(step)):
        longest = max(longest, abs(step[k]))
    return where(longest > most, step * (most / longest), step)


@func
def bent(g: Any, cell: int, coords: Any, away: Any, squares: Any):
    """The second derivatives of half the squared distance by coordinates, given the products of the first ones."""
    found, spread = squares, g.spread
    for b in range(len(coords)):
        lower, upper = coords, coords
        lower[b] -= spread
        upper[b] += spread
        change = transpose(jacobian_at(g, cell, padded(upper)) - jacobian_at(g, cell, padded(lower))) * away
        for a in range(len(coords)):
            found[a, b] = found[a, b] + change[a] / (type(spread)(2.0) * spread)
    return found


@func
def solved_curved(g: Any, cell: int, x: Any, farthest: Any):
    """The coordinates of a position, unless they are farther outside of the cell than the farthest ones."""
    coords, rounds = g.starts[0], 0
    while rounds < _ROUNDS:
        step = limited(solved(jacobian_at(g, cell, padded(coords)), away_from(g, cell, coords, x)))
        coords -= step
        is_over = dot(step, step) <= g.tolerance * g.tolerance or outside_of(g, coords) > farthest
        rounds = where(is_over, _ROUNDS, rounds + 1)
    return coords


@func
def inside_curved(g: Any, cell: int, x: Any):
    """The coordinates of a position, and whether they are in the cell."""
    coords = solved_curved(g, cell, x, type(g.tolerance)(_LEAVES))
    return coords, outside_of(g, coords) <= g.tolerance


@func
def matrix_at(g: Any, cell: int, coords: Any, x: Any, face: int):
    """The matrix that leads from the slope to a step of Newton's method along a face."""
    j, away = jacobian_at(g, cell, padded(coords)), away_from(g, cell, coords, x)
    squares = transpose(j) * j
    directions = free_directions(g, coords, transpose(j) * away, g.bases[face])
    return newton_matrix(bent(g, cell, coords, away, squares), directions)


@func
def step_along(g: Any, cell: int, coords: Any, x: Any, face: int):
    """A step towards the position: by second derivatives where these lead there, else by first ones."""
    j, away = jacobian_at(g, cell, padded(coords)), away_from(g, cell, coords, x)
    squares, slope = transpose(j) * j, transpose(j) * away
    directions = free_directions(g, coords, slope, g.bases[face])
    step = newton_matrix(bent(g, cell, coords, away, squares), directions) * slope
    if not dot(step, slope) > type(g.tolerance)(0.0):
        step = newton_matrix(squares, directions) * slope
    return limited(step)


@func
def descended(g: Any, cell: int, x: Any, face: int):
    """The coordinates of the nearest point on a face, or outside of it where that is nearer."""
    coords, rounds = g.starts[face], 0
    away = away_from(g, cell, coords, x)
    best = dot(away, away)
    while rounds < _ROUNDS:
        step, halvings = step_along(g, cell, coords, x, face), 0
        found = bounded_step(g, coords, step)
        away = away_from(g, cell, found, x)
        while halvings < _HALVINGS and not dot(away, away) < best:
            step = step * type(best)(0.5)
            found = bounded_step(g, coords, step)
            away = away_from(g, cell, found, x)
            halvings += 1
        moved, is_nearer = dot(found - coords, found - coords), dot(away, away) < best
        if is_nearer:
            best, coords = dot(away, away), found
        is_over = not is_nearer or moved <= g.tolerance * g.tolerance or outside_of(g, coords) > type(moved)(_LEAVES)
        rounds = where(is_over, _ROUNDS, rounds + 1)
    return coords


@func
def search_in_curved(g: Any, cell: int, x: Any):
    """The nearest point of a cell: of the nearest points of its faces that are inside of them."""
    best = type(g.tolerance)(INFINITE)
    found, found_face = g.starts[0], 0
    for face in range(g.starts.shape[0]):
        coords = descended(g, cell, x, face)
        away = away_from(g, cell, coords, x)
        if outside_of(g, coords) <= g.tolerance and dot(away, away) < best:
            best, found, found_face = dot(away, away), coords, face
    return found, matrix_at(g, cell, found, x, found_face)


@func_grad(search_in_curved)
def no_gradient(g: Any, cell: int, x: Any, found: Any, found_step: Any):
    """None: `refined` has it."""


@func
def whole_curved(g: Any, cell: int, x: Any):
    """The coordinates of a position, beyond the cell too, and the matrix of a step there."""
    coords = solved_curved(g, cell, x, type(g.tolerance)(INFINITE))
    j, away = jacobian_at(g, cell, padded(coords)), away_from(g, cell, coords, x)
    return coords, newton_matrix(bent(g, cell, coords, away, transpose(j) * j), g.bases[0])


@func_grad(whole_curved)
def no_gradient(g: Any, cell: int, x: Any, found: Any, found_step: Any):  # noqa: F811
    """None: `refined` has it."""


@func
def coords_in_curved(g: Any, cell: int, x: Any):
    """The coordinates of a position, beyond the cell too."""
    coords, step = whole_curved(g, cell, x)
    return padded(refined(g, cell, coords, step, x))


_COMMON = {
    "search_in": search_in_curved,
    "inside_of": inside_curved,
    "coords_in": coords_in_curved,
    "nearest_in": nearest_in_cell,
}
_IN_SIMPLEX = {
    "outside_of": beyond_simplex,
    "bounded_step": step_in_face,
    "free_directions": all_directions,
}
_IN_BOX = {
    "outside_of": beyond_box,
    "bounded_step": step_in_box,
    "free_directions": directions_in_box,
}


def curved_searches(is_simplex: bool) -> dict[str, Function]:
    """What geometries of curved cells supply to find coordinates in a cell."""
    return _COMMON | (_IN_SIMPLEX if is_simplex else _IN_BOX)


def curved_faces(cell: ReferenceCell) -> Faces:
    """Where a search begins on each face of a cell, its middle, and the directions along the face."""
    starts, bases = search_faces(cell.dimension, cell.is_simplex)
    if cell.is_simplex:
        directions = bases.any(axis=1).sum(axis=1, keepdims=True)
        starts = starts + bases.sum(axis=2) / (directions + 1.0)
    return starts, bases


def spread(degree: int | None, scalar: Scalar) -> float:
    """How far apart derivatives are, in coordinates, whose difference is taken for the second derivative. It is exact
    for positions up to degree 3. Others, and formulas (None), have the distance that balances truncation and rounding.
    """
    if degree is not None and degree <= 3:
        return 0.125
    return 1e-2 if scalar is F32 else 1e-4


@cache
def control_points(kind: Element, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of a kind of cells, and the matrix that makes control points of the positions there.

    All points of a cell are between its control points, as Bernstein polynomials are positive and sum to 1
    (Farouki, The Bernstein polynomial basis: a centennial retrospective, 2012).

    Returns:
        points x coordinates, and control points x points.
    """
    cell = reference_cell(kind)
    powers = [p for p in itertools.product(range(degree + 1), repeat=cell.dimension) if _is_in(cell, p, degree)]
    points = np.array(powers) / degree
    values = np.stack([_bernstein(cell, np.array(p), degree, points) for p in powers], axis=1)
    return points, np.linalg.inv(values)


def _is_in(cell: ReferenceCell, powers: tuple[int, ...], degree: int) -> bool:
    return not cell.is_simplex or sum(powers) <= degree


def _bernstein(cell: ReferenceCell, powers: np.ndarray, degree: int, points: np.ndarray) -> np.ndarray:
    """A Bernstein polynomial at points."""
    if cell.is_simplex:
        all_powers = [*powers, degree - powers.sum()]
        factors = [*points.T, 1.0 - points.sum(axis=1)]
        scale = math.factorial(degree) / math.prod(math.factorial(int(p)) for p in all_powers)
        return scale * np.prod([f ** int(p) for f, p in zip(factors, all_powers)], axis=0)
    parts = [math.comb(degree, int(p)) * x ** int(p) * (1.0 - x) ** int(degree - p) for x, p in zip(points.T, powers)]
    return np.prod(parts, axis=0)
