"""Adaptive sparse grids: against integrals by NumPy, brute force over voxels, and orders of convergence.

Counts of cells, sides and nodes were taken from warp-lang 1.19.
"""

import itertools

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from omni.warp_core.optim.linear import cg

F = wp.float64
SHEARED = np.array([[0.5, 0.125, 0.0], [0.0, 0.25, -0.0625], [0.0, 0.0, 0.75]])
EIGHT = np.array(list(itertools.product((0, 1), repeat=3)))
# Lower corners and levels: cells that cover sides of larger ones in full, in part, and by two levels.
CORNERS = [
    *(EIGHT + np.array([4, 0, 0])),
    (0, 0, 0),
    (4, 2, 0),
    (6, 2, 2),
    (0, 4, 1),
    (0, -1, -1),
    (1, 2, -1),
    (8, 0, 0),
    (4, 4, 0),
]
LEVELS = [*[0] * 8, 2, 1, 1, 0, 0, 0, 2, 0]


def grid(corners=CORNERS, levels=LEVELS, scalar=F, frame=SHEARED, place=(0.25, 0.0, 0.0)):
    """The grid, and the lower corners and sizes of its cells."""
    corners = np.array(corners, dtype=np.int32)
    points = wp.array(corners, dtype=wp.vec3i)
    volume = wp.Volume.allocate_by_voxels(points, transform=np.asarray(frame), translation=place)
    voxels = volume.get_voxels().numpy().reshape(-1, 3)
    level_of = dict(zip(map(tuple, corners.tolist()), levels))
    found = np.array([level_of[tuple(v)] for v in voxels.tolist()])
    made = fem.AdaptiveNanogrid(volume, wp.array(found, dtype=wp.uint8), max(levels) + 1, scalar_type=scalar)
    return made, voxels, 1 << found


def volume_of(voxels, size):
    return wp.Volume.allocate_by_voxels(wp.array(voxels, dtype=wp.vec3i), voxel_size=size)


@fem.integrand
def one(s: fem.Sample):
    return 1.0


@fem.integrand
def flux(s: fem.Sample, domain: fem.Domain):
    x, n = domain(s), fem.normal(domain, s)
    return x[0] * x[0] * n[0] + x[0] * x[1] * n[1] + x[2] * x[1] * n[2]


@fem.integrand
def divergence(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return 3.0 * x[0] + x[1]


@fem.integrand
def squared_jump(s: fem.Sample, u: fem.Field):
    return fem.jump(u, s) * fem.jump(u, s)


@fem.integrand
def mass(s: fem.Sample, v: fem.Field):
    return v(s)


def test_cells_sides_and_nodes_are_counted():
    geo = fem.adaptive_nanogrid_from_hierarchy([volume_of(EIGHT, 0.5), volume_of([(1, 0, 0)], 1.0)])
    assert (geo.cell_count(), geo.vertex_count(), geo.side_count(), geo.boundary_side_count()) == (9, 31, 41, 25)
    counts = {0: 9, 1: 31, 2: 148, 3: 403}
    assert {d: fem.make_polynomial_space(geo, degree=d).node_count() for d in counts} == counts
    kinds = {"SERENDIPITY": (2, 97), "NEDELEC_FIRST_KIND": (1, 66), "RAVIART_THOMAS": (1, 42)}
    for kind, (degree, count) in kinds.items():
        basis = getattr(fem.ElementBasis, kind)
        assert fem.make_polynomial_space(geo, degree=degree, element_basis=basis).node_count() == count
    at = fem.make_polynomial_space(geo).node_positions()
    np.testing.assert_allclose(at[[0, 1, 30]], [[-0.25, -0.25, -0.25], [-0.25, -0.25, 0.25], [1.75, 0.75, 0.75]])


@pytest.mark.parametrize("frame", [0.5 * np.eye(3), SHEARED])
def test_integrals_over_cells_and_boundaries(frame):
    geo, _, sizes = grid(frame=frame)
    size = np.linalg.det(frame) * (sizes**3).sum()
    np.testing.assert_allclose(fem.integrate(one, domain=fem.Cells(geo)), size, rtol=1e-12)
    cells, boundary = fem.Cells(geo), fem.BoundarySides(geo)
    inner = fem.integrate(divergence, quadrature=fem.RegularQuadrature(cells, 2))
    outer = fem.integrate(flux, quadrature=fem.RegularQuadrature(boundary, 3))
    np.testing.assert_allclose(outer, inner, rtol=1e-12)  # the theorem of Gauss


def test_the_area_between_cells_is_that_of_voxels():
    geo, voxels, sizes = grid(frame=np.eye(3))
    covered = {}
    for c, (corner, size) in enumerate(zip(voxels, sizes)):
        covered |= {tuple(corner + o): c for o in itertools.product(range(size), repeat=3)}
    faces = inner = 0
    for voxel, c in covered.items():
        for way in (*np.eye(3, dtype=int), *-np.eye(3, dtype=int)):
            other = covered.get(tuple(np.array(voxel) + way))
            faces, inner = faces + (other is None), inner + (other not in (None, c))
    assert fem.integrate(one, domain=fem.BoundarySides(geo)) == pytest.approx(faces)
    assert fem.integrate(one, domain=fem.Sides(geo)) == pytest.approx(faces + inner / 2)


@fem.integrand
def on_both_sides(s: fem.Sample, domain: fem.Domain, x: fem.Field, y: fem.Field):
    inner, outer, at = x(s), fem.outer(x, s), domain(s)
    slopes = fem.grad_jump(y, s)
    return wp.length(inner - at) + wp.length(outer - at) + wp.length(slopes)


@pytest.mark.parametrize("degree", [1, 2])
def test_both_cells_of_a_side_agree_on_its_points(degree):
    geo, _, _ = grid()
    x = fem.make_polynomial_space(geo, dtype=wp.vec3d, degree=degree).make_field()
    x.dof_values = x.space.node_positions()
    y = fem.make_polynomial_space(geo, degree=degree).make_field()
    y.dof_values = y.space.node_positions() @ [1.0, -2.0, 0.5]
    fields = {"x": x.trace(), "y": y.trace()}
    assert fem.integrate(on_both_sides, quadrature=fem.RegularQuadrature(fem.Sides(geo), 3), fields=fields) < 1e-11


def test_functions_jump_where_cells_of_two_sizes_meet():
    geo = fem.adaptive_nanogrid_from_hierarchy([volume_of(EIGHT, 0.5), volume_of([(1, 0, 0)], 1.0)])
    field = fem.make_polynomial_space(geo).make_field()
    at = field.space.node_positions()
    middle = np.isclose(at, [0.75, 0.25, 0.25]).all(axis=1)
    assert middle.sum() == 1
    field.dof_values = middle.astype(np.float32)  # a pyramid of height 1: its square, integrated over the unit square
    quadrature = fem.RegularQuadrature(fem.Sides(geo), 2)
    found = fem.integrate(squared_jump, quadrature=quadrature, fields={"u": field.trace()})
    assert found == pytest.approx(1.0 / 9.0, rel=1e-5)


# -- convergence ----------------------------------------------------------------------------------------------------


@fem.integrand
def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def coupling(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    n, penalty = fem.normal(domain, s), wp.float64(8 * fem.degree(u) ** 2) * fem.measure_ratio(domain, s)
    mixed = fem.jump(u, s) * wp.dot(fem.grad_average(v, s), n) + fem.jump(v, s) * wp.dot(fem.grad_average(u, s), n)
    return penalty * fem.jump(u, s) * fem.jump(v, s) - mixed


@fem.integrand
def at_boundary(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    n, penalty = fem.normal(domain, s), wp.float64(8 * fem.degree(u) ** 2) * fem.measure_ratio(domain, s)
    mixed = u(s) * wp.dot(fem.grad(v, s), n) + v(s) * wp.dot(fem.grad(u, s), n)
    return penalty * u(s) * v(s) - mixed


@fem.integrand
def load(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x = domain(s) * wp.float64(wp.pi)
    return wp.float64(3.0 * wp.pi * wp.pi) * wp.sin(x[0]) * wp.sin(x[1]) * wp.sin(x[2]) * v(s)


@fem.integrand
def squared_error(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    x = domain(s) * wp.float64(wp.pi)
    away = u(s) - wp.sin(x[0]) * wp.sin(x[1]) * wp.sin(x[2])
    return away * away


def error_of_solution(n: int, degree: int) -> float:
    """The error of a Poisson problem in the unit cube: n coarse cells along an axis, half of them halved."""
    coarse = np.array(list(itertools.product(range(n), repeat=3))) * 2
    is_fine = (coarse.sum(axis=1) // 2) % 4 < 2
    halves = (coarse[is_fine][:, None] + EIGHT).reshape(-1, 3)
    levels = [*[1] * (~is_fine).sum(), *[0] * len(halves)]
    frame = np.eye(3) / (2 * n)
    geo, _, _ = grid([*coarse[~is_fine], *halves], levels, frame=frame, place=frame @ np.full(3, 0.5))
    space = fem.make_polynomial_space(geo, degree=degree)
    matrix = wp.sparse.bsr_zeros(space.node_count(), space.node_count(), F)
    inner = fem.Subdomain(fem.Sides(geo), element_mask=wp.array(~geo.sides.is_boundary, dtype=bool))
    forms = {stiffness: fem.Cells(geo), coupling: inner, at_boundary: fem.BoundarySides(geo)}
    for form, domain in forms.items():
        fields = {"u": fem.make_trial(space, domain=domain), "v": fem.make_test(space, domain=domain)}
        fem.integrate(form, fields=fields, output=matrix, add=True)
    quadrature = fem.RegularQuadrature(fem.Cells(geo), 2 * degree + 2)
    rhs = fem.integrate(load, quadrature=quadrature, fields={"v": fem.make_test(space)})
    found = space.make_field()
    cg(matrix, b=rhs, x=found.dof_values, tol=1e-10, maxiter=3000)
    return np.sqrt(fem.integrate(squared_error, quadrature=quadrature, fields={"u": found}))


@pytest.mark.parametrize("degree, sizes", [(1, (2, 4, 8)), (2, (2, 4))])
def test_solutions_converge_with_the_order_of_the_space(degree, sizes):
    errors = np.array([error_of_solution(n, degree) for n in sizes])
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders.min() > degree + 0.7, (errors, orders)


# -- lookup ---------------------------------------------------------------------------------------------------------


@fem.integrand
def find(
    s: fem.Sample,
    domain: fem.Domain,
    x: wp.array(dtype=wp.vec3d),
    reach: float,
    cell: wp.array(dtype=int),
    at: wp.array(dtype=wp.vec3d),
):
    found = fem.lookup(domain, x[s.qp_index], reach)
    cell[s.qp_index] = found.element_index
    if found.element_index >= 0:
        at[s.qp_index] = domain(found)


@pytest.mark.parametrize("reach, distance", [(0.0, 0.25), (0.6, 1.0)])
def test_positions_are_found_in_the_nearest_cell(reach, distance):
    geo, voxels, sizes = grid(frame=0.5 * np.eye(3))
    x = np.random.default_rng(3).uniform(-1.2, 4.5, (400, 3))
    cells, at = wp.zeros(400, dtype=int), wp.zeros(400, dtype=wp.vec3d)
    values = {"x": wp.array(x, dtype=wp.vec3d), "reach": reach, "cell": cells, "at": at}
    fem.interpolate(find, dim=400, at=fem.Cells(geo), values=values)
    lower = 0.5 * voxels + (0.0, -0.25, -0.25)  # the place of voxel 0 is (0.25, 0, 0)
    nearest = np.clip(x[:, None], lower, lower + 0.5 * sizes[:, None])
    away = np.linalg.norm(nearest - x[:, None], axis=2)
    found = cells.numpy() >= 0
    np.testing.assert_array_equal(found, away.min(axis=1) <= distance)
    assert 50 < found.sum() < 400
    own = away[np.arange(400), cells.numpy()][found]
    np.testing.assert_allclose(own, away.min(axis=1)[found], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(at.numpy() - x, axis=1)[found], own, atol=1e-12)


def test_particles_are_sorted_into_cells():
    geo, voxels, sizes = grid(frame=0.5 * np.eye(3))
    x = np.random.default_rng(4).uniform(0.0, 1.9, (200, 3)) - (0.0, 0.2, 0.2)
    pic = fem.PicQuadrature(fem.Cells(geo), wp.array(x, dtype=wp.vec3d), measures=wp.full(200, 0.5, dtype=F))
    test = fem.make_test(fem.make_polynomial_space(geo, degree=0))
    lower = 0.5 * voxels + (0.0, -0.25, -0.25)
    inside = ((x[:, None] >= lower) & (x[:, None] < lower + 0.5 * sizes[:, None])).all(axis=2)
    assert inside.any(axis=1).all()
    np.testing.assert_allclose(
        fem.integrate(mass, quadrature=pic, fields={"v": test}).numpy(), 0.5 * inside.sum(axis=0)
    )


# -- how grids are made ---------------------------------------------------------------------------------------------


@wp.func
def slope(x: wp.vec3):
    return x[0] + 0.5


@wp.func
def falling(x: wp.vec3):
    return 0.5 - x[0]


@wp.func
def step(x: wp.vec3):
    return wp.where(x[0] < 0.5 and x[1] < 0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    "value, counts", [(0.0, [4, 32, 256]), (0.4, [4, 32, 32]), (0.6, [4, 4, 32]), (0.7, [4, 4, 4])]
)
def test_a_value_of_the_field_is_a_level(value, counts):
    coarse = volume_of([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], 1.0)
    field = fem.UniformField(fem.Cells(fem.Nanogrid(coarse)), value)
    assert [fem.adaptive_nanogrid_from_field(coarse, n, field).cell_count() for n in (1, 2, 3)] == counts


@pytest.mark.parametrize("func, count", [(slope, 37), (falling, 36)])
def test_cells_are_halved_where_a_field_is_small_and_left_out_where_it_is_negative(func, count):
    coarse = volume_of([(0, 0, 0), (1, 0, 0)], 1.0)
    geo = fem.adaptive_nanogrid_from_field(coarse, 3, fem.ImplicitField(fem.Cells(fem.Nanogrid(coarse)), func))
    assert geo.cell_count() == count
    x = geo.vertex_positions
    np.testing.assert_allclose([x.min(axis=0), x.max(axis=0)], [[-0.5] * 3, [1.5 if func is slope else 0.5, 0.5, 0.5]])


@pytest.mark.parametrize("grading, count", [(None, 67), ("face", 81), ("vertex", 88)])
def test_grading_halves_neighbours(grading, count):
    coarse = volume_of([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], 1.0)
    field = fem.ImplicitField(fem.Cells(fem.Nanogrid(coarse)), step)
    assert fem.adaptive_nanogrid_from_field(coarse, 3, field, grading=grading).cell_count() == count
    fine = volume_of(EIGHT + np.array([2, 2, 0]), 0.25)  # they fill voxel (1, 1, 0) of size 0.5, beside one of size 1
    parts = [
        fine,
        volume_of([(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), *EIGHT[1::2]], 0.5),
        volume_of([(1, 0, 0)], 1.0),
    ]
    graded = fem.adaptive_nanogrid_from_hierarchy(parts, grading=grading)
    np.testing.assert_allclose(fem.integrate(one, domain=fem.Cells(graded)), 2.0, rtol=1e-6)
    assert graded.cell_count() == 8 + 7 + (1 if grading is None else 8)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"cell at \[1, 0, 0\] is 2 voxels wide"):
        grid([(1, 0, 0)], [1])
    with pytest.raises(ValueError, match=r"cell at \[1, 1, 1\] is in a cell of 2 voxels"):
        grid([(0, 0, 0), (1, 1, 1)], [1, 0])
    volume = volume_of([(0, 0, 0)], 1.0)
    with pytest.raises(ValueError, match="expected 1 levels"):
        fem.AdaptiveNanogrid(volume, wp.zeros(2, dtype=wp.uint8), 1)
    with pytest.raises(ValueError, match="levels from 0 to level_count - 1 = 0, got 1 to 1"):
        fem.AdaptiveNanogrid(volume, wp.ones(1, dtype=wp.uint8), 1)
    with pytest.raises(TypeError, match=r"cell_level: expected an array of wp\.uint8, got one of float32"):
        fem.AdaptiveNanogrid(volume, wp.zeros(1, dtype=float), 1)
    with pytest.raises(ValueError, match=r"fill a part of voxel \[0, 0, 0\] of grids\[1\]"):
        fem.adaptive_nanogrid_from_hierarchy([volume_of(EIGHT[1:], 0.5), volume])
    with pytest.raises(ValueError, match="expected a list of volumes"):
        fem.adaptive_nanogrid_from_hierarchy([])
    field = fem.UniformField(fem.Cells(fem.Nanogrid(volume)), -1.0)
    with pytest.raises(ValueError, match="no cell is left"):
        fem.adaptive_nanogrid_from_field(volume, 2, field)
    with pytest.raises(ValueError, match="expected None, 'face' or 'vertex'"):
        fem.adaptive_nanogrid_from_field(volume, 2, field, grading="edge")
    with pytest.raises(ValueError, match="need a grid, not a AdaptiveNanogrid"):
        geo, _, _ = grid()
        fem.make_polynomial_space(geo, degree=2, element_basis=fem.ElementBasis.BSPLINE).node_count()
