"""Fields: functions of a space. Discrete ones have values at nodes; test and trial fields stand for all functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.array import array
from ...arrays.factories import zeros
from ...lang.types import Vec
from ...lang.values.type_registry import wc_type
from ..domains.domains import Cells, GeometryDomain
from ..geometries.cell_geometry import RecordCache
from .deformed_geometry import DeformedGeometry
from .field_records import uniform_record
from .space_partitions import SpacePartition, SpaceRestriction, make_space_partition
from .value_facts import ValueFacts

if TYPE_CHECKING:
    from ..index_types import ElementKind
    from .basis_spaces import BasisSpace
    from .spaces import FunctionSpace

__all__ = [
    *("DiscreteField", "FieldRestriction", "GeometryField", "TestField", "TrialField", "UniformField"),
    *("make_discrete_field", "make_restriction", "make_test", "make_trial"),
]


class FieldLike(ValueFacts):
    """What the parameters of integrands annotated with `fem.Field` take.

    Attributes:
        geometry: The geometry.
        dtype: The type of values.
        degree: Degree of the polynomials.
    """

    quadrature: Any = None  # the points where alone it is known
    is_free = False  # whether it has no tables


class GeometryField(FieldLike):
    """A field that has values everywhere on a geometry."""

    can_deform = False  # whether its values may be positions of a geometry

    @property
    def state(self) -> tuple[Any, ...]:
        """What records of the field depend on: objects that are others after a change."""
        return (object(),)

    def make_deformed_geometry(self, relative: bool = True, build_bvh: bool = False) -> DeformedGeometry:
        """Return the geometry of the field with other positions: see `fem.geometry.DeformedGeometry`.

        Args:
            relative: Whether the field is what positions are moved by; else it is the positions.
            build_bvh: Whether to build a tree over cells, which `fem.lookup` needs.
        """
        return DeformedGeometry(self, relative, build_bvh)

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the field at points of cells, or anywhere."""
        raise NotImplementedError

    def trace(self) -> Any:
        """Return the field on sides, which is the field itself."""
        return self


class UniformField(GeometryField):
    """A field with the same value everywhere.

    Args:
        domain: Where the field is.
        value: The value.

    >>> wind = wp.fem.UniformField(wp.fem.Cells(wp.fem.Grid2D(res=(2, 2))), wp.vec2(1.0, 0.0))
    >>> wind.dtype is wp.vec2
    True
    """

    degree = 0

    def __init__(self, domain: GeometryDomain, value: Any):
        if not isinstance(domain, GeometryDomain):
            raise TypeError(f"UniformField: domain: expected a domain, got {type(domain).__name__}")
        self.domain = domain
        self.dtype = self.geometry.scalar_type if isinstance(value, (int, float)) else type(value)
        self.value = value

    @property
    def geometry(self) -> Any:
        """The geometry of the domain."""
        return self.domain.geometry

    @property
    def value(self) -> Any:
        """The value. Others of its type are assigned."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        kind = uniform_record(wc_type(self.dtype), self.geometry.scalar, self.geometry.dimension)
        self._record, self._value = kind(value), value

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the field."""
        return self._record


class SpaceField(FieldLike):
    """A field of a space.

    Attributes:
        space: The space.
    """

    space: FunctionSpace
    _part: SpacePartition | None

    @property
    def nodes(self) -> BasisSpace | SpacePartition:
        """What has the nodes of cells: the space or a part of it."""
        return self._part or self.space.basis

    @property
    def space_partition(self) -> SpacePartition:
        """The nodes of the field."""
        return self._part or make_space_partition(self.space.basis)

    def node_count(self) -> int:
        """Number of nodes."""
        return self.nodes.node_count()

    partition_node_count = node_count

    @property
    def node_dof_count(self) -> int:
        """How many numbers a node has."""
        return self.space.NODE_DOF_COUNT

    @property
    def value_dof_count(self) -> int:
        """How many numbers determine a value at a point."""
        return self.space.VALUE_DOF_COUNT

    @property
    def dof_dtype(self) -> Any:
        """The type of the values at nodes."""
        return self.space.dof_dtype

    @property
    def quadrature(self) -> Any:  # type: ignore[override]
        """The points where alone it is known, None for fields that are known in all cells."""
        return self.space.basis.quadrature

    @property
    def is_free(self) -> bool:  # type: ignore[override]
        """True if shape functions have no tables."""
        return self.space.basis.is_free

    @property
    def geometry(self) -> Any:
        """The geometry of the space."""
        return self.space.geometry

    @property
    def dtype(self) -> Any:
        """The type of values."""
        return self.space.dtype

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return self.space.degree


class DiscreteField(SpaceField, GeometryField):
    """A function of a space, given by its values at nodes.

    Args:
        space: The space.
        space_partition: Of which nodes it has values; of all nodes if left out. It is zero at others.

    >>> field = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2))).make_field()
    >>> field.dof_values.shape
    (9,)
    """

    def __init__(self, space: FunctionSpace, space_partition: SpacePartition | None = None):
        self._bind(space, space_partition)
        self._dofs = self._zeros()
        self._records = RecordCache(self)

    def _bind(self, space: FunctionSpace, space_partition: SpacePartition | None) -> None:
        _check_part(space, space_partition)
        self.space, self._part = space, space_partition

    def _zeros(self) -> array:
        return zeros(self.node_count(), dtype=self.space.dof_dtype, device=self.geometry.device)

    def rebind(self, space: FunctionSpace, space_partition: SpacePartition | None = None) -> None:
        """Make the field one of another space. Arguments are those of the class. It keeps its values if it has as many
        nodes as before, and is zero otherwise.
        """
        self._bind(space, space_partition)
        before = self._dofs
        is_like = wc_type(before.dtype) is wc_type(space.dof_dtype) and before.device is self.geometry.device
        if not is_like or before.shape != (self.node_count(),):
            self._dofs = self._zeros()

    @property
    def can_deform(self) -> bool:  # type: ignore[override]
        """True for fields of vectors whose nodes have these."""
        values = self.space.values
        return isinstance(values.type, Vec) and values.mapper is None and values.piola is None and not self.is_free

    @property
    def state(self) -> tuple[Any, ...]:
        """What records of the field depend on."""
        return self._dofs, self.space, self._part, *self.space.basis.state

    def cells(self) -> Cells:
        """The cells of the part of the geometry that it has nodes of."""
        return Cells(self._part.geo_partition if self._part else self.geometry)

    @property
    def dof_values(self) -> array:
        """The values at nodes. Others are assigned as an array, or as anything that makes one of the same size."""
        return self._dofs

    @dof_values.setter
    def dof_values(self, values: Any) -> None:
        if not isinstance(values, array):
            values = array(np.asarray(values), dtype=self.dof_dtype, device=self.geometry.device)
        wanted = self.node_count()
        if wc_type(values.dtype) is not wc_type(self.dof_dtype) or values.shape != (wanted,):
            raise ValueError(
                f"dof_values: expected {wanted} values of {self.dof_dtype.__name__}, got {values.dtype.__name__} "
                f"with the shape {tuple(values.shape)}"
            )
        self._dofs = values

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the field at points of cells, or anywhere."""
        key = None if points is None else points.tobytes()
        return self._records.get(key, lambda: self.space.field_record(self._dofs, points, self._part))


class BasisField(SpaceField):
    """A field that stands for all functions of a space, and the domain where a form is integrated with it."""

    def __init__(
        self,
        space: FunctionSpace,
        restriction: SpaceRestriction | None,
        part: SpacePartition | None,
        domain: GeometryDomain | None,
    ):
        if restriction is not None:
            part, domain = restriction.space_partition, restriction.domain
        if domain is None:
            domain = Cells(part.geo_partition if part else space.geometry)
        if domain.geometry is not space.geometry:
            raise ValueError("the space and the domain belong to two geometries; make both of the same")
        if part is None and not domain.geometry_partition.is_whole:
            part = make_space_partition(space.basis, domain.geometry_partition)
        _check_part(space, part)
        self.space, self.domain, self._part = space, domain, part

    @property
    def element_kind(self) -> ElementKind:
        """Whether its domain has cells or sides."""
        return self.domain.element_kind

    @property
    def space_restriction(self) -> SpaceRestriction:
        """Its nodes in the elements of its domain."""
        return SpaceRestriction(self.space_partition, self.domain)


class TestField(BasisField):
    """A test field: an integral with it is an array with a number for each node and component."""

    __test__ = False  # not a class of tests

    def rebind(self, space: FunctionSpace, space_restriction: SpaceRestriction) -> None:
        """Make it a field of another space."""
        self.__init__(space, space_restriction, None, None)  # type: ignore[misc]


class TrialField(BasisField):
    """A trial field: an integral with it and with a test field is a matrix."""

    def rebind(self, space: FunctionSpace, space_partition: SpacePartition, domain: GeometryDomain) -> None:
        """Make it a field of another space."""
        self.__init__(space, None, space_partition, domain)  # type: ignore[misc]


class FieldRestriction:
    """A discrete field as the destination of interpolation over some elements: see `make_restriction`.

    Attributes:
        field: The field.
        domain: The elements.
    """

    def __init__(self, field: DiscreteField, domain: GeometryDomain):
        self.field, self.domain = field, domain

    @property
    def space(self) -> FunctionSpace:
        """The space of the field."""
        return self.field.space


def make_restriction(
    field: DiscreteField,
    space_restriction: SpaceRestriction | None = None,
    domain: GeometryDomain | None = None,
    device: Any = None,
) -> FieldRestriction:
    """Return a discrete field as the destination of interpolation over some elements: other nodes keep their values.

    Args:
        field: The field.
        space_restriction: The nodes; those of its domain.
        domain: The elements, in place of `space_restriction`; all cells if both are left out.
        device: Without effect.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def one(s: fem.Sample):
    ...     return 1.0
    >>> field = fem.make_polynomial_space(fem.Grid2D(res=(2, 2))).make_field()
    >>> fem.interpolate(one, dest=fem.make_restriction(field, domain=fem.BoundarySides(field.geometry)))
    >>> field.dof_values.list()
    [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    """
    if space_restriction is not None:
        domain = space_restriction.domain
    return FieldRestriction(field, domain or field.cells())


def make_discrete_field(space: FunctionSpace, space_partition: SpacePartition | None = None) -> DiscreteField:
    """Return a discrete field, zero everywhere.

    Args:
        space: The space.
        space_partition: Of which nodes it has values; of all nodes if left out.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.make_discrete_field(space).dof_values.size
    9
    """
    return DiscreteField(space, space_partition)


def make_test(
    space: FunctionSpace,
    space_restriction: SpaceRestriction | None = None,
    space_partition: SpacePartition | None = None,
    domain: GeometryDomain | None = None,
    device: Any = None,
) -> TestField:
    """Return a test field.

    Args:
        space: The space.
        space_restriction: The domain and the nodes, in place of the two that follow.
        space_partition: Of which nodes integrals are; those of the domain's part of the geometry if left out.
        domain: Where forms are integrated with it; all cells of the part if left out.
        device: Without effect: fields are where their geometry is.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.make_test(space).domain.element_count()
    4
    """
    return TestField(space, space_restriction, space_partition, domain)


def make_trial(
    space: FunctionSpace,
    space_restriction: SpaceRestriction | None = None,
    space_partition: SpacePartition | None = None,
    domain: GeometryDomain | None = None,
) -> TrialField:
    """Return a trial field. Arguments are those of `make_test`.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.make_trial(space).space is space
    True
    """
    return TrialField(space, space_restriction, space_partition, domain)


def _check_part(space: FunctionSpace, part: Any) -> None:
    """Raise an error for what are no nodes of the space."""
    if part is None:
        return
    if not isinstance(part, SpacePartition):
        raise TypeError(f"space_partition: expected what fem.make_space_partition returns, got {type(part).__name__}")
    if part.space_topology is not space.basis:
        raise ValueError("space_partition: its nodes are those of another space; make it of space.topology")
