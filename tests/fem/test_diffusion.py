"""Linear systems with fixed values: programs as they are written for warp.fem, against solutions known by formula."""

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from omni.warp_core.optim.linear import cg
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense


@fem.integrand
def linear_form(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x = domain(s)
    return wp.float64(8.0) * wp.sin(wp.float64(2.0) * x[0]) * wp.sin(wp.float64(2.0) * x[1]) * v(s)


@fem.integrand
def diffusion_form(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def boundary_value(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return wp.sin(wp.float64(2.0) * x[0]) * wp.sin(wp.float64(2.0) * x[1])


@fem.integrand
def boundary_value_form(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return boundary_value(s, domain) * v(s)


@fem.integrand
def boundary_projector_form(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


def solved(space):
    """The solution of -laplace(u) = 8 sin(2x) sin(2y), with the values of sin(2x) sin(2y) on the boundary."""
    boundary = fem.BoundarySides(space.geometry)
    test, trial = fem.make_test(space), fem.make_trial(space)
    sides = {"v": fem.make_test(space, domain=boundary), "u": fem.make_trial(space, domain=boundary)}
    matrix = fem.integrate(diffusion_form, fields={"u": trial, "v": test})
    quadrature = fem.RegularQuadrature(fem.Cells(space.geometry), order=2 * space.degree + 2)
    rhs = fem.integrate(linear_form, quadrature=quadrature, fields={"v": test})
    projector = fem.integrate(boundary_projector_form, fields=sides, assembly="nodal")
    fixed = fem.integrate(boundary_value_form, fields={"v": sides["v"]}, assembly="nodal")
    fem.project_linear_system(matrix, rhs, projector, fixed)
    x = wp.zeros_like(rhs)
    cg(matrix, b=rhs, x=x, tol=1e-12)
    return x.numpy(), space.node_positions()


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Quadmesh2D"])
@pytest.mark.parametrize(("degree", "limit"), [(1, 3e-2), (2, 3e-3), (3, 6e-4)])
def test_the_solution_is_that_of_the_equation(name, degree, limit):
    x, at = solved(fem.make_polynomial_space(geometry(name), degree=degree))
    assert np.abs(x - np.sin(2.0 * at[:, 0]) * np.sin(2.0 * at[:, 1])).max() < limit


@pytest.mark.parametrize("degree", [1, 2])
def test_the_error_shrinks_with_the_order_of_the_space(degree):
    errors = []
    for n in (4, 8):
        x, at = solved(fem.make_polynomial_space(fem.Grid2D(res=(n, n), scalar_type=wp.float64), degree=degree))
        errors.append(np.abs(x - np.sin(2.0 * at[:, 0]) * np.sin(2.0 * at[:, 1])).max())
    assert errors[0] / errors[1] > 2.0 ** (degree + 0.8)


def random_system(block, seed):
    """A matrix of two rows of blocks, a right side, and a projector onto one direction of the first row."""
    rng = np.random.default_rng(seed)
    rows, columns = (wp.array(a, dtype=int) for a in ([0, 0, 1, 1], [0, 1, 0, 1]))
    A = wp.sparse.bsr_from_triplets(2, 2, rows, columns, wp.array(rng.normal(size=(4, 2, 2)), dtype=block))
    direction = np.array([0.6, 0.8])
    at = wp.array([0], dtype=int)
    P = wp.sparse.bsr_from_triplets(2, 2, at, at, wp.array([3.0 * np.outer(direction, direction)], dtype=block))
    return A, wp.array(rng.normal(size=(2, 2)), dtype=wp.vec2d), P, direction


def test_projected_systems_follow_their_formula():
    A, b, P, direction = random_system(wp.mat22d, 2)
    fixed = wp.array([6.0 * direction, [0.0, 0.0]], dtype=wp.vec2d)  # 3 times the value, as the projector is
    a, rhs = dense(A), b.numpy().flatten()
    fem.project_linear_system(A, b, P, fixed)
    p = np.zeros((4, 4))
    p[:2, :2] = np.outer(direction, direction)
    np.testing.assert_allclose(dense(P), p, atol=1e-15)
    value, i = np.array([*(2.0 * direction), 0.0, 0.0]), np.eye(4)
    np.testing.assert_allclose(fixed.numpy().ravel(), value, atol=1e-15)
    np.testing.assert_allclose(dense(A), (i - p) @ a @ (i - p) + p, atol=1e-14)
    np.testing.assert_allclose(b.numpy().ravel(), (i - p) @ (rhs - a @ p @ value) + p @ value, atol=1e-14)


def test_values_of_zero_can_be_left_out():
    A, b, P, direction = random_system(wp.mat22d, 3)
    rhs = b.numpy().flatten()
    fem.project_linear_system(A, b, P)
    p = np.zeros((4, 4))
    p[:2, :2] = np.outer(direction, direction)
    np.testing.assert_allclose(b.numpy().ravel(), rhs - p @ rhs, atol=1e-14)
