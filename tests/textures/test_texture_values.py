"""Textures as values: made, copied, passed to kernels in all ways, and refused where they are wrong."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import TextureAddressMode as Address
from omni.warp_core import TextureFilterMode as Filter

DATA = np.arange(8, dtype=np.float32).reshape(2, 4)  # powers of two, so that places of centres are exact


@wp.struct
class Layer:
    strength: float
    tex: wp.Texture2D


@wp.kernel
def sample(tex: wp.Texture2D, places: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, places[i], dtype=float)


@wp.kernel
def sample_layer(layer: Layer, places: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = layer.strength * wp.texture_sample(layer.tex, places[i], dtype=float)


@wp.kernel
def sample_layers(layers: wp.array(dtype=Layer), places: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    layer = layers[i % layers.shape[0]]
    out[i] = layer.strength * wp.texture_sample(layer.tex, places[i], dtype=float)


@wp.kernel
def sample_any(textures: wp.array(dtype=wp.Texture2D), places: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(textures[i % textures.shape[0]], places[i], dtype=float)


@wp.func
def chosen(first: wp.Texture2D, second: wp.Texture2D, is_first: bool) -> wp.Texture2D:
    tex = second
    if is_first:
        tex = first
    return tex


@wp.kernel
def sample_chosen(first: wp.Texture2D, second: wp.Texture2D, out: wp.array(dtype=float)):
    i = wp.tid()
    tex = chosen(first, second, i % 2 == 0)
    out[i] = wp.texture_sample(tex, 0.5, 0.5, dtype=float) + 1000.0 * float(tex.width) + 100.0 * float(tex.height)


def centres(shape=DATA.shape):
    """The places of all texels, and room for samples."""
    rows, columns = np.indices(shape).reshape(2, -1) + 0.5
    places = np.stack([columns / shape[1], rows / shape[0]], axis=1)
    return wp.array(places, dtype=wp.vec2), wp.zeros(len(places), dtype=float)


def texels(tex):
    """What a kernel finds at the centres of texels."""
    places, out = centres((tex.height, tex.width))
    wp.launch(sample, dim=out.size, inputs=[tex, places, out], device=tex.device)
    return out.numpy().reshape(tex.height, tex.width)


class TestMaking:
    def test_members(self, device):
        tex = wp.Texture3D(np.zeros((2, 3, 4, 2), np.uint8), address_mode=(0, 3), address_mode_v=2)
        assert (tex.width, tex.height, tex.depth, tex.num_channels, tex.ndim) == (4, 3, 2, 2, 3)
        assert tex.dtype is wp.uint8 and tex.device is device and tex.id != 0
        modes = tex.address_mode_u, tex.address_mode_v, tex.address_mode_w
        assert modes == (Address.WRAP, Address.MIRROR, Address.CLAMP)
        assert tex.filter_mode is Filter.LINEAR and tex.mip_filter_mode is Filter.LINEAR
        assert tex.normalized_coords and tex.num_mip_levels == 1 and not tex.is_mipmapped and not tex.requires_grad
        assert repr(tex) == f"Texture3D(4x3x2, 2 uint8, LINEAR, device={device})"
        assert isinstance(tex, wp.Texture)

    def test_data_of_all_kinds(self, device):
        for data in (DATA, DATA[..., None], np.asfortranarray(DATA), np.repeat(DATA, 2, axis=1)[:, ::2]):
            assert (texels(wp.Texture2D(data)) == DATA).all()
            given = wp.array(np.ascontiguousarray(data), dtype=float)
            assert (texels(wp.Texture2D(given)) == DATA).all()
        wide = wp.array(np.repeat(DATA, 2, axis=1), dtype=float)
        assert (texels(wp.Texture2D(wide[:, ::2])) == DATA).all()
        vectors = wp.array(np.dstack([DATA, -DATA]), dtype=wp.vec2)
        tex = wp.Texture2D(vectors)
        assert tex.num_channels == 2 and (texels(tex) == DATA).all()
        bytes_ = wp.array(np.full((2, 4, 4), 255, np.uint8), dtype=wp.vec4ub)
        assert (texels(wp.Texture2D(bytes_)) == 1.0).all()

    def test_data_are_copied(self, device):
        data, given = DATA.copy(), wp.array(DATA, dtype=float)
        first, second = wp.Texture2D(data), wp.Texture2D(given)
        data[:], _ = 0.0, given.zero_()
        assert (texels(first) == DATA).all() and (texels(second) == DATA).all()

    def test_without_data(self, device):
        tex = wp.Texture2D(width=4, height=2, num_channels=2, dtype=wp.int16)
        assert tex.dtype is wp.int16 and (texels(tex) == 0.0).all()
        assert wp.Texture1D(width=7, num_channels=1).dtype is wp.float32

    @pytest.mark.parametrize(
        ("options", "kind", "text"),
        [
            ({}, ValueError, "height: expected 1 to 2\\*\\*24 texels, got 0"),
            ({"width": 4, "height": 3}, ValueError, "num_channels: texels have 1, 2 or 4 numbers, got 0"),
            ({"data": DATA, "width": 5}, ValueError, "width: 5 was given, but the data have 4"),
            ({"data": DATA, "num_channels": 2}, ValueError, "num_channels: 2 was given, but the data have 1"),
            ({"data": DATA, "dtype": wp.uint8}, ValueError, "dtype: uint8 was given, but the data are of float32"),
            ({"data": DATA.astype(float)}, ValueError, "not of float64; convert the data"),
            ({"data": DATA > 0}, ValueError, "not of bool"),
            ({"data": DATA.tolist()}, TypeError, "expected an array of NumPy or wp.array, got list"),
            ({"data": np.zeros((3, 4, 3), np.uint8)}, ValueError, "got 3; add a channel to RGB data"),
            ({"data": np.zeros(4, np.uint8)}, ValueError, "expected the shape \\(height, width\\)"),
            ({"data": np.zeros((2, 2, 2, 2), np.uint8)}, ValueError, "expected the shape \\(height, width\\)"),
            ({"data": np.zeros((0, 4), np.uint8)}, ValueError, "height: expected 1 to"),
            ({"width": 2**20, "height": 2**20, "num_channels": 1}, ValueError, "numbers, more than 2\\*\\*31 - 1"),
            ({"width": 2**25, "height": 1, "num_channels": 1}, ValueError, "width: expected 1 to 2\\*\\*24"),
            ({"width": -1, "height": 1, "num_channels": 1}, ValueError, "width: expected 1 to"),
            ({"width": 1.5, "height": 1, "num_channels": 1}, TypeError, "width: expected an integer, got float"),
            ({"data": DATA, "num_mip_levels": 4}, ValueError, "num_mip_levels: expected 0 \\(all\\) to 3"),
            ({"data": DATA, "num_mip_levels": -1}, ValueError, "num_mip_levels: expected"),
            ({"data": DATA, "address_mode": 7}, ValueError, "address_mode_u: expected wp.TextureAddressMode.WRAP or"),
            ({"data": DATA, "address_mode": "wrap"}, TypeError, "address_mode_u: expected .*, got str"),
            ({"data": DATA, "filter_mode": 2}, ValueError, "filter_mode: expected wp.TextureFilterMode.CLOSEST or"),
            ({"data": DATA.astype(int).astype(np.int32), "filter_mode": 1}, ValueError, "cannot be blended"),
            ({"data": DATA.astype(np.uint32), "mip_filter_mode": 1}, ValueError, "mip_filter_mode: integers of"),
            ({"data": DATA, "cuda_array": 1}, ValueError, "cuda_array: textures of other programs"),
        ],
    )
    def test_what_is_refused(self, device, options, kind, text):
        with pytest.raises(kind, match=text):
            wp.Texture2D(**options)

    def test_the_base_class_makes_none(self):
        with pytest.raises(TypeError, match=r"write wp\.Texture1D, wp\.Texture2D or wp\.Texture3D"):
            wp.Texture(2, DATA)

    def test_flags_of_resources(self):
        assert [flag.value for flag in wp.TextureResourceFlags] == [0, 1, 2, 4, 8]


class TestCopies:
    @pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "i1", "u2", "i2", "u4", "i4"])
    def test_there_and_back(self, device, dtype):
        rng = np.random.default_rng(3)
        for channels in (1, 2, 4):
            data = rng.integers(0, 100, (3, 5, channels)).astype(dtype)
            tex = wp.Texture2D(width=5, height=3, num_channels=channels, dtype=wp.dtype_from_numpy(data.dtype))
            tex.copy_from(data)
            for out in (np.zeros_like(data), wp.zeros(data.shape, dtype=tex.dtype), np.zeros(data.shape, dtype)[::-1]):
                tex.copy_to(out)
                assert (np.asarray(out if isinstance(out, np.ndarray) else out.numpy()) == data).all()
            tex.copy_from(wp.array(2 * data, dtype=tex.dtype))
            other = wp.Texture2D(np.zeros_like(data), num_mip_levels=2)
            tex.copy_to(other)
            found = np.zeros_like(data)
            other.copy_to(found)
            assert (found == 2 * data).all()

    def test_levels_of_detail_follow(self, device):
        tex = wp.Texture2D(DATA, num_mip_levels=0)
        tex.copy_from(np.full((2, 4), 7.0, np.float32))
        assert (tex.texels.numpy() == 7.0).all() and tex.texels.size == 8 + 2 + 1

    def test_wrong_shapes_and_types(self, device):
        tex = wp.Texture2D(DATA)
        for wrong in (DATA.T, DATA.astype(np.float16), np.zeros((2, 4, 2), np.float32), wp.Texture2D(DATA.T.copy())):
            with pytest.raises(ValueError, match=r"src: the texture has float32 of shape \(2, 4, 1\), but src has"):
                tex.copy_from(wrong)
        with pytest.raises(ValueError, match="dst: the texture has"):
            tex.copy_to(np.zeros((4, 2), np.float32))
        for wrong in ([1.0], None):
            with pytest.raises(TypeError, match="expected an array"):
                tex.copy_from(wrong)

    def test_python_copies(self, device):
        tex = wp.Texture2D(DATA, address_mode=Address.MIRROR)
        twin, other = copy.copy(tex), tex.to(device)
        tex.assign(DATA + 1.0)
        assert (texels(twin) == DATA + 1.0).all()  # shares the numbers, as copies of structs do
        assert other.address_mode_v is Address.MIRROR
        if device.is_cpu:
            moved = pickle.loads(pickle.dumps(tex))
            assert isinstance(moved, wp.Texture2D) and (texels(moved) == DATA + 1.0).all()
            assert (texels(copy.deepcopy(tex)) == DATA + 1.0).all()

    def test_in_graphs(self, device):
        source, (places, out) = wp.array(DATA, dtype=float), centres()
        tex = wp.Texture2D(width=4, height=2, num_channels=1, dtype=float, num_mip_levels=0)
        with wp.ScopedCapture() as capture:
            tex.copy_from(source)
            wp.launch(sample, dim=out.size, inputs=[tex, places, out])
        for value in (3.0, 4.0):
            source.fill_(value)
            wp.capture_launch(capture.graph)
            assert (out.numpy() == value).all()
            assert (tex.texels.numpy() == value).all()

    @pytest.mark.cpu
    def test_copies_to_numpy_are_not_captured(self):
        tex = wp.Texture2D(DATA)
        with pytest.raises(RuntimeError, match="copying a texture to an array of NumPy"), wp.ScopedCapture():
            tex.copy_to(np.zeros_like(DATA))

    def test_a_graph_keeps_the_data_of_a_texture_that_it_makes(self):
        data = np.float32([1.0, 2.0, 3.0])
        with wp.ScopedCapture(device="cpu") as capture:
            tex = wp.Texture1D(data, device="cpu")
        data[:] = 9.0
        wp.capture_launch(capture.graph)
        assert tex.texels.list() == [1.0, 2.0, 3.0]


class TestInKernels:
    def test_members_of_structs(self, device):
        layer, (places, out) = Layer(2.0, wp.Texture2D(DATA)), centres()
        wp.launch(sample_layer, dim=8, inputs=[layer, places, out])
        assert (out.numpy() == 2.0 * DATA.ravel()).all()
        assert layer.tex.width == 4

    def test_elements_of_arrays(self, device):
        textures = [wp.Texture2D(DATA), wp.Texture2D((DATA * 20).astype(np.uint8)), wp.Texture2D(DATA, filter_mode=0)]
        given = wp.array(textures, dtype=wp.Texture2D)
        layers = wp.array([Layer(3.0, tex) for tex in textures], dtype=Layer)
        del textures  # arrays keep what their elements refer to
        wanted = DATA.ravel().astype(np.float64)
        wanted[1::3] *= 20 / 255
        places, out = centres()
        wp.launch(sample_any, dim=8, inputs=[given, places, out])
        np.testing.assert_allclose(out.numpy(), wanted, atol=1e-5)
        wp.launch(sample_layers, dim=8, inputs=[layers, places, out])
        np.testing.assert_allclose(out.numpy(), 3.0 * wanted, atol=1e-5)

    def test_through_functions(self, device):
        out = wp.zeros(4, dtype=float)
        wp.launch(sample_chosen, dim=4, inputs=[wp.Texture2D(DATA), wp.Texture2D(DATA[:2, :2].copy()), out])
        assert out.list() == [4203.5, 2202.5] * 2

    @pytest.mark.cpu
    def test_in_interpreted_kernels(self):
        layer, (places, out) = Layer(2.0, wp.Texture2D(DATA, device="cpu")), centres()
        wp.launch(sample_layer, dim=8, inputs=[layer, places, out], interpret=True)
        assert (out.numpy() == 2.0 * DATA.ravel()).all()

    def test_in_debug_mode(self, device):
        try:
            wp.config.mode = "debug"
            assert (texels(wp.Texture2D(DATA, num_mip_levels=0, address_mode=Address.BORDER)) == DATA).all()
        finally:
            wp.config.mode = "release"

    def test_arguments_of_other_types(self):
        places, out = centres()
        for wrong in (None, wp.Texture1D(np.zeros(3, np.float32)), DATA, 5):
            with pytest.raises(TypeError, match="argument `tex` expects struct Texture2D"):
                wp.launch(sample, dim=1, inputs=[wrong, places, out])

    def test_calls_that_do_not_compile(self):
        tex = wp.Texture2D(DATA, device="cpu")
        for wrong in (
            lambda: wp.texture_sample(tex, 0.5, 0.5),
            lambda: wp.texture_sample(tex, 0.5, dtype=float),
            lambda: wp.texture_sample(tex, 0.5, 0.5, 0.5, dtype=float),
            lambda: wp.texture_sample(tex, wp.vec3(), dtype=float),
            lambda: wp.texture_sample(tex, wp.float64(0.5), wp.float64(0.5), dtype=float),
            lambda: wp.texture_sample(tex, 0.5, 0.5, dtype=wp.vec3),
        ):
            with pytest.raises(TypeError, match="texture_sample"):
                wrong()


@wp.kernel
def sample_enlarged(tex: wp.Texture2D, width: int, channels: int, levels: int, out: wp.array(dtype=float)):
    tex.width, tex.channels, tex.levels = width, channels, levels
    out[wp.tid()] = wp.texture_sample(tex, 0.9, 0.9, dtype=float, lod=float(levels))


class TestWhatIsNoTexture:
    def test_a_member_that_was_not_set(self, device):
        places, out = centres()
        with pytest.raises(wp.KernelError, match="the texture has no texels"):
            wp.launch(sample_layer, dim=1, inputs=[Layer(), places, out])
            wp.synchronize()

    def test_a_member_that_was_not_set_outside_of_kernels(self):
        with pytest.raises(ValueError, match="the texture has no texels"):
            wp.texture_sample(Layer().tex, 0.5, 0.5, dtype=float)

    @pytest.mark.parametrize("dtype", [np.float32, np.uint8])
    def test_members_that_a_kernel_changed(self, device, dtype):
        """Nothing beyond the numbers of the texture is read, whatever its members say."""
        big, out = 2**31 - 1, wp.zeros(1, dtype=float)
        tex = wp.Texture2D(DATA.astype(dtype), num_mip_levels=0)
        there = 11 if dtype is np.float32 else 12
        for width, channels, levels in itertools.product((-5, 0, 4, 5, big), (-1, 0, 1, 2, big), (-9, 1, 3, 9, big)):
            counts = [max(width >> k, 1) * max(2 >> k, 1) * channels for k in range(min(max(levels, 1), 31))]
            inputs = [tex, width, channels, levels, out]
            if channels < 1 or sum(counts) > there:
                with pytest.raises(wp.KernelError, match="fewer than its extents say"):
                    wp.launch(sample_enlarged, dim=1, inputs=inputs)
                    wp.synchronize()
            else:
                wp.launch(sample_enlarged, dim=1, inputs=inputs)
