"""Lookup by position, and fields anywhere in cells: against positions, polynomials and central differences."""

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import SQUARE, boxes, geometry, moved_lattice

F = wp.float64
ALL = ("Grid2D", "Grid3D", "Trimesh2D", "Quadmesh2D", "Tetmesh", "Hexmesh")


@fem.integrand
def values_at(
    s: fem.Sample,
    domain: fem.Domain,
    u: fem.Field,
    x: wp.array(dtype=wp.vec2d),
    values: wp.array(dtype=F),
    slopes: wp.array(dtype=wp.vec2d),
    places: wp.array(dtype=wp.vec2d),
):
    found = fem.lookup(domain, x[s.qp_index])
    values[s.qp_index] = u(found)
    slopes[s.qp_index] = fem.grad(u, found)
    places[s.qp_index] = domain(found)


@fem.integrand
def values_in_space(
    s: fem.Sample,
    domain: fem.Domain,
    u: fem.Field,
    x: wp.array(dtype=wp.vec3d),
    values: wp.array(dtype=F),
    slopes: wp.array(dtype=wp.vec3d),
    places: wp.array(dtype=wp.vec3d),
):
    found = fem.lookup(domain, x[s.qp_index])
    values[s.qp_index] = u(found)
    slopes[s.qp_index] = fem.grad(u, found)
    places[s.qp_index] = domain(found)


def with_tree(name, **options):
    geo = geometry(name, **options)
    if hasattr(geo, "build_bvh"):
        geo.build_bvh()
    return geo


def looked_up(field, x):
    """Values, gradients and positions of a field at some positions, in order; each is looked up at a cell."""
    geo = field.geometry
    vector = wp.vec2d if geo.dimension == 2 else wp.vec3d
    quadrature = fem.RegularQuadrature(fem.Cells(geo), order=int(np.ceil(2 * len(x) / geo.cell_count())))
    count = quadrature.total_point_count()
    assert count >= len(x)
    padded = np.concatenate([x, np.repeat(x[:1], count - len(x), axis=0)])
    found = [wp.zeros(count, dtype=t) for t in (F, vector, vector)]
    values = dict(zip(("values", "slopes", "places"), found)) | {"x": wp.array(padded, dtype=vector)}
    form = values_at if geo.dimension == 2 else values_in_space
    fem.interpolate(form, at=quadrature, fields={"u": field}, values=values)
    return [a.numpy()[: len(x)] for a in found]


def positions(geo, count, beyond=0.0):
    return np.random.default_rng(0).uniform(-beyond, 1.0 + beyond, (count, geo.dimension))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_fields_are_evaluated_at_positions(name, degree):
    """Linear functions are in all spaces, powers of x in those whose cells are not bent."""
    geo = with_tree(name)
    power = degree if name not in ("Quadmesh2D", "Hexmesh") else 1
    field = fem.make_polynomial_space(geo, degree=degree).make_field()
    at = field.space.node_positions()
    field.dof_values = at[:, 0] ** power + 2.0 * at[:, 1]
    x = positions(geo, 40)
    values, slopes, places = looked_up(field, x)
    np.testing.assert_allclose(places, x, atol=1e-12)
    np.testing.assert_allclose(values, x[:, 0] ** power + 2.0 * x[:, 1], atol=1e-11)
    expected = np.zeros_like(x)
    expected[:, 0], expected[:, 1] = power * x[:, 0] ** (power - 1), 2.0
    np.testing.assert_allclose(slopes, expected, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_positions_beyond_a_geometry_are_those_of_its_nearest_point(name):
    geo = with_tree(name)
    field = fem.make_polynomial_space(geo).make_field()
    x = positions(geo, 60, beyond=0.7)
    np.testing.assert_allclose(looked_up(field, x)[2], np.clip(x, 0.0, 1.0), atol=1e-12)


@pytest.mark.parametrize("name", ["Grid2D", "Quadmesh2D"])
@pytest.mark.parametrize("kind", ["SERENDIPITY", "NONCONFORMING_POLYNOMIAL"])
def test_other_shape_functions_are_evaluated_at_positions(name, kind):
    geo = with_tree(name, amount=0.0)
    field = fem.make_polynomial_space(geo, degree=2, element_basis=fem.ElementBasis[kind]).make_field()
    at = field.space.node_positions()
    field.dof_values = at[:, 0] * at[:, 1] + at[:, 1] ** 2
    x = positions(geo, 40)
    values, slopes, _ = looked_up(field, x)
    np.testing.assert_allclose(values, x[:, 0] * x[:, 1] + x[:, 1] ** 2, atol=1e-12)
    np.testing.assert_allclose(slopes, np.column_stack([x[:, 1], x[:, 0] + 2.0 * x[:, 1]]), atol=1e-11)


@fem.integrand
def nearest_on_surface(
    s: fem.Sample,
    domain: fem.Domain,
    x: wp.array(dtype=wp.vec3d),
    out: wp.array(dtype=wp.vec3d),
    away: wp.array(dtype=F),
):
    i = s.qp_index
    out[i] = domain(fem.lookup(domain, x[i]))
    coords, distance = fem.element_closest_point(domain, 0, x[i])
    away[i] = distance - wp.length_sq(domain(fem.make_free_sample(0, coords)) - x[i])


@pytest.mark.parametrize("kind", ["Trimesh3D", "Quadmesh3D"])
def test_the_nearest_point_of_a_surface(kind):
    """A plane in space, whose nearest points are projections."""
    flat = moved_lattice((3, 3), 0.2)
    rise = np.array([0.5, -0.25])
    points = wp.array(np.column_stack([flat, flat @ rise]), dtype=wp.vec3d)
    quads = boxes((3, 3), SQUARE)
    cells = quads if kind == "Quadmesh3D" else np.concatenate([quads[:, [0, 1, 2]], quads[:, [2, 3, 0]]])
    geo = getattr(fem, kind)(wp.array(cells, dtype=int), points, build_bvh=True)
    normal = np.array([-rise[0], -rise[1], 1.0]) / np.sqrt(1.0 + rise @ rise)
    foot = np.random.default_rng(2).uniform(0.3, 0.7, (len(cells), 2))
    foot = np.column_stack([foot, foot @ rise])
    x = foot + np.random.default_rng(3).uniform(-0.2, 0.2, (len(cells), 1)) * normal
    out, away = wp.zeros(len(x), dtype=wp.vec3d), wp.ones(len(x), dtype=F)
    at = fem.RegularQuadrature(fem.Cells(geo), order=1)
    fem.interpolate(nearest_on_surface, at=at, values={"x": wp.array(x, dtype=wp.vec3d), "out": out, "away": away})
    np.testing.assert_allclose(out.numpy(), foot, atol=1e-12)
    np.testing.assert_allclose(away.numpy(), 0.0, atol=1e-12)


@fem.integrand
def coordinates(s: fem.Sample, domain: fem.Domain, x: wp.array(dtype=wp.vec2d), out: wp.array(dtype=wp.vec2d)):
    coords = fem.element_coordinates(domain, 0, x[s.qp_index])
    out[s.qp_index] = domain(fem.make_free_sample(0, coords))


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D"])
def test_coordinates_reach_beyond_a_cell(name):
    geo = geometry(name)  # without a tree
    x = positions(geo, geo.cell_count(), beyond=0.5)
    out = wp.zeros(len(x), dtype=wp.vec2d)
    values = {"x": wp.array(x, dtype=wp.vec2d), "out": out}
    fem.interpolate(coordinates, at=fem.RegularQuadrature(fem.Cells(geo), order=1), values=values)
    np.testing.assert_allclose(out.numpy(), x, atol=1e-12)


@fem.integrand
def cell_among(s: fem.Sample, domain: fem.Domain, mask: wp.array(dtype=int), wanted: int, out: wp.array(dtype=int)):
    found = fem.lookup(domain, domain(s), mask, wanted)
    near = fem.lookup(domain, domain(s), F(0.25), mask, wanted)
    out[s.element_index] = wp.where(found.element_index == near.element_index, found.element_index, -2)


def test_a_filter_leaves_cells_out():
    grid, mask = fem.Grid2D(res=(2, 2), scalar_type=F), wp.array([1, 0, 1, 0], dtype=int)
    out = wp.zeros(4, dtype=int)
    fem.interpolate(cell_among, at=fem.Cells(grid), values={"mask": mask, "wanted": 1, "out": out})
    assert out.list() == [0, 0, 2, 2]  # as far as half of a cell away
    points = wp.array([(0, 0), (1, 0), (0, 1), (1, 1), (2, 0)], dtype=wp.vec2d)
    mesh = fem.Trimesh2D(wp.array([(0, 1, 2), (1, 3, 2), (1, 4, 3)], dtype=int), points, build_bvh=True)
    out, mask = wp.zeros(3, dtype=int), wp.array([7, 0, 0], dtype=int)
    fem.interpolate(cell_among, at=fem.Cells(mesh), values={"mask": mask, "wanted": 7, "out": out})
    assert out.list() == [0, 0, 0]
    fem.interpolate(cell_among, at=fem.Cells(mesh), values={"mask": mask, "wanted": 8, "out": out})
    assert out.list() == [-1, -1, -1]


@fem.integrand
def end_of_streamline(
    s: fem.Sample, domain: fem.Domain, velocity: fem.Field, steps: int, out: wp.array(dtype=wp.vec2d)
):
    x, at = domain(s), s
    for _ in range(steps):
        middle = x + F(0.5) / F(steps) * velocity(at)
        x = x + F(1.0) / F(steps) * velocity(fem.lookup(domain, middle, at))
        at = fem.lookup(domain, x, at)
    out[s.element_index] = x


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Quadmesh2D"])
def test_streamlines_of_a_rotation_are_circles(name):
    geo = with_tree(name)
    velocity = fem.make_polynomial_space(geo, dtype=wp.vec2d, degree=1).make_field()
    x, y = (velocity.space.node_positions() - 0.5).T
    velocity.dof_values = np.column_stack([-y, x])  # one radian in a unit of time
    ends = wp.zeros(geo.cell_count(), dtype=wp.vec2d)
    begins = wp.zeros(geo.cell_count(), dtype=wp.vec2d)
    for steps, out in ((0, begins), (200, ends)):
        values = {"steps": steps, "out": out}
        fem.interpolate(end_of_streamline, at=fem.Cells(geo), fields={"velocity": velocity}, values=values)
    turn = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
    inside = np.linalg.norm(begins.numpy() - 0.5, axis=1) < 0.49
    assert inside.sum() > 2
    expected = (begins.numpy() - 0.5) @ turn.T + 0.5
    np.testing.assert_allclose(ends.numpy()[inside], expected[inside], atol=2e-5)


@fem.integrand
def advected(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field, shift: wp.vec2d):
    return u(fem.lookup(domain, domain(s) - shift, s)) * v(s)


@fem.integrand
def plain(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


def test_forms_with_lookups():
    """A linear function that is shifted inside of a larger geometry, tested with the functions of inner cells."""
    geo = with_tree("Quadmesh2D", amount=0.2)
    space = fem.make_polynomial_space(geo, degree=2)
    field, test = space.make_field(), fem.make_test(space)
    field.dof_values = space.node_positions() @ [1.0, 2.0]
    inner = np.flatnonzero((np.abs(space.node_positions() - 0.5) < 0.1).all(axis=1))
    moved = fem.integrate(advected, fields={"u": field, "v": test}, values={"shift": (0.1, 0.05)}).numpy()
    still = fem.integrate(plain, fields={"u": field, "v": test}).numpy()
    weights = fem.integrate(_one, fields={"v": test}).numpy()
    np.testing.assert_allclose((still - moved)[inner], 0.2 * weights[inner], atol=1e-12)


@fem.integrand
def _one(s: fem.Sample, v: fem.Field):
    return v(s)


@fem.integrand
def looked_up_test(s: fem.Sample, domain: fem.Domain, v: fem.Field, away: F):
    found = fem.lookup(domain, domain(s) + away * wp.vec2d(F(1.0), F(0.0)))
    return v(found) + F(2.0) * fem.grad(v, found)[1]


@fem.integrand
def in_place(s: fem.Sample, v: fem.Field):
    return v(s) + F(2.0) * fem.grad(v, s)[1]


def test_test_fields_have_values_in_their_cell_alone():
    test = fem.make_test(fem.make_polynomial_space(geometry("Grid2D")))
    found = fem.integrate(looked_up_test, fields={"v": test}, values={"away": 0.0}).numpy()
    np.testing.assert_allclose(found, fem.integrate(in_place, fields={"v": test}).numpy(), atol=1e-14)
    assert np.isnan(fem.integrate(looked_up_test, fields={"v": test}, values={"away": 0.5}).numpy()).any()


@fem.integrand
def inside(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    """A value away from a side, and what sides have."""
    x, n = domain(s), fem.normal(domain, s)
    return u(fem.lookup(fem.cells(domain), x - F(0.125) * n)) * fem.measure(domain, s) / fem.measure(domain, s)


@pytest.mark.parametrize("name", ALL)
def test_sides_look_up_cells(name):
    """The integral of x at a distance from all sides of the unit box."""
    geo = with_tree(name)
    field = fem.make_polynomial_space(geo).make_field()
    field.dof_values = field.space.node_positions()[:, 0]
    found = fem.integrate(inside, domain=fem.BoundarySides(geo), fields={"u": field})
    assert found == pytest.approx(1.0 + (geo.dimension - 1), abs=1e-11)


@fem.integrand
def of_lookup(s: fem.Sample, domain: fem.Domain, u: fem.Field, x: wp.array(dtype=wp.vec2d), out: wp.array(dtype=F)):
    i = s.qp_index
    found = fem.lookup(domain, x[i])
    p = domain(found)
    out[i] = F(1 + i) * (u(found) * u(found) + p[0] * p[1] + wp.dot(fem.grad(u, found), p))


@fem.integrand
def of_lookup_in_space(
    s: fem.Sample, domain: fem.Domain, u: fem.Field, x: wp.array(dtype=wp.vec3d), out: wp.array(dtype=F)
):
    i = s.qp_index
    found = fem.lookup(domain, x[i])
    p = domain(found)
    out[i] = F(1 + i) * (u(found) * u(found) + p[0] * p[1] + wp.dot(fem.grad(u, found), p))


def interpolated(name, x, dofs, points):
    """What `of_lookup` gives for positions, values at nodes and vertices."""
    fresh = geometry(name)
    geo = (
        fresh
        if name.startswith("Grid")
        else type(fresh)(wp.array(fresh.cell_vertices, dtype=int), points, build_bvh=True)
    )
    field = fem.make_polynomial_space(geo, degree=2).make_field()
    field.dof_values = dofs
    return interpolated_form(field, x)


def interpolated_form(field, x):
    """What `of_lookup` gives for positions, one for each cell."""
    out = wp.zeros(len(x), dtype=F, requires_grad=True)
    form = of_lookup if field.geometry.dimension == 2 else of_lookup_in_space
    at = fem.RegularQuadrature(fem.Cells(field.geometry), order=1)
    fem.interpolate(form, at=at, fields={"u": field}, values={"x": x, "out": out})
    return out


def arguments(name, given):
    vector = wp.vec2d if geometry(name).dimension == 2 else wp.vec3d
    return [wp.array(a, dtype=t, requires_grad=True) for a, t in zip(given, (vector, F, vector))]


def summed(program, arrays, records=False):
    """The sum of what a program gives, or the gradients of that by arrays."""
    with wp.Tape() as tape:
        out = program(*arrays)
    if not records:
        return out.numpy().sum()
    tape.backward(grads={out: wp.ones(out.size, dtype=F)})
    return [None if a.grad is None else a.grad.numpy() for a in arrays]


def evaluated(name, given, records=False):
    """The sum of what is interpolated, and its gradients."""
    return summed(lambda *arrays: interpolated(name, *arrays), arguments(name, given), records)


@pytest.mark.parametrize("name", ALL)
def test_gradients_of_lookups_are_those_of_differences(name):
    """By positions inside and outside of the geometry, by values at nodes, and by vertices of meshes."""
    geo, rng = geometry(name), np.random.default_rng(3)
    count = fem.make_polynomial_space(geo, degree=2).node_count()
    x = rng.uniform(0.05, 0.95, (geo.cell_count(), geo.dimension))
    x[::2, 0] = rng.choice([-0.2, 1.3], len(x[::2]))  # beyond a side; at an edge, the nearest cell would jump
    given = [x, rng.normal(size=count), geo.vertex_positions]
    gradients = evaluated(name, given, records=True)
    for which in range(2 if name.startswith("Grid") else 3):
        places = list(np.ndindex(given[which].shape))
        for place in [places[i] for i in rng.permutation(len(places))[:8]]:
            pair = []
            for h in (1e-6, -1e-6):
                moved = [a.copy() for a in given]
                moved[which][place] += h
                pair.append(evaluated(name, moved))
            expected = (pair[0] - pair[1]) / 2e-6
            assert gradients[which][place] == pytest.approx(expected, rel=3e-7, abs=3e-7)


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Tetmesh"])
def test_tangents_of_lookups_are_those_of_differences(name):
    geo, rng = geometry(name), np.random.default_rng(4)
    count = fem.make_polynomial_space(geo, degree=2).node_count()
    given = [rng.uniform(0.05, 0.95, (geo.cell_count(), geo.dimension)), rng.normal(size=count), geo.vertex_positions]
    moves = [rng.uniform(-1.0, 1.0, np.shape(a)) for a in given]
    if name.startswith("Grid"):
        moves[2] *= 0.0  # its vertices are no argument
    along = arguments(name, moves)
    _, tangent = wp.jvp(lambda *args: interpolated(name, *args), arguments(name, given), along)
    up, down = (evaluated(name, [a + h * d for a, d in zip(given, moves)]) for h in (1e-6, -1e-6))
    assert tangent.numpy().sum() == pytest.approx((up - down) / 2e-6, rel=3e-7)


@pytest.mark.parametrize("name", ["Trimesh2D", "Tetmesh", "Quadmesh2D", "Hexmesh"])
def test_the_nearest_point_may_be_a_vertex(name):
    geo = with_tree(name)
    field = fem.make_polynomial_space(geo).make_field()
    corners = np.array(list(np.ndindex((2,) * geo.dimension)), dtype=float)
    x = corners + 0.3 * (2.0 * corners - 1.0)
    np.testing.assert_allclose(looked_up(field, x)[2], corners, atol=1e-13)


def to_segments(x, a, b):
    """The distance of each point to the nearest of some segments."""
    along = b - a
    share = np.einsum("pse,se->ps", x[:, None] - a, along) / (along**2).sum(axis=1)
    near = a + np.clip(share, 0.0, 1.0)[:, :, None] * along
    return np.linalg.norm(near - x[:, None], axis=2).min(axis=1)


@pytest.mark.parametrize("kind", ["Trimesh2D", "Quadmesh2D"])
def test_the_nearest_point_of_a_mesh_with_holes(kind):
    """Half of the cells of a mesh, at random: positions are in a cell, or as far away as the nearest edge is."""
    rng, shape = np.random.default_rng(5), (12, 12)
    points = moved_lattice(shape, 0.4)
    quads = boxes(shape, SQUARE)[rng.permutation(144)[:70]]
    cells = quads if kind == "Quadmesh2D" else np.concatenate([quads[:, [0, 1, 2]], quads[:, [2, 3, 0]]])[::3]
    geo = getattr(fem, kind)(wp.array(cells, dtype=int), wp.array(points, dtype=wp.vec2d), build_bvh=True)
    x = rng.uniform(-0.3, 1.3, (400, 2))
    found = looked_up(fem.make_polynomial_space(geo).make_field(), x)[2]
    a, b = points[cells], points[np.roll(cells, -1, axis=1)]
    along, to = (b - a)[:, None], x[None, :, None] - a[:, None]
    is_left = along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0] > 0.0
    is_inside = is_left.all(axis=2).any(axis=0)
    expected = np.where(is_inside, 0.0, to_segments(x, a.reshape(-1, 2), b.reshape(-1, 2)))
    assert 20 < is_inside.sum() < 200
    np.testing.assert_allclose(np.linalg.norm(found - x, axis=1), expected, atol=1e-12)


def test_a_mesh_that_moves_is_found_again():
    geo = with_tree("Trimesh2D")
    field = fem.make_polynomial_space(geo).make_field()
    geo.positions.assign(geo.vertex_positions + 5.0)
    geo.update_bvh()
    x = positions(geo, 20) + 5.0
    np.testing.assert_allclose(looked_up(field, x)[2], x, atol=1e-12)
    geo.positions.assign(geo.vertex_positions - 5.0)
    geo.build_bvh()
    np.testing.assert_allclose(looked_up(field, x - 5.0)[2], x - 5.0, atol=1e-12)


def test_meshes_without_a_tree_say_so():
    field = fem.make_polynomial_space(geometry("Trimesh2D")).make_field()
    with pytest.raises(wp.CompileError, match="build_bvh=True"):
        looked_up(field, np.zeros((4, 2)))


# -- sides between two cells ----------------------------------------------------------------------------------------


@fem.integrand
def looked_up_against_test(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    return u(fem.lookup(domain, domain(s))) * v(s)


@fem.integrand
def jump_beside_lookup(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return fem.jump(u, s) + u(fem.lookup(domain, domain(s)))


@fem.integrand
def ratio_beside_lookup(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return fem.measure_ratio(domain, s) + u(fem.lookup(domain, domain(s)))


@fem.integrand
def looked_up_on_sides(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    return u(fem.lookup(domain, domain(s))) + fem.normal(domain, s)[0]


def test_lookups_take_one_cell_of_a_side():
    geo = fem.Grid2D(res=(3, 3))
    space = fem.make_polynomial_space(geo)
    u, sides = space.make_field(), fem.Sides(geo)
    u.dof_values = space.node_positions()[:, 1]
    with pytest.raises(ValueError, match=r"cannot have test fields on sides between two cells: integrate it over"):
        fem.integrate(looked_up_against_test, fields={"u": u, "v": fem.make_test(space, domain=sides)})
    for form in (jump_beside_lookup, ratio_beside_lookup):
        with pytest.raises(wp.CompileError, match="has one cell of each side"):
            fem.integrate(form, domain=sides, fields={"u": u})
    # Of y, the four lines along x have the integrals 0, 1/3, 2/3 and 1, and those along y 1/2 each. Two lines along y
    # are inside of the square, with the normal (1, 0).
    assert abs(fem.integrate(looked_up_on_sides, domain=sides, fields={"u": u}) - (4.0 + 2.0)) < 1e-5
    on_boundary = fem.make_test(space, domain=fem.BoundarySides(geo))
    found = fem.integrate(looked_up_against_test, fields={"u": u, "v": on_boundary})
    assert abs(found.numpy().sum() - 2.0) < 1e-5  # the boundary has the length 4, and the mean 1 / 2


@fem.integrand
def coords_twice(
    s: fem.Sample,
    domain: fem.Domain,
    x: wp.array(dtype=Any),
    found: wp.array(dtype=wp.vec3),
    asked: wp.array(dtype=wp.vec3),
):
    at = fem.lookup(domain, x[s.qp_index])
    found[s.qp_index] = at.element_coords
    asked[s.qp_index] = fem.element_coordinates(domain, at.element_index, x[s.qp_index])


@pytest.mark.parametrize("dimension", [2, 3])
def test_positions_between_cells_of_grids_have_the_coordinates_that_were_found(dimension):
    """Also where rounding puts a position at the end of a cell: none may lie in no cell."""
    kind, vector, size = (fem.Grid2D, wp.vec2, 4) if dimension == 2 else (fem.Grid3D, wp.vec3, 4)
    grid = kind(res=(size,) * dimension, bounds_lo=vector(-0.2), bounds_hi=vector(0.0))
    steps = np.linspace(-0.2, 0.0, 81, dtype=np.float32)
    x = wp.array(np.repeat(steps[:, None], dimension, axis=1), dtype=vector)
    found, asked = wp.zeros(81, dtype=wp.vec3), wp.zeros(81, dtype=wp.vec3)
    values = {"x": x, "found": found, "asked": asked}
    fem.interpolate(coords_twice, at=fem.Cells(grid), dim=81, values=values)
    np.testing.assert_array_equal(asked.numpy(), found.numpy())
    assert asked.numpy().min() >= 0.0 and asked.numpy().max() <= 1.0


@fem.integrand
def numbered(s: fem.Sample, out: wp.array(dtype=int)):
    out[s.qp_index] = s.qp_index + 1


@pytest.mark.parametrize("vector", [wp.vec2, wp.vec2d])
def test_points_without_elements_in_both_precisions(vector):
    """In one process: the types of the points are told apart by the precision of the geometry."""
    grid = fem.Grid2D(res=(2, 2), bounds_lo=vector(0.0), bounds_hi=vector(1.0))
    out = wp.zeros(5, dtype=int)
    fem.interpolate(numbered, at=fem.Cells(grid), dim=5, values={"out": out})
    assert out.numpy().tolist() == [1, 2, 3, 4, 5]
