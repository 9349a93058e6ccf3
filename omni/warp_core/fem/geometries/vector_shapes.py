"""Vector-valued shape functions of reference cells, of lowest order. Start with `make_vector_shape`.

Those of edges (Nedelec, first kind) have constant components along edges; those of sides (Raviart-Thomas) have constant
components across sides. A function has the integral 1 over its own edge or side, and 0 over others.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from .reference_cells import Element, ReferenceCell, edges_of, reference_cell
from .shape_functions import ElementBasis, ShapeFunction


class VectorShape(ShapeFunction):
    """Vector-valued shape functions of a reference cell.

    Args:
        cell: The reference cell.
        nodes: The middle of the edge or side of each function.
        axes: The direction of each function: an edge, or the normal of a side times its size.
        space: The vectors that the functions span: vector x component x products of coordinates.
        key: What tells it from other shapes.
    """

    is_own = False

    def __init__(self, cell: ReferenceCell, nodes: np.ndarray, axes: np.ndarray, space: np.ndarray, key: tuple):
        self.cell, self.degree, self.nodes, self.axes, self.key = cell, 1, nodes, axes, key
        self._exponents = np.array(list(itertools.product(range(2), repeat=cell.dimension)))
        products = (nodes[:, None] ** self._exponents[None]).prod(axis=2)
        integrals = np.einsum("nd,kdm,nm->nk", axes, space, products)
        self._functions = np.einsum("kn,kdm->ndm", np.linalg.inv(integrals), space)

    def values(self, points: np.ndarray) -> np.ndarray:
        """The value of each function at each point: points x nodes x components."""
        return np.einsum("ndm,pm->pnd", self._functions, (points[:, None] ** self._exponents[None]).prod(axis=2))

    def gradients(self, points: np.ndarray) -> np.ndarray:
        """The gradient of each function at each point: points x nodes x components x coordinates."""
        parts = []
        for d in range(self.cell.dimension):
            lower = self._exponents.copy()
            lower[:, d] = 0
            slopes = self._exponents[:, d] * (points[:, None] ** lower[None]).prod(axis=2)
            parts.append(np.einsum("ndm,pm->pnd", self._functions, slopes))
        return np.stack(parts, axis=3)

    def kernel_coefficients(self, picked: list[int]) -> np.ndarray:
        """The coefficients of some functions as kernels evaluate them: nodes x products of coordinates x components."""
        return self._functions[picked].transpose(0, 2, 1)

    def nodal_weights(self) -> np.ndarray:
        """Equal weights."""
        return np.full(self.count, 1.0 / self.count)


@cache
def make_vector_shape(kind: Element, basis: ElementBasis, degree: int) -> VectorShape:
    """Return the vector-valued shape functions of a kind of cells.

    Raises:
        NotImplementedError: For degrees other than 1, which is the lowest.
    """
    cell, of_edges = reference_cell(kind), basis is ElementBasis.NEDELEC_FIRST_KIND
    if degree != 1:
        raise NotImplementedError(f"{basis}: wp.fem has the lowest degree, 1, not {degree}")
    if of_edges:
        ends = cell.vertices[edges_of(cell)]
        nodes, axes = ends.mean(axis=1), ends[:, 1] - ends[:, 0]
    else:
        nodes = np.array([cell.vertices[list(f.vertices)].mean(axis=0) for f in cell.facets])
        axes = np.array([f.normal * _size(f.tangents, cell.is_simplex) for f in cell.facets])
    space = _of_simplex(cell.dimension, of_edges) if cell.is_simplex else _of_box(cell.dimension, of_edges)
    return VectorShape(cell, nodes, axes, space, (kind, degree, basis, None))


def _size(tangents: np.ndarray, is_simplex: bool) -> float:
    """The size of a side."""
    if len(tangents) == 1:
        return float(np.linalg.norm(tangents[0]))
    return float(np.linalg.norm(np.cross(tangents[0], tangents[1]))) / (2.0 if is_simplex else 1.0)


def _product(dimension: int, axes: tuple[int, ...]) -> int:
    """The number of the product of some coordinates."""
    return sum(2 ** (dimension - 1 - axis) for axis in axes)


def _of_box(dimension: int, of_edges: bool) -> np.ndarray:
    """Vectors along an axis that are linear in the other coordinates, or in that of the axis alone."""
    found = []
    for axis in range(dimension):
        free = [d for d in range(dimension) if (d != axis) == of_edges]
        for picks in itertools.chain.from_iterable(itertools.combinations(free, n) for n in range(len(free) + 1)):
            vector = np.zeros((dimension, 2**dimension))
            vector[axis, _product(dimension, picks)] = 1.0
            found.append(vector)
    return np.array(found)


def _of_simplex(dimension: int, of_edges: bool) -> np.ndarray:
    """Constant vectors, and the rotations or the expansion about the origin."""
    found = [np.zeros((dimension, 2**dimension)) for _ in range(dimension)]
    for axis in range(dimension):
        found[axis][axis, 0] = 1.0
    moves = [np.zeros((dimension, 2**dimension))]
    if of_edges:
        moves = []
        for a, b in itertools.combinations(range(dimension), 2):
            rotation = np.zeros((dimension, 2**dimension))
            rotation[a, _product(dimension, (b,))], rotation[b, _product(dimension, (a,))] = 1.0, -1.0
            moves.append(rotation)
    else:
        for axis in range(dimension):
            moves[0][axis, _product(dimension, (axis,))] = 1.0
    return np.array(found + moves)
