"""Interpolation matrices: what an integrand gives at points or nodes, for each function of a trial field.

The product of the matrix and the values of a field at its nodes is what interpolation of the field gives. Start with
`interpolate_matrix`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

import numpy as np

from .. import tid, vec2i
from ..arrays.array import array, array1d, array3d
from ..arrays.factories import empty
from ..lang.kernel import Kernel, kernel
from ..lang.types import Vec
from ..lang.values.scalars import int32
from ..lang.values.type_registry import wc_type
from ..launches.launch import launch
from ..sparse.matrix import BsrMatrix
from ..sparse.triplets import bsr_set_from_triplets
from .domains.quadratures import NodalQuadrature, Quadrature
from .index_types import NULL_NODE_INDEX
from .integrands import Arguments, Integrand, kept
from .kernel_records import basis_at, function_at, measure_at, sample_of_thread, with_dofs_of

_WANTED = "an integrand returns what a row of the matrix holds: a number, or a vector of as many rows as blocks have"


@kept
def row_kernel(integrand: Integrand, picks: tuple[int, ...], columns: int, is_vector: bool) -> Kernel:
    """The kernel that evaluates an integrand at points for each trial function: a block for each."""

    @kernel
    def interpolate_trials(domain: Any, points: int, trial: Any, rest: Any, out: array3d(dtype=Any)):
        i, q, j = tid()
        s = sample_of_thread(domain, i, q)
        at, function = (i * points + q) * trial.nodes.shape[0] + j, function_at(trial, s, j)
        for c in range(columns):
            given = (with_dofs_of(s, vec2i(), vec2i(j, c)), domain, 0, basis_at(trial, s, j, c, function), *rest)
            found = integrand(*[given[k] for k in picks])
            if is_vector:
                for r in range(found.length):
                    out[at, r, c] = out.dtype(found[r])
            else:
                out[at, 0, c] = out.dtype(found)

    return interpolate_trials


@kernel
def measure_points(domain: Any, points: int, out: array1d(dtype=Any)):
    """Write the size of the element of each point."""
    i, q = tid()
    out[i * points + q] = measure_at(sample_of_thread(domain, i, q), domain)


@kernel
def scale_blocks(factors: array1d(dtype=Any), of_each: int, blocks: array3d(dtype=Any)):
    """Multiply the blocks of each point by its factor."""
    i, r, c = tid()
    blocks[i, r, c] = blocks.dtype(factors[i // of_each]) * blocks[i, r, c]


def interpolate_matrix(given: Arguments, dest: BsrMatrix, where: Any, space: Any, part: Any, reduction: str) -> None:
    """Set a matrix to what an integrand gives for each trial function, at points, or at the nodes of a space.

    Args:
        given: The arguments of the integrand.
        dest: The matrix.
        where: A quadrature, or a domain.
        space: The space of nodes; None for the points of a quadrature.
        part: Which nodes are rows; all of the space if None.
        reduction: What a node of several elements gets.
    """
    domain = where if where is not None else given.trial.domain
    points, rows, factors = _rows(given, domain, space, part, reduction)
    trial, field = given.trial.space, given.trial.nodes
    by_element = field.element_nodes(getattr(points, "by_points", points).domain)
    columns = np.repeat(by_element, len(rows) // max(len(by_element), 1), axis=0)
    block, count = dest.block_shape, (rows.size, by_element.shape[1])
    if (dest.nrow, dest.ncol) != (_row_count(points, space, part), field.node_count()):
        raise ValueError(
            f"dest: expected a matrix of {_row_count(points, space, part)} x {field.node_count()} blocks, got "
            f"{dest.nrow} x {dest.ncol}"
        )
    inner = given.places(points)
    out = empty((count[0] * count[1], *block), dtype=dest.scalar_type, device=dest.device)
    kernel = row_kernel(given.integrand, given.picks, trial.component_count, _gives_vectors(space, trial))
    shape = points.launch_shape
    record = points.record(inner is None)
    given.run(
        kernel, (*shape, count[1]), [record, shape[1], trial.record(inner, False), given.record(inner)], [out], _WANTED
    )
    if factors is not None:
        made = array(factors, dtype=dest.scalar_type, device=dest.device)
        launch(scale_blocks, out.shape, [made, count[1]], outputs=[out], device=dest.device)
    made_rows, made_columns = (
        array(np.ascontiguousarray(a).ravel(), dtype=int32, device=dest.device)
        for a in (np.repeat(rows, count[1]), columns)
    )
    values = out.reshape(out.size) if block == (1, 1) else out
    bsr_set_from_triplets(dest, made_rows, made_columns, values, prune_numerical_zeros=True)


def _gives_vectors(space: Any, trial: Any) -> bool:
    """True if the integrand gives vectors: values of the space of nodes, or of the trial field at points."""
    return isinstance(wc_type((space or trial).dtype), Vec)


def _row_count(points: Quadrature, space: Any, part: Any) -> int:
    if space is None:
        return points.total_point_count()
    return space.node_count() if part is None else part.node_count()


def _rows(
    given: Arguments, where: Any, space: Any, part: Any, reduction: str
) -> tuple[Quadrature, np.ndarray, np.ndarray | None]:
    """The points where an integrand is evaluated, the row of each, and by which factor it counts."""
    if space is None:
        if not isinstance(where, Quadrature):
            raise ValueError("interpolate: say which rows a matrix has: at=quadrature, or dest_space=space")
        numbers = where.point_numbers()
        return where, *(_reduced(where, numbers, "first") if isinstance(where, NodalQuadrature) else (numbers, None))
    nodes = part if part is not None else space.basis
    if space.basis.points is not None:
        return space.basis.points, nodes.numbered(space.basis.point_nodes), None
    points = NodalQuadrature(where, basis_space=space.basis)
    rows = points.nodes_in(nodes).T.ravel()
    return points, *_reduced(points, rows, reduction)


def _reduced(points: Quadrature, rows: np.ndarray, reduction: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The rows of points and their factors, for nodes of several elements."""
    if reduction == "first":
        first = np.unique(rows, return_index=True)[1]
        kept_rows = np.full_like(rows, NULL_NODE_INDEX)
        kept_rows[first] = rows[first]
        return kept_rows, None
    if reduction in ("min", "max"):
        raise ValueError(f"reduction={reduction!r}: a matrix has sums and means of what elements give")
    if reduction == "sum":
        return rows, None
    weights = np.ones(len(rows))
    if reduction == "weighted_average":
        g, (count, each) = points.domain.geometry, points.launch_shape
        sizes = empty(len(rows), dtype=g.scalar_type, device=g.device)
        launch(measure_points, (count, each), [points.record(), each], outputs=[sizes], device=g.device)
        weights = sizes.numpy().astype(np.float64)
    _, group = np.unique(rows, return_inverse=True)
    return rows, weights / np.bincount(group, weights)[group]
