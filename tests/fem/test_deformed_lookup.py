"""Lookups in deformed geometries, whose maps are polynomials known to NumPy: positions come from their inverses."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import boxes, geometry
from tests.fem.test_lookup import F, arguments, interpolated_form, looked_up, summed

AFFINE = ("Grid2D", "Trimesh2D", "Grid3D", "Tetmesh")


def bend(p):
    """A map of degree 2 in the cells of these geometries, whose cells are affine."""
    x = p + 0.2 * np.roll(p, 1, axis=1) * (1.5 - np.roll(p, -1, axis=1)) + 0.15 * p**2
    return x * np.array([1.0, 1.5, 0.75])[: p.shape[1]]


def bent(name, relative, degree=2):
    geo = geometry(name)
    field = fem.make_polynomial_space(
        geo, degree=degree, dtype=wp.vec2d if geo.dimension == 2 else wp.vec3d
    ).make_field()
    rest = field.space.node_positions()
    field.dof_values = bend(rest) - rest * relative
    return field.make_deformed_geometry(relative=relative, build_bvh=True)


def rest_positions(geo):
    """The function that is x + 2 y (+ 4 z) before the geometry is deformed."""
    field = fem.make_polynomial_space(geo, degree=1).make_field()
    base = field.space.geometry.base
    rest = fem.make_polynomial_space(base, degree=1).node_positions()
    field.dof_values = rest @ (1.0, 2.0, 4.0)[: geo.dimension]
    return field


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("name", AFFINE)
def test_positions_are_found(name, relative):
    geo = bent(name, relative)
    p = np.random.default_rng(1).uniform(0.0, 1.0, (60, geo.dimension))
    values, _, places = looked_up(rest_positions(geo), bend(p))
    np.testing.assert_allclose(places, bend(p), atol=1e-11)
    np.testing.assert_allclose(values, p @ (1.0, 2.0, 4.0)[: geo.dimension], atol=1e-10)


def faces(dimension, steps):
    """Points on all sides of the unit square or cube, close to each other."""
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, steps)] * (dimension - 1), indexing="ij"), -1)
    grid = grid.reshape(-1, dimension - 1)
    return np.concatenate([np.insert(grid, axis, end, axis=1) for axis in range(dimension) for end in (0.0, 1.0)])


@pytest.mark.parametrize("name", AFFINE)
def test_positions_beyond_have_the_nearest_point(name):
    geo, rng = bent(name, False), np.random.default_rng(2)
    steps = 4001 if geo.dimension == 2 else 201
    side = bend(faces(geo.dimension, steps))
    count = 400 if geo.dimension == 2 else 60
    x = side.min(0) - 0.5 + rng.uniform(size=(count, geo.dimension)) * (np.ptp(side, axis=0) + 1.0)
    _, _, places = looked_up(rest_positions(geo), x)
    moved = np.linalg.norm(places - x, axis=1) > 1e-9
    assert count / 8 < moved.sum() < count
    judged, _ = cKDTree(side).query(x[moved])
    found = np.linalg.norm(places - x, axis=1)[moved]
    apart = 2.0 / steps * np.sqrt(geo.dimension - 1)  # of the points of the judge
    assert (found <= judged + 1e-9).all()
    assert (judged <= np.hypot(found, apart) + 1e-9).all()


def lift(p):
    """Positions in the plane, raised onto a paraboloid."""
    return np.column_stack([p, 0.7 * p[:, 0] ** 2 - 0.4 * p[:, 0] * p[:, 1]])


@pytest.mark.parametrize("kind", ["quads", "triangles"])
def test_the_nearest_point_of_a_curved_surface(kind):
    """A paraboloid, whose nearest points are those of a fine net."""
    flat = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 5)] * 2, indexing="ij"), -1).reshape(-1, 2)
    cells = boxes((4, 4), [(0, 0), (1, 0), (1, 1), (0, 1)])
    mesh = fem.Quadmesh2D if kind == "quads" else fem.Trimesh2D
    cells = cells if kind == "quads" else np.concatenate([cells[:, [0, 1, 2]], cells[:, [2, 3, 0]]])
    base = mesh(wp.array(cells, dtype=int), wp.array(flat, dtype=wp.vec2d))
    field = fem.make_polynomial_space(base, degree=2, dtype=wp.vec3d).make_field()
    field.dof_values = lift(field.space.node_positions())
    geo = field.make_deformed_geometry(relative=False, build_bvh=True)
    rng, net = np.random.default_rng(4), np.stack(np.meshgrid(*[np.linspace(-1, 1, 801)] * 2), -1).reshape(-1, 2)
    x = np.column_stack([rng.uniform(-1.3, 1.3, (60, 2)), rng.uniform(-0.6, 1.2, 60)])
    height = fem.make_polynomial_space(geo, degree=1).make_field()
    _, _, places = looked_up(height, x)
    judged, _ = cKDTree(lift(net)).query(x)
    found = np.linalg.norm(places - x, axis=1)
    assert (found <= judged + 1e-9).all() and (judged <= np.hypot(found, 0.005) + 1e-9).all()
    np.testing.assert_allclose(places, lift(places[:, :2]), atol=1e-12)


@wp.func
def ring(x: wp.vec2d):
    r, angle = F(1.0) + x[0], x[1] * F(1.5)
    return wp.vec2d(r * wp.cos(angle), r * wp.sin(angle))


@wp.func
def slope_of_ring(x: wp.vec2d):
    r, angle = F(1.0) + x[0], x[1] * F(1.5)
    return wp.mat22d(wp.cos(angle), -r * F(1.5) * wp.sin(angle), wp.sin(angle), r * F(1.5) * wp.cos(angle))


def test_cells_that_a_formula_moves():
    cells = fem.Cells(fem.Grid2D(res=(3, 3), scalar_type=F))
    field = fem.ImplicitField(cells, ring, grad_func=slope_of_ring)
    geo = field.make_deformed_geometry(relative=False, build_bvh=True)
    r, angle = np.random.default_rng(6).uniform((0.6, 0.0), (2.4, 1.5), (100, 2)).T
    x = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    values, _, places = looked_up(rest_positions(geo), x)
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), np.clip(r, 1.0, 2.0), atol=1e-10)
    np.testing.assert_allclose(values, np.clip(r, 1.0, 2.0) - 1.0 + 2.0 * angle / 1.5, atol=1e-9)


@wp.func
def to_fourth(x: wp.vec2d):
    return wp.vec2d(x[0] + F(0.3) * wp.pow(x[1], F(4.0)), x[1] - F(0.2) * wp.pow(x[0], F(4.0)))


@wp.func
def slope_to_fourth(x: wp.vec2d):
    return wp.mat22d(F(1.0), F(1.2) * x[1] * x[1] * x[1], F(-0.8) * x[0] * x[0] * x[0], F(1.0))


@pytest.mark.parametrize("moves", [(ring, slope_of_ring), (to_fourth, slope_to_fourth)])
def test_gradients_beyond_cells_that_a_formula_moves(moves):
    """Second derivatives of the formula are differences there."""
    grid = fem.Grid2D(res=(3, 2), scalar_type=F)
    field = fem.ImplicitField(fem.Cells(grid), moves[0], grad_func=moves[1])
    geo = field.make_deformed_geometry(relative=False, build_bvh=True)
    u = fem.make_polynomial_space(geo, degree=2).make_field()
    u.dof_values = np.random.default_rng(1).normal(size=u.space.node_count())
    p = np.array([(-0.3, 0.4), (1.2, 0.8), (0.4, -0.2), (0.55, 1.3), (0.45, 0.6), (1.3, 0.2)])
    x = np.array([list(moves[0](wp.vec2d(*each))) for each in p])

    def total(given):
        return interpolated_form(u, wp.array(given, dtype=wp.vec2d)).numpy().sum()

    given = wp.array(x, dtype=wp.vec2d, requires_grad=True)
    with wp.Tape() as tape:
        out = interpolated_form(u, given)
    tape.backward(grads={out: wp.ones(len(x), dtype=F)})
    gradient, h = given.grad.numpy(), 1e-6
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = h
        expected = (total(x + step) - total(x - step)) / (2.0 * h)
        assert gradient[place] == pytest.approx(expected, rel=2e-6, abs=2e-6)


def test_a_geometry_that_moves_is_found_again():
    geo, shift = bent("Grid2D", False), np.array([10.0, -3.0])
    x = bend(np.random.default_rng(7).uniform(0.0, 1.0, (50, 2))) + shift
    geo.field.dof_values = bend(geo.field.space.node_positions()) + shift
    geo.update_bvh()
    _, _, places = looked_up(rest_positions(geo), x)
    np.testing.assert_allclose(places, x, atol=1e-11)


def interpolated(name, x, dofs, nodes):
    """What is interpolated at positions of a deformed geometry."""
    places = fem.make_polynomial_space(geometry(name), degree=2, dtype=nodes.dtype).make_field()
    places.dof_values = nodes
    moved = places.make_deformed_geometry(relative=False, build_bvh=True)
    field = fem.make_polynomial_space(moved, degree=2).make_field()
    field.dof_values = dofs
    return interpolated_form(field, x)


def evaluated(name, given, records=False):
    """The sum of what is interpolated, and its gradients."""
    return summed(lambda *arrays: interpolated(name, *arrays), arguments(name, given), records)


def inside_and_outside(name, rng):
    """Positions inside and outside of a deformed geometry, values at nodes, and the nodes that deform."""
    geo = geometry(name)
    rest = fem.make_polynomial_space(geo, degree=2).node_positions()
    p = rng.uniform(0.05, 0.95, (geo.cell_count(), 2))
    p[::2, 0] = rng.choice([-0.2, 1.3], len(p[::2]))
    return [bend(p), rng.normal(size=len(rest)), bend(rest)]


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D"])
def test_gradients_are_those_of_differences(name):
    rng = np.random.default_rng(3)
    given = inside_and_outside(name, rng)
    gradients = evaluated(name, given, records=True)
    for which, gradient in enumerate(gradients):
        places = list(np.ndindex(given[which].shape))
        for place in [places[i] for i in rng.permutation(len(places))[:8]]:
            pair = []
            for h in (1e-6, -1e-6):
                moved = [a.copy() for a in given]
                moved[which][place] += h
                pair.append(evaluated(name, moved))
            assert gradient[place] == pytest.approx((pair[0] - pair[1]) / 2e-6, rel=1e-6, abs=1e-6)


def test_tangents_are_those_of_differences():
    rng = np.random.default_rng(4)
    given = inside_and_outside("Trimesh2D", rng)
    moves = [rng.uniform(-1.0, 1.0, a.shape) for a in given]
    along = arguments("Trimesh2D", moves)
    _, tangent = wp.jvp(lambda *args: interpolated("Trimesh2D", *args), arguments("Trimesh2D", given), along)
    up, down = (evaluated("Trimesh2D", [a + h * d for a, d in zip(given, moves)]) for h in (1e-6, -1e-6))
    assert tangent.numpy().sum() == pytest.approx((up - down) / 2e-6, rel=1e-6)


def test_without_a_tree_positions_are_refused_but_cells_have_coordinates():
    @fem.integrand
    def around(s: fem.Sample, domain: fem.Domain, x: wp.array(dtype=wp.vec2d), out: wp.array(dtype=wp.vec2d)):
        coords = fem.element_coordinates(domain, 0, x[s.qp_index])
        out[s.qp_index] = domain(fem.make_free_sample(0, coords))

    field = bent("Grid2D", False).field
    geo = field.make_deformed_geometry(relative=False)
    at = fem.RegularQuadrature(fem.Cells(geo), order=1)
    x, out = bend(np.random.default_rng(8).uniform(-0.1, 0.5, (6, 2))), wp.zeros(6, dtype=wp.vec2d)
    fem.interpolate(around, at=at, values={"x": wp.array(x, dtype=wp.vec2d), "out": out})
    np.testing.assert_allclose(out.numpy(), x, atol=1e-12)
    with pytest.raises(
        wp.CompileError, match="the deformed geometry has no tree over its cells: make it with build_bvh"
    ):
        fem.PicQuadrature(fem.Cells(geo), wp.zeros(1, dtype=wp.vec2d))


def test_particles_in_a_deformed_geometry():
    geo = bent("Trimesh2D", True)
    p = np.random.default_rng(9).uniform(0.0, 1.0, (40, 2))
    pic = fem.PicQuadrature(fem.Cells(geo), wp.array(bend(p), dtype=wp.vec2d), wp.full(40, 1.0, dtype=F))

    @fem.integrand
    def value(s: fem.Sample, u: fem.Field):
        return u(s)

    total = fem.integrate(value, quadrature=pic, fields={"u": rest_positions(geo)})
    assert total == pytest.approx((p @ (1.0, 2.0)).sum(), rel=1e-10)
