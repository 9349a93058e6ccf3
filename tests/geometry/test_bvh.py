"""Trees over boxes and their queries, against all boxes in double precision."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from tests.geometry.scenes import SCENES as MESHES

BOX, SPHERE, RAY, CAPSULE = range(4)
MODES = {"release": 60, "debug": 60, "interpret": 4}  # queries of each shape
TREES = [("sah", 1), ("sah", 4), ("lbvh", 1), ("lbvh", 3)]


@wp.kernel
def ask(
    bvh: wp.uint64,
    shape: wp.array(dtype=int),
    a: wp.array(dtype=wp.vec3),
    b: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    max_dist: wp.array(dtype=float),
    root: int,
    ranks: wp.array2d(dtype=int),
):
    """Write the rank of each box that is found, in the order of the query; -1 for a box that is found twice."""
    i = wp.tid()
    query = wp.bvh_query_aabb(bvh, a[i], b[i], root)
    if shape[i] == 1:
        query = wp.bvh_query_sphere(bvh, a[i], radius[i], root)
    elif shape[i] == 2:
        query = wp.bvh_query_ray(bvh, a[i], b[i], root)
    elif shape[i] == 3:
        query = wp.bvh_query_capsule(bvh, a[i], b[i], radius[i], root)
    index, rank = 0, 0
    while wp.bvh_query_next(query, index, max_dist[i]):
        rank += 1
        ranks[i, index] = wp.where(ranks[i, index] == 0, rank, -1)


@wp.kernel
def find_roots(bvh: wp.uint64, groups: wp.array(dtype=int), roots: wp.array(dtype=int)):
    i = wp.tid()
    roots[i] = wp.bvh_get_group_root(bvh, groups[i])


@wp.kernel
def ask_mesh(
    mesh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    hit: wp.array(dtype=wp.vec3),
    near: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    first = wp.mesh_query_ray(mesh, p[i], d[i], 1e9)
    closest = wp.mesh_query_point_no_sign(mesh, p[i], 1e9)
    hit[i] = wp.vec3(float(first.face), first.t, first.u)
    near[i] = wp.vec3(float(closest.face), closest.u, closest.v)


def put(a, dtype=wp.vec3):
    return wp.array(np.ascontiguousarray(a), dtype=dtype)


def tree(boxes, **more):
    return wp.Bvh(put(np.float32(boxes[0])), put(np.float32(boxes[1])), **more)


def ranks_by(bvh, queries, root=-1):
    shape, a, b, radius, most = queries
    ranks = wp.zeros((len(shape), max(len(bvh.lowers), 1)), dtype=int)
    given = [put(shape, int), put(a), put(b), put(radius, float), put(most, float)]
    wp.launch(ask, len(shape), [bvh.id, *given, root, ranks])
    return ranks.numpy()[:, : len(bvh.lowers)]


def found_by(bvh, queries, root=-1):
    ranks = ranks_by(bvh, queries, root)
    assert ranks.min(initial=0) >= 0
    return ranks > 0


def roots_of(bvh, groups):
    roots = wp.zeros(len(groups), dtype=int)
    wp.launch(find_roots, len(groups), [bvh.id, put(np.int32(groups), int), roots])
    return roots.list()


def some_boxes(count=150, seed=0):
    """Boxes of many sizes. A third is flat or a point."""
    rng = np.random.default_rng(seed)
    centre, half = rng.normal(size=(count, 3)), 10.0 ** rng.uniform(-3, 0, (count, 3))
    half[::6], half[1::6, rng.integers(3)] = 0.0, 0.0
    return np.float32(centre - half), np.float32(centre + half)


def empty_boxes():
    """Boxes that are empty, infinite or both at once, among some that are neither."""
    lower, upper = some_boxes(60, seed=1)
    lower[1::10, 0], upper[2::10, 2] = np.nan, np.nan
    lower[3::10, 1], upper[3::10, 1] = upper[3::10, 1] + 1, lower[3::10, 1].copy()
    lower[4::20], upper[4::20] = -np.inf, np.inf
    upper[5::20, 0] = np.inf
    lower[6::20], upper[6::20] = np.inf, -np.inf
    return lower, upper


def equal_boxes():
    return np.zeros((100, 3), np.float32), np.ones((100, 3), np.float32)


def growing_boxes():
    """Boxes that grow by powers of two, which makes deep trees."""
    size = np.float32(2.0) ** np.arange(-60, 60, dtype=np.float32)
    return np.tile(size[:, None], (1, 3)), np.tile(size[:, None] * np.float32(1.5), (1, 3))


def one_box():
    return np.float32([(0, 0, 0)]), np.float32([(1, 2, 3)])


SCENES = {f.__name__: f for f in (some_boxes, empty_boxes, equal_boxes, growing_boxes, one_box)}


def some_queries(boxes, count, seed=2):
    """Of each shape `count` queries, near boxes and through their corners, and some with a direction of zero or NaN."""
    rng = np.random.default_rng(seed)
    n = 4 * count
    corners = np.where(np.isfinite(boxes[0]), boxes[0], 0.0)[rng.integers(len(boxes[0]), size=n)].astype(np.float64)
    target = corners + rng.normal(size=(n, 3)) * rng.choice([0.0, 0.1], size=(n, 1))
    shape = np.arange(n, dtype=np.int32) % 4
    size = np.where(np.arange(n) % 3, 0.3, 2.0)[:, None]
    a = target + rng.normal(size=(n, 3)) * size
    b = np.where((shape == BOX)[:, None], a + np.abs(rng.normal(size=(n, 3))) * size, target - a)
    axis = (shape >= RAY) & (np.arange(n) % 7 == 0)
    a[axis], b[axis] = target[axis] - np.eye(3)[rng.integers(3, size=axis.sum())] * 3.0, 0.0
    b[axis] = target[axis] - a[axis]
    b[(shape >= RAY) & (np.arange(n) % 11 == 3)] = 0.0
    radius = np.abs(rng.normal(size=n)) * 0.5 - 0.1
    most = np.where(np.arange(n) % 5, np.inf, rng.uniform(0, 1.5, n))
    a[5:6], b[6:7], radius[7:8], b[8:9] = np.nan, np.nan, np.nan, np.nan
    return shape, *(np.float32(x) for x in (a, b, radius, most))


def passes(lower, upper, start, direction, most):
    """True for boxes that the part of a ray up to `most` touches."""
    first, last = np.zeros(len(lower)), np.full(len(lower), float(most))
    for k in range(3):
        below, above = lower[:, k] - start[k], upper[:, k] - start[k]
        if direction[k] == 0:
            outside = ~((below <= 0) & (above >= 0))
            first = np.where(outside, np.inf, first)
        else:
            with np.errstate(invalid="ignore"):
                t = np.sort([below / direction[k], above / direction[k]], axis=0)
            first, last = np.maximum(first, t[0]), np.minimum(last, t[1])
    return (first <= last) & np.isfinite(first)


def found_by_all(boxes, query, slack):
    """True for the boxes that a query has to find, in double precision. Boxes grow by `slack` of their distance."""
    shape, a, b, radius, most = (np.float64(x) for x in query)
    lower, upper = (np.float64(x) for x in boxes)
    full = (lower <= upper).all(axis=1)
    asked = np.concatenate([a, b if shape != SPHERE else a, [0.0 if shape == BOX else radius]])
    if np.isnan(asked if shape != RAY else asked[:6]).any():
        return np.zeros(len(lower), bool)
    if shape == BOX:
        return full & (lower <= b).all(axis=1) & (upper >= a).all(axis=1)
    radius = 0.0 if shape == RAY else max(radius, 0.0)
    with np.errstate(invalid="ignore"):
        far = np.maximum(np.abs(lower - a), np.abs(upper - a)) + radius
        grow = radius * (shape == CAPSULE) + slack * np.where(np.isfinite(far), far, 0.0).max(axis=1, keepdims=True)
        if shape == SPHERE:
            gap = np.maximum(np.maximum(lower - a, a - upper), 0.0)
            return full & (np.sqrt((gap**2).sum(axis=1)) <= radius + grow[:, 0])
        reach = most * (1 + 1e-6 * (slack > 0))
        return full & passes(lower - grow, upper + grow, a, b, reach)


@pytest.fixture(params=[pytest.param(m, marks=[pytest.mark.cpu] * (m == "interpret")) for m in MODES])
def mode(request, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", request.param)
    return request.param


@pytest.mark.parametrize("scene", SCENES)
def test_queries_find_what_all_boxes_say(scene, mode):
    boxes = SCENES[scene]()
    queries = some_queries(boxes, MODES[mode])
    must, may = (np.array([found_by_all(boxes, query, slack) for query in zip(*queries)]) for slack in (0.0, 2e-6))
    for constructor, leaf_size in TREES:
        found = found_by(tree(boxes, constructor=constructor, leaf_size=leaf_size), queries)
        assert not (must & ~found).any()
        assert not (found & ~may).any()
    if mode == "release":
        assert all(must[queries[0] == shape].any() for shape in range(4))
        assert (may & ~must).mean() < 0.02


@pytest.mark.cpu
@pytest.mark.parametrize("scene", ["some_boxes", "empty_boxes"])
def test_native_queries_find_the_same_in_the_same_order(scene, monkeypatch):
    boxes, ranks = SCENES[scene](), {}
    trees = [tree(boxes, constructor=constructor, leaf_size=leaf_size) for constructor, leaf_size in TREES]
    for mode in ("release", "debug"):
        monkeypatch.setattr(wp.config, "mode", mode)
        ranks[mode] = [ranks_by(bvh, some_queries(boxes, 333)) for bvh in trees]
    assert np.array_equal(ranks["release"], ranks["debug"])


def test_what_only_touches_is_found(mode):
    boxes = np.float32([(0, 0, 0), (2, 0, 0), (4, 0, 0)]), np.float32([(1, 1, 1), (3, 1, 1), (5, 1, 1)])
    asked = [
        (BOX, (1, 1, 1), (2, 1, 1), 0, 0, [1, 1, 0]),
        (BOX, (3, 0, 0), (1, 1, 1), 0, 0, [0, 0, 0]),  # a box that is empty itself
        (SPHERE, (1.5, 0.5, 0.5), (0, 0, 0), 0.5, 0, [1, 1, 0]),
        (SPHERE, (1.5, 0.5, 0.5), (0, 0, 0), 0.499, 0, [0, 0, 0]),
        (SPHERE, (1, 1, 1), (0, 0, 0), -1, 0, [1, 0, 0]),  # as with a radius of zero
        (RAY, (-1, 1, 0), (1, 0, 0), 0, np.inf, [1, 1, 1]),  # along an edge
        (RAY, (-1, 0.5, 0.5), (1, 0, 0), 0, 3, [1, 1, 0]),
        (RAY, (-1, 0.5, 0.5), (2, 0, 0), 0, 1.4, [1, 0, 0]),
        (RAY, (2.5, 0.5, 0.5), (1, 0, 0), 0, np.inf, [0, 1, 1]),  # the others are behind
        (RAY, (2.5, 0.5, 0.5), (0, 0, 0), 0, np.inf, [0, 1, 0]),
        (RAY, (0.5, 0.5, 0.5), (1, 0, 0), 0, -1, [0, 0, 0]),
        (CAPSULE, (-1, 1.5, 0.5), (2.5, 0, 0), 0.5, 1, [1, 1, 0]),
        (CAPSULE, (-1, 1.4, 1.4), (2, 0, 0), 0.45, 1, [1, 0, 0]),  # near an edge
    ]
    given = [np.array(column) for column in list(zip(*asked))[:5]]
    queries = np.int32(given[0]), *(np.float32(x) for x in given[1:])
    assert found_by(tree(boxes), queries).astype(int).tolist() == [row[5] for row in asked]


@pytest.mark.parametrize(("constructor", "leaf_size"), TREES)
def test_roots_restrict_queries_to_groups(constructor, leaf_size):
    boxes, rng = empty_boxes(), np.random.default_rng(3)
    groups = rng.choice([-7, 0, 3, 2**31 - 1], p=[0.3, 0.3, 0.39, 0.01], size=60).astype(np.int32)
    groups[-1] = 2**31 - 1
    queries = some_queries(boxes, 20)
    plain = found_by(tree(boxes), queries)
    bvh = tree(boxes, constructor=constructor, groups=put(groups, int), leaf_size=leaf_size)
    assert np.array_equal(found_by(bvh, queries), plain)
    for again in (lambda: None, bvh.refit, bvh.rebuild, lambda: bvh.rebuild("lbvh")):
        again()
        for group, root in zip((-7, 0, 3, 2**31 - 1), roots_of(bvh, [-7, 0, 3, 2**31 - 1])):
            assert np.array_equal(found_by(bvh, queries, root), plain & (groups == group))
    assert roots_of(bvh, [-8, 1, 2**31 - 2]) == [-1, -1, -1]
    assert roots_of(tree(boxes), [0, 3]) == [-1, -1]


@pytest.mark.parametrize(("constructor", "leaf_size"), TREES)
def test_boxes_move(constructor, leaf_size):
    """Refit and rebuild, also of boxes that become empty, and back."""
    first, second = some_boxes(60, seed=4), empty_boxes()
    bvh = tree(first, constructor=constructor, leaf_size=leaf_size)
    old = bvh.id
    for boxes in (second, first):
        queries = some_queries(boxes, 20)
        expected = found_by(tree(boxes), queries)
        for change in (bvh.refit, bvh.rebuild, lambda: bvh.rebuild(constructor="median")):
            bvh.lowers.assign(boxes[0])
            bvh.uppers.assign(boxes[1])
            change()
            assert np.array_equal(found_by(bvh, queries), expected)
    assert bvh.id == old


@pytest.mark.parametrize("method", ["refit", "rebuild"])
def test_a_graph_captures_changes_and_queries(method):
    boxes = some_boxes(50)
    groups = np.arange(50, dtype=np.int32) % 3
    bvh, queries = tree(boxes, constructor="lbvh", leaf_size=2, groups=put(groups, int)), some_queries(boxes, 10)
    ranks = wp.zeros((40, 50), dtype=int)
    given = [put(queries[0], int), *map(put, queries[1:3]), *(put(x, float) for x in queries[3:])]
    with wp.ScopedCapture() as capture:
        getattr(bvh, method)()
        ranks.zero_()
        wp.launch(ask, 40, [bvh.id, *given, -1, ranks])
    for shift in (0.0, 0.5, -1.0):
        bvh.lowers.assign(boxes[0] + np.float32(shift))
        bvh.uppers.assign(boxes[1] + np.float32(shift))
        wp.capture_launch(capture.graph)
        expected = found_by(tree([x + np.float32(shift) for x in boxes]), queries)
        assert np.array_equal(ranks.numpy() > 0, expected)
        (root,) = roots_of(bvh, [1])
        assert np.array_equal(found_by(bvh, queries, root), expected & (groups == 1))


@pytest.mark.cpu
@pytest.mark.parametrize("constructor", ["sah", "lbvh"])
def test_trees_do_not_depend_on_threads(constructor):
    lower, upper = some_boxes(20_000)
    groups = put(np.random.default_rng(5).integers(9, size=20_000, dtype=np.int32), int)
    before, made = _native.get_num_threads(), []
    try:
        for threads in (1, 2, 7):
            _native.set_num_threads(threads)
            trees = [tree((lower, upper), constructor=constructor, groups=g, leaf_size=2) for g in (None, groups)]
            made.append([(bvh._tree.nodes.numpy().tobytes(), bvh._tree.order.list()) for bvh in trees])
    finally:
        _native.set_num_threads(before)
    assert made[0] == made[1] == made[2]
    assert sorted(made[0][0][1]) == list(range(20_000))


@pytest.mark.cpu
@pytest.mark.parametrize("constructor", ["sah", "lbvh"])
def test_a_million_equal_boxes(constructor):
    bvh = wp.Bvh(*(wp.full(1_000_000, wp.vec3(x), dtype=wp.vec3) for x in (0.0, 1.0)), constructor)
    query, index, count = wp.bvh_query_aabb(bvh.id, wp.vec3(2.0), wp.vec3(3.0)), 0, bvh._tree.nodes.size
    assert query.stop == count == 1_999_999
    nodes = bvh._tree.nodes.numpy()
    leaves = nodes["count"] == 1
    assert np.array_equal(np.sort(bvh._tree.order.numpy()[nodes["child"][leaves]]), np.arange(1_000_000))
    assert depth(nodes) == 21


def depth(nodes):
    """The levels of a tree."""
    number, level = np.array([0]), 0
    while number.size:
        inner = number[nodes["count"][number] < 0]
        number, level = np.concatenate([inner + 1, nodes["child"][inner]]), level + 1
    return level


@pytest.mark.cpu
@pytest.mark.parametrize("constructor", ["sah", "lbvh"])
def test_no_tree_is_deeper_than_queries_of_meshes_allow(constructor):
    """Centres that halve their distance to the origin, and many equal ones there."""
    rng = np.random.default_rng(6)
    centre = np.concatenate([np.outer(0.5 ** np.arange(140), rng.normal(size=3)), np.zeros((3000, 3))])
    assert depth(tree((centre, centre), constructor=constructor)._tree.nodes.numpy()) <= 64
    steps = (0.5 ** np.arange(21)[:, None, None] * np.eye(3)).reshape(-1, 3)  # one for each bit of a Morton code
    centre = np.concatenate([steps, steps * 0.5**21, np.zeros((3000, 3))])
    groups = np.minimum(np.arange(len(centre)), 63)  # single ones, and a deep one near the origin
    bvh = tree((centre, centre), constructor=constructor, groups=put(groups.astype(np.int32), int))
    assert depth(bvh._tree.nodes.numpy()) <= 64


def test_a_tree_without_boxes_finds_nothing(mode):
    bvh = tree((np.zeros((0, 3)), np.zeros((0, 3))))
    bvh.refit()
    bvh.rebuild("lbvh")
    queries = some_queries(one_box(), 2)
    assert found_by(bvh, queries).shape == (8, 0)
    assert roots_of(bvh, [0]) == [-1]


@pytest.mark.cpu
def test_arguments_that_do_not_fit():
    boxes = [put(x) for x in some_boxes(4)]
    for wrong, error, text in (
        (lambda: wp.Bvh(boxes[0].numpy(), boxes[1]), TypeError, "lowers: expected"),
        (lambda: wp.Bvh(boxes[0], wp.zeros(4, dtype=wp.vec4)), TypeError, "uppers: expected elements"),
        (lambda: wp.Bvh(boxes[0], boxes[1][:3]), ValueError, "uppers: 3 of them, but there are 4 boxes"),
        (lambda: wp.Bvh(boxes[0][::2], boxes[1][::2]), ValueError, "lowers"),
        (lambda: wp.Bvh(*boxes, groups=wp.zeros(3, dtype=int)), ValueError, "groups: 3 of them"),
        (lambda: wp.Bvh(*boxes, groups=wp.zeros(4, dtype=float)), TypeError, "groups: expected elements"),
        (lambda: wp.Bvh(*boxes, constructor="bvh"), ValueError, 'expected "sah", "median", "lbvh" or "cubql"'),
        (lambda: wp.Bvh(*boxes, leaf_size=0), ValueError, "leaf_size: expected at least one"),
        (lambda: wp.Bvh(*boxes, leaf_size=1.5), TypeError, "leaf_size"),
        (lambda: wp.Bvh(*boxes).rebuild("fast"), ValueError, 'expected "sah"'),
    ):
        with pytest.raises(error, match=text):
            wrong()
    assert found_by(wp.Bvh(*boxes, leaf_size=10**12), some_queries(some_boxes(4), 5)).any()


@pytest.mark.cpu
def test_native_code_checks_what_it_is_given():
    lower, upper = (put(x) for x in some_boxes(4))
    numbers = wp.zeros(4, dtype=int)
    for wrong in ((lower, upper[:3], None), (lower, numbers, None), (lower, upper, lower), (lower, upper, numbers[:3])):
        with pytest.raises(ValueError, match=r"fit|type"):
            _native.BoxBvh(*wrong, 1, False)
    made = _native.BoxBvh(lower, upper, numbers, 1, True)
    for change in (made.refit, lambda *a: made.rebuild(*a, False)):
        with pytest.raises(ValueError, match="number of boxes has changed"):
            change(lower[:3], upper[:3])


def test_unknown_ids_and_roots_are_errors(mode):
    boxes = one_box()
    bvh, queries = tree(boxes), some_queries(boxes, 1)
    for root in (1, 2**31 - 1):
        with pytest.raises((wp.KernelError, ValueError, IndexError), match=rf"root {root} is no node of a wp.Bvh of 1"):
            found_by(bvh, queries, root)
    old = bvh.id
    del bvh
    gc.collect()
    with pytest.raises((wp.KernelError, ValueError), match=rf"{int(old)} is no id of a wp.Bvh that exists"):
        roots_of_id(old)
    with pytest.raises((wp.KernelError, ValueError), match=r"0 is no id of a wp.Bvh that exists"):
        roots_of_id(wp.uint64(0))


def roots_of_id(id):
    roots = wp.zeros(1, dtype=int)
    wp.launch(find_roots, 1, [id, wp.zeros(1, dtype=int), roots])


@pytest.mark.cpu
def test_builtins_run_in_python():
    bvh = tree(one_box(), groups=put(np.int32([5]), int))
    assert wp.bvh_get_group_root(bvh.id, 5) == 0
    query = wp.bvh_query_sphere(bvh.id, wp.vec3(2.0, 0.0, 0.0), 1.0)
    assert isinstance(query, wp.BvhQuery)
    assert query.stop == 1


@wp.kernel
def attract(bvh: wp.uint64, x: wp.array(dtype=wp.vec3), centre: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    """Sum a function of the distance that is zero, and has no slope, where points no longer find each other."""
    i = wp.tid()
    query = wp.bvh_query_sphere(bvh, x[i], 0.5)
    index, total = 0, 0.0
    while wp.bvh_query_next(query, index):
        near = wp.max(0.25 - wp.length_sq(x[i] - centre[index]), 0.0)
        total += near * near
    out[i] = total


@pytest.mark.parametrize("change", ["none", "refit", "rebuild", "boxes"])
def test_gradients_of_what_is_found(change):
    """By differences of a sum over all pairs, also if the tree has changed before the adjoint runs."""
    rng = np.random.default_rng(9)
    points, centres = rng.uniform(-1, 1, (20, 3)), rng.uniform(-1, 1, (50, 3))
    x, centre = (wp.array(np.float32(p), dtype=wp.vec3, requires_grad=True) for p in (points, centres))
    bvh, out = tree((centres, centres), leaf_size=3), wp.zeros(20, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(attract, 20, [bvh.id, x, centre], [out])
    if change != "none":
        bvh.lowers.assign(np.float32(centres + 7.0))
        bvh.uppers.assign(np.float32(centres + 8.0))
    if change in ("refit", "rebuild"):
        getattr(bvh, change)()
    tape.backward(grads={out: wp.ones(20, dtype=float)})
    apart = points[:, None] - centres
    near = np.maximum(0.25 - (apart**2).sum(axis=2), 0.0)
    assert (near > 0).sum() > 20
    np.testing.assert_allclose(out.numpy(), (near**2).sum(axis=1), rtol=1e-4, atol=1e-7)
    slope = -4.0 * near[..., None] * apart
    np.testing.assert_allclose(x.grad.numpy(), slope.sum(axis=1), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(centre.grad.numpy(), -slope.sum(axis=0), rtol=1e-3, atol=1e-6)


def test_tangents_of_what_is_found():
    rng = np.random.default_rng(10)
    points, centres, move = (np.float32(rng.uniform(-1, 1, (20, 3))) for _ in range(3))
    bvh, centre, out = tree((centres, centres)), put(centres), wp.zeros(20, dtype=float)

    def program(x):
        wp.launch(attract, 20, [bvh.id, x, centre], [out])
        return out

    _, tangent = wp.jvp(program, (put(points),), (put(move),))
    apart = np.float64(points)[:, None] - centres
    slope = -4.0 * np.maximum(0.25 - (apart**2).sum(axis=2), 0.0)[..., None] * apart
    np.testing.assert_allclose(tangent.numpy(), (slope.sum(axis=1) * move).sum(axis=1), rtol=1e-3, atol=1e-6)


@pytest.mark.cpu
@pytest.mark.parametrize("scene", ["soup", "equal", "line"])
def test_a_mesh_finds_the_same_with_a_tree_that_is_built_fast(scene):
    points, faces = MESHES[scene]()
    start, direction = (np.random.default_rng(k).normal(size=(500, 3)).astype(np.float32) for k in (7, 8))
    answers = []
    for constructor in ("sah", "lbvh"):
        mesh = wp.Mesh(put(points), put(faces.ravel(), int), bvh_constructor=constructor)
        hit, near = wp.zeros(500, dtype=wp.vec3), wp.zeros(500, dtype=wp.vec3)
        wp.launch(ask_mesh, 500, [mesh.id, put(start), put(direction), hit, near])
        answers.append((hit.numpy().tobytes(), near.numpy().tobytes()))
        assert depth(mesh._bvh.nodes.numpy()) <= 64
    assert answers[0] == answers[1]
