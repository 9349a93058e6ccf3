"""Matrices of interpolation, and interpolation by numbers: against interpolation of fields."""

from __future__ import annotations

import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


@fem.integrand
def slope(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return domain(s)[0] * fem.grad(u, s)[1]


def random_field(space):
    field = space.make_field()
    field.dof_values = np.random.default_rng(3).normal(size=(space.node_count(), space.component_count)).squeeze()
    return field


@pytest.mark.parametrize("reduction", ["weighted_average", "mean", "sum", "first"])
@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Hexmesh"])
def test_rows_are_nodes(name, reduction):
    """The product with values at nodes is what interpolation of the field gives, for jumping fields, too."""
    geo = geometry(name)
    jumping, space = (fem.make_polynomial_space(geo, degree=d, discontinuous=d == 1) for d in (1, 2))
    field, dest = random_field(jumping), space.make_field()
    matrix = wp.sparse.bsr_zeros(space.node_count(), jumping.node_count(), F)
    given = {"at": fem.Cells(geo), "reduction": reduction}
    for form in (value, slope):
        fields = {"u": fem.make_trial(jumping)}
        fem.interpolate(form, dest=matrix, dest_space=space, fields=fields, **given)
        fem.interpolate(form, dest=dest, fields={"u": field}, **given)
        np.testing.assert_allclose(dense(matrix) @ field.dof_values.numpy(), dest.dof_values.numpy(), atol=1e-12)


def test_rows_are_points():
    geo = geometry("Trimesh2D")
    field = random_field(fem.make_polynomial_space(geo, degree=2))
    points = fem.RegularQuadrature(fem.Cells(geo), order=2)
    matrix = wp.sparse.bsr_zeros(points.total_point_count(), field.space.node_count(), F)
    fem.interpolate(slope, dest=matrix, at=points, fields={"u": fem.make_trial(field.space)})
    found = wp.zeros(points.total_point_count(), dtype=F)
    fem.interpolate(slope, dest=found, at=points, fields={"u": field})
    np.testing.assert_allclose(dense(matrix) @ field.dof_values.numpy(), found.numpy(), atol=1e-12)


def test_blocks_of_vectors():
    geo = geometry("Grid2D")
    coarse, fine = (fem.make_polynomial_space(geo, dtype=wp.vec2d, degree=d) for d in (1, 2))
    field, dest = random_field(coarse), fine.make_field()
    matrix = wp.sparse.bsr_zeros(fine.node_count(), coarse.node_count(), wp.mat22d)
    fem.interpolate(value, dest=matrix, dest_space=fine, at=fem.Cells(geo), fields={"u": fem.make_trial(coarse)})
    fem.interpolate(field, dest=dest)
    found = dense(matrix) @ field.dof_values.numpy().ravel()
    np.testing.assert_allclose(found, dest.dof_values.numpy().ravel(), atol=1e-13)


def test_rows_of_a_part():
    """Nodes of a part by their numbers there, for matrices and for arrays."""
    geo = geometry("Grid2D")
    space = fem.make_polynomial_space(geo)
    part = fem.make_space_partition(space.topology, fem.LinearGeometryPartition(geo, 1, 2), with_halo=False)
    at = fem.make_space_restriction(part)
    matrix = wp.sparse.bsr_zeros(part.node_count(), space.node_count(), F)
    fem.interpolate(value, dest=matrix, dest_space=space, at=at, fields={"u": fem.make_trial(space)})
    field, found = random_field(space), wp.zeros(part.node_count(), dtype=F)
    expected = field.dof_values.numpy()[part.space_node_indices().numpy()]
    np.testing.assert_allclose(dense(matrix) @ field.dof_values.numpy(), expected, atol=1e-14)
    fem.interpolate(value, dest=found, dest_space=space, at=at, fields={"u": field})
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-14)


def test_nodes_of_points_are_rows():
    geo = geometry("Grid2D")
    at = wp.array(np.random.default_rng(0).uniform(0.1, 0.9, (7, 2)), dtype=wp.vec2d)
    pic = fem.PicQuadrature(fem.Cells(geo), at)
    points = fem.make_collocated_function_space(fem.PointBasisSpace(pic, use_evaluation_point_index=True))
    space = fem.make_polynomial_space(geo)
    matrix = wp.sparse.bsr_zeros(7, space.node_count(), F)
    fem.interpolate(value, dest=matrix, dest_space=points, at=pic.domain, fields={"u": fem.make_trial(space)})
    found = dense(matrix) @ space.node_positions()
    np.testing.assert_allclose(found, at.numpy()[pic.cell_particle_indices.numpy()], atol=1e-14)
    by_particle = wp.sparse.bsr_zeros(7, space.node_count(), F)
    fem.interpolate(value, dest=by_particle, at=pic, fields={"u": fem.make_trial(space)})
    np.testing.assert_allclose(dense(by_particle) @ space.node_positions(), at.numpy(), atol=1e-14)


@fem.integrand
def at_position(s: fem.Sample, domain: fem.Domain, u: fem.Field, x: wp.array(dtype=wp.vec2d)):
    return u(fem.lookup(domain, x[s.qp_index])) + F(10.0) * F(s.element_index)


def test_samples_by_number():
    """An integrand that looks samples up runs for numbers, which belong to no element."""
    geo = geometry("Grid2D")
    field = fem.make_polynomial_space(geo).make_field()
    field.dof_values = field.space.node_positions() @ [1.0, 2.0]
    x = np.random.default_rng(1).uniform(0.0, 1.0, (5, 2))
    found, values = wp.zeros(5, dtype=F), {"x": wp.array(x, dtype=wp.vec2d)}
    fem.interpolate(at_position, dest=found, dim=5, at=fem.Cells(geo), fields={"u": field}, values=values)
    np.testing.assert_allclose(found.numpy(), x @ [1.0, 2.0] - 10.0, atol=1e-12)


@fem.integrand
def parts(s: fem.Sample, u: fem.Field):
    total = u(s) - u(s)
    for k in range(fem.node_count(u, s)):
        total += F(k + 1) * u(s, k)
    return total


def test_parts_of_values_by_nodes():
    geo = geometry("Trimesh2D")
    field = random_field(fem.make_polynomial_space(geo))
    found = wp.zeros(geo.cell_count(), dtype=F)
    fem.interpolate(parts, dest=found, at=fem.Cells(geo), fields={"u": field})
    nodes = field.dof_values.numpy()[field.space.basis.cell_nodes]
    np.testing.assert_allclose(found.numpy(), nodes @ [1.0, 2.0, 3.0] / 3.0, atol=1e-13)


@fem.integrand
def own_node(s: fem.Sample, v: fem.Field, numbers: wp.array(dtype=float)):
    node = fem.node_index(v, s)
    numbers[node] = float(fem.node_count(v, s)) + 100.0 * float(node)
    return v(fem.at_node(v, s)) * F(1.0 / 6.0)


def test_test_fields_know_their_node():
    """They are 1 there; a sum over the cells of a node counts these."""
    geo = geometry("Grid2D")
    space, numbers = fem.make_polynomial_space(geo), wp.zeros(12, dtype=float)
    found = fem.integrate(own_node, fields={"v": fem.make_test(space)}, values={"numbers": numbers}).numpy()
    np.testing.assert_allclose(found, _cells_of_nodes() / 36.0, atol=1e-14)
    assert numbers.list() == [4.0 + 100.0 * i for i in range(12)]


def _cells_of_nodes():
    ones = np.pad(np.ones((3, 2)), 1)
    return (ones[1:, 1:] + ones[:-1, 1:] + ones[1:, :-1] + ones[:-1, :-1]).ravel()


GEO = geometry("Grid2D")
SPACE = fem.make_polynomial_space(GEO)
TRIAL = {"u": fem.make_trial(SPACE)}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fem.interpolate(value, dest=SPACE.make_field(), fields=TRIAL), "a trial field makes a matrix"),
        (
            lambda: fem.interpolate(
                value, dest=wp.sparse.bsr_zeros(2, 2, F), dest_space=SPACE, at=fem.Cells(GEO), fields=TRIAL
            ),
            "expected a matrix of 12 x 12 blocks, got 2 x 2",
        ),
        (
            lambda: fem.interpolate(value, dest=wp.sparse.bsr_zeros(2, 2, F), at=fem.Cells(GEO), fields=TRIAL),
            "say which rows a matrix has",
        ),
        (
            lambda: fem.interpolate(
                value,
                dest=wp.sparse.bsr_zeros(12, 12, F),
                dest_space=SPACE,
                at=fem.Cells(GEO),
                fields=TRIAL,
                reduction="max",
            ),
            "a matrix has sums and means",
        ),
        (lambda: fem.interpolate(value, dim=3, fields={"u": SPACE.make_field()}, at=object()), "at: expected"),
    ],
)
def test_mistakes_are_told(call, text):
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        call()
