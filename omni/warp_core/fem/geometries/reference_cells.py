"""Reference cells: the shapes that cells of a geometry are images of, with their sides and quadratures.

All coordinates go from 0 to 1. Weights of a quadrature sum to 1, and `volume` is the size of the cell.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..polynomial import Polynomial, gauss_jacobi, quadrature_1d


class Element(enum.Enum):
    """Kinds of reference cells."""

    LINE_SEGMENT = 1
    SQUARE = 2
    CUBE = 3
    TRIANGLE = 4
    TETRAHEDRON = 5


class Facet(NamedTuple):
    """A side of a reference cell: an image of another reference cell."""

    kind: Element
    vertices: tuple[int, ...]  # of the cell
    origin: np.ndarray
    tangents: np.ndarray  # rows: where the axes of the side lead
    normal: np.ndarray  # outward, of length 1


class ReferenceCell(NamedTuple):
    """A reference cell. `vertices` are in the order in which meshes list them."""

    kind: Element
    vertices: np.ndarray
    volume: float
    facets: tuple[Facet, ...]

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.vertices.shape[1]

    @property
    def is_simplex(self) -> bool:
        """True for triangles and tetrahedra."""
        return self.kind in (Element.TRIANGLE, Element.TETRAHEDRON)

    def vertex_weights(self, points: np.ndarray) -> np.ndarray:
        """The weight of each vertex at each point: barycentric or multilinear coordinates."""
        if self.is_simplex:
            return np.concatenate([1.0 - points.sum(axis=1, keepdims=True), points], axis=1)
        factors = np.where(self.vertices[None] > 0.5, points[:, None, :], 1.0 - points[:, None, :])
        return factors.prod(axis=2)


_SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]
_VERTICES = {
    Element.LINE_SEGMENT: [[0], [1]],
    Element.SQUARE: _SQUARE,
    Element.TRIANGLE: [[0, 0], [1, 0], [0, 1]],
    Element.CUBE: [[*xy, z] for z in (0, 1) for xy in _SQUARE],
    Element.TETRAHEDRON: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
}
_VOLUMES = {Element.TRIANGLE: 0.5, Element.TETRAHEDRON: 1.0 / 6.0}
# Side -> its vertices: the origin, then the ends of the axes, then the vertex opposite of the origin.
_SIDES: dict[Element, list[tuple[int, ...]]] = {
    Element.LINE_SEGMENT: [],
    Element.SQUARE: [(0, 1), (1, 2), (2, 3), (3, 0)],
    Element.TRIANGLE: [(0, 1), (1, 2), (2, 0)],
    Element.CUBE: [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 4, 5), (3, 2, 7, 6), (0, 3, 4, 7), (1, 2, 5, 6)],
    Element.TETRAHEDRON: [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)],
}
_KIND_OF_SIDE = {
    Element.SQUARE: Element.LINE_SEGMENT,
    Element.TRIANGLE: Element.LINE_SEGMENT,
    Element.CUBE: Element.SQUARE,
    Element.TETRAHEDRON: Element.TRIANGLE,
}


@cache
def reference_cell(kind: Element) -> ReferenceCell:
    """The reference cell of a kind."""
    vertices = np.array(_VERTICES[kind], dtype=np.float64)
    facets = tuple(_facet(kind, vertices, side) for side in _SIDES[kind])
    return ReferenceCell(kind, vertices, _VOLUMES.get(kind, 1.0), facets)


def edges_of(cell: ReferenceCell) -> np.ndarray:
    """The edges of a reference cell: pairs of vertices."""
    if cell.dimension == 2:
        return np.array([f.vertices for f in cell.facets])
    pairs = itertools.combinations(range(len(cell.vertices)), 2)
    is_edge = [cell.is_simplex or np.abs(cell.vertices[a] - cell.vertices[b]).sum() == 1 for a, b in pairs]
    return np.array(list(itertools.combinations(range(len(cell.vertices)), 2)))[is_edge]


def _facet(kind: Element, vertices: np.ndarray, side: tuple[int, ...]) -> Facet:
    axes = 1 if len(side) == 2 else 2
    ends = vertices[list(side[: axes + 1])]
    normal = outward_normals(ends[None], vertices.mean(axis=0))[0]
    return Facet(_KIND_OF_SIDE[kind], side, ends[0], ends[1:] - ends[0], normal)


def outward_normals(ends: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """The normals of sides of a cell, away from the middle of the cell.

    Args:
        ends: Where the origin and the ends of the axes of each side are: sides x points x coordinates.
        middle: The middle of the cell.
    """
    tangents = ends[:, 1:] - ends[:, :1]
    if tangents.shape[1] == 1:
        normals = tangents[:, 0, ::-1] * np.array([1.0, -1.0])
    else:
        normals = np.cross(tangents[:, 0], tangents[:, 1])
    inward = np.einsum("sd,sd->s", normals, middle - ends[:, 0]) > 0.0
    return np.where(inward, -1.0, 1.0)[:, None] * normals / np.linalg.norm(normals, axis=1, keepdims=True)


@cache
def quadrature(kind: Element, order: int, family: Polynomial | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that integrate polynomials of degree `order` over a reference cell."""
    cell = reference_cell(kind)
    if cell.is_simplex:
        if family not in (None, Polynomial.GAUSS_LEGENDRE):
            raise ValueError(f"{family}: triangles and tetrahedra have quadratures of GAUSS_LEGENDRE only")
        return _of_simplex(cell.dimension, order)
    points, weights = quadrature_1d(_point_count(order, family), family or Polynomial.GAUSS_LEGENDRE)
    axes = [points] * cell.dimension
    return _tensor(axes), np.array([math.prod(w) for w in itertools.product(weights, repeat=cell.dimension)])


def _point_count(order: int, family: Polynomial | None) -> int:
    """How many points of a family make a quadrature of an order."""
    if family in (None, Polynomial.GAUSS_LEGENDRE):
        return order // 2 + 1
    if family is Polynomial.LOBATTO_GAUSS_LEGENDRE:
        return max(2, (order + 4) // 2)
    count = order + 1 if order % 2 == 0 else order  # odd numbers of symmetric points gain a degree
    return max(count, 2 if family is Polynomial.EQUISPACED_CLOSED else 1)


def _tensor(axes: Sequence[np.ndarray]) -> np.ndarray:
    return np.array(list(itertools.product(*axes)))


def _of_simplex(dimension: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    n = dimension + 1
    if order <= 1:
        return np.full((1, dimension), 1.0 / n), np.ones(1)
    if order == 2:
        near = 1.0 / 6.0 if dimension == 2 else (5.0 - math.sqrt(5.0)) / 20.0
        corners = np.eye(n) * (1.0 - n * near) + near
        return corners[:, 1:], np.full(n, 1.0 / n)
    count = order // 2 + 1
    rules = [gauss_jacobi(count, dimension - 1 - d) for d in range(dimension)]
    points, weights = [], []
    for picks in itertools.product(range(count), repeat=dimension):  # a cube whose one side shrinks to a point
        left, at, weight = 1.0, [], 1.0
        for (x, w), i in zip(rules, picks):
            at.append(left * x[i])
            left *= 1.0 - x[i]
            weight *= w[i]
        points.append(at)
        weights.append(weight)
    total = np.array(weights)
    return np.array(points), total / total.sum()
