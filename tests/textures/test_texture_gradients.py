"""Gradients of samples against differences of the definition in float64."""

from functools import cache, partial

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import TextureAddressMode as Address
from omni.warp_core import TextureFilterMode as Filter

from .texture_reference import sampled

SHAPES = {1: (5,), 2: (4, 5), 3: (3, 4, 5)}
CLASSES = {1: wp.Texture1D, 2: wp.Texture2D, 3: wp.Texture3D}
PLACES = {1: float, 2: wp.vec2, 3: wp.vec3}
COUNT, STEP = 24, 1e-6


@wp.struct
class Image:
    tex: wp.Texture2D
    gain: float


@cache
def sampler(ndim, result):
    texture, place = CLASSES[ndim], PLACES[ndim]

    @wp.kernel
    def sample(tex: texture, places: wp.array(dtype=place), lods: wp.array(dtype=float), out: wp.array(dtype=result)):
        i = wp.tid()
        out[i] = wp.texture_sample(tex, places[i], dtype=result, lod=lods[i])

    return sample


@wp.kernel
def sample_image(image: Image, places: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = image.gain * wp.texture_sample(image.tex, places[i], dtype=float)


@wp.kernel
def sample_any(textures: wp.array(dtype=wp.Texture2D), places: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(textures[0], places[i], dtype=float)


def smooth_places(rng, shape, levels):
    """Places and levels of detail that differences of both sides agree at: no texel's centre or edge is close."""
    extents = np.array(shape[::-1])
    found, lods = [], []
    while len(found) < COUNT:
        place, lod = rng.uniform(-0.9, 1.9, len(shape)), rng.uniform(-0.4, levels - 0.6)
        scales = [np.maximum(extents >> level, 1) for level in range(levels)]
        texels = np.concatenate([2.0 * place * scale for scale in scales])
        if (np.abs(texels - texels.round()) > 0.03).all() and abs(2.0 * lod - round(2.0 * lod)) > 0.03:
            found.append(place)
            lods.append(lod)
    return np.array(found, np.float32), np.array(lods, np.float32)


def slope(f, x):
    return (f(x + STEP) - f(x - STEP)) / (2.0 * STEP)


def changed(x, k, value):
    return np.array([*x[:k], value, *x[k + 1 :]])


@pytest.mark.parametrize("options", [{}, {"filter_mode": Filter.CLOSEST}, {"mip_filter_mode": Filter.CLOSEST}])
@pytest.mark.parametrize("mode", list(Address))
@pytest.mark.parametrize(("ndim", "result"), [(1, float), (2, wp.vec4), (3, wp.vec2), (3, float)])
def test_gradients_are_differences(device, ndim, result, mode, options):
    rng = np.random.default_rng([ndim, mode])
    channels = {float: 1, wp.vec2: 2, wp.vec4: 4}[result]
    data = rng.normal(size=(*SHAPES[ndim], channels)).astype(np.float32)
    levels = 2
    places, lods = smooth_places(rng, SHAPES[ndim], levels)
    weights = rng.normal(size=(COUNT, channels)).astype(np.float32)
    source = wp.array(data, dtype=float, requires_grad=True)
    at = wp.array(places if ndim > 1 else places[:, 0], dtype=PLACES[ndim], requires_grad=True)
    detail = wp.array(lods, dtype=float, requires_grad=True)
    out = wp.zeros(COUNT, dtype=result, requires_grad=True)
    with wp.Tape() as tape:
        tex = CLASSES[ndim](source, address_mode=mode, num_mip_levels=levels, **options)
        wp.launch(sampler(ndim, result), dim=COUNT, inputs=[tex, at, detail, out])
    seed = weights if channels > 1 else weights[:, 0]
    tape.backward(grads={out: wp.array(seed, dtype=result)})

    linear, level_linear = (options.get(name, 1) == 1 for name in ("filter_mode", "mip_filter_mode"))
    judge = partial(sampled, modes=(mode,) * ndim, linear=linear, levels=levels, level_linear=level_linear)
    exact = data.astype(np.float64)
    of_places = np.zeros((COUNT, ndim))
    of_lods = np.zeros(COUNT)
    for i, (x, lod, weight) in enumerate(zip(places.astype(float), lods.astype(float), weights)):
        for k in range(ndim):
            of_places[i, k] = weight @ slope(lambda v, x=x, k=k: judge(exact, [*changed(x, k, v)], lod=lod), x[k])
        of_lods[i] = weight @ slope(lambda v, x=x: judge(exact, [*x], lod=v), lod)
    close = partial(np.testing.assert_allclose, rtol=1e-4, atol=2e-4)
    close(at.grad.numpy().reshape(COUNT, ndim), of_places)
    close(detail.grad.numpy(), of_lods)
    direction = rng.normal(size=data.shape)  # samples are linear in texels
    moved = sum(w @ judge(direction, [*map(float, x)], lod=float(lod)) for x, lod, w in zip(places, lods, weights))
    close((source.grad.numpy() * direction).sum(), moved)


def setting(data=None, requires_grad=True):
    data = np.arange(12, dtype=np.float32).reshape(3, 4) if data is None else data
    source = wp.array(data, dtype=wp.dtype_from_numpy(data.dtype), requires_grad=requires_grad)
    places = wp.array([[0.4, 0.4], [0.5, 0.6], [1.2, 0.3]], dtype=wp.vec2, requires_grad=True)
    return source, places, wp.zeros(3, dtype=float, requires_grad=True)


def sample(tex, places, out):
    wp.launch(sampler(2, float), dim=3, inputs=[tex, places, wp.zeros(3, dtype=float), out])


EXPECTED = [[4.0, 12.0], [4.0, 12.0], [0.0, 12.0]]  # steps of texels by the extents; CLAMP beyond the last


@pytest.mark.parametrize("kind", ["f4", "f2", "u1", "i4"])
def test_texels_that_change_before_the_gradient(device, kind):
    data = np.arange(12).reshape(3, 4).astype(kind)
    _, places, out = setting()
    tex = wp.Texture2D(data)
    with wp.Tape() as tape:
        sample(tex, places, out)
        tex.copy_from(np.zeros_like(data))
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    wanted = np.array(EXPECTED) / (255.0 if kind == "u1" else 1.0) * (kind != "i4")
    np.testing.assert_allclose(places.grad.numpy(), wanted, atol=1e-5)


def test_texels_of_two_times(device):
    source, places, out = setting()
    other, first = wp.array(np.ones((3, 4), np.float32), dtype=float, requires_grad=True), wp.zeros_like(out)
    first.requires_grad = True
    with wp.Tape() as tape:
        tex = wp.Texture2D(source)
        sample(tex, places, first)
        tex.copy_from(other)
        sample(tex, places, out)
    tape.backward(grads={first: wp.ones(3, dtype=float), out: wp.full(3, 10.0, dtype=float)})
    np.testing.assert_allclose(other.grad.numpy(), 10.0 * source.grad.numpy(), rtol=1e-6)
    assert source.grad.numpy().sum() == pytest.approx(3.0)


def test_a_texture_that_gets_data_with_gradients_later(device):
    source, places, out = setting()
    tex = wp.Texture2D(width=4, height=3, num_channels=1, num_mip_levels=0)
    with wp.Tape() as tape:
        tex.copy_from(source)
        sample(tex, places, out)
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    assert tex.requires_grad and source.grad.numpy().sum() == pytest.approx(3.0)


def test_through_copies_to_arrays_and_textures(device):
    source, places, out = setting()
    middle, other = wp.zeros((3, 4), dtype=float, requires_grad=True), wp.Texture2D(width=4, height=3, num_channels=1)
    with wp.Tape() as tape:
        wp.Texture2D(source).copy_to(middle)
        wp.Texture2D(middle).copy_to(other)
        sample(other, places, out)
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    assert source.grad.numpy().sum() == pytest.approx(3.0)


def test_texels_themselves(device):
    source, places, out = setting()
    tex = wp.Texture2D(source)
    with wp.Tape() as tape:
        sample(tex, places, out)
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    assert tex.texels.grad.numpy().sum() == pytest.approx(3.0) and (source.grad.numpy() == 0.0).all()


def test_members_of_structs(device):
    source, places, out = setting()
    with wp.Tape() as tape:
        tex = wp.Texture2D(source)
        wp.launch(sample_image, dim=3, inputs=[Image(tex, 2.0), places, out])
        tex.copy_from(np.zeros((3, 4), np.float32))
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    np.testing.assert_allclose(places.grad.numpy(), 2.0 * np.array(EXPECTED), rtol=1e-5)
    assert source.grad.numpy().sum() == pytest.approx(6.0)


def test_a_descent_finds_texels(device):
    """An image from samples of it, as from X-rays."""
    rng = np.random.default_rng(4)
    truth = rng.uniform(size=(8, 8)).astype(np.float32)
    places = wp.array(rng.uniform(size=(600, 2)), dtype=wp.vec2)
    lods, out = wp.zeros(600, dtype=float), wp.zeros(600, dtype=float, requires_grad=True)
    wp.launch(sampler(2, float), dim=600, inputs=[wp.Texture2D(truth), places, lods, out])
    measured = out.numpy().copy()
    tex = wp.Texture2D(wp.zeros((8, 8), dtype=float, requires_grad=True))
    optimizer = wp.optim.Adam([tex.texels], lr=0.05)
    for _ in range(150):
        with wp.Tape() as tape:
            wp.launch(sampler(2, float), dim=600, inputs=[tex, places, lods, out])
        tape.backward(grads={out: wp.array(out.numpy() - measured, dtype=float)})
        optimizer.step([tex.texels.grad])
        tape.zero()
    found = np.zeros((8, 8), np.float32)
    tex.copy_to(found)
    assert np.abs(found - truth).max() < 0.05


def test_forward_mode(device):
    source, places, _ = setting()
    steps, moves = wp.ones_like(source), wp.ones_like(places)

    def samples(source, places):
        out = wp.zeros(3, dtype=float)
        sample(wp.Texture2D(source, num_mip_levels=2), places, out)
        return out

    _, tangent = wp.jvp(samples, [source, places], [steps, moves])
    np.testing.assert_allclose(tangent.numpy(), 1.0 + np.sum(EXPECTED, axis=1), rtol=1e-5)


class TestRefused:
    @pytest.mark.parametrize("dtype", [wp.float16])
    def test_texels_that_have_no_gradients(self, device, dtype):
        data = wp.zeros((3, 4), dtype=dtype, requires_grad=True)
        with pytest.raises(ValueError, match="texels of float16 have no gradients"):
            wp.Texture2D(data)
        with pytest.raises(ValueError, match="texels of float16 have no gradients"):
            wp.Texture2D(width=4, height=3, num_channels=1, dtype=dtype).copy_from(data)

    def test_elements_of_arrays(self, device):
        _, places, out = setting()
        textures = wp.array([wp.Texture2D(np.ones((3, 4), np.float32))], dtype=wp.Texture2D)
        with pytest.raises(wp.CompileError, match="arrays found in elements of arrays have no gradient"), wp.Tape():
            wp.launch(sample_any, dim=3, inputs=[textures, places, out])
