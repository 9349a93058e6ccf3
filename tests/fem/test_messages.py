"""Errors of fem: they name the integrand, the field or the operator, and say what to write."""

import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem

GEO = fem.Grid2D(res=(2, 2))
CELLS = fem.Cells(GEO)
SPACE = fem.make_polynomial_space(GEO)
VECTORS = fem.make_polynomial_space(GEO, dtype=wp.vec2)
TEST, TRIAL = fem.make_test(SPACE), fem.make_trial(SPACE)


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def scaled(s: fem.Sample, v: fem.Field, factor: float):
    return factor * v(s)


@fem.integrand
def one(s: fem.Sample):
    return 1.0


@fem.integrand
def divergence(s: fem.Sample, v: fem.Field):
    return fem.div(v, s)


@fem.integrand
def normal_in_cells(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return fem.normal(domain, s)[0] * v(s)


@fem.integrand
def called_with_a_number(s: fem.Sample, v: fem.Field):
    return v(1.0)


@fem.integrand
def of_a_number(s: fem.Sample, v: fem.Field, factor: float):
    return fem.grad(factor, s)[0] * v(s)


@fem.integrand
def slope_of_matrices(s: fem.Sample, v: fem.Field):
    return fem.grad(v, s)[0]


def test_a_number_has_no_divergence():
    with pytest.raises(wp.CompileError, match=r"`v` is \w+, which has no `fem.div\(u, s\)`(.|\n)*`dtype=wp.vec2`"):
        fem.integrate(divergence, fields={"v": TEST})


def test_cells_have_no_normal():
    with pytest.raises(wp.CompileError, match=r"`domain` is \w+, which has no `fem.normal(.|\n)*fem.BoundarySides"):
        fem.integrate(normal_in_cells, fields={"v": TEST})


def test_numbers_are_no_fields():
    with pytest.raises(wp.CompileError, match=r"`factor` is float32, which has no `fem.grad\(u, s\)`"):
        fem.integrate(of_a_number, fields={"v": TEST}, values={"factor": 1.0})


def test_matrices_have_no_gradient():
    matrices = fem.make_polynomial_space(GEO, dtype=wp.mat22)
    with pytest.raises(wp.CompileError, match="take a field of vectors for each row"):
        fem.integrate(slope_of_matrices, fields={"v": fem.make_test(matrices)})


def test_fields_are_called_with_samples():
    with pytest.raises(wp.CompileError, match=r"takes fem\.Sample, not the literal 1\.0"):
        fem.integrate(called_with_a_number, fields={"v": TEST})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fem.integrate(lambda s: 1.0, domain=CELLS), "decorate the function with @fem.integrand"),
        (lambda: fem.integrate(mass, fields={"v": TEST}), "parameter `u` is a field; write fields={'u': field}"),
        (lambda: fem.integrate(mass, fields={"u": 1.0, "v": TEST}), "parameter `u` is a field, got float"),
        (lambda: fem.integrate(scaled, fields={"v": TEST}), "parameter `factor` is missing; write values="),
        (
            lambda: fem.integrate(one, values={"w": 1.0}, domain=CELLS),
            "no parameter `w`, which values name; it has `s`",
        ),
        (lambda: fem.integrate(one, fields={"w": 1.0}, domain=CELLS), "fields['w'] is no field, but float"),
        (lambda: fem.integrate(one), "give domain=fem.Cells(geometry), or a quadrature"),
        (lambda: fem.integrate(mass, fields={"u": TRIAL, "v": TRIAL}), "one trial field, not u and v"),
        (lambda: fem.integrate(scaled, fields={"v": TRIAL}, values={"factor": 1.0}), "needs a test field, too"),
        (lambda: fem.integrate(one, domain=CELLS, assembly="nodal"), 'assembly="nodal" needs a test field'),
        (lambda: fem.integrate(one, domain=CELLS, assembly="odd"), "assembly='odd': expected one of None"),
        (lambda: fem.integrate(scaled, fields={"v": SPACE.make_field()}, values={"factor": 1.0}), "give domain="),
        (lambda: fem.integrate(scaled, fields={"v": TEST, "factor": TEST}), "annotate it with fem.Field"),
        (lambda: fem.make_polynomial_space(GEO, degree=-1), "degree=-1: a degree is 0 or more"),
        (lambda: fem.make_polynomial_space(GEO, dtype=wp.vec2d), "vec2d has numbers of float64"),
        (lambda: fem.make_polynomial_space(GEO, dtype=int), "expected a type of numbers, vectors or matrices"),
        (
            lambda: fem.make_polynomial_space(GEO, family=fem.Polynomial.GAUSS_LEGENDRE).node_count(),
            "write discontinuous=True",
        ),
        (lambda: fem.RegularQuadrature(CELLS, order=-1), "order=-1: expected the degree of polynomials"),
        (lambda: fem.Grid2D(res=(0, 2)), "expected 2 numbers of cells, each 1 or more"),
        (lambda: fem.Grid2D(res=(1, 1), bounds_hi=wp.vec2(1.0, 0.0)), "must be above bounds_lo"),
        (lambda: fem.Grid2D(res=(1, 1), scalar_type=int), "expected wp.float32 or wp.float64"),
        (lambda: fem.Cells(1), "expected a geometry, got int"),
        (lambda: fem.Subdomain(CELLS), "give either element_mask or element_indices"),
        (lambda: fem.Subdomain(CELLS, element_indices=wp.array([9], dtype=int)), "element 9 is not in Grid2D_Cells"),
        (lambda: fem.make_test(SPACE, domain=fem.Cells(fem.Grid2D(res=(1, 1)))), "belong to two geometries"),
        (lambda: fem.interpolate(one), "say where to evaluate it"),
        (lambda: fem.interpolate(one, dest=SPACE.make_field(), reduction="odd"), "reduction='odd'"),
        (
            lambda: fem.interpolate(one, dest=wp.zeros(3, dtype=float), at=CELLS),
            "expected 4 elements, one for each point",
        ),
        (lambda: setattr(SPACE.make_field(), "dof_values", wp.zeros(3, dtype=float)), "expected 9 values of float32"),
        (lambda: fem.Trimesh2D(wp.zeros((1, 4), dtype=int), wp.zeros(4, dtype=wp.vec2)), "with the shape (cells, 3)"),
        (
            lambda: fem.Trimesh2D(wp.zeros((1, 3), dtype=int), wp.zeros(4, dtype=wp.vec3)),
            "expected positions of wp.vec2",
        ),
        (
            lambda: fem.Trimesh2D(wp.array([(0, 1, 7)], dtype=int), wp.zeros(4, dtype=wp.vec2)).cell_count(),
            "a cell has the vertex 7, of 4 positions",
        ),
    ],
)
def test_mistakes_are_told(call, text):
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fem.interpolate(scaled, fields={"v": TEST}, at=CELLS, values={"factor": 1.0}), "no test fields"),
    ],
)
def test_what_is_not_there_is_refused(call, text):
    with pytest.raises(NotImplementedError, match=re.escape(text)):
        call()


@fem.integrand
def wide(s: fem.Sample):
    return wp.vec2(1.0, 2.0)


def test_values_of_other_types_are_told():
    with pytest.raises(TypeError, match=r"integrand `scaled`: parameter `factor`: expected .*float32"):
        fem.integrate(scaled, fields={"v": TEST}, values={"factor": wp.vec2(1.0, 2.0)})
    told = r"integrand `wide`: what it returns does not fit, as `dest\[node\]` holds float32, but this is vec2f; "
    with pytest.raises(TypeError, match=told):
        fem.interpolate(wide, dest=SPACE.make_field())
    with pytest.raises(TypeError, match="as vec2f cannot be converted to float64; an integrand returns a number"):
        fem.integrate(wide, domain=CELLS)
    with pytest.raises(NotImplementedError, match="knows prune_numerical_zeros only, not \\['topology'\\]"):
        fem.integrate(mass, fields={"u": TRIAL, "v": TEST}, bsr_options={"topology": "masked"})


@fem.integrand
def moved(s: fem.Sample, v: fem.Field):
    s.element_coords = wp.vec3(0.0, 0.0, 0.0)
    return v(s)


def test_samples_are_not_changed():
    with pytest.raises(wp.CompileError, match=r"`s.element_coords` cannot be assigned to(.|\n)*fem.lookup"):
        fem.integrate(moved, fields={"v": TEST})


def test_more_than_two_cells_at_a_side_are_refused():
    points = wp.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, -1.0)], dtype=wp.vec2)
    geo = fem.Trimesh2D(wp.array([(0, 1, 2), (0, 1, 3), (0, 1, 4)], dtype=int), points)
    with pytest.raises(ValueError, match=re.escape("more than two cells share the side of the vertices [0, 1]")):
        geo.side_count()


def test_unknown_names_are_unknown():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        fem.nothing


def test_operators_are_for_kernels():
    with pytest.raises(TypeError, match=re.escape("`fem.grad(u, s)` is called with a struct that supplies it")):
        fem.grad(np.zeros(2), None)
