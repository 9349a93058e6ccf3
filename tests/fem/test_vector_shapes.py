"""Vector-valued shape functions: integrals over edges and sides, continuity, and problems with known solutions."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import bmat
from scipy.sparse.linalg import spsolve

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64
ALL = ("Grid2D", "Trimesh2D", "Quadmesh2D", "Grid3D", "Tetmesh", "Hexmesh")
EDGES, SIDES = fem.ElementBasis.NEDELEC_FIRST_KIND, fem.ElementBasis.RAVIART_THOMAS


def vector_space(geo, basis):
    return fem.make_polynomial_space(geo, element_basis=basis)


def random_field(space):
    field = space.make_field()
    field.dof_values = np.random.default_rng(2).normal(size=space.node_count())
    return field


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(u(s), v(s))


@fem.integrand
def tangential(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    """The square of what jumps along a side."""
    n, fall = fem.normal(domain, s), fem.jump(u, s)
    along = fall - wp.dot(fall, n) * n
    return wp.dot(along, along)


@fem.integrand
def normal(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    """The square of what jumps across a side."""
    across = wp.dot(fem.jump(u, s), fem.normal(domain, s))
    return across * across


@fem.integrand
def divergence(s: fem.Sample, u: fem.Field):
    return fem.div(u, s)


@fem.integrand
def flux(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return wp.dot(u(s), fem.normal(domain, s))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("basis", "count"), [(EDGES, (4, 3, 4, 12, 6, 12)), (SIDES, (4, 3, 4, 6, 4, 6))])
def test_components_are_continuous(name, basis, count):
    """Along sides for edges, across sides for sides; the other component jumps."""
    geo = geometry(name)
    space = vector_space(geo, basis)
    assert space.basis.nodes_per_element == count[ALL.index(name)]
    if basis is SIDES:
        assert space.node_count() == geo.side_count()
    field, sides = random_field(space), fem.Sides(geo)
    falls = [fem.integrate(form, domain=sides, fields={"u": field}) for form in (tangential, normal)]
    kept, jumping = falls if basis is EDGES else falls[::-1]
    assert abs(kept) < 1e-20 and jumping > 1e-2


@pytest.mark.parametrize("name", ALL)
def test_values_at_sides_are_their_fluxes(name):
    """Along the normal of each side, and out of each cell."""
    geo = geometry(name)
    field, sides = random_field(vector_space(geo, SIDES)), fem.Sides(geo)
    cell_nodes, signs = field.space.basis.cell_nodes, field.space.basis.signs
    dofs, numbers = field.dof_values.numpy(), cell_nodes[geo.sides.cells, geo.sides.facets]
    for side in range(geo.side_count()):
        one = fem.Subdomain(sides, element_indices=wp.array([side], dtype=int))
        assert fem.integrate(flux, domain=one, fields={"u": field}) == pytest.approx(dofs[numbers[side]])
        if side > 5:
            break
    constant = fem.make_polynomial_space(geo, degree=0)
    found = fem.integrate(divergence_of_cell, fields={"u": field, "q": fem.make_test(constant)}).numpy()
    np.testing.assert_allclose(found, (signs * dofs[cell_nodes]).sum(axis=1), atol=1e-12)


@fem.integrand
def divergence_of_cell(s: fem.Sample, u: fem.Field, q: fem.Field):
    return fem.div(u, s) * q(s)


@fem.integrand
def curl_of_cell(s: fem.Sample, u: fem.Field, q: fem.Field):
    g = fem.grad(u, s)
    return (g[1, 0] - g[0, 1]) * q(s)


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Quadmesh2D"])
def test_curls_are_circulations(name):
    """The integral of the curl over a cell is the sum along its edges, counterclockwise."""
    geo = geometry(name)
    field, constant = random_field(vector_space(geo, EDGES)), fem.make_polynomial_space(geo, degree=0)
    basis, dofs = field.space.basis, field.dof_values.numpy()
    found = fem.integrate(curl_of_cell, fields={"u": field, "q": fem.make_test(constant)}).numpy()
    np.testing.assert_allclose(found, (basis.signs * dofs[basis.cell_nodes]).sum(axis=1), atol=1e-12)


@fem.integrand
def against_constant(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x = domain(s) - domain(s)
    for k in range(x.length):
        x[k] = F(k + 1)
    return wp.dot(x, v(s))


@fem.integrand
def distance(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    x = u(s)
    for k in range(x.length):
        x[k] -= F(k + 1)
    return wp.dot(x, x)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("basis", [EDGES, SIDES])
def test_constant_vectors_are_in_the_space(name, basis):
    """The projection of one is the vector itself; hexahedra are straight for normal components."""
    geo = geometry(name, amount=0.0 if (name, basis) == ("Hexmesh", SIDES) else 0.25)
    space = vector_space(geo, basis)
    points = fem.RegularQuadrature(fem.Cells(geo), order=6)
    test = fem.make_test(space)
    matrix = dense(fem.integrate(mass, quadrature=points, fields={"u": fem.make_trial(space), "v": test}))
    field = space.make_field()
    rhs = fem.integrate(against_constant, quadrature=points, fields={"v": test}).numpy()
    field.dof_values = np.linalg.solve(matrix, rhs)
    assert fem.integrate(distance, quadrature=points, fields={"u": field}) < 1e-20


@fem.integrand
def looked_up(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    found = fem.lookup(domain, domain(s))
    return wp.dot(u(found), v(found)) + wp.ddot(fem.grad(u, found), fem.grad(v, found))


@fem.integrand
def in_place(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(u(s), v(s)) + wp.ddot(fem.grad(u, s), fem.grad(v, s))


@pytest.mark.parametrize("name", ["Trimesh2D", "Grid3D", "Tetmesh"])
@pytest.mark.parametrize("basis", [EDGES, SIDES])
def test_samples_anywhere_have_the_same_values(name, basis):
    geo = geometry(name)
    if hasattr(geo, "build_bvh"):
        geo.build_bvh()
    field = random_field(vector_space(geo, basis))
    fields = {"u": field, "v": fem.make_test(field.space)}
    found, expected = (fem.integrate(form, fields=fields).numpy() for form in (looked_up, in_place))
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("basis", [EDGES, SIDES])
def test_interpolation_keeps_fields_of_the_space(name, basis):
    field = random_field(vector_space(geometry(name), basis))
    found = field.space.make_field()
    fem.interpolate(field, dest=found)
    np.testing.assert_allclose(found.dof_values.numpy(), field.dof_values.numpy(), atol=1e-11)


def box(name, n):
    if name == "Grid2D":
        return fem.Grid2D(res=(n, n), scalar_type=F)
    numbers = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = (x.ravel() for x in (numbers[:-1, :-1], numbers[1:, :-1], numbers[1:, 1:], numbers[:-1, 1:]))
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    line = np.linspace(0.0, 1.0, n + 1)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    return fem.Trimesh2D(wp.array(triangles, dtype=int), wp.array(points, dtype=wp.vec2d))


@fem.integrand
def pressure_divergence(s: fem.Sample, u: fem.Field, q: fem.Field):
    return fem.div(u, s) * q(s)


@fem.integrand
def source(s: fem.Sample, domain: fem.Domain, q: fem.Field):
    x = domain(s)
    return F(2.0 * np.pi**2) * wp.sin(F(np.pi) * x[0]) * wp.sin(F(np.pi) * x[1]) * q(s)


@fem.integrand
def error_of_flux(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    x, k = domain(s), F(np.pi)
    exact = -k * wp.vec2d(wp.cos(k * x[0]) * wp.sin(k * x[1]), wp.sin(k * x[0]) * wp.cos(k * x[1]))
    return wp.length_sq(u(s) - exact)


def darcy(name, n):
    """The error of the flux of -div(grad p) = f, by the flux and the pressure together."""
    geo = box(name, n)
    fluxes, pressures = vector_space(geo, SIDES), fem.make_polynomial_space(geo, degree=0)
    u, v, q = fem.make_trial(fluxes), fem.make_test(fluxes), fem.make_test(pressures)
    points = fem.RegularQuadrature(fem.Cells(geo), order=4)
    M = dense(fem.integrate(mass, fields={"u": u, "v": v}))
    B = dense(fem.integrate(pressure_divergence, fields={"u": u, "q": q}))
    f = fem.integrate(source, quadrature=points, fields={"q": q}).numpy()
    found = spsolve(bmat([[M, -B.T], [B, None]], format="csc"), np.concatenate([np.zeros(len(M)), f]))
    field = fluxes.make_field()
    field.dof_values = found[: len(M)]
    return np.sqrt(fem.integrate(error_of_flux, quadrature=points, fields={"u": field}))


@wp.func
def whirls(x: wp.vec2d):
    """The curl of its curl is 2 pi^2 times itself."""
    k = F(np.pi)
    return wp.vec2d(wp.cos(k * x[0]) * wp.sin(k * x[1]), -wp.sin(k * x[0]) * wp.cos(k * x[1]))


@fem.integrand
def curl_curl(s: fem.Sample, u: fem.Field, v: fem.Field):
    a, b = fem.grad(u, s), fem.grad(v, s)
    return (a[1, 0] - a[0, 1]) * (b[1, 0] - b[0, 1]) + wp.dot(u(s), v(s))


@fem.integrand
def current(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x, k = domain(s), F(np.pi)
    return (F(2.0) * k * k + F(1.0)) * wp.dot(whirls(x), v(s))


@fem.integrand
def error_of_field(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return wp.length_sq(u(s) - whirls(domain(s)))


def magnetic(name, n):
    """The error of curl(curl u) + u = f, where u has no component along the boundary."""
    geo = box(name, n)
    space, points = vector_space(geo, EDGES), fem.RegularQuadrature(fem.Cells(geo), order=4)
    test, trial = fem.make_test(space), fem.make_trial(space)
    A = dense(fem.integrate(curl_curl, quadrature=points, fields={"u": trial, "v": test}))
    b = fem.integrate(current, quadrature=points, fields={"v": test}).numpy()
    at = space.node_positions()
    free = np.flatnonzero(((at > 1e-9) & (at < 1.0 - 1e-9)).all(axis=1))
    values = np.zeros(space.node_count())
    values[free] = np.linalg.solve(A[np.ix_(free, free)], b[free])
    field = space.make_field()
    field.dof_values = values
    return np.sqrt(fem.integrate(error_of_field, quadrature=points, fields={"u": field}))


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D"])
@pytest.mark.parametrize("problem", [darcy, magnetic])
def test_errors_halve_with_the_cells(problem, name):
    coarse, fine = problem(name, 6), problem(name, 12)
    assert fine < 0.3 and 1.8 < coarse / fine < 2.2


GEO = geometry("Grid2D")
SCALARS = fem.make_polynomial_basis_space(GEO)


@fem.integrand
def against(s: fem.Sample):
    return wp.vec2d(F(1.0), F(2.0))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: fem.make_contravariant_function_space(fem.make_polynomial_basis_space(GEO, 1, EDGES)),
            "expected shape functions of ElementBasis.RAVIART_THOMAS",
        ),
        (lambda: fem.make_covariant_function_space(SCALARS), "expected shape functions of ElementBasis.NEDELEC"),
        (lambda: fem.make_polynomial_space(GEO, degree=2, element_basis=EDGES), "the lowest degree, 1, not 2"),
        (
            lambda: fem.interpolate(against, dest=vector_space(GEO, EDGES).make_field(), at=fem.BoundarySides(GEO)),
            "cells have no nodes on their sides; take a domain of cells",
        ),
        (lambda: fem.make_polynomial_space(GEO, dtype=wp.vec3d, element_basis=EDGES), "leave dtype and dof_mapper out"),
        (
            lambda: vector_space(fem.Trimesh3D(wp.array([(0, 1, 2)], dtype=int), wp.zeros(3, dtype=wp.vec3)), SIDES),
            "no vector-valued functions on surfaces",
        ),
    ],
)
def test_mistakes_are_told(call, text):
    with pytest.raises((ValueError, NotImplementedError), match=re.escape(text)):
        call()
