"""Sparse grids, and lookup in parts of geometries: against grids, sums over voxels, and the nearest of all cells.

Node counts and distances of lookups were taken from warp-lang 1.19.
"""

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64
VOXELS = np.array([[-1, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0], [5, 2, 1], [8, 0, 0], [9, 0, 0]], dtype=np.int32)
SHEARED = np.array([[0.5, 0.125, 0.0], [0.0, 0.25, -0.0625], [0.0, 0.0, 0.75]], dtype=np.float32)


def sparse(voxels=VOXELS, scalar=F, **placement):
    placement = placement or {"voxel_size": 0.5, "translation": (0.25, 0.0, 0.0)}
    return fem.Nanogrid(wp.Volume.allocate_by_voxels(wp.array(voxels, dtype=wp.vec3i), **placement), scalar_type=scalar)


def block(counts, offset=(0, 0, 0)):
    return np.stack(np.indices(counts), axis=-1).reshape(-1, 3).astype(np.int32) + np.array(offset, dtype=np.int32)


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def laplacian(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def fluxes(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    return u(s) * wp.dot(fem.grad(v, s), fem.normal(domain, s)) * fem.measure_ratio(domain, s)


def test_cells_sides_and_nodes_are_counted():
    geo = sparse()
    assert (geo.cell_count(), geo.vertex_count(), geo.side_count(), geo.boundary_side_count()) == (7, 40, 38, 34)
    counts = {0: 7, 1: 40, 2: 153, 3: 384}
    assert {d: fem.make_polynomial_space(geo, degree=d).node_count() for d in counts} == counts
    kind = fem.ElementBasis.SERENDIPITY
    found = [fem.make_polynomial_space(geo, degree=d, element_basis=kind).node_count() for d in (2, 3)]
    assert found == [108, 176]
    x = fem.make_polynomial_space(geo).node_positions()
    np.testing.assert_allclose(x[[0, 1, 39]], [[-0.5, -0.25, -0.25], [-0.5, -0.25, 0.25], [5.0, 0.25, 0.25]])


def paired(space, other):
    """The node of another space at each node of a space."""
    a, b = space.node_positions(), other.node_positions()
    away = np.linalg.norm(a[:, None] - b[None], axis=2)
    assert a.shape == b.shape and away.min(axis=1).max() < 1e-12
    return away.argmin(axis=1)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("form", [mass, laplacian, fluxes])
def test_matrices_of_a_block_are_those_of_a_grid(degree, form):
    counts = (3, 2, 2)
    geo = sparse(block(counts, (-2, 4, 1)), voxel_size=0.5, translation=(1.25, -1.75, -0.25))
    grid = fem.Grid3D(res=counts, bounds_hi=(1.5, 1.0, 1.0), scalar_type=F)
    matrices, spaces = [], []
    for g in (geo, grid):
        space = fem.make_polynomial_space(g, degree=degree)
        domain = fem.BoundarySides(g) if form is fluxes else fem.Cells(g)
        fields = {"u": fem.make_trial(space, domain=domain), "v": fem.make_test(space, domain=domain)}
        matrices.append(dense(fem.integrate(form, fields=fields)))
        spaces.append(space)
    order = paired(*spaces)
    np.testing.assert_allclose(matrices[0], matrices[1][np.ix_(order, order)], atol=1e-13)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_of_a_block_are_those_of_a_grid(degree):
    found = []
    for geo in (
        sparse(block((3, 4, 2)), voxel_size=0.25),
        fem.Grid3D(res=(3, 4, 2), bounds_hi=wp.vec3d(0.75, 1.0, 0.5), scalar_type=F),
    ):
        space = fem.make_polynomial_space(geo, degree=degree, element_basis=fem.ElementBasis.BSPLINE)
        form = fem.integrate(mass, fields={"u": fem.make_trial(space), "v": fem.make_test(space)})
        found.append(np.linalg.eigvalsh(dense(form)))
    np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.parametrize("degree", [1, 2])
def test_jumps_over_sides_of_a_block_are_those_of_a_grid(degree):
    counts = (3, 2, 2)
    geo, sums = sparse(block(counts), voxel_size=1.0, translation=(0.5, 0.5, 0.5)), []
    for g in (geo, fem.Grid3D(counts, None, (3, 2, 2), F)):
        space = fem.make_polynomial_space(g, degree=degree, discontinuous=True)
        sides = fem.Sides(g)
        field = space.make_field()
        x = np.round(space.node_positions(), 9)
        middle = np.floor(x[space.basis.cell_nodes].mean(axis=1)) + 0.5
        values = np.zeros(len(x))
        smooth = x[space.basis.cell_nodes] @ [0.5, 0.0, 1.0]
        values[space.basis.cell_nodes] = (middle @ [1.0, 2.0, 3.0])[:, None] + smooth
        field.dof_values = values
        sums.append(fem.integrate(squared_jump, domain=sides, fields={"u": field}))
    # Sides across x, y and z: 8, 6 and 6 of size 1, with jumps of the steps of the middles.
    assert sums[0] == pytest.approx(sums[1], rel=1e-12) == pytest.approx(8 * 1.0 + 6 * 4.0 + 6 * 9.0)


@fem.integrand
def squared_jump(s: fem.Sample, u: fem.Field):
    return fem.jump(u, s) * fem.jump(u, s)


@fem.integrand
def polynomial(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return F(1.0) + x[0] * x[1] + x[2] * x[2] * x[0]


@pytest.mark.parametrize("frame", [np.eye(3, dtype=np.float32) * 0.5, SHEARED])
def test_integrals_are_sums_over_voxels(frame):
    geo = sparse(voxel_size=None, transform=frame.astype(float).tolist(), translation=(0.25, 1.0, -2.0))
    line, weights = np.polynomial.legendre.leggauss(3)
    points = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3) / 2.0
    w = np.einsum("i,j,k->ijk", weights, weights, weights).ravel() / 8.0
    matrix = np.array(geo.cell_grid.get_grid_info().transform_matrix, dtype=float).reshape(3, 3)
    x = (VOXELS[:, None] + points) @ matrix.T + np.array([0.25, 1.0, -2.0])
    values = 1.0 + x[..., 0] * x[..., 1] + x[..., 2] ** 2 * x[..., 0]
    at = fem.RegularQuadrature(fem.Cells(geo), order=4)
    found = fem.integrate(polynomial, quadrature=at)
    assert found == pytest.approx((values @ w).sum() * np.linalg.det(matrix), rel=1e-12)


# -- lookup ---------------------------------------------------------------------------------------------------------


@fem.integrand
def find(
    s: fem.Sample,
    domain: fem.Domain,
    x: wp.array(dtype=wp.vec3d),
    max_dist: F,
    cells: wp.array(dtype=int),
    places: wp.array(dtype=wp.vec3d),
):
    found = fem.lookup(domain, x[s.qp_index], max_dist)
    cells[s.qp_index] = found.element_index
    places[s.qp_index] = domain(found)


@fem.integrand
def find_in_part(
    s: fem.Sample,
    domain: fem.Domain,
    x: wp.array(dtype=wp.vec3d),
    max_dist: F,
    cells: wp.array(dtype=int),
    places: wp.array(dtype=wp.vec3d),
):
    found = fem.partition_lookup(domain, x[s.qp_index], max_dist)
    cells[s.qp_index] = found.element_index
    places[s.qp_index] = domain(found)


def looked_up(domain, x, max_dist=0.0, form=find):
    """The cells and positions that a lookup finds. The points of a quadrature in the first cell are its threads."""
    n = len(x)
    first = np.full(n, int(domain.element_cells[0]), dtype=np.int32)
    at = fem.PicQuadrature(domain, (wp.array(first, dtype=int), wp.zeros(n, dtype=wp.vec3d)))
    cells, places = wp.zeros(n, dtype=int), wp.zeros(n, dtype=wp.vec3d)
    values = {"x": wp.array(x, dtype=wp.vec3d), "max_dist": max_dist, "cells": cells, "places": places}
    fem.interpolate(form, at=at, values=values)
    return cells.numpy(), places.numpy()


def nearest_distance(lower, size, x):
    """The distance of each position to the nearest of some boxes."""
    near = np.clip(x[:, None], lower, lower + size)
    return np.linalg.norm(near - x[:, None], axis=2).min(axis=1)


@pytest.mark.parametrize(("max_dist", "reach"), [(0.0, 0.25), (0.1, 0.5), (0.5, 0.5), (0.7, 1.0), (9.0, 9.0)])
def test_positions_are_found_within_a_distance(max_dist, reach):
    geo, rng = sparse(), np.random.default_rng(0)
    lower = VOXELS * 0.5 + [0.0, -0.25, -0.25]
    x = np.concatenate([rng.uniform([-2, -2, -2], [6, 3, 2], (500, 3)), lower + rng.uniform(0.0, 0.5, (7, 3))])
    away = nearest_distance(lower, 0.5, x)
    cells, places = looked_up(fem.Cells(geo), x, max_dist)
    expected = away <= reach
    assert expected.sum() > 5 and np.array_equal(cells >= 0, expected)
    np.testing.assert_allclose(np.linalg.norm(places - x, axis=1)[expected], away[expected], atol=1e-6)
    inside = np.flatnonzero(away == 0.0)
    middles = geo.positions_at(np.full((1, 3), 0.5))[:, 0]
    assert (np.abs(middles[cells[inside]] - x[inside]) <= 0.25 + 1e-7).all()


def test_positions_in_sheared_voxels():
    geo = sparse(voxel_size=None, transform=SHEARED.tolist(), translation=(0.25, 1.0, -2.0))
    rng = np.random.default_rng(1)
    picked = rng.integers(0, 7, 100)
    matrix = np.array(geo.cell_grid.get_grid_info().transform_matrix, dtype=float).reshape(3, 3)
    x = (VOXELS[picked] + rng.uniform(-0.49, 0.49, (100, 3))) @ matrix.T + [0.25, 1.0, -2.0]
    cells, places = looked_up(fem.Cells(geo), x)
    middles = geo.positions_at(np.full((1, 3), 0.5))[:, 0]
    np.testing.assert_allclose(middles[cells], VOXELS[picked] @ matrix.T + [0.25, 1.0, -2.0], atol=1e-6)
    np.testing.assert_allclose(places, x, atol=1e-12)


def test_far_and_undefined_positions_have_no_cell():
    cells, places = looked_up(fem.Cells(sparse()), np.array([[1e30, 0.0, 0.0], [np.nan, 0.0, 0.0], [0.3, 0.0, np.inf]]))
    assert cells.tolist() == [-1, -1, -1] and np.isnan(places).all()


@pytest.mark.parametrize("kind", ["Grid3D", "Hexmesh", "Tetmesh", "Nanogrid"])
def test_lookup_in_a_part_takes_its_nearest_cell(kind):
    """Half of a box: positions in the other half get the nearest point between the two."""
    counts = (4, 2, 2)
    if kind == "Grid3D":
        geo = fem.Grid3D(res=counts, scalar_type=F)
    elif kind == "Nanogrid":
        geo = sparse(block(counts), voxel_size=(0.25, 0.5, 0.5), translation=(0.125, 0.25, 0.25))
    else:
        geo = geometry(kind, amount=0.0)
        geo.build_bvh()
    middles = geo.positions_at(geo.cell.vertices).mean(axis=1)
    part = fem.ExplicitGeometryPartition(geo, wp.array((middles[:, 0] < 0.5).astype(np.int32), dtype=int))
    x = np.random.default_rng(2).uniform(0.0, 1.0, (200, 3))
    cells, places = looked_up(fem.Cells(part), x, 1.0, find_in_part)
    assert (middles[cells, 0] < 0.5).all()
    np.testing.assert_allclose(places, np.minimum(x, [0.5, 1.0, 1.0]), atol=1e-7)
    every = looked_up(fem.Cells(part), x, 1.0)
    np.testing.assert_allclose(every[1], x, atol=1e-7)  # a plain lookup is in all cells
    none = fem.ExplicitGeometryPartition(geo, wp.zeros(geo.cell_count(), dtype=int))
    assert none.cell_count() == 0
    whole = looked_up(fem.Cells(geo), x, 1.0, find_in_part)
    np.testing.assert_allclose(whole[1], x, atol=1e-7)


@pytest.mark.parametrize(("max_dist", "reach"), [(0.0, 0.5), (0.1, 1.0), (1.0, 1.0), (2.0, 2.0), (3.5, 4.0), (9, 9.0)])
def test_the_distance_of_a_part_of_a_grid(max_dist, reach):
    grid = fem.Grid3D(res=(8, 1, 1), bounds_hi=(8.0, 1.0, 1.0), scalar_type=F)
    part = fem.LinearGeometryPartition(grid, 0, 8)
    x = np.stack([np.linspace(0.013, 7.987, 300), np.full(300, 0.5), np.full(300, 0.25)], axis=1)
    cells, places = looked_up(fem.Cells(part), x, max_dist, find_in_part)
    assert np.array_equal(cells == 0, x[:, 0] - 1.0 <= reach) and set(cells) <= {0, -1}
    np.testing.assert_allclose(places[cells == 0], np.minimum(x, [1.0, 1.0, 1.0])[cells == 0], atol=1e-12)


@fem.integrand
def momentum(s: fem.Sample, v: fem.Field):
    return v(s)


def test_particles_in_a_sparse_grid():
    geo = sparse()
    x = np.array([[0.1, 0.0, 0.0], [4.6, 0.1, -0.1], [1.2, 0.0, 0.0], [30.0, 0.0, 0.0]])
    space = fem.make_polynomial_space(geo)
    pic = fem.PicQuadrature(fem.Cells(geo), wp.array(x, dtype=wp.vec3d), measures=wp.ones(4, dtype=F))
    assert pic.cell_indices.numpy()[3] == -1
    total = fem.integrate(momentum, quadrature=pic, fields={"v": fem.make_test(space)}).numpy()
    at = space.node_positions()
    np.testing.assert_allclose(total.sum(), 3.0, atol=1e-12)
    np.testing.assert_allclose(total @ at, x[:3].sum(axis=0), atol=1e-6)


@fem.integrand
def slope_at(s: fem.Sample, domain: fem.Domain, u: fem.Field, x: wp.array(dtype=wp.vec3d), out: wp.array(dtype=F)):
    out[s.qp_index] = u(fem.lookup(domain, x[s.qp_index]))


def test_values_at_positions_have_gradients():
    geo = sparse()
    field = fem.make_polynomial_space(geo, degree=2).make_field()
    at = field.space.node_positions()
    field.dof_values = at[:, 0] ** 2 + at[:, 1] * at[:, 2]
    given = np.array([[0.1, 0.05, -0.1], [4.6, 0.4, 0.1]])  # the second one is outside, along y
    x, out = wp.array(given, dtype=wp.vec3d, requires_grad=True), wp.zeros(2, dtype=F, requires_grad=True)
    pic = fem.PicQuadrature(fem.Cells(geo), (wp.zeros(2, dtype=int), wp.zeros(2, dtype=wp.vec3d)))
    with wp.Tape() as tape:
        fem.interpolate(slope_at, at=pic, fields={"u": field}, values={"x": x, "out": out})
    np.testing.assert_allclose(out.numpy(), [0.01 - 0.005, 4.6**2 + 0.025], atol=1e-6)
    tape.backward(grads={out: wp.ones(2, dtype=F)})
    np.testing.assert_allclose(x.grad.numpy(), [[0.2, -0.1, 0.05], [9.2, 0.0, 0.25]], atol=1e-6)


def test_a_grid_is_rebuilt():
    first, second = VOXELS[:3], np.array([[2, 0, 0], [2, 1, 0], [2, 1, 1], [7, 7, 7]], dtype=np.int32)
    placement = {"voxel_size": 0.5, "rebuildable": True, "max_active_voxels": 16}
    volume = wp.Volume.allocate_by_voxels(wp.array(first, dtype=wp.vec3i), **placement)
    geo = fem.Nanogrid(volume, scalar_type=F, rebuildable=True)
    for voxels in (first, second, first):
        geo.rebuild(wp.array(voxels, dtype=wp.vec3i))
        other = sparse(voxels, voxel_size=0.5)
        for count in ("cell_count", "vertex_count", "side_count", "boundary_side_count"):
            assert getattr(geo, count)() == getattr(other, count)()
        found, wanted = (fem.make_polynomial_space(g, degree=2) for g in (geo, other))
        np.testing.assert_allclose(found.node_positions(), wanted.node_positions(), rtol=1e-12)
        a, b = (fem.integrate(mass, fields={"u": fem.make_trial(s), "v": fem.make_test(s)}) for s in (found, wanted))
        np.testing.assert_allclose(dense(a), dense(b), rtol=1e-12, atol=1e-16)
        x = 0.5 * voxels + np.array([0.1, -0.05, 0.2])
        cells = looked_up(fem.Cells(geo), x)[0]
        np.testing.assert_array_equal(volume.get_voxels().numpy()[cells], voxels)
    volume.rebuild(wp.array(second, dtype=wp.vec3i))
    geo.rebuild_topology_from_cells()
    assert geo.cell_count() == 4
    with pytest.raises(RuntimeError, match=r"write fem\.Nanogrid\(grid, rebuildable=True"):
        sparse().rebuild(wp.array(second, dtype=wp.vec3i))


def test_a_space_takes_the_cells_of_a_rebuilt_grid():
    placement = {"voxel_size": 0.5, "rebuildable": True, "max_active_voxels": 16}
    volume = wp.Volume.allocate_by_voxels(wp.array(VOXELS[:3], dtype=wp.vec3i), **placement)
    geo = fem.Nanogrid(volume, scalar_type=F, rebuildable=True)
    space = fem.make_polynomial_space(geo, degree=2)
    assert space.node_count() == len(np.unique(space.basis.cell_nodes))
    other = np.array([[2, 0, 0], [7, 7, 7]], dtype=np.int32)
    geo.rebuild(wp.array(other, dtype=wp.vec3i))
    space.topology.rebuild()
    wanted = fem.make_polynomial_space(sparse(other, voxel_size=0.5), degree=2)
    np.testing.assert_allclose(space.node_positions(), wanted.node_positions(), rtol=1e-12)
    a, b = (fem.integrate(mass, fields={"u": fem.make_trial(s), "v": fem.make_test(s)}) for s in (space, wanted))
    np.testing.assert_allclose(dense(a), dense(b), rtol=1e-12, atol=1e-16)


def test_what_is_not_there_is_refused():
    volume = wp.Volume.allocate_by_voxels(wp.array(VOXELS, dtype=wp.vec3i), voxel_size=1.0)
    with pytest.raises(TypeError, match=r"expected a wp\.Volume, got ndarray"):
        fem.Nanogrid(VOXELS)
    with pytest.raises(ValueError, match="expected both of cell_env and env_offsets"):
        fem.Nanogrid(volume, cell_env=wp.zeros(7, dtype=int))
