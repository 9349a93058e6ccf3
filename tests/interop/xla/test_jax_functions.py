"""`wp.jax_callable`, `wp.register_ffi_callback`, names of warp-lang, and conversions of arrays, types and devices."""

import gc
import pickle
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.jax_experimental import ffi
from omni.warp_core.jax_experimental import jax_kernel as older_jax_kernel
from tests.interop.xla.jax_versions import enable_x64, ffi_call


@wp.kernel
def scale(a: wp.array(dtype=float), s: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i] * s


@wp.kernel
def scale_pairs(a: wp.array(dtype=wp.vec2), s: float, out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = a[i] * s


def both(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec2),
    s: float,
    c: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec2),
):
    wp.launch(scale, dim=a.shape, inputs=[a, s], outputs=[c])
    wp.launch(scale_pairs, dim=b.shape, inputs=[b, s], outputs=[d])


def grow(total: wp.array(dtype=float), x: wp.array(dtype=float), twice: wp.array(dtype=float)):
    wp.launch(scale, dim=x.shape, inputs=[total, 2.0], outputs=[twice])
    wp.launch(scale, dim=x.shape, inputs=[x, 10.0], outputs=[total])


a, b = jnp.arange(10, dtype=jnp.float32), jnp.arange(10, dtype=jnp.float32).reshape(5, 2)


@pytest.mark.parametrize("jitted", [False, True])
def test_a_callable_runs_a_function(jitted):
    f = wp.jax_callable(both, num_outputs=2)

    def call(a, b):
        return f(a, b, 2.0, output_dims={"c": a.shape, "d": b.shape})

    c, d = (jax.jit(call) if jitted else call)(a, b)
    assert (c == 2 * a).all() and (d == 2 * b).all()


def test_a_callable_has_in_outs_and_batches():
    f = wp.jax_callable(grow, num_outputs=2, in_out_argnames="total")
    x, total = jnp.ones((3, 4)) * jnp.arange(3.0)[:, None], jnp.full((3, 4), 7.0)
    new, twice = jax.vmap(f)(total, x)
    assert (new == 10 * x).all() and (twice == 14).all() and (total == 7).all()


def test_outputs_of_a_callable_begin_as_zeros():
    def nothing(a: wp.array(dtype=float), out: wp.array(dtype=float)):
        pass

    assert (wp.jax_callable(nothing)(a)[0] == 0).all()


def test_errors_of_a_callable():
    def writes(a: wp.array(dtype=float), out: wp.array(dtype=float)):
        wp.launch(scale, dim=a.shape, inputs=[out, 2.0], outputs=[a])

    with pytest.raises(Exception, match=r"(?s)in writes.*`out` is read-only"):
        jax.block_until_ready(wp.jax_callable(writes)(a))
    f = wp.jax_callable(both, num_outputs=2)
    with pytest.raises(TypeError, match="traced number"):
        jax.jit(lambda s: f(a, b, s))(2.0)
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.grad(lambda a: f(a, b, 2.0, output_dims={"c": 10, "d": 5})[0].sum())(a)
    assert [m.value for m in wp.JaxCallableGraphMode] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("known", [np.float32(2.0), jnp.float32(2.0), jnp.int32(2), jnp.array([2.0])])
def test_a_callable_takes_numbers_that_are_known(known):
    def times(a: wp.array[float], s: float, out: wp.array[float]):
        wp.launch(scale, dim=a.shape, inputs=[a, s], outputs=[out])

    f = wp.jax_callable(times)
    assert (f(a, known)[0] == 2 * a).all()
    assert (jax.jit(lambda a: f(a, known)[0])(a) == 2 * a).all()


def test_a_known_number_of_another_kind_is_refused():
    def times(a: wp.array[float], n: int, out: wp.array[float]):
        pass

    with pytest.raises(TypeError, match="`n`: expected int32"):
        wp.jax_callable(times)(a, jnp.float32(2.5))


class Factor:
    """A number that a bound method multiplies with."""

    def __init__(self, by: float):
        self.by = by

    def apply(self, a: wp.array[float], out: wp.array[float]):
        """Write the multiples of `a`."""
        wp.launch(scale, dim=a.shape, inputs=[a, self.by], outputs=[out])


def test_a_bound_method_is_called_on_its_object():
    two, three = Factor(2.0), Factor(3.0)
    f, g = wp.jax_callable(two.apply), wp.jax_callable(three.apply)
    assert (f(a)[0] == 2 * a).all() and (g(a)[0] == 3 * a).all()
    two.by = 4.0
    assert (f(a)[0] == 4 * a).all()
    with pytest.raises(TypeError, match="bound method of Python, got partial"):
        wp.jax_callable(partial(Factor.apply, two))


@wp.struct
class Holder:
    """A struct with an array."""

    x: wp.array[float]


def held(x):
    """A struct that holds an array."""
    made = Holder()
    made.x = x
    return made


@wp.kernel
def first(given: Holder, out: wp.array[float]):
    i = wp.tid()
    out[i] = given.x[i]


USES_OF_MEMORY = [
    lambda x: x.numpy(),
    lambda x: x.ptr,
    lambda x: x[0],
    lambda x: x[1:],
    lambda x: x.fill_(1.0),
    lambda x: x.__setitem__(0, 1.0),
    lambda x: np.asarray(x),
    lambda x: memoryview(x),
    lambda x: list(x),
    lambda x: wp.clone(x),
    lambda x: wp.to_jax(x),
    lambda x: wp.copy(wp.zeros(10, dtype=float), x),
    lambda x: wp.launch(scale, dim=10, inputs=[x, 1.0], outputs=[wp.zeros(10, dtype=float)]),
    lambda x: wp.launch(scale, dim=10, inputs=[wp.zeros(10, dtype=float), 1.0], outputs=[x]),
    lambda x: wp.launch(first, dim=10, inputs=[held(x)], outputs=[wp.zeros(10, dtype=float)]),
    lambda x: wp.array(x),
    lambda x: x + 1.0,
]


def test_arrays_that_a_function_keeps_are_refused_after_the_call():
    kept = []

    def keep(a: wp.array[float], out: wp.array[float]):
        kept.extend((a, out))
        if len(kept) > 2:
            raise RuntimeError("an error ends the call, too")

    f = wp.jax_callable(keep)
    wp.launch(scale, dim=10, inputs=[wp.zeros(10, dtype=float), 1.0], outputs=[wp.zeros(10, dtype=float)])
    jax.block_until_ready(f(a))
    with pytest.raises(Exception, match="ends the call"):
        jax.block_until_ready(f(a))
    assert len(kept) == 4
    for x in kept:
        assert x.shape == (10,) and x.size == 10 and x.dtype is wp.float32 and x.device.is_cpu
        for use in USES_OF_MEMORY:
            with pytest.raises((ValueError, TypeError, BufferError), match=r"has ended|freed|ArrayOfEndedCall"):
                use(x)
    assert "has ended" in repr(kept[0])


def test_a_mesh_may_get_new_points_in_each_call():
    kept = []

    def first_height(points: wp.array[wp.vec3], out: wp.array[float]):
        if kept:
            kept[0].points = points
        else:
            kept.append(wp.Mesh(points, wp.array([0, 1, 2], dtype=int)))
        out.fill_(kept[0].points.numpy()[0, 2])

    f = wp.jax_callable(first_height, output_dims=1)
    corners = jnp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert [float(f(corners + z)[0][0]) for z in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0]


def test_operations_are_pickled_after_a_call():
    kernel, function = wp.jax_kernel(scale), wp.jax_callable(both, num_outputs=2, output_dims={"c": 10, "d": 5})
    kernel(a, 2.0), function(a, b, 2.0)
    again = pickle.loads(pickle.dumps(kernel))
    assert (again(a, 3.0)[0] == 3 * a).all() and (kernel(a, 3.0)[0] == 3 * a).all()
    c, _ = pickle.loads(pickle.dumps(function))(a, b, 3.0)
    assert (c == 3 * a).all()


def test_buffers_that_a_callback_keeps_are_refused_after_the_call():
    kept = []
    wp.register_ffi_callback("omni_warp_test_keep", lambda inputs, outputs, *_: kept.extend((*inputs, *outputs)))
    jax.block_until_ready(ffi_call("omni_warp_test_keep", jax.ShapeDtypeStruct((10,), jnp.float32))(a))
    for x in kept:
        assert x.shape == (10,)
        with pytest.raises(ValueError, match="has ended"):
            np.asarray(x)
        with pytest.raises(ValueError, match="has ended"):
            wp.launch(scale, dim=10, inputs=[x, 1.0], outputs=[wp.zeros(10, dtype=float)])


def test_a_callback_gets_buffers_and_attributes():
    seen = {}

    def func(inputs, outputs, attrs, ctx):
        seen.update(attrs, stream=ctx.stream, shapes=[x.shape for x in (*inputs, *outputs)])
        wp.launch(scale, dim=inputs[0].shape, inputs=[inputs[0], attrs["by"]], outputs=[outputs[0]])
        wp.launch(scale_pairs, dim=inputs[1].shape[0], inputs=[inputs[1], attrs["by"]], outputs=[outputs[1]])

    wp.register_ffi_callback("omni_warp_test_scale", func)
    types = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (a, b)]
    call = ffi_call("omni_warp_test_scale", types)
    c, d = jax.jit(lambda a, b: call(a, b, by=2.0, name="x", counts=np.arange(3)))(a, b)
    assert (c == 2 * a).all() and (d == 2 * b).all()
    assert seen == {"by": 2.0, "name": "x", "counts": [0, 1, 2], "stream": None, "shapes": [(10,), (5, 2)] * 2}


def test_errors_of_a_callback():
    def func(inputs, outputs, attrs, ctx):
        wp.launch(scale, dim=10, inputs=[inputs[0], 2.0], outputs=[inputs[0]])

    wp.register_ffi_callback("omni_warp_test_wrong", func)
    with pytest.raises(Exception, match="read-only"):
        jax.block_until_ready(ffi_call("omni_warp_test_wrong", jax.ShapeDtypeStruct((10,), jnp.float32))(a))
    with pytest.raises(TypeError, match="expected a function"):
        wp.register_ffi_callback("omni_warp_test_none", None)


def test_the_names_of_warp_lang():
    assert (older_jax_kernel(scale_sum)(a, a)[0] == 2 * a).all()
    assert len(older_jax_kernel(scale_sum)(a)) == 2
    assert ffi.jax_kernel is wp.jax_kernel and ffi.GraphMode.JAX is wp.JaxCallableGraphMode.JAX
    ffi.set_jax_callable_default_graph_cache_max(5)
    assert ffi.get_jax_callable_default_graph_cache_max() == 5
    ffi.set_jax_callable_default_graph_cache_max(32)


@wp.kernel
def scale_sum(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = x[i] + y[i]


def test_from_jax_shows_memory_and_keeps_it():
    x = jnp.arange(6.0).reshape(3, 2)
    shown = wp.from_jax(x, dtype=wp.vec2)
    assert shown.shape == (3,) and shown.ptr == x.unsafe_buffer_pointer() and shown.readonly
    del x
    gc.collect()
    assert shown.numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ValueError, match="read-only"):
        wp.launch(scale_pairs, 3, [wp.zeros(3, dtype=wp.vec2), 2.0], [shown])
    assert wp.from_jax(jnp.float32(3.0)).shape == (1,)
    assert wp.from_jax(jnp.ones(2, jnp.bfloat16)).dtype is wp.bfloat16
    assert wp.from_jax(jnp.array([True])).dtype is wp.bool


@pytest.mark.parametrize(
    ("given", "dtype", "error", "text"),
    [
        ([1.0], None, TypeError, "expected an array of JAX"),
        (b, wp.vec3, TypeError, r"shape \(..., 3,\)"),
        (b, wp.int32, TypeError, "cannot show elements of int32"),
        (b, wp.vec2i, TypeError, "cannot show"),
        (jnp.ones(3, jnp.complex64), None, TypeError, "complex64"),
    ],
)
def test_from_jax_refuses(given, dtype, error, text):
    with pytest.raises(error, match=text):
        wp.from_jax(given, dtype=dtype)
    with pytest.raises(TypeError, match="return the value from the traced function"):
        jax.jit(lambda x: wp.from_jax(x))(a)


def test_an_array_of_jax_goes_there_and_back():
    x = jnp.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(wp.to_jax(wp.from_jax(x)), x)
    np.testing.assert_array_equal(wp.to_jax(wp.from_jax(x)[:, 1:3]), x[:, 1:3])


def test_to_jax_shares_or_copies():
    x = wp.array(np.arange(6).reshape(3, 2), dtype=wp.vec2)
    shown = wp.to_jax(x)
    assert shown.shape == (3, 2) and (shown.unsafe_buffer_pointer() == x.ptr) == (x.ptr % 64 == 0)
    strided = wp.array(np.arange(10), dtype=float)
    assert wp.to_jax(strided[::2]).tolist() == [0, 2, 4, 6, 8] and wp.to_jax(strided[::-1]).tolist()[0] == 9
    assert wp.to_jax(wp.array([1.5], dtype=wp.bfloat16)).dtype == jnp.bfloat16
    with pytest.warns(UserWarning, match="jax_enable_x64"):
        assert wp.to_jax(wp.array([1.5], dtype=wp.float64)).dtype == jnp.float32
    with enable_x64(True):
        assert wp.to_jax(wp.array([1.5], dtype=wp.float64)).dtype == jnp.float64
    with pytest.raises(TypeError, match="expected an array of this package"):
        wp.to_jax(np.ones(3))


def test_types_and_devices():
    names = [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ]
    for name in names:
        there = getattr(jnp, "bool_" if name == "bool" else name)
        assert wp.dtype_to_jax(getattr(wp, name)) is there and wp.dtype_from_jax(there) is getattr(wp, name)
    for wrong in (jnp.complex64, jnp.float8_e5m2):
        with pytest.raises(TypeError):
            wp.dtype_from_jax(wrong)
    with pytest.raises(TypeError, match="more dimensions"):
        wp.dtype_to_jax(wp.vec3)
    device = jax.devices("cpu")[0]
    assert wp.device_from_jax(device) is wp.get_device("cpu") and wp.device_to_jax("cpu") is device
    with pytest.raises(TypeError, match="expected a device of JAX"):
        wp.device_from_jax("cpu")


def test_numbers_below_the_normal_ones_stay():
    """The threads of XLA flush them to zero; launches there give the bits of other launches."""
    tiny = np.float32([1e-40, -3e-42])
    out = wp.zeros(2, dtype=float)
    wp.launch(scale, 2, [tiny, 0.5], [out])
    found = np.asarray(jax.jit(wp.jax_kernel(scale))(tiny, 0.5)[0])
    assert found.tobytes() == out.numpy().tobytes() and (found != 0).all()


def test_ten_thousand_conversions_leak_nothing():
    import resource

    x, y = jnp.ones(1 << 18), wp.zeros(1 << 18, dtype=float)

    def convert(count):
        for _ in range(count):
            wp.from_jax(x), wp.to_jax(y)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = convert(500)
    assert convert(10_000) - before < 50_000  # kilobytes; copies would take 20 million


def deleted():
    x = jnp.zeros(3)
    x.delete()
    return x


def leaked():
    found = []
    jax.jit(lambda x: (found.append(x), x)[1])(jnp.zeros(3))
    return found[0]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (leaked, TypeError, "it is traced by JAX and has no memory: call the kernel through wp.jax_kernel"),
        (deleted, ValueError, "it has no memory, as JAX has deleted it"),
        (
            lambda: jax.random.key(0),
            TypeError,
            r"it holds random keys of JAX, key<fry>: pass .*jax.random.key_data\(x\)",
        ),
    ],
)
def test_values_without_memory_for_kernels(value, error, text):
    x = value()
    with pytest.raises(error, match=f"from_jax: {text}"):
        wp.from_jax(x)
    for options in ({}, {"dtype": float}, {"copy": False}):
        with pytest.raises(error, match=f"data: {text}"):
            wp.array(x, **options)
    with pytest.raises(error, match=r"argument `a` cannot be used: .*(jax.random.key_data|it is traced|it has no mem)"):
        wp.launch(scale, dim=3, inputs=[x, 2.0, wp.zeros(3)])


def test_traced_values_in_arrays_and_launches():
    for call in (wp.array, wp.from_jax, lambda x: wp.launch(scale, dim=3, inputs=[x, 2.0, wp.zeros(3)])):
        for transform in (jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).numpy().sum())):
            with pytest.raises(TypeError, match=r"it is traced by JAX and has no memory.* wp.jax_kernel"):
                transform(call)(jnp.zeros(3))


def test_a_kernel_names_the_argument_without_memory():
    f = wp.jax_kernel(scale)
    with pytest.raises(
        TypeError, match=r"argument `a`: it holds random keys of JAX, key<fry>: pass .*jax.random.key_data\(x\)"
    ):
        f(jax.random.split(jax.random.key(0), 3), 2.0)
    with pytest.raises(ValueError, match="kernel `scale`: argument `a`: it has no memory, as JAX has deleted it"):
        f(deleted(), 2.0)
