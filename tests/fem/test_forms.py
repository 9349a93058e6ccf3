"""Integrals of forms: against polynomials integrated by hand, and against an assembly in physical coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import Physical, geometry
from tests.sparse.matrices import dense

PLANE = ("Grid2D", "Trimesh2D", "Quadmesh2D")
SPACE = ("Grid3D", "Tetmesh", "Hexmesh")
ALL = (*PLANE, *SPACE)
AFFINE = ("Grid2D", "Trimesh2D", "Grid3D", "Tetmesh")


@fem.integrand
def one(s: fem.Sample):
    return 1.0


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def load(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x = domain(s)
    return x[0] * x[0] * x[1] * v(s)


@fem.integrand
def flux(s: fem.Sample, domain: fem.Domain):
    x = fem.position(domain, s)
    return wp.dot(x, fem.normal(domain, s))


@fem.integrand
def squared_length(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return wp.dot(x, x)


@fem.integrand
def product(s: fem.Sample, f: fem.Field):
    return f(s) * fem.grad(f, s)[1]


@pytest.mark.parametrize("name", ALL)
def test_sizes_of_domains(name):
    geo = geometry(name)
    dimension = geo.dimension
    assert fem.integrate(_one_double, domain=fem.Cells(geo)) == pytest.approx(1.0, abs=1e-13)
    assert fem.integrate(_one_double, domain=fem.BoundarySides(geo)) == pytest.approx(2.0 * dimension, abs=1e-12)


@fem.integrand
def _one_double(s: fem.Sample):
    return wp.float64(1.0)


@pytest.mark.parametrize("name", ALL)
def test_the_divergence_theorem(name):
    """The flux of x through the boundary is the dimension times the volume."""
    geo = geometry(name)
    quadrature = fem.RegularQuadrature(fem.BoundarySides(geo), order=2)
    assert fem.integrate(flux, quadrature=quadrature) == pytest.approx(geo.dimension, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_polynomials_are_integrated_exactly(name):
    geo = geometry(name)
    quadrature = fem.RegularQuadrature(fem.Cells(geo), order=4)
    assert fem.integrate(squared_length, quadrature=quadrature) == pytest.approx(geo.dimension / 3.0, abs=1e-12)


@pytest.mark.parametrize("name", AFFINE)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_matrices_are_those_of_physical_coordinates(name, degree):
    space = fem.make_polynomial_space(geometry(name, amount=0.25), degree=degree)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    wanted = Physical(space, degree).matrices()
    for form, expected in zip((mass, stiffness), wanted):
        np.testing.assert_allclose(dense(fem.integrate(form, fields=fields)), expected, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("discontinuous", [False, True])
def test_forms_of_polynomials(name, degree, discontinuous):
    """A linear function is in each space, so its forms are integrals over the unit box."""
    space = fem.make_polynomial_space(geometry(name), degree=degree, discontinuous=discontinuous)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    positions = space.node_positions()
    x, ones = positions[:, 0], np.ones(len(positions))
    matrices = [dense(fem.integrate(form, fields=fields)) for form in (mass, stiffness)]
    assert x @ matrices[0] @ x == pytest.approx(1.0 / 3.0, abs=1e-12)
    assert x @ matrices[0] @ ones == pytest.approx(0.5, abs=1e-12)
    assert x @ matrices[1] @ x == pytest.approx(1.0, abs=1e-11)
    assert np.abs(matrices[1] @ ones).max() < 1e-11
    quadrature = fem.RegularQuadrature(fem.Cells(space.geometry), order=degree + 6)
    vector = fem.integrate(load, quadrature=quadrature, fields={"v": fields["v"]}).numpy()
    assert vector.sum() == pytest.approx(1.0 / 6.0, abs=1e-12)
    assert vector @ x == pytest.approx(1.0 / 8.0, abs=1e-12)


@pytest.mark.parametrize("name", ["Grid2D", "Grid3D", "Quadmesh2D", "Hexmesh"])
@pytest.mark.parametrize("degree", [2, 3])
def test_serendipity_spaces_have_all_polynomials_of_their_degree(name, degree):
    geo = geometry(name, amount=0.0)
    space = fem.make_polynomial_space(geo, degree=degree, element_basis=fem.ElementBasis.SERENDIPITY)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    x, y = space.node_positions()[:, 0], space.node_positions()[:, 1]
    f = x ** (degree - 1) * y
    found = f @ dense(fem.integrate(stiffness, fields=fields)) @ f
    k = degree - 1
    assert found == pytest.approx(k * k / (2 * k - 1) / 3.0 + 1.0 / (2 * k + 1), abs=1e-11)


def test_a_field_is_evaluated_with_its_gradient():
    space = fem.make_polynomial_space(geometry("Trimesh2D"), degree=2)
    field = space.make_field()
    x, y = space.node_positions().T
    field.dof_values = x * y
    quadrature = fem.RegularQuadrature(fem.Cells(space.geometry), order=4)
    assert fem.integrate(product, quadrature=quadrature, fields={"f": field}) == pytest.approx(1.0 / 6.0, abs=1e-13)


def test_integrands_run_as_python():
    """The interpreter runs the kernels of forms, so that a debugger stops in integrands."""
    space = fem.make_polynomial_space(fem.Grid2D(res=(2, 1), scalar_type=wp.float64))
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    compiled = [fem.integrate(stiffness, fields=fields).values.numpy(), fem.integrate(load, fields={"v": fields["v"]})]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wp.config, "mode", "interpret")
        found = [fem.integrate(stiffness, fields=fields).values.numpy(), fem.integrate(load, fields={"v": fields["v"]})]
    np.testing.assert_allclose(found[0], compiled[0], atol=1e-14)
    np.testing.assert_allclose(found[1].numpy(), compiled[1].numpy(), atol=1e-14)


def test_float32_is_the_default():
    space = fem.make_polynomial_space(geometry("Grid2D", wp.float32))
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    assert fem.integrate(mass, fields=fields).scalar_type is wp.float32
    assert fem.integrate(mass, fields=fields, output_dtype=wp.float64).scalar_type is wp.float64
    assert fem.integrate(one, domain=fem.Cells(space.geometry)) == pytest.approx(1.0, abs=1e-6)


def test_results_go_to_outputs():
    space = fem.make_polynomial_space(geometry("Grid2D"))
    test, trial = fem.make_test(space), fem.make_trial(space)
    vector = fem.integrate(load, fields={"v": test})
    out = wp.ones(space.node_count(), dtype=wp.float64)
    assert fem.integrate(load, fields={"v": test}, output=out) is out
    assert out.list() == vector.list()
    fem.integrate(load, fields={"v": test}, output=out, add=True)
    np.testing.assert_allclose(out.numpy(), 2.0 * vector.numpy(), rtol=1e-14)
    fields = {"u": trial, "v": test}
    matrix = fem.integrate(mass, fields=fields)
    wanted = dense(matrix) + dense(fem.integrate(stiffness, fields=fields))
    fem.integrate(stiffness, fields=fields, output=matrix, add=True)
    np.testing.assert_allclose(dense(matrix), wanted, rtol=1e-13)
    fem.integrate(mass, fields=fields, output=matrix)
    np.testing.assert_allclose(dense(matrix), dense(fem.integrate(mass, fields=fields)), rtol=1e-14)
    number = wp.ones(1, dtype=wp.float64)
    fem.integrate(_one_double, domain=fem.Cells(space.geometry), output=number, add=True)
    assert number.list() == [2.0]


@fem.integrand
def count(s: fem.Sample):
    return 1


@fem.integrand
def precise(s: fem.Sample):
    return wp.float64(1.0)


def test_integrands_give_numbers_of_any_type():
    cells = fem.Cells(geometry("Grid2D", wp.float32))
    assert fem.integrate(count, domain=cells) == pytest.approx(1.0, abs=1e-6)
    assert fem.integrate(precise, domain=cells) == pytest.approx(1.0, abs=1e-6)


def test_a_closed_surface_has_no_boundary():
    corners = wp.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=wp.vec3)
    faces = wp.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], dtype=int)
    geo = fem.Trimesh3D(faces, corners)
    boundary = fem.BoundarySides(geo)
    assert (boundary.element_count(), fem.Sides(geo).element_count()) == (0, 6)
    assert fem.integrate(one, domain=boundary) == 0.0
    assert fem.integrate(one, domain=fem.Cells(geo)) == pytest.approx(1.5 + np.sqrt(0.75))
    space = fem.make_polynomial_space(geo)
    assert fem.integrate(one_of, fields={"v": fem.make_test(space, domain=boundary)}).list() == [0.0] * 4


@fem.integrand
def one_of(s: fem.Sample, v: fem.Field):
    return v(s)


def test_blocks_of_zeros_can_be_left_out():
    space = fem.make_polynomial_space(geometry("Grid2D"), discontinuous=True)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    every = fem.integrate(mass, fields=fields)
    few = fem.integrate(stiffness, fields=fields, bsr_options={"prune_numerical_zeros": True})
    assert every.nnz_sync() == 6 * 16 and few.nnz_sync() <= 6 * 16
    sides = fem.BoundarySides(space.geometry)
    fields = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    assert fem.integrate(mass, fields=fields).nnz_sync() == 10 * 4 - 4


def test_a_lumped_mass_matrix_is_diagonal():
    space = fem.make_polynomial_space(geometry("Grid2D"), degree=2)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    lumped = dense(fem.integrate(mass, fields=fields, assembly="nodal"))
    assert np.count_nonzero(lumped - np.diag(lumped.diagonal())) == 0
    np.testing.assert_allclose(lumped.diagonal(), dense(fem.integrate(mass, fields=fields)).sum(axis=1), atol=1e-14)


def test_a_subdomain_has_some_elements():
    geo = geometry("Grid2D")
    cells = fem.Cells(geo)
    mask = wp.array([1, 0, 0, 1, 0, 0], dtype=int)
    half = fem.Subdomain(cells, element_mask=mask)
    assert fem.integrate(_one_double, domain=half) == pytest.approx(1.0 / 3.0)
    space = fem.make_polynomial_space(geo)
    parts = [half, fem.Subdomain(cells, element_mask=wp.array(1 - mask.numpy(), dtype=int))]
    found = [
        dense(fem.integrate(mass, fields={"u": fem.make_trial(space, domain=d), "v": fem.make_test(space, domain=d)}))
        for d in parts
    ]
    whole = fem.integrate(mass, fields={"u": fem.make_trial(space), "v": fem.make_test(space)})
    np.testing.assert_allclose(found[0] + found[1], dense(whole), atol=1e-15)


def test_inner_sides_are_counted_once():
    for name, edges in (("Grid2D", 3 * 3 + 4 * 2), ("Quadmesh2D", 2 * 3 * 4), ("Trimesh2D", 2 * 3 * 4 + 9)):
        assert fem.Sides(geometry(name)).element_count() == edges
    assert fem.integrate(_one_double, domain=fem.Sides(geometry("Grid2D"))) == pytest.approx(3 + 4)


@wp.struct
class Material:
    density: wp.float64
    axes: wp.mat22d


@wp.func
def squared(x: wp.float64):
    return x * x


@fem.integrand
def along(s: fem.Sample, f: fem.Field, axis: wp.vec2d):
    return wp.dot(fem.grad(f, s), axis)


@fem.integrand
def mixed(
    s: fem.Sample,
    domain: fem.Domain,
    f: fem.Field,
    g: fem.Field,
    material: Material,
    weights: wp.array(dtype=wp.float64),
    power: int = 2,
):
    slope = along(s, f, material.axes * wp.vec2d(wp.float64(1.0), wp.float64(0.0)))
    found = material.density * squared(g(s)[1]) * slope * weights[s.element_index]
    for _i in range(power):
        found = found * domain(s)[0]
    return found


def test_integrands_take_fields_of_several_spaces_and_values_of_all_types():
    """f = x + 3 y along (0, 1), g = (0, y): 2 * y^2 * 3 * weight * x^2, over the cells of a 2 x 1 grid."""
    geo = fem.Grid2D(res=(2, 1), scalar_type=wp.float64)
    f, g = fem.make_polynomial_space(geo).make_field(), fem.make_polynomial_space(geo, dtype=wp.vec2d).make_field()
    x, y = f.space.node_positions().T
    f.dof_values, g.dof_values = x + 3.0 * y, np.stack([0.0 * y, y], axis=1)
    values = {
        "material": Material(density=2.0, axes=wp.mat22d(0.0, -1.0, 1.0, 0.0)),
        "weights": wp.array([1.0, 10.0], dtype=wp.float64),
    }
    quadrature = fem.RegularQuadrature(fem.Cells(geo), order=4)
    found = fem.integrate(mixed, quadrature=quadrature, fields={"f": f, "g": g}, values=values)
    assert found == pytest.approx(2.0 / 3.0 * 3.0 * (1.0 / 24.0 + 10.0 * 7.0 / 24.0), abs=1e-13)
    found = fem.integrate(mixed, quadrature=quadrature, fields={"f": f, "g": g}, values=values | {"power": 0})
    assert found == pytest.approx(2.0 / 3.0 * 3.0 * (0.5 + 5.0), abs=1e-13)


@fem.integrand
def numbers_of_dofs(s: fem.Sample, u: fem.Field, v: fem.Field):
    return float(s.test_dof[0] * 1000 + s.test_dof[1] * 100 + s.trial_dof[0] * 10 + s.trial_dof[1])


def test_samples_know_the_degrees_of_freedom():
    space = fem.make_polynomial_space(fem.Grid2D(res=(1, 1)), dtype=wp.vec2, discontinuous=True)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    found = dense(fem.integrate(numbers_of_dofs, fields=fields))
    node, component = np.divmod(np.arange(8), 2)
    np.testing.assert_allclose(found, (node * 1000 + component * 100)[:, None] + node * 10 + component, rtol=1e-6)


@pytest.mark.parametrize(("name", "edges"), [("Grid2D", 3), ("Grid3D", 6)])
def test_nonconforming_nodes_are_a_regular_simplex(name, edges):
    """Its vertices are on the circle or sphere inside of the cell; with degree 2, the middles of edges follow."""
    shape = fem.make_polynomial_space(
        geometry(name), degree=2, element_basis=fem.ElementBasis.NONCONFORMING_POLYNOMIAL
    ).basis.shape
    count = shape.cell.dimension + 1
    corners, middles = shape.nodes[:count], shape.nodes[count:]
    np.testing.assert_allclose(np.linalg.norm(corners - 0.5, axis=1), 0.5, atol=1e-14)
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=2)[np.triu_indices(count, 1)]
    np.testing.assert_allclose(apart, apart[0], atol=1e-14)
    between = [(corners[i] + corners[j]) / 2.0 for i in range(count) for j in range(i)]
    assert len(middles) == edges and {tuple(m.round(9)) for m in middles} == {tuple(b.round(9)) for b in between}
