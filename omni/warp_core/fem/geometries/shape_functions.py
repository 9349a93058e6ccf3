"""Shape functions of reference cells: polynomials that are 1 at one node and 0 at the others.

A shape is a table of monomials and their coefficients, in float64 on the host. Kernels read tables of the values and
gradients at the points where a form is sampled, or evaluate the polynomials (shape_records.py). Start with
`make_shape`.
"""

from __future__ import annotations

import enum
import itertools
from functools import cache
from typing import Any

import numpy as np

from ..polynomial import Polynomial, points_1d, quadrature_1d
from .reference_cells import Element, ReferenceCell, quadrature, reference_cell


class ElementBasis(enum.Enum):
    """Kinds of polynomial spaces on a reference cell."""

    LAGRANGE = 0
    """All polynomials of a degree: in each coordinate for squares and cubes, in all for triangles and tetrahedra."""
    SERENDIPITY = 1
    """Of squares and cubes: without nodes inside of faces and cells, for the degrees 2 and 3."""
    NONCONFORMING_POLYNOMIAL = 2
    """Of squares and cubes: polynomials whose degree counts all coordinates together. Cells share no nodes."""
    NEDELEC_FIRST_KIND = 3
    """Vectors whose components along edges are continuous. A node is an edge."""
    RAVIART_THOMAS = 4
    """Vectors whose components along the normals of sides are continuous. A node is a side."""
    BSPLINE = 5
    """Of grids: splines of the degrees 2 and 3 around each vertex, also of vertices one cell beyond the grid."""


class ShapeFunction:
    """Shape functions of a reference cell: polynomials that are 1 at one node and 0 at the others.

    `make_element_shape_function` has the usual ones. Others are given by their nodes and monomials. Cells share nodes
    on common vertices, edges and faces.

    Args:
        element: The reference cell.
        degree: The largest exponent.
        nodes: Coordinates of the nodes, from 0 to 1: nodes x coordinates.
        exponents: Exponents of the monomials that functions are sums of, a row for each: as many as nodes.
        key: None; what tells it from others, for shape functions of the package.

    Raises:
        ValueError: Values at the nodes do not determine such a polynomial.

    >>> import omni.warp_core.fem as fem
    >>> middles = [(0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]  # of edges: functions of Crouzeix and Raviart
    >>> shape = fem.ShapeFunction(fem.Element.TRIANGLE, 1, nodes=middles, exponents=[(0, 0), (1, 0), (0, 1)])
    >>> shape.values([(0.5, 0.5)]).tolist()
    [[0.0, 1.0, 0.0]]
    """

    def __init__(self, element: Element, degree: int, nodes: Any, exponents: Any, key: tuple | None = None):
        self.cell, self.degree = reference_cell(element), degree
        self.nodes, self._exponents = np.asarray(nodes, dtype=np.float64), np.asarray(exponents, dtype=np.int64)
        self.is_own = key is None
        self.key = key or (element, degree, "the functions", (self.nodes.tobytes(), self._exponents.tobytes()))
        self._check()
        self._coefficients = np.linalg.inv(self._monomials(self.nodes))

    def _check(self) -> None:
        nodes, exponents, wanted = self.nodes.shape, self._exponents, self.cell.dimension
        if len(nodes) != 2 or nodes[1] != wanted or exponents.shape != nodes:
            raise ValueError(
                f"ShapeFunction: expected nodes and exponents of the shape (nodes, {wanted}), got {nodes} and "
                f"{exponents.shape}"
            )
        if exponents.min() < 0 or exponents.max() > self.degree:
            raise ValueError(f"ShapeFunction: exponents: expected integers from 0 to the degree, {self.degree}")
        if np.linalg.matrix_rank(self._monomials(self.nodes)) < nodes[0]:
            raise ValueError("ShapeFunction: values at the nodes do not determine a sum of the monomials; move nodes")

    @property
    def count(self) -> int:
        """The number of nodes of a cell."""
        return len(self.nodes)

    def _monomials(self, points: Any) -> np.ndarray:
        x = 2.0 * np.asarray(points) - 1.0
        return (x[:, None, :] ** self._exponents[None]).prod(axis=2)

    def values(self, points: Any) -> np.ndarray:
        """The value of each function at each point: points x nodes."""
        return _clean(self._monomials(points) @ self._coefficients)

    def gradients(self, points: np.ndarray) -> np.ndarray:
        """The gradient of each function at each point: points x nodes x coordinates."""
        x = 2.0 * points - 1.0
        parts = []
        for d in range(x.shape[1]):
            e = self._exponents.copy()
            factor = 2.0 * e[:, d]
            e[:, d] = np.maximum(e[:, d] - 1, 0)
            parts.append((factor * (x[:, None, :] ** e[None]).prod(axis=2)) @ self._coefficients)
        return _clean(np.stack(parts, axis=2))

    def kernel_coefficients(self, picked: list[int]) -> np.ndarray:
        """The coefficients of some functions as kernels evaluate it, by Horner's rule: nodes x all powers of all
        coordinates, the highest powers and the last coordinate first. Monomials that a function lacks have zeros.
        """
        n = self.degree + 1
        found = np.zeros((self.count, n**self.cell.dimension))
        places = np.ravel_multi_index(tuple((self.degree - self._exponents).T), [n] * self.cell.dimension)
        found[:, places] = _clean(self._coefficients.T)
        return found[picked]

    def nodal_weights(self) -> np.ndarray:
        """The weights of nodes as points of a quadrature: the integral of each function over the cell, divided by the
        size of the cell. Where some are not positive, as for triangles of degree 2, the integrals of squares, scaled.
        """
        points, weights = quadrature(self.cell.kind, 2 * self.degree)
        values = self.values(points)
        found = weights @ values
        if found.min() < 1e-9:
            found = weights @ values**2
        return found / found.sum()


# Degree -> pieces along an axis of a cell -> function -> coefficients, the highest power first. Functions belong to the
# vertices -1, 0, 1 and 2. Those of degree 2 have another piece from the middle of the cell on.
_SPLINES = {
    2: [
        [(0.5, -0.5, 0.125), (-1.0, 0.0, 0.75), (0.5, 0.5, 0.125), (0.0, 0.0, 0.0)],
        [(0.0, 0.0, 0.0), (0.5, -1.5, 1.125), (-1.0, 2.0, -0.25), (0.5, -0.5, 0.125)],
    ],
    3: [np.array([(-1.0, 3.0, -3.0, 1.0), (3.0, -6.0, 0.0, 4.0), (-3.0, 3.0, 3.0, 1.0), (1.0, 0.0, 0.0, 0.0)]) / 6.0],
}


class SplineShape(ShapeFunction):
    """B-splines around the vertices of a grid, of which a cell has four along each axis.

    Args:
        cell: The reference cell, a square or cube.
        degree: 2 or 3.
        key: What tells it from other shapes.
    """

    is_own = False

    def __init__(self, cell: ReferenceCell, degree: int, key: tuple):
        if cell.is_simplex or degree not in _SPLINES:
            raise ValueError(
                f"{cell.kind} has no B-splines of degree {degree}: squares and cubes have those of 1, 2, 3"
            )
        self.cell, self.degree, self.key = cell, degree, key
        self.pieces = np.array(_SPLINES[degree])
        self._places = np.array(list(itertools.product(range(4), repeat=cell.dimension)))
        self.nodes = self._places - 1.0

    def _along(self, x: np.ndarray, order: int) -> np.ndarray:
        """The derivative of an order of the functions along each axis: points x axes x functions."""
        powers = np.arange(self.degree, -1, -1)
        factors = np.where(powers >= order, powers if order else 1, 0)
        terms = factors * x[..., None] ** np.maximum(powers - order, 0)
        pieces = np.where(x >= 0.5, len(self.pieces) - 1, 0)
        return np.einsum("pafk,pak->paf", self.pieces[pieces], terms)

    def values(self, points: np.ndarray) -> np.ndarray:
        """The value of each function at each point: points x nodes."""
        along = self._along(points, 0)
        return _clean(along[:, np.arange(self.cell.dimension), self._places].prod(axis=2))

    def gradients(self, points: np.ndarray) -> np.ndarray:
        """The gradient of each function at each point: points x nodes x coordinates."""
        axes = np.arange(self.cell.dimension)
        along, slopes = (self._along(points, order)[:, axes, self._places] for order in (0, 1))
        parts = [np.where(axes == d, slopes, along).prod(axis=2) for d in axes]
        return _clean(np.stack(parts, axis=2))

    def kernel_coefficients(self, picked: list[int]) -> np.ndarray:
        """The coefficients as kernels evaluate them: functions of all pieces x powers, the highest first."""
        return self.pieces.reshape(-1, self.degree + 1)

    def nodal_weights(self) -> np.ndarray:
        """The integral of each function over the cell."""
        points, weights = quadrature_1d(3, Polynomial.GAUSS_LEGENDRE)
        halves = np.concatenate([points, points + 1.0]) / 2.0
        along = np.tile(weights, 2) / 2.0 @ self._along(halves[:, None], 0)[:, 0]
        return along[self._places].prod(axis=1)


def _clean(table: np.ndarray) -> np.ndarray:
    """The table with zeros where rounding left something else, so that matrices have no blocks of rounding errors."""
    return np.where(np.abs(table) < 1e-12, 0.0, table)


@cache
def make_shape(
    kind: Element, degree: int, basis: ElementBasis = ElementBasis.LAGRANGE, family: Polynomial | None = None
) -> ShapeFunction:
    """Return the shape functions of a kind of cells.

    Raises:
        ValueError: The cell has no such functions.
    """
    cell, key = reference_cell(kind), (kind, degree, basis, family)
    if degree < 0:
        raise ValueError(f"degree={degree}: a degree is 0 or more")
    if basis is ElementBasis.BSPLINE and degree > 1:
        return SplineShape(cell, degree, key)
    total = [e for e in itertools.product(range(degree + 1), repeat=cell.dimension) if sum(e) <= degree]
    if degree == 0:
        return ShapeFunction(
            kind, 0, cell.vertices.mean(axis=0, keepdims=True), np.zeros((1, cell.dimension), int), key
        )
    if basis is ElementBasis.SERENDIPITY:
        return _serendipity(cell, degree, key)
    if cell.is_simplex or basis is ElementBasis.NONCONFORMING_POLYNOMIAL:
        nodes = np.array(total) / degree if cell.is_simplex else _inscribed(cell.dimension, degree)
        return ShapeFunction(kind, degree, nodes, np.array(total), key)
    line = points_1d(degree + 1, family or Polynomial.LOBATTO_GAUSS_LEGENDRE)
    grid = np.array(list(itertools.product(range(degree + 1), repeat=cell.dimension)))
    return ShapeFunction(kind, degree, line[grid], grid, key)


def _inscribed(dimension: int, degree: int) -> np.ndarray:
    """The points of a lattice in the regular triangle or tetrahedron with vertices on the circle or sphere inside of a
    square or cube: the vertices, then those on edges, then others.
    """
    root = np.sqrt(3.0)
    corners = np.array([(-root, -1.0, 0.0), (root, -1.0, 0.0), (0.0, 2.0, 0.0)])
    if dimension == 2:
        corners = 0.5 + corners[:, :2] / 4.0
    else:
        base = np.sqrt(2.0) / 3.0 * corners - (0.0, 0.0, 1.0 / 3.0)
        corners = 0.5 + np.vstack([base, [(0.0, 0.0, 1.0)]]) / 2.0
    lattice = [e for e in itertools.product(range(degree + 1), repeat=dimension + 1) if sum(e) == degree]

    def rank(weights: tuple[int, ...]) -> tuple:
        on = tuple(i for i, w in enumerate(weights) if w)
        return len(on), _EDGES.index(on) if len(on) == 2 else 0, [-w for w in weights]

    return np.array(sorted(lattice, key=rank)) @ corners / degree


_EDGES = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]


def side_shape(shape: ShapeFunction) -> ShapeFunction:
    """Return the shape functions of a side of a cell: those whose nodes are the nodes of the cell there.

    Raises:
        ValueError: The cell has no nodes on its sides.
    """
    _, degree, basis, family = shape.key
    facet = shape.cell.facets[0]
    if shape.cell.is_simplex:
        family = Polynomial.EQUISPACED_CLOSED
    made = make_shape(facet.kind, degree, basis, family)
    points = facet.origin + made.nodes @ facet.tangents
    if np.abs(points[:, None] - shape.nodes[None]).sum(axis=2).min(axis=1).max() > 1e-9:
        raise ValueError(f"{basis} of degree {degree}: cells have no nodes on their sides; take a domain of cells")
    return made


def _serendipity(cell: ReferenceCell, degree: int, key: tuple) -> ShapeFunction:
    if cell.is_simplex or degree not in (2, 3):
        known = "squares and cubes have serendipity functions of the degrees 2 and 3"
        raise ValueError(f"{cell.kind} has no serendipity functions of degree {degree}: {known}")
    grid = np.array(list(itertools.product(range(degree + 1), repeat=cell.dimension)))
    inside = ((grid > 0) & (grid < degree)).sum(axis=1)
    superlinear = np.where(grid > 1, grid, 0).sum(axis=1)
    nodes = points_1d(degree + 1)[grid[inside <= 1]]
    return ShapeFunction(cell.kind, degree, nodes, grid[superlinear <= degree], key)
