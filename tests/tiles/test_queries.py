"""Queries of trees and meshes by blocks, judged by NumPy and by queries of one thread."""

import numpy as np
import pytest

import omni.warp_core as wp
from tests.tiles.tile_runs import refused

SIZES = [1, 3, 32, 64, 100]
LOW, HIGH = wp.vec3(0.2, 0.1, 0.3), wp.vec3(0.7, 0.6, 0.8)


@pytest.fixture(scope="module")
def boxes():
    rng = np.random.default_rng(7)
    lowers = rng.random((777, 3)).astype(np.float32)
    uppers = lowers + rng.random((777, 3)).astype(np.float32) * 0.1
    return lowers, uppers, wp.Bvh(wp.array(lowers, dtype=wp.vec3), wp.array(uppers, dtype=wp.vec3))


@pytest.fixture(scope="module")
def mesh():
    rng = np.random.default_rng(8)
    corners = (rng.random((500, 1, 3)) + 0.1 * rng.random((500, 3, 3))).astype(np.float32).reshape(-1, 3)
    return corners, wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array(np.arange(1500), dtype=int))


@wp.kernel
def count_boxes(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    query = wp.tile_bvh_query_aabb(bvh, low, high)
    while wp.tile_query_valid(query):
        index = wp.untile(wp.tile_bvh_query_next(query))
        if index >= 0:
            wp.atomic_add(found, index, 1)


@wp.kernel
def count_boxes_until_none(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    query = wp.bvh_query_aabb_tiled(bvh, low, high)
    result = wp.bvh_query_next_tiled(query)
    while wp.tile_max(result)[0] >= 0:
        index = wp.untile(result)
        if index >= 0:
            wp.atomic_add(found, index, 1)
        result = wp.bvh_query_next_tiled(query)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kernel", [count_boxes, count_boxes_until_none], ids=lambda k: k.name)
def test_each_box_that_overlaps_is_found_once(boxes, kernel, size):
    lowers, uppers, bvh = boxes
    found = wp.zeros(len(lowers), dtype=int)
    wp.launch_tiled(kernel, dim=1, inputs=[bvh.id, LOW, HIGH, found], block_dim=size)
    overlaps = ((lowers <= np.array(HIGH)) & (uppers >= np.array(LOW))).all(1)
    assert 50 < overlaps.sum() < 700
    np.testing.assert_array_equal(found.numpy(), overlaps)


@wp.kernel
def in_order(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, batches: wp.array2d[int]):
    query = wp.tile_bvh_query_aabb(bvh, low, high)
    for row in range(batches.shape[0]):
        if not wp.tile_query_valid(query):
            break
        wp.tile_store(batches[row], wp.tile_bvh_query_next(query))


@wp.kernel
def of_one_thread(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    query = wp.bvh_query_aabb(bvh, low, high)
    index, n = 0, 0
    while wp.bvh_query_next(query, index):
        found[n] = index
        n += 1


@pytest.mark.parametrize("size", SIZES)
def test_results_come_in_the_order_of_one_thread(boxes, size):
    bvh = boxes[2]
    want = wp.full(777, -1, dtype=int)
    wp.launch(of_one_thread, dim=1, inputs=[bvh.id, LOW, HIGH, want])
    batches = wp.full((800 // size + 2, size), -1, dtype=int)
    wp.launch_tiled(in_order, dim=1, inputs=[bvh.id, LOW, HIGH, batches], block_dim=size)
    np.testing.assert_array_equal(batches.numpy().ravel()[:777], want.numpy())


@wp.kernel
def hit(bvh: wp.uint64, starts: wp.array[wp.vec3], dirs: wp.array[wp.vec3], found: wp.array2d[int]):
    ray = wp.block_index()
    query = wp.tile_bvh_query_ray(bvh, starts[ray], dirs[ray])
    while wp.tile_query_valid(query):
        index = wp.untile(wp.tile_bvh_query_next(query))
        if index >= 0:
            found[ray, index] += 1


@pytest.mark.parametrize("size", SIZES)
def test_each_block_has_a_query_of_its_own(boxes, size):
    lowers, uppers, bvh = boxes
    rng = np.random.default_rng(9)
    starts, dirs = rng.random((20, 3)).astype(np.float32), rng.standard_normal((20, 3)).astype(np.float32)
    found = wp.zeros((20, 777), dtype=int)
    rays = [wp.array(x, dtype=wp.vec3) for x in (starts, dirs)]
    wp.launch_tiled(hit, dim=20, inputs=[bvh.id, *rays, found], block_dim=size)
    s, d = starts[:, None].astype(float), dirs[:, None].astype(float)
    t = np.sort(np.stack([(lowers - s) / d, (uppers - s) / d]), axis=0)
    near, far = t[0].max(-1), t[1].min(-1)
    np.testing.assert_array_equal(found.numpy(), (near <= far) & (far >= 0))


@wp.kernel
def count_faces(mesh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int], rounds: wp.array[int]):
    query = wp.tile_mesh_query_aabb(mesh, low, high)
    n = 0
    while wp.tile_query_valid(query):
        face = wp.untile(wp.mesh_query_aabb_next_tiled(query))
        if face >= 0:
            wp.atomic_add(found, face, 1)
        n += 1
    rounds[0] = n


@pytest.mark.parametrize("size", SIZES)
def test_each_face_near_a_box_is_found_once(mesh, size):
    corners, mesh = mesh
    found, rounds = wp.zeros(500, dtype=int), wp.zeros(1, dtype=int)
    wp.launch_tiled(count_faces, dim=1, inputs=[mesh.id, LOW, HIGH, found, rounds], block_dim=size)
    faces = corners.reshape(-1, 3, 3)
    overlaps = ((faces.min(1) <= np.array(HIGH)) & (faces.max(1) >= np.array(LOW))).all(1)
    assert 20 < overlaps.sum() < 400
    np.testing.assert_array_equal(found.numpy(), overlaps)
    assert rounds.numpy()[0] == overlaps.sum() // size + 1


def test_a_query_that_finds_nothing_ends_at_once(boxes):
    found = wp.zeros(777, dtype=int)
    nowhere = wp.vec3(float("nan"), 0.0, 0.0)
    wp.launch_tiled(count_boxes, dim=1, inputs=[boxes[2].id, nowhere, HIGH, found], block_dim=32)
    assert not found.numpy().any()


def test_an_id_without_a_tree_is_a_kernel_error():
    with pytest.raises(wp.KernelError, match=r"wp\.Bvh"):
        wp.launch_tiled(count_boxes, dim=1, inputs=[12345, LOW, HIGH, wp.zeros(1, dtype=int)], block_dim=32)
        wp.synchronize()


def test_the_threads_of_a_block_make_one_query(boxes):
    @wp.kernel
    def own(bvh: wp.uint64, lowers: wp.array[wp.vec3]):
        _block, t = wp.tid()
        query = wp.tile_bvh_query_aabb(bvh, lowers[t], wp.vec3(1.0))

    with pytest.raises(wp.CompileError, match=r"differs between the threads of a block[\s\S]*lowers\[t\]"):
        wp.launch_tiled(own, dim=1, inputs=[boxes[2].id, wp.zeros(32, dtype=wp.vec3)], block_dim=32)


def test_other_values_are_no_queries():
    refused("wp.tile_query_valid(n)", "takes a query of a block for `query`, not int32", "wp.tile_bvh_query_aabb(")
    text = "q = wp.tile_bvh_query_aabb(wp.uint64(n), wp.vec3(0.0), wp.vec3(1.0))\nwp.tile_mesh_query_aabb_next(q)"
    refused(text, "takes a query of a block for `query`", "wp.tile_mesh_query_aabb(")


def test_a_gradient_is_refused(boxes):
    @wp.kernel
    def total(bvh: wp.uint64, x: wp.array[float], out: wp.array[float]):
        query = wp.tile_bvh_query_aabb(bvh, wp.vec3(0.0), wp.vec3(1.0))
        while wp.tile_query_valid(query):
            index = wp.untile(wp.tile_bvh_query_next(query))
            if index >= 0:
                wp.atomic_add(out, 0, x[index] * x[index])

    x, out = wp.ones(777, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape(), pytest.raises(wp.CompileError, match=r"no gradient yet[\s\S]*tile_bvh_query_aabb"):
        wp.launch_tiled(total, dim=1, inputs=[boxes[2].id, x, out], block_dim=32)
