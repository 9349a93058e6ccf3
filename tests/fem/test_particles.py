"""Quadratures of particles: against sums over particles by NumPy, and central differences."""

from __future__ import annotations

import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import Physical, geometry
from tests.sparse.matrices import dense

F = wp.float64
ALL = ("Grid2D", "Trimesh2D", "Quadmesh2D", "Grid3D", "Tetmesh", "Hexmesh")


def cloud(geo, count=40, seed=0):
    """Positions inside of the unit box, and sizes."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.02, 0.98, (count, geo.dimension)), rng.uniform(0.5, 1.5, count) / count


def quadrature(name, count=40):
    geo = geometry(name)
    if hasattr(geo, "build_bvh"):
        geo.build_bvh()
    x, sizes = cloud(geo, count)
    vector = wp.vec2d if geo.dimension == 2 else wp.vec3d
    at, measures = wp.array(x, dtype=vector), wp.array(sizes, dtype=F)
    return fem.PicQuadrature(fem.Cells(geo), at, measures), x, sizes


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def one(s: fem.Sample):
    return F(1.0)


@fem.integrand
def scattered(s: fem.Sample, v: fem.Field, amounts: wp.array(dtype=F)):
    return amounts[s.qp_index] * v(s)


@fem.integrand
def tilted(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    x = domain(s)
    return u(s) + x[0] * fem.grad(u, s)[1]


@pytest.mark.parametrize("name", ALL)
def test_integrals_are_sums_over_particles(name):
    pic, x, sizes = quadrature(name)
    field = fem.make_polynomial_space(pic.domain.geometry, degree=2).make_field()
    field.dof_values = field.space.node_positions() @ np.arange(1.0, 1.0 + x.shape[1])
    assert fem.integrate(one, quadrature=pic) == pytest.approx(sizes.sum(), rel=1e-13)
    found = fem.integrate(tilted, quadrature=pic, fields={"u": field})
    assert found == pytest.approx(sizes @ (x @ np.arange(1.0, 1.0 + x.shape[1]) + 2.0 * x[:, 0]), rel=1e-12)


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Grid3D", "Tetmesh"])
@pytest.mark.parametrize("degree", [1, 2])
def test_test_functions_at_particles(name, degree):
    """Vectors and matrices are those of shape functions in physical coordinates."""
    pic, x, sizes = quadrature(name)
    space = fem.make_polynomial_space(pic.domain.geometry, degree=degree)
    judge, cells = Physical(space, degree), pic.cell_indices.numpy()
    values = np.zeros((len(x), space.node_count()))
    for p, cell in enumerate(cells):
        nodes = judge.nodes[cell]
        middle = judge.positions[nodes].mean(axis=0)
        fitted = np.linalg.inv(judge.monomials(judge.positions[nodes] - middle))
        values[p, nodes] = judge.monomials((x[p] - middle)[None])[0] @ fitted
    amounts = np.random.default_rng(1).normal(size=len(x))
    test, trial = fem.make_test(space), fem.make_trial(space)
    given = {"amounts": wp.array(amounts, dtype=F)}
    found = fem.integrate(scattered, quadrature=pic, fields={"v": test}, values=given).numpy()
    np.testing.assert_allclose(found, values.T @ (sizes * amounts), atol=1e-12)
    matrix = dense(fem.integrate(mass, quadrature=pic, fields={"u": trial, "v": test}))
    np.testing.assert_allclose(matrix, values.T @ (sizes[:, None] * values), atol=1e-12)


@fem.integrand
def gathered(s: fem.Sample, u: fem.Field):
    return u(s)


@pytest.mark.parametrize("name", ALL)
def test_fields_are_gathered_at_particles(name):
    """In the order of particles: to an array, and to a field with a node for each."""
    pic, x, _ = quadrature(name)
    field = fem.make_polynomial_space(pic.domain.geometry).make_field()
    field.dof_values = field.space.node_positions()[:, 1]
    out = wp.zeros(len(x), dtype=F)
    fem.interpolate(gathered, dest=out, at=pic, fields={"u": field})
    np.testing.assert_allclose(out.numpy(), x[:, 1], atol=1e-12)
    space = fem.make_collocated_function_space(fem.PointBasisSpace(pic))
    points = space.make_field()
    fem.interpolate(field, dest=points)
    np.testing.assert_allclose(points.dof_values.numpy(), x[:, 1], atol=1e-12)
    np.testing.assert_allclose(space.node_positions(), x, atol=1e-12)


def test_forms_with_a_node_for_each_particle():
    """A matrix has a row for each particle: its weight times the shape functions there."""
    pic, x, sizes = quadrature("Trimesh2D", count=15)
    space = fem.make_polynomial_space(pic.domain.geometry)
    points = fem.make_collocated_function_space(fem.PointBasisSpace(pic))
    fields = {"u": fem.make_trial(space), "v": fem.make_test(points)}
    matrix = dense(fem.integrate(mass, quadrature=pic, fields=fields))
    assert matrix.shape == (15, space.node_count())
    at = space.node_positions()
    np.testing.assert_allclose(matrix @ at, sizes[:, None] * x, atol=1e-13)
    back = dense(fem.integrate(mass, quadrature=pic, fields={"u": fem.make_trial(points), "v": fem.make_test(space)}))
    np.testing.assert_allclose(back, matrix.T, atol=1e-15)
    known = points.make_field()
    known.dof_values = x[:, 0]
    found = fem.integrate(mass, quadrature=pic, fields={"u": known, "v": fem.make_test(points)}).numpy()
    np.testing.assert_allclose(found, sizes * x[:, 0], atol=1e-14)


@fem.integrand
def strain(s: fem.Sample, u: fem.Field, tau: fem.Field):
    return wp.ddot(fem.D(u, s), tau(s))


def test_strains_at_particles():
    """Of a linear displacement they are the same everywhere."""
    pic, _, sizes = quadrature("Quadmesh2D", count=12)
    space = fem.make_polynomial_space(pic.domain.geometry, dtype=wp.vec2d)
    points = fem.make_collocated_function_space(fem.PointBasisSpace(pic), dtype=wp.mat22d)
    fields = {"u": fem.make_trial(space), "tau": fem.make_test(points)}
    B = fem.integrate(strain, quadrature=pic, fields=fields)
    assert B.block_shape == (4, 2)
    gradient = np.array([[1.0, 2.0], [-1.0, 3.0]])
    u = space.node_positions() @ gradient.T
    expected = sizes[:, None] * (0.5 * (gradient + gradient.T)).ravel()
    np.testing.assert_allclose((dense(B) @ u.ravel()).reshape(-1, 4), expected, atol=1e-13)


def test_particles_of_some_cells():
    geo = fem.Grid2D(res=(2, 1), scalar_type=F)
    at = wp.array([(0.75, 0.5), (0.25, 0.5), (0.6, 0.1)], dtype=wp.vec2d)
    domain = fem.Subdomain(fem.Cells(geo), element_indices=wp.array([1], dtype=int))
    pic = fem.PicQuadrature(domain, at, measures=wp.array([1.0, 10.0, 100.0], dtype=F))
    assert fem.integrate(one, quadrature=pic) == pytest.approx(101.0)
    assert pic.active_cell_count() == 1 and pic.max_points_per_element() == 2
    out = wp.full(3, -1.0, dtype=F)
    fem.interpolate(one, dest=out, at=pic)
    assert out.list() == [1.0, -1.0, 1.0]


def test_particles_without_sizes_share_their_cell():
    geo = fem.Grid2D(res=(2, 1), scalar_type=F)
    at = wp.array([(0.75, 0.5), (0.25, 0.5), (0.6, 0.1)], dtype=wp.vec2d)
    pic = fem.PicQuadrature(fem.Cells(geo), at)
    assert pic.particle_fraction.list() == [0.5, 1.0, 0.5]
    assert fem.integrate(one, quadrature=pic) == pytest.approx(1.0)


def test_cells_and_coordinates_can_be_given():
    geo = geometry("Trimesh2D")
    cells, coords = wp.array([3, 0, 3], dtype=int), wp.array([(0.2, 0.3, 0.0)] * 3, dtype=wp.vec3d)
    pic = fem.PicQuadrature(fem.Cells(geo), (cells, coords), wp.array([1.0, 2.0, 3.0], dtype=F))
    field = fem.make_polynomial_space(geo).make_field()
    field.dof_values = field.space.node_positions()[:, 0]
    corners = geo.vertex_positions[geo.cell_vertices][[3, 0, 3]]
    x = np.einsum("v,pvd->pd", [0.5, 0.2, 0.3], corners)
    found = fem.integrate(mass, quadrature=pic, fields={"u": field, "v": field})
    assert found == pytest.approx(np.array([1.0, 2.0, 3.0]) @ x[:, 0] ** 2, rel=1e-13)


def test_particles_in_no_cell_do_not_count():
    geo = geometry("Grid2D")
    cells, coords = wp.array([-1, 2], dtype=int), wp.array([(0.5, 0.5, 0.0)] * 2, dtype=wp.vec3d)
    pic = fem.PicQuadrature(fem.Cells(geo), (cells, coords), wp.array([1.0, 2.0], dtype=F))
    assert fem.integrate(one, quadrature=pic) == pytest.approx(2.0)
    out = wp.full(2, -1.0, dtype=F)
    fem.interpolate(one, dest=out, at=pic)
    assert out.list() == [-1.0, 1.0]


def test_explicit_quadratures_are_like_regular_ones():
    geo = geometry("Quadmesh2D")
    regular = fem.RegularQuadrature(fem.Cells(geo), order=3)
    count = geo.cell_count(), len(regular.points)
    points = np.broadcast_to(np.pad(regular.points, ((0, 0), (0, 1))), (*count, 3))
    weights = np.broadcast_to(regular.weights, count)
    explicit = fem.ExplicitQuadrature(
        fem.Cells(geo), wp.array(points, dtype=wp.vec3d), wp.array(np.ascontiguousarray(weights), dtype=F)
    )
    space = fem.make_polynomial_space(geo, degree=2)
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    found, expected = (dense(fem.integrate(mass, quadrature=q, fields=fields)) for q in (explicit, regular))
    np.testing.assert_allclose(found, expected, atol=1e-14)
    out = [wp.zeros(explicit.total_point_count(), dtype=F) for _ in range(2)]
    field = space.make_field()
    field.dof_values = np.random.default_rng(0).normal(size=space.node_count())
    for q, dest in zip((explicit, regular), out):
        fem.interpolate(gathered, dest=dest, at=q, fields={"u": field})
    np.testing.assert_allclose(out[0].numpy(), out[1].numpy(), atol=1e-13)


@fem.integrand
def energy(s: fem.Sample, u: fem.Field, v: fem.Field, amounts: wp.array(dtype=F)):
    g = fem.grad(u, s)
    return amounts[s.qp_index] * (wp.dot(g, g) + u(s)) * v(s)


@pytest.mark.parametrize(("name", "degree"), [("Grid2D", 2), ("Trimesh2D", 1), ("Quadmesh2D", 1)])
def test_gradients_by_particles(name, degree):
    """By positions and sizes of particles, what they carry, and values at nodes."""
    geo = geometry(name)
    if name != "Grid2D":
        geo.build_bvh()
    space, rng = fem.make_polynomial_space(geo, degree=degree), np.random.default_rng(5)
    x, sizes = cloud(geo, 7)
    given = [x, sizes, rng.normal(size=7), rng.normal(size=space.node_count())]
    weights = wp.array(rng.normal(size=space.node_count()), dtype=F)

    def evaluated(given, records=False):
        types = wp.vec2d, F, F, F
        arrays = [wp.array(a, dtype=t, requires_grad=True) for a, t in zip(given, types)]
        field, out = space.make_field(), wp.zeros(1, dtype=F, requires_grad=True)
        field.dof_values = arrays[3]
        with wp.Tape() as tape:
            pic = fem.PicQuadrature(fem.Cells(geo), arrays[0], arrays[1])
            fields = {"u": field, "v": fem.make_test(space)}
            vector = fem.integrate(energy, quadrature=pic, fields=fields, values={"amounts": arrays[2]})
            wp.utils.array_inner(vector, weights, out)
        if not records:
            return float(out.numpy()[0])
        tape.backward(grads={out: wp.ones(1, dtype=F)})
        return [a.grad.numpy() for a in arrays]

    gradients = evaluated(given, records=True)
    for which, gradient in enumerate(gradients):
        for place in list(np.ndindex(gradient.shape))[:6]:
            pair = []
            for h in (1e-6, -1e-6):
                moved = [a.copy() for a in given]
                moved[which][place] += h
                pair.append(evaluated(moved))
            assert gradient[place] == pytest.approx((pair[0] - pair[1]) / 2e-6, rel=1e-6, abs=1e-7)


def test_sums_over_particles_are_the_same_each_time():
    geo = fem.Grid2D(res=(2, 2))
    rng = np.random.default_rng(0)
    at = wp.array(rng.uniform(size=(5000, 2)), dtype=wp.vec2)
    amounts = wp.array(rng.normal(size=5000) * 10.0 ** rng.uniform(-6, 6, 5000), dtype=float)

    @fem.integrand
    def amount(s: fem.Sample, v: fem.Field, amounts: wp.array(dtype=float)):
        return amounts[s.qp_index] * v(s)

    results = []
    for _ in range(3):
        pic = fem.PicQuadrature(fem.Cells(geo), at)
        test = fem.make_test(fem.make_polynomial_space(geo))
        results.append(fem.integrate(amount, quadrature=pic, fields={"v": test}, values={"amounts": amounts}).numpy())
    assert all((r == results[0]).all() for r in results)


GEO = fem.Grid2D(res=(2, 2))
CELLS = fem.Cells(GEO)
AT = wp.array([(0.5, 0.25)], dtype=wp.vec2)


@fem.integrand
def slope(s: fem.Sample, u: fem.Field):
    return fem.grad(u, s)[0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fem.PicQuadrature(fem.Sides(GEO), AT), "expected cells, fem.Cells(geometry), got Grid2D_Sides"),
        (lambda: fem.PicQuadrature(CELLS, wp.zeros(1, dtype=wp.vec3)), "positions: expected an array of vec2f"),
        (lambda: fem.PicQuadrature(CELLS, AT, wp.zeros(2, dtype=float)), "measures: expected 1 numbers"),
        (lambda: fem.PicQuadrature(CELLS, (AT, AT, AT)), "cells: expected an array of int32, got vec2f"),
        (
            lambda: fem.PicQuadrature(CELLS, (wp.zeros(2, dtype=int), wp.zeros(3, dtype=wp.vec3))),
            "expected as many cells as coordinates, got (2,) and (3,)",
        ),
        (lambda: fem.ExplicitQuadrature(CELLS, AT, AT), "points: expected an array of 4 elements x points"),
        (lambda: fem.PointBasisSpace(fem.RegularQuadrature(CELLS, 1)), "expected a PicQuadrature"),
        (
            lambda: fem.integrate(
                slope,
                domain=CELLS,
                fields={"u": fem.make_collocated_function_space(fem.PointBasisSpace(PIC)).make_field()},
            ),
            "field `u` is known at the points of a quadrature; write quadrature=",
        ),
    ],
)
def test_mistakes_with_particles_are_told(call, text):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=re.escape(text)):
        call()


PIC = fem.PicQuadrature(CELLS, AT)


def test_fields_of_particles_have_no_gradient():
    field = fem.make_collocated_function_space(fem.PointBasisSpace(PIC)).make_field()
    with pytest.raises(wp.CompileError, match="known at its points alone"):
        fem.integrate(slope, quadrature=PIC, fields={"u": field})
