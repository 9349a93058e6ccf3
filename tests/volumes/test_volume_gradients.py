"""Gradients of samples against finite differences in float64, in reverse and in forward mode."""

import numpy as np
import pytest

import omni.warp_core as wp

MATRIX = [[0.0, -2.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.25, 1.0]]


@wp.kernel
def sample_scalars(volume: wp.uint64, places: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    value = wp.volume_sample_f(volume, wp.volume_world_to_index(volume, places[i]), wp.Volume.LINEAR)
    nearest = wp.volume_sample(volume, places[i], wp.Volume.CLOSEST, dtype=float)
    loss[i] = value * value + nearest * wp.volume_lookup_f(volume, 0, 0, 0) * places[i][0]


@wp.kernel
def sample_vectors(volume: wp.uint64, places: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    value = wp.volume_sample_v(volume, places[i], wp.Volume.LINEAR)
    turned = wp.volume_world_to_index_dir(volume, wp.volume_index_to_world_dir(volume, places[i]))
    loss[i] = wp.dot(value, wp.volume_index_to_world(volume, turned))


@wp.kernel
def sample_doubles(volume: wp.uint64, places: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    loss[i] = float(wp.volume_sample(volume, places[i], wp.Volume.LINEAR, dtype=wp.float64))


def dense(rng, background):
    shape = (10, 10, 10, *np.shape(background))
    return rng.normal(size=shape)


def made(values: np.ndarray, background) -> wp.Volume:
    """The values in a volume with a transform that mixes axes."""
    corners = wp.array(
        [[0, 0, 0], [8, 8, 8], [8, 0, 0], [0, 8, 0], [0, 0, 8], [8, 8, 0], [8, 0, 8], [0, 8, 8]], dtype=wp.vec3i
    )
    volume = wp.Volume.allocate_by_tiles(corners, bg_value=background, transform=MATRIX, translation=(1.0, 2.0, 3.0))
    dtype = volume.dtype

    @wp.kernel
    def fill(volume: wp.uint64, values: wp.array3d(dtype=dtype)):
        i, j, k = wp.tid()
        wp.volume_store(volume, i, j, k, values[i, j, k])

    wp.launch(fill, (10, 10, 10), [volume.id, wp.array(values, dtype=dtype)])
    return volume


def interpolated(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    low = np.floor(place).astype(int)
    cube = values[tuple(slice(a, a + 2) for a in low)]
    w = [np.array([1 - f, f]) for f in place - low]
    return np.einsum("ijk...,i,j,k->...", cube, *w)


def scalars(values, index, place):
    voxel = np.floor(place + 0.5).astype(int)
    nearest = values[tuple(voxel)] if ((voxel >= 0) & (voxel < 10)).all() else 0.5
    return interpolated(values, index) ** 2 + nearest * values[0, 0, 0] * place[0]


def slope(f, x: np.ndarray) -> np.ndarray:
    steps = np.eye(3) * 1e-5
    return np.array([(f(x + h) - f(x - h)) / 2e-5 for h in steps])


def cases():
    matrix, move = np.array(MATRIX), np.array([1.0, 2.0, 3.0])
    yield "scalars", sample_scalars, 0.5, lambda v: lambda x: scalars(v, np.linalg.solve(matrix, x - move), x)
    yield "vectors", sample_vectors, (0.5, 0.0, 1.0), lambda v: lambda x: interpolated(v, x) @ (matrix @ x + move)
    yield "doubles", sample_doubles, wp.float64(0.5), lambda v: lambda x: interpolated(v, x)


def safe_places(rng, name: str) -> np.ndarray:
    """Places whose cubes are inside of the values, away from borders of cubes and of nearest voxels."""
    places = rng.integers(1, 8, (2000, 3)) + rng.uniform(0.05, 0.45, (2000, 3))
    if name == "scalars":
        places = places @ np.array(MATRIX).T + np.array([1.0, 2.0, 3.0])
        places = places[(np.abs(places - np.floor(places) - 0.5) > 0.01).all(axis=1)]
    return places[:60].astype(np.float32)


@pytest.fixture(params=cases(), ids=lambda case: case[0])
def case(request):
    name, kernel, background, judge = request.param
    rng = np.random.default_rng(1)
    values = dense(rng, background if isinstance(background, tuple) else 0.0)
    places = safe_places(rng, name)
    assert len(places) > 20
    f = judge(values)
    expected = np.array([slope(f, p.astype(float)) for p in places])
    return kernel, made(values, background), places, expected


def test_reverse_mode(case):
    kernel, volume, places, expected = case
    x, loss = (
        wp.array(places, dtype=wp.vec3, requires_grad=True),
        wp.zeros(len(places), dtype=float, requires_grad=True),
    )
    with wp.Tape() as tape:
        wp.launch(kernel, len(places), [volume.id, x, loss])
    tape.backward(grads={loss: wp.ones(len(places), dtype=float)})
    assert np.allclose(x.grad.numpy(), expected, rtol=2e-3, atol=2e-3)


@wp.kernel
def put(volume: wp.uint64, x: wp.array(dtype=float)):
    i = wp.tid()
    wp.volume_store_f(volume, i, 0, 0, x[i])


def test_forward_mode(case):
    kernel, volume, places, expected = case
    direction = np.random.default_rng(2).normal(size=places.shape).astype(np.float32)
    x, loss = wp.array(places, dtype=wp.vec3), wp.zeros(len(places), dtype=float)
    tangents = [None, wp.array(direction, dtype=wp.vec3)]
    (found,) = wp.jvp(kernel, len(places), [volume.id, x], [loss], [*tangents, None])
    assert np.allclose(found.numpy(), (expected * direction).sum(axis=1), rtol=4e-3, atol=4e-3)


@wp.kernel
def looked_up(volume: wp.uint64, x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_lookup_f(volume, i, 0, 0) * x[i]


@wp.kernel
def scaled(volume: wp.uint64, by: float):
    i, j, k = wp.tid()
    wp.volume_store_f(volume, i, j, k, by * wp.volume_lookup_f(volume, i, j, k))


@pytest.mark.parametrize("stores_before", [False, True])
def test_values_that_change_before_the_gradient(stores_before):
    """The gradient is that of the values at the launch, whoever changes them later."""
    values = np.arange(512.0, dtype=np.float32).reshape(8, 8, 8)
    volume = wp.Volume.load_from_numpy(values)
    if stores_before:
        wp.launch(scaled, (8, 8, 8), [volume.id, 1.0])
    x, out = (wp.zeros(8, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(looked_up, 8, [volume.id, x, out])
        wp.launch(scaled, (8, 8, 8), [volume.id, 3.0], record_tape=False)
        wp.launch(looked_up, 8, [volume.id, x, out])
    wp.launch(scaled, (8, 8, 8), [volume.id, 5.0])
    tape.backward(grads={out: wp.ones(8, dtype=float)})
    assert np.array_equal(
        x.grad.numpy(), 3.0 * values[:, 0, 0]
    )  # the second launch overwrites the results of the first
    assert wp.volume_lookup_f(volume.id, 1, 0, 0) == 15.0 * values[1, 0, 0]


def test_launches_see_values_that_were_stored_before_them(device):
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0)
    stored = [wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), wp.full(4, 5.0, dtype=float)]
    x, outs = (
        wp.ones(4, dtype=float, requires_grad=True),
        [wp.zeros(4, dtype=float, requires_grad=True) for _ in stored],
    )
    with wp.Tape() as tape:
        for values, out in zip(stored, outs):
            wp.launch(put, 4, [volume.id, values])
            wp.launch(looked_up, 4, [volume.id, x, out])
    tape.backward(grads={out: wp.ones(4, dtype=float) for out in outs})
    assert x.grad.list() == [6.0, 7.0, 8.0, 9.0]


def test_arrays_that_values_do_not_follow_are_refused():
    """The gradient of an array would be lost where values are rounded to integers."""
    values = wp.array(np.ones((2, 3, 4)), dtype=float, requires_grad=True)
    with pytest.raises(RuntimeError, match="load_from_numpy has no gradient, and ndarray requires one"), wp.Tape():
        wp.Volume.load_from_numpy(values, bg_value=True)
    with wp.Tape():
        assert wp.Volume.load_from_numpy(values.numpy()).get_voxel_count() == 512

    def program(a):
        wp.Volume.load_from_numpy(a, bg_value=True)
        return a

    with pytest.raises(RuntimeError, match="load_from_numpy"):
        wp.jvp(program, (values,), (values,))


@wp.kernel
def put_squares(volume: wp.uint64, x: wp.array(dtype=float)):
    i = wp.tid()
    wp.volume_store(volume, i, 1, 2, x[i] * x[i])


@wp.kernel
def weighted(volume: wp.uint64, sums: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(sums, 0, wp.volume_lookup_f(volume, i, 1, 2) * float(i + 1))


def from_address(volume):
    return wp.Volume.load_from_address(volume.array().ptr, volume.array().size)


COPIES = {
    "array": lambda volume: wp.Volume(volume.array()),
    "to": lambda volume: wp.Volume(volume.array().to("cpu")),
    "address": from_address,
}


@pytest.mark.cpu
@pytest.mark.parametrize("way", COPIES)
def test_gradients_go_through_copies_of_volumes(way):
    x = wp.array([0.5, -1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    sums = wp.zeros(1, dtype=float, requires_grad=True)
    volume = wp.Volume.load_from_numpy(np.ones((8, 8, 8)), voxel_size=1.0, bg_value=0.5)
    volume.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(put_squares, 4, [volume.id, x])
        copied = COPIES[way](volume)
        wp.launch(weighted, 4, [copied.id, sums])
    tape.backward(sums)
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.numpy() * [1, 2, 3, 4])


@pytest.mark.cpu
@pytest.mark.parametrize("way", COPIES)
def test_tangents_go_through_copies_of_volumes(way):
    def program(x):
        volume, sums = wp.Volume.load_from_numpy(np.ones((8, 8, 8)), bg_value=0.5), wp.zeros(1, dtype=float)
        wp.launch(put_squares, 4, [volume.id, x])
        copied = COPIES[way](volume)
        wp.launch(weighted, 4, [copied.id, sums])
        return sums

    x = wp.array([0.5, -1.0, 2.0, 3.0], dtype=float)
    _, tangent = wp.jvp(program, (x,), (wp.ones(4, dtype=float),))
    np.testing.assert_allclose(tangent.numpy(), [np.sum(2 * x.numpy() * [1, 2, 3, 4])])
