"""Gradients through integrals and interpolations, against central differences: by fields, values and vertices."""

from contextlib import nullcontext

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem

F = wp.float64
POINTS = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.4, 0.7]], dtype=float)
TRIANGLES = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
WEIGHTS = wp.array(np.random.default_rng(0).normal(size=5), dtype=F)


@fem.integrand
def energy(s: fem.Sample, u: fem.Field, k: wp.array(dtype=F)):
    g = fem.grad(u, s)
    return k[s.element_index] * wp.dot(g, g) * (F(1.0) + u(s) * u(s))


@fem.integrand
def residual(s: fem.Sample, u: fem.Field, v: fem.Field, k: wp.array(dtype=F)):
    return k[s.element_index] * wp.dot(fem.grad(u, s), fem.grad(v, s)) * (F(1.0) + u(s) * u(s))


@fem.integrand
def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field, k: wp.array(dtype=F)):
    return k[s.element_index] * wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def flux(s: fem.Sample, domain: fem.Domain, u: fem.Field, k: wp.array(dtype=F)):
    return u(s) * wp.dot(fem.grad(u, s), fem.normal(domain, s)) * k[0]


@fem.integrand
def kinks(s: fem.Sample, domain: fem.Domain, u: fem.Field, k: wp.array(dtype=F)):
    beyond = k[fem.to_outer_cell(domain, s).element_index]
    return beyond * wp.length_sq(fem.grad_jump(u, s)) + fem.average(u, s) * fem.measure_ratio(domain, s)


@fem.integrand
def kinked(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field, k: wp.array(dtype=F)):
    n = fem.normal(domain, s)
    both = wp.dot(fem.grad_jump(u, s), n) * wp.dot(fem.grad_outer(v, s), n) + fem.outer(u, s) * fem.average(v, s)
    return k[fem.to_inner_cell(domain, s).element_index] * both


@fem.integrand
def slope(s: fem.Sample, u: fem.Field, k: wp.array(dtype=F)):
    return k[0] * wp.length(fem.grad(u, s)) + u(s)


def of_energy(u, space, values, out):
    fem.integrate(energy, domain=fem.Cells(space.geometry), fields={"u": u}, values=values, output=out)


def of_residual(u, space, values, out):
    found = fem.integrate(residual, fields={"u": u, "v": fem.make_test(space)}, values=values)
    wp.utils.array_inner(found, WEIGHTS, out)


def of_matrix(u, space, values, out):
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    wp.utils.array_inner(fem.integrate(stiffness, fields=fields, values=values) @ u.dof_values, WEIGHTS, out)


def of_sides(u, space, values, out):
    fem.integrate(flux, domain=fem.BoundarySides(space.geometry), fields={"u": u}, values=values, output=out)


def of_all_sides(u, space, values, out):
    fem.integrate(kinks, domain=fem.Sides(space.geometry), fields={"u": u}, values=values, output=out)


def of_side_residual(u, space, values, out):
    test = fem.make_test(space, domain=fem.Sides(space.geometry))
    wp.utils.array_inner(fem.integrate(kinked, fields={"u": u, "v": test}, values=values), WEIGHTS, out)


def of_side_matrix(u, space, values, out):
    sides = fem.Sides(space.geometry)
    fields = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    wp.utils.array_inner(fem.integrate(kinked, fields=fields, values=values) @ u.dof_values, WEIGHTS, out)


def of_interpolation(u, space, values, out):
    dest = space.make_field()
    dest.dof_values.requires_grad = True
    fem.interpolate(slope, dest=dest, fields={"u": u}, values=values)
    wp.utils.array_inner(dest.dof_values, WEIGHTS, out)


@fem.integrand
def load(s: fem.Sample, v: fem.Field, k: wp.array(dtype=F)):
    return k[s.element_index] * v(s)


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


def of_projected_system(u, space, values, out):
    sides = fem.BoundarySides(space.geometry)
    at_sides = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    matrix = fem.integrate(stiffness, fields=fields, values=values)
    rhs = fem.integrate(load, fields={"v": fields["v"]}, values=values)
    fixed = fem.integrate(mass, fields={"u": u, "v": at_sides["v"]}, assembly="nodal")
    fem.project_linear_system(matrix, rhs, fem.integrate(mass, fields=at_sides, assembly="nodal"), fixed)
    wp.utils.array_inner(matrix @ rhs, WEIGHTS, out)


def evaluated(function, given, gradients=(True, True, True), records=False):
    """What a function gives for a field, coefficients and vertices, and its gradients if asked for."""
    x, k = (wp.array(a, dtype=F, requires_grad=g) for a, g in zip(given[:2], gradients))
    points = wp.array(given[2], dtype=wp.vec2d, requires_grad=gradients[2])
    space = fem.make_polynomial_space(fem.Trimesh2D(wp.array(TRIANGLES, dtype=int), points))
    u, out = space.make_field(), wp.zeros(1, dtype=F, requires_grad=True)
    u.dof_values = x
    tape = wp.Tape()
    with tape if records else nullcontext():
        function(u, space, {"k": k}, out)
    if records:
        tape.backward(grads={out: wp.ones(1, dtype=F)})
        return [None if a.grad is None else a.grad.numpy().copy() for a in (x, k, points)]
    return float(out.numpy()[0])


def differences(function, given, which):
    found = np.zeros_like(given[which])
    for i in np.ndindex(found.shape):
        pair = []
        for h in (1e-5, -1e-5):
            moved = [a.copy() for a in given]
            moved[which][i] += h
            pair.append(evaluated(function, moved))
        found[i] = (pair[0] - pair[1]) / 2e-5
    return found


GIVEN = (np.random.default_rng(1).normal(size=5), np.random.default_rng(2).uniform(1.0, 2.0, size=4), POINTS)


ON_SIDES = [of_sides, of_all_sides, of_side_residual, of_side_matrix]


@pytest.mark.parametrize(
    "function", [of_energy, of_residual, of_matrix, *ON_SIDES, of_interpolation, of_projected_system]
)
def test_gradients_are_those_of_differences(function):
    found = evaluated(function, GIVEN, records=True)
    for which in range(3):
        np.testing.assert_allclose(found[which], differences(function, GIVEN, which), atol=2e-8, rtol=1e-7)


@pytest.mark.parametrize("function", [of_energy, of_residual, *ON_SIDES])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_gradient_is_enough(function, which):
    """Results have a gradient if anything they depend on has one, also the vertices alone."""
    alone = tuple(i == which for i in range(3))
    found = evaluated(function, GIVEN, alone, records=True)
    np.testing.assert_allclose(found[which], evaluated(function, GIVEN, records=True)[which], rtol=1e-12, atol=1e-14)


def test_a_number_for_python_has_no_gradient():
    space = fem.make_polynomial_space(fem.Grid2D(res=(2, 2), scalar_type=F))
    u = space.make_field()
    u.dof_values.requires_grad = True
    k = wp.ones(4, dtype=F)
    with wp.Tape(), pytest.raises(RuntimeError, match="out"):
        fem.integrate(energy, domain=fem.Cells(space.geometry), fields={"u": u}, values={"k": k})
