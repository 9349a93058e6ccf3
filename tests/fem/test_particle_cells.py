"""Particles over several cells, nodes in the order of cells, and kernels of programs over domains: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.sparse.matrices import dense

F = wp.float64
GRID = fem.Grid2D(res=(4, 1), bounds_hi=wp.vec2d(4.0, 1.0), scalar_type=F)
PART = fem.ExplicitGeometryPartition(GRID, wp.array([0, 0, 1, 1], dtype=int))
# Particle x cell: numbers in the part, coordinates, and which part of the particle is there.
CELLS = np.array([[0, 1], [0, -1], [1, -1], [-1, -1]], dtype=np.int32)
COORDS = np.array([[(0.9, 0.5), (0.2, 0.5)], [(0.5, 0.5), (0, 0)], [(0.7, 0.25), (0, 0)], [(0, 0), (0, 0)]])
FRACTIONS = np.array([[0.25, 0.75], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
SIZES = np.array([1.0, 2.0, 4.0, 8.0])
# The points in the order of cells: of which particle, in which cell of the geometry, where there, how large.
PARTICLES = np.array([0, 1, 0, 2])
POINTS = np.array([(2.9, 0.5), (2.5, 0.5), (3.2, 0.5), (3.7, 0.25)])
WEIGHTS = np.array([0.25, 2.0, 0.75, 4.0])


def spread(measures=True):
    coords = np.pad(COORDS, ((0, 0), (0, 0), (0, 1)))
    given = wp.array(CELLS, dtype=int), wp.array(coords, dtype=wp.vec3d), wp.array(FRACTIONS, dtype=F)
    sizes = wp.array(SIZES, dtype=F) if measures else None
    return fem.PicQuadrature(fem.Cells(PART), given, sizes, use_domain_element_indices=True)


@fem.integrand
def position_of_particle(s: fem.Sample, domain: fem.Domain, found: wp.array(dtype=wp.vec2d)):
    wp.atomic_add(found, s.qp_index, s.qp_weight * fem.measure(domain, s) * domain(s))


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


def hats(x):
    """The multilinear functions of the grid at positions, by the numbers of its nodes."""
    along = np.maximum(0.0, 1.0 - np.abs(x[:, 0, None] - np.arange(5)))
    across = np.maximum(0.0, 1.0 - np.abs(x[:, 1, None] - np.arange(2)))
    return np.einsum("pi,pj->pij", along, across).reshape(len(x), -1)


def test_particles_over_several_cells():
    pic = spread()
    assert pic.total_point_count() == 4 and pic.max_points_per_element() == 2 and pic.active_cell_count() == 2
    assert pic.cell_particle_offsets.list() == [0, 2, 4]
    assert pic.cell_particle_indices.list() == [0, 1, 0, 2, -1, -1, -1, -1]
    found = wp.zeros(4, dtype=wp.vec2d)
    fem.interpolate(position_of_particle, at=pic, values={"found": found})
    expected = np.zeros((4, 2))
    np.add.at(expected, PARTICLES, WEIGHTS[:, None] * POINTS)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-14)
    space = fem.make_polynomial_space(GRID)
    integral = fem.integrate(value, quadrature=pic, fields={"u": fem.make_test(space)}).numpy()
    np.testing.assert_allclose(integral, hats(POINTS).T @ WEIGHTS, atol=1e-14)
    even = fem.integrate(value, quadrature=spread(False), fields={"u": fem.make_test(space)}).numpy()
    np.testing.assert_allclose(even, hats(POINTS).T @ [0.125, 0.5, 0.375, 0.5], atol=1e-14)


def test_cells_of_a_part_by_their_numbers_in_the_geometry():
    at = wp.array([(3.2, 0.5), (2.5, 0.5), (3.7, 0.25), (0.5, 0.5)], dtype=wp.vec2d)
    pic = fem.PicQuadrature(fem.Cells(PART), at)
    assert pic.cell_particle_offsets.list() == [0, 0, 0, 1, 3]
    assert pic.cell_particle_indices.list() == [1, 0, 2, -1]
    assert pic.name == "PicQuadrature_Grid2D_ExplicitGeometryPartition_Cells"


@pytest.mark.parametrize("limit", [-1, 1])
@pytest.mark.parametrize("by_order", [False, True])
def test_nodes_of_points(by_order, limit):
    """A node for each point in the order of cells, or for each particle; of a limited number of points of a cell."""
    pic = spread()
    basis = fem.PointBasisSpace(pic, max_nodes_per_element=limit, use_evaluation_point_index=by_order)
    points, space = fem.make_collocated_function_space(basis), fem.make_polynomial_space(GRID)
    assert (2 if limit < 0 else 1) == basis.MAX_NODES_PER_ELEMENT
    assert points.node_count() == (8 if by_order else 4)
    part = fem.make_space_partition(basis.topology, PART, with_halo=False)
    taken = np.array([True, limit < 0, True, limit < 0])
    nodes = np.where(taken, np.arange(4) if by_order else PARTICLES, -1)
    numbers = np.unique(nodes[taken])
    assert part.space_node_indices().list() == numbers.tolist()
    test = fem.make_test(points, space_restriction=fem.make_space_restriction(part))
    matrix = dense(fem.integrate(mass, quadrature=pic, fields={"u": fem.make_trial(space), "v": test}))
    picked = (nodes[None] == numbers[:, None]).astype(float)
    np.testing.assert_allclose(matrix, picked @ (WEIGHTS[:, None] * hats(POINTS)), atol=1e-14)
    field = points.make_field(part)
    field.dof_values = 1.0 + np.arange(len(numbers))
    total = fem.integrate(value, quadrature=pic, fields={"u": field})
    assert total == pytest.approx(picked.T @ (1.0 + np.arange(len(numbers))) @ WEIGHTS)
    fem.interpolate(x_of, dest=field, at=fem.make_space_restriction(part))
    if by_order:
        np.testing.assert_allclose(field.dof_values.numpy(), POINTS[taken, 0], atol=1e-14)
        np.testing.assert_allclose(points.node_positions()[numbers], POINTS[taken], atol=1e-14)


@pytest.mark.parametrize("by_order", [False, True])
def test_the_whole_geometry_has_the_points_beyond_the_limit_of_their_cell_too(by_order):
    basis = fem.PointBasisSpace(spread(), max_nodes_per_element=1, use_evaluation_point_index=by_order)
    points = fem.make_collocated_function_space(basis)
    part = fem.make_space_partition(points.topology)
    assert part.space_node_indices().list() == list(range(points.node_count()))
    assert points.make_field(part).dof_values.shape == (points.node_count(),)


def test_a_field_keeps_its_values_in_a_space_with_as_many_nodes():
    field = fem.make_polynomial_space(fem.Grid2D(res=(2, 2))).make_field()
    field.dof_values.fill_(7.0)
    field.rebind(fem.make_polynomial_space(fem.Grid2D(res=(2, 2), bounds_hi=wp.vec2(3.0, 3.0))))
    assert field.dof_values.list() == [7.0] * 9
    field.rebind(fem.make_polynomial_space(fem.Grid2D(res=(3, 2))))
    assert field.dof_values.list() == [0.0] * 12


@fem.integrand
def x_of(s: fem.Sample, domain: fem.Domain):
    return domain(s)[0]


def test_points_keep_symmetric_matrices():
    pic, mapper = spread(), fem.SymmetricTensorMapper(wp.mat22d)
    basis = fem.PointBasisSpace(pic, use_evaluation_point_index=True)
    space = fem.make_collocated_function_space(basis, dof_mapper=mapper)

    @fem.integrand
    def stretch(s: fem.Sample, tau: fem.Field):
        return wp.ddot(tau(s), wp.mat22d(F(1.0), F(0.5), F(0.5), F(3.0)))

    matrix = fem.integrate(stretch, quadrature=pic, fields={"tau": fem.make_test(space)}).numpy()
    root = np.sqrt(2.0)
    np.testing.assert_allclose(matrix[:4], WEIGHTS[:, None] * [root, 3.0 * root, 1.0], atol=1e-14)


def test_kernels_of_programs_over_a_part():
    """Positions to cells of a part, by the functions and arguments that a domain has."""
    domain, nodes = fem.Cells(PART), fem.make_space_partition(fem.make_polynomial_space(GRID).topology, PART, False)
    lookup, coordinates = domain.element_partition_lookup, domain.element_coordinates

    @wp.kernel
    def locate(
        geometry: domain.ElementArg,
        elements: domain.ElementIndexArg,
        part: PART.CellArg,
        of_part: nodes.PartitionArg,
        x: wp.array(dtype=wp.vec2d),
        cells: wp.array(dtype=wp.vec4i),
        coords: wp.array(dtype=wp.vec3d),
    ):
        i = wp.tid()
        s = lookup(domain.DomainArg(geometry, elements), x[i])
        number, back = -1, -1
        if s.element_index != fem.NULL_ELEMENT_INDEX:
            coords[i] = coordinates(geometry, s.element_index, x[i])
            number = domain.element_partition_index(elements, s.element_index)
            back = PART.cell_index(part, number)
        cells[i] = wp.vec4i(s.element_index, number, back, nodes.partition_node_index(of_part, 2 * i))

    x = wp.array([(2.5, 0.25), (3.75, 0.5), (0.5, 0.5)], dtype=wp.vec2d)
    cells, coords = wp.zeros(3, dtype=wp.vec4i), wp.zeros(3, dtype=wp.vec3d)
    arguments = domain.element_arg_value(), domain.element_index_arg_value(), PART.cell_arg_value()
    wp.launch(locate, dim=3, inputs=[*arguments, nodes.partition_arg_value(), x], outputs=[cells, coords])
    null = fem.NULL_NODE_INDEX
    assert cells.numpy().tolist() == [[2, 0, 2, null], [3, 1, 3, null], [-1, -1, -1, 0]]
    assert coords.numpy().tolist() == [[0.5, 0.25, 0.0], [0.75, 0.5, 0.0], [0.0, 0.0, 0.0]]


def test_places_of_cells_along_axes():
    space = fem.Grid3D(res=(2, 3, 4))
    found = [list(fem.Grid3D.get_cell(space.res, i)) for i in range(space.cell_count())]
    assert found == np.argwhere(np.ones((2, 3, 4))).tolist()
    assert list(fem.Grid2D.get_cell(wp.vec2i(2, 3), 4)) == [1, 1]
