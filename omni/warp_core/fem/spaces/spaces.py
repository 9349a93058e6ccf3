"""Function spaces: which functions a field can be. Start with `make_polynomial_space`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.array import array
from ...lang.types import Mat, Scalar, Type, Vec
from ...lang.values.type_registry import python_type, wc_type
from ..geometries.cell_geometry import Geometry
from ..geometries.shape_functions import ElementBasis
from ..kernel_records import vector_type
from ..polynomial import Polynomial
from .basis_spaces import VECTOR_BASES, BasisSpace, make_polynomial_basis_space
from .dof_mappers import DofMapper
from .field_records import Values
from .fields import DiscreteField, make_discrete_field
from .node_cells import node_simplices, vtk_cells_of
from .space_partitions import SpacePartition
from .value_facts import ValueFacts
from .vector_functions import Piola

__all__ = [
    *("CollocatedFunctionSpace", "ContravariantFunctionSpace", "CovariantFunctionSpace", "FunctionSpace"),
    *("make_collocated_function_space", "make_contravariant_function_space", "make_covariant_function_space"),
    "make_polynomial_space",
]


class FunctionSpace(ValueFacts):
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

    @property
    def NODE_DOF_COUNT(self) -> int:
        """How many numbers a node has."""
        return self.component_count

    @property
    def VALUE_DOF_COUNT(self) -> int:
        """How many numbers determine a value at a point: those of a node, or of a vector of vector-valued functions."""
        return getattr(self.values.type, "count", 1) if self.values.piola else self.component_count

    @property
    def ORDER(self) -> int:
        """Degree of the polynomials."""
        return self.basis.degree

    @property
    def dimension(self) -> int:
        """Number of coordinates of positions."""
        return self.geometry.dimension

    def node_count(self) -> int:
        """Number of nodes."""
        return self.basis.node_count()

    def node_positions(self, out: array | None = None) -> Any:
        """Return the positions of nodes.

        Args:
            out: An array of vectors for them.

        Returns:
            `out`; without it an array of NumPy, nodes x coordinates. This has a method `numpy`, too, as programs for
            warp-lang call it.

        >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(1, 1)))
        >>> space.node_positions().numpy().tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
        """
        found = self.basis.node_positions()
        if out is None:
            return found
        out.assign(found)
        return out

    def node_grid(self) -> list[np.ndarray]:
        """Return the positions of the nodes of a grid as arrays like those of `np.meshgrid`: one for each coordinate.

        Raises:
            ValueError: Nodes lie on no grid.

        >>> x, y = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 1))).node_grid()
        >>> x.tolist()
        [[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]
        """
        g, steps = self.geometry, self.basis.degree
        shape = tuple(r * steps + 1 for r in getattr(g, "counts", ()))
        if not shape or self.node_count() != np.prod(shape):
            raise ValueError(
                f"node_grid: the nodes lie on no grid; make a continuous space of one grid, not of {g.name}"
            )
        return [x.reshape(shape) for x in np.asarray(self.basis.node_positions()).T]

    def node_triangulation(self) -> np.ndarray:
        """Return triangles between the nodes of cells in the plane or of a surface, as rows of three nodes.

        Raises:
            ValueError: Nodes lie on no lattice, or cells are in space.

        >>> wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(1, 1))).node_triangulation().tolist()
        [[0, 2, 3], [0, 1, 3]]
        """
        self._check_cells("node_triangulation", 2)
        return node_simplices(self.basis.shape, self.basis.cell_nodes)

    def node_tets(self) -> np.ndarray:
        """Return tetrahedra between the nodes of cells in space, as rows of four nodes: see `node_triangulation`."""
        self._check_cells("node_tets", 3)
        return node_simplices(self.basis.shape, self.basis.cell_nodes)

    def vtk_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return cells between nodes as VTK and PyVista take them: of each the number of its vertices and these, and
        the kinds of cells. Cells of a higher degree are several of degree 1.

        Raises:
            ValueError: Nodes lie on no lattice.

        >>> cells, kinds = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(1, 1))).vtk_cells()
        >>> cells.tolist(), kinds.tolist()
        ([4, 0, 2, 3, 1], [9])
        """
        return vtk_cells_of(self.basis.shape, self.basis.cell_nodes)

    def _check_cells(self, method: str, dimension: int) -> None:
        found = self.geometry.cell_dimension
        if found != dimension:
            raise ValueError(f"{method}: the cells of {self.geometry.name} have {found} dimensions, not {dimension}")

    def make_field(self, space_partition: SpacePartition | None = None) -> DiscreteField:
        """Return a discrete field of this space, zero everywhere."""
        return make_discrete_field(self, space_partition)

    def record(self, points: np.ndarray | None, is_sides: bool) -> Any:
        """What kernels need to make test and trial fields at points of cells or of sides, or anywhere in cells."""
        return self.basis.space_record(self.values, points, is_sides)

    def field_record(self, dofs: array, points: np.ndarray | None, part: SpacePartition | None) -> Any:
        """What kernels need of a field of this space at points of cells, or anywhere. Nodes may be those of a part."""
        return self.basis.field_record(self.values, dofs, points, part)


class CollocatedFunctionSpace(FunctionSpace):
    """Functions whose nodes have values, or what a mapper makes values of: `make_collocated_function_space`."""


class CovariantFunctionSpace(FunctionSpace):
    """Vectors whose components along edges are continuous: `make_covariant_function_space`."""


class ContravariantFunctionSpace(FunctionSpace):
    """Vectors whose components across sides are continuous: `make_contravariant_function_space`."""


_CLASSES = {None: CollocatedFunctionSpace, Piola.COVARIANT: CovariantFunctionSpace}
_CLASSES[Piola.CONTRAVARIANT] = ContravariantFunctionSpace


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
    return _CLASSES[basis_space.piola](basis_space, dtype, dof_mapper)


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
    return make_collocated_function_space(basis)


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
