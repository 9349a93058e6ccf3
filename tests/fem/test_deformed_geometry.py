"""Deformed geometries: areas, lengths and solutions on curved cells, judged by formulas; gradients by differences."""

import math

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from omni.warp_core.optim.linear import cg

from .geometries import geometry


@fem.integrand
def one(s: fem.Sample):
    return 1.0


@fem.integrand
def outflow_of_positions(s: fem.Sample, domain: fem.Domain):
    return wp.dot(domain(s), fem.normal(domain, s))


@fem.integrand
def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def load(s: fem.Sample, v: fem.Field):
    return 4.0 * v(s)


@fem.integrand
def at_curves(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    r = wp.length(domain(s))
    is_curve = wp.abs(wp.dot(fem.normal(domain, s), domain(s))) > 0.5 * r
    return wp.where(is_curve, u(s) * v(s), 0.0)


@fem.integrand
def error_of_ring(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    r = wp.length(domain(s))
    found = u(s) - (1.0 - r * r + 3.0 * wp.log(r) / wp.log(type(r)(2.0)))
    return found * found


def ring(n: int, degree: int):
    """A quarter of the ring between the radii 1 and 2, as the positions of a field."""
    space = fem.make_polynomial_space(fem.Grid2D(res=(n, n), scalar_type=wp.float64), dtype=wp.vec2d, degree=degree)
    field, x = space.make_field(), space.node_positions()
    r, angle = 1.0 + x[:, 0], x[:, 1] * np.pi / 2.0
    field.dof_values = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
    return field


@pytest.mark.parametrize(("degree", "order"), [(1, 2), (2, 4), (3, 6)])
def test_areas_and_lengths_converge(degree, order):
    errors = []
    for n in (4, 8):
        geo = ring(n, degree).make_deformed_geometry(relative=False)
        quadrature = fem.RegularQuadrature(fem.BoundarySides(geo), 12)
        errors.append(
            (
                abs(fem.integrate(one, domain=fem.Cells(geo)) - 0.75 * np.pi),
                abs(fem.integrate(one, quadrature=quadrature) - (1.5 * np.pi + 2.0)),
            )
        )
        volume = fem.integrate(outflow_of_positions, quadrature=quadrature) / 2.0
        assert volume == pytest.approx(fem.integrate(one, quadrature=fem.RegularQuadrature(fem.Cells(geo), 12)))
    rates = np.log2(np.array(errors[0]) / np.array(errors[1]))
    assert (rates > order - 0.3).all(), errors


@pytest.mark.parametrize("degree", [1, 2])
def test_heat_in_a_ring_converges(degree):
    errors = []
    for n in (6, 12):
        geo = ring(n, degree).make_deformed_geometry(relative=False)
        space, sides = fem.make_polynomial_space(geo, degree=degree), fem.BoundarySides(geo)
        fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
        matrix, rhs = fem.integrate(stiffness, fields=fields), fem.integrate(load, fields={"v": fields["v"]})
        at_sides = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
        fem.project_linear_system(matrix, rhs, fem.integrate(at_curves, fields=at_sides, assembly="nodal"))
        found = space.make_field()
        cg(matrix, b=rhs, x=found.dof_values, tol=1e-10)
        points = fem.RegularQuadrature(fem.Cells(geo), 8)
        errors.append(math.sqrt(fem.integrate(error_of_ring, quadrature=points, fields={"u": found})))
    assert np.log2(errors[0] / errors[1]) > degree + 0.7, errors


@pytest.mark.parametrize("name", ["Grid2D", "Grid3D", "Trimesh2D", "Quadmesh2D", "Tetmesh", "Hexmesh"])
def test_linear_moves_are_exact(name):
    base = geometry(name)
    n = base.dimension
    space = fem.make_polynomial_space(base, dtype=(wp.vec2d, wp.vec3d)[n - 2], degree=2)
    field = space.make_field()
    matrix = np.eye(n) + 0.2 * np.arange(n * n).reshape(n, n) / n
    field.dof_values = space.node_positions() @ (matrix - np.eye(n)).T
    geo = field.make_deformed_geometry()
    size = fem.integrate(one, domain=fem.Cells(base)) * np.linalg.det(matrix)
    assert fem.integrate(one, domain=fem.Cells(geo)) == pytest.approx(size, rel=1e-10)
    assert fem.integrate(outflow_of_positions, domain=fem.BoundarySides(geo)) == pytest.approx(n * size, rel=1e-10)
    numbers = fem.make_polynomial_space(geo, degree=2)
    assert np.allclose(numbers.node_positions(), space.node_positions() @ matrix.T, atol=1e-9)
    assert np.allclose(geo.vertex_positions, base.vertex_positions @ matrix.T, atol=1e-9)
    assert (geo.side_count(), geo.boundary_side_count()) == (base.side_count(), base.boundary_side_count())


@fem.integrand
def slope_of(s: fem.Sample, u: fem.Field):
    return fem.grad(u, s)[0]


@fem.integrand
def slope_at_node(s: fem.Sample, u: fem.Field, v: fem.Field):
    return fem.grad(u, fem.at_node(v, s))[0] * v(s)


def test_gradients_are_those_by_position():
    geo = ring(5, 2).make_deformed_geometry(relative=False)
    space = fem.make_polynomial_space(geo, degree=2)
    field, slopes = space.make_field(), space.make_field()
    field.dof_values = 3.0 * space.node_positions()[:, 0] - space.node_positions()[:, 1]
    fem.interpolate(slope_of, dest=slopes, fields={"u": field})
    assert np.allclose(slopes.dof_values.numpy(), 3.0, atol=1e-9)
    weights = fem.integrate(load, fields={"v": fem.make_test(space)}).numpy() / 4.0
    given = {"u": field, "v": fem.make_test(space)}
    at_nodes = fem.integrate(slope_at_node, fields=given, assembly="nodal")
    assert at_nodes.numpy().sum() == pytest.approx(3.0 * weights.sum(), rel=1e-3)  # samples that the integrand makes


def test_positions_follow_the_field():
    field = ring(3, 1)
    geo = field.make_deformed_geometry(relative=False)
    cells = fem.Cells(geo)
    before = fem.integrate(one, domain=cells)
    field.dof_values = 2.0 * field.dof_values.numpy()
    assert fem.integrate(one, domain=cells) == pytest.approx(4.0 * before)
    field.dof_values.assign(0.5 * field.dof_values.numpy())
    assert fem.integrate(one, domain=cells) == pytest.approx(before)


def test_areas_have_gradients_by_nodes():
    field = ring(2, 2)
    geo = field.make_deformed_geometry(relative=False)
    field.dof_values.requires_grad = True
    total = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        fem.integrate(one, domain=fem.Cells(geo), output=total)
    tape.backward(loss=total)
    slopes, start = field.dof_values.grad.numpy(), field.dof_values.numpy()
    for node, axis in ((0, 0), (7, 1), (12, 0)):
        sizes = []
        for step in (1e-4, -1e-4):
            moved = start.copy()
            moved[node, axis] += step
            field.dof_values = moved
            sizes.append(fem.integrate(one, domain=fem.Cells(geo)))
        assert slopes[node, axis] == pytest.approx((sizes[0] - sizes[1]) / 2e-4, abs=1e-7)


@wp.func
def onto_ring(x: wp.vec2d):
    r, angle = wp.float64(1.0) + x[0], x[1] * wp.float64(wp.pi / 2.0)
    return wp.vec2d(r * wp.cos(angle), r * wp.sin(angle))


@wp.func
def slope_of_ring(x: wp.vec2d):
    a = wp.float64(wp.pi / 2.0)
    r, angle = wp.float64(1.0) + x[0], x[1] * a
    return wp.mat22d(wp.cos(angle), -r * a * wp.sin(angle), wp.sin(angle), r * a * wp.cos(angle))


def test_functions_deform():
    cells = fem.Cells(fem.Grid2D(res=(3, 3), scalar_type=wp.float64))
    ring_of = fem.ImplicitField(cells, onto_ring, grad_func=slope_of_ring, degree=3)
    geo = ring_of.make_deformed_geometry(relative=False)
    assert fem.integrate(one, quadrature=fem.RegularQuadrature(fem.Cells(geo), 8)) == pytest.approx(0.75 * np.pi)
    quadrature = fem.RegularQuadrature(fem.BoundarySides(geo), 8)
    assert fem.integrate(one, quadrature=quadrature) == pytest.approx(1.5 * np.pi + 2.0)


def test_a_plane_becomes_a_surface():
    space = fem.make_polynomial_space(fem.Grid2D(res=(8, 8)), dtype=wp.vec3, degree=2)
    field, x = space.make_field(), space.node_positions()
    angle = x[:, 0] * np.pi
    field.dof_values = np.stack([np.cos(angle), np.sin(angle), x[:, 1]], axis=1)  # half a cylinder
    geo = field.make_deformed_geometry(relative=False)
    assert (geo.dimension, geo.cell_dimension) == (3, 2)
    assert fem.integrate(one, domain=fem.Cells(geo)) == pytest.approx(np.pi, rel=1e-4)


def test_what_deforms_no_geometry_is_refused():
    grid = fem.Grid2D(res=(1, 1))
    with pytest.raises(TypeError, match=r"expected a field of vectors.*got DiscreteField"):
        fem.make_polynomial_space(grid).make_field().make_deformed_geometry()
    with pytest.raises(TypeError, match="got UniformField"):
        fem.UniformField(fem.Cells(grid), wp.vec2()).make_deformed_geometry()
    surface = fem.make_polynomial_space(grid, dtype=wp.vec3).make_field()
    with pytest.raises(ValueError, match="have 2 coordinates, and the field has vec3"):
        surface.make_deformed_geometry()
    geo = fem.make_polynomial_space(grid, dtype=wp.vec2).make_field().make_deformed_geometry()
    assert isinstance(geo, fem.geometry.DeformedGeometry) and geo.base is grid
