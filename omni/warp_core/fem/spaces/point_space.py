"""A space with a node at each point of a quadrature: functions that are known at these points alone.

Particle methods keep stresses and other quantities of particles in it. A form with a test field of it has a row for
each point. Start with `PointBasisSpace`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np

from ...arrays.array import array
from ...arrays.factories import empty
from ...lang.kernel import Function, func
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import CALL
from ...lang.values.type_registry import python_type
from ..domains.point_quadratures import PointQuadrature
from ..geometries.cell_geometry import RecordCache
from ..geometries.partitions import GeometryPartition
from ..index_types import NULL_NODE_INDEX
from ..kernel_records import SAMPLE, one_at_points, record, row_at
from .basis_records import unit_of
from .basis_spaces import BasisSpace, NodePositions
from .dof_mappers import DofMapper
from .field_records import Values
from .given_functions import GivenFunctions
from .point_kernels import kernel_record

__all__ = ["PointBasisSpace"]

_NO_GRADIENT = "a field of fem.PointBasisSpace is known at its points alone; interpolate it to a polynomial space first"
_REFUSES = dict.fromkeys(("grad", "div", "D", "curl"), _NO_GRADIENT)


@func
def dof_at_point(u: Any, s: SAMPLE):
    """What the node of a point has; zero where the field has no node."""
    node = s.qp_index
    if u.by_order:
        node = row_at(s)
    if u.places.shape[0] > 0:
        node = u.places[node]
    found = u.dofs.dtype(0.0)
    if node != NULL_NODE_INDEX:
        found = u.dofs[node]
    return found


@func
def value_at_point(u: Any, s: SAMPLE):
    """The value of a field at a point of its quadrature, NaN at samples that an integrand makes."""
    return dof_at_point(u, s) * one_at_points(s)


@func
def value_of_node(u: Any, s: SAMPLE):
    """The value of a test or trial field: 1 in one component at its own point."""
    return u.value * one_at_points(s)


@cache
def point_field_record(values: Values) -> Any:
    """What kernels need of a field: its values, where a part of a geometry has them, and whether nodes are in the order
    of elements.
    """
    fields = {"dofs": array(dtype=values.dof_dtype), "places": array(dtype=int), "by_order": bool}
    value = _mapped_value(values.mapper) if values.mapper else value_at_point
    supplies = {CALL: value, "scalar_type": values.number}
    return record(f"PointField_{values.word}", fields, supplies, _REFUSES)


def _mapped_value(mapper: DofMapper) -> Function:
    to_value = mapper.dof_to_value

    @func
    def mapped_value_at_point(u: Any, s: SAMPLE):
        return to_value(dof_at_point(u, s)) * one_at_points(s)

    return mapped_value_at_point


@cache
def point_space_record(values: Values) -> Any:
    """What kernels need of a space to make test and trial fields."""
    supplies: dict[str, Any] = {CALL: value_of_node, "scalar_type": values.number}
    basis = record(f"PointBasis_{values.word}", {"value": python_type(values.type)}, supplies, _REFUSES)
    unit, one = unit_of(values), values.number(1.0)

    @func
    def no_function(space: Any, s: Any, node: int):
        return 1

    @func
    def supplied(space: Any, s: Any, node: int, component: int, function: Any):
        return basis(unit(component, one))

    supplies = {"function": no_function, "basis": supplied}
    return record(f"PointSpace_{values.word}", {"nodes_of_element": int}, supplies)


class PointBasisSpace(BasisSpace):
    """A space with a node at each point of a quadrature. Without a kernel, integrate its fields with this quadrature.

    Args:
        quadrature: A `PicQuadrature` or an `ExplicitQuadrature`.
        kernel_func: A `@wp.func` of the squared distance from a point, the number of the point, and values. Functions
            are then known in all of the cell of their point, and other quadratures integrate them, too. Without it, a
            function is 1 at its point, and known at points alone.
        kernel_grad_func: Its derivative by the squared distance, with the same parameters. Left out, it is derived
            (`wp.grad`).
        kernel_values: Values of the last parameters of `kernel_func`, by names.
        distance_space: "reference" for distances in coordinates of the cell, from 0 to 1, or "world".
        max_nodes_per_element: How many points of a cell have a node; all of them if negative.
        use_evaluation_point_index: Whether nodes are numbered in the order of cells, `pic.cell_particle_indices`, each
            point with a node of its own. Otherwise the nodes have the numbers of the particles.

    >>> import omni.warp_core.fem as fem
    >>> at = wp.array([(0.25, 0.5), (0.5, 0.5)], dtype=wp.vec2)
    >>> particles = fem.PicQuadrature(fem.Cells(fem.Grid2D(res=(2, 2))), at)
    >>> stresses = fem.make_collocated_function_space(fem.PointBasisSpace(particles), dtype=wp.mat22)
    >>> stresses.make_field().dof_values.shape
    (2,)
    >>> @wp.func
    ... def near(squared: float, point: int, width: float):
    ...     return wp.exp(-squared / width)
    >>> smooth = fem.PointBasisSpace(particles, near, kernel_values={"width": 0.5})
    >>> fem.make_collocated_function_space(smooth).node_count()
    2
    """

    def __new__(cls, quadrature: Any, kernel_func: Any = None, *args: Any, **kwargs: Any) -> "PointBasisSpace":
        """Return a space of kernels if there is one."""
        return object.__new__(cls if kernel_func is None else KernelPointSpace)

    def __init__(
        self,
        quadrature: PointQuadrature,
        kernel_func: Any = None,
        kernel_grad_func: Any = None,
        kernel_values: Any = None,
        distance_space: str = "reference",
        max_nodes_per_element: int = -1,
        use_evaluation_point_index: bool = False,
    ):
        if not isinstance(quadrature, PointQuadrature):
            got = type(quadrature).__name__
            raise TypeError(f"PointBasisSpace: expected a PicQuadrature or an ExplicitQuadrature, got {got}")
        self.geometry, self.points, self.discontinuous = quadrature.domain.geometry, quadrature, True
        self._limit, self._by_order = max_nodes_per_element, use_evaluation_point_index
        self.quadrature = quadrature

    @property
    def degree(self) -> int:
        """Degree of the polynomials: functions are constant around a point."""
        return 0

    @property
    def nodes_per_element(self) -> int:
        """Number of nodes of a point."""
        return 1

    @property
    def MAX_NODES_PER_ELEMENT(self) -> int:
        """The largest number of nodes of a cell."""
        return self.points.max_points_per_element() if self._limit < 0 else self._limit

    def node_count(self) -> int:
        """Number of nodes: of points or of particles."""
        points = self.points
        return points.cells.size if self._by_order else points.total_point_count()

    @cached_property
    def point_nodes(self) -> np.ndarray:
        """The node of each point in the order of elements: NULL_NODE_INDEX for those beyond the limit of their cell."""
        points, count = self.points, self.points.inner_count
        found = np.arange(count) if self._by_order else points.point_numbers()
        within = np.arange(count) - np.repeat(points.places[0].numpy()[:-1], points.counts)
        return np.where((self._limit < 0) | (within < self._limit), found, NULL_NODE_INDEX).astype(np.int32)

    def nodes_and_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Each node of each cell, and its cell."""
        is_node = self.point_nodes != NULL_NODE_INDEX
        return self.point_nodes[is_node], self.points.by_points.domain.element_indices[is_node]

    def element_nodes(self, domain: Any) -> np.ndarray:
        """The node of each point."""
        return self.point_nodes[:, None]

    def part_nodes(self, part: GeometryPartition, with_halo: bool) -> list[np.ndarray]:
        """The nodes that a part needs, in groups: its own. The rest is empty. The whole geometry has all nodes, those
        beyond the limit of their cell, too.
        """
        if part.has_cell is None:
            own = np.arange(self.node_count())
        else:
            nodes = self.point_nodes[part.has_cell[self.points.by_points.domain.element_indices]]
            own = np.unique(nodes[nodes != NULL_NODE_INDEX])
        return [own, *[np.empty(0, dtype=np.int64)] * 3]

    def space_record(self, values: Values, points: Any, is_sides: bool) -> Any:
        """What kernels need to make test and trial fields of values of a kind."""
        return point_space_record(values)(1)

    def field_record(self, values: Values, dofs: array, points: Any, part: Any) -> Any:
        """What kernels need of a field of values of a kind."""
        places = empty(0, dtype=int32, device=dofs.device) if part is None else part.node_places
        return point_field_record(values)(dofs, places, self._by_order)

    def node_positions(self) -> NodePositions:
        """The positions of points, on the host."""
        g, points = self.geometry, self.points
        at = points.by_points.numbers
        cells, coords = points.cells.numpy()[at], points.point_coords.numpy()[at, : g.cell_dimension]
        found, nodes = np.full((self.node_count(), g.dimension), np.nan), self.point_nodes
        places = g.positions_in(cells, coords)
        found[nodes[nodes != NULL_NODE_INDEX]] = places[nodes != NULL_NODE_INDEX]
        return found.view(NodePositions)


class KernelPointSpace(PointBasisSpace):
    """A space with a function around each point of a quadrature. Its arguments are those of `PointBasisSpace`.

    Attributes:
        kernel_values: Values of the last parameters of the kernel, by names. Others may be assigned.
    """

    is_free = True

    def __init__(
        self,
        quadrature: PointQuadrature,
        kernel_func: Any = None,
        kernel_grad_func: Any = None,
        kernel_values: Mapping[str, Any] | None = None,
        distance_space: str = "reference",
        max_nodes_per_element: int = -1,
        use_evaluation_point_index: bool = False,
    ):
        super().__init__(
            quadrature, None, None, None, distance_space, max_nodes_per_element, use_evaluation_point_index
        )
        given = {"kernel_func": kernel_func, "kernel_grad_func": kernel_grad_func}
        self._functions = GivenFunctions("PointBasisSpace", given, "the squared distance", "the number of the point")
        self.kernel_values = dict(kernel_values or {})
        self._functions.check(self.kernel_values, "kernel_values")
        if distance_space not in ("reference", "world"):
            raise ValueError(f"PointBasisSpace: distance_space={distance_space!r}: expected 'reference' or 'world'")
        self._is_world = distance_space == "world"
        self.quadrature, self._records = None, RecordCache(self)

    space_record = BasisSpace.space_record
    field_record = BasisSpace.field_record
    element_nodes = BasisSpace.element_nodes  # type: ignore[assignment]

    @property
    def state(self) -> tuple[Any, ...]:
        """What records of the space depend on."""
        return *self.geometry.state, *self.kernel_values.values()

    @property
    def nodes_per_element(self) -> int:
        """The largest number of nodes of a cell."""
        return self.cell_nodes.shape[1]

    @cached_property
    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of each cell and the points that they are, NULL_NODE_INDEX and -1 for what cells lack."""
        points = self.points
        starts, order = (a.numpy() for a in points.places[:2])
        elements = np.repeat(np.arange(len(points.counts)), points.counts)
        within = np.arange(points.inner_count) - starts[elements]
        kept = self.point_nodes != NULL_NODE_INDEX
        cells = points.domain.element_cells[elements[kept]]
        shape = self.geometry.cell_count(), max(int(within[kept].max(initial=0)) + 1, 1)
        nodes, places = np.full(shape, NULL_NODE_INDEX, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
        nodes[cells, within[kept]] = self.point_nodes[kept]
        places[cells, within[kept]] = order[: points.inner_count][kept]
        return nodes, places

    @property
    def cell_nodes(self) -> np.ndarray:
        """The nodes of each cell: cells x nodes of a cell."""
        return self._tables[0]

    @cached_property
    def node_table(self) -> array:  # type: ignore[override]
        """The nodes of cells as kernels read them. Where a cell lacks nodes, its first one stands, which counts 0."""
        nodes = self.cell_nodes
        filled = np.where(nodes == NULL_NODE_INDEX, nodes[:, :1], nodes)
        filled = np.where(filled == NULL_NODE_INDEX, 0, filled)
        return array(np.ascontiguousarray(filled.T), dtype=int32, device=self.geometry.device)

    @cached_property
    def _point_table(self) -> array:
        return array(np.ascontiguousarray(self._tables[1].T), dtype=int32, device=self.geometry.device)

    def part_nodes(self, part: GeometryPartition, with_halo: bool) -> list[np.ndarray]:
        """The nodes that a part needs, in groups."""
        groups = BasisSpace.part_nodes(self, part, with_halo)
        return [nodes[nodes != NULL_NODE_INDEX] for nodes in groups]

    def shape_record(self, points: np.ndarray | None) -> Any:
        """Shape functions as kernels evaluate them, anywhere in cells."""
        g, given = self.geometry, self._functions
        where = g.record(None) if self._is_world else None
        kind: Any = None if where is None else type(where)
        made = kernel_record(given, given.types(self.kernel_values), kind, g.scalar, g.cell_dimension)
        arguments = given.arguments(self.kernel_values)
        own = self._point_table, self.points.point_coords, self.points.each, arguments
        return made(*own) if where is None else made(*own, where)
