"""Spaces of kernels around points: against sums by NumPy, differences of values, and numbers of warp-lang 1.19."""

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64


@wp.func
def bell(squared: F, point: int, width: F):
    return wp.exp(-squared / width) * F(1 + (point & 1))


@wp.func
def bell_slope(squared: F, point: int, width: F):
    return -wp.exp(-squared / width) * F(1 + (point & 1)) / width


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


@fem.integrand
def slope(s: fem.Sample, u: fem.Field):
    return fem.grad(u, s)


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def slope_along(s: fem.Sample, v: fem.Field, u: fem.Field):
    return wp.dot(fem.grad(v, s), fem.grad(u, s))


class Cloud:
    """Random points of the cells of a geometry, and a space of kernels around them."""

    def __init__(self, name, count=40, **options):
        self.geo, rng = geometry(name), np.random.default_rng(0)
        self.cells = rng.integers(0, self.geo.cell_count(), count).astype(np.int32)
        self.coords = rng.uniform(0.0, 0.45, (count, 3))
        self.coords[:, self.geo.cell_dimension :] = 0.0
        given = wp.array(self.cells, dtype=int), wp.array(self.coords, dtype=wp.vec3d)
        self.pic = fem.PicQuadrature(fem.Cells(self.geo), given)
        options = {"kernel_grad_func": bell_slope, "kernel_values": {"width": 0.3}} | options
        self.basis = fem.PointBasisSpace(self.pic, bell, **options)
        self.width = options["kernel_values"]["width"]
        self.is_world = options.get("distance_space") == "world"

    def positions(self, cells, coords):
        return self.geo.positions_in(cells, coords[:, : self.geo.cell_dimension])

    def values(self, cells, coords):
        """The value of each function at coordinates in cells: coordinates x points."""
        a, b = coords, self.coords
        if self.is_world:
            a, b = self.positions(cells, coords), self.positions(self.cells, self.coords)
        squared = ((a[:, None] - b[None]) ** 2).sum(axis=2)
        factors = 1 + np.arange(len(self.cells)) % 2
        return np.where(cells[:, None] == self.cells[None], np.exp(-squared / self.width) * factors, 0.0)

    def points(self, quadrature):
        """The cells and coordinates of the points of a regular quadrature."""
        each = np.pad(quadrature.points, ((0, 0), (0, 3 - quadrature.points.shape[1])))
        return np.repeat(np.arange(self.geo.cell_count()), len(each)), np.tile(each, (self.geo.cell_count(), 1))


NAMES = ["Grid2D", "Trimesh2D", "Hexmesh"]


@pytest.mark.parametrize("given", [{}, {"kernel_grad_func": None}], ids=["given", "derived"])
@pytest.mark.parametrize("space", ["reference", "world"])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_of_a_field(name, space, given):
    cloud = Cloud(name, distance_space=space, **given)
    dofs = np.random.default_rng(1).uniform(-1.0, 1.0, 40)
    field = fem.make_collocated_function_space(cloud.basis).make_field()
    field.dof_values = dofs
    quadrature = fem.RegularQuadrature(fem.Cells(cloud.geo), 2)
    cells, coords = cloud.points(quadrature)
    found = wp.zeros(len(cells), dtype=F)
    fem.interpolate(value, dest=found, at=quadrature, fields={"u": field})
    np.testing.assert_allclose(found.numpy(), cloud.values(cells, coords) @ dofs, rtol=1e-12, atol=1e-14)
    n, h = cloud.geo.cell_dimension, 1e-5
    steps = [h * np.eye(3)[d] for d in range(n)]
    by_coords = np.stack([(cloud.values(cells, coords + d) - cloud.values(cells, coords - d)) @ dofs for d in steps], 1)
    frames = np.stack([cloud.positions(cells, coords + d) - cloud.positions(cells, coords - d) for d in steps], 2)
    slopes = wp.zeros(len(cells), dtype={2: wp.vec2d, 3: wp.vec3d}[n])
    fem.interpolate(slope, dest=slopes, at=quadrature, fields={"u": field})
    wanted = np.linalg.solve(frames.transpose(0, 2, 1), by_coords[..., None])[..., 0]
    np.testing.assert_allclose(slopes.numpy(), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_forms_are_sums_over_points(name):
    cloud = Cloud(name)
    space = fem.make_collocated_function_space(cloud.basis)
    quadrature = fem.RegularQuadrature(fem.Cells(cloud.geo), 3)
    u, v = fem.make_trial(space), fem.make_test(space)
    cells, coords = cloud.points(quadrature)
    sizes = _sizes(quadrature)
    functions = cloud.values(cells, coords)
    found = fem.integrate(value, quadrature=quadrature, fields={"u": v}).numpy()
    np.testing.assert_allclose(found, sizes @ functions, rtol=1e-12)
    matrix = fem.integrate(mass, quadrature=quadrature, fields={"u": u, "v": v})
    np.testing.assert_allclose(dense(matrix), functions.T @ (sizes[:, None] * functions), rtol=1e-11, atol=1e-15)
    linear = fem.make_polynomial_space(cloud.geo, degree=1).make_field()
    linear.dof_values = linear.space.node_positions() @ np.arange(1.0, cloud.geo.dimension + 1.0)
    mixed = fem.integrate(slope_along, quadrature=quadrature, fields={"u": linear, "v": v}).numpy()
    field = space.make_field()
    field.dof_values = np.random.default_rng(1).uniform(size=40)
    slopes = wp.zeros(len(cells), dtype={2: wp.vec2d, 3: wp.vec3d}[cloud.geo.dimension])
    fem.interpolate(slope, dest=slopes, at=quadrature, fields={"u": field})
    total = sizes @ slopes.numpy() @ np.arange(1.0, cloud.geo.dimension + 1.0)
    np.testing.assert_allclose(mixed @ field.dof_values.numpy(), total, rtol=1e-10)


@fem.integrand
def size(s: fem.Sample, domain: fem.Domain):
    return s.qp_weight * fem.measure(domain, s)


def _sizes(quadrature):
    found = wp.zeros(quadrature.total_point_count(), dtype=F)
    fem.interpolate(size, dest=found, at=quadrature)
    return found.numpy()


@wp.func
def bell32(squared: float, point: int, c: float):
    return wp.exp(-c * squared)


@wp.func
def bell32_slope(squared: float, point: int, c: float):
    return -c * wp.exp(-c * squared)


@pytest.mark.parametrize(
    "space, at_middle, at_points, slope_there, boundary",
    [
        ("reference", 0.8824969, [1.7649938, 1.5576016, 2.0], -0.44124845, 3.0235427),
        ("world", 0.60653067, [1.2130613, 1.0705229, 2.0], -1.2130613, 2.0780485),
    ],
)
def test_numbers_are_those_of_warp_lang(space, at_middle, at_points, slope_there, boundary):
    geo = fem.Grid2D(res=(2, 1), bounds_hi=(4.0, 1.0))
    pic = fem.PicQuadrature(fem.Cells(geo), wp.array([(0.5, 0.5), (1.5, 0.25), (3.0, 0.5)], dtype=wp.vec2))
    given = {"kernel_func": bell32, "kernel_grad_func": bell32_slope, "kernel_values": {"c": 2.0}}
    functions = fem.make_collocated_function_space(fem.PointBasisSpace(pic, **given, distance_space=space))
    field = functions.make_field()
    field.dof_values = [1.0, 0.0, 0.0]
    quadrature = fem.RegularQuadrature(fem.Cells(geo), 0)
    found, slopes = wp.zeros(2, dtype=float), wp.zeros(2, dtype=wp.vec2)
    fem.interpolate(value, dest=found, at=quadrature, fields={"u": field})
    fem.interpolate(slope, dest=slopes, at=quadrature, fields={"u": field})
    np.testing.assert_allclose(found.numpy(), [at_middle, 0.0], rtol=1e-6)
    np.testing.assert_allclose(slopes.numpy(), [[slope_there, 0.0], [0.0, 0.0]], rtol=1e-6)
    made = fem.integrate(value, quadrature=quadrature, fields={"u": fem.make_test(functions)})
    np.testing.assert_allclose(made.numpy(), at_points, rtol=1e-6)
    sides = fem.RegularQuadrature(fem.BoundarySides(geo), 0)
    assert fem.integrate(value, quadrature=sides, fields={"u": field.trace()}) == pytest.approx(boundary, rel=1e-6)


def test_values_of_kernels_may_change():
    cloud = Cloud("Grid2D")
    field = fem.make_collocated_function_space(cloud.basis).make_field()
    field.dof_values = np.ones(40)
    quadrature = fem.RegularQuadrature(fem.Cells(cloud.geo), 1)
    for width in (0.3, 0.8):
        cloud.basis.kernel_values["width"] = cloud.width = width
        cells, coords = cloud.points(quadrature)
        wanted = _sizes(quadrature) @ cloud.values(cells, coords).sum(axis=1)
        assert fem.integrate(value, quadrature=quadrature, fields={"u": field}) == pytest.approx(wanted, rel=1e-12)


def test_nodes_beyond_the_limit_of_their_cell_have_no_function():
    cloud = Cloud("Grid2D", max_nodes_per_element=2)
    space = fem.make_collocated_function_space(cloud.basis)
    assert space.node_count() == 40 and space.topology.MAX_NODES_PER_ELEMENT == 2
    field = space.make_field()
    field.dof_values = np.ones(40)
    quadrature = fem.RegularQuadrature(fem.Cells(cloud.geo), 1)
    kept = np.zeros(40)
    for cell in range(cloud.geo.cell_count()):
        kept[np.flatnonzero(cloud.cells == cell)[:2]] = 1.0
    cells, coords = cloud.points(quadrature)
    wanted = _sizes(quadrature) @ cloud.values(cells, coords) @ kept
    assert fem.integrate(value, quadrature=quadrature, fields={"u": field}) == pytest.approx(wanted, rel=1e-12)


def test_parts_of_a_geometry():
    cloud = Cloud("Grid2D")
    part = fem.LinearGeometryPartition(cloud.geo, 0, 2)
    space = fem.make_collocated_function_space(cloud.basis)
    nodes = fem.make_space_partition(space.topology, part, with_halo=False)
    own = np.flatnonzero(np.isin(cloud.cells, part.cells))
    np.testing.assert_array_equal(np.sort(nodes.space_node_indices().numpy()), own)
    v = fem.make_test(space, space_partition=nodes, domain=fem.Cells(part))
    found = np.zeros(40)
    found[nodes.space_node_indices().numpy()] = fem.integrate(value, fields={"u": v}).numpy()
    whole = fem.integrate(value, fields={"u": fem.make_test(space)}).numpy()
    np.testing.assert_allclose(found[own], whole[own], rtol=1e-12)


@fem.integrand
def first_coordinate(s: fem.Sample, domain: fem.Domain):
    return domain(s)[0]


def test_interpolation_sets_values_of_points():
    cloud = Cloud("Grid2D")
    field = fem.make_collocated_function_space(cloud.basis).make_field()
    fem.interpolate(first_coordinate, dest=field)
    np.testing.assert_allclose(field.dof_values.numpy(), cloud.positions(cloud.cells, cloud.coords)[:, 0], rtol=1e-12)


def test_values_have_gradients_by_places_of_points():
    geo = fem.Grid2D(res=(2, 2), scalar_type=F)
    x = wp.array([(0.1, 0.2), (0.7, 0.3), (0.3, 0.8)], dtype=wp.vec2d, requires_grad=True)
    total = wp.zeros(1, dtype=F, requires_grad=True)
    quadrature = fem.RegularQuadrature(fem.Cells(geo), 2)

    def integral():
        pic = fem.PicQuadrature(fem.Cells(geo), x, requires_grad=True)
        basis = fem.PointBasisSpace(pic, bell, kernel_values={"width": 0.4})
        field = fem.make_collocated_function_space(basis).make_field()
        field.dof_values = [1.0, -2.0, 0.5]
        fem.integrate(value, quadrature=quadrature, fields={"u": field}, output=total)
        return total.numpy()[0]

    with wp.Tape() as tape:
        integral()
    tape.backward(total)
    slopes, at, h = x.grad.numpy().copy(), x.numpy().copy(), 1e-6
    for i in range(3):
        for d in range(2):
            found = []
            for sign in (1.0, -1.0):
                moved = at.copy()
                moved[i, d] += sign * h
                x.assign(moved)
                found.append(integral())
            assert slopes[i, d] == pytest.approx((found[0] - found[1]) / (2 * h), rel=1e-6, abs=1e-9)


def test_what_does_not_fit_is_refused():
    geo = fem.Grid2D(res=(2, 2), scalar_type=F)
    pic = fem.PicQuadrature(fem.Cells(geo), wp.array([(0.1, 0.2)], dtype=wp.vec2d))
    with pytest.raises(ValueError, match=r"`bell` takes \['width'\] after the squared distance and the number"):
        fem.PointBasisSpace(pic, bell)
    with pytest.raises(TypeError, match=r"kernel_func: expected a function with @wp\.func, got float"):
        fem.PointBasisSpace(pic, 1.0)
    with pytest.raises(ValueError, match="expected 'reference' or 'world'"):
        fem.PointBasisSpace(pic, bell, kernel_values={"width": 1.0}, distance_space="cell")
    space = fem.make_collocated_function_space(fem.PointBasisSpace(pic, bell, kernel_values={"width": 1.0}))
    sides = fem.make_test(space, domain=fem.Sides(geo))
    with pytest.raises(ValueError, match="has kernels of points"):
        fem.integrate(value, fields={"u": sides})
