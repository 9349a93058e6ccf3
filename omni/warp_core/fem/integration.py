"""Integration of forms: to a number, to an array by a test field, to a matrix by a test and a trial field.

Start with `integrate`. form_kernels.py has what runs in a thread; assembly.py brings its results to nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..algo.reduce import array_sum
from ..arrays.array import array
from ..arrays.factories import empty
from ..lang.types import Scalar
from ..lang.values.scalars import float64
from ..lang.values.structs import StructValue
from ..lang.values.type_registry import python_type, wc_type
from ..launches.launch import launch
from .assembly import add_matrix, add_vector
from .domains.domains import GeometryDomain
from .domains.quadratures import NodalQuadrature, Quadrature, RegularQuadrature
from .form_kernels import matrix_kernel, put_number, scalar_kernel, vector_kernel
from .integrands import Arguments, Integrand

__all__ = ["integrate"]

_WANTED = "an integrand returns a number: take a component, or write wp.dot(a, b)"
_ASSEMBLIES = (None, "generic", "dispatch", "nodal")


def integrate(
    integrand: Integrand,
    domain: GeometryDomain | None = None,
    quadrature: Quadrature | None = None,
    fields: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
    accumulate_dtype: Any = float64,
    output_dtype: Any = None,
    output: Any = None,
    device: Any = None,
    temporary_store: Any = None,
    kernel_options: Mapping[str, Any] | None = None,
    assembly: str | None = None,
    add: bool = False,
    bsr_options: Mapping[str, Any] | None = None,
) -> Any:
    """Integrate a form over a domain.

    Args:
        integrand: The form: a function decorated with `@fem.integrand`.
        domain: The domain; that of the quadrature or of the test field if left out.
        quadrature: At which points; one that is exact for the product of all fields if left out.
        fields: Fields by the names of the integrand's parameters. At most one is a test field, and one a trial field.
            Fields that the integrand does not name only raise the degree of the quadrature that is taken.
        values: Other arguments, by the names of parameters.
        accumulate_dtype: The type of sums over the points of an element.
        output_dtype: The type of numbers of the result; that of the geometry's numbers if left out. For a test field of
            vectors, the type of a vector makes an array of vectors; else its components are a second dimension.
        output: The array or matrix for the result.
        device: Without effect: all runs where the geometry is.
        temporary_store: Without effect.
        kernel_options: Without effect.
        assembly: "nodal" takes the nodes of the test field as points, and assumes that a matrix has numbers on its
            diagonal only. The others mean the same here: None, "generic", "dispatch".
        add: Whether the result is added to what `output` has.
        bsr_options: For matrices: `prune_numerical_zeros` says whether blocks of zeros are left out, which is the rule
            on sides.

    Returns:
        A number without a test field, an array with one, a `BsrMatrix` with a trial field besides.

    Raises:
        ValueError: Fields, values or the domain do not fit the integrand.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    ...     return u(s) * v(s)
    >>> space = fem.make_polynomial_space(fem.Grid2D(res=(2, 2)))
    >>> fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    >>> fem.integrate(mass, fields=fields).shape
    (9, 9)
    """
    given = Arguments(integrand, fields, values)
    if assembly not in _ASSEMBLIES:
        raise ValueError(f"assembly={assembly!r}: expected one of {', '.join(map(repr, _ASSEMBLIES))}")
    if given.trial is not None and given.test is None:
        raise ValueError(f"integrand `{integrand.name}`: a form with a trial field needs a test field, too")
    points = given.elements_of(_quadrature(given, domain, quadrature, assembly))
    number = python_type(wc_type(accumulate_dtype))
    if given.test is None:
        return _number(given, points, number, output, add)
    out_type = _output_type(given, output, output_dtype)
    scalar = python_type(_scalar(out_type))
    if given.trial is None:
        return add_vector(given.test, points, _vector(given, points, number, scalar), out_type, output, add)
    triplets = _matrix(given, points, number, scalar)
    prune = _prunes(points, assembly, bsr_options or {})
    return add_matrix(given.test, given.trial, points, triplets, output, add, prune)


def _prunes(points: Quadrature, assembly: str | None, options: Mapping[str, Any]) -> bool:
    """True if blocks of zeros are left out of a matrix."""
    unknown = options.keys() - {"prune_numerical_zeros"}
    if unknown:
        raise NotImplementedError(f"bsr_options: wp.fem knows prune_numerical_zeros only, not {sorted(unknown)}")
    return options.get("prune_numerical_zeros", points.domain.is_sides or assembly == "nodal")


def _output_type(given: Arguments, output: Any, output_dtype: Any) -> Any:
    """The type of the elements of a result: numbers, or values of the test space."""
    if output is not None:
        return getattr(output, "scalar_type", None) or output.dtype
    if output_dtype is None:
        return given.test.geometry.scalar_type
    t: Any = wc_type(output_dtype)
    if not isinstance(t, Scalar) and (given.trial is not None or t.count != given.test.space.component_count):
        name = given.integrand.name
        raise ValueError(f"integrand `{name}`: output_dtype={output_dtype.__name__}: expected a type of numbers")
    return python_type(t)


def _scalar(dtype: Any) -> Any:
    t: Any = wc_type(dtype)
    return getattr(t, "scalar", t)


def _quadrature(
    given: Arguments, domain: GeometryDomain | None, quadrature: Quadrature | None, assembly: str | None
) -> Quadrature:
    """The quadrature of an integral."""
    name = given.integrand.name
    if quadrature is not None:
        if domain is not None and domain is not quadrature.domain:
            raise ValueError(f"integrand `{name}`: give a quadrature or a domain; a quadrature has its own domain")
        found = quadrature
    else:
        where = domain or given.domain
        if where is None:
            raise ValueError(f"integrand `{name}`: give domain=fem.Cells(geometry), or a quadrature")
        if assembly == "nodal":
            if given.test is None:
                raise ValueError(f'integrand `{name}`: assembly="nodal" needs a test field')
            own = given.test.space.basis.quadrature
            found = NodalQuadrature(where, given.test.space) if own is None else own
        else:
            found = _regular(where, max(given.degree, where.geometry.least_order))
    geometry = given.geometry()
    if geometry is not None and geometry is not found.domain.geometry:
        raise ValueError(f"integrand `{name}`: its fields belong to another geometry than the domain")
    return found


def _regular(domain: GeometryDomain, order: int) -> RegularQuadrature:
    """The quadrature of an order, made once for a domain."""
    return domain.remember(("quadrature", order), lambda: RegularQuadrature(domain, order))


def _number(given: Arguments, points: Quadrature, number: Any, output: Any, add: bool) -> Any:
    """The integral of a form without test field."""
    domain, where = points.domain, points.domain.geometry.device
    inner = given.places(points)
    inputs = [points.record(inner is None), given.record(inner)]
    sums = empty(domain.element_count(), dtype=number, device=where, requires_grad=_have_gradients(inputs))
    kernel = scalar_kernel(given.integrand, given.picks, number)
    given.run(kernel, sums.size, inputs, [sums], _WANTED)
    if output is None:
        return array_sum(sums)
    return _put_number(sums, output, add)


def _put_number(sums: array, output: Any, add: bool) -> array:
    """The sum of all elements, in an array of one number."""
    if not isinstance(output, array) or output.size != 1 or not isinstance(wc_type(output.dtype), Scalar):
        raise TypeError("output: expected an array of one number for a form without a test field")
    total = empty(1, dtype=sums.dtype, device=sums.device, requires_grad=sums.requires_grad)
    array_sum(sums, total)
    launch(put_number, 1, [total, add], outputs=[output], device=sums.device)
    return output


def _have_gradients(inputs: Sequence[Any]) -> bool:
    """True if an array in the records requires a gradient, so that the result does, too."""
    records = (x for x in inputs if isinstance(x, StructValue))
    return any(getattr(leaf, "requires_grad", False) for x in records for leaf in x._leaves())


def _vector(given: Arguments, points: Quadrature, number: Any, out_type: Any) -> array:
    """The integrals over each element: node x element x component."""
    space, domain = given.test.space, points.domain
    where, rows = domain.geometry.device, space.component_count
    inner = given.places(points)
    shape = (domain.node_count(space.basis.nodes_per_element), domain.element_count(), rows)
    inputs = [points.record(inner is None), space.record(inner, domain.is_sides), given.record(inner)]
    out = empty(shape, dtype=out_type, device=where, requires_grad=_have_gradients(inputs))
    kernel = vector_kernel(given.integrand, given.picks, number, rows, shape[0])
    given.run(kernel, shape[1], inputs, [out], _WANTED)
    return out


def _matrix(given: Arguments, points: Quadrature, number: Any, out_type: Any) -> array:
    """The integrals over each element: a block for each element, test node and trial node."""
    test, trial, domain = given.test.space, given.trial.space, points.domain
    nodes = [domain.node_count(space.basis.nodes_per_element) for space in (test, trial)]
    block = test.component_count, trial.component_count
    count = nodes[0] * nodes[1] * domain.element_count()
    where = domain.geometry.device
    inner = given.places(points)
    spaces = [space.record(inner, domain.is_sides) for space in (test, trial)]
    inputs = [points.record(inner is None), nodes[0], *spaces, given.record(inner)]
    out = empty((count, *block), dtype=out_type, device=where, requires_grad=_have_gradients(inputs))
    kernel = matrix_kernel(given.integrand, given.picks, number, *block, nodes[1])
    given.run(kernel, (nodes[0], domain.element_count()), inputs, [out], _WANTED)
    return out
