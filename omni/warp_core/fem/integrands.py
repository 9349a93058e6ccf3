"""Integrands: functions of samples, fields, domains and values. Start with `integrand` and `Arguments`.

An integrand is a `wp.func` whose samples, fields and domains are records. The types of records decide what
`u(s)` or `fem.grad(u, s)` runs, so one integrand serves all spaces, and no source text is made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from ..front import content_hash
from ..lang.errors import CompileError
from ..lang.kernel import Function, Kernel, on_redefinition
from ..lang.types import Type
from ..lang.values.type_registry import wc_type
from ..launches.launch import launch
from .domains.domains import GeometryDomain
from .kernel_records import DOMAIN, FIELD, SAMPLE, arguments_record
from .spaces.fields import BasisField, FieldLike, GeometryField, TestField, TrialField

__all__ = ["Domain", "Field", "Integrand", "Sample", "Sample_f64", "integrand"]


class Sample:
    """Annotates the parameter of an integrand that is a point of an element.

    Attributes:
        element_index: The element.
        element_coords: Coordinates inside of the element: a vector of three numbers.
        qp_index: The number of the point, among those of all elements.
        qp_weight: The weight of the point in its element.
        test_dof: The node of the cell and the component for which the test field is 1.
        trial_dof: The same of the trial field.
    """

    __wc_type__ = SAMPLE


Sample_f64 = Sample


class Field:
    """Annotates the parameters of integrands that are fields. `u(s)` is the value of the field at a sample."""

    __wc_type__ = FIELD


class Domain:
    """Annotates the parameter of an integrand that is the domain. `domain(s)` is the position of a sample."""

    __wc_type__ = DOMAIN


# Operators that lead to samples elsewhere.
_MAKING_SAMPLES = frozenset(
    ["at_node", "element_closest_point", "element_coordinates", "lookup", "make_free_sample", "partition_lookup"]
)
_leaving: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
on_redefinition.append(_leaving.clear)


class Integrand(Function):
    """A function that `integrate` and `interpolate` evaluate, and that integrands call: see `integrand`."""

    @cached_property
    def kernels(self) -> dict[Any, Any]:
        """Its kernels, by what they depend on."""
        return {}

    @property
    def leaves_samples(self) -> bool:
        """True if it may evaluate fields at samples that it makes or looks up."""
        if self not in _leaving:
            _leaving[self] = content_hash.used_names(self).mention(_MAKING_SAMPLES)
        return _leaving[self]


def kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function that makes a kernel of an integrand makes it once. The integrand keeps it."""

    def found(of: Integrand, *key: Any) -> Any:
        if (make, key) not in of.kernels:
            of.kernels[make, key] = make(of, *key)
        return of.kernels[make, key]

    return found


def integrand(func: Callable | None = None, kernel_options: Mapping[str, Any] | None = None) -> Any:
    """Decorator: the function is an integrand.

    Args:
        func: The function. Its parameters are annotated with `fem.Sample`, `fem.Field`, `fem.Domain`, or with types
            of values.
        kernel_options: Without effect, for programs that set them.

    Returns:
        The `Integrand`.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def squared(s: fem.Sample, u: fem.Field):
    ...     return u(s) * u(s)
    >>> space = fem.make_polynomial_space(fem.Grid2D(res=(2, 2)))
    >>> field = space.make_field()
    >>> field.dof_values.fill_(2.0)
    >>> fem.integrate(squared, domain=fem.Cells(space.geometry), fields={"u": field})
    4.0
    """
    frame = sys._getframe(1)
    if func is None:
        return lambda f: Integrand(f, frame=frame)
    return Integrand(func, frame=frame)


class Arguments:
    """The arguments of an integrand: what is given for each parameter, and in which order kernels have them.

    A kernel has a tuple of the sample, the domain, the test field, the trial field, then all other fields and values.
    `picks` says which of these each parameter is.

    Args:
        of: The integrand.
        fields: Fields by the names of parameters. Others count in the degree of a form alone.
        values: Other values by the names of parameters.
    """

    def __init__(self, of: Integrand, fields: Mapping[str, Any] | None, values: Mapping[str, Any] | None):
        if not isinstance(of, Integrand):
            got = getattr(of, "__name__", type(of).__name__)
            raise TypeError(f"expected an integrand, got {got}; decorate the function with @fem.integrand")
        self.integrand, self.values = of, {**of.defaults, **(values or {})}
        names = {name for name, _ in of.params}
        self.fields = {name: f for name, f in (fields or {}).items() if name in names}
        self.unnamed = {name: f for name, f in (fields or {}).items() if name not in names}
        self._check_names()
        self.test = self._only(TestField, "test")
        self.trial = self._only(TrialField, "trial")
        self.given = {name: f for name, f in self.fields.items() if isinstance(f, GeometryField)}
        self._value_types = {name: self._type_of(name, t) for name, t in of.params if name in self.values}
        self.picks = tuple(self._pick(name, t) for name, t in of.params)

    @property
    def _subject(self) -> str:
        return f"integrand `{self.integrand.name}`"

    def _check_names(self) -> None:
        types = dict(self.integrand.params)
        for name in self.values:
            if name not in types:
                known = ", ".join(f"`{n}`" for n in types)
                raise ValueError(f"{self._subject} has no parameter `{name}`, which values name; it has {known}")
        for name, f in self.unnamed.items():
            if not isinstance(f, FieldLike):
                raise ValueError(f"{self._subject}: fields[{name!r}] is no field, but {type(f).__name__}")
        for name in self.fields:
            if types[name] is not FIELD:
                raise ValueError(f"{self._subject}: `{name}` is a field here; annotate it with fem.Field")
        for name, t in types.items():
            if t is FIELD and not isinstance(self.fields.get(name), FieldLike):
                got = f", got {type(self.fields[name]).__name__}" if name in self.fields else ""
                raise ValueError(
                    f"{self._subject}: parameter `{name}` is a field{got}; write fields={{'{name}': field}}, with a "
                    "field of space.make_field(), fem.make_test(space) or fem.make_trial(space)"
                )
            if t not in (SAMPLE, FIELD, DOMAIN) and name not in self.values:
                raise ValueError(f"{self._subject}: parameter `{name}` is missing; write values={{'{name}': ...}}")

    def _only(self, kind: type, word: str) -> Any:
        found = [name for name, f in self.fields.items() if isinstance(f, kind)]
        if len(found) > 1:
            raise ValueError(f"{self._subject}: a form has one {word} field, not {' and '.join(found)}")
        return self.fields[found[0]] if found else None

    def _type_of(self, name: str, t: Any) -> Type:
        """The type of a value: that of the parameter, or that of what is given where the parameter leaves it open."""
        if isinstance(t, Type):
            return t
        given = self.values[name]
        own = getattr(given, "__wc_type__", None) or (type(given) if isinstance(given, (int, float, bool)) else None)
        try:
            return own if isinstance(own, Type) else wc_type(own)
        except TypeError:
            got = type(given).__name__
            raise TypeError(f"{self._subject}: `{name}` cannot be {got}; annotate it with a type") from None

    def _pick(self, name: str, t: Any) -> int:
        if t is SAMPLE or t is DOMAIN:
            return 0 if t is SAMPLE else 1
        given = self.fields.get(name)
        if isinstance(given, BasisField):
            return 2 if isinstance(given, TestField) else 3
        if name in self.given:
            return 4 + list(self.given).index(name)
        return 4 + len(self.given) + list(self._value_types).index(name)

    @property
    def degree(self) -> int:
        """The sum of the degrees of all fields, also of those that the integrand does not name."""
        return sum(f.degree for f in (*self.fields.values(), *self.unnamed.values()))

    @property
    def domain(self) -> GeometryDomain | None:
        """The domain of the test field, or of the trial field."""
        found = self.test or self.trial
        return found.domain if found else None

    def run(self, kernel: Kernel, dim: Any, inputs: list[Any], outputs: list[Any], wanted: str) -> None:
        """Launch a kernel of the integrand. `wanted` says what the integrand must give, for messages."""
        try:
            launch(kernel, dim, inputs, outputs=outputs, device=inputs[0].elements.device)
        except CompileError as report:
            first = report.diagnostics[0]
            is_ours = first.place is not None and first.place.span.file == kernel.source.filename
            if not is_ours or first.code != "type-mismatch":
                raise
            raise TypeError(f"{self._subject}: what it returns does not fit, as {first.message}; {wanted}") from None

    def geometry(self) -> Any:
        """The geometry of the fields, None without fields. Raises ValueError if there are several."""
        found = {id(f.geometry): f.geometry for f in self.fields.values()}
        if len(found) > 1:
            raise ValueError(f"{self._subject}: its fields belong to several geometries; interpolate them to one first")
        return next(iter(found.values()), None)

    def places(self, points: Any) -> Any:
        """The points of a quadrature in cells, where records have tables; None if fields are evaluated anywhere."""
        if not self.integrand.leaves_samples and not any(f.is_free for f in self.fields.values()):
            return points.cell_points
        if self.test is not None and points.domain.has_others:
            raise ValueError(
                f"{self._subject}: it makes samples or has kernels of points, so it cannot have test fields on sides "
                "between two cells: integrate it over fem.BoundarySides(geometry), or over cells"
            )
        return None

    def elements_of(self, points: Any) -> Any:
        """The quadrature whose elements are those of the test and the trial field: its points, if these have nodes
        there. Raises ValueError if a field is known at the points of another quadrature alone.
        """
        for name, field in self.fields.items():
            own = field.quadrature
            if own is not None and own is not points:
                raise ValueError(
                    f"{self._subject}: field `{name}` is known at the points of a quadrature; write quadrature= with "
                    "the one that its space was made of"
                )
        bases = [f.space.basis for f in (self.test, self.trial) if f is not None]
        return points.by_points if any(b.quadrature is not None for b in bases) else points

    def record(self, points: Any) -> Any:
        """The fields that have values, at points of cells, and other values, in one record."""
        fields = [f.record(points) for f in self.given.values()]
        types = (*(type(f).__wc_type__ for f in fields), *self._value_types.values())
        made = arguments_record(types)(*fields)
        for i, name in enumerate(self._value_types, len(fields)):
            try:
                setattr(made, f"argument{i}", self.values[name])
            except (TypeError, ValueError) as why:
                reason = str(why).partition(": ")[2]
                raise type(why)(f"{self._subject}: parameter `{name}`: {reason}") from None
        return made
