"""Parts of geometries and their nodes: what all parts have together is what the whole geometry has."""

from __future__ import annotations

import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64
ALL = ("Grid2D", "Trimesh2D", "Quadmesh2D", "Grid3D", "Tetmesh", "Hexmesh")


def parts_of(geo, count=3):
    return [fem.LinearGeometryPartition(geo, rank, count) for rank in range(count)]


def grid_part():
    """Cells 0 to 3 and 6 of a grid of 4 x 2."""
    geo = fem.Grid2D(res=(4, 2), scalar_type=F)
    return fem.ExplicitGeometryPartition(geo, wp.array([1, 1, 1, 1, 0, 0, 1, 0], dtype=int))


def test_counts_are_those_of_warp():
    """Numbers that warp-lang 1.19 gives for the same grid."""
    part = grid_part()
    sizes = part.cell_count(), part.side_count(), part.boundary_side_count(), part.frontier_side_count()
    assert sizes == (5, 15, 8, 4)
    linear = parts_of(part.geometry)
    sizes = [(p.cell_count(), p.side_count(), p.boundary_side_count(), p.frontier_side_count()) for p in linear]
    assert sizes == [(3, 10, 5, 3), (3, 7, 3, 5), (2, 5, 4, 2)]
    assert fem.FrontierSides(part.geometry).element_count() == 0
    assert fem.Cells(part).name == "Grid2D_ExplicitGeometryPartition_Cells"
    assert fem.Sides(part).element_kind is fem.ElementKind.SIDE


def test_nodes_are_numbered_as_those_of_warp():
    """Nodes inside come first, then those of cells at the frontier, then those beyond its own and other sides."""
    part = grid_part()
    space = fem.make_polynomial_space(part.geometry)
    nodes = fem.make_space_partition(space.topology, part)
    assert nodes.space_node_indices().list() == [*range(11), 12, 13, 11, 14]
    assert (nodes.node_count(), nodes.owned_node_count(), nodes.interior_node_count()) == (15, 13, 3)
    middle = fem.make_space_partition(space.topology, parts_of(part.geometry)[1])
    assert middle.space_node_indices().list() == [*range(4, 15), 1, 2, 3]
    assert (middle.owned_node_count(), middle.interior_node_count()) == (8, 0)
    alone = fem.make_space_partition(space.topology, part, with_halo=False)
    assert alone.space_node_indices().list() == [*range(11), 12, 13]
    assert alone.interior_node_count() == alone.owned_node_count() == 13
    restriction = fem.make_space_restriction(nodes)
    assert (restriction.node_count(), restriction.total_node_element_count()) == (13, 20)
    assert restriction.node_partition_indices().list() == list(range(13))
    separate = fem.make_polynomial_space(part.geometry, discontinuous=True)
    nodes = fem.make_space_partition(separate.topology, part)
    assert (nodes.node_count(), nodes.owned_node_count(), nodes.interior_node_count()) == (32, 20, 8)


@fem.integrand
def load(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return v(s) * domain(s)[0]


@fem.integrand
def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s)) + u(s) * v(s)


@fem.integrand
def jumps(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    along = wp.dot(fem.grad_average(u, s), fem.normal(domain, s))
    return fem.measure_ratio(domain, s) * fem.jump(u, s) * fem.outer(v, s) + along * fem.average(v, s)


def in_space(space, part, found):
    """An array or a matrix of a part, with the numbers that nodes have in the space."""
    places = part.space_node_indices().numpy()
    made = np.zeros([space.node_count()] * found.ndim)
    made[np.ix_(*[places] * found.ndim)] = found
    return made


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", [fem.Cells, fem.BoundarySides])
def test_parts_sum_up_to_the_whole(name, kind):
    geo = geometry(name)
    space = fem.make_polynomial_space(geo, degree=2)
    whole = kind(geo)
    fields = {"u": fem.make_trial(space, domain=whole), "v": fem.make_test(space, domain=whole)}
    expected = fem.integrate(load, fields={"v": fields["v"]}).numpy(), dense(fem.integrate(stiffness, fields=fields))
    found = [np.zeros_like(e) for e in expected]
    for part in parts_of(geo):
        nodes = fem.make_space_partition(space.topology, part)
        restriction = fem.make_space_restriction(nodes, domain=kind(part))
        test = fem.make_test(space, space_restriction=restriction)
        trial = fem.make_trial(space, space_partition=nodes, domain=test.domain)
        vector = fem.integrate(load, fields={"v": test})
        assert vector.shape == (nodes.node_count(),)
        matrix = dense(fem.integrate(stiffness, fields={"u": trial, "v": test}))
        for total, of_part in zip(found, (vector.numpy(), matrix)):
            total += in_space(space, nodes, of_part)
    for total, e in zip(found, expected):
        np.testing.assert_allclose(total, e, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("discontinuous", [True, False])
def test_sides_of_parts_reach_the_halo(name, discontinuous):
    """Each side belongs to one part, which has the nodes of both cells."""
    geo = geometry(name)
    space = fem.make_polynomial_space(geo, degree=1, discontinuous=discontinuous)
    sides = fem.Sides(geo)
    fields = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    expected = dense(fem.integrate(jumps, fields=fields))
    found = np.zeros_like(expected)
    for part in parts_of(geo):
        test, trial = fem.make_test(space, domain=fem.Sides(part)), fem.make_trial(space, domain=fem.Sides(part))
        matrix = dense(fem.integrate(jumps, fields={"u": trial, "v": test}))
        assert len(matrix) == test.space_partition.node_count()
        found += in_space(space, test.space_partition, matrix)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@fem.integrand
def height(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return F(10.0) * x[0] + x[1]


@fem.integrand
def roughness(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return wp.abs(fem.jump(u, s)) + wp.abs(fem.outer(u, s) - height(s, domain)) + wp.length(fem.grad_jump(u, s))


@fem.integrand
def difference(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return wp.abs(u(s) - height(s, domain)) + wp.abs(fem.grad(u, s)[0] - F(10.0))


@pytest.mark.parametrize("name", ALL)
def test_fields_of_parts(name):
    """A field of a part is interpolated in its cells. Values in the halo come from elsewhere."""
    geo = geometry(name)
    space = fem.make_polynomial_space(geo, degree=2)
    whole = space.make_field()
    fem.interpolate(height, dest=whole)
    for part in parts_of(geo):
        nodes = fem.make_space_partition(space.topology, part)
        field = space.make_field(space_partition=nodes)
        fem.interpolate(height, dest=field)
        assert fem.integrate(difference, domain=fem.Cells(part), fields={"u": field}) == pytest.approx(0.0, abs=1e-11)
        expected = whole.dof_values.numpy()[nodes.space_node_indices().numpy()]
        owned = nodes.owned_node_count()
        np.testing.assert_allclose(field.dof_values.numpy()[:owned], expected[:owned], atol=1e-13)
        np.testing.assert_array_equal(field.dof_values.numpy()[owned:], 0.0)
        field.dof_values = expected
        for domain in (fem.Sides(part), fem.FrontierSides(part)):
            assert fem.integrate(roughness, domain=domain, fields={"u": field}) == pytest.approx(0.0, abs=1e-11)


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


def test_nodes_that_a_part_lacks_are_zero():
    part = grid_part()
    space = fem.make_polynomial_space(part.geometry, degree=0)
    field = space.make_field(fem.make_space_partition(space.topology, part, with_halo=False))
    field.dof_values.fill_(2.0)
    found = fem.integrate(value, domain=fem.Cells(part.geometry), fields={"u": field})
    assert found == pytest.approx(2.0 * 5.0 / 8.0)


@fem.integrand
def numbers(s: fem.Sample, domain: fem.Domain, u: fem.Field, cells: wp.array(dtype=int), nodes: wp.array2d(dtype=int)):
    cells[s.element_index] = fem.element_partition_index(domain, s.element_index)
    for i in range(fem.node_count(u, s)):
        nodes[s.element_index, i] = fem.node_partition_index(u, fem.node_index(u, s, i))


@fem.integrand
def by_hand(s: fem.Sample, u: fem.Field, dofs: wp.array(dtype=F)):
    found = F(0.0)
    slope = wp.vec2d()
    for i in range(fem.node_count(u, s)):
        dof = dofs[fem.node_partition_index(u, fem.node_index(u, s, i))]
        found += dof * fem.node_inner_weight(u, s, i)
        slope += dof * fem.node_inner_weight_gradient(u, s, i)
    return wp.abs(found - u(s)) + wp.length(slope - fem.grad(u, s))


@pytest.mark.parametrize("is_part", [True, False])
def test_numbers_in_kernels(is_part):
    part = grid_part()
    space = fem.make_polynomial_space(part.geometry)
    nodes = fem.make_space_partition(space.topology, part) if is_part else None
    field = space.make_field(nodes)
    cells, found = wp.full(8, 99, dtype=int), wp.zeros((8, 4), dtype=int)
    domain = fem.Cells(part if is_part else part.geometry)
    values = {"cells": cells, "nodes": found}
    fem.interpolate(numbers, at=fem.RegularQuadrature(domain, order=0), fields={"u": field}, values=values)
    assert cells.list() == ([0, 1, 2, 3, 99, 99, 4, 99] if is_part else list(range(8)))
    assert found.numpy()[6].tolist() == ([9, 10, 11, 12] if is_part else [9, 10, 12, 13])
    field.dof_values = np.random.default_rng(2).normal(size=field.node_count())
    at_hand = {"dofs": field.dof_values}
    assert fem.integrate(by_hand, domain=domain, fields={"u": field}, values=at_hand) == pytest.approx(0.0, abs=1e-13)


def test_restrictions_are_destinations():
    geo = geometry("Trimesh2D")
    space = fem.make_polynomial_space(geo, degree=2)
    x, y = space.node_positions().T
    is_outside = (np.minimum(x, y) < 1e-9) | (np.maximum(x, y) > 1.0 - 1e-9)
    sides = fem.BoundarySides(geo)
    for more in ({"domain": sides}, {"space_restriction": fem.make_space_restriction(None, sides, space.topology)}):
        field = space.make_field()
        fem.interpolate(height, dest=fem.make_restriction(field, **more))
        np.testing.assert_allclose(field.dof_values.numpy(), np.where(is_outside, 10.0 * x + y, 0.0), atol=1e-14)


def test_mistakes_are_told():
    part = grid_part()
    space, other = (fem.make_polynomial_space(part.geometry, degree=d) for d in (1, 2))
    nodes = fem.make_space_partition(space.topology, part)
    calls = [
        (lambda: fem.make_test(other, space_partition=nodes), "its nodes are those of another space"),
        (lambda: other.make_field(nodes), "its nodes are those of another space"),
        (lambda: space.make_field(1), "expected what fem.make_space_partition returns, got int"),
        (lambda: fem.LinearGeometryPartition(part.geometry, 3, 3), "partition_rank=3: expected one of 0 to 2"),
        (
            lambda: fem.ExplicitGeometryPartition(part.geometry, wp.zeros(3, dtype=int)),
            "cell_mask: expected 8 elements, got (3,)",
        ),
        (
            lambda: fem.ExplicitGeometryPartition(part.geometry, wp.zeros(8, dtype=float)),
            "cell_mask: expected an array of int32, got one of float32",
        ),
        (lambda: fem.make_space_restriction(), "give space_partition or space_topology"),
        (lambda: fem.make_space_partition(geometry_space().topology, part), "belong to two geometries"),
        (lambda: fem.make_space_restriction(nodes, fem.Cells(geometry("Grid2D"))), "belong to two geometries"),
        (lambda: fem.GeometryPartition(1), "GeometryPartition: expected a geometry, got int"),
    ]
    for call, text in calls:
        with pytest.raises((TypeError, ValueError), match=re.escape(text)):
            call()


def geometry_space():
    return fem.make_polynomial_space(geometry("Grid2D"))


def residual(space, part, dofs, out):
    """The sum of squares of an integral over a part, for values at its nodes."""
    nodes = fem.make_space_partition(space.topology, part)
    field = space.make_field(nodes)
    field.dof_values = dofs
    found = fem.integrate(jumps, fields={"u": field, "v": fem.make_test(space, domain=fem.Sides(part))})
    wp.utils.array_inner(found, found, out)


def test_gradients_of_parts():
    geo = fem.Grid2D(res=(4, 2), scalar_type=F)
    space, part = fem.make_polynomial_space(geo, discontinuous=True), parts_of(geo)[0]
    count = fem.make_space_partition(space.topology, part).node_count()
    start = np.random.default_rng(0).normal(size=count)
    out, dofs = wp.zeros(1, dtype=F, requires_grad=True), wp.array(start, dtype=F, requires_grad=True)
    with wp.Tape() as tape:
        residual(space, part, dofs, out)
    tape.backward(loss=out)
    for i in range(count):
        pair = []
        for h in (1e-5, -1e-5):
            moved = start.copy()
            moved[i] += h
            residual(space, part, wp.array(moved, dtype=F), out)
            pair.append(out.numpy()[0])
        assert dofs.grad.numpy()[i] == pytest.approx((pair[0] - pair[1]) / 2e-5, rel=1e-6, abs=1e-7)


# -- numbers of cells, sides and nodes that a program asks for ------------------------------------------------------


@fem.integrand
def unit(s: fem.Sample):
    return 1.0


@fem.integrand
def even_load(s: fem.Sample, v: fem.Field):
    return v(s)


def padded_part(**limits):
    """Three of the six cells of a grid of 3 x 2."""
    geo = fem.Grid2D(res=(3, 2), scalar_type=F)
    return fem.ExplicitGeometryPartition(geo, wp.array([0, 1, 1, 0, 0, 1], dtype=int), **limits)


@pytest.mark.parametrize(
    ("limits", "counts"),
    [
        ({}, (3, 8, 5, 7)),
        ({"max_cell_count": 5}, (5, 8, 5, 7)),
        ({"max_cell_count": 10}, (6, 8, 5, 7)),
        ({"max_side_count": 0}, (3, 0, 0, 0)),
        ({"max_cell_count": 5, "max_side_count": 0}, (5, 0, 0, 0)),
        ({"max_side_count": 30}, (3, 17, 17, 17)),
    ],
)
def test_parts_count_what_a_program_asks_for(limits, counts):
    """Numbers that warp-lang 1.19 gives for the same part. Integrals are those of the cells that are there."""
    part = padded_part(**limits)
    found = part.cell_count(), part.side_count(), part.boundary_side_count(), part.frontier_side_count()
    assert found == counts
    assert fem.integrate(unit, domain=fem.Cells(part)) == pytest.approx(0.5)
    nodes = fem.make_space_partition(fem.make_polynomial_space(part.geometry).topology, part)
    halo = [9, 0] if counts[1] else []
    assert nodes.space_node_indices().list() == [*range(1, 9), 10, 11, *halo]


def test_kernels_see_cells_that_are_not_there():
    part = padded_part(max_cell_count=5)

    @wp.kernel
    def store(cells: part.CellArg, found: wp.array(dtype=int)):
        i = wp.tid()
        found[i] = part.cell_index(cells, i)

    found = wp.zeros(part.cell_count(), dtype=int)
    wp.launch(store, dim=part.cell_count(), inputs=[part.cell_arg_value(), found])
    assert found.list() == [1, 2, 5, fem.NULL_ELEMENT_INDEX, fem.NULL_ELEMENT_INDEX]
    at = wp.array([(0.5, 0.75), (0.9, 0.9)], dtype=wp.vec2d)
    cells, coords = wp.array([0, 2], dtype=int), wp.zeros(2, dtype=wp.vec3d)
    pic = fem.PicQuadrature(fem.Cells(part), (cells, coords), use_domain_element_indices=True)
    assert pic.cell_particle_offsets.list() == [0, 1, 1, 2, 2, 2]
    assert fem.PicQuadrature(fem.Cells(part), at).cell_particle_offsets.list() == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("count", [12, 20])
def test_nodes_fill_up_a_number(count):
    """Numbers that warp-lang 1.19 gives: other nodes of the space follow, and rows of forms are zero there."""
    part = padded_part()
    space = fem.make_polynomial_space(part.geometry)
    nodes = fem.make_space_partition(space.topology, part, with_halo=False, max_node_count=count)
    assert (nodes.node_count(), nodes.owned_node_count(), nodes.interior_node_count()) == (12, 12, 12)
    assert nodes.space_node_indices().list() == [*range(1, 9), 10, 11, 0, 9]
    test = fem.make_test(space, space_partition=nodes, domain=fem.Cells(part))
    loads = fem.integrate(even_load, fields={"v": test})
    np.testing.assert_allclose(loads.numpy(), np.array([1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 0, 0]) / 24.0, rtol=1e-12)


def test_parts_take_other_cells():
    part = padded_part(max_cell_count=4)
    before = part.boundary_side_count()
    part.rebuild(wp.array([1, 1, 1, 1, 0, 0], dtype=int))
    assert (part.cell_count(), part.cells.tolist()) == (4, [0, 1, 2, 3])
    assert part.boundary_side_count() == 6 != before
    with pytest.raises(ValueError, match=r"max_cell_count=4: the part has 5"):
        part.rebuild(wp.array([1, 1, 1, 1, 1, 0], dtype=int))


def test_too_many_are_refused():
    with pytest.raises(ValueError, match=r"max_cell_count=2: the part has 3"):
        padded_part(max_cell_count=2)
    with pytest.raises(ValueError, match=r"max_side_count=3: the part has 8"):
        padded_part(max_side_count=3).side_count()
    part = padded_part()
    nodes = fem.make_space_partition(fem.make_polynomial_space(part.geometry).topology, part, max_node_count=4)
    with pytest.raises(ValueError, match=r"max_node_count=4: the part has 12 nodes"):
        nodes.node_count()
