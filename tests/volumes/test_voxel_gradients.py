"""Gradients to values in volumes: of samples, look-ups and stores, against central differences in float64.

The judge interpolates a dense array in NumPy. It knows neither leaves nor tiles.
"""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lang.errors import CompileError

COUNT, SIDE = 24, 10  # places, and voxels along each axis: two leaves wide
GRAD = wp.types.matrix(shape=(3, 3), dtype=wp.float64)


@wp.kernel
def store_scalars(volume: wp.uint64, x: wp.array3d(dtype=wp.float64)):
    i, j, k = wp.tid()
    wp.volume_store(volume, i, j, k, x[i, j, k] * wp.sin(x[i, j, k]))


@wp.kernel
def store_vectors(volume: wp.uint64, x: wp.array3d(dtype=wp.vec3d)):
    i, j, k = wp.tid()
    wp.volume_store(volume, i, j, k, wp.cw_mul(x[i, j, k], x[i, j, k]))


@wp.kernel
def read_scalars(volume: wp.uint64, places: wp.array(dtype=wp.vec3), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    p, grad = places[i], wp.vec3d()
    value = wp.volume_sample_grad(volume, p, wp.Volume.LINEAR, grad, dtype=wp.float64)
    nearest = wp.volume_sample(volume, p, wp.Volume.CLOSEST, dtype=wp.float64)
    looked = wp.volume_lookup(volume, int(p[0]), int(p[1]), int(p[2]), dtype=wp.float64)
    linear = wp.volume_sample(volume, p, wp.Volume.LINEAR, dtype=wp.float64)
    loss[i] = value * linear + wp.dot(grad, grad) + nearest * looked * looked


@wp.kernel
def read_vectors(volume: wp.uint64, places: wp.array(dtype=wp.vec3), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    p, grad = places[i], GRAD()
    value = wp.volume_sample_grad(volume, p, wp.Volume.LINEAR, grad, dtype=wp.vec3d)
    nearest = wp.volume_sample(volume, p, wp.Volume.CLOSEST, dtype=wp.vec3d)
    looked = wp.volume_lookup(volume, int(p[0]), int(p[1]), int(p[2]), dtype=wp.vec3d)
    linear = wp.volume_sample(volume, p, wp.Volume.LINEAR, dtype=wp.vec3d)
    loss[i] = wp.dot(value, linear) + wp.ddot(grad, grad) + nearest[0] * wp.dot(looked, looked)


def judged(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The losses of `read_...` for a dense array of four dimensions."""
    p = places.astype(float)
    low, near = np.floor(p).astype(int), np.round(p).astype(int)
    corners = low[:, None, None, None] + np.moveaxis(np.indices((2, 2, 2)), 0, -1)
    cubes, w = values[tuple(np.moveaxis(corners, -1, 0))], p - low
    at, step = np.stack([1 - w, w], axis=-1).transpose(1, 0, 2), np.broadcast_to([-1.0, 1.0], (len(p), 2))
    along = [[step if a == b else at[b] for b in range(3)] for a in range(3)]
    value, *slopes = (np.einsum("nijkc,ni,nj,nk->nc", cubes, *parts) for parts in [at, *along])
    nearest, looked = values[tuple(near.T)], values[tuple(low.T)]
    squares = sum(np.square(each).sum(1) for each in (value, *slopes))
    return squares + nearest[:, 0] * np.square(looked).sum(1)


def differences(f, x: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Central differences of f, in float64, of the elements of x that may matter."""
    found, h = np.zeros_like(x), 1e-6
    for i in map(tuple, np.argwhere(used)):
        step = np.zeros_like(x)
        step[i] = h
        found[i] = (f(x + step) - f(x - step)) / (2 * h)
    return found


def places_in_cubes(rng) -> np.ndarray:
    part = rng.uniform(0.05, 0.45, (COUNT, 3)) + rng.choice([0.0, 0.5], (COUNT, 3))
    return (rng.integers(0, SIDE - 1, (COUNT, 3)) + part).astype(np.float32)


CASES = {
    "scalars": (store_scalars, read_scalars, wp.float64, 1, lambda x: x * np.sin(x)),
    "vectors": (store_vectors, read_vectors, wp.vec3d, 3, np.square),
}


class Case:
    """A volume, what is stored there, places, weights of losses, and derivatives of the weighted sum."""

    def __init__(self, name: str):
        rng = np.random.default_rng(3)
        self.store, self.read, self.dtype, width, stored = CASES[name]
        self.x, self.places = rng.normal(size=(SIDE, SIDE, SIDE, width)), places_in_cubes(rng)
        self.weights = rng.normal(size=COUNT)
        used = np.zeros(self.x.shape, bool)
        for low in np.floor(self.places).astype(int):
            used[tuple(slice(a, a + 2) for a in low)] = True
        self.to_values = differences(self.total, self.x, used)
        self.to_x = differences(lambda x: self.total(stored(x)), self.x, used)

    def total(self, values: np.ndarray) -> float:
        return float(judged(values, self.places) @ self.weights)

    def array(self, rows: np.ndarray, **options) -> wp.array:
        return wp.array(rows[..., 0] if rows.shape[-1] == 1 else rows, dtype=self.dtype, **options)

    def volume(self) -> wp.Volume:
        return wp.Volume.load_from_numpy(self.array(self.x).numpy(), bg_value=self.dtype())

    def losses(self) -> list[wp.array]:
        return [wp.array(self.places, dtype=wp.vec3), wp.zeros(COUNT, dtype=wp.float64, requires_grad=True)]

    def seeds(self) -> wp.array:
        return wp.array(self.weights, dtype=wp.float64)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return Case(request.param)


def in_box(volume: wp.Volume, rows: np.ndarray) -> np.ndarray:
    """Rows of voxels as an array over the box, and whether all others are zero."""
    voxels, rows = volume.get_voxels().numpy(), rows.reshape(volume.get_voxel_count(), -1)
    dense = np.zeros((16, 16, 16, rows.shape[1]))
    dense[tuple(voxels.T)] = rows
    assert not dense[SIDE:].any() and not dense[:, SIDE:].any() and not dense[:, :, SIDE:].any()
    return dense[:SIDE, :SIDE, :SIDE]


def test_gradients_of_samples_to_values(case, device):
    volume, (places, loss) = case.volume(), case.losses()
    volume.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(case.read, COUNT, [volume.id, places, loss])
    assert np.allclose(loss.numpy(), judged(case.x, case.places))
    tape.backward(grads={loss: case.seeds()})
    assert np.allclose(in_box(volume, volume.grad.numpy()), case.to_values, rtol=1e-6, atol=1e-7)
    assert np.abs(case.to_values).max() > 1.0


def test_gradients_go_through_stores(case, device):
    volume, (places, loss) = case.volume(), case.losses()
    x = case.array(case.x, requires_grad=True)
    volume.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(case.store, (SIDE,) * 3, [volume.id, x])
        wp.launch(case.read, COUNT, [volume.id, places, loss])
    wp.launch(case.store, (SIDE,) * 3, [volume.id, case.array(case.x + 1.0)])  # too late to matter
    tape.backward(grads={loss: case.seeds()})
    assert np.allclose(x.grad.numpy().reshape(case.x.shape), case.to_x, rtol=1e-6, atol=1e-7)


def test_gradients_go_through_load_from_numpy(case, device):
    (places, loss), x = case.losses(), case.array(case.x, requires_grad=True)
    with wp.Tape() as tape:
        volume = wp.Volume.load_from_numpy(x, bg_value=case.dtype())
        wp.launch(case.read, COUNT, [volume.id, places, loss])
    tape.backward(grads={loss: case.seeds()})
    assert np.allclose(x.grad.numpy().reshape(case.x.shape), case.to_values, rtol=1e-6, atol=1e-7)


def test_tangents_go_through_stores(case, device):
    volume, (places, loss) = case.volume(), case.losses()
    direction = np.random.default_rng(5).normal(size=case.x.shape)

    def program(x):
        wp.launch(case.store, (SIDE,) * 3, [volume.id, x])
        wp.launch(case.read, COUNT, [volume.id, places, loss])
        return loss

    _, tangent = wp.jvp(program, (case.array(case.x),), (case.array(direction),))
    assert np.isclose(tangent.numpy() @ case.weights, np.sum(case.to_x * direction), rtol=1e-6)


def test_gradients_to_a_copy_of_the_values(case):
    volume = case.volume()
    volume.requires_grad = True
    with wp.Tape() as tape:
        values = volume.get_voxel_values()
    seeds = np.random.default_rng(6).normal(size=values.numpy().shape)
    tape.backward(grads={values: wp.array(seeds, dtype=case.dtype)})
    assert np.array_equal(volume.grad.numpy().reshape(seeds.shape), seeds)


# -- one voxel, for what happens between launches ----------------------------------------------------------------------


@wp.kernel
def put(volume: wp.uint64, x: wp.array(dtype=float)):
    i = wp.tid()
    wp.volume_store_f(volume, i, 0, 0, x[i])


@wp.kernel
def square(volume: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_lookup_f(volume, i, 0, 0) * wp.volume_lookup_f(volume, i, 0, 0)


@wp.kernel
def scale(volume: wp.uint64, by: float):
    i = wp.tid()
    wp.volume_store_f(volume, i, 0, 0, by * wp.volume_lookup_f(volume, i, 0, 0))


@wp.kernel
def move(source: wp.uint64, target: wp.uint64):
    i = wp.tid()
    wp.volume_store_f(target, i + 1, 0, 0, 2.0 * wp.volume_lookup_f(source, i, 0, 0))


@wp.kernel
def put_of_array(ids: wp.array(dtype=wp.uint64), x: wp.array(dtype=float)):
    i = wp.tid()
    wp.volume_store_f(ids[0], i, 0, 0, x[i])


@wp.kernel
def square_of_array(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_lookup_f(ids[0], i, 0, 0) * wp.volume_lookup_f(ids[0], i, 0, 0)


def line(values, **options) -> wp.Volume:
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0)
    wp.launch(put, len(values), [volume.id, wp.array(values, dtype=float)])
    return volume


def ones(n: int) -> wp.array:
    return wp.ones(n, dtype=float)


def test_a_store_takes_the_gradient_over(device):
    volume = line([1.0, 2.0, 3.0])
    volume.requires_grad = True
    out = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, [volume.id, out])
        wp.launch(scale, 3, [volume.id, 3.0])
        wp.launch(square, 3, [volume.id, out])
        wp.launch(put, 1, [volume.id, wp.array([7.0], dtype=float)])
    tape.backward(grads={out: ones(3)})
    # the second launch of `square` overwrites the results of the first: d(9 x^2) = 18 x
    assert volume.grad.numpy()[0, ::64][:3].tolist() == [18.0, 36.0, 54.0]
    assert wp.volume_lookup_f(volume.id, 0, 0, 0) == 7.0


def test_two_ids_of_one_volume(device):
    """Stores through one id are seen through the other: out[1] = (2 x[0])^2 for a launch of one thread."""
    volume = line([3.0, 5.0])
    volume.requires_grad = True
    out = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(move, 1, [volume.id, volume.id])
        wp.launch(square, 2, [volume.id, out])
    tape.backward(grads={out: ones(2)})
    assert volume.grad.numpy()[0, ::64][:2].tolist() == [2.0 * 3.0 + 8.0 * 3.0, 0.0]


def test_values_that_an_unrecorded_store_changes_are_refused(device):
    volume = line([1.0, 2.0])
    volume.requires_grad = True
    x, out = wp.array([3.0, 4.0], dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"was overwritten at .*record_tape"), wp.Tape() as tape:
        wp.launch(put, 2, [volume.id, x])
        wp.launch(scale, 2, [volume.id, 5.0], record_tape=False)
        wp.launch(square, 2, [volume.id, out])
        tape.backward(grads={out: ones(2)})


def test_gradients_do_not_change_with_later_values(device):
    volume = line([1.0, 2.0])
    volume.requires_grad = True
    out = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 2, [volume.id, out])
    wp.launch(scale, 2, [volume.id, 5.0])
    tape.backward(grads={out: ones(2)})
    assert volume.grad.numpy()[0, ::64][:2].tolist() == [2.0, 4.0]


def test_a_volume_without_a_gradient_ends_it(device):
    volume = line([1.0, 2.0])
    x, out = wp.array([3.0, 4.0], dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"`volume_values`.* reads an array without a gradient"), wp.Tape() as tape:
        wp.launch(put, 2, [volume.id, x])
        wp.launch(square, 2, [volume.id, out])
        tape.backward(grads={out: ones(2)})
    tape.reset()
    volume.requires_grad = False  # says that nothing is to flow through it
    with tape:
        wp.launch(put, 2, [volume.id, x])
        wp.launch(square, 2, [volume.id, out])
    tape.backward(grads={out: ones(2)})
    assert x.grad.list() == [0.0, 0.0]


def test_a_gradient_that_comes_late_is_refused():
    volume, out = line([1.0, 2.0]), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 2, [volume.id, out])
    volume.requires_grad = True
    with pytest.raises(RuntimeError, match="requires_grad after the launch"):
        tape.backward(grads={out: ones(2)})


def test_ids_in_arrays_are_refused():
    volume, out = line([1.0, 2.0]), wp.zeros(2, dtype=float, requires_grad=True)
    ids = wp.array([volume.id], dtype=wp.uint64)
    x = wp.ones(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape, pytest.raises(CompileError, match="gets the id of the volume from an array"):
        wp.launch(put_of_array, 2, [ids, x])
        tape.backward(grads={x: ones(2)})
    volume.requires_grad = True
    with wp.Tape(), pytest.raises(RuntimeError, match=r"The values of a wp\.Volume have a derivative"):
        wp.launch(square_of_array, 2, [ids, out])


def test_tiles_and_the_background_are_constants(device):
    """Voxels outside of leaves have no gradient, and stores there change nothing."""
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=5.0)
    volume.requires_grad = True
    x, out = wp.full(10, 2.0, dtype=float, requires_grad=True), wp.zeros(10, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(put, 10, [volume.id, x])
        wp.launch(square, 10, [volume.id, out])
    tape.backward(grads={out: ones(10)})
    assert out.list() == [4.0] * 8 + [25.0] * 2
    assert x.grad.list() == [4.0] * 8 + [0.0] * 2


def test_a_rebuild_keeps_that_gradients_are_wanted():
    points = wp.array([[0, 0, 0]], dtype=wp.vec3i)
    volume = wp.Volume.allocate_by_tiles(points, voxel_size=1.0, rebuildable=True, max_tiles=4)
    volume.requires_grad = True
    out = wp.zeros(2, dtype=float, requires_grad=True)
    before = volume.values
    before.fill_(3.0)
    with wp.Tape() as tape:
        wp.launch(square, 2, [volume.id, out])
    volume.rebuild(wp.array([[0, 0, 0], [8, 0, 0]], dtype=wp.vec3i))
    assert volume.requires_grad and volume.values.shape == (2, 512)
    tape.backward(grads={out: ones(2)})
    assert before.grad.numpy()[0, [0, 64]].tolist() == [6.0, 6.0]
    assert not volume.grad.numpy().any()


def test_fitting_values_by_descent():
    """Values that a program changes between tapes, as optimisers do."""
    volume, out = line([1.0, 2.0]), wp.zeros(2, dtype=float, requires_grad=True)
    volume.requires_grad = True
    for _ in range(30):
        with wp.Tape() as tape:
            wp.launch(square, 2, [volume.id, out])
        tape.backward(grads={out: ones(2)})
        values = volume.values
        values -= 0.1 * volume.grad
        tape.zero()
    assert abs(volume.values.numpy()).max() < 0.01


@pytest.mark.parametrize("background", [0, True, None], ids=["int", "bool", "indices"])
def test_volumes_without_floats_have_no_gradient(background):
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=background)
    volume.requires_grad = False
    with pytest.raises(TypeError, match=r"requires_grad: values of .* have no gradient"):
        volume.requires_grad = True
    assert volume.grad is None and not volume.requires_grad
    assert (volume.values is not None) == (background == 0 and background is not False)


@wp.kernel
def count_and_weigh(counts: wp.uint64, x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.volume_store_i(counts, i, 0, 0, wp.volume_lookup_i(counts, i, 0, 0) + 1)
    out[i] = x[i] * float(wp.volume_lookup_i(counts, i, 0, 0))


def test_integers_that_a_kernel_stores_are_factors_of_gradients(device):
    counts = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=4)
    x, out = wp.ones(3, dtype=float, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(count_and_weigh, 3, [counts.id, x, out])
    wp.launch(count_and_weigh, 3, [counts.id, x, out], record_tape=False)
    tape.backward(grads={out: ones(3)})
    assert x.grad.list() == [5.0, 5.0, 5.0]


def test_a_graph_tells_of_its_stores(device):
    volume = line([1.0, 2.0])
    volume.requires_grad = True
    out = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.ScopedCapture() as capture:
        wp.launch(scale, 2, [volume.id, 5.0])
    with wp.Tape() as tape:
        wp.launch(square, 2, [volume.id, out])
    wp.capture_launch(capture.graph)
    tape.backward(grads={out: ones(2)})
    assert volume.grad.numpy()[0, ::64][:2].tolist() == [2.0, 4.0]
    assert wp.volume_lookup_f(volume.id, 0, 0, 0) == 5.0


def test_stores_through_ids_in_arrays_are_seen(device):
    volume, x = line([1.0, 2.0]), wp.array([7.0, 8.0], dtype=float)
    volume.requires_grad = True
    out = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 2, [volume.id, out])
    wp.launch(put_of_array, 2, [wp.array([volume.id], dtype=wp.uint64), x])
    tape.backward(grads={out: ones(2)})
    assert volume.grad.numpy()[0, ::64][:2].tolist() == [2.0, 4.0]
