"""Geometries for the tests of fem, with irregular vertices, and an assembly in physical coordinates as their judge."""

from __future__ import annotations

import itertools

import numpy as np

import omni.warp_core as wp
import omni.warp_core.fem as fem

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


def moved_lattice(shape: tuple[int, ...], amount: float, seed: int = 1) -> np.ndarray:
    """The points of a lattice in the unit box, those inside moved a little."""
    axes = [np.linspace(0.0, 1.0, n + 1) for n in shape]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    inside = ((points > 1e-9) & (points < 1.0 - 1e-9)).all(axis=1)
    moves = np.random.default_rng(seed).uniform(-1.0, 1.0, points.shape) * amount / max(shape)
    return points + moves * inside[:, None]


def boxes(shape: tuple[int, ...], corners: list[tuple[int, ...]]) -> np.ndarray:
    """The vertices of the cells of a lattice, with the given order of corners."""
    numbers = np.arange(np.prod([n + 1 for n in shape])).reshape([n + 1 for n in shape])
    cells = itertools.product(*map(range, shape))
    return np.array([[numbers[tuple(np.add(c, k))] for k in corners] for c in cells], dtype=np.int32)


def geometry(name: str, scalar=wp.float64, amount: float = 0.25):
    """A geometry of the unit square or cube by its name."""
    vec2, vec3 = (wp.vec2d, wp.vec3d) if scalar is wp.float64 else (wp.vec2, wp.vec3)
    if name == "Grid2D":
        return fem.Grid2D(res=(3, 2), scalar_type=scalar)
    if name == "Grid3D":
        return fem.Grid3D(res=(2, 1, 2), scalar_type=scalar)
    if name in ("Trimesh2D", "Quadmesh2D"):
        points = wp.array(moved_lattice((3, 3), amount), dtype=vec2)
        quads = boxes((3, 3), SQUARE)
        if name == "Quadmesh2D":
            return fem.Quadmesh2D(wp.array(quads, dtype=int), points)
        triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [2, 3, 0]]])
        return fem.Trimesh2D(wp.array(triangles, dtype=int), points)
    points = wp.array(moved_lattice((2, 2, 2), amount), dtype=vec3)
    hexes = boxes((2, 2, 2), [(*c, z) for z in (0, 1) for c in SQUARE])
    if name == "Hexmesh":
        return fem.Hexmesh(wp.array(hexes, dtype=int), points)
    ways = [(0, *path, 6) for path in ((1, 2), (1, 5), (3, 2), (3, 7), (4, 5), (4, 7))]
    return fem.Tetmesh(wp.array(np.concatenate([hexes[:, list(w)] for w in ways]), dtype=int), points)


class Physical:
    """Shape functions as polynomials in physical coordinates, fitted to the nodes of each cell: a judge that shares no
    code with the package. It is right for cells that are affine images of the reference cell.
    """

    def __init__(self, space, degree: int):
        self.space, self.dimension = space, space.geometry.dimension
        self.is_simplex = type(space.geometry).__name__ in ("Trimesh2D", "Tetmesh")
        powers = itertools.product(range(degree + 1), repeat=self.dimension)
        self.exponents = np.array([e for e in powers if not self.is_simplex or sum(e) <= degree])
        self.nodes, self.positions = space.basis.cell_nodes, space.node_positions()
        self.count = degree + 2

    def points(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points of a cell and their weights: those of a cube, one side of which shrinks for simplices."""
        x, w = np.polynomial.legendre.leggauss(self.count)
        line = list(zip((x + 1.0) / 2.0, w / 2.0))
        found, weights = [], []
        for picks in itertools.product(line, repeat=self.dimension):
            at = np.array([p for p, _ in picks])
            weight = np.prod([q for _, q in picks])
            if self.is_simplex:
                left = np.cumprod([1.0, *(1.0 - at[:-1])])
                at, weight = at * left, weight * left.prod()
            found.append(at)
            weights.append(weight)
        origin = corners[0]
        ends = [1, 2, 3][: self.dimension] if self.is_simplex else {2: [1, 3], 3: [1, 3, 4]}[self.dimension]
        axes = corners[ends] - origin
        return origin + np.array(found) @ axes, np.array(weights) * abs(np.linalg.det(axes))

    def monomials(self, x: np.ndarray, by: int | None = None) -> np.ndarray:
        """The monomials at points, or their derivatives by a coordinate."""
        e, factor = self.exponents.copy(), 1.0
        if by is not None:
            factor = e[:, by].astype(float)
            e[:, by] = np.maximum(e[:, by] - 1, 0)
        return factor * (x[:, None, :] ** e[None]).prod(axis=2)

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """The mass matrix and the stiffness matrix."""
        n = self.space.node_count()
        mass, stiffness = np.zeros((n, n)), np.zeros((n, n))
        geo = self.space.geometry
        for cell, nodes in enumerate(self.nodes):
            corners = geo.vertex_positions[geo.cell_vertices[cell]]
            middle = corners.mean(axis=0)  # powers of small numbers have fewer rounding errors
            x, w = self.points(corners - middle)
            fitted = np.linalg.inv(self.monomials(self.positions[nodes] - middle))
            values = self.monomials(x) @ fitted
            at = np.ix_(nodes, nodes)
            mass[at] += values.T @ (w[:, None] * values)
            for d in range(self.dimension):
                slopes = self.monomials(x, d) @ fitted
                stiffness[at] += slopes.T @ (w[:, None] * slopes)
        return mass, stiffness
