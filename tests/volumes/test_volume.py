"""Volumes against dictionaries of voxels in NumPy and float64."""

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.types import Struct
from omni.warp_core.passes import pipeline


@wp.kernel
def look_up(
    volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), values: wp.array(dtype=float), numbers: wp.array(dtype=int)
):
    i = wp.tid()
    v = voxels[i]
    values[i] = wp.volume_lookup_f(volume, v[0], v[1], v[2])
    numbers[i] = wp.volume_lookup_index(volume, v[0], v[1], v[2])


@wp.kernel
def number(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), numbers: wp.array(dtype=int)):
    i = wp.tid()
    numbers[i] = wp.volume_lookup_index(volume, voxels[i][0], voxels[i][1], voxels[i][2])


@wp.kernel
def sample(
    volume: wp.uint64,
    places: wp.array(dtype=wp.vec3),
    mode: int,
    values: wp.array(dtype=float),
    grads: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    grad = wp.vec3()
    values[i] = wp.volume_sample_f(volume, places[i], mode)
    again = wp.volume_sample_grad_f(volume, places[i], mode, grad)
    wp.expect_eq(again, values[i])
    grads[i] = grad


@wp.kernel
def store(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), values: wp.array(dtype=float)):
    i = wp.tid()
    wp.volume_store(volume, voxels[i][0], voxels[i][1], voxels[i][2], values[i])


@wp.kernel
def transform(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    out[i, 0] = wp.volume_index_to_world(volume, places[i])
    out[i, 1] = wp.volume_world_to_index(volume, out[i, 0])
    out[i, 2] = wp.volume_index_to_world_dir(volume, places[i])
    out[i, 3] = wp.volume_world_to_index_dir(volume, out[i, 2])


def vec3i(rows) -> wp.array:
    return wp.array(np.asarray(rows, np.int32).reshape(-1, 3), dtype=wp.vec3i)


def lookups(volume: wp.Volume, voxels) -> tuple[np.ndarray, np.ndarray]:
    rows = vec3i(voxels)
    values, numbers = wp.zeros(rows.size, dtype=float), wp.zeros(rows.size, dtype=int)
    wp.launch(look_up, rows.size, [volume.id, rows, values, numbers])
    return values.numpy(), numbers.numpy()


def samples(volume: wp.Volume, places, mode: int) -> tuple[np.ndarray, np.ndarray]:
    places = wp.array(np.asarray(places, np.float32), dtype=wp.vec3)
    values, grads = wp.zeros(places.size, dtype=float), wp.zeros(places.size, dtype=wp.vec3)
    wp.launch(sample, places.size, [volume.id, places, mode, values, grads])
    return values.numpy(), grads.numpy()


def stored(voxels, values, background: float, voxel_size=1.0) -> wp.Volume:
    """A volume with leaves around voxels, and values stored by a kernel."""
    volume = wp.Volume.allocate_by_tiles(vec3i(voxels), voxel_size=voxel_size, bg_value=background)
    wp.launch(store, len(voxels), [volume.id, vec3i(voxels), wp.array(values, dtype=float)])
    return volume


class Voxels(dict):
    """The judge: voxels in a dictionary."""

    def __init__(self, voxels, values, background: float):
        super().__init__(zip(map(tuple, np.asarray(voxels).tolist()), np.asarray(values, float).tolist()))
        self.background = background

    def __missing__(self, key) -> float:
        return self.background

    def linear(self, place) -> tuple[float, np.ndarray]:
        """The value at a place, and the gradient."""
        low = np.floor(np.asarray(place, float)).astype(int)
        w = np.asarray(place, float) - low
        corners = (low + np.argwhere(np.ones((2, 2, 2)))).tolist()
        cube = np.array([self[tuple(c)] for c in corners]).reshape(2, 2, 2)
        rows = [np.array([1 - x, x]) for x in w]
        steps = [[*rows[:a], np.array([-1.0, 1.0]), *rows[a + 1 :]] for a in range(3)]
        value, *grad = (np.einsum("ijk,i,j,k", cube, *r) for r in [rows, *steps])
        return value, np.array(grad)


SETS = {
    "one": lambda rng: np.zeros((1, 3), int),
    "cube": lambda rng: np.stack(np.meshgrid(*[np.arange(-5, 12)] * 3, indexing="ij"), -1).reshape(-1, 3),
    "cluster": lambda rng: np.unique(rng.integers(-20, 21, (2000, 3)), axis=0),
    "far apart": lambda rng: np.unique(rng.integers(-3, 3, (500, 3)) + rng.integers(-3, 4, (500, 1)) * 50_000, axis=0),
    "borders": lambda rng: np.unique(
        rng.integers(-2, 2, (300, 3)) + rng.choice([0, 8, 128, 4096, -4096], (300, 3)), axis=0
    ),
    "corners": lambda rng: np.array([[2**30, -(2**30), 5], [-(2**30), 2**30, -1]]),
}


@pytest.fixture(params=SETS)
def case(request):
    rng = np.random.default_rng(1)
    voxels = SETS[request.param](rng)
    values = rng.normal(size=len(voxels)).astype(np.float32)
    return stored(voxels, values, 0.5), Voxels(voxels, values, 0.5), voxels


def around(voxels: np.ndarray, count: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    near = voxels[rng.integers(0, len(voxels), count)] + rng.integers(-9, 10, (count, 3))
    return np.concatenate([voxels[:count], near, rng.integers(-(2**31), 2**31, (20, 3))]).clip(-(2**31), 2**31 - 1)


def test_lookups(case):
    volume, judge, voxels = case
    asked = around(voxels, 2000)
    values, _ = lookups(volume, asked)
    assert values.tolist() == [judge[tuple(v)] for v in asked.tolist()]


def test_numbers_of_voxels(case):
    volume, _, voxels = case
    counted = volume.get_voxels().numpy()
    assert len(counted) == volume.get_voxel_count() == 512 * volume.get_tile_count()
    asked = np.concatenate([counted, around(voxels, 500)])
    order = {tuple(v): n for n, v in enumerate(counted.tolist())}
    assert lookups(volume, asked)[1].tolist() == [order.get(tuple(v), -1) for v in asked.tolist()]


def test_samples(case):
    volume, judge, voxels = case
    rng = np.random.default_rng(3)
    near = voxels[rng.integers(0, len(voxels), 1500)] + rng.uniform(-2, 2, (1500, 3))
    places = np.concatenate([near, voxels[:200]]).astype(np.float32)
    values, grads = samples(volume, places, wp.Volume.LINEAR)
    expected = [judge.linear(p) for p in places]
    assert np.allclose(values, [v for v, _ in expected], rtol=0, atol=3e-6)
    assert np.allclose(grads, [g for _, g in expected], rtol=0, atol=1e-5)
    values, grads = samples(volume, places, wp.Volume.CLOSEST)
    nearest = np.trunc(places.astype(float) + np.copysign(0.5, places))
    assert values.tolist() == [judge[tuple(v)] for v in nearest.astype(int).tolist()]
    assert not grads.any()


@pytest.mark.parametrize("mode", ["debug", "interpret"])
def test_other_modes_agree(mode, monkeypatch):
    rng = np.random.default_rng(4)
    voxels = np.unique(rng.integers(-10, 11, (60, 3)), axis=0)
    values = rng.normal(size=len(voxels)).astype(np.float32)
    places = rng.uniform(-12, 12, (40, 3))
    first = stored(voxels, values, -1.0)
    expected = [samples(first, places, 1), samples(first, places, 0), lookups(first, voxels)]
    monkeypatch.setattr(wp.config, "mode", mode)
    again = stored(voxels, values, -1.0)
    assert np.array_equal(first.array().numpy(), again.array().numpy())
    found = [samples(again, places, 1), samples(again, places, 0), lookups(again, voxels)]
    assert all(np.array_equal(a, b) for x, y in zip(expected, found) for a, b in zip(x, y))


@wp.kernel
def query(volume: wp.uint64, places: wp.array(dtype=wp.vec3), values: wp.array(dtype=float)):
    i = wp.tid()
    grad = wp.vec3()
    value = wp.volume_sample_f(volume, places[i], 1) + wp.volume_sample_grad_f(volume, places[i], 1, grad)
    value += wp.volume_sample_index(volume, places[i], 1, values, 0.0) + grad[0]
    value += wp.volume_sample_grad_index(volume, places[i], 1, values, 0.0, grad) + grad[0]
    wp.volume_store_f(volume, i, 0, 0, wp.volume_lookup_f(volume, 0, i, 0))
    values[i] = value + float(wp.volume_lookup_index(volume, i, 0, 0))


def called(function: Function) -> set[Function]:
    """All functions that a finished function leads to."""
    direct = {op.attr for op in function.body.walk() if op.code == "call"}
    return direct.union(*map(called, direct))


def test_calls_do_not_copy_the_volume():
    """A call would copy each of its 45 members, for each few samples."""
    functions = called(pipeline.run(lower_kernel(query)))
    assert len(functions) > 5
    assert [f.name for f in functions if any(isinstance(p.type, Struct) for p in f.params)] == []


def test_places_that_are_no_numbers():
    volume = stored([[0, 0, 0]], [1.0], 0.25)
    places = [[np.nan, 0, 0], [0, np.inf, 0], [1e30, 0, 0], [-1e30, -1e30, 1e30]]
    values, _ = samples(volume, places, wp.Volume.LINEAR)
    assert np.isnan(values[:2]).all() and (values[2:] == 0.25).all()
    assert np.isfinite(samples(volume, places, wp.Volume.CLOSEST)[0]).all()


def test_a_store_outside_of_leaves_does_nothing():
    volume = stored([[0, 0, 0]], [1.0], 0.25)
    before = volume.array().numpy().copy()
    wp.launch(store, 2, [volume.id, vec3i([[8, 0, 0], [-1, 5000, 0]]), wp.array([1.0, 2.0], dtype=float)])
    assert np.array_equal(volume.array().numpy(), before)


def test_a_kernel_looks_up_what_it_stored():
    @wp.kernel
    def store_then_look(volume: wp.uint64, found: wp.array(dtype=float)):
        i = wp.tid()
        before = wp.volume_lookup_f(volume, i, 0, 0)
        wp.volume_store_f(volume, i, 0, 0, before + float(i))
        found[i] = wp.volume_lookup_f(volume, i, 0, 0)

    volume, found = wp.Volume.allocate([0, 0, 0], [31, 7, 7], 1.0, bg_value=2.0), wp.zeros(32, dtype=float)
    wp.launch(store_then_look, 32, [volume.id, found])
    assert found.numpy().tolist() == [2.0 + i for i in range(32)]


TRANSFORMS = {
    "size": {"voxel_size": 0.25},
    "three sizes": {"voxel_size": (0.5, 1.0, 3.0), "translation": (10.0, -4.0, 0.5)},
    "wp.mat33": {"transform": wp.mat33(0.0, -2.0, 0.0, 1.0, 0.0, 0.5, 0.0, 0.25, 1.0), "translation": (1.0, 2.0, 3.0)},
    "matrix": {"transform": [[0.0, -2.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.25, 1.0]], "translation": (1.0, 2.0, 3.0)},
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    given = TRANSFORMS[name]
    size = np.broadcast_to(given.get("voxel_size", 1.0), 3)
    matrix = np.reshape(given.get("transform", np.diag(size)), (3, 3))
    move = np.array(given.get("translation", (0, 0, 0)))
    rng = np.random.default_rng(5)
    voxels = np.unique(rng.integers(-30, 30, (50, 3)), axis=0)
    world = voxels @ matrix.T + move
    volume = wp.Volume.allocate_by_voxels(wp.array(world, dtype=wp.vec3), **given)
    assert sorted(volume.get_voxels().numpy().tolist()) == voxels.tolist()
    info = volume.get_grid_info()
    assert np.allclose(np.reshape(info.transform_matrix, (3, 3)), matrix) and np.allclose(info.translation, move)
    assert np.allclose(volume.get_voxel_size(), np.linalg.norm(matrix, axis=0))
    places, out = rng.uniform(-50, 50, (100, 3)).astype(np.float32), wp.zeros((100, 4), dtype=wp.vec3)
    wp.launch(transform, 100, [volume.id, wp.array(places, dtype=wp.vec3), out])
    to_world, back, direction, back_direction = out.numpy().swapaxes(0, 1)
    assert np.allclose(to_world, places @ matrix.T + move, atol=1e-4)
    assert np.allclose(direction, places @ matrix.T, atol=1e-4)
    assert np.allclose(back, places, atol=1e-4) and np.allclose(back_direction, places, atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 8, 8), (1, 1, 1), (10, 9, 3), (3, 17, 200)])
def test_dense_arrays(shape):
    dense = np.random.default_rng(6).normal(size=shape).astype(np.float32)
    volume = wp.Volume.load_from_numpy(dense, min_world=(1.0, 2.0, 3.0), voxel_size=0.5, bg_value=-5.0)
    inside = np.argwhere(np.ones(shape, bool))
    assert np.array_equal(lookups(volume, inside)[0], dense.ravel())
    outside = [[-1, 0, 0], [shape[0], 0, 0], [0, shape[1], 0], [0, 0, shape[2]], [999, 0, 0]]
    assert (lookups(volume, outside)[0] == -5.0).all()
    assert tuple(volume.get_grid_info().translation) == (1.0, 2.0, 3.0)


def test_numbers_of_active_voxels():
    rng = np.random.default_rng(7)
    voxels = rng.integers(-40, 40, (3000, 3)) + rng.integers(0, 2, (3000, 1)) * 3000
    volume = wp.Volume.allocate_by_voxels(vec3i(voxels), voxel_size=1.0)
    assert volume.is_index and volume.dtype is None
    counted = volume.get_voxels().numpy().tolist()
    assert sorted(counted) == np.unique(voxels, axis=0).tolist() and volume.get_voxel_count() == len(counted)
    order = {tuple(v): n for n, v in enumerate(counted)}
    asked, found = around(voxels, 3000), wp.zeros(6020, dtype=int)
    wp.launch(number, 6020, [volume.id, vec3i(asked), found])
    assert found.numpy().tolist() == [order.get(tuple(v), -1) for v in asked.tolist()]


@pytest.mark.parametrize(("dtype", "tail"), [(wp.vec3i, ()), (int, (3,))])
def test_voxels_go_to_an_array_that_has_room(dtype, tail):
    volume = wp.Volume.allocate_by_voxels(vec3i([[3, 0, 0], [0, 0, 0]]), voxel_size=1.0)
    for rows in (2, 5):
        out = wp.zeros((rows, *tail), dtype=dtype)
        out.fill_(-7)
        assert volume.get_voxels(out=out) is out
        assert out.numpy().tolist() == [[0, 0, 0], [3, 0, 0], *[[-7] * 3] * (rows - 2)]
    with pytest.raises(ValueError, match="or more rows, got"):
        volume.get_voxels(out=wp.zeros((1, *tail), dtype=dtype))


def test_places_are_rows_of_integers_in_the_dialect_of_warp_lang(monkeypatch):
    volume = wp.Volume.load_from_numpy(np.ones((9, 2, 2)), device="cpu")
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")
    tiles, voxels = volume.get_tiles(), volume.get_voxels()
    assert (tiles.dtype, voxels.dtype) == (wp.int32, wp.int32)
    assert tiles.numpy().tolist() == [[0, 0, 0], [8, 0, 0]] and voxels.shape == (1024, 3)
    assert volume.get_voxel_values().shape == (1024,)


def test_an_id_that_is_gone():
    volume = stored([[0, 0, 0]], [1.0], 0.0)
    old = volume.id
    del volume
    gc.collect()
    for wrong in (old, wp.uint64(0)):
        with pytest.raises(wp.KernelError, match="is no id of a volume that exists"):
            wp.launch(look_up, 1, [wrong, vec3i([[0, 0, 0]]), wp.zeros(1, dtype=float), wp.zeros(1, dtype=int)])
            wp.synchronize()
    with pytest.raises((ValueError, IndexError)):
        wp.volume_lookup_f(old, 0, 0, 0)


def test_a_volume_of_other_values():
    volume = wp.Volume.allocate([0, 0, 0], [1, 1, 1], 1.0, bg_value=3)
    assert volume.dtype is wp.int32 and wp.volume_lookup_i(volume.id, 0, 0, 0) == 3
    with pytest.raises(ValueError, match="has values of another type"):
        wp.volume_lookup_f(volume.id, 0, 0, 0)
    with pytest.raises(wp.KernelError, match="has values of another type"):
        lookups(volume, [[0, 0, 0]])
    with pytest.raises(ValueError, match="integers, which cannot be interpolated"):
        wp.volume_sample(volume.id, wp.vec3(), wp.Volume.LINEAR, dtype=wp.int32)
    assert wp.volume_sample_i(volume.id, wp.vec3(0.4, 0.0, 0.0)) == 3


def test_an_unknown_mode():
    with pytest.raises(wp.KernelError, match="7 is no way to sample a volume"):
        samples(stored([[0, 0, 0]], [1.0], 0.0), [[0, 0, 0]], 7)


def test_empty_volumes():
    for volume in (
        wp.Volume.allocate_by_tiles(vec3i([]), voxel_size=1.0, bg_value=4.0),
        wp.Volume.load_from_numpy(np.zeros((0, 3, 3)), bg_value=4.0),
    ):
        assert volume.get_tile_count() == 0 and volume.get_voxels().size == 0
        assert lookups(volume, [[0, 0, 0], [-7, 5, 9000]])[0].tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    "background",
    [
        2.5,
        3,
        wp.uint32(3),
        wp.int64(2**40),
        wp.float64(0.1),
        (1.0, 2.0, 3.0),
        (1, 2, 3, 4),
        wp.vec3d(0.1, 0.2, 0.3),
        wp.vec4d(),
    ],
    ids=str,
)
def test_types_of_values(background):
    volume = wp.Volume.allocate([-3, 0, 0], [9, 9, 9], 1.0, bg_value=background)
    dtype = volume.dtype

    @wp.kernel
    def store_twice(volume: wp.uint64, value: dtype, found: wp.array(dtype=dtype)):
        wp.volume_store(volume, -2, 1, 5, value)
        found[0] = wp.volume_lookup(volume, -2, 1, 5, dtype=dtype)
        found[1] = wp.volume_lookup(volume, -2, 1, 6, dtype=dtype)
        found[2] = wp.volume_lookup(volume, -200, 1, 6, dtype=dtype)
        found[3] = wp.volume_sample(volume, wp.vec3(-2.2, 0.9, 5.3), wp.Volume.CLOSEST, dtype=dtype)

    start = dtype(*background) if isinstance(background, tuple) else dtype(background)
    value, found = start + start, wp.zeros(4, dtype=dtype)
    wp.launch(store_twice, 1, [volume.id, value, found])
    assert found.list() == [value, start, start, value]


def test_vectors_are_interpolated():
    dense = np.random.default_rng(8).normal(size=(4, 4, 4, 3)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(dense, bg_value=(0.0, 0.0, 0.0))

    @wp.kernel
    def sample_vectors(
        volume: wp.uint64, place: wp.vec3, found: wp.array(dtype=wp.vec3), grads: wp.array(dtype=wp.mat33)
    ):
        grad = wp.mat33()
        found[0] = wp.volume_sample_v(volume, place, wp.Volume.LINEAR)
        found[1] = wp.volume_sample_grad(volume, place, wp.Volume.LINEAR, grad, dtype=wp.vec3)
        grads[0] = grad

    found, grads, place = wp.zeros(2, dtype=wp.vec3), wp.zeros(1, dtype=wp.mat33), (1.25, 0.5, 1.75)
    wp.launch(sample_vectors, 1, [volume.id, wp.vec3(*place), found, grads])
    for c in range(3):
        voxels = np.argwhere(np.ones((4, 4, 4), bool))
        value, grad = Voxels(voxels, dense[..., c].ravel(), 0.0).linear(place)
        assert np.allclose(found.numpy()[:, c], value, atol=1e-6)
        assert np.allclose(grads.numpy()[0, c], grad, atol=1e-6)


def test_values_in_an_array(device):
    rng = np.random.default_rng(9)
    voxels = rng.integers(-6, 6, (400, 3))
    volume = wp.Volume.allocate_by_voxels(vec3i(voxels), voxel_size=1.0)
    data = rng.normal(size=volume.get_voxel_count()).astype(np.float32)
    judge = Voxels(volume.get_voxels().numpy(), data, 0.125)

    @wp.kernel
    def sample_array(
        volume: wp.uint64, places: wp.array(dtype=wp.vec3), data: wp.array(dtype=float), found: wp.array2d(dtype=float)
    ):
        i = wp.tid()
        grad = wp.vec3()
        found[i, 0] = wp.volume_sample_index(volume, places[i], wp.Volume.LINEAR, data, 0.125)
        found[i, 1] = wp.volume_sample_grad_index(volume, places[i], wp.Volume.LINEAR, data, 0.125, grad)
        found[i, 2], found[i, 3], found[i, 4] = grad[0], grad[1], grad[2]

    places, found = rng.uniform(-7, 7, (300, 3)).astype(np.float32), wp.zeros((300, 5), dtype=float)
    wp.launch(sample_array, 300, [volume.id, wp.array(places, dtype=wp.vec3), wp.array(data, dtype=float), found])
    expected = [judge.linear(p) for p in places]
    assert np.allclose(found.numpy()[:, 0], [v for v, _ in expected], atol=1e-6)
    assert np.allclose(found.numpy()[:, 1], [v for v, _ in expected], atol=1e-6)
    assert np.allclose(found.numpy()[:, 2:], [g for _, g in expected], atol=1e-5)


def test_names_of_an_early_version():
    dense = np.random.default_rng(10).normal(size=(4, 4, 4)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(dense, min_world=(1.0, 0.0, 0.0), voxel_size=0.5)

    @wp.kernel
    def sample_twice(volume: wp.uint64, found: wp.array2d(dtype=float)):
        uvw = wp.vec3(1.25, 0.5, 2.0)
        xyz = wp.volume_transform(volume, uvw)
        found[0, 0] = wp.volume_sample_local(volume, uvw, wp.Volume.LINEAR)
        found[0, 1] = wp.volume_sample_world(volume, xyz, wp.Volume.LINEAR)
        found[1, 0] = wp.volume_lookup(volume, wp.vec3i(1, 2, 3))
        found[1, 1] = wp.volume_transform_inv(volume, xyz)[1]

    found = wp.zeros((2, 2), dtype=float)
    wp.launch(sample_twice, 1, [volume.id, found])
    value, _ = Voxels(np.argwhere(np.ones((4, 4, 4))), dense.ravel(), 0.0).linear((1.25, 0.5, 2.0))
    assert np.allclose(found.numpy(), [[value, value], [dense[1, 2, 3], 0.5]], atol=1e-6)


class TestRebuild:
    def test_voxels(self, device):
        rng = np.random.default_rng(11)
        volume = wp.Volume.allocate_by_voxels(vec3i(rng.integers(-50, 50, (500, 3))), voxel_size=0.5, rebuildable=True)
        assert volume.is_rebuildable and volume.get_rebuild_info().kind == "voxels"
        name, status = volume.id, wp.zeros(1, dtype=wp.uint32)
        for _ in range(3):
            points = rng.integers(-90, 90, (400, 3))
            assert volume.rebuild(vec3i(points), status) is status and status.numpy()[0] == wp.Volume.REBUILD_SUCCESS
            counted = volume.get_voxels().numpy()
            assert sorted(counted.tolist()) == np.unique(points, axis=0).tolist()
            found = wp.zeros(len(counted), dtype=int)
            wp.launch(number, len(counted), [name, vec3i(counted), found])
            assert np.array_equal(found.numpy(), np.arange(len(counted)))
            assert wp.volume_voxel_count(volume.id) == len(counted) == volume.get_active_stats().voxel_count

    def test_tiles_and_a_mask(self):
        points, mask = vec3i([[0, 0, 0], [9, 0, 0], [90, 0, 0]]), wp.array([1, 0, 1], dtype=int)
        volume = wp.Volume.allocate_by_tiles(points, voxel_size=1.0, bg_value=3.0, max_tiles=3, point_mask=mask)
        assert volume.get_tiles().numpy().tolist() == [[0, 0, 0], [88, 0, 0]]
        wp.volume_store_f(volume.id, 0, 0, 0, 7.0)
        world = wp.array([[9.0, 0.0, 0.0], [1.0, 1.0, 1.0]], dtype=wp.vec3)
        volume.rebuild(world)
        assert volume.get_tiles().numpy().tolist() == [[0, 0, 0], [8, 0, 0]]
        assert wp.volume_lookup_f(volume.id, 0, 0, 0) == 3.0

    def test_no_room(self):
        status = wp.zeros(1, dtype=wp.uint32)
        volume = wp.Volume.allocate_by_voxels(vec3i([[1, 2, 3]]), voxel_size=1.0, rebuildable=True)
        volume.rebuild(vec3i([[0, 0, 0], [1, 0, 0]]), status)
        assert status.numpy()[0] == wp.Volume.REBUILD_VOXEL_CAPACITY_EXCEEDED
        volume.rebuild(vec3i([[0, 0, 0], [5000, 0, 0]]), status)
        assert status.numpy()[0] == 1 | 2 | 4 | 8
        assert volume.get_voxels().numpy().tolist() == [[1, 2, 3]]
        with pytest.raises(RuntimeError, match="room"):
            volume.rebuild(vec3i([[0, 0, 0], [1, 0, 0]]))
        volume.rebuild(wp.array([[np.nan, 0, 0]], dtype=wp.vec3), status)
        assert status.numpy()[0] == wp.Volume.REBUILD_INVALID_INPUT

    def test_a_volume_that_was_not_made_for_it(self):
        volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0)
        assert not volume.is_rebuildable and volume.get_rebuild_info() == (None, 0, 0, 0, 0)
        with pytest.raises(RuntimeError, match="pass rebuildable=True"):
            volume.rebuild(vec3i([[0, 0, 0]]))


def test_arrays_that_a_grid_carries(device):
    base = wp.Volume.allocate_by_voxels(vec3i([[0, 0, 0], [1, 0, 0]]), voxel_size=1.0).array().numpy()
    values = np.arange(6, dtype=np.float32)
    head = np.zeros(288, np.uint8)
    head[:16].view("<i8")[:] = 288, 24
    head[16:20].view("<u4")[0] = 1
    name = b"fvdb_jdatafloat32"
    head[32 : 32 + len(name)] = np.frombuffer(name, np.uint8)
    data = np.concatenate([base, head, values.view(np.uint8), np.zeros(8, np.uint8)])
    data[32:40].view("<u8")[0] = data.size
    data[640:648].view("<i8")[0], data[648:652].view("<u4")[0] = base.size, 1
    volume = wp.Volume(wp.array(data, dtype=wp.uint8))
    assert volume.get_feature_array_count() == 1
    about = volume.get_feature_array_info(0)
    assert (about.name, about.value_size, about.value_count) == (name.decode(), 1, 24)
    found = volume.feature_array(0)
    assert (found.ptr, found.device) == (about.ptr, device) and found.list() == values.tolist()
    kept = volume.feature_array(0, dtype=wp.vec3)
    del volume
    gc.collect()
    assert kept.numpy().tolist() == values.reshape(2, 3).tolist()


def test_several_grids_in_memory(device):
    grids = [wp.Volume.allocate([0, 0, 0], [n, 0, 0], 1.0, bg_value=float(n)) for n in (1, 9, 17)]
    both = wp.array(np.concatenate([g.array().numpy() for g in grids]), dtype=wp.uint8)
    volume, backgrounds = wp.Volume.load_from_address(both.ptr, both.size), []
    while volume:
        backgrounds.append(wp.volume_lookup_f(volume.id, -1, 0, 0))
        volume = volume.load_next_grid()
    assert backgrounds == [1.0, 9.0, 17.0]


@pytest.mark.cpu
def test_points_in_a_list_and_values_of_two_components_are_named():
    with pytest.raises(TypeError, match="voxel_points: expected an array, got list"):
        wp.Volume.allocate_by_voxels([[0, 0, 0]], voxel_size=1.0, device="cpu")
    points = wp.zeros(1, dtype=wp.vec3i, device="cpu")
    volume = wp.Volume.allocate_by_voxels(points, voxel_size=1.0, rebuildable=True, device="cpu")
    with pytest.raises(TypeError, match="voxel_points: expected an array, got ndarray"):
        volume.rebuild(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="no volume of values of 2 components"):
        wp.Volume.load_from_numpy(np.zeros((2, 2, 2, 2)), device="cpu")


@pytest.mark.parametrize(
    ("values", "background", "dtype"),
    [
        (np.full((2, 2, 2), 2**24 + 1), 0.0, wp.int64),
        (np.full((2, 2, 2), 2.7), 0, wp.float64),
        (np.full((2, 2, 2), 2**40), 0, wp.int64),
    ],
)
def test_numbers_that_the_type_of_the_background_cannot_hold(values, background, dtype):
    with pytest.raises(ValueError, match=r"ndarray: not all its .* numbers are values of"):
        wp.Volume.load_from_numpy(values, bg_value=background)
    volume = wp.Volume.load_from_numpy(values, bg_value=dtype(0))
    assert wp.volume_lookup(volume.id, 1, 1, 1, dtype=dtype).value == values[1, 1, 1]


@pytest.mark.parametrize("background", [2**31, -(2**31) - 1, np.int64(2**40)])
def test_an_integer_background_that_int32_cannot_hold(background):
    with pytest.raises(ValueError, match=rf"bg_value: .* int32, .* write bg_value=wp\.int64\({background}"):
        wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=background)
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=wp.int64(background))
    assert wp.volume_lookup(volume.id, 9, 0, 0, dtype=wp.int64).value == background


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"voxel_size": 1e-40}, "voxel_size: too small or too large"),
        ({"voxel_size": (1.0, 1e40, 1.0)}, "voxel_size: too small or too large"),
        ({"voxel_size": 1.0, "translation": (0.0, 1e39, 0.0)}, "translation: too small or too large"),
        ({"transform": np.eye(3) * 1e-40}, "transform: too small or too large"),
        ({"voxel_size": "1"}, "voxel_size: expected numbers, got"),
    ],
)
def test_places_that_float32_cannot_hold(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        wp.Volume.allocate_by_tiles(vec3i([(0, 0, 0)]), **given)


@pytest.mark.filterwarnings("error")
def test_points_and_origins_that_are_infinite():
    points = wp.array([(np.inf, 0.0, 0.0)], dtype=wp.vec3)
    with pytest.raises(ValueError, match="voxel_points: a point is not finite"):
        wp.Volume.allocate_by_voxels(points, voxel_size=1.0)
    with pytest.raises(ValueError, match="min_world: expected three finite numbers"):
        wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(np.nan, 0.0, 0.0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"status": wp.zeros(1, dtype=int)}, r"status: expected elements of uint32, got int32; write wp\.array\("),
        ({"status": wp.zeros(2, dtype=wp.uint32)}, r"status: expected one element, got shape \(2,\); write wp\.zeros"),
        ({"point_mask": wp.ones(1, dtype=bool)}, "point_mask: expected elements of int32, got bool"),
        ({"point_mask": wp.ones(3, dtype=int)}, r"point_mask: expected 1 elements, one for each point, got .*\(3,\)"),
    ],
    ids=["type of status", "length of status", "type of mask", "length of mask"],
)
def test_wrong_arrays_of_a_rebuild_are_told_by_type_and_length(given, message):
    points = wp.array([[0, 0, 0]], dtype=wp.vec3i)
    volume = wp.Volume.allocate_by_voxels(points, voxel_size=1.0, rebuildable=True)
    with pytest.raises((TypeError, ValueError), match=message):
        volume.rebuild(points, **given)


def test_points_in_a_list_or_numpy_are_told_to_become_an_array():
    for points in ([[0, 0, 0]], np.zeros((1, 3), np.int32)):
        with pytest.raises(
            TypeError, match=r"voxel_points: expected an array, got \w+; write wp\.array\(voxel_points\)"
        ):
            wp.Volume.allocate_by_voxels(points, voxel_size=1.0)


def test_a_background_of_a_type_that_volumes_lack_is_told_with_those_that_they_have():
    with pytest.raises(ValueError, match=r"no volume of values like float16.*have float32, float64, int16, .*, uint8"):
        wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=wp.float16(0.0))


def test_what_is_no_file_is_told(tmp_path):
    path = tmp_path / "v.nvdb"
    wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0).save_to_nvdb(path)
    with open(path) as text, pytest.raises(TypeError, match=r"open as text; write open\('.*v\.nvdb', \"rb\"\)"):
        wp.Volume.load_from_nvdb(text)
    for wrong in (123, None):
        with pytest.raises(TypeError, match="file_or_buffer: expected a path, an open binary file or the bytes"):
            wp.Volume.load_from_nvdb(wrong)
    with pytest.raises(FileNotFoundError, match=r"lacking.there\.nvdb'"):
        wp.Volume.load_from_nvdb(path).save_to_nvdb(tmp_path / "lacking" / "there.nvdb")


def test_a_name_of_an_openvdb_file_is_refused(tmp_path):
    for name in ("fog.vdb", "FOG.VDB"):
        with pytest.raises(ValueError, match=rf"{name}: .* NanoVDB; write .*{name[:3]}\.nvdb$"):
            wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0).save_to_nvdb(tmp_path / name)
        assert not (tmp_path / name).exists()
