"""Assembly: from integrals over elements to values at nodes and matrices between nodes.

Which integrals belong to a node, or to a pair of nodes, is sorted once for a domain and its spaces. Sums run in the
order of elements, so that results do not depend on threads. Start with `add_vector` and `add_matrix`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any, NamedTuple

import numpy as np

from .. import tid
from ..arrays.array import array, array1d, array2d
from ..arrays.factories import clone, empty
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.types import Scalar
from ..lang.values.scalars import int32
from ..lang.values.type_registry import python_type, wc_type
from ..launches.launch import launch
from ..sparse.block_kernels import sum_blocks
from ..sparse.combination import bsr_assign, bsr_axpy
from ..sparse.grouping import group
from ..sparse.matrix import BsrMatrix, block_type, new_matrix
from ..sparse.rows import NUMERIC
from ..sparse.triplets import bsr_set_from_triplets
from .domains.domains import GeometryDomain
from .domains.quadratures import Quadrature
from .spaces.basis_spaces import BasisSpace
from .spaces.fields import TestField, TrialField
from .spaces.space_partitions import SpacePartition

Nodes = BasisSpace | SpacePartition  # what has the nodes of cells


class Places(NamedTuple):
    """Where the integrals of each sum are: those of sum `g` are `order[starts[g]]` to `order[starts[g + 1]]`."""

    order: array
    starts: array


class Pattern(NamedTuple):
    """The blocks of a matrix, and the places of the integrals that each is the sum of."""

    offsets: array
    columns: array
    places: Places
    links: array  # which sum each block is


def _device_array(values: np.ndarray, domain: GeometryDomain) -> array:
    return array(np.ascontiguousarray(values), dtype=int32, device=domain.geometry.device)


# -- vectors --------------------------------------------------------------------------------------------------------


def node_places(of: Nodes, domain: GeometryDomain) -> Places:
    """The integrals of each node among those of elements: node of a cell x element."""

    def find() -> Places:
        nodes = of.element_nodes(domain).T
        starts = np.searchsorted(np.sort(nodes.ravel()), np.arange(of.node_count() + 1))
        return Places(*(_device_array(a, domain) for a in (by_node(nodes), starts)))

    return domain.remember(("nodes", of), find)


def by_node(nodes: np.ndarray) -> np.ndarray:
    """The order in which integrals, node of a cell x element, are those of one node after the other. Those of one node
    are in the order of elements.
    """
    order = np.argsort(nodes.T.ravel(), kind="stable")
    count = len(nodes)
    return order % count * nodes.shape[1] + order // count


@kernel(**NUMERIC, lanes=1)
def sum_nodes(
    order: array1d(dtype=int), starts: array1d(dtype=int), values: array2d(dtype=Any), out: array2d(dtype=Any)
):
    """Write the sum of the integrals of each node."""
    node, component = tid()
    total = out.dtype(0)
    for k in range(starts[node], starts[node + 1]):
        total += values[order[k], component]
    out[node, component] = total


@kernel(**NUMERIC)
def add_numbers(values: array2d(dtype=Any), out: array2d(dtype=Any)):
    """Add numbers to an array."""
    i, j = tid()
    out[i, j] += out.dtype(values[i, j])


def add_vector(test: TestField, points: Quadrature, integrals: array, dtype: Any, output: Any, add: bool) -> array:
    """Sum up the integrals of each node: into `output`, or into a new array of values or of numbers."""
    rows = integrals.shape[2]
    places = node_places(test.nodes, points.domain)
    if output is None or add:
        count = test.node_count()
        shape = (count, rows) if rows > 1 and isinstance(wc_type(dtype), Scalar) else (count,)
        made = empty(shape, dtype=dtype, device=integrals.device, requires_grad=integrals.requires_grad)
    else:
        made = output
    if output is not None:
        _check_output(output, test)
    flat = integrals.reshape((integrals.shape[0] * integrals.shape[1], rows))
    target = numbers_of(made, rows)
    launch(sum_nodes, target.shape, [*places, flat], outputs=[target], device=integrals.device)
    if output is None or not add:
        return made
    launch(add_numbers, target.shape, [target], outputs=[numbers_of(output, rows)], device=integrals.device)
    return output


def numbers_of(values: array, components: int) -> array:
    """The numbers of values at nodes: node x component. The memory is the same."""
    t: Any = wc_type(values.dtype)
    flat = values if isinstance(t, Scalar) else values.view(python_type(t.scalar))
    return flat.reshape((flat.size // components, components))


def _check_output(output: Any, test: TestField) -> None:
    if not isinstance(output, array):
        raise TypeError(f"output: expected an array for a form with a test field, got {type(output).__name__}")
    t: Any = wc_type(output.dtype)
    count = getattr(t, "count", 1) * int(np.prod(output.shape[1:]))
    if output.shape[0] != test.node_count() or count != test.space.component_count or not output.is_contiguous:
        raise ValueError(
            f"output: expected {test.node_count()} values of {test.space.component_count} numbers without gaps, got "
            f"{output.dtype.__name__} with the shape {tuple(output.shape)}"
        )


# -- matrices -------------------------------------------------------------------------------------------------------


def _triplet_places(test: Nodes, trial: Nodes, domain: GeometryDomain) -> tuple[array, array]:
    """Rows and columns of the integrals: element x test node x trial node."""

    def find() -> tuple[array, array]:
        rows, columns = (nodes.element_nodes(domain) for nodes in (test, trial))
        shape = len(rows), rows.shape[1], columns.shape[1]
        every = np.broadcast_to(rows[:, :, None], shape), np.broadcast_to(columns[:, None], shape)
        return _device_array(every[0].ravel(), domain), _device_array(every[1].ravel(), domain)

    return domain.remember(("triplets", test, trial), find)


def _pattern(test: Nodes, trial: Nodes, domain: GeometryDomain) -> Pattern:
    """The blocks that a matrix between two spaces has."""

    def find() -> Pattern:
        rows, columns = _triplet_places(test, trial, domain)
        sizes = test.node_count(), trial.node_count()
        with observers.NotRecording():
            groups = group(sizes, rows, columns, rows.size)
            count = int(groups.pattern.offsets[sizes[0] :].numpy()[0])
            kept = clone(groups.pattern.columns[:count]), clone(groups.starts[: count + 1])
        links = _device_array(np.arange(count), domain)
        return Pattern(groups.pattern.offsets, kept[0], Places(groups.order, kept[1]), links)

    return domain.remember(("pattern", test, trial), find)


def add_matrix(
    test: TestField,
    trial: TrialField,
    points: Quadrature,
    integrals: array,
    output: Any,
    add: bool,
    prune: bool,
) -> BsrMatrix:
    """Sum up the integrals of each pair of nodes: into `output`, or into a new matrix. `prune` leaves out blocks of
    zeros.
    """
    domain = points.domain
    dtype = block_type(integrals.dtype, (integrals.shape[1], integrals.shape[2]))
    made = new_matrix(test.node_count(), trial.node_count(), dtype, integrals.device)
    if prune:
        rows, columns = _triplet_places(test.nodes, trial.nodes, domain)
        bsr_set_from_triplets(made, rows, columns, integrals, prune_numerical_zeros=True)
    else:
        _sum_pattern(made, _pattern(test.nodes, trial.nodes, domain), integrals)
    if output is None:
        return made
    if not isinstance(output, BsrMatrix):
        raise TypeError(f"output: expected a BsrMatrix for a form with a trial field, got {type(output).__name__}")
    if add:
        return bsr_axpy(made, output)
    bsr_assign(output, made)
    return output


def _sum_pattern(made: BsrMatrix, pattern: Pattern, integrals: array) -> None:
    count = pattern.columns.size
    made.offsets, made.columns, made.nnz = clone(pattern.offsets), clone(pattern.columns), count
    made.values = empty(count, dtype=made.dtype, device=made.device, requires_grad=integrals.requires_grad)
    target = made.values if isinstance(wc_type(made.dtype), Scalar) else made.values.view(made.scalar_type)
    target = target.reshape((count, *integrals.shape[1:]))
    order, starts = pattern.places
    inputs = [pattern.links, starts, order, integrals]
    launch(sum_blocks, target.shape, inputs, outputs=[target], device=made.device)
