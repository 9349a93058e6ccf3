"""Hash grids against SciPy's cKDTree, and against all pairs of points in float64."""

import gc

import numpy as np
import pytest
from scipy.spatial import cKDTree

import omni.warp_core as wp
from tests.on_gpu import MODE


@wp.kernel
def mark(grid: wp.uint64, centres: wp.array(dtype=wp.vec3), radius: float, found: wp.array2d(dtype=int)):
    """Count how often each point comes up."""
    i = wp.tid()
    query = wp.hash_grid_query(grid, centres[i], radius)
    index = -1
    while wp.hash_grid_query_next(query, index):
        found[i, index] = found[i, index] + 1


@wp.kernel
def count_near(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    centres: wp.array(dtype=wp.vec3),
    radius: float,
    near: wp.array(dtype=int),
):
    i = wp.tid()
    query = wp.hash_grid_query(grid, centres[i], radius)
    index, total = 0, 0
    while wp.hash_grid_query_next(query, index):
        if wp.length(centres[i] - points[index]) <= radius:
            total += 1
    near[i] = total


@wp.kernel
def in_order(grid: wp.uint64, n: int, order: wp.array(dtype=int)):
    i = wp.tid()
    order[i] = wp.hash_grid_point_id(grid, i)


@wp.kernel
def visit(grid: wp.uint64, centre: wp.vec3, radius: float, order: wp.array(dtype=int)):
    query = wp.hash_grid_query(grid, centre, radius)
    index, k = 0, 0
    while wp.hash_grid_query_next(query, index):
        order[k] = index
        k += 1


def vectors(x) -> wp.array:
    return wp.array(np.asarray(x, np.float32).reshape(-1, 3), dtype=wp.vec3)


def built(points, radius: float, dims=(8, 8, 8)) -> wp.HashGrid:
    grid = wp.HashGrid(*dims)
    grid.build(vectors(points), radius)
    return grid


def marks(grid: wp.HashGrid, num_points: int, centres, radius: float) -> np.ndarray:
    centres = vectors(centres)
    found = wp.zeros((centres.size, max(num_points, 1)), dtype=int)
    wp.launch(mark, centres.size, [grid.id, centres, radius, found])
    return found.numpy()[:, :num_points]


def check(points, build_radius: float, radius: float, dims=(8, 8, 8), centres=None) -> None:
    """Every point within the radius comes up, and no point twice."""
    points = np.asarray(points, np.float32).reshape(-1, 3)
    centres = points if centres is None else np.asarray(centres, np.float32)
    found = marks(built(points, build_radius, dims), len(points), centres, radius)
    distance = np.linalg.norm(centres[:, None].astype(float) - points[None].astype(float), axis=2)
    assert found.max(initial=0) <= 1
    assert (found[distance <= radius] == 1).all()


SETS = {
    "random": lambda rng: rng.uniform(-3, 3, (300, 3)),
    "clustered": lambda rng: rng.integers(-2, 3, (300, 3)) * 50 + rng.normal(0, 0.1, (300, 3)),
    "equal": lambda rng: np.tile([-1.5, 0.25, 7.0], (100, 1)),
    "negative": lambda rng: rng.uniform(-103, -97, (300, 3)),
    "borders": lambda rng: rng.integers(-6, 7, (300, 3)) * 0.5,
    "line": lambda rng: np.outer(rng.uniform(-20, 20, 300), [1, 0, 0]),
    "one": lambda rng: np.zeros((1, 3)),
}


@pytest.mark.parametrize("dims", [(8, 8, 8), (1, 1, 1), (2, 3, 16), (64, 1, 5)])
@pytest.mark.parametrize("name", SETS)
def test_a_query_finds_each_near_point_once(name, dims):
    points = SETS[name](np.random.default_rng(1))
    for radius in (0.0, 0.5, 1.3, 30.0):
        check(points, 0.5, radius, dims)


def test_counts_agree_with_a_tree():
    rng = np.random.default_rng(2)
    points, centres = rng.uniform(-5, 5, (2, 4000, 3)).astype(np.float32)
    grid, near = built(points, 0.7, (16, 9, 11)), wp.zeros(4000, dtype=int)
    wp.launch(count_near, 4000, [grid.id, vectors(points), vectors(centres), 0.7, near])
    tree = cKDTree(points.astype(float))
    least, most = (tree.query_ball_point(centres, 0.7 * f, return_length=True) for f in (1 - 1e-6, 1 + 1e-6))
    assert near.numpy().sum() > 4000
    assert ((least <= near.numpy()) & (near.numpy() <= most)).all()


@pytest.mark.parametrize("mode", ["debug", "interpret"])
def test_other_modes_find_the_same(mode, monkeypatch):
    points = np.random.default_rng(3).uniform(-2, 2, (40, 3))
    grid = built(points, 0.8, (4, 3, 5))
    expected = marks(grid, 40, points, 1.0)
    monkeypatch.setattr(wp.config, "mode", mode)
    assert np.array_equal(marks(grid, 40, points, 1.0), expected)


@wp.kernel
def meets(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    centres: wp.array(dtype=wp.vec3),
    radii: wp.array(dtype=float),
    met: wp.array(dtype=int),
):
    """Tell whether query i comes to point i."""
    i = wp.tid()
    query = wp.hash_grid_query(grid, centres[i], radii[i])
    index = 0
    while wp.hash_grid_query_next(query, index):
        if index == i:
            met[i] = 1


def test_points_whose_distance_rounds_to_the_radius_count():
    """Callers compute the distance in float32, which may be less than it is. Cells are as narrow as that difference."""
    rng = np.random.default_rng(4)
    points, centres = np.zeros((2, 2000, 3), np.float32)
    points[:, 0], centres[:, 0] = -rng.uniform(1e-4, 1e-3, 2000), rng.uniform(0.1, 0.12, 2000)
    radii = centres[:, 0] - points[:, 0]
    exact = centres[:, 0].astype(float) - points[:, 0].astype(float)
    assert (exact > radii).sum() > 500
    met = wp.zeros(2000, dtype=int)
    grid = built(points, 4e-8, (1 << 23, 1, 1))
    wp.launch(meets, 2000, [grid.id, vectors(points), vectors(centres), wp.array(radii), met])
    assert met.numpy().all()


def test_far_and_huge_coordinates():
    far = np.array([[1e9, 0, 0], [1e9, 0, 0], [-3e38, 3e38, 1], [3e38, 3e38, 3e38], [0, 0, 0]])
    check(far, 0.5, 1.0)
    check(far, 0.5, np.inf)
    assert (marks(built(far, 0.5), 5, [[0, 0, 0]], np.inf) == 1).all()


def test_points_that_are_not_finite_are_left_out():
    points = np.random.default_rng(5).uniform(-1, 1, (50, 3))
    points[7, 0], points[20, 2], points[49, 1] = np.nan, np.inf, -np.inf
    found = marks(built(points, 0.5), 50, np.zeros((1, 3)), 10.0)[0]
    assert np.array_equal(found, np.isfinite(points).all(1))


@pytest.mark.parametrize("centre, radius", [((np.nan, 0, 0), 1.0), ((0, 0, 0), np.nan), ((0, 0, 0), -1.0)])
def test_a_query_of_no_place_finds_nothing(centre, radius):
    assert not marks(built(np.zeros((3, 3)), 1.0), 3, [centre], radius).any()


def test_empty_grids_find_nothing():
    for grid in (wp.HashGrid(4, 4, 4), built(np.zeros((0, 3)), 1.0)):
        assert not marks(grid, 1, [[0, 0, 0]], 5.0).any()


def test_a_build_replaces_the_points():
    grid = built(np.zeros((100, 3)), 1.0)
    number = int(grid.id)
    for n in (3, 5000, 0, 7):
        grid.build(vectors(np.ones((n, 3))), 0.3)
        assert int(grid.id) == number
        found = marks(grid, 5000, [[1, 1, 1]], 0.1)[0]
        assert found.sum() == n and found[:n].all()


def test_room_that_is_made_leaves_the_points():
    points = np.random.default_rng(6).uniform(-1, 1, (50, 3))
    grid = built(points, 0.5)
    before = marks(grid, 50, points, 0.5)
    grid.reserve(100_000)
    wp.zeros(100_000, dtype=int).fill_(-5)
    assert np.array_equal(marks(grid, 50, points, 0.5), before)


def test_the_order_depends_on_the_points_alone():
    """Cells come with x fastest, and the points of a cell in ascending order. Far ones are left out."""
    rng = np.random.default_rng(7)
    cells = rng.integers(0, 4, (3000, 3))
    grid, order = built(cells + 0.5, 1.0, (4, 4, 4)), wp.zeros(3000, dtype=int)
    wp.launch(in_order, 3000, [grid.id, 3000, order])
    expected = np.argsort(cells @ [1, 4, 16], kind="stable")
    assert np.array_equal(order.numpy(), expected)
    near = expected[np.linalg.norm(cells - 1.5, axis=1)[expected] <= 1.9 + 0.125]
    wp.launch(visit, 1, [grid.id, wp.vec3(2.0, 2.0, 2.0), 1.9, order])
    assert np.array_equal(order.numpy()[: len(near)], near)


def test_threads_do_not_change_a_build(monkeypatch):
    points = np.random.default_rng(8).normal(0, 3, (200_000, 3))
    orders = []
    for threads in (1, 2):
        monkeypatch.setattr(wp.config, "num_threads", threads)
        grid, order = built(points, 0.2, (32, 32, 32)), wp.zeros(200_000, dtype=int)
        wp.launch(in_order, 200_000, [grid.id, 200_000, order])
        orders.append(order.numpy())
    assert np.array_equal(orders[0], orders[1])


def test_strided_points():
    points = np.random.default_rng(9).uniform(-1, 1, (60, 3))
    whole = vectors(points)
    grid = wp.HashGrid(4, 4, 4)
    grid.build(whole[::2], 0.5)
    expected = marks(built(points[::2], 0.5, (4, 4, 4)), 30, points, 0.5)
    assert np.array_equal(marks(grid, 30, points, 0.5), expected)


def test_point_ids_out_of_range_are_negative():
    grid, order = built(np.zeros((3, 3)), 1.0), wp.zeros(5, dtype=int)
    wp.launch(in_order, 5, [grid.id, 3, order])
    assert order.list() == [0, 1, 2, -1, -1]
    assert wp.hash_grid_point_id(grid.id, -1) == -1


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_ids_without_a_grid_are_errors(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    grid = built(np.zeros((3, 3)), 1.0)
    old, centres, found = int(grid.id), vectors(np.zeros((1, 3))), wp.zeros((1, 3), dtype=int)
    del grid
    gc.collect()
    others = [wp.HashGrid(2, 2, 2) for _ in range(600)]  # more than there are places at first
    assert old not in [int(g.id) for g in others]
    for bad in (old, 0, int(others[0].id) + 8, int(others[0].id) ^ 1 << 60):
        with pytest.raises(wp.KernelError, match=f"{bad} is no id of a hash grid"):
            wp.launch(mark, 1, [wp.uint64(bad), centres, 1.0, found])
    assert not found.numpy().any()


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.skipif(MODE == "simulated", reason="simulated GPUs run code for the CPU, without its signal handlers")
def test_addresses_that_are_no_structure_are_errors(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    centres, found = vectors(np.zeros((1, 3))), wp.zeros((1, 3), dtype=int)
    number = int(wp.HashGrid(2, 2, 2).id)
    unknown = "is no id of a hash grid"
    nowhere = unknown if centres.device.is_cuda else "no memory|invalid address"
    kind = number >> 60 << 60
    for bad, reason in ((12345, unknown), (1 << 47, unknown), (kind | 8, nowhere), (kind | 1 << 47, nowhere)):
        with pytest.raises(wp.KernelError, match=reason):
            wp.launch(mark, 1, [wp.uint64(bad), centres, 1.0, found])
    grid = built(np.zeros((3, 3)), 1.0)  # the device can be used as before
    assert marks(grid, 3, [[0, 0, 0]], 1.0).all()


def test_ids_without_a_grid_are_errors_in_python():
    with pytest.raises(ValueError, match="0 is no id of a hash grid"):
        wp.hash_grid_query(wp.uint64(0), wp.vec3(0.0, 0.0, 0.0), 1.0)
    with pytest.raises(ValueError, match="12345 is no id of a hash grid"):
        wp.hash_grid_point_id(wp.uint64(12345), 0)
    kind = int(wp.HashGrid(1, 1, 1).id) >> 60 << 60
    with pytest.raises(ValueError, match=r"wp\.hash_grid_point_id: nothing is known at address 0x3039"):
        wp.hash_grid_point_id(wp.uint64(kind | 12345), 0)


def test_a_place_is_used_again_with_another_id():
    numbers = set()
    for _ in range(1000):
        grid = wp.HashGrid(1, 1, 1)
        assert int(grid.id) not in numbers
        numbers.add(int(grid.id))
        del grid
    assert len({n & (1 << 48) - 1 for n in numbers}) < 1000


def test_a_graph_builds_and_queries():
    rng = np.random.default_rng(10)
    points, near = vectors(rng.uniform(-1, 1, (500, 3))), wp.zeros(500, dtype=int)
    grid = wp.HashGrid(8, 8, 8)
    with pytest.raises(RuntimeError, match="reserve"), wp.ScopedCapture():
        grid.build(points, 0.3)
    grid.reserve(500)
    with wp.ScopedCapture() as capture:
        grid.build(points, 0.3)
        wp.launch(count_near, 500, [grid.id, points, points, 0.3, near])
    for seed in (11, 12):
        now = np.random.default_rng(seed).uniform(-1, 1, (500, 3)).astype(np.float32)
        points.assign(now)
        wp.capture_launch(capture.graph)
        assert np.array_equal(near.numpy(), cKDTree(now.astype(float)).query_ball_point(now, 0.3, return_length=True))
    grid.build(vectors(np.zeros((20_000, 3))), 0.3)  # larger memory, while the graph has the smaller
    wp.capture_launch(capture.graph)
    assert near.numpy().sum() > 500
    del capture
    gc.collect()
    assert marks(grid, 500, points.numpy(), 0.3).sum() >= near.numpy().sum()


def test_a_build_is_no_step_of_a_tape():
    points = wp.array(np.zeros((3, 3), np.float32), dtype=wp.vec3, requires_grad=True)
    y = wp.zeros(3, dtype=wp.vec3, requires_grad=True)
    grid = wp.HashGrid(4, 4, 4)
    with wp.Tape() as tape:
        grid.build(points, 1.0)
        wp.copy(y, points)
    tape.backward(grads={y: wp.array(np.ones((3, 3), np.float32), dtype=wp.vec3)})
    assert (points.grad.numpy() == 1.0).all()


@pytest.mark.parametrize(
    "dims, error, text",
    [
        ((0, 1, 1), ValueError, "dim_x: expected at least one cell, got 0"),
        ((1, 1.5, 1), TypeError, "dim_y: expected an integer"),
        ((1 << 12, 1 << 12, 1 << 12), ValueError, "are more than the limit"),
    ],
)
def test_bad_numbers_of_cells(dims, error, text):
    with pytest.raises(error, match=text):
        wp.HashGrid(*dims)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 1e-40, 1e38])
def test_bad_radii(radius):
    with pytest.raises(ValueError, match="radius: expected a number from"):
        wp.HashGrid(2, 2, 2).build(vectors(np.zeros((1, 3))), radius)


def test_bad_points():
    grid = wp.HashGrid(2, 2, 2)
    for points, error, text in (
        (np.zeros((3, 3), np.float32), TypeError, "points: expected an array"),
        (wp.zeros(3, dtype=wp.vec3d), TypeError, "expected elements of vec3"),
        (wp.zeros((2, 2), dtype=wp.vec3), ValueError, "expected one dimension"),
    ):
        with pytest.raises(error, match=text):
            grid.build(points, 1.0)
    with pytest.raises(TypeError, match="radius: expected a number, got str"):
        grid.build(wp.zeros(3, dtype=wp.vec3), "1")
    with pytest.raises(ValueError, match="num_points"):
        grid.reserve(-1)


@wp.kernel
def mark_group(
    grid: wp.uint64,
    centres: wp.array(dtype=wp.vec3),
    radius: float,
    groups: wp.array(dtype=int),
    found: wp.array2d(dtype=int),
):
    i = wp.tid()
    query = wp.hash_grid_query(grid, centres[i], radius, groups[i])
    index = -1
    while wp.hash_grid_query_next(query, index):
        found[i, index] = found[i, index] + 1


def group_marks(grid: wp.HashGrid, num_points: int, centres, radius: float, groups) -> np.ndarray:
    found = wp.zeros((len(groups), num_points), dtype=int)
    wp.launch(mark_group, len(groups), [grid.id, vectors(centres), radius, integers(groups), found])
    return found.numpy()


def integers(x) -> wp.array:
    return wp.array(np.asarray(x, np.int32), dtype=int)


GROUPS = np.array([-(2**31), -5, 0, 1, 2**31 - 1])


@pytest.mark.parametrize("dims", [(8, 8, 8), (1, 1, 1), (2, 3, 16)])
def test_a_query_of_a_group_finds_its_points_alone(dims):
    rng = np.random.default_rng(21)
    points, groups = rng.uniform(-2, 2, (400, 3)).astype(np.float32), rng.choice(GROUPS, 400)
    grid = wp.HashGrid(*dims)
    grid.build(vectors(points), 0.5, groups=integers(groups))
    wanted = rng.choice([*GROUPS, 7], 400)
    distance = np.linalg.norm(points[:, None].astype(float) - points[None].astype(float), axis=2)
    same = wanted[:, None] == groups[None]
    for radius in (0.5, 1.3, 30.0):
        found = group_marks(grid, 400, points, radius, wanted)
        assert found.max() == 1
        assert found[same & (distance <= radius)].all()
        assert not found[~same].any()
        assert (marks(grid, 400, points, radius)[distance <= radius] == 1).all()  # a query of all groups


def test_points_of_a_cell_come_by_group():
    groups = [3, -1, 3, 0, -1, 2]
    grid, order = wp.HashGrid(2, 2, 2), wp.zeros(6, dtype=int)
    grid.build(vectors(np.zeros((6, 3))), 1.0, integers(groups))
    wp.launch(in_order, 6, [grid.id, 6, order])
    assert order.list() == np.argsort(groups, kind="stable").tolist()


def test_a_graph_builds_with_groups_that_change():
    rng = np.random.default_rng(22)
    points, near = vectors(rng.uniform(-1, 1, (100, 3))), wp.zeros((100, 100), dtype=int)
    groups, grid = integers(rng.integers(0, 3, 100)), wp.HashGrid(4, 4, 4)
    grid.reserve(100)
    with pytest.raises(RuntimeError, match="reserve"), wp.ScopedCapture():
        grid.build(points, 9.0, groups)
    grid.reserve(100, with_groups=True)
    with wp.ScopedCapture() as capture:
        grid.build(points, 9.0, groups)
        near.zero_()
        wp.launch(mark_group, 100, [grid.id, points, 9.0, groups, near])
    for seed in (23, 24):
        now = np.random.default_rng(seed).integers(-2, 3, 100)
        groups.assign(now.astype(np.int32))
        wp.capture_launch(capture.graph)
        assert np.array_equal(near.numpy(), now[:, None] == now[None])


def test_groups_that_were_not_built_are_errors():
    grid = built(np.zeros((3, 3)), 1.0)
    with pytest.raises(wp.KernelError, match="is of group 5, but the hash grid was built without groups"):
        group_marks(grid, 3, [[0, 0, 0]], 1.0, [5])
    grid.build(vectors(np.zeros((3, 3))), 1.0, integers([5, 6, 5]))
    assert group_marks(grid, 3, [[0, 0, 0]], 1.0, [5]).tolist() == [[1, 0, 1]]
    for groups, error, text in (
        (np.zeros(3, np.int32), TypeError, "groups: expected an array"),
        (wp.zeros(3, dtype=wp.uint32), TypeError, "groups: expected elements of int32, got uint32"),
        (wp.zeros(4, dtype=int), ValueError, "groups: expected 3, one for each point, got 4"),
    ):
        with pytest.raises(error, match=text):
            grid.build(vectors(np.zeros((3, 3))), 1.0, groups)


def counters(point, scalar):
    """Kernels that count the points near each point: those of a grid, and those of all pairs."""

    @wp.kernel
    def by_grid(grid: wp.uint64, points: wp.array(dtype=point), radius: scalar, near: wp.array(dtype=int)):
        i = wp.tid()
        query = wp.hash_grid_query(grid, points[i], radius)
        index, total = 0, 0
        while wp.hash_grid_query_next(query, index):
            if wp.length(points[i] - points[index]) <= radius:
                total += 1
        near[i] = total

    @wp.kernel
    def by_pairs(points: wp.array(dtype=point), radius: scalar, near: wp.array(dtype=int)):
        i = wp.tid()
        total = 0
        for j in range(points.shape[0]):
            if wp.length(points[i] - points[j]) <= radius:
                total += 1
        near[i] = total

    return by_grid, by_pairs


@pytest.mark.parametrize("point, scalar", [(wp.vec3h, wp.float16), (wp.vec3, wp.float32), (wp.vec3d, wp.float64)])
@pytest.mark.parametrize("offset, scale", [(0.0, 1.0), (20.0, 0.5), (0.0, 3e-4)])
def test_points_of_every_type(point, scalar, offset, scale):
    """A point counts if the distance that the kernel computes says so, whatever it rounds to."""
    rng = np.random.default_rng(25)
    points = wp.array(offset + scale * rng.uniform(-1, 1, (500, 3)), dtype=point)
    by_grid, by_pairs = counters(point, scalar)
    near, expected = wp.zeros((2, 500), dtype=int)
    grid = wp.HashGrid(16, 16, 16, dtype=scalar)
    for part in (0.0, 0.1, 0.4):
        grid.build(points, max(part * scale, 1e-5))
        wp.launch(by_grid, 500, [grid.id, points, scalar(part * scale), near])
        wp.launch(by_pairs, 500, [points, scalar(part * scale), expected])
        assert near.list() == expected.list()


def test_cells_of_doubles_are_found_in_doubles():
    """In float32, all these points would be one."""
    points = wp.array(1e9 + np.random.default_rng(26).uniform(0, 1, (300, 3)), dtype=wp.vec3d)
    grid, (by_grid, _) = wp.HashGrid(8, 8, 8, dtype=wp.float64), counters(wp.vec3d, wp.float64)
    grid.build(points, 0.2)
    near = wp.zeros(300, dtype=int)
    wp.launch(by_grid, 300, [grid.id, points, wp.float64(0.2), near])
    expected = cKDTree(points.numpy()).query_ball_point(points.numpy(), 0.2, return_length=True)
    assert np.array_equal(near.numpy(), expected)


def test_queries_of_another_type_are_errors():
    grid, (by_grid, _) = built(np.zeros((3, 3)), 1.0), counters(wp.vec3d, wp.float64)
    assert grid.dtype is wp.float32
    with pytest.raises(wp.KernelError, match="points of 32-bit floats, and the query is of 64-bit ones"):
        wp.launch(by_grid, 1, [grid.id, wp.zeros(1, dtype=wp.vec3d), wp.float64(1.0), wp.zeros(1, dtype=int)])
    with pytest.raises(TypeError, match="points: expected elements of vec3d, got vec3f"):
        wp.HashGrid(2, 2, 2, dtype=wp.float64).build(wp.zeros(3, dtype=wp.vec3), 1.0)
    for bad in (wp.int32, wp.vec3, "float32", None):
        with pytest.raises(TypeError, match="dtype: expected"):
            wp.HashGrid(2, 2, 2, dtype=bad)


def test_a_million_equal_points():
    """All but one of the cells are empty, and that one is full."""
    n = 1_000_000
    grid, order, near = wp.HashGrid(64, 64, 64), wp.zeros(n, dtype=int), wp.zeros(1, dtype=int)
    points = wp.full(n, wp.vec3(0.5, -7.0, 3.0), dtype=wp.vec3)
    grid.build(points, 0.01)
    wp.launch(in_order, n, [grid.id, n, order])
    assert np.array_equal(order.numpy(), np.arange(n))
    for centre, expected in (((0.5, -7.0, 3.0), n), ((0.5, -7.0, 4.0), 0)):
        wp.launch(count_near, 1, [grid.id, points, vectors([centre]), 0.005, near])
        assert near.list() == [expected]
