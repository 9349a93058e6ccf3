"""Fields of vectors and matrices: against derivatives by hand, and flows and displacements that are polynomials."""

import numpy as np
import pytest
import scipy.linalg

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64


@fem.integrand
def twisted(s: fem.Sample, domain: fem.Domain):
    """Its gradient is ((y, x), (2 x, -1))."""
    x = domain(s)
    return wp.vec2d(x[0] * x[1], x[0] * x[0] - x[1])


@fem.integrand
def swirl(s: fem.Sample, domain: fem.Domain):
    """Its curl is (1, 1, -1), and its divergence 0."""
    x = domain(s)
    return wp.vec3d(x[1] + x[2], x[2], x[1] + x[1])


@fem.integrand
def entry(s: fem.Sample, domain: fem.Domain, u: fem.Field, i: int, j: int):
    return fem.grad(u, s)[i, j] * domain(s)[0]


@fem.integrand
def divergence(s: fem.Sample, u: fem.Field):
    return fem.div(u, s)


@fem.integrand
def strain(s: fem.Sample, u: fem.Field):
    return fem.D(u, s)


@fem.integrand
def curl(s: fem.Sample, u: fem.Field):
    return fem.curl(u, s)


def interpolated(name, dtype, function, degree=2):
    field = fem.make_polynomial_space(geometry(name), dtype=dtype, degree=degree).make_field()
    fem.interpolate(function, dest=field)
    return field


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D"])
def test_gradients_have_a_row_for_each_component(name):
    u = interpolated(name, wp.vec2d, twisted)
    quadrature = fem.RegularQuadrature(fem.Cells(u.geometry), order=3)
    expected = {(0, 0): 0.25, (0, 1): 1.0 / 3.0, (1, 0): 2.0 / 3.0, (1, 1): -0.5}
    for (i, j), integral in expected.items():
        found = fem.integrate(entry, quadrature=quadrature, fields={"u": u}, values={"i": i, "j": j})
        assert found == pytest.approx(integral, abs=1e-13)
    assert fem.integrate(divergence, quadrature=quadrature, fields={"u": u}) == pytest.approx(-0.5, abs=1e-13)
    middle = wp.zeros(u.geometry.cell_count(), dtype=wp.mat22d)
    fem.interpolate(strain, dest=middle, at=fem.Cells(u.geometry), fields={"u": u})
    x, y = u.geometry.vertex_positions[u.geometry.cell_vertices].mean(axis=1).T
    expected = np.moveaxis(np.array([[y, 1.5 * x], [1.5 * x, -np.ones_like(x)]]), 2, 0)
    np.testing.assert_allclose(middle.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["Grid3D", "Tetmesh", "Hexmesh"])
def test_curl(name):
    u = interpolated(name, wp.vec3d, swirl, degree=1)
    middle = wp.zeros(u.geometry.cell_count(), dtype=wp.vec3d)
    fem.interpolate(curl, dest=middle, at=fem.Cells(u.geometry), fields={"u": u})
    np.testing.assert_allclose(middle.numpy(), np.tile([1.0, 1.0, -1.0], (middle.size, 1)), atol=1e-12)
    assert fem.integrate(divergence, domain=fem.Cells(u.geometry), fields={"u": u}) == pytest.approx(0.0, abs=1e-12)


@fem.integrand
def elasticity(s: fem.Sample, u: fem.Field, v: fem.Field, mu: F, lam: F):
    e = fem.D(u, s)
    return F(2.0) * mu * wp.ddot(e, fem.D(v, s)) + lam * wp.trace(e) * fem.div(v, s)


@fem.integrand
def picked(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(u(s), v(s))


@fem.integrand
def given_values(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(u(s), v(s))


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Quadmesh2D", "Tetmesh", "Hexmesh"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_linear_displacements_pass_the_patch_test(name, degree):
    """With a linear displacement of the boundary, the displacement inside is linear, too."""
    geo = geometry(name)
    n = geo.dimension
    space = fem.make_polynomial_space(geo, dtype=wp.vec2d if n == 2 else wp.vec3d, degree=degree)
    sides = fem.BoundarySides(geo)
    slope = np.random.default_rng(4).normal(size=(n, n))
    at = space.node_positions()
    wanted = at @ slope.T
    linear = space.make_field()
    linear.dof_values = wanted
    inside = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    A = fem.integrate(elasticity, fields=inside, values={"mu": 2.0, "lam": 3.0})
    outside = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    P = fem.integrate(picked, fields=outside, assembly="nodal")
    given = {"u": linear, "v": outside["v"]}
    fixed = fem.integrate(given_values, fields=given, assembly="nodal", output_dtype=space.dtype)
    rhs = wp.zeros_like(fixed)
    fem.project_linear_system(A, rhs, P, fixed)
    found = np.linalg.solve(dense(A), rhs.numpy().ravel()).reshape(-1, n)
    np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_rigid_motions_have_no_energy():
    space = fem.make_polynomial_space(geometry("Trimesh2D"), dtype=wp.vec2d, degree=2)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    A = dense(fem.integrate(elasticity, fields=fields, values={"mu": 2.0, "lam": 3.0}))
    np.testing.assert_allclose(A, A.T, atol=1e-12)
    x = space.node_positions()
    moved = [np.tile(direction, (len(x), 1)) for direction in ([1.0, 0.0], [0.0, 1.0])]
    for motion in (*moved, np.stack([-x[:, 1], x[:, 0]], axis=1)):
        assert np.abs(A @ motion.ravel()).max() < 1e-11
    assert np.linalg.eigvalsh(A).min() > -1e-11
    assert (np.linalg.eigvalsh(A) < 1e-9).sum() == 3


@fem.integrand
def viscosity(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.ddot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def incompressibility(s: fem.Sample, u: fem.Field, q: fem.Field):
    return q(s) * fem.div(u, s)


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D"])
@pytest.mark.parametrize("kind", ["continuous", "nonconforming"])
def test_flow_between_plates(name, kind):
    """Stokes flow with the velocity (y (1 - y), 0) at the boundary has the pressure gradient -2."""
    geo = geometry(name)
    if kind == "nonconforming" and name != "Grid2D":
        pressures = fem.make_polynomial_space(geo, degree=0)
    else:
        basis = fem.ElementBasis.NONCONFORMING_POLYNOMIAL if kind == "nonconforming" else None
        pressures = fem.make_polynomial_space(geo, degree=1, element_basis=basis)
    velocities = fem.make_polynomial_space(geo, dtype=wp.vec2d, degree=2)
    u, v, q = fem.make_trial(velocities), fem.make_test(velocities), fem.make_test(pressures)
    A = dense(fem.integrate(viscosity, fields={"u": u, "v": v}))
    B = dense(fem.integrate(incompressibility, fields={"u": u, "q": q}))
    x = velocities.node_positions()
    wanted = np.stack([x[:, 1] * (1.0 - x[:, 1]), np.zeros(len(x))], axis=1).ravel()
    assert np.abs(B @ wanted).max() < 1e-13
    is_fixed = np.repeat(((x < 1e-9) | (x > 1.0 - 1e-9)).any(axis=1), 2)
    free = ~is_fixed
    count = free.sum()
    system = np.block([[A[np.ix_(free, free)], -B[:, free].T], [-B[:, free], np.zeros((len(B), len(B)))]])
    rhs = np.concatenate([-A[np.ix_(free, is_fixed)] @ wanted[is_fixed], B[:, is_fixed] @ wanted[is_fixed]])
    found = scipy.linalg.lstsq(system, rhs)[0]
    np.testing.assert_allclose(system @ found, rhs, atol=1e-11)
    if pressures.degree == 1:  # constant pressures have no slope, and the velocity feels it
        np.testing.assert_allclose(found[:count], wanted[free], atol=1e-10)
        slope = np.polyfit(pressures.node_positions()[:, 0], found[count:], 1)[0]
        assert slope == pytest.approx(-2.0, abs=1e-9)


@fem.integrand
def transport(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s) * u(s), v(s))


def test_a_field_carries_itself():
    """The nonlinear term of Burgers' equation, for u = (x y, x x - y)."""
    u = interpolated("Trimesh2D", wp.vec2d, twisted)
    quadrature = fem.RegularQuadrature(fem.Cells(u.geometry), order=6)
    fields = {"u": u, "v": fem.make_test(u.space)}
    found = fem.integrate(transport, quadrature=quadrature, fields=fields).numpy().sum(axis=0)
    # (y x y + x (x x - y), 2 x x y - (x x - y)), integrated over the unit square
    np.testing.assert_allclose(found, [1 / 6 + 1 / 4 - 1 / 4, 1 / 3 - 1 / 3 + 1 / 2], atol=1e-13)


@fem.integrand
def of_matrices(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.ddot(u(s), v(s))


def test_spaces_of_matrices():
    space = fem.make_polynomial_space(geometry("Grid2D"), dtype=wp.mat22d, degree=1)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    found = dense(fem.integrate(of_matrices, fields=fields))
    numbers = fem.make_polynomial_space(space.geometry, degree=1)
    one = dense(fem.integrate(_mass, fields={"u": fem.make_trial(numbers), "v": fem.make_test(numbers)}))
    np.testing.assert_allclose(found, np.kron(one, np.eye(4)), atol=1e-15)


@fem.integrand
def _mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


def test_results_for_vectors_have_two_forms():
    u = interpolated("Grid2D", wp.vec2d, twisted)
    fields = {"u": u, "v": fem.make_test(u.space)}
    numbers = fem.integrate(given_values, fields=fields)
    assert numbers.dtype is F and numbers.shape == (u.space.node_count(), 2)
    vectors = fem.integrate(given_values, fields=fields, output_dtype=wp.vec2d)
    assert vectors.dtype is wp.vec2d and (vectors.numpy() == numbers.numpy()).all()
    with pytest.raises(ValueError, match="output_dtype=vec3d: expected a type of numbers"):
        fem.integrate(given_values, fields=fields, output_dtype=wp.vec3d)


@pytest.mark.parametrize("name", ["Trimesh3D", "Quadmesh3D"])
def test_surfaces(name):
    """A tilted square, twice as large as its shadow: tangential gradients, normals and areas."""
    plane = geometry("Quadmesh2D" if name == "Quadmesh3D" else "Trimesh2D", amount=0.1)
    flat = plane.vertex_positions
    slope = np.sqrt(3.0)
    points = wp.array(np.column_stack([flat, slope * flat[:, 0]]), dtype=wp.vec3d)
    geo = getattr(fem, name)(wp.array(plane.cell_vertices, dtype=int), points)
    cells = fem.Cells(geo)
    assert fem.integrate(_one, domain=cells) == pytest.approx(2.0, abs=1e-12)
    assert fem.integrate(_one, domain=fem.BoundarySides(geo)) == pytest.approx(6.0, abs=1e-12)
    assert fem.integrate(_upward, domain=cells) == pytest.approx(1.0, abs=1e-12)
    field = fem.make_polynomial_space(geo).make_field()
    field.dof_values = points.numpy()[:, 0]
    found = wp.zeros(geo.cell_count(), dtype=wp.vec3d)
    fem.interpolate(_slope, dest=found, at=cells, fields={"f": field})
    np.testing.assert_allclose(found.numpy(), np.tile([0.25, 0.0, slope / 4.0], (found.size, 1)), atol=1e-12)


@fem.integrand
def _one(s: fem.Sample):
    return F(1.0)


@fem.integrand
def _upward(s: fem.Sample, domain: fem.Domain):
    return fem.normal(domain, s)[2]


@fem.integrand
def _slope(s: fem.Sample, f: fem.Field):
    return fem.grad(f, s)
