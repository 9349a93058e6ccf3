"""Points of `fem.NodalQuadrature` have the numbers of nodes, which cells share, as in warp-lang 1.19."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import fem


@fem.integrand
def number(s: fem.Sample):
    return float(s.qp_index)


@fem.integrand
def numbered(s: fem.Sample, u: fem.Field):
    return u(s) * float(s.qp_index)


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


@fem.integrand
def note(s: fem.Sample, domain: fem.Domain, visits: wp.array(dtype=int), places: wp.array(dtype=wp.vec2)):
    wp.atomic_add(visits, s.qp_index, 1)
    places[s.qp_index] = domain(s)
    return 0.0


def grid(x: int, y: int) -> fem.Grid2D:
    return fem.Grid2D(res=wp.vec2i(x, y))


def noted(quadrature: fem.NodalQuadrature) -> tuple[list[int], np.ndarray]:
    """How often each number occurs, and where."""
    count = quadrature.total_point_count()
    visits, places = wp.zeros(count, dtype=int), wp.zeros(count, dtype=wp.vec2)
    fem.integrate(note, quadrature=quadrature, values={"visits": visits, "places": places})
    return visits.list(), places.numpy()


@pytest.mark.parametrize("degree, is_apart, count", [(1, False, 9), (2, False, 25), (1, True, 16)])
def test_there_are_as_many_points_as_nodes(degree, is_apart, count):
    geo = grid(2, 2)
    space = fem.make_polynomial_space(geo, degree=degree, discontinuous=is_apart)
    quadrature = fem.NodalQuadrature(fem.Cells(geo), space)
    assert quadrature.total_point_count() == count == space.node_count()
    _, places = noted(quadrature)
    np.testing.assert_allclose(places, space.node_positions().numpy(), atol=1e-6)


def test_cells_share_points():
    geo = grid(2, 2)
    quadrature = fem.NodalQuadrature(fem.Cells(geo), fem.make_polynomial_space(geo))
    assert noted(quadrature)[0] == [1, 2, 1, 2, 4, 2, 1, 2, 1]


@pytest.mark.parametrize("sides", [fem.Sides, fem.BoundarySides])
def test_sides_have_the_nodes_of_their_cells(sides):
    geo = grid(3, 2)
    space = fem.make_polynomial_space(geo, degree=2)
    visits, places = noted(fem.NodalQuadrature(sides(geo), space))
    there = np.array(visits) > 0
    np.testing.assert_allclose(places[there], space.node_positions().numpy()[there], atol=1e-6)
    is_inside = ((places > 0.01) & (places < 0.99)).all(axis=1)
    assert (is_inside & there).any() == (sides is fem.Sides)


@pytest.mark.parametrize(
    "rank, halo, own, visits",
    [
        (0, False, range(9), [1, 2, 1, 2, 4, 2, 1, 2, 1]),
        (0, True, range(12), [1, 2, 1, 2, 4, 2, 1, 2, 1, 0, 0, 0]),
        (1, False, range(6, 15), [1, 2, 1, 2, 4, 2, 1, 2, 1]),
        (1, True, [12, 13, 14, 6, 7, 8, 9, 10, 11, 3, 4, 5], [1, 2, 1, 1, 2, 1, 2, 4, 2, 0, 0, 0]),
    ],
)
def test_parts(rank, halo, own, visits):
    geo = grid(4, 2)
    space = fem.make_polynomial_space(geo)
    cells = fem.LinearGeometryPartition(geo, rank, 2)
    part = fem.make_space_partition(space_topology=space.topology, geometry_partition=cells, with_halo=halo)
    assert part.space_node_indices().list() == list(own)
    assert noted(fem.NodalQuadrature(fem.Cells(cells), space, space_partition=part))[0] == visits
    whole = noted(fem.NodalQuadrature(fem.Cells(cells), space))[0]
    assert len(whole) == 15 and [whole[i] for i in own] == visits


def test_sums_at_nodes_and_values_of_fields():
    geo = grid(2, 2)
    space = fem.make_polynomial_space(geo)
    found = fem.integrate(numbered, fields={"u": fem.make_test(space)}, assembly="nodal")
    np.testing.assert_allclose(found.numpy(), [0.0, 0.125, 0.125, 0.375, 1.0, 0.625, 0.375, 0.875, 0.5])
    field = space.make_field()
    fem.interpolate(number, dest=field)
    assert field.dof_values.list() == list(range(9))


def test_interpolation_takes_each_node_once():
    """Of the array each node has one value, whose derivative is that of one cell; of the matrix one row."""
    geo = grid(2, 2)
    space = fem.make_polynomial_space(geo)
    quadrature = fem.NodalQuadrature(fem.Cells(geo), space)
    field = space.make_field()
    values = np.linspace(1.0, 2.0, 9).astype(np.float32)
    field.dof_values = wp.array(values, dtype=float, requires_grad=True)
    out, weights = wp.zeros(9, dtype=float, requires_grad=True), np.arange(1.0, 10.0, dtype=np.float32)
    with wp.Tape() as tape:
        fem.interpolate(value, dest=out, at=quadrature, fields={"u": field})
    np.testing.assert_allclose(out.numpy(), values, rtol=1e-6)
    tape.backward(grads={out: wp.array(weights, dtype=float)})
    np.testing.assert_allclose(field.dof_values.grad.numpy(), weights, rtol=1e-6)
    matrix = wp.sparse.bsr_zeros(9, 9, block_type=wp.float32)
    fem.interpolate(value, dest=matrix, at=quadrature, fields={"u": fem.make_trial(space)})
    np.testing.assert_allclose(wp.sparse.bsr_mv(matrix, wp.array(values, dtype=float)).numpy(), values, rtol=1e-6)
