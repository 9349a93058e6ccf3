"""Fields that functions of the position give, and fields of other geometries: against formulas and differences."""

from __future__ import annotations

import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry

F = wp.float64
PLANE = ("Grid2D", "Trimesh2D", "Quadmesh2D")


@wp.func
def bump(x: wp.vec2d, factor: F):
    return factor * x[0] * x[0] * x[1]


@wp.func
def slope_of_bump(x: wp.vec2d, factor: F):
    return factor * wp.vec2d(F(2.0) * x[0] * x[1], x[0] * x[0])


@wp.func
def flow(x: wp.vec2d):
    return wp.vec2d(x[0] * x[1], x[1])


@wp.func
def source(x: wp.vec2d):
    return x[1] + F(1.0)


@wp.func
def tabulated(x: wp.vec2d, heights: wp.array(dtype=F)):
    return heights[int(x[0] * F(2.0))] * x[1]


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


@fem.integrand
def squared_slope(s: fem.Sample, u: fem.Field):
    g = fem.grad(u, s)
    return wp.dot(g, g)


@fem.integrand
def divergence(s: fem.Sample, u: fem.Field):
    return fem.div(u, s)


@fem.integrand
def moved(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return u(fem.lookup(domain, domain(s) * F(0.5)))


@pytest.mark.parametrize("name", PLANE)
def test_functions_of_the_position_are_fields(name):
    geo = geometry(name)
    if name != "Grid2D":
        geo.build_bvh()
    cells = fem.Cells(geo)
    field = fem.ImplicitField(cells, bump, {"factor": 3.0}, grad_func=slope_of_bump, degree=4)
    assert fem.integrate(value, domain=cells, fields={"u": field}) == pytest.approx(0.5, abs=1e-13)
    found = fem.integrate(squared_slope, quadrature=fem.RegularQuadrature(cells, 8), fields={"u": field})
    assert found == pytest.approx(9.0 * (4.0 / 9.0 + 1.0 / 5.0), abs=1e-12)
    sides = fem.BoundarySides(geo)
    at_sides = fem.integrate(value, quadrature=fem.RegularQuadrature(sides, 4), fields={"u": field})
    assert at_sides == pytest.approx(1.5 + 1.0, abs=1e-12)
    half = fem.integrate(moved, quadrature=fem.RegularQuadrature(cells, 6), fields={"u": field})
    assert half == pytest.approx(0.5 / 8.0, abs=1e-13)


def test_divergences_of_functions_are_given():
    cells = fem.Cells(fem.Grid2D(res=(2, 2), scalar_type=F))
    field = fem.ImplicitField(cells, flow, div_func=source, degree=2)
    assert fem.integrate(divergence, domain=cells, fields={"u": field}) == pytest.approx(1.5)


def test_functions_of_equal_text_share_kernels():
    cells = fem.Cells(fem.Grid2D(res=(2, 2), scalar_type=F))

    def made():
        @wp.func
        def line(x: wp.vec2d):
            return x[0]

        return fem.ImplicitField(cells, line, degree=1)

    assert [fem.integrate(value, domain=cells, fields={"u": made()}) for _ in range(2)] == pytest.approx([0.5, 0.5])


def test_arguments_of_functions_have_gradients():
    cells = fem.Cells(fem.Grid2D(res=(2, 1), scalar_type=F))
    heights, out = wp.array([1.0, 2.0], dtype=F, requires_grad=True), wp.zeros(1, dtype=F, requires_grad=True)
    field = fem.ImplicitField(cells, tabulated, {"heights": heights}, degree=1)
    with wp.Tape() as tape:
        fem.integrate(value, domain=cells, fields={"u": field}, output=out)
    tape.backward(loss=out)
    assert out.numpy()[0] == pytest.approx(0.75)
    assert heights.grad.list() == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("mine", PLANE)
@pytest.mark.parametrize("other", PLANE)
def test_fields_of_other_geometries(mine, other):
    """A linear function is the same in both."""
    searched = geometry(other, amount=0.1)
    if other != "Grid2D":
        searched.build_bvh()
    field = fem.make_polynomial_space(searched, degree=2).make_field()
    field.dof_values = field.space.node_positions() @ [1.0, 3.0]
    geo = geometry(mine)
    dest = fem.make_polynomial_space(geo, degree=2).make_field()
    nonconforming = fem.NonconformingField(fem.Cells(geo), field)
    fem.interpolate(nonconforming, dest=dest)
    np.testing.assert_allclose(dest.dof_values.numpy(), dest.space.node_positions() @ [1.0, 3.0], atol=1e-12)
    found = fem.integrate(squared_slope, domain=fem.Cells(geo), fields={"u": nonconforming})
    assert found == pytest.approx(10.0, abs=1e-9)


def test_what_lies_outside_is_background():
    small = fem.Grid2D(res=(2, 2), bounds_hi=wp.vec2d(0.5, 1.0), scalar_type=F)
    field = fem.make_polynomial_space(small).make_field()
    field.dof_values.fill_(1.0)
    geo = fem.Grid2D(res=(4, 4), scalar_type=F)
    cells = fem.Cells(geo)
    for background, expected in ((0.0, 0.5), (3.0, 2.0)):
        over = fem.NonconformingField(cells, field, background=background)
        assert fem.integrate(value, domain=cells, fields={"u": over}) == pytest.approx(expected)
    behind = fem.make_polynomial_space(geo).make_field()
    behind.dof_values = behind.space.node_positions()[:, 0]
    over = fem.NonconformingField(cells, field, background=behind)
    assert fem.integrate(value, domain=cells, fields={"u": over}) == pytest.approx(0.5 + 0.375)
    found = fem.integrate(squared_slope, domain=cells, fields={"u": over})
    assert found == pytest.approx(0.5)


@fem.integrand
def away_from_node(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x = domain(fem.at_node(v, s)) - domain(s)
    return x[0] * v(s)


@fem.integrand
def value_at_node(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(fem.at_node(v, s)) * v(s)


@fem.integrand
def last_node(s: fem.Sample, u: fem.Field):
    return u(fem.at_node(u, s, 2))


def test_samples_move_to_nodes():
    """The affine transfer of particles: what nodes get has no first moment about a particle."""
    geo = geometry("Trimesh2D")
    geo.build_bvh()
    at = wp.array(np.random.default_rng(0).uniform(0.1, 0.9, (9, 2)), dtype=wp.vec2d)
    pic = fem.PicQuadrature(fem.Cells(geo), at, wp.ones(9, dtype=F))
    space = fem.make_polynomial_space(geo)
    test, field = fem.make_test(space), space.make_field()
    assert fem.integrate(away_from_node, quadrature=pic, fields={"v": test}).numpy().sum() == pytest.approx(0.0)
    field.dof_values = np.random.default_rng(1).normal(size=space.node_count())
    found = fem.integrate(value_at_node, fields={"u": field, "v": test}).numpy()
    weights = fem.integrate(value, fields={"u": test}).numpy()
    np.testing.assert_allclose(found, weights * field.dof_values.numpy(), atol=1e-13)
    corners = wp.zeros(geo.cell_count(), dtype=F)
    fem.interpolate(last_node, dest=corners, at=fem.Cells(geo), fields={"u": field})
    expected = field.dof_values.numpy()[space.basis.cell_nodes[:, 2]]
    np.testing.assert_allclose(corners.numpy(), expected, atol=1e-13)


GEO = fem.Grid2D(res=(2, 2), scalar_type=F)
CELLS = fem.Cells(GEO)
FIELD = fem.make_polynomial_space(GEO).make_field()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fem.ImplicitField(GEO, bump), "ImplicitField: expected a domain, fem.Cells(geometry), got Grid2D"),
        (lambda: fem.ImplicitField(CELLS, lambda x: x), "func: expected a function with @wp.func, got function"),
        (lambda: fem.ImplicitField(CELLS, bump), "`bump` takes ['factor'] after the position, got []"),
        (lambda: fem.NonconformingField(CELLS, 1.0), "expected a discrete field, got float"),
        (
            lambda: fem.NonconformingField(fem.Cells(fem.Grid2D(res=(1, 1))), FIELD),
            "need the same numbers and as many coordinates",
        ),
    ],
)
def test_mistakes_are_told(call, text):
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        call()


def test_gradients_of_functions_must_be_given():
    field = fem.ImplicitField(CELLS, bump, {"factor": 1.0})
    with pytest.raises(wp.CompileError, match="grad_func="):
        fem.integrate(squared_slope, domain=CELLS, fields={"u": field})
    with pytest.raises(wp.CompileError, match="div_func="):
        fem.integrate(divergence, domain=CELLS, fields={"u": field})
