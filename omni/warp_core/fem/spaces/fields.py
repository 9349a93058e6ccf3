"""Fields: functions of a space. Discrete ones have values at nodes; test and trial fields stand for all functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.array import array
from ...arrays.factories import zeros
from ...lang.values.type_registry import wc_type
from ..domains.domains import Cells, GeometryDomain
from .field_records import uniform_record

if TYPE_CHECKING:
    from .spaces import FunctionSpace

__all__ = [
    *("DiscreteField", "GeometryField", "TestField", "TrialField", "UniformField"),
    *("make_discrete_field", "make_test", "make_trial"),
]


class FieldLike:
    """What the parameters of integrands annotated with `fem.Field` take.

    Attributes:
        geometry: The geometry.
        dtype: The type of values.
        degree: Degree of the polynomials.
    """


class GeometryField(FieldLike):
    """A field that has values everywhere on a geometry."""

    def record(self, points: np.ndarray) -> Any:
        """What kernels need of the field at points of cells."""
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
        self.domain, self.geometry = domain, domain.geometry
        self.dtype = self.geometry.scalar_type if isinstance(value, (int, float)) else type(value)
        self.value = value

    @property
    def value(self) -> Any:
        """The value. Others of its type are assigned."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        kind = uniform_record(wc_type(self.dtype), self.geometry.scalar, self.geometry.dimension)
        self._record, self._value = kind(value), value

    def record(self, points: np.ndarray) -> Any:
        """What kernels need of the field."""
        return self._record


class SpaceField(FieldLike):
    """A field of a space.

    Attributes:
        space: The space.
    """

    space: FunctionSpace

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

    >>> field = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2))).make_field()
    >>> field.dof_values.shape
    (9,)
    """

    def __init__(self, space: FunctionSpace):
        self.space = space
        self._dofs = zeros(space.node_count(), dtype=space.dof_dtype, device=space.geometry.device)

    @property
    def dof_dtype(self) -> Any:
        """The type of the values at nodes."""
        return self.space.dof_dtype

    @property
    def dof_values(self) -> array:
        """The values at nodes. Others are assigned as an array, or as anything that makes one of the same size."""
        return self._dofs

    @dof_values.setter
    def dof_values(self, values: Any) -> None:
        if not isinstance(values, array):
            values = array(np.asarray(values), dtype=self.dof_dtype, device=self.geometry.device)
        wanted = self.space.node_count()
        if wc_type(values.dtype) is not wc_type(self.dof_dtype) or values.shape != (wanted,):
            raise ValueError(
                f"dof_values: expected {wanted} values of {self.dof_dtype.__name__}, got {values.dtype.__name__} "
                f"with the shape {tuple(values.shape)}"
            )
        self._dofs = values

    def record(self, points: np.ndarray) -> Any:
        """What kernels need of the field at points of cells."""
        return self.space.field_record(self._dofs, points)


class BasisField(SpaceField):
    """A field that stands for all functions of a space, and the domain where a form is integrated with it."""

    def __init__(self, space: FunctionSpace, domain: GeometryDomain | None):
        domain = domain if domain is not None else Cells(space.geometry)
        if domain.geometry is not space.geometry:
            raise ValueError("the space and the domain belong to two geometries; make both of the same")
        self.space, self.domain = space, domain


class TestField(BasisField):
    """A test field: an integral with it is an array with a number for each node and component."""

    __test__ = False  # not a class of tests


class TrialField(BasisField):
    """A trial field: an integral with it and with a test field is a matrix."""


def make_discrete_field(space: FunctionSpace, space_partition: Any = None) -> DiscreteField:
    """Return a discrete field, zero everywhere.

    Args:
        space: The space.
        space_partition: None; partitions are refused.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.make_discrete_field(space).dof_values.size
    9
    """
    _refuse_parts(space_partition=space_partition)
    return DiscreteField(space)


def make_test(
    space: FunctionSpace,
    space_restriction: Any = None,
    space_partition: Any = None,
    domain: GeometryDomain | None = None,
    device: Any = None,
) -> TestField:
    """Return a test field.

    Args:
        space: The space.
        space_restriction: None; restrictions are refused.
        space_partition: None; partitions are refused.
        domain: Where forms are integrated with it; all cells if left out.
        device: Without effect: fields are where their geometry is.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.make_test(space).domain.element_count()
    4
    """
    _refuse_parts(space_restriction=space_restriction, space_partition=space_partition)
    return TestField(space, domain)


def make_trial(
    space: FunctionSpace,
    space_restriction: Any = None,
    space_partition: Any = None,
    domain: GeometryDomain | None = None,
) -> TrialField:
    """Return a trial field. Arguments are those of `make_test`.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(2, 2)))
    >>> wp.fem.make_trial(space).space is space
    True
    """
    _refuse_parts(space_restriction=space_restriction, space_partition=space_partition)
    return TrialField(space, domain)


def _refuse_parts(**given: Any) -> None:
    """Raise NotImplementedError for an argument that is not None."""
    for name, value in given.items():
        if value is not None:
            what = "restrictions" if name == "space_restriction" else "partitions"
            raise NotImplementedError(
                f"{name}: wp.fem has no {what} of spaces yet; leave it out, and give domain=fem.Subdomain(...)"
            )
