"""Fields on both sides of sides: against polynomials, and against an assembly in physical coordinates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import Physical, geometry
from tests.sparse.matrices import dense

F = wp.float64
ALL = ("Grid2D", "Trimesh2D", "Quadmesh2D", "Grid3D", "Tetmesh", "Hexmesh")
# Orders of the vertices of a cell, which turn and mirror its axes and sides.
TURNS = {
    "Trimesh2D": [(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2)],
    "Quadmesh2D": [(0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2), (0, 3, 2, 1)],
    "Tetmesh": [(0, 1, 2, 3), (1, 2, 0, 3), (1, 0, 3, 2), (3, 1, 0, 2), (2, 3, 0, 1), (0, 2, 1, 3)],
    "Hexmesh": [
        *((0, 1, 2, 3, 4, 5, 6, 7), (1, 2, 3, 0, 5, 6, 7, 4), (3, 2, 6, 7, 0, 1, 5, 4)),
        *((4, 7, 6, 5, 0, 3, 2, 1), (1, 5, 6, 2, 0, 4, 7, 3)),
    ],
}


def turned(name: str, amount: float = 0.25):
    """A geometry of irregular cells, each with its own axes."""
    geo = geometry(name, amount=amount)
    if name not in TURNS:
        return geo
    rng = np.random.default_rng(5)
    cells = rng.permutation(geo.cell_vertices)
    turns = np.array(TURNS[name])[rng.integers(len(TURNS[name]), size=len(cells))]
    kind = {2: wp.vec2d, 3: wp.vec3d}[geo.dimension]
    indices = wp.array(np.take_along_axis(cells, turns, axis=1), dtype=int)
    return type(geo)(indices, wp.array(geo.vertex_positions, dtype=kind))


@fem.integrand
def gap(s: fem.Sample, domain: fem.Domain):
    """How far the point in one cell is from the point in the other."""
    a, b = fem.to_inner_cell(domain, s), fem.to_outer_cell(domain, s)
    return wp.length(domain(s) - domain(a)) + wp.length(domain(s) - domain(b))


@fem.integrand
def linear(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return F(2.0) * x[0] - F(3.0) * x[1] + F(0.5)


@fem.integrand
def roughness(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    """Zero for smooth fields, whose values in both cells are the same."""
    of_values = wp.abs(fem.jump(u, s)) + wp.abs(fem.average(u, s) - u(s)) + wp.abs(fem.outer(u, s) - linear(s, domain))
    of_gradients = wp.length(fem.grad_jump(u, s)) + wp.length(fem.grad_average(u, s) - fem.grad(u, s))
    beyond = fem.to_outer_cell(domain, s)
    return of_values + of_gradients + wp.abs(u(beyond) - u(s)) + wp.length(fem.grad_outer(u, s) - fem.grad(u, beyond))


@pytest.mark.parametrize("name", ALL)
def test_both_cells_of_a_side_have_the_same_points(name):
    """Also where the axes of both cells lead into different directions along their common side."""
    geo = turned(name)
    quadrature = fem.RegularQuadrature(fem.Sides(geo), order=4)
    assert fem.integrate(gap, quadrature=quadrature) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("domain", [fem.Sides, fem.BoundarySides])
def test_a_smooth_field_has_no_jump(name, domain):
    geo = turned(name)
    field = fem.make_polynomial_space(geo, degree=2, discontinuous=True).make_field()
    fem.interpolate(linear, dest=field)
    assert fem.integrate(roughness, domain=domain(geo), fields={"u": field}) == pytest.approx(0.0, abs=2e-11)


@fem.integrand
def numbers(s: fem.Sample, domain: fem.Domain, u: fem.Field, found: wp.array(dtype=wp.vec4d), n: wp.array(dtype=F)):
    i = s.element_index
    found[i] = wp.vec4d(fem.inner(u, s), fem.outer(u, s), fem.jump(u, s), fem.average(u, s))
    cells = fem.to_outer_cell(domain, s).element_index - fem.to_inner_cell(domain, s).element_index
    n[i] = fem.measure_ratio(domain, s) * F(wp.sign(cells))


def test_the_first_cell_is_inside():
    """On a row of three cells of the sizes 1/3 x 1 with the numbers 1, 2 and 4."""
    geo = fem.Grid2D(res=(3, 1), scalar_type=F)
    field = fem.make_polynomial_space(geo, degree=0).make_field()
    field.dof_values = [1.0, 2.0, 4.0]
    sides = fem.Sides(geo)
    found, ratios = wp.zeros(10, dtype=wp.vec4d), wp.zeros(10, dtype=F)
    values = {"found": found, "n": ratios}
    fem.interpolate(numbers, at=fem.RegularQuadrature(sides, order=0), fields={"u": field}, values=values)
    between = ~geo.sides.is_boundary
    np.testing.assert_allclose(found.numpy()[between], [(1.0, 2.0, -1.0, 1.5), (2.0, 4.0, -2.0, 3.0)])
    outside = found.numpy()[~between]
    np.testing.assert_allclose(outside[:, 2], 0.0)
    np.testing.assert_allclose(outside[:, [1, 3]], outside[:, [0, 0]])
    np.testing.assert_allclose(ratios.numpy()[between], 3.0)  # a length of 1 by an area of 1/3; and the cells ascend


@fem.integrand
def diffusion(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field, penalty: F):
    n = fem.normal(domain, s)
    fluxes = fem.jump(u, s) * wp.dot(fem.grad_average(v, s), n) + fem.jump(v, s) * wp.dot(fem.grad_average(u, s), n)
    return penalty * fem.measure_ratio(domain, s) * fem.jump(u, s) * fem.jump(v, s) - fluxes


@fem.integrand
def mixed(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field, penalty: F):
    """A form that is not symmetric, of values and gradients on either side."""
    n = fem.normal(domain, s)
    return penalty * fem.outer(u, s) * v(s) + wp.dot(fem.grad_outer(v, s) - F(2.0) * fem.grad(v, s), n) * u(s)


@fem.integrand
def pushed(s: fem.Sample, domain: fem.Domain, v: fem.Field, w: fem.Field):
    x = domain(s)
    return x[0] * fem.jump(v, s) + x[1] * fem.outer(v, s) + fem.outer(w, s) * v(s) * fem.grad_jump(w, s)[0]


class TwoSided(Physical):
    """Integrals over sides between two cells, and on the boundary, in physical coordinates."""

    def functions(self, cell: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients of the shape functions of a cell at points: points x nodes (x coordinates)."""
        nodes = self.positions[self.nodes[cell]]
        middle = nodes.mean(axis=0)
        fitted = np.linalg.inv(self.monomials(nodes - middle))
        slopes = [self.monomials(x - middle, d) @ fitted for d in range(self.dimension)]
        return self.monomials(x - middle) @ fitted, np.stack(slopes, axis=-1)

    def sides(self):
        """The cells of each side, its points with their weights, its normal, and its size by the size of its cells."""
        geo = self.space.geometry
        corners = geo.vertex_positions[geo.cell_vertices]
        of_side: dict[tuple, list[int]] = {}
        for cell, vertices in enumerate(geo.cell_vertices):
            for picked in itertools.combinations(vertices.tolist(), self.dimension):
                of_side.setdefault(tuple(sorted(picked)), []).append(cell)
        sizes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / (2.0 if self.dimension == 2 else 6.0)
        for vertices, cells in of_side.items():
            at = geo.vertex_positions[list(vertices)]
            points, weights = self.points_of(at[1:] - at[0])
            normal = np.linalg.svd(at[1:] - at[0])[2][-1]
            normal *= np.sign((at[0] - corners[cells[0]].mean(axis=0)) @ normal)
            yield cells, at[0] + points, weights, normal, weights.sum() / sizes[cells].min()

    def points_of(self, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points of a segment or a triangle, from its first vertex, and their weights."""
        x, w = np.polynomial.legendre.leggauss(self.count)
        x, w = (x + 1.0) / 2.0, w / 2.0
        if len(axes) == 1:
            return x[:, None] * axes, w * np.linalg.norm(axes)
        a, b = (g.ravel() for g in np.meshgrid(x, x, indexing="ij"))
        weights = np.outer(w, w).ravel() * (1.0 - a) * np.linalg.norm(np.cross(axes[0], axes[1]))
        return np.outer(a, axes[0]) + np.outer(b * (1.0 - a), axes[1]), weights

    def integrals(self, of_side) -> np.ndarray:
        """The matrix of a form. `of_side` gives a number for each point, test node and trial node. It takes values
        inside and outside, gradients along the normal of both, and the ratio: points x nodes of both cells.
        """
        n = self.space.node_count()
        total = np.zeros((n, n))
        for cells, x, weights, normal, ratio in self.sides():
            parts = []
            for side in range(2):
                cell = cells[min(side, len(cells) - 1)]
                values, slopes = self.functions(cell, x)
                shape = len(x), n
                found = np.zeros(shape), np.zeros(shape)
                np.add.at(found[0].T, self.nodes[cell], values.T)
                np.add.at(found[1].T, self.nodes[cell], (slopes @ normal).T)
                parts.append(found)
            total += np.einsum("p,pij->ij", weights, of_side(parts[0][0], parts[1][0], parts[0][1], parts[1][1], ratio))
        return total


def _diffusion(inside, outside, slope_inside, slope_outside, ratio):
    jump, slope = inside - outside, (slope_inside + slope_outside) / 2.0
    pair = jump[:, :, None] * slope[:, None, :]
    return 7.0 * ratio * jump[:, :, None] * jump[:, None, :] - pair - pair.transpose(0, 2, 1)


def _mixed(inside, outside, slope_inside, slope_outside, ratio):
    along = slope_outside - 2.0 * slope_inside
    return 7.0 * inside[:, :, None] * outside[:, None, :] + along[:, :, None] * inside[:, None, :]


@pytest.mark.parametrize("name", ["Trimesh2D", "Tetmesh"])
@pytest.mark.parametrize(("degree", "discontinuous"), [(1, True), (2, True), (1, False), (2, False), (0, True)])
@pytest.mark.parametrize(("form", "judge"), [(diffusion, _diffusion), (mixed, _mixed)])
def test_matrices_are_those_of_an_assembly_by_hand(name, degree, discontinuous, form, judge):
    """Continuous spaces, too: their nodes on a side belong to both cells."""
    space = fem.make_polynomial_space(turned(name), degree=degree, discontinuous=discontinuous)
    sides = fem.Sides(space.geometry)
    fields = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    quadrature = fem.RegularQuadrature(sides, order=2 * degree + 1)
    found = dense(fem.integrate(form, quadrature=quadrature, fields=fields, values={"penalty": 7.0}))
    expected = TwoSided(space, degree).integrals(judge)
    np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", ALL)
def test_arrays_are_rows_of_matrices(name):
    """A test field on sides: the integral for a field is the matrix times its values."""
    space = fem.make_polynomial_space(turned(name), degree=1, discontinuous=True)
    sides = fem.Sides(space.geometry)
    field = space.make_field()
    field.dof_values = np.random.default_rng(3).normal(size=space.node_count())
    test, values = fem.make_test(space, domain=sides), {"penalty": 7.0}
    matrix = dense(fem.integrate(mixed, fields={"u": fem.make_trial(space, domain=sides), "v": test}, values=values))
    found = fem.integrate(mixed, fields={"u": field, "v": test}, values=values).numpy()
    np.testing.assert_allclose(found, matrix @ field.dof_values.numpy(), atol=1e-12)


@pytest.mark.parametrize("name", ["Grid2D", "Quadmesh2D", "Tetmesh"])
def test_some_sides_are_parts_of_all(name):
    """Sides in two parts, one of them on the boundary alone, sum up to all sides."""
    space = fem.make_polynomial_space(turned(name), degree=1, discontinuous=True)
    sides = fem.Sides(space.geometry)
    boundary = space.geometry.sides.is_boundary.astype(np.int32)
    masks = [wp.array(m, dtype=int) for m in (boundary, 1 - boundary)]
    parts = [fem.Subdomain(sides, element_mask=m) for m in masks]
    found = []
    for domain in (sides, *parts, fem.BoundarySides(space.geometry)):
        fields = {"u": fem.make_trial(space, domain=domain), "v": fem.make_test(space, domain=domain)}
        found.append(dense(fem.integrate(mixed, fields=fields, values={"penalty": 7.0})))
    np.testing.assert_allclose(found[1] + found[2], found[0], atol=1e-12)
    np.testing.assert_allclose(found[1], found[3], atol=1e-14)


@fem.integrand
def flow(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    n = fem.normal(domain, s)
    into = fem.div_outer(u, s) * wp.dot(fem.jump(v, s), n)
    return into + wp.ddot(fem.grad_jump(u, s), fem.grad_average(v, s)) + wp.dot(fem.average(u, s), fem.outer(v, s))


def test_vectors_have_both_sides():
    """The form of a trial and a test field is that of two discrete fields."""
    space = fem.make_polynomial_space(turned("Trimesh2D"), dtype=wp.vec2d, degree=1, discontinuous=True)
    sides = fem.Sides(space.geometry)
    u, v = space.make_field(), space.make_field()
    for seed, field in enumerate((u, v)):
        field.dof_values = np.random.default_rng(seed).normal(size=(space.node_count(), 2))
    fields = {"u": fem.make_trial(space, domain=sides), "v": fem.make_test(space, domain=sides)}
    matrix = dense(fem.integrate(flow, fields=fields))
    number = fem.integrate(flow, domain=sides, fields={"u": u, "v": v})
    ends = [f.dof_values.numpy().ravel() for f in (u, v)]
    assert ends[1] @ matrix @ ends[0] == pytest.approx(number, rel=1e-12)


@fem.integrand
def inside_a_cell(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return v(fem.to_outer_cell(domain, s))


@fem.integrand
def normal_inside(s: fem.Sample, domain: fem.Domain):
    return fem.normal(domain, fem.to_inner_cell(domain, s))[0]


@fem.integrand
def two_sided(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    x = fem.to_outer_cell(domain, s)
    same = fem.jump(u, s) + wp.length(fem.grad_jump(u, s)) + fem.outer(u, s) - fem.average(u, s) + u(x) - u(s)
    return same + F(fem.degree(u)) + fem.measure_ratio(domain, s)


def test_cells_have_one_side():
    """In cells, the second side is the first one."""
    space = fem.make_polynomial_space(fem.Grid2D(res=(2, 2), scalar_type=F), degree=3)
    field = space.make_field()
    field.dof_values = np.random.default_rng(3).normal(size=space.node_count())
    found = fem.integrate(two_sided, domain=fem.Cells(space.geometry), fields={"u": field})
    assert found == pytest.approx(4.0, rel=1e-12)


def test_samples_in_cells_are_refused_where_sides_are_needed():
    space = fem.make_polynomial_space(fem.Grid2D(res=(2, 2)))
    sides = fem.Sides(space.geometry)
    told = r"which has no `on_side(.|\n)*fem.outer\(v, s\)"
    with pytest.raises(wp.CompileError, match=told):
        fem.integrate(inside_a_cell, fields={"v": fem.make_test(space, domain=sides)})
    with pytest.raises(wp.CompileError, match=told):
        fem.integrate(normal_inside, domain=sides)
