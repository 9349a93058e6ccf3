"""Shape functions on the cells of a geometry, and which nodes cells share. Start with `make_polynomial_basis_space`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.values.scalars import int32
from ..domains.domains import GeometryDomain
from ..geometries.cell_geometry import Geometry, RecordCache, forget
from ..geometries.environments import environments_of_nodes
from ..geometries.partitions import GeometryPartition
from ..geometries.reference_cells import Element, edges_of
from ..geometries.shape_functions import ElementBasis, ShapeFunction, SplineShape, make_shape
from ..geometries.shape_records import shape_record
from ..geometries.vector_shapes import VectorShape, make_vector_shape
from ..polynomial import Polynomial
from .basis_records import space_record, trace_space_record
from .field_records import Values, field_record, part_field_record
from .node_numbering import numbered, separate_nodes, shared_nodes
from .space_partitions import SpacePartition
from .vector_functions import Piola

__all__ = [
    *("BasisSpace", "ShapeBasisSpace", "SpaceTopology", "make_element_based_space_topology"),
    *("make_element_shape_function", "make_polynomial_basis_space"),
]


_LATTICES = ElementBasis.LAGRANGE, ElementBasis.BSPLINE  # whose nodes make a lattice in grids; splines of degree 1


class NodePositions(np.ndarray):
    """The positions of nodes, a row each. Programs for warp-lang call `.numpy()` on them."""

    def numpy(self) -> np.ndarray:
        """Return the positions as an array of NumPy."""
        return np.asarray(self)


class BasisSpace:
    """Shape functions on the cells of a geometry, and which nodes cells share.

    Args:
        geometry: The geometry.
        shape: The shape functions.
        discontinuous: Whether cells share no nodes.
    """

    point_nodes: Any = None  # the node of each point of that quadrature, in the order of elements
    points: Any = None  # the quadrature whose points are the nodes
    quadrature: Any = None  # the points where alone functions are known
    is_free = False  # whether functions have no tables

    def __init__(self, geometry: Geometry, shape: ShapeFunction, discontinuous: bool):
        self.geometry, self.shape, self.discontinuous = geometry, shape, discontinuous
        self._shapes: dict[Any, Any] = {}
        self._records = RecordCache(self)

    @property
    def state(self) -> tuple[Any, ...]:
        """What records of the space depend on: objects that are others after a change."""
        return self.geometry.state

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return self.shape.degree

    @property
    def ORDER(self) -> int:
        """Degree of the polynomials."""
        return self.degree

    @property
    def dimension(self) -> int:
        """Number of coordinates of positions."""
        return self.geometry.dimension

    @cached_property
    def _numbered(self) -> tuple[np.ndarray, int]:
        geometry, shape = self.geometry, self.shape
        if self.discontinuous:
            return separate_nodes(geometry.cell_count(), shape)
        if isinstance(shape, SplineShape):
            found = geometry.lattice_nodes(1, 3)
            if found is None:
                raise ValueError(f"B-splines of degree {shape.degree} need a grid, not a {geometry.name}")
            return found
        has_ends = shape.key[3] in (None, Polynomial.LOBATTO_GAUSS_LEGENDRE, Polynomial.EQUISPACED_CLOSED)
        lattice = geometry.lattice_nodes(shape.degree) if shape.key[2] in _LATTICES and has_ends else None
        return lattice or shared_nodes(geometry, shape)

    @property
    def cell_nodes(self) -> np.ndarray:
        """The nodes of each cell: cells x nodes of a cell."""
        return self._numbered[0]

    def node_count(self) -> int:
        """Number of nodes."""
        return self._numbered[1]

    @property
    def piola(self) -> Piola | None:
        """How vector-valued shape functions are mapped to cells; None for numbers."""
        return None

    @property
    def sign_tables(self) -> tuple[array, ...]:
        """The signs of vector-valued shape functions."""
        return ()

    @cached_property
    def node_table(self) -> array:
        """The nodes of cells as kernels read them: node of a cell x cell."""
        return array(np.ascontiguousarray(self.cell_nodes.T), dtype=int32, device=self.geometry.device)

    def shape_record(self, points: np.ndarray | None) -> Any:
        """Shape functions at points of cells, as kernels evaluate them; None for anywhere."""
        key = None if points is None else points.tobytes()
        if key not in self._shapes:
            self._shapes[key] = shape_record(self.shape, points, self.geometry.scalar, self.geometry.device)
        return self._shapes[key]

    @property
    def nodes_per_element(self) -> int:
        """Number of nodes of a cell."""
        return self.shape.count

    def element_nodes(self, domain: GeometryDomain) -> np.ndarray:
        """The nodes of each element of a domain: elements x nodes."""
        return domain.element_nodes(self.cell_nodes)

    def numbered(self, nodes: np.ndarray) -> np.ndarray:
        """The numbers of nodes of the space: they themselves."""
        return nodes

    @cached_property
    def node_environments(self) -> np.ndarray:
        """The environment of each node; the number of environments for nodes that no cell has.

        Raises:
            ValueError: Cells of two environments have a node in common.
        """
        g, (nodes, cells) = self.geometry, self.nodes_and_cells()
        environments = np.zeros(len(cells), dtype=np.int32)
        if g.cell_environments is not None:
            environments = g.cell_environments[cells]
        counts = self.node_count(), g.environment_count()
        return environments_of_nodes(f"{g.name}: the node", nodes, environments, *counts)

    def nodes_and_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Each node of each cell, and its cell."""
        table = self.cell_nodes
        return table.ravel(), np.repeat(np.arange(len(table)), table.shape[1])

    def rebuild(self) -> None:
        """Take the cells that the geometry has now, after it was rebuilt: see `fem.Nanogrid.rebuild`."""
        forget(self)

    def element_node_indices(self) -> array:
        """Return the nodes of each cell: int32, cells x nodes of a cell."""
        return array(self.cell_nodes, dtype=int32, device=self.geometry.device)

    @property
    def MAX_NODES_PER_ELEMENT(self) -> int:
        """The largest number of nodes of a cell."""
        return self.nodes_per_element

    @property
    def topology(self) -> BasisSpace:
        """Which nodes cells have."""
        return self

    def part_nodes(self, part: GeometryPartition, with_halo: bool) -> list[np.ndarray]:
        """The nodes that a part needs, in groups: inside, at the frontier, then those that other parts have, of cells
        beyond sides of its own, then of others.
        """
        table, sides = self.cell_nodes, self.geometry.sides
        if part.has_cell is None:
            return [np.arange(self.node_count()), *[np.empty(0, dtype=np.int64)] * 3]
        owned = np.unique(table[part.has_cell])
        if not with_halo:
            return [owned, *[np.empty(0, dtype=np.int64)] * 3]
        first, other = (cells[part.frontier_sides] for cells in (sides.cells, sides.others))
        is_own = part.has_cell[first]
        near, beyond_own = np.where(is_own, first, other), other[is_own]
        at_frontier = np.unique(table[near])
        halo = np.setdiff1d(table[beyond_own], owned)
        rest = np.setdiff1d(table[first[~is_own]], np.union1d(owned, halo))
        return [np.setdiff1d(owned, at_frontier), at_frontier, halo, rest]

    def space_record(self, values: Values, points: np.ndarray | None, is_sides: bool) -> Any:
        """What kernels need to make test and trial fields of values of a kind at points of cells or of sides, or
        anywhere in cells.
        """
        factory = trace_space_record if is_sides and points is not None else space_record
        key = values, is_sides, None if points is None else points.tobytes()
        own = self.node_table, *self.sign_tables
        return self._records.get(key, lambda: self._made(factory, values, points, *own))

    def field_record(self, values: Values, dofs: array, points: np.ndarray | None, part: SpacePartition | None) -> Any:
        """What kernels need of a field of values of a kind at points of cells, or anywhere. Nodes may be of a part."""
        if part is None:
            return self._made(field_record, values, points, dofs, self.node_table, *self.sign_tables)
        own = dofs, self.node_table, *self.sign_tables, part.node_places
        return self._made(part_field_record, values, points, *own)

    def _made(self, factory: Any, values: Values, points: np.ndarray | None, *own: Any) -> Any:
        """A record of fields: what it has of its own, shape functions, and perhaps the geometry."""
        g, shape = self.geometry, self.shape_record(points)
        where = g.record(None) if points is None else None
        kinds = type(shape), None if where is None else type(where)
        made = factory(values, g.scalar, g.dimension, *kinds)
        return made(*own, self.degree, shape) if where is None else made(*own, self.degree, shape, where)

    def node_positions(self) -> NodePositions:
        """The positions of nodes, on the host; NaN for vertices that no cell has."""
        g = self.geometry
        found = np.full((self.node_count(), g.dimension), np.nan)
        found[self.cell_nodes] = g.positions_at(self.shape.nodes)
        return found.view(NodePositions)


SpaceTopology = BasisSpace  # shape functions know which nodes cells share


class ShapeBasisSpace(BasisSpace):
    """Shape functions on the nodes of a topology.

    Args:
        topology: Which nodes cells have: `make_element_based_space_topology(geometry, shape)`.
        shape: The shape functions, with nodes where those of the topology are.

    >>> import omni.warp_core.fem as fem
    >>> shape = fem.make_element_shape_function(fem.Element.SQUARE, degree=2)
    >>> topology = fem.make_element_based_space_topology(fem.Grid2D(res=(2, 2)), shape)
    >>> fem.make_collocated_function_space(fem.ShapeBasisSpace(topology, shape), dtype=wp.vec2).node_count()
    25
    """

    def __init__(self, topology: SpaceTopology, shape: ShapeFunction):
        if not isinstance(topology, BasisSpace) or not isinstance(shape, ShapeFunction):
            got = f"{type(topology).__name__} and {type(shape).__name__}"
            raise TypeError(f"ShapeBasisSpace: expected a topology and shape functions, got {got}")
        if shape.count != topology.nodes_per_element:
            raise ValueError(
                f"ShapeBasisSpace: the shape has {shape.count} nodes, and cells have {topology.nodes_per_element}"
            )
        super().__init__(topology.geometry, shape, topology.discontinuous)
        self._topology = topology

    def rebuild(self) -> None:
        """Take the cells that the geometry has now, after it was rebuilt."""
        self._topology.rebuild()
        super().rebuild()

    @cached_property
    def _numbered(self) -> tuple[np.ndarray, int]:
        return self._topology._numbered


VECTOR_BASES = {
    ElementBasis.NEDELEC_FIRST_KIND: Piola.COVARIANT,
    ElementBasis.RAVIART_THOMAS: Piola.CONTRAVARIANT,
}


class VectorBasisSpace(BasisSpace):
    """Vector-valued shape functions, with a node for each edge or side.

    The direction of an edge is from its vertex of the lower number to the other one, that of a side is the normal of
    its first cell.
    """

    def __init__(self, geometry: Geometry, shape: VectorShape, discontinuous: bool):
        super().__init__(geometry, shape, discontinuous)
        if geometry.cell_dimension < geometry.dimension:
            raise NotImplementedError(
                f"{geometry.name}: wp.fem has no vector-valued functions on surfaces in space yet"
            )

    @property
    def piola(self) -> Piola:
        """How shape functions are mapped to cells."""
        return VECTOR_BASES[self.shape.key[2]]

    @cached_property
    def _numbered(self) -> tuple[np.ndarray, int]:
        if self.discontinuous:
            return separate_nodes(self.geometry.cell_count(), self.shape)
        return numbered(self.geometry, self.shape)

    @cached_property
    def signs(self) -> np.ndarray:
        """1 where a node of a cell has the direction of its edge or side, -1 otherwise: cells x nodes of a cell."""
        if self.piola is Piola.COVARIANT:
            ends = self.geometry.cell_vertices[:, edges_of(self.geometry.cell)]
            return np.where(ends[:, :, 0] < ends[:, :, 1], 1.0, -1.0)
        found = np.full(self.cell_nodes.size, -1.0)
        found[np.unique(self.cell_nodes.ravel(), return_index=True)[1]] = 1.0
        return found.reshape(self.cell_nodes.shape)

    @cached_property
    def sign_tables(self) -> tuple[array, ...]:  # type: ignore[override]
        """The signs as kernels read them: node of a cell x cell."""
        g = self.geometry
        return (array(np.ascontiguousarray(self.signs.T), dtype=g.scalar_type, device=g.device),)


def make_polynomial_basis_space(
    geo: Geometry,
    degree: int = 1,
    element_basis: ElementBasis | None = None,
    discontinuous: bool = False,
    family: Polynomial | None = None,
) -> BasisSpace:
    """Return shape functions on the cells of a geometry. Arguments are those of `make_polynomial_space`.

    >>> geo = wp.fem.Grid2D(res=(2, 2))
    >>> wp.fem.make_polynomial_basis_space(geo, degree=2).node_count()
    25
    """
    if not isinstance(geo, Geometry):
        raise TypeError(f"expected a geometry of wp.fem, got {type(geo).__name__}")
    shape = make_element_shape_function(geo.kind, degree, element_basis, family)
    return make_element_based_space_topology(geo, shape, discontinuous)


def make_element_shape_function(
    element: Element,
    degree: int,
    element_basis: ElementBasis | None = None,
    family: Polynomial | None = None,
    scalar_type: Any = None,
) -> ShapeFunction:
    """Return the shape functions of a reference cell.

    Args:
        element: The reference cell.
        degree: Degree of the polynomials.
        element_basis: Which polynomials; `ElementBasis.LAGRANGE` if left out.
        family: Where nodes of squares and cubes lie; `Polynomial.LOBATTO_GAUSS_LEGENDRE` if left out.
        scalar_type: Without effect: numbers are those of the geometry.

    Raises:
        ValueError: The cell has no such functions.

    >>> wp.fem.make_element_shape_function(wp.fem.Element.TRIANGLE, degree=2).count
    6
    """
    basis = element_basis or ElementBasis.LAGRANGE
    if basis in VECTOR_BASES:
        return make_vector_shape(element, basis, degree)
    return make_shape(element, degree, basis, family)


def make_element_based_space_topology(
    geo: Geometry, shape: ShapeFunction, discontinuous: bool = False
) -> SpaceTopology:
    """Return which nodes the cells of a geometry have, and which they share.

    Args:
        geo: The geometry.
        shape: The shape functions: nodes on common vertices, edges and faces are shared.
        discontinuous: Whether cells share no nodes.

    >>> import omni.warp_core.fem as fem
    >>> shape = fem.make_element_shape_function(fem.Element.SQUARE, degree=1)
    >>> fem.make_element_based_space_topology(fem.Grid2D(res=(2, 2)), shape).node_count()
    9
    """
    if not isinstance(geo, Geometry) or not isinstance(shape, ShapeFunction):
        got = f"{type(geo).__name__} and {type(shape).__name__}"
        raise TypeError(f"expected a geometry of wp.fem and shape functions, got {got}")
    if shape.cell.kind is not geo.kind:
        raise ValueError(f"{geo.name} has cells of {geo.kind}, and the shape functions are those of {shape.cell.kind}")
    if isinstance(shape, VectorShape):
        return VectorBasisSpace(geo, shape, discontinuous)
    return ShapeBasisSpace(BasisSpace(geo, shape, discontinuous or _is_apart(shape)), shape)


def _is_apart(shape: ShapeFunction) -> bool:
    """True for shape functions of which cells share no nodes."""
    return shape.degree == 0 or shape.key[2] is ElementBasis.NONCONFORMING_POLYNOMIAL
