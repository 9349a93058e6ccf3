"""Samples beside voxels that are infinite or NaN, and arrays of values that are too short, against sums in float64."""

import itertools

import numpy as np
import pytest

import omni.warp_core as wp

rng = np.random.default_rng(7)
FIELD = rng.normal(size=(6, 6, 6)).astype(np.float32)
FIELD[rng.random(FIELD.shape) < 0.1] = np.inf
FIELD[rng.random(FIELD.shape) < 0.1] = np.nan
PLACES = np.concatenate(
    [
        rng.integers(-3, 9, (200, 3)),  # at voxels
        rng.uniform(-3, 9, (400, 3)),
        np.where(rng.random((400, 3)) < 0.5, rng.integers(-3, 9, (400, 3)), rng.uniform(-3, 9, (400, 3))),
    ]
).astype(np.float32)


def expected(background):
    """The weighted sum of the voxels that have a weight."""
    out, low = np.zeros(len(PLACES)), np.floor(PLACES).astype(int)
    for corner in itertools.product((0, 1), repeat=3):
        at = low + corner
        inside = ((at >= 0) & (at < 6)).all(1)
        values = np.where(inside, FIELD[tuple(np.where(inside[:, None], at, 0).T)], background)
        weights = np.where(corner, PLACES.astype(float) - low, 1.0 - (PLACES.astype(float) - low)).prod(1)
        with np.errstate(invalid="ignore"):
            out += np.where(weights == 0.0, 0.0, weights * values)
    return out


@wp.kernel
def sample(
    volume: wp.uint64, places: wp.array(dtype=wp.vec3), values: wp.array(dtype=float), rest: float,
    out: wp.array2d(dtype=float),
):  # fmt: skip
    i = wp.tid()
    grad = wp.vec3()
    out[i, 0] = wp.volume_sample_f(volume, places[i], wp.Volume.LINEAR)
    out[i, 1] = wp.volume_sample_grad_f(volume, places[i], wp.Volume.LINEAR, grad)
    out[i, 2] = wp.volume_sample_index(volume, places[i], wp.Volume.LINEAR, values, rest)
    out[i, 3] = wp.volume_sample_grad_index(volume, places[i], wp.Volume.LINEAR, values, rest, grad)


@pytest.mark.parametrize("background", [np.inf, -np.inf, np.nan, 0.5])
def test_voxels_without_a_weight_do_not_count(background):
    volume = wp.Volume.load_from_numpy(FIELD, bg_value=float(background))
    out = wp.zeros((len(PLACES), 4), dtype=float)
    wp.launch(
        sample, len(PLACES), [volume.id, wp.array(PLACES, dtype=wp.vec3), volume.get_voxel_values(), background, out]
    )
    wanted = np.repeat(expected(background)[:, None], 4, axis=1)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=0, atol=3e-6)
    assert np.isinf(wanted).any() or not np.isinf(background)


@wp.kernel
def sample_vectors(volume: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    out[wp.tid()] = wp.volume_sample_v(volume, places[wp.tid()], wp.Volume.LINEAR)


def test_components_are_apart():
    field = np.stack([FIELD, np.ones_like(FIELD), np.zeros_like(FIELD)], -1)
    volume = wp.Volume.load_from_numpy(field, bg_value=(np.inf, 1.0, 0.0))
    out = wp.zeros(len(PLACES), dtype=wp.vec3)
    wp.launch(sample_vectors, len(PLACES), [volume.id, wp.array(PLACES, dtype=wp.vec3), out])
    np.testing.assert_allclose(out.numpy()[:, 0], expected(np.inf), rtol=0, atol=3e-6)
    np.testing.assert_allclose(out.numpy()[:, 1:], [[1.0, 0.0]] * len(PLACES), rtol=0, atol=3e-7)


@wp.kernel
def sample_array(volume: wp.uint64, values: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = wp.volume_sample_index(volume, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR, values, -1.0)


@wp.kernel
def sample_array_of_vectors(volume: wp.uint64, values: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    jacobian = wp.mat33()
    value = wp.volume_sample_grad_index(volume, wp.vec3(), wp.Volume.LINEAR, values, wp.vec3(), jacobian)
    out[0] = value[0]


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize(("kernel", "dtype"), [(sample_array, float), (sample_array_of_vectors, wp.vec3)])
def test_an_array_with_fewer_elements_than_voxels_is_an_error(kernel, dtype, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    volume = wp.Volume.allocate_by_voxels(wp.array([[0, 0, 0], [1, 0, 0], [9, 9, 9]], dtype=wp.vec3i), voxel_size=1.0)
    out = wp.zeros(1, dtype=float)
    wp.launch(kernel, 1, [volume.id, wp.ones(3, dtype=dtype), out])
    assert out.list() == [1.0]
    for count in (0, 2):
        with pytest.raises(wp.KernelError, match=f"voxel_data has {count} elements, but the volume has 3 voxels"):
            wp.launch(kernel, 1, [volume.id, wp.ones(count, dtype=dtype), out])
