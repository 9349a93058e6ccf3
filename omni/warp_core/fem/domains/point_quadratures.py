"""Quadratures whose elements have points of their own: `PicQuadrature` of particles, and `ExplicitQuadrature`.

Particles are looked up in cells and sorted by them, so that sums over the particles of a cell run in the order of
particles.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ... import max, tid
from ...algo.sort import radix_sort_pairs
from ...arrays.array import array, array1d
from ...arrays.factories import empty
from ...dispatch import observers
from ...lang.kernel import func, kernel
from ...lang.values.scalars import int32
from ...lang.values.type_registry import wc_type
from ...launches.launch import launch
from ...lib.search import first_at_least
from ..geometries.cell_geometry import RecordCache
from ..geometries.environments import check_integers
from ..geometries.lookup import coords_in, find_cell
from ..kernel_records import element_size, vector_type
from .domains import Cells, GeometryDomain
from .point_records import own_points_record
from .quadratures import Quadrature

__all__ = ["ExplicitQuadrature", "PicQuadrature"]


class PointQuadrature(Quadrature):
    """Points of cells, of each cell its own.

    Args:
        domain: The domain.
        cells: The cell of each point, -1 for none.
        coords: Coordinates of each point in its cell.
        weights: The weight of each point, the part of its cell that it stands for.
        places: Points sorted by elements, see `own_points_record`.
        each: How many points a particle is; they follow each other.
    """

    cell_points = None

    def __init__(
        self,
        domain: GeometryDomain,
        cells: array,
        coords: array,
        weights: array,
        places: tuple[array, ...],
        each: int = 1,
    ):
        self.domain, self.cells, self.point_coords, self.point_weights, self.each = domain, cells, coords, weights, each
        self.places = places
        self._records = RecordCache(domain.geometry)

    @property
    def name(self) -> str:
        """The names of the class and of the domain."""
        return f"{type(self).__name__}_{self.domain.name}"

    def total_point_count(self) -> int:
        """Number of points; of particles, where a particle is several points."""
        return self.cells.size // self.each

    def point_numbers(self) -> np.ndarray:
        """The particle of each point in elements of the domain, in the order of elements."""
        return self.by_points.numbers // self.each

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of points of each element."""
        return np.diff(self.places[0].numpy())

    def max_points_per_element(self) -> int:
        """The largest number of points of an element."""
        return int(self.counts.max(initial=0))

    def active_cell_count(self) -> int:
        """Number of elements that have points."""
        return int((self.counts > 0).sum())

    @cached_property
    def inner_count(self) -> int:
        """Number of points in elements of the domain."""
        return int(self.counts.sum())

    @property
    def launch_shape(self) -> tuple[int, int]:
        """The threads of a launch that evaluates each point."""
        return self.inner_count, 1

    def record(self, is_free: bool = True) -> Any:
        """What kernels need to sample the domain at the points."""
        own = self.point_coords, self.point_weights, self.places, self.each
        return self._records.get(None, lambda: _record(self.domain, *own))

    @cached_property
    def by_points(self) -> Any:
        """A quadrature whose elements are the points: each is an element of its own."""
        return PointElements(self)


class PointElements(Quadrature):
    """The points of a quadrature, each as an element. So a form can have a test field for each point."""

    cell_points = None

    def __init__(self, of: PointQuadrature):
        self.of, self.domain = of, Cells(of.domain.geometry_partition)
        self.numbers = of.places[1].numpy()[: of.inner_count]
        self.domain.element_indices, self.domain._is_whole = of.cells.numpy()[self.numbers], False
        self._records = RecordCache(of.domain.geometry)

    def record(self, is_free: bool = True) -> Any:
        """What kernels need to sample the points."""
        return self._records.get(None, self._make_record)

    def _make_record(self) -> Any:
        device, count = self.domain.geometry.device, len(self.numbers)
        starts = array(np.arange(count + 1), dtype=int32, device=device)
        order = array(self.numbers, dtype=int32, device=device)
        places = starts, order, order
        return _record(self.domain, self.of.point_coords, self.of.point_weights, places, self.of.each)


def _record(domain: GeometryDomain, coords: array, weights: array, places: tuple[array, ...], each: int) -> Any:
    return domain.record_of_points(own_points_record(domain.geometry.scalar)(coords, weights, *places, each))


class PicQuadrature(PointQuadrature):
    """Particles as the points of a quadrature: particle-in-cell methods, and the material point method.

    `s.qp_index` of a sample is the number of the particle. The weights of a cell's particles need not sum to 1: the
    integral is a sum over particles, each with its measure.

    Args:
        domain: The cells. Particles in other ones do not count.
        positions: The positions of particles; or a pair of arrays: the cell of each, and its coordinates there
            (`wp.vec3`). For particles over several cells, three arrays: particle x cell, -1 for none, the coordinates
            of a point in each, and which part of the particle it has. Meshes need `build_bvh=True` to find positions.
            The cell of a position beyond the geometry is the nearest one, and its coordinates lie outside of this.
        measures: The size of each particle; equal parts of the size of their cell if left out.
        env_indices: The environment of each particle, int32, where the geometry has several and `positions` are such.
        requires_grad: Whether coordinates and weights have gradients. They have if `positions` or `measures` do.
        max_dist: How far particles may be from the cells of a `Nanogrid`, see `fem.lookup`. Those farther away are in
            no cell.
        use_domain_element_indices: Without effect.
        use_domain_element_indices: Whether the given cells are numbers in the part of the geometry, and those of
            `cell_particle_offsets`, too. Otherwise they are numbers in the geometry.
        temporary_store: Without effect.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def mass(s: fem.Sample, v: fem.Field):
    ...     return v(s)
    >>> geo = fem.Grid2D(res=(1, 1))
    >>> at, sizes = wp.array([(0.25, 0.5)], dtype=wp.vec2), wp.array([8.0], dtype=float)
    >>> particles = fem.PicQuadrature(fem.Cells(geo), at, measures=sizes)
    >>> fem.integrate(mass, quadrature=particles, fields={"v": fem.make_test(fem.make_polynomial_space(geo))}).list()
    [3.0, 3.0, 1.0, 1.0]
    """

    def __init__(
        self,
        domain: GeometryDomain,
        positions: Any,
        measures: array | None = None,
        env_indices: array | None = None,
        requires_grad: bool = False,
        max_dist: float = 0.0,
        use_domain_element_indices: bool = False,
        temporary_store: Any = None,
    ):
        _check_domain("PicQuadrature", domain)
        if isinstance(positions, (tuple, list)):
            self.cell_indices, self.particle_coords, *fractions = _check_coords(domain, positions)
            cells = self.cell_indices.flatten()
            if use_domain_element_indices:
                cells = _cells_of(domain, cells)
        else:
            cells, self.particle_coords = _located(domain, positions, env_indices, max_dist, requires_grad)
            self.cell_indices, fractions = cells, []
        self._by_elements = use_domain_element_indices
        self._fractions: array | None = fractions[0] if fractions else None
        coords, each = self.particle_coords.flatten(), cells.size // max(len(self.cell_indices), 1)
        points = _Points(cells, coords, self._fractions, _sorted(domain, cells), each)
        weights = _weighed(domain, points, measures, requires_grad)
        super().__init__(domain, cells, coords, weights, points.places, each)

    @property
    def particle_fraction(self) -> array:
        """Which part of its particle each point has; without these, which part of its cell each particle is."""
        return self.point_weights if self._fractions is None else self._fractions

    @cached_property
    def cell_particle_offsets(self) -> array:
        """Where the points of each cell begin among sorted ones."""
        domain = self.domain
        if domain.element_indices is None:
            return self.places[0]
        if self._by_elements:
            counts = np.zeros(max(domain.geometry_partition.cell_count(), len(self.counts)) + 1, dtype=np.int32)
            counts[1 : len(self.counts) + 1] = self.counts
        else:
            counts = np.zeros(domain.geometry.cell_count() + 1, dtype=np.int32)
            counts[domain.element_indices + 1] = self.counts
        return array(np.cumsum(counts), dtype=int32, device=self.domain.geometry.device)

    @cached_property
    def cell_particle_indices(self) -> array:
        """The particle of each point in the order of cells; -1 at the end for points in none."""
        found = empty(self.cells.size, dtype=int32, device=self.cells.device)
        launch(write_particles, found.size, [*self.places[:2], self.each], outputs=[found], device=found.device)
        return found


class ExplicitQuadrature(PointQuadrature):
    """Points and weights that are given for each element.

    Args:
        domain: The cells.
        points: Coordinates of the points in their cells, `wp.vec3`: element x point.
        weights: The weight of each: element x point. Those of an element sum to 1 if its integral is to be that of all
            of it.

    >>> geo = wp.fem.Grid2D(res=(2, 1))
    >>> points = wp.full((2, 1), wp.vec3(0.5, 0.5, 0.0), dtype=wp.vec3)
    >>> wp.fem.ExplicitQuadrature(wp.fem.Cells(geo), points, wp.ones((2, 1), dtype=float)).total_point_count()
    2
    """

    def __init__(self, domain: GeometryDomain, points: array, weights: array):
        _check_domain("ExplicitQuadrature", domain)
        count = domain.element_count()
        for name, given in (("points", points), ("weights", weights)):
            if not isinstance(given, array) or given.ndim != 2 or given.shape != points.shape or len(given) != count:
                got = tuple(given.shape) if isinstance(given, array) else type(given).__name__
                raise ValueError(
                    f"ExplicitQuadrature: {name}: expected an array of {count} elements x points, as many points as "
                    f"weights, got {got}"
                )
        _check_type("ExplicitQuadrature: points", points, vector_type(3, domain.geometry.scalar))
        _check_type("ExplicitQuadrature: weights", weights, domain.geometry.scalar_type)
        device, each = domain.geometry.device, points.shape[1]
        tables = np.arange(count + 1) * each, np.arange(points.size), np.repeat(np.arange(count), each)
        starts, order, element_of = (array(a, dtype=int32, device=device) for a in tables)
        cells = array(np.repeat(domain.element_cells, each), dtype=int32, device=device)
        super().__init__(domain, cells, points.flatten(), weights.flatten(), (starts, order, element_of))


# -- particles ------------------------------------------------------------------------------------------------------


def _check_domain(name: str, domain: Any) -> None:
    if not isinstance(domain, GeometryDomain) or domain.is_sides:
        got = domain.name if isinstance(domain, GeometryDomain) else type(domain).__name__
        raise TypeError(f"{name}: domain: expected cells, fem.Cells(geometry), got {got}")


def _check_type(name: str, given: Any, dtype: Any) -> None:
    if not isinstance(given, array) or wc_type(given.dtype) is not wc_type(dtype):
        got = given.dtype.__name__ if isinstance(given, array) else type(given).__name__
        raise TypeError(f"{name}: expected an array of {dtype.__name__}, got {got}")


def _check_coords(domain: GeometryDomain, given: Any) -> tuple[array, ...]:
    if len(given) not in (2, 3):
        raise ValueError(f"PicQuadrature: positions: expected cells, coordinates and fractions, got {len(given)}")
    g = domain.geometry
    for name, dtype, one in zip(
        ("cells", "coordinates", "fractions"), (int32, vector_type(3, g.scalar), g.scalar), given
    ):
        _check_type(f"PicQuadrature: {name}", one, dtype)
        if one.shape != given[0].shape or one.ndim != len(given) - 1:
            raise ValueError(
                f"PicQuadrature: expected as many cells as {name}, got {given[0].shape} and {one.shape}: a row for "
                "each particle with fractions, a number for each without"
            )
    return tuple(given)


@kernel
def locate(
    geometry: Any,
    positions: array1d(dtype=Any),
    environments: array1d(dtype=int),
    max_dist: float,
    cells: array1d(dtype=int),
    coords: array1d(dtype=Any),
):
    """Find the cell of each position, and its coordinates there."""
    i, environment = tid(), 0
    if environments.shape[0] > 0:
        environment = environments[i]
    cell, _inside = find_cell(geometry, positions[i], -1, max_dist, 0, 0, environment)
    cells[i] = cell
    coords[i] = coords_in(geometry, max(cell, 0), positions[i])


def _located(
    domain: GeometryDomain, positions: Any, env_indices: Any, max_dist: float, requires_grad: bool
) -> tuple[array, array]:
    """The cell of each position, and the coordinates there."""
    g = domain.geometry
    _check_type("PicQuadrature: positions", positions, vector_type(g.dimension, g.scalar))
    count, has_gradient = positions.size, requires_grad or positions.requires_grad
    environments = _environments_of(g, env_indices, count)
    cells = empty(count, dtype=int32, device=g.device)
    coords = empty(count, dtype=vector_type(3, g.scalar), device=g.device, requires_grad=has_gradient)
    inputs = [g.record(None), positions, environments, max_dist]
    launch(locate, count, inputs, outputs=[cells, coords], device=g.device)
    return cells, coords


def _environments_of(g: Any, env_indices: Any, count: int) -> array:
    """The environment of each particle; empty for one environment."""
    if env_indices is None:
        if g.environment_count() > 1:
            raise ValueError(
                f"PicQuadrature: {g.name} has {g.environment_count()} environments at one place; write env_indices=, "
                "the environment of each particle"
            )
        return empty(0, dtype=int32, device=g.device)
    check_integers("PicQuadrature: env_indices", env_indices, count, "particle")
    return env_indices


@kernel
def write_cells(elements: array1d(dtype=int), numbers: array1d(dtype=int), cells: array1d(dtype=int)):
    """Write the cell of the geometry for the number of each in a domain."""
    i = tid()
    cell = numbers[i]
    if cell >= 0 and elements.shape[0] > 0:
        cell = elements[cell]
    cells[i] = cell


def _cells_of(domain: GeometryDomain, numbers: array) -> array:
    """The cells of the geometry, given their numbers in a domain."""
    cells = empty(numbers.size, dtype=int32, device=numbers.device)
    launch(write_cells, numbers.size, [domain.kernel_elements, numbers], outputs=[cells], device=numbers.device)
    return cells


class _Points(NamedTuple):
    """Points of particles, before they have weights."""

    cells: array
    coords: array
    fractions: array | None  # which part of its particle each is
    places: tuple[array, ...]
    each: int


@kernel
def write_particles(starts: array1d(dtype=int), order: array1d(dtype=int), each: int, particles: array1d(dtype=int)):
    """Write the particle of each sorted point."""
    i = tid()
    particle = -1
    if i < starts[starts.shape[0] - 1]:
        particle = order[i] // each
    particles[i] = particle


@kernel
def write_keys(
    cells: array1d(dtype=int),
    elements: array1d(dtype=int),
    count: int,
    keys: array1d(dtype=int),
    order: array1d(dtype=int),
    element_of: array1d(dtype=int),
):
    """Write the element of each point as a key for sorting, `count` for points in none."""
    i = tid()
    cell = cells[i]
    element = cell
    if cell >= 0 and elements.shape[0] > 0:
        element = elements[cell]
    keys[i] = element if element >= 0 else count
    element_of[i] = element
    order[i] = i


@kernel
def write_starts(keys: array1d(dtype=int), count: int, starts: array1d(dtype=int)):
    """Write where the points of each element begin among sorted ones."""
    element = tid()
    starts[element] = first_at_least(keys, 0, count, element)


def _sorted(domain: GeometryDomain, cells: array) -> tuple[array, array, array]:
    """Where the points of each element begin, all points in the order of elements, and the element of each."""
    device, number, count = cells.device, cells.size, domain.element_count()
    elements = domain.remember("elements of cells", lambda: _elements_of_cells(domain))
    keys, order = (empty(2 * number, dtype=int32, device=device) for _ in range(2))
    element_of, starts = (empty(n, dtype=int32, device=device) for n in (number, count + 1))
    with observers.NotRecording():
        launch(write_keys, number, [cells, elements, count], outputs=[keys, order, element_of], device=device)
        radix_sort_pairs(keys, order, number)
        launch(write_starts, count + 1, [keys, number], outputs=[starts], device=device)
    return starts, order, element_of


def _elements_of_cells(domain: GeometryDomain) -> array:
    """The element of each cell, -1 for cells that are not in the domain; empty for all cells."""
    found = np.empty(0, dtype=np.int32)
    if domain.element_indices is not None:
        found = np.full(domain.geometry.cell_count(), -1, dtype=np.int32)
        found[domain.element_indices] = np.arange(domain.element_count())
    return array(found, dtype=int32, device=domain.geometry.device)


@func
def fraction_of(fractions: array1d(dtype=Any), i: int):
    """Which part of its particle a point is: all of it without fractions."""
    found = fractions.dtype(1)
    if fractions.shape[0] > 0:
        found = fractions[i]
    return found


@kernel
def weigh(
    domain: Any,
    cells: array1d(dtype=int),
    measures: array1d(dtype=Any),
    fractions: array1d(dtype=Any),
    weights: array1d(dtype=Any),
):
    """Divide the size of each point by that of its cell."""
    i = tid()
    weights[i] = weights.dtype(0)
    if cells[i] >= 0:
        size = domain.volume * element_size(domain, cells[i], domain.points.inner[i], 0)
        weights[i] = measures[i // domain.points.each] * fraction_of(fractions, i) / size


@kernel
def weigh_evenly(
    starts: array1d(dtype=int),
    element_of: array1d(dtype=int),
    fractions: array1d(dtype=Any),
    weights: array1d(dtype=Any),
):
    """Give all points of an element the same weight, times their fractions."""
    i = tid()
    element = element_of[i]
    weights[i] = weights.dtype(0)
    if element >= 0:
        weights[i] = fraction_of(fractions, i) / weights.dtype(starts[element + 1] - starts[element])


def _weighed(domain: GeometryDomain, points: _Points, measures: Any, requires_grad: bool) -> array:
    """The weights of points, of each the part of its cell that it stands for."""
    g, number = domain.geometry, points.cells.size
    none = empty(0, dtype=g.scalar_type, device=g.device)
    fractions = none if points.fractions is None else points.fractions.flatten()
    places = points.places
    if measures is None:
        weights = empty(number, dtype=g.scalar_type, device=g.device)
        launch(weigh_evenly, number, [places[0], places[2], fractions], outputs=[weights], device=g.device)
        return weights
    _check_type("PicQuadrature: measures", measures, g.scalar_type)
    count = number // points.each
    if measures.shape != (count,):
        raise ValueError(f"PicQuadrature: measures: expected {count} numbers, got the shape {measures.shape}")
    has_gradient = requires_grad or measures.requires_grad or points.coords.requires_grad
    weights = empty(number, dtype=g.scalar_type, device=g.device, requires_grad=has_gradient)
    sampled = _record(domain, points.coords, none, places, points.each)
    launch(weigh, number, [sampled, points.cells, measures, fractions], [weights], device=g.device)
    return weights
