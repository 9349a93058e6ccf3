"""Fields that are no functions of a space: of the position (`ImplicitField`), and of another geometry's field
(`NonconformingField`).
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,arg-type,no-redef,type-arg"

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ... import dot
from ...arrays.array import array
from ...lang.generics import F, Vec
from ...lang.kernel import Function, func
from ...lang.types import F32, Scalar, Type
from ...lang.values.struct_operators import CALL
from ..domains.domains import GeometryDomain
from ..field_operators import grad
from ..geometries.cell_geometry import RecordCache
from ..geometries.environments import environment_of
from ..geometries.lookup import find_cell, make_free_sample
from ..kernel_records import (
    SAMPLE,
    arguments_record,
    coords_at,
    jacobian_at,
    position_at,
    record,
    scalar_class,
    vector_type,
)
from .field_records import Parts, Values, operators
from .fields import DiscreteField, GeometryField
from .given_functions import GivenFunctions

__all__ = ["ImplicitField", "NonconformingField"]


@func
def coords_of_place(place: int, u: Any):
    """The coordinates in the cell of a row of tables."""
    return u.cell_coords[place]


@func
def coords_of_place(place: Vec[3, F], u: Any):  # noqa: F811 - an overload
    """The coordinates themselves."""
    return place


@func
def place_of(u: Any, s: SAMPLE):
    """The position of a sample."""
    return position_at(u.geometry, s.cell, s.place, coords_at(s, u))


class DomainField(GeometryField):
    """A field that is evaluated at positions of a domain.

    Args:
        domain: The domain.
        degree: As which degree it counts where a quadrature is chosen.
    """

    def __init__(self, domain: GeometryDomain, degree: int):
        if not isinstance(domain, GeometryDomain):
            raise TypeError(
                f"{type(self).__name__}: expected a domain, fem.Cells(geometry), got {type(domain).__name__}"
            )
        self.domain, self.geometry, self._degree = domain, domain.geometry, degree
        self._known = RecordCache(self.geometry)

    @property
    def degree(self) -> int:
        """As which degree it counts where a quadrature is chosen."""
        return self._degree

    def _places(self, points: np.ndarray | None) -> tuple[Any, array]:
        """The geometry at points of cells, and these, as kernels read them."""
        g = self.geometry

        def make() -> tuple[Any, array]:
            given = np.zeros((0, g.cell_dimension)) if points is None else points
            padded = np.pad(given, ((0, 0), (0, 3 - given.shape[1])))
            return g.record(points), array(padded, dtype=vector_type(3, g.scalar), device=g.device)

        return self._known.get(None if points is None else points.tobytes(), make)


def _places(geometry: Any, scalar: Scalar) -> dict[str, Any]:
    return {"geometry": geometry, "cell_coords": array(dtype=vector_type(3, scalar))}


# -- functions of the position --------------------------------------------------------------------------------------


class ImplicitField(DomainField):
    """A field whose values a function of the position gives.

    Args:
        domain: Where the field is.
        func: A `@wp.func`: its first parameter is the position.
        values: Its other arguments, by names of parameters.
        grad_func: A function with the same parameters that gives the gradient; `fem.grad` is refused without.
        div_func: One that gives the divergence; `fem.div` is refused without.
        degree: As which degree the field counts where a quadrature is chosen.

    >>> import omni.warp_core.fem as fem
    >>> @wp.func
    ... def height(x: wp.vec2, factor: float):
    ...     return factor * x[0]
    >>> @fem.integrand
    ... def volume(s: fem.Sample, u: fem.Field):
    ...     return u(s)
    >>> cells = fem.Cells(fem.Grid2D(res=(2, 2)))
    >>> field = fem.ImplicitField(cells, height, values={"factor": 4.0}, degree=1)
    >>> fem.integrate(volume, domain=cells, fields={"u": field})
    2.0
    """

    def __init__(
        self,
        domain: GeometryDomain,
        func: Function,
        values: Mapping[str, Any] | None = None,
        grad_func: Function | None = None,
        div_func: Function | None = None,
        degree: int = 0,
    ):
        super().__init__(domain, degree)
        given = {"func": func, "grad_func": grad_func, "div_func": div_func}
        self.func, self._functions = func, GivenFunctions("ImplicitField", given, "the position")
        self.values = dict(values or {})
        self._functions.check(self.values, "values")

    @property
    def can_deform(self) -> bool:  # type: ignore[override]
        """True with a gradient: the derivative of positions."""
        return self._functions.given["grad_func"] is not None

    def gradient_valid(self) -> bool:
        """Return True if the field has a function for its gradient."""
        return self._functions.given["grad_func"] is not None

    def divergence_valid(self) -> bool:
        """Return True if the field has a function for its divergence."""
        return self._functions.given["div_func"] is not None

    @property
    def dtype(self) -> Any:
        """The type of values of a field that deforms its geometry: positions."""
        return vector_type(self.geometry.dimension, self.geometry.scalar)

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the field."""
        types, where = self._functions.types(self.values), self._places(points)
        made = _implicit_record(type(where[0]), self.geometry.scalar, types, self._functions)
        return made(*where, self._functions.arguments(self.values))


@cache
def _implicit_record(geometry: Any, scalar: Scalar, types: tuple[Type, ...], functions: GivenFunctions) -> Any:
    names = {"func": CALL, "grad_func": "grad", "div_func": "div"}
    supplies: dict[str, Any] = {names[k]: _at_position(f) for k, f in functions.given.items() if f is not None}
    supplies["scalar_type"] = scalar_class(scalar)
    if "grad" in supplies:
        supplies |= _in_cells(functions.given["func"], functions.given["grad_func"])
    refuses = {
        "grad": "the field has no gradient: write fem.ImplicitField(..., grad_func=...)",
        "div": "the field has no divergence: write fem.ImplicitField(..., div_func=...)",
    }
    fields = _places(geometry, scalar) | {"arguments": arguments_record(types)}
    refuses = {name: why for name, why in refuses.items() if name not in supplies}
    return record(f"ImplicitField_{functions.digest}", fields, supplies, refuses)


def _at_position(of: Function) -> Function:
    """The function that evaluates another one at the position of a sample, with the arguments that the field has."""

    @func
    def evaluated(u: Any, s: SAMPLE):
        return of(place_of(u, s), *u.arguments)

    return evaluated


def _in_cells(of: Function, slope: Function) -> dict[str, Function]:
    """What a field needs to deform its geometry: values and derivatives by coordinates at places of cells."""

    @func
    def value(u: Any, cell: int, place: Any, coords: Any):
        return of(position_at(u.geometry, cell, place, coords), *u.arguments)

    @func
    def slopes(u: Any, cell: int, place: Any):
        x = position_at(u.geometry, cell, place, coords_of_place(place, u))
        return slope(x, *u.arguments) * jacobian_at(u.geometry, cell, place)

    return {"value_at": value, "slopes_at": slopes}


# -- fields of other geometries -------------------------------------------------------------------------------------


class NonconformingField(DomainField):
    """A field of another geometry, which is looked up at the positions of a domain.

    Args:
        domain: Where the field is evaluated.
        field: A discrete field. Its geometry, if it is a mesh, needs `build_bvh=True`.
        background: The value outside of its geometry: a number, a value of its type, or a field of the domain.

    >>> import omni.warp_core.fem as fem
    >>> coarse = fem.make_polynomial_space(fem.Grid2D(res=(1, 1))).make_field()
    >>> coarse.dof_values = [0.0, 0.0, 2.0, 2.0]
    >>> fine = fem.make_polynomial_space(fem.Grid2D(res=(4, 1))).make_field()
    >>> fem.interpolate(fem.NonconformingField(fem.Cells(fine.geometry), coarse), dest=fine)
    >>> fine.dof_values.list()
    [0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 2.0, 2.0]
    """

    def __init__(self, domain: GeometryDomain, field: DiscreteField, background: Any = 0.0):
        if not isinstance(field, DiscreteField):
            raise TypeError(f"NonconformingField: expected a discrete field, got {type(field).__name__}")
        super().__init__(domain, field.degree)
        mine, other = self.geometry, field.geometry
        if (mine.scalar, mine.dimension) != (other.scalar, other.dimension):
            raise ValueError(
                f"NonconformingField: {mine.name} and {other.name} need the same numbers and as many coordinates"
            )
        if other.environment_count() not in (1, mine.environment_count()):
            raise ValueError(
                f"NonconformingField: {other.name} has {other.environment_count()} environments, and {mine.name} has "
                f"{mine.environment_count()}; expected as many, or one"
            )
        self.field, self.background, self.dtype = field, background, field.dtype

    def record(self, points: np.ndarray | None) -> Any:
        """What kernels need of the field."""
        other, scalar, where = self.field.geometry, self.geometry.scalar, self._places(points)
        has_field = isinstance(self.background, GeometryField)
        if has_field and self.background.geometry is not self.geometry:
            raise ValueError("NonconformingField: background: its geometry is not that of the domain")
        background = self.background.record(points) if has_field else self.dtype(self.background)
        field, searched = self.field.record(None), other.record(None)
        parts = (*where, field, searched)
        kind = _nonconforming_record(
            *map(type, (where[0], field, searched)),
            type(background) if has_field else self.dtype,
            has_field,
            other.environment_count() > 1,
            self.field.space.values,
            scalar,
            other.dimension,
        )
        at = other.vertex_positions
        size = float(np.abs(at).max() + np.ptp(at, axis=0).max())
        return kind(*parts, background, (1e-5 if scalar is F32 else 1e-11) * size)


@cache
def _nonconforming_record(
    geometry: Any,
    field: Any,
    searched: Any,
    background: Any,
    has_field: bool,
    has_several: bool,
    values: Values,
    scalar: Scalar,
    dimension: int,
) -> Any:
    """What kernels need of a field of another geometry, where `searched` is the class of the record of this."""

    @func
    def found(u: Any, s: SAMPLE):
        x, environment = place_of(u, s), 0
        if has_several:
            environment = environment_of(u.geometry, s.cell)
        cell, coords = find_cell(u.searched, x, -1, 0, 0, 0, environment)
        away = position_at(u.searched, cell, coords, coords) - x
        return make_free_sample(cell, coords), dot(away, away) <= u.tolerance * u.tolerance

    @func
    def value(u: Any, s: SAMPLE):
        inner, is_inside = found(u, s)
        result = background_of(u, s)
        if is_inside:
            result = u.field(inner)
        return result

    @func
    def gradient(u: Any, s: SAMPLE):
        inner, is_inside = found(u, s)
        result = grad(u.field, inner)
        if not is_inside:
            result = slope_of_background(u, s, result)
        return result

    @func
    def background_of(u: Any, s: SAMPLE):
        if has_field:
            return u.background(s)
        return u.background

    @func
    def slope_of_background(u: Any, s: SAMPLE, inside: Any):
        if has_field:
            return grad(u.background, s)
        return type(inside)()

    parts = {"field": field, "searched": searched, "background": background, "tolerance": scalar_class(scalar)}
    name = f"NonconformingField_{values.word}" + "_on_field" * has_field + "_of_environments" * has_several
    supplies, refuses = operators(values, dimension, Parts(value, gradient, value, gradient))
    return record(name, _places(geometry, scalar) | parts, supplies, refuses)
