"""Function spaces: which functions a field can be. Start with `make_polynomial_space`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.types import Mat, Scalar, Type, Vec
from ...lang.values.scalars import int32
from ...lang.values.type_registry import python_type, wc_type
from ..domains.domains import GeometryDomain
from ..geometries.cell_geometry import Geometry
from ..geometries.partitions import GeometryPartition
from ..geometries.shape_functions import ElementBasis, Shape, SplineShape, make_shape
from ..geometries.shape_records import shape_record
from ..geometries.vector_shapes import VectorShape, edges_of, make_vector_shape
from ..kernel_records import vector_type
from ..polynomial import Polynomial
from .basis_records import space_record, trace_space_record
from .dof_mappers import DofMapper
from .field_records import Values, field_record, part_field_record
from .fields import DiscreteField, make_discrete_field
from .node_numbering import edge_nodes, separate_nodes, shared_nodes
from .space_partitions import SpacePartition
from .vector_functions import Piola

__all__ = [
    *("BasisSpace", "FunctionSpace", "make_collocated_function_space", "make_contravariant_function_space"),
    "make_covariant_function_space",
    *("make_polynomial_basis_space", "make_polynomial_space"),
]


_LATTICES = ElementBasis.LAGRANGE, ElementBasis.BSPLINE  # whose nodes make a lattice in grids; splines of degree 1


class BasisSpace:
    """Shape functions on the cells of a geometry, and which nodes cells share.

    Args:
        geometry: The geometry.
        shape: The shape functions.
        discontinuous: Whether cells share no nodes.
    """

    quadrature: Any = None  # the points of spaces with a node at each of them

    def __init__(self, geometry: Geometry, shape: Shape, discontinuous: bool):
        self.geometry, self.shape, self.discontinuous = geometry, shape, discontinuous
        self._shapes: dict[Any, Any] = {}

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return self.shape.degree

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
        return self._made(factory, values, points, self.node_table, *self.sign_tables)

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

    def node_positions(self) -> np.ndarray:
        """The positions of nodes, on the host; NaN for vertices that no cell has."""
        g = self.geometry
        found = np.full((self.node_count(), g.dimension), np.nan)
        found[self.cell_nodes] = g.positions_at(self.shape.nodes)
        return found


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
        return edge_nodes(self.geometry, self.shape)

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


class FunctionSpace:
    """Functions with values of a type.

    Args:
        basis: The shape functions.
        dtype: The type of values: a number, a vector or a matrix.

    Attributes:
        basis: The shape functions.
        dtype: The type of values.
        geometry: The geometry.
    """

    def __init__(self, basis: BasisSpace, dtype: Any, dof_mapper: DofMapper | None = None):
        self.basis, self.geometry = basis, basis.geometry
        self.values = _values(dtype, dof_mapper, basis.geometry.scalar)
        if basis.piola:
            self.values = _vector_values(basis, dtype, dof_mapper)
        self.dtype = python_type(self.values.type)

    @property
    def dof_mapper(self) -> DofMapper | None:
        """How what nodes have becomes values; None if nodes have values."""
        return self.values.mapper

    @property
    def dof_dtype(self) -> Any:
        """The type of what nodes have: of values, without a mapper."""
        return self.values.dof_dtype

    @property
    def topology(self) -> BasisSpace:
        """Which nodes cells have."""
        return self.basis

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return self.basis.degree

    @property
    def component_count(self) -> int:
        """How many numbers a node has."""
        return getattr(wc_type(self.dof_dtype), "count", 1)

    def node_count(self) -> int:
        """Number of nodes."""
        return self.basis.node_count()

    def node_positions(self) -> np.ndarray:
        """The positions of nodes, on the host: nodes x coordinates."""
        return self.basis.node_positions()

    def make_field(self, space_partition: SpacePartition | None = None) -> DiscreteField:
        """Return a discrete field of this space, zero everywhere."""
        return make_discrete_field(self, space_partition)

    def record(self, points: np.ndarray | None, is_sides: bool) -> Any:
        """What kernels need to make test and trial fields at points of cells or of sides, or anywhere in cells."""
        return self.basis.space_record(self.values, points, is_sides)

    def field_record(self, dofs: array, points: np.ndarray | None, part: SpacePartition | None) -> Any:
        """What kernels need of a field of this space at points of cells, or anywhere. Nodes may be those of a part."""
        return self.basis.field_record(self.values, dofs, points, part)


def _values(dtype: Any, mapper: DofMapper | None, scalar: Scalar) -> Values:
    """The values of a space."""
    if mapper is None:
        return Values(_value_type(dtype, scalar))
    if not isinstance(mapper, DofMapper):
        raise TypeError(f"dof_mapper: expected a fem.DofMapper, got {type(mapper).__name__}")
    if dtype is not None and dtype is not mapper.value_dtype:
        made = mapper.value_dtype.__name__
        raise ValueError(f"dtype: {dtype.__name__} is not what dof_mapper makes: {made}; leave dtype out")
    return Values(_value_type(mapper.value_dtype, scalar), mapper)


def _vector_values(basis: BasisSpace, dtype: Any, mapper: DofMapper | None) -> Values:
    """The values of a space of vector-valued shape functions."""
    wanted = vector_type(basis.geometry.dimension, basis.geometry.scalar)
    if dtype not in (None, wanted) or mapper is not None:
        raise ValueError(f"{basis.piola}: values are vectors, {wanted.__name__}; leave dtype and dof_mapper out")
    return Values(wc_type(wanted), None, basis.piola)


def _value_type(dtype: Any, scalar: Scalar) -> Type:
    """The type of values, with numbers as the geometry has them. `float` and `vec2` follow those of the geometry."""
    if dtype is None:
        return scalar
    t = wc_type(dtype)
    own = t.scalar if isinstance(t, (Vec, Mat)) else t
    if not isinstance(own, Scalar) or not own.is_float:
        raise TypeError(f"dtype: expected a type of numbers, vectors or matrices, got {dtype.__name__}")
    if own is not scalar:
        wanted, given = python_type(scalar).__name__, python_type(own).__name__
        raise TypeError(
            f"dtype: {dtype.__name__} has numbers of {given}, and the geometry has {wanted}; take a type of {wanted}, "
            "or give the geometry scalar_type"
        )
    return t


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
    basis = element_basis or ElementBasis.LAGRANGE
    if basis in VECTOR_BASES:
        return VectorBasisSpace(geo, make_vector_shape(geo.kind, basis, degree), discontinuous)
    shape = make_shape(geo.kind, degree, basis, family)
    apart = degree == 0 or basis is ElementBasis.NONCONFORMING_POLYNOMIAL
    return BasisSpace(geo, shape, discontinuous or apart)


def make_collocated_function_space(basis_space: BasisSpace, dtype: Any = None, dof_mapper: Any = None) -> FunctionSpace:
    """Return a space of functions over given shape functions.

    Args:
        basis_space: The shape functions.
        dtype: The type of values; that of the geometry's numbers if left out.
        dof_mapper: How what nodes have becomes values; nodes have values if left out.

    >>> basis = wp.fem.make_polynomial_basis_space(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.make_collocated_function_space(basis, dtype=wp.vec2).component_count
    2
    """
    return FunctionSpace(basis_space, dtype, dof_mapper)


def make_covariant_function_space(basis_space: BasisSpace) -> FunctionSpace:
    """Return the space of vectors of shape functions whose components along edges are continuous.

    Args:
        basis_space: Shape functions of `ElementBasis.NEDELEC_FIRST_KIND`.

    >>> edges = wp.fem.ElementBasis.NEDELEC_FIRST_KIND
    >>> basis = wp.fem.make_polynomial_basis_space(wp.fem.Grid2D(res=(2, 2)), element_basis=edges)
    >>> wp.fem.make_covariant_function_space(basis).node_count()
    12
    """
    return _vector_space(basis_space, ElementBasis.NEDELEC_FIRST_KIND)


def make_contravariant_function_space(basis_space: BasisSpace) -> FunctionSpace:
    """Return the space of vectors of shape functions whose components across sides are continuous.

    Args:
        basis_space: Shape functions of `ElementBasis.RAVIART_THOMAS`.

    >>> sides = wp.fem.ElementBasis.RAVIART_THOMAS
    >>> basis = wp.fem.make_polynomial_basis_space(wp.fem.Grid3D(res=(2, 1, 1)), element_basis=sides)
    >>> wp.fem.make_contravariant_function_space(basis).dtype is wp.vec3
    True
    """
    return _vector_space(basis_space, ElementBasis.RAVIART_THOMAS)


def _vector_space(basis: BasisSpace, wanted: ElementBasis) -> FunctionSpace:
    if basis.piola is not VECTOR_BASES[wanted]:
        raise ValueError(
            f"expected shape functions of {wanted}: fem.make_polynomial_basis_space(geo, element_basis=...)"
        )
    return FunctionSpace(basis, None)


def make_polynomial_space(
    geo: Geometry,
    dtype: Any = None,
    dof_mapper: Any = None,
    degree: int = 1,
    element_basis: ElementBasis | None = None,
    discontinuous: bool = False,
    family: Polynomial | None = None,
) -> FunctionSpace:
    """Return a space of functions that are polynomials in each cell.

    Args:
        geo: The geometry.
        dtype: The type of values: a number, a vector or a matrix; that of the geometry's numbers if left out.
        dof_mapper: How what nodes have becomes values, as `SymmetricTensorMapper`; nodes have values if left out.
        degree: Degree of the polynomials. Those of degree 0 are discontinuous, and vector-valued ones are of degree 1.
        element_basis: Which polynomials; `ElementBasis.LAGRANGE` if left out.
        discontinuous: Whether cells share no nodes.
        family: Where nodes of squares and cubes lie; `Polynomial.LOBATTO_GAUSS_LEGENDRE` if left out.

    Raises:
        ValueError: The cells have no such functions, or cannot share their nodes.
        NotImplementedError: For vector-valued shape functions of other degrees, or on surfaces in space.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2)), degree=2, dtype=wp.vec2)
    >>> space.node_count(), space.component_count
    (25, 2)
    """
    basis = make_polynomial_basis_space(geo, degree, element_basis, discontinuous, family)
    return make_collocated_function_space(basis, dtype, dof_mapper)
