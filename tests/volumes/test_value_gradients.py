"""Gradients with respect to values in arrays, and those of gradients of samples: against differences in float64."""

import numpy as np
import pytest

import omni.warp_core as wp

COUNT = 30  # places
MATRIX = wp.types.matrix(shape=(3, 3), dtype=wp.float64)


@wp.kernel
def of_scalars(
    volume: wp.uint64,
    places: wp.array(dtype=wp.vec3),
    values: wp.array(dtype=float),
    background: wp.array(dtype=float),
    loss: wp.array(dtype=float),
):
    i = wp.tid()
    p, grad = places[i], wp.vec3()
    value = wp.volume_sample_grad_index(volume, p, wp.Volume.LINEAR, values, background[0], grad)
    again = wp.volume_sample_index(volume, p, wp.Volume.LINEAR, values, background[0])
    nearest = wp.volume_sample_index(volume, p, wp.Volume.CLOSEST, values, background[0])
    loss[i] = value * again + wp.dot(grad, grad) + nearest * p[0] * p[1]


@wp.kernel
def of_vectors(
    volume: wp.uint64,
    places: wp.array(dtype=wp.vec3),
    values: wp.array(dtype=wp.vec3d),
    background: wp.array(dtype=wp.vec3d),
    loss: wp.array(dtype=float),
):
    i = wp.tid()
    p, jacobian = places[i], MATRIX()
    value = wp.volume_sample_grad_index(volume, p, wp.Volume.LINEAR, values, background[0], jacobian)
    nearest = wp.volume_sample_index(volume, p, wp.Volume.CLOSEST, values, background[0])
    again = wp.volume_sample_index(volume, p, wp.Volume.LINEAR, values, background[0])
    loss[i] = float(wp.dot(value, again) + wp.ddot(jacobian, jacobian)) + float(nearest[0]) * p[0] * p[1]


@wp.kernel
def of_volumes(scalars: wp.uint64, vectors: wp.uint64, places: wp.array(dtype=wp.vec3), loss: wp.array2d(dtype=float)):
    i = wp.tid()
    grad, jacobian = wp.vec3(), wp.mat33()
    value = wp.volume_sample_grad_f(scalars, places[i], wp.Volume.LINEAR, grad)
    loss[i, 0] = value * value + wp.dot(grad, grad)
    found = wp.volume_sample_grad(vectors, places[i], wp.Volume.LINEAR, jacobian, dtype=wp.vec3)
    loss[i, 1] = wp.dot(found, found) + wp.ddot(jacobian, jacobian)
    nearest = wp.volume_sample_grad_f(scalars, places[i], wp.Volume.CLOSEST, grad)
    loss[i, 1] = loss[i, 1] + nearest + wp.dot(grad, grad)


class Judge:
    """Losses of places whose cubes and nearest voxels are known, of rows of values and a background behind them."""

    def __init__(self, voxels: np.ndarray, places: np.ndarray):
        order = {tuple(v): n for n, v in enumerate(voxels.tolist())}
        self.low = np.floor(places)
        corners = self.low[:, None].astype(int) + np.argwhere(np.ones((2, 2, 2)))
        self.cubes = np.array([[order.get(tuple(c), -1) for c in cube] for cube in corners.tolist()])
        self.nearest = np.array([order.get(tuple(v), -1) for v in np.round(places).astype(int).tolist()])

    def interpolated(self, places: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The value at each place, and its derivatives in x, y and z."""
        cubes = rows[self.cubes].reshape(-1, 2, 2, 2, rows.shape[1])
        w = places - self.low
        at = [np.stack([1 - w[:, a], w[:, a]], axis=1) for a in range(3)]
        step = np.array([-1.0, 1.0]) + np.zeros((len(places), 1))
        parts = [[step if a == b else at[b] for b in range(3)] for a in range(3)]
        value, *slopes = (np.einsum("nijkc,ni,nj,nk->nc", cubes, *p) for p in [at, *parts])
        return value, np.stack(slopes, axis=1)

    def squares(self, places: np.ndarray, rows: np.ndarray) -> np.ndarray:
        value, slopes = self.interpolated(places, rows)
        return (value**2).sum(axis=1) + (slopes**2).sum(axis=(1, 2))

    def __call__(self, places: np.ndarray, values: np.ndarray, background: np.ndarray) -> np.ndarray:
        rows = np.concatenate([values, background])
        return self.squares(places, rows) + rows[self.nearest][:, 0] * places[:, 0] * places[:, 1]


def differences(f, x: np.ndarray) -> np.ndarray:
    """Central differences of the sum of f, in float64."""
    found, h = np.empty_like(x), 1e-5
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        found[i] = (f(x + step) - f(x - step)).sum() / (2 * h)
    return found


def places_away_from_borders(rng, low: int, high: int) -> np.ndarray:
    """Places that are not near a face of a cube, where a sample has no derivative, nor halfway between voxels."""
    part = rng.uniform(0.05, 0.45, (COUNT, 3)) + rng.choice([0.0, 0.5], (COUNT, 3))
    return (rng.integers(low, high, (COUNT, 3)) + part).astype(np.float32)


def indices(rng, width: int) -> tuple[wp.Volume, np.ndarray]:
    """A volume of indices, and values for its voxels."""
    voxels = rng.integers(-3, 3, (90, 3)).astype(np.int32)
    volume = wp.Volume.allocate_by_voxels(wp.array(voxels, dtype=wp.vec3i), voxel_size=1.0)
    return volume, rng.normal(size=(volume.get_voxel_count(), width))


def values(rng, width: int) -> tuple[wp.Volume, np.ndarray]:
    """A volume that has values, and an array of them."""
    volume = wp.Volume.load_from_numpy(rng.normal(size=(5, 6, 7)).astype(np.float32), bg_value=0.5)
    return volume, volume.get_voxel_values().numpy().reshape(-1, width)


CASES = {"scalars": (of_scalars, float, 1, indices), "vectors": (of_vectors, wp.vec3d, 3, indices)}
CASES["values of a volume"] = (of_scalars, float, 1, values)


@pytest.fixture(params=CASES)
def case(request, device):
    """A kernel, a volume with its other arguments, and the derivatives with respect to these."""
    kernel, dtype, width, make = CASES[request.param]
    rng = np.random.default_rng(1)
    volume, rows = make(rng, width)
    places = places_away_from_borders(rng, -4, 4)
    judge = Judge(volume.get_voxels().numpy(), places)
    given = [places, rows, rng.normal(size=(1, width))]
    given = [x.astype(np.float32).astype(float) for x in given]

    def along(n: int):
        return lambda x: judge(*given[:n], x, *given[n + 1 :])

    expected = [differences(along(n), given[n]) for n in range(3)]
    types = [wp.vec3, dtype, dtype]
    arrays = [
        wp.array(x.squeeze(1) if x.shape[1] == 1 else x, dtype=t, requires_grad=True) for x, t in zip(given, types)
    ]
    return kernel, volume, arrays, expected


def test_reverse_mode(case):
    kernel, volume, arrays, expected = case
    loss = wp.zeros(COUNT, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, COUNT, [volume.id, *arrays, loss])
    tape.backward(grads={loss: wp.ones(COUNT, dtype=float)})
    for a, derivative in zip(arrays, expected):
        assert np.allclose(a.grad.numpy().reshape(derivative.shape), derivative, rtol=2e-4, atol=2e-4)
        assert (abs(derivative) > 0.1).any()


def test_forward_mode(case):
    kernel, volume, arrays, expected = case
    rng = np.random.default_rng(2)
    directions = [rng.normal(size=d.shape).astype(np.float32) for d in expected]
    tangents = [wp.array(d.reshape(a.numpy().shape), dtype=a.dtype) for d, a in zip(directions, arrays)]
    loss = wp.zeros(COUNT, dtype=float)
    (found,) = wp.jvp(kernel, COUNT, [volume.id, *arrays], [loss], [None, *tangents, None])
    total = sum((d * e).sum() for d, e in zip(directions, expected))
    assert np.isclose(found.numpy().sum(), total, rtol=1e-3)


@pytest.fixture(scope="module")
def dense():
    """Values of voxels, places and the derivatives of both losses there."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(7, 7, 7, 4)).astype(np.float32)
    places = places_away_from_borders(rng, 0, 6)
    judge, rows = Judge(np.argwhere(np.ones((7, 7, 7))), places), values.reshape(-1, 4).astype(float)
    parts = [rows[:, :1], rows[:, 1:]]
    return values, places, [differences(lambda x, r=r: judge.squares(x, r), places.astype(float)) for r in parts]


def volumes_of(values: np.ndarray) -> list[wp.Volume]:
    return [wp.Volume.load_from_numpy(values[..., 0]), wp.Volume.load_from_numpy(values[..., 1:], bg_value=wp.vec3())]


def test_second_derivatives_of_volumes_in_reverse_mode(dense):
    values, places, expected = dense
    volumes = volumes_of(values)
    x, loss = wp.array(places, dtype=wp.vec3, requires_grad=True), wp.zeros((COUNT, 2), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(of_volumes, COUNT, [*(v.id for v in volumes), x, loss])
    for column, derivative in enumerate(expected):
        x.grad.zero_()
        seed = np.zeros((COUNT, 2), np.float32)
        seed[:, column] = 1.0
        tape.backward(grads={loss: wp.array(seed, dtype=float)})
        assert np.allclose(x.grad.numpy(), derivative, rtol=2e-3, atol=2e-3)


def test_second_derivatives_of_volumes_in_forward_mode(dense):
    values, places, expected = dense
    volumes = volumes_of(values)
    direction = np.random.default_rng(4).normal(size=places.shape).astype(np.float32)
    loss, x = wp.zeros((COUNT, 2), dtype=float), wp.array(places, dtype=wp.vec3)
    tangents = [None, None, wp.array(direction, dtype=wp.vec3), None]
    (found,) = wp.jvp(of_volumes, COUNT, [*(v.id for v in volumes), x], [loss], tangents)
    assert np.allclose(found.numpy().T, [(e * direction).sum(axis=1) for e in expected], rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("background", [2.5, wp.int64(2**40), (1.0, 2.0, 3.0), wp.vec4d()], ids=str)
def test_values_of_voxels_come_in_their_order(background, device):
    like = np.asarray(getattr(background, "value", background))
    dense = np.random.default_rng(5).integers(-99, 99, (9, 3, 20, *like.shape))
    volume = wp.Volume.load_from_numpy(dense, bg_value=background)
    found = volume.get_voxel_values()
    assert found.dtype is volume.dtype and found.device is device
    expected = np.empty((16, 8, 24, *like.shape))
    expected[:] = like
    expected[:9, :3, :20] = dense
    assert np.array_equal(found.numpy(), expected[tuple(volume.get_voxels().numpy().T)])


def test_a_volume_of_indices_has_no_values():
    volume = wp.Volume.allocate_by_tiles(wp.zeros(1, dtype=wp.vec3i), voxel_size=1.0, bg_value=None)
    with pytest.raises(TypeError, match="has no values"):
        volume.get_voxel_values()


@wp.kernel
def weighted(
    volume: wp.uint64, places: wp.array(dtype=wp.vec3), values: wp.array(dtype=float), loss: wp.array(dtype=float)
):
    i = wp.tid()
    wp.atomic_add(loss, 0, float(i + 1) * wp.volume_sample_index(volume, places[i], wp.Volume.LINEAR, values, 0.0))
    wp.atomic_add(loss, 0, 10.0 * values[wp.volume_lookup_index(volume, 1, 0, 0)])


def test_voxels_that_change_before_the_gradient(device):
    """The gradient of a launch goes to the elements that it read, though voxels have other numbers now."""
    rows = [wp.array(row, dtype=wp.vec3i) for row in ([[0, 0, 0], [1, 0, 0]], [[1, 0, 0], [5, 5, 5]], [[9, 9, 9]])]
    volume = wp.Volume.allocate_by_voxels(rows[0], voxel_size=1.0, rebuildable=True)
    places = wp.array([[0.25, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=wp.vec3)
    values, loss = (wp.zeros(n, dtype=float, requires_grad=True) for n in (2, 1))
    with wp.Tape() as tape:
        wp.launch(weighted, 2, [volume.id, places, values, loss])
        volume.rebuild(rows[1])
        wp.launch(weighted, 2, [volume.id, places, values, loss])
    volume.rebuild(rows[2])
    tape.backward(loss)
    assert values.grad.list() == [0.75 + (0.25 + 2.0 + 20.0), 0.25 + 2.0 + 20.0]
    assert volume.get_voxels().list() == [wp.vec3i(9, 9, 9)]
