"""Discontinuous Galerkin methods, as they are written for warp.fem: convergence to solutions known by formula."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import boxes, moved_lattice
from tests.sparse.matrices import dense

F = wp.float64
VELOCITY = wp.constant(wp.vec2d(1.0, 0.5))
SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


def triangles(n: int):
    """A mesh of irregular triangles."""
    quads = boxes((n, n), SQUARE)
    cells = np.concatenate([quads[:, [1, 2, 0]], quads[:, [2, 3, 0]]])
    return fem.Trimesh2D(wp.array(cells, dtype=int), wp.array(moved_lattice((n, n), 0.2), dtype=wp.vec2d))


def squares(n: int):
    return fem.Grid2D(res=(n, n), scalar_type=F)


@fem.integrand
def exact(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return wp.sin(F(2.0) * x[0] + F(0.3)) * wp.cos(x[1])


@fem.integrand
def squared_error(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    e = u(s) - exact(s, domain)
    return e * e


@fem.integrand
def heat(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return F(5.0) * exact(s, domain) * v(s)


@fem.integrand
def conduction(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def penalty(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return F(4.0) * F(fem.degree(u) * fem.degree(u)) * fem.measure_ratio(domain, s)


@fem.integrand
def coupling(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    """The symmetric interior penalty method."""
    n = fem.normal(domain, s)
    fluxes = fem.jump(u, s) * wp.dot(fem.grad_average(v, s), n) + fem.jump(v, s) * wp.dot(fem.grad_average(u, s), n)
    return penalty(s, domain, u) * fem.jump(u, s) * fem.jump(v, s) - fluxes


@fem.integrand
def at_boundary(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    n = fem.normal(domain, s)
    fluxes = u(s) * wp.dot(fem.grad(v, s), n) + v(s) * wp.dot(fem.grad(u, s), n)
    return penalty(s, domain, u) * u(s) * v(s) - fluxes


@fem.integrand
def given_at_boundary(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    n = fem.normal(domain, s)
    return exact(s, domain) * (penalty(s, domain, v) * v(s) - wp.dot(fem.grad(v, s), n))


@fem.integrand
def source(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x = domain(s)
    a, b = F(2.0) * x[0] + F(0.3), x[1]
    slope = wp.vec2d(F(2.0) * wp.cos(a) * wp.cos(b), -wp.sin(a) * wp.sin(b))
    return wp.dot(VELOCITY, slope) * v(s)


@fem.integrand
def convection(s: fem.Sample, u: fem.Field, v: fem.Field):
    return -u(s) * wp.dot(VELOCITY, fem.grad(v, s))


@fem.integrand
def upwind(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    along = wp.dot(VELOCITY, fem.normal(domain, s))
    return fem.jump(v, s) * (fem.average(u, s) * along + F(0.5) * fem.jump(u, s) * wp.abs(along))


@fem.integrand
def outflow(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    return u(s) * v(s) * wp.max(F(0.0), wp.dot(VELOCITY, fem.normal(domain, s)))


@fem.integrand
def inflow(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return -exact(s, domain) * v(s) * wp.min(F(0.0), wp.dot(VELOCITY, fem.normal(domain, s)))


DIFFUSION = ((conduction, coupling, at_boundary), (heat, given_at_boundary))
CONVECTION = ((convection, upwind, outflow), (source, inflow))


def error(space, forms) -> float:
    """The error of the solution of a system of forms in cells, on sides and on the boundary."""
    geo, found, rhs = space.geometry, 0.0, 0.0
    domains = fem.Cells(geo), fem.Sides(geo), fem.BoundarySides(geo)
    for form, domain in zip(forms[0], domains):
        fields = {"u": fem.make_trial(space, domain=domain), "v": fem.make_test(space, domain=domain)}
        found = found + dense(fem.integrate(form, fields=fields))
    for form, domain in zip(forms[1], domains[::2]):
        points, test = fem.RegularQuadrature(domain, order=2 * space.degree + 3), fem.make_test(space, domain=domain)
        rhs = rhs + fem.integrate(form, quadrature=points, fields={"v": test}).numpy()
    field = space.make_field()
    field.dof_values = np.linalg.solve(found, rhs)
    quadrature = fem.RegularQuadrature(domains[0], order=2 * space.degree + 3)
    return np.sqrt(fem.integrate(squared_error, quadrature=quadrature, fields={"u": field}))


@pytest.mark.parametrize("mesh", [squares, triangles])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("forms", [DIFFUSION, CONVECTION], ids=["diffusion", "convection"])
def test_errors_shrink_with_the_order_of_the_space(mesh, degree, forms):
    """By 2**(degree + 1) where cells are half as large."""
    spaces = [fem.make_polynomial_space(mesh(n), degree=degree, discontinuous=True) for n in (4, 8)]
    errors = [error(space, forms) for space in spaces]
    assert errors[0] / errors[1] > 2.0 ** (degree + 0.75)


def test_convection_of_degree_0_is_the_method_of_finite_volumes():
    """On a row of cells, each has what flows in from the one before it."""
    geo = fem.Grid2D(res=(5, 1), scalar_type=F)
    space = fem.make_polynomial_space(geo, degree=0)
    sides = fem.Sides(geo)
    fields = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    found = dense(fem.integrate(upwind, fields=fields))
    expected = np.diag([1.0, 1.0, 1.0, 1.0, 0.0]) - np.diag(np.ones(4), -1)
    np.testing.assert_allclose(found, expected, atol=1e-14)


@fem.integrand
def burgers_flux(s: fem.Sample, u: fem.Field, v: fem.Field):
    return F(0.5) * wp.dot(fem.grad(v, s), u(s)) * u(s)[0]


@fem.integrand
def burgers_sides(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    n = fem.normal(domain, s)
    speed = wp.max(wp.abs(wp.dot(fem.inner(u, s), n)), wp.abs(wp.dot(fem.outer(u, s), n)))
    along = F(0.5) * wp.dot(fem.average(u, s), n)
    return fem.jump(v, s) * (along + speed * fem.jump(u, s)[0])


@pytest.mark.parametrize("mesh", [squares, triangles])
def test_fluxes_over_inner_sides_keep_what_flows(mesh):
    """Tested with a constant, whatever the field is, they sum up to nothing: what leaves a cell enters another."""
    geo = mesh(3)
    vectors = fem.make_polynomial_space(geo, dtype=wp.vec2d, degree=2, discontinuous=True)
    numbers = fem.make_polynomial_space(geo, degree=2, discontinuous=True)
    u = vectors.make_field()
    u.dof_values = np.random.default_rng(0).normal(size=(vectors.node_count(), 2))
    found = fem.integrate(burgers_sides, fields={"u": u, "v": fem.make_test(numbers, domain=fem.Sides(geo))}).numpy()
    assert np.abs(found).max() > 0.1 and found.sum() == pytest.approx(0.0, abs=1e-13)
    found = fem.integrate(burgers_flux, fields={"u": u, "v": fem.make_test(numbers)}).numpy()
    assert np.abs(found).max() > 0.1 and found.sum() == pytest.approx(0.0, abs=1e-13)


def test_integrals_over_sides_are_the_same_each_time():
    space = fem.make_polynomial_space(triangles(6), degree=2, discontinuous=True)
    sides = fem.Sides(space.geometry)
    fields = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    first, again = (fem.integrate(coupling, fields=fields) for _ in range(2))
    assert first.nnz_sync() == again.nnz_sync()
    np.testing.assert_array_equal(first.values.numpy()[: first.nnz], again.values.numpy()[: first.nnz])
