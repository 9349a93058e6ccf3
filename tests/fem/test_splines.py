"""B-splines of grids: against those of SciPy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.interpolate import BSpline

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


@fem.integrand
def slope(s: fem.Sample, u: fem.Field):
    return fem.grad(u, s)[1]


@fem.integrand
def looked_up(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    found = fem.lookup(domain, domain(s))
    return u(found) + F(2.0) * fem.grad(u, found)[1]


def along(x, degree, order=0):
    """The splines around the vertices of a line of unit cells at positions: positions x vertices, from -1 on."""
    spline = BSpline.basis_element(np.arange(degree + 2.0) - (degree + 1.0) / 2.0, extrapolate=False)
    away = x[:, None] - np.arange(-1.0, x.max() + 3.0)
    return np.nan_to_num((spline if order == 0 else spline.derivative())(away))


def expected(x, res, degree, orders):
    """Products of splines along all axes: positions x nodes. The cells of a grid are of size 1."""
    found = np.ones((len(x), 1))
    for d, count in enumerate(res):
        line = along(np.append(x[:, d], count - 0.5), degree, orders[d])[:-1, : count + 3]
        found = np.einsum("pi,pj->pij", found, line).reshape(len(x), -1)
    return found


def grid(dimension):
    res = (3, 2, 2)[:dimension]
    if dimension == 2:
        return res, fem.Grid2D(res=res, bounds_hi=wp.vec2d(*map(float, res)), scalar_type=F)
    return res, fem.Grid3D(res=res, bounds_hi=wp.vec3d(*map(float, res)), scalar_type=F)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("dimension", [2, 3])
def test_splines_are_those_of_scipy(dimension, degree):
    """Values and gradients, from tables and anywhere in cells; nodes are the vertices, also one beyond the grid."""
    res, geo = grid(dimension)
    space = fem.make_polynomial_space(geo, degree=degree, element_basis=fem.ElementBasis.BSPLINE)
    assert space.node_count() == np.prod(np.add(res, 3)) and 4**dimension == space.basis.MAX_NODES_PER_ELEMENT
    lattice = np.stack(np.meshgrid(*(np.arange(-1.0, n + 2) for n in res), indexing="ij"), axis=-1)
    np.testing.assert_allclose(space.node_positions(), lattice.reshape(-1, dimension), atol=1e-14)
    points = fem.RegularQuadrature(fem.Cells(geo), order=5)
    x = geo.positions_at(points.points).reshape(-1, dimension)
    fields, none = {"u": fem.make_trial(space)}, (0,) * dimension
    matrix = wp.sparse.bsr_zeros(len(x), space.node_count(), F)
    values, slopes = (expected(x, res, degree, orders) for orders in (none, (0, 1, *none[2:])))
    for form, judge in ((value, values), (slope, slopes)):
        fem.interpolate(form, dest=matrix, at=points, fields=fields)
        np.testing.assert_allclose(dense(matrix), judge, atol=1e-13)
    field = space.make_field()
    field.dof_values = np.random.default_rng(0).normal(size=space.node_count())
    found = wp.zeros(len(x), dtype=F)
    fem.interpolate(looked_up, dest=found, at=points, fields={"u": field})
    np.testing.assert_allclose(found.numpy(), (values + 2.0 * slopes) @ field.dof_values.numpy(), atol=1e-12)


@pytest.mark.parametrize("degree", [2, 3])
def test_nodal_weights_are_integrals(degree):
    _, geo = grid(2)
    space = fem.make_polynomial_space(geo, degree=degree, element_basis=fem.ElementBasis.BSPLINE)
    weights = fem.NodalQuadrature(fem.Cells(geo), space).weights
    spline = BSpline.basis_element(np.arange(degree + 2.0) - (degree + 1.0) / 2.0, extrapolate=False)
    edge = (degree + 1.0) / 2.0
    ends = [(max(i, -edge), min(i + 1.0, edge)) for i in (1.0, 0.0, -1.0, -2.0)]
    line = np.array([spline.integrate(*end) if end[1] > end[0] else 0.0 for end in ends])
    np.testing.assert_allclose(weights, np.outer(line, line).ravel(), atol=1e-14)


def test_splines_keep_to_grids():
    splines = {"element_basis": fem.ElementBasis.BSPLINE}
    line = fem.make_polynomial_space(geometry("Quadmesh2D"), degree=1, **splines)
    assert line.node_count() == 16
    _, geo = grid(2)
    assert fem.make_polynomial_space(geo, degree=2, discontinuous=True, **splines).node_count() == 6 * 16
    for call, text in (
        (lambda: fem.make_polynomial_space(geometry("Quadmesh2D"), degree=2, **splines).node_count(), "need a grid"),
        (lambda: fem.make_polynomial_space(geo, degree=4, **splines), "no B-splines of degree 4"),
        (lambda: fem.make_polynomial_space(geometry("Trimesh2D"), degree=2, **splines), "no B-splines of degree 2"),
    ):
        with pytest.raises(ValueError, match=re.escape(text)):
            call()
