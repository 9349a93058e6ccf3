"""Environments: independent simulations in one geometry, at one place."""

from __future__ import annotations

import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import Physical
from tests.sparse.matrices import dense

F = wp.float64


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def weighed(s: fem.Sample, domain: fem.Domain, weights: wp.array(dtype=F)):
    return weights[fem.environment_index(domain, s)]


@fem.integrand
def store_environment(s: fem.Sample, domain: fem.Domain, out: wp.array(dtype=int)):
    out[s.qp_index] = fem.environment_index(domain, s)


@fem.integrand
def place(s: fem.Sample, domain: fem.Domain):
    return domain(s)


def environments_of(domain):
    quadrature = fem.RegularQuadrature(domain, order=0)
    out = wp.full(domain.element_count(), -7, dtype=int)
    fem.interpolate(store_environment, at=quadrature, values={"out": out})
    return out.list()


def two_triangles(scalar=wp.vec2d):
    """Two environments of three: triangles at one place."""
    corners = wp.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)] * 2, dtype=scalar)
    indices = wp.array([(0, 1, 2), (3, 4, 5)], dtype=int)
    return fem.Trimesh2D(indices, corners, build_bvh=True, cell_env=wp.array([1, 0], dtype=int), env_count=3)


VOXELS = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (-1, 0, 0), (0, 0, 0), (0, 1, 0), (4, 2, 1)], dtype=np.int32)
OF_VOXELS = np.array([0, 0, 0, 2, 2, 2, 2], dtype=np.int32)


def sparse(voxels=VOXELS, of=OF_VOXELS, count=3, **more):
    """The environments 0 and 2 of three have cells, and some of these have the same place."""
    points, numbers = wp.array(voxels, dtype=wp.vec3i), wp.array(of, dtype=int)
    return fem.Nanogrid.from_environment_voxels(points, numbers, count, scalar_type=F, voxel_size=0.5, **more)


def adaptive(**more):
    corners = np.array([(0, 0, 0), (2, 0, 0), (2, 0, 1), (0, 0, 0), (2, 0, 0)], dtype=np.int32)
    levels = wp.array([1, 0, 0, 1, 1], dtype=wp.uint8)
    of = wp.array([0, 0, 0, 1, 1], dtype=int)
    return fem.AdaptiveNanogrid.from_environment_voxels(
        wp.array(corners, dtype=wp.vec3i), levels, of, 2, 2, voxel_size=0.5, scalar_type=F, **more
    )


MAKERS = {
    "Grid2D": lambda: fem.Grid2D(res=(2, 1), env_count=3, scalar_type=F),
    "Grid3D": lambda: fem.Grid3D(res=(1, 2, 1), env_count=2, scalar_type=F),
    "Trimesh2D": two_triangles,
    "Nanogrid": sparse,
    "AdaptiveNanogrid": adaptive,
}


def test_grids_are_numbered_as_those_of_warp():
    """Numbers that warp-lang 1.19 gives for `Grid2D(res=(2, 1), env_count=2)`."""
    geo = fem.Grid2D(res=(2, 1), env_count=2)
    counts = geo.cell_count(), geo.vertex_count(), geo.side_count(), geo.boundary_side_count(), geo.environment_count()
    assert counts == (4, 12, 14, 12, 2)
    assert geo.cell_env is None
    assert environments_of(fem.Cells(geo)) == [0, 0, 1, 1]
    assert environments_of(fem.Sides(geo)) == [0] * 7 + [1] * 7
    cells = {
        1: [[0, 1, 2, 3], [2, 3, 4, 5], [6, 7, 8, 9], [8, 9, 10, 11]],
        2: [[*range(9)], [*range(6, 15)], [*range(15, 24)], [*range(21, 30)]],
    }
    for degree, nodes in cells.items():
        space = fem.make_polynomial_space(geo, degree=degree)
        assert space.basis.cell_nodes.tolist() == nodes
    part = fem.ExplicitGeometryPartition(geo, wp.array([0, 1, 1, 0], dtype=int))
    space = fem.make_polynomial_space(geo)
    nodes = fem.make_space_partition(space.topology, part, with_halo=False, environment_first=True)
    assert (nodes.node_count(), nodes.env_offsets.list()) == (8, [0, 4, 8])
    assert nodes.space_node_indices().list() == [*range(2, 10)]
    padded = fem.make_space_partition(space.topology, part, False, 11, environment_first=True)
    assert (padded.node_count(), padded.env_offsets.list()) == (11, [0, 4, 8])
    assert padded.space_node_indices().list() == [*range(2, 10), 0, 1, 10]
    assert fem.make_space_partition(space.topology, part, False).env_offsets is None


def test_nodes_of_meshes_are_in_the_order_of_environments():
    """Numbers that warp-lang 1.19 gives: the third environment has no cells."""
    geo = two_triangles()
    assert (geo.environment_count(), geo.cell_env.list()) == (3, [1, 0])
    space = fem.make_polynomial_space(geo)
    nodes = fem.make_space_partition(space.topology, environment_first=True)
    assert nodes.env_offsets.list() == [0, 3, 6, 6]
    assert nodes.space_node_indices().list() == [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("name", MAKERS)
def test_environments_are_not_coupled(name, degree):
    """The matrices of NumPy, and no entry between nodes of two environments."""
    geo = MAKERS[name]()
    space = fem.make_polynomial_space(geo, degree=degree)
    nodes = fem.make_space_partition(space.topology, environment_first=True)
    offsets, order = nodes.env_offsets.numpy(), nodes.space_node_indices().numpy()
    owner = np.empty(len(order), dtype=int)
    owner[order] = np.repeat(np.arange(geo.environment_count()), np.diff(offsets))
    fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
    for form, wanted in zip((mass, stiffness), Physical(space, degree).matrices()):
        found = dense(fem.integrate(form, fields=fields))
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        assert (found[owner[:, None] != owner[None]] == 0.0).all()
        renumbered = {
            "u": fem.make_trial(space, space_partition=nodes),
            "v": fem.make_test(space, space_partition=nodes),
        }
        found = dense(fem.integrate(form, fields=renumbered))
        np.testing.assert_allclose(found, wanted[np.ix_(order, order)], atol=1e-12)


@pytest.mark.parametrize("name", MAKERS)
def test_environments_are_told_in_cells_and_on_sides(name):
    geo = MAKERS[name]()
    weights = 10.0 ** np.arange(geo.environment_count())
    values = {"weights": wp.array(weights, dtype=F)}
    corners = geo.vertex_positions[geo.cell_vertices]
    sizes = np.ptp(corners, axis=1).prod(axis=1) * (0.5 if name == "Trimesh2D" else 1.0)
    owner = {
        "Grid2D": np.repeat([0, 1, 2], 2),
        "Grid3D": np.repeat([0, 1], 2),
        "Trimesh2D": np.array([1, 0]),
    }.get(name)
    if owner is None:
        owner = geo.cell_env.numpy()
    total = fem.integrate(weighed, domain=fem.Cells(geo), values=values)
    assert total == pytest.approx((sizes * weights[owner]).sum(), rel=1e-12)
    assert environments_of(fem.Sides(geo)) == owner[fem.Sides(geo).element_cells].tolist()


# -- lookup ---------------------------------------------------------------------------------------------------------

X = np.array([(0.25, 0.5), (0.75, 0.5), (0.25, 0.25), (1.5, 0.5), (0.75, 0.5)])
ENVIRONMENTS = wp.array([0, 0, 1, 1, 7], dtype=int)
MASK = wp.array([0, 1, 1, 0], dtype=int)


def look_up(found, domain):
    """The cells that an integrand looks up, and the coordinates there."""
    cells, coords = wp.full(len(X), -7, dtype=int), wp.zeros(len(X), dtype=wp.vec3d)
    arrays = {"x": wp.array(X, dtype=wp.vec2d), "environments": ENVIRONMENTS, "mask": MASK}
    fem.interpolate(found, dim=len(X), at=domain, values=arrays | {"cells": cells, "coords": coords})
    return cells.list(), coords.numpy()[:, :2].tolist()


def finder(find):
    """An integrand that looks positions up by a function of the domain, the position, the environment and a mask."""

    @fem.integrand
    def found(
        s: fem.Sample,
        domain: fem.Domain,
        x: wp.array(dtype=wp.vec2d),
        environments: wp.array(dtype=int),
        mask: wp.array(dtype=int),
        cells: wp.array(dtype=int),
        coords: wp.array(dtype=wp.vec3d),
    ):
        at = find(domain, x[s.qp_index], environments[s.qp_index], mask)
        cells[s.qp_index] = at.element_index
        coords[s.qp_index] = at.element_coords

    return found


@wp.func
def in_environment(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    return fem.lookup(domain, x, environment)


@wp.func
def within_distance(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    return fem.lookup(domain, x, 0.1, environment)


@wp.func
def filtered(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    return fem.lookup(domain, x, mask, 1, environment)


@wp.func
def filtered_within(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    return fem.lookup(domain, x, 2.0, mask, 1, environment)


@wp.func
def in_part(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    return fem.partition_lookup(domain, x, environment)


@wp.func
def in_part_within(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    return fem.partition_lookup(domain, x, 2.0, environment)


@wp.func
def anywhere(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    return fem.lookup(domain, x)


@wp.func
def near_a_sample(domain: fem.Domain, x: wp.vec2d, environment: int, mask: wp.array(dtype=int)):
    guess = fem.make_free_sample(2 * environment, fem.Coords_f64(F(0.5)))
    return fem.lookup(domain, x, guess)


@pytest.mark.parametrize(
    ("find", "cells", "first"),
    [
        (in_environment, [0, 1, 2, 3, -1], [0.5, 0.5]),
        (within_distance, [0, 1, 2, 3, -1], [0.5, 0.5]),
        (filtered, [1, 1, 2, -1, -1], [0.0, 0.5]),
        (filtered_within, [1, 1, 2, 2, -1], [0.0, 0.5]),
        (in_part, [1, 1, 2, -1, -1], [0.0, 0.5]),
        (in_part_within, [1, 1, 2, 2, -1], [0.0, 0.5]),
    ],
)
def test_positions_are_looked_up_in_an_environment(find, cells, first):
    """Numbers that warp-lang 1.19 gives, but for the last position: it finds cell 15 of 4 in environment 7 of 2."""
    geo = fem.Grid2D(res=(2, 1), env_count=2, scalar_type=F)
    part = fem.ExplicitGeometryPartition(geo, MASK)
    found, coords = look_up(finder(find), fem.Cells(part if find in (in_part, in_part_within) else geo))
    assert found == cells
    assert coords[0] == first


def test_positions_are_looked_up_in_environments_of_meshes():
    """Numbers that warp-lang 1.19 gives."""
    found, coords = look_up(finder(in_environment), fem.Cells(two_triangles()))
    assert found == [1, 1, 0, 0, -1]
    np.testing.assert_allclose(coords[:4], [(0.25, 0.5), (0.625, 0.375), (0.25, 0.25), (1.0, 0.0)], atol=1e-12)


def test_a_sample_that_is_near_gives_the_environment():
    geo = fem.Grid2D(res=(2, 1), env_count=8, scalar_type=F)
    assert look_up(finder(near_a_sample), fem.Cells(geo))[0] == [0, 1, 2, 3, 15]


def test_several_environments_need_a_number():
    for geo in (fem.Grid2D(res=(2, 1), env_count=2, scalar_type=F), two_triangles()):
        with pytest.raises(AttributeError, match=r"write fem\.lookup\(domain, x, environment\)"):
            look_up(finder(anywhere), fem.Cells(geo))
    assert look_up(finder(anywhere), fem.Cells(fem.Grid2D(res=(2, 1), scalar_type=F)))[0] == [0, 1, 0, 1, 1]
    assert look_up(finder(in_environment), fem.Cells(fem.Grid2D(res=(2, 1), scalar_type=F)))[0] == [0, 1, -1, -1, -1]


def test_kernels_of_programs_look_up_environments():
    geo = fem.Grid2D(res=(2, 1), env_count=2, scalar_type=F)
    domain = fem.Cells(fem.ExplicitGeometryPartition(geo, MASK))
    find = domain.element_partition_lookup

    @wp.kernel
    def located(
        geometry: domain.ElementArg,
        index: domain.ElementIndexArg,
        x: wp.array(dtype=wp.vec2d),
        environments: wp.array(dtype=int),
        found: wp.array2d(dtype=int),
    ):
        i = wp.tid()
        arg = domain.DomainArg(geometry, index)
        found[0, i] = find(arg, x[i], environments[i]).element_index
        found[1, i] = find(arg, x[i], 2.0, environments[i]).element_index

    found = wp.zeros((2, len(X)), dtype=int)
    arguments = domain.element_arg_value(), domain.element_index_arg_value(), wp.array(X, dtype=wp.vec2d), ENVIRONMENTS
    wp.launch(located, dim=len(X), inputs=[*arguments, found])
    assert found.numpy().tolist() == [[1, 1, 2, -1, -1], [1, 1, 2, 2, -1]]


# -- particles ------------------------------------------------------------------------------------------------------


@fem.integrand
def load(s: fem.Sample, v: fem.Field):
    return v(s)


def test_particles_are_in_their_environment():
    geo = fem.Grid2D(res=(2, 1), env_count=2, scalar_type=F)
    at = np.random.default_rng(1).uniform(0.0, 1.0, (40, 2))
    of, sizes = np.arange(40, dtype=np.int32) % 2, np.linspace(1.0, 2.0, 40)
    arrays = wp.array(at, dtype=wp.vec2d), wp.array(sizes, dtype=F), wp.array(of, dtype=int)
    pic = fem.PicQuadrature(fem.Cells(geo), *arrays)
    np.testing.assert_array_equal(pic.cell_indices.numpy(), 2 * of + (at[:, 0] > 0.5))
    found = fem.integrate(load, quadrature=pic, fields={"v": fem.make_test(fem.make_polynomial_space(geo))}).numpy()
    wanted, nodes = np.zeros(12), np.array([(x, y) for x in (0.0, 0.5, 1.0) for y in (0.0, 1.0)])
    for e in (0, 1):
        hats = np.maximum(1.0 - np.abs(at[:, None] - nodes) / [0.5, 1.0], 0.0).prod(axis=2)
        wanted[6 * e : 6 * e + 6] = (hats * (sizes * (of == e))[:, None]).sum(axis=0)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    points = fem.PointBasisSpace(pic)
    nodes = fem.make_space_partition(points, environment_first=True)
    assert nodes.env_offsets.list() == [0, 20, 40]
    assert nodes.space_node_indices().list() == [*range(0, 40, 2), *range(1, 40, 2)]


# -- sparse grids ---------------------------------------------------------------------------------------------------


def check_positions(geo, corners, of, widths):
    """Cells have the environments and middles of NumPy, in any order, and lookups find them."""
    middles = fem.Cells(geo).geometry.positions_at(np.full((1, 3), 0.5))[:, 0]
    # A voxel is around its place: corner 0 of voxel 0 is half of a voxel below the origin.
    wanted = 0.5 * (corners - 0.5) + 0.25 * widths[:, None]
    order, other = (np.lexsort((*np.round(m, 6).T, e)) for m, e in ((middles, geo.cell_env.numpy()), (wanted, of)))
    np.testing.assert_allclose(middles[order], wanted[other], atol=1e-12)
    np.testing.assert_array_equal(geo.cell_env.numpy()[order], of[other])
    pic = fem.PicQuadrature(fem.Cells(geo), wp.array(wanted, dtype=wp.vec3d), env_indices=wp.array(of, dtype=int))
    np.testing.assert_array_equal(pic.cell_indices.numpy()[other], order)
    np.testing.assert_allclose(pic.particle_coords.numpy(), 0.5, atol=1e-12)
    away = fem.PicQuadrature(
        fem.Cells(geo), wp.array(wanted, dtype=wp.vec3d), env_indices=wp.array(of + 1, dtype=int), max_dist=100.0
    )
    found = away.cell_indices.numpy()
    assert (geo.cell_env.numpy()[found[found >= 0]] == (of + 1)[found >= 0]).all()


def test_sparse_grids_of_environments():
    geo = sparse()
    assert (geo.environment_count(), geo.cell_count(), geo.cell_grid.get_voxel_count()) == (3, 7, 7)
    check_positions(geo, VOXELS, OF_VOXELS, np.ones(7))
    packed, offsets = geo.cell_grid.get_voxels().numpy(), geo.env_offsets.numpy()
    local = packed - offsets[geo.cell_env.numpy()]
    assert sorted(map(tuple, local)) == sorted(map(tuple, VOXELS))
    first, last = packed[geo.cell_env.numpy() == 0][:, 0], packed[geo.cell_env.numpy() == 2][:, 0]
    assert last.min() - first.max() == 1 + 3  # cells that stay free

    touching = sparse(env_offsets=[(0, 0, 0), (0, 0, 0), (0, 1, 0)], of=np.array([0, 0, 0, 2, 2, 2, 2]))
    check_positions(touching, VOXELS, OF_VOXELS, np.ones(7))
    assert touching.vertex_count() == geo.vertex_count()
    assert touching.boundary_side_count() == geo.boundary_side_count()


def test_a_sparse_grid_is_one_environment():
    """Arrays that warp-lang 1.19 gives for a grid that was made without environments."""
    geo = fem.Nanogrid(wp.Volume.allocate_by_voxels(wp.array([(0, 0, 0), (3, 1, 0)], dtype=wp.vec3i), voxel_size=1.0))
    assert (geo.environment_count(), geo.cell_env.list()) == (1, [0, 0])
    assert geo.env_offsets.numpy().tolist() == [[0, 0, 0]]


def test_points_in_the_world_and_masks():
    points = 0.5 * VOXELS + np.array([0.2, -0.1, 0.24])
    arrays = wp.array(points, dtype=wp.vec3), wp.array(OF_VOXELS, dtype=int)
    mask = np.array([1, 1, 0, 1, 1, 1, 0], dtype=np.int32)
    geo = fem.Nanogrid.from_environment_voxels(
        *arrays, 3, point_mask=wp.array(mask, dtype=int), voxel_size=0.5, scalar_type=F
    )
    check_positions(geo, VOXELS[mask != 0], OF_VOXELS[mask != 0], np.ones(5))


def test_sparse_grids_of_environments_are_rebuilt():
    status = wp.zeros(1, dtype=wp.uint32)
    geo = sparse(rebuildable=True, max_active_voxels=8, status=status)
    other, of = np.array([(3, 3, 3), (0, 0, 0), (0, 0, 0), (0, 0, 1)], dtype=np.int32), np.array([0, 0, 1, 1])
    geo.rebuild(wp.array(other, dtype=wp.vec3i), wp.array(of, dtype=int), status=status)
    assert status.list() == [wp.Volume.REBUILD_SUCCESS]
    check_positions(geo, other, of, np.ones(4))
    geo.rebuild(wp.array(VOXELS, dtype=wp.vec3i), wp.array(OF_VOXELS + 1, dtype=int), status=status)
    assert status.list() == [wp.Volume.REBUILD_INVALID_INPUT]
    check_positions(geo, VOXELS[:3], OF_VOXELS[:3] + 1, np.ones(3))
    many = np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3)
    geo.rebuild(wp.array(many, dtype=wp.vec3i), wp.zeros(27, dtype=int), status=status)
    assert status.list()[0] & wp.Volume.REBUILD_VOXEL_CAPACITY_EXCEEDED
    check_positions(geo, VOXELS[:3], OF_VOXELS[:3] + 1, np.ones(3))
    with pytest.raises(ValueError, match=r"expected point_envs, the environment of each point"):
        geo.rebuild(wp.array(VOXELS, dtype=wp.vec3i))


def test_adaptive_grids_of_environments():
    corners = np.array([(0, 0, 0), (2, 0, 0), (2, 0, 1), (0, 0, 0), (2, 0, 0)])
    of, widths = np.array([0, 0, 0, 1, 1]), np.array([2.0, 1.0, 1.0, 2.0, 2.0])
    geo = adaptive()
    check_positions(geo, corners, of, widths)
    assert (geo.environment_count(), geo.vertex_count()) == (2, 18 + 12)
    assert not (geo.env_offsets.numpy() % 2).any()
    with pytest.raises(ValueError, match="multiples of 2, the width of the largest cells"):
        adaptive(env_offsets=[(0, 0, 0), (5, 0, 0)])
    with pytest.raises(ValueError, match="cells of two environments touch in the volume"):
        adaptive(env_offsets=[(0, 0, 0), (0, 2, 0)]).side_count()


# -- fields ---------------------------------------------------------------------------------------------------------


def test_fields_of_other_geometries_keep_their_environment():
    coarse = fem.Grid2D(res=(1, 1), env_count=2, scalar_type=F)
    given = fem.make_polynomial_space(coarse).make_field()
    given.dof_values = [0.0, 0.0, 2.0, 2.0, 5.0, 5.0, 1.0, 1.0]
    fine = fem.Grid2D(res=(4, 1), env_count=2, scalar_type=F)
    found = fem.make_polynomial_space(fine).make_field()
    fem.interpolate(fem.NonconformingField(fem.Cells(fine), given), dest=found)
    x = np.repeat(np.linspace(0.0, 1.0, 5), 2)
    np.testing.assert_allclose(found.dof_values.numpy(), [*(2.0 * x), *(5.0 - 4.0 * x)], atol=1e-12)
    one = fem.make_polynomial_space(fem.Grid2D(res=(1, 1), scalar_type=F)).make_field()
    one.dof_values = [0.0, 0.0, 2.0, 2.0]
    fem.interpolate(fem.NonconformingField(fem.Cells(fine), one), dest=found)
    np.testing.assert_allclose(found.dof_values.numpy(), [*(2.0 * x), *(2.0 * x)], atol=1e-12)
    three = fem.make_polynomial_space(fem.Grid2D(res=(1, 1), env_count=3, scalar_type=F)).make_field()
    with pytest.raises(ValueError, match="Grid2D has 3 environments, and Grid2D has 2; expected as many, or one"):
        fem.NonconformingField(fem.Cells(fine), three)


@pytest.mark.parametrize("relative", [True, False])
def test_deformed_environments(relative):
    """Environment 1 becomes twice as wide, the other one stays as it is."""
    geo = fem.Grid2D(res=(2, 1), env_count=2, scalar_type=F)
    moves = fem.make_polynomial_space(geo, dtype=wp.vec2d).make_field()
    at = moves.space.node_positions().numpy()
    wide = np.where(np.arange(12)[:, None] < 6, 0.0, at * [1.0, 0.0])
    moves.dof_values = wide if relative else at + wide
    deformed = moves.make_deformed_geometry(relative=relative)
    values = {"weights": wp.array([1.0, 10.0], dtype=F)}
    assert fem.integrate(weighed, domain=fem.Cells(deformed), values=values) == pytest.approx(1.0 + 20.0)
    assert deformed.environment_count() == 2


@fem.integrand
def value_there(
    s: fem.Sample, domain: fem.Domain, u: fem.Field, x: wp.array(dtype=wp.vec2d), environments: wp.array(dtype=int)
):
    return u(fem.lookup(domain, x[s.qp_index], environments[s.qp_index]))


def test_a_tape_differentiates_through_lookups_in_environments():
    """`u` is `x * y` in the first environment, and `3 * x` in the second one."""
    geo = fem.Grid2D(res=(3, 2), env_count=2, scalar_type=F)
    u = fem.make_polynomial_space(geo).make_field()
    at = u.space.node_positions().numpy()
    u.dof_values = np.where(np.arange(24) < 12, at[:, 0] * at[:, 1], 3.0 * at[:, 0])
    given = np.array([(0.2, 0.7), (0.2, 0.7), (0.9, 0.1)])
    x, out = wp.array(given, dtype=wp.vec2d, requires_grad=True), wp.zeros(3, dtype=F, requires_grad=True)
    points = fem.PicQuadrature(fem.Cells(geo), (wp.zeros(3, dtype=int), wp.zeros(3, dtype=wp.vec3d)))
    values = {"x": x, "environments": wp.array([0, 1, 1], dtype=int)}
    with wp.Tape() as tape:
        fem.interpolate(value_there, dest=out, at=points, fields={"u": u}, values=values)
    np.testing.assert_allclose(out.numpy(), [0.14, 0.6, 2.7], atol=1e-12)
    tape.backward(grads={out: wp.ones(3, dtype=F)})
    np.testing.assert_allclose(x.grad.numpy(), [(0.7, 0.2), (3.0, 0.0), (3.0, 0.0)], atol=1e-12)


# -- mistakes -------------------------------------------------------------------------------------------------------

CORNERS = wp.zeros(6, dtype=wp.vec2)
TRIANGLES = wp.array([(0, 1, 2), (3, 4, 5)], dtype=int)
GRID = fem.Grid2D(res=(2, 1), env_count=2)
AT = wp.zeros(3, dtype=wp.vec2)
POINTS, NUMBERS = wp.array(VOXELS, dtype=wp.vec3i), wp.array(OF_VOXELS, dtype=int)


def triangles(env_count=None, cell_env=None, indices=TRIANGLES):
    given = None if cell_env is None else wp.array(cell_env, dtype=int)
    return fem.Trimesh2D(indices, CORNERS, cell_env=given, env_count=env_count)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fem.Grid2D(res=(1, 1), env_count=0), "Grid2D: env_count=0: expected 1 or more"),
        (lambda: triangles(env_count=2), "env_count=2: expected cell_env, too"),
        (lambda: triangles(cell_env=[0, 1]), "cell_env: expected env_count, too"),
        (lambda: triangles(2, [0, 1, 1]), "cell_env: expected 2 numbers, one for each cell, got (3,)"),
        (lambda: triangles(2, [5, 0]), "cell_env: 5 is the number of no environment; expected 0 to 1"),
        (
            lambda: triangles(2, [1, 0], wp.array([(0, 1, 2), (1, 2, 5)], dtype=int)).side_count(),
            "the vertex 1 is of cells of the environments 0 and 1; give each environment its own",
        ),
        (lambda: fem.PicQuadrature(fem.Cells(GRID), AT), "Grid2D has 2 environments at one place; write env_indices="),
        (
            lambda: fem.PicQuadrature(fem.Cells(GRID), AT, env_indices=wp.zeros(2, dtype=int)),
            "env_indices: expected 3 numbers, one for each particle, got (2,)",
        ),
        (
            lambda: fem.make_space_partition(
                fem.make_polynomial_space(GRID).topology,
                fem.LinearGeometryPartition(GRID, 0, 2),
                environment_first=True,
            ),
            "needs with_halo=False",
        ),
        (lambda: sparse(count=2), "point_envs: 2 is the number of no environment; expected 0 to 1"),
        (lambda: sparse(env_offsets=[(0, 0, 0)] * 3), "two environments have a voxel at one place"),
        (lambda: sparse(env_offsets=[(0, 0, 0)]), "expected 3 offsets, one for each environment"),
        (lambda: sparse(of=OF_VOXELS[:3]), "point_envs: expected 7 numbers, one for each point, got (3,)"),
        (
            lambda: fem.Nanogrid(sparse().cell_grid, cell_env=NUMBERS),
            "expected both of cell_env and env_offsets, or none of them",
        ),
    ],
)
def test_mistakes_are_told(call, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        call()
