"""Interpolation: what an integrand gives at nodes becomes a field, at points of a quadrature an array.

Start with `interpolate`. A thread is a node, and walks the elements that have it; or it is a point of an element.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import max, min, tid
from ..arrays.array import array, array1d
from ..lang.kernel import Kernel, kernel
from ..lang.values.scalars import int32
from ..sparse.matrix import BsrMatrix
from .assembly import Places, by_node
from .domains.domains import Cells, GeometryDomain
from .domains.quadratures import LoosePoints, NodalQuadrature, Quadrature
from .index_types import NULL_NODE_INDEX
from .integrands import Arguments, Field, Integrand, Sample, integrand, kept
from .interpolation_matrices import interpolate_matrix
from .interpolation_vectors import interpolate_vectors
from .kernel_records import measure_at, sample_at, sample_of_thread
from .spaces.basis_spaces import BasisSpace
from .spaces.dof_mappers import DofMapper
from .spaces.fields import DiscreteField, FieldLike, FieldRestriction
from .spaces.space_partitions import SpacePartition, SpaceRestriction
from .spaces.spaces import FunctionSpace

__all__ = ["interpolate"]

_WANTED = "an integrand returns what `dest` holds: a field of vectors has a space with dtype=wp.vec2"
_REDUCTIONS = ("weighted_average", "mean", "sum", "max", "min", "first")


@integrand
def value_at_sample(s: Sample, field: Field):
    """The value of a field, for interpolating it to another space."""
    return field(s)  # type: ignore[operator]


def interpolate(
    integrand: Integrand | FieldLike,
    dest: Any = None,
    at: Any = None,
    dest_space: Any = None,
    dim: int | None = None,
    fields: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
    reduction: str = "weighted_average",
    device: Any = None,
    kernel_options: Mapping[str, Any] | None = None,
    temporary_store: Any = None,
    bsr_options: Mapping[str, Any] | None = None,
    *,
    quadrature: Quadrature | None = None,
    domain: GeometryDomain | None = None,
) -> None:
    """Evaluate an integrand at nodes or points, and store what it gives.

    Args:
        integrand: A function decorated with `@fem.integrand`, or a discrete field.
        dest: A discrete field, or a restriction of one, or an array with an element for each point. With a trial field,
            a `BsrMatrix` with a row for each point or node. None runs the integrand for what it does.
        at: A quadrature, or a domain: its nodes if `dest` is a field, else the middle of each element. A space
            restriction stands for its domain. All cells of a field if left out.
        dest_space: For an array or a matrix, the space whose nodes it has elements or rows for.
        dim: How many samples, in place of points: an integrand looks samples up by their number `s.qp_index`, in the
            domain that is `at`.
        fields: Fields by the names of the integrand's parameters. One may be a trial field.
        values: Other arguments, by the names of parameters.
        reduction: What a node of several elements gets: "weighted_average" (by the sizes of elements), "mean", "sum",
            "max", "min" or "first". All but "sum" are the same where the integrand is continuous.
        device: Without effect: all runs where the geometry is.
        kernel_options: Without effect.
        temporary_store: Without effect.
        bsr_options: Without effect: blocks of zeros are left out of matrices.
        quadrature: `at`, by an older name.
        domain: `at`, by an older name.

    Raises:
        ValueError: Fields, values, `dest` or `at` do not fit the integrand.
        NotImplementedError: For test fields.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def height(s: fem.Sample, domain: fem.Domain):
    ...     return domain(s)[1]
    >>> field = fem.make_polynomial_space(fem.Grid2D(res=(1, 2))).make_field()
    >>> fem.interpolate(height, dest=field)
    >>> field.dof_values.list()
    [0.0, 0.5, 1.0, 0.0, 0.5, 1.0]
    """
    if isinstance(integrand, FieldLike):
        given = Arguments(value_at_sample, {"field": integrand}, values)
    else:
        given = Arguments(integrand, fields, values)
    where = at if at is not None else quadrature if quadrature is not None else domain
    part = None
    if isinstance(where, SpaceRestriction):
        part, where = where.space_partition, where.domain
    if isinstance(dest, FieldRestriction):
        dest, where = dest.field, where if where is not None else dest.domain
    _refuse(given, dest, where)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction={reduction!r}: expected one of {', '.join(map(repr, _REDUCTIONS))}")
    if dim is not None:
        where = LoosePoints(_domain_of(given, where), dim)
    if isinstance(dest, BsrMatrix):
        interpolate_matrix(given, dest, where, dest_space, part, reduction)
        return
    if isinstance(dest, array) and dest_space is not None:
        dest = _as_field(dest, dest_space, part)
    if isinstance(dest, DiscreteField) and not isinstance(where, Quadrature):
        _at_nodes(given, dest, where if where is not None else dest.cells(), reduction)
    else:
        _at_points(given, dest, where)


def _refuse(given: Arguments, dest: Any, where: Any) -> None:
    """Raise an error for what does not fit, or is not there."""
    name = given.integrand.name
    if given.test is not None:
        raise NotImplementedError(f"integrand `{name}`: wp.fem interpolates no test fields; give a trial field")
    if (given.trial is not None) != isinstance(dest, BsrMatrix):
        raise TypeError(f"integrand `{name}`: a trial field makes a matrix: give dest=wp.sparse.bsr_zeros(...) for it")
    if where is not None and not isinstance(where, (Quadrature, GeometryDomain)):
        raise TypeError(f"interpolate: at: expected a quadrature or a domain, got {type(where).__name__}")
    if dest is not None and not isinstance(dest, (DiscreteField, array, BsrMatrix)):
        raise TypeError(f"interpolate: dest: expected a field, an array or a matrix, got {type(dest).__name__}")


def _domain_of(given: Arguments, where: Any) -> GeometryDomain:
    """The domain in which samples are looked up."""
    geometry = given.geometry()
    if isinstance(where, GeometryDomain):
        return where
    if where is not None or geometry is None:
        raise ValueError(f"integrand `{given.integrand.name}`: dim= needs a domain: at=fem.Cells(geometry)")
    return Cells(geometry)


def _as_field(dest: array, space: FunctionSpace, part: SpacePartition | None) -> DiscreteField:
    """The field whose values at nodes an array has."""
    field = DiscreteField(space, part)
    field.dof_values = dest
    return field


# -- at points ------------------------------------------------------------------------------------------------------


@kept
def point_kernel(integrand: Integrand, picks: tuple[int, ...], keeps: bool, mapper: DofMapper | None) -> Kernel:
    """The kernel that evaluates an integrand at the points of elements, and keeps what it gives, or not."""
    if not keeps:

        @kernel
        def evaluate_points(domain: Any, rest: Any):
            i, j = tid()
            given = (sample_of_thread(domain, i, j), domain, 0, 0, *rest)
            integrand(*[given[i] for i in picks])

        return evaluate_points

    is_mapped, to_dof = mapper is not None, mapper.value_to_dof if mapper else None

    @kernel
    def store_points(domain: Any, nodes: array1d(dtype=int), rest: Any, dest: array1d(dtype=Any)):
        i, j = tid()
        s = sample_of_thread(domain, i, j)
        given = (s, domain, 0, 0, *rest)
        node = s.qp_index
        if nodes.shape[0] > 0:
            node = nodes[i]
        if node != NULL_NODE_INDEX:
            found = integrand(*[given[i] for i in picks])
            if is_mapped:
                dest[node] = to_dof(found)  # type: ignore[misc]
            else:
                dest[node] = found

    return store_points


def _at_points(given: Arguments, dest: Any, where: Any) -> None:
    """Evaluate at the points of a quadrature, or in the middle of each element of a domain."""
    name = given.integrand.name
    if where is None:
        raise ValueError(f"integrand `{name}`: say where to evaluate it: at=quadrature, or dest=field")
    if isinstance(where, GeometryDomain):
        middle = where.reference_element.vertices.mean(axis=0, keepdims=True)
        where = Quadrature(where, middle, np.ones(1))
    given.elements_of(where)
    nodes, mapper, count = np.empty(0, dtype=np.int32), None, where.total_point_count()
    if isinstance(dest, DiscreteField):
        if dest.space.basis.points is not where:
            raise ValueError(
                f"integrand `{name}`: a field has values at nodes; leave out the quadrature, or give an array"
            )
        nodes = dest.nodes.numbered(dest.space.basis.point_nodes)
        mapper, count = dest.space.dof_mapper, dest.node_count()
        dest = dest.dof_values
    if dest is not None and dest.shape != (count,):
        raise ValueError(f"integrand `{name}`: dest: expected {count} elements, one for each point, got {dest.shape}")
    if dest is not None and isinstance(where, NodalQuadrature):  # elements have points of the same number
        _, numbers, places = _node_samples(where.basis, where.numbered_by, where.domain)
        found = node_kernel(given.integrand, given.picks, "first", mapper)
        _store_nodes(given, found, where, numbers, places, dest)
        return
    inner = given.places(where)
    rest, outputs = [given.record(inner)], []
    if dest is not None:
        rest, outputs = [array(nodes, dtype=int32, device=where.domain.geometry.device), *rest], [dest]
    found = point_kernel(given.integrand, given.picks, dest is not None, mapper)
    given.run(found, where.launch_shape, [where.record(inner is None), *rest], outputs, _WANTED)


# -- at nodes -------------------------------------------------------------------------------------------------------


@kept
def node_kernel(integrand: Integrand, picks: tuple[int, ...], reduction: str, mapper: DofMapper | None) -> Kernel:
    """The kernel that evaluates an integrand at nodes, in each element that has the node."""
    is_mapped, to_dof = mapper is not None, mapper.value_to_dof if mapper else None
    is_weighted, is_mean, is_first = (reduction == r for r in ("weighted_average", "mean", "first"))
    is_max, is_min = reduction == "max", reduction == "min"

    @kernel(lanes=1)
    def store_nodes(
        domain: Any,
        nodes: array1d(dtype=int),
        order: array1d(dtype=int),
        starts: array1d(dtype=int),
        elements: int,
        rest: Any,
        dest: array1d(dtype=Any),
    ):
        group = tid()
        node, start, end = nodes[group], starts[group], starts[group + 1]
        point = order[start] // elements
        s = sample_at(domain, order[start] - point * elements, point)
        given = (s, domain, 0, 0, *rest)
        found = integrand(*[given[i] for i in picks])
        weight = measure_at(s, domain)
        if is_weighted:
            found = weight * found
        if not is_first:
            for k in range(start + 1, end):
                point = order[k] // elements
                s = sample_at(domain, order[k] - point * elements, point)
                given = (s, domain, 0, 0, *rest)
                other = integrand(*[given[i] for i in picks])
                if is_max:
                    found = max(found, other)
                elif is_min:
                    found = min(found, other)
                elif is_weighted:
                    found += measure_at(s, domain) * other
                    weight += measure_at(s, domain)
                else:
                    found += other
        if is_weighted:
            found = found / weight
        if is_mean:
            found = found / type(weight)(end - start)
        if is_mapped:
            dest[node] = to_dof(found)  # type: ignore[misc]
        else:
            dest[node] = found

    return store_nodes


def _at_nodes(given: Arguments, dest: DiscreteField, domain: GeometryDomain, reduction: str) -> None:
    """Evaluate at the nodes of a field that are in a domain."""
    if domain.geometry is not dest.geometry:
        raise ValueError("interpolate: the field and the domain belong to two geometries; make both of the same")
    if dest.space.basis.points is not None:
        _at_points(given, dest, dest.space.basis.points)
        return
    points, nodes, places = _node_samples(dest.space.basis, dest.nodes, domain)
    given.elements_of(points)
    if dest.space.basis.piola:
        interpolate_vectors(given, dest, points, nodes, places)
        return
    found = node_kernel(given.integrand, given.picks, reduction, dest.space.dof_mapper)
    _store_nodes(given, found, points, nodes, places, dest.dof_values)


def _store_nodes(
    given: Arguments, kernel: Kernel, points: NodalQuadrature, nodes: array, places: Places, dest: array
) -> None:
    inner = given.places(points)
    inputs = [points.record(inner is None), nodes, *places, points.domain.element_count(), given.record(inner)]
    given.run(kernel, nodes.size, inputs, [dest], _WANTED)


def _node_samples(basis: BasisSpace, of: Any, domain: GeometryDomain) -> tuple[NodalQuadrature, array, Places]:
    """The nodes of a space or of a part of it in a domain, and the points of elements they are: point x element."""

    def find() -> tuple[NodalQuadrature, array, Places]:
        points = NodalQuadrature(domain, basis_space=basis)
        table = points.nodes_in(of)
        nodes, starts = np.unique(np.sort(table.ravel()), return_index=True)
        arrays = nodes[nodes != NULL_NODE_INDEX], by_node(table), [*starts, table.size]
        made = [array(a, dtype=int32, device=domain.geometry.device) for a in arrays]
        return points, made[0], Places(*made[1:])

    return domain.remember(("nodes of", of), find)
