"""Programs as users of warp-lang write them for JAX, by the names that they import. NumPy computes what is expected."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.jax_experimental import jax_kernel as old_jax_kernel
from omni.warp_core.jax_experimental.ffi import GraphMode, ModulePreloadMode, jax_callable, jax_kernel
from omni.warp_core.jax_experimental.ffi import register_ffi_callback as register
from omni.warp_core.jax_experimental.ffi import set_jax_callable_default_graph_cache_max as set_cache_max
from tests.interop.xla.child import run_file
from tests.interop.xla.jax_versions import ffi_call


@wp.kernel
def triple(source: wp.array(dtype=float), result: wp.array(dtype=float)):
    i = wp.tid()
    result[i] = 3.0 * source[i]


@wp.kernel
def sums(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    ab: wp.array(dtype=float),
    bc: wp.array(dtype=float),
):
    i = wp.tid()
    ab[i] = a[i] + b[i]
    bc[i] = b[i] + c[i]


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.float32(0)
    if i < a.shape[0] and j < b.shape[1]:
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@wp.kernel
def add(a: wp.array(dtype=int), b: wp.array(dtype=int), output: wp.array(dtype=int)):
    i = wp.tid()
    output[i] = a[i] + b[i]


@wp.kernel
def waves(angle: wp.array(dtype=float), sines: wp.array(dtype=float), cosines: wp.array(dtype=float)):
    i = wp.tid()
    sines[i] = wp.sin(angle[i])
    cosines[i] = wp.cos(angle[i])


@wp.kernel
def diagonal(output: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    output[i] = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)


@wp.kernel
def scale(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    i = wp.tid()
    output[i] = a[i] * s


@wp.kernel
def scale_pairs(a: wp.array(dtype=wp.vec2), s: float, output: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    output[i] = a[i] * s


@wp.kernel
def mixed(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.mat22),
    d: wp.array(dtype=float),
    e: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.mat22),
):
    i = wp.tid()
    d[i] = 2.0 * a[i]
    e[i] = 3.0 * b[i]
    f[i] = 4.0 * c[i]


@wp.kernel
def parts(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    if i < b.shape[0]:
        b[i] = a[i] + 1.0
    if i < c.shape[0]:
        c[i] = a[i] - 1.0


@wp.kernel
def accumulate(a: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    total[i] += a[i]


def scale_both(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec2),
    s: float,
    c: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec2),
):
    wp.launch(scale, dim=a.shape, inputs=[a, s], outputs=[c])
    wp.launch(scale_pairs, dim=b.shape, inputs=[b, s], outputs=[d])


def add_to(a: wp.array(dtype=float), total: wp.array(dtype=float)):
    wp.launch(accumulate, dim=a.shape, inputs=[a, total])


line = np.arange(10, dtype=np.float32)
pairs = line.reshape(5, 2)


# -- kernels ----------------------------------------------------------------------------------------------------------


def test_the_older_function():
    x = jnp.arange(64, dtype=jnp.float32)
    (found,) = jax.jit(old_jax_kernel(triple))(x)
    assert (found == 3 * x).all()
    ab, bc = jax.jit(lambda: old_jax_kernel(sums)(*(jnp.full(64, v, dtype=jnp.float32) for v in (1, 2, 3))))()
    assert (ab == 3).all() and (bc == 5).all()
    (found,) = old_jax_kernel(product, launch_dims=(3, 4))(jnp.full((3, 2), 2.0), jnp.full((2, 4), 3.0))
    assert found.shape == (3, 4) and (found == 12).all()


def test_one_and_two_outputs():
    (total,) = jax.jit(jax_kernel(add))(jnp.arange(10, dtype=jnp.int32), jnp.ones(10, dtype=jnp.int32))
    assert total.tolist() == list(range(1, 11))
    angle = jnp.linspace(0, 2 * np.pi, 32)
    s, c = jax.jit(jax_kernel(waves, num_outputs=2))(angle)
    np.testing.assert_allclose(s, np.sin(np.float64(angle)), atol=1e-6)
    np.testing.assert_allclose(c, np.cos(np.float64(angle)), atol=1e-6)


def test_no_inputs():
    (found,) = jax.jit(lambda: jax_kernel(diagonal)(launch_dims=4))()
    assert np.array_equal(found, np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (4, 3, 3)))


def test_scalars_are_constant_static_or_traced():
    f = jax_kernel(scale)
    for call in (
        lambda: jax.jit(lambda a: f(a, 2.0))(line),
        lambda: jax.jit(f, static_argnums=1)(line, 2.0),
        lambda: partial(jax.jit, static_argnames=["s"])(lambda a, s: f(a, s))(line, s=2.0),
        lambda: jax.jit(f)(line, 2.0),  # which warp-lang refuses
    ):
        assert np.array_equal(call()[0], 2 * line)


def test_dimensions_of_each_call():
    f = jax_kernel(product)
    for n, m, k in ((3, 4, 2), (4, 3, 2)):
        (found,) = f(jnp.full((n, k), 2.0), jnp.full((k, m), 3.0), launch_dims=(n, m))
        assert found.shape == (n, m) and (found == 6 * k).all()


def test_output_dims():
    f = jax_kernel(parts, num_outputs=2)
    for dims, launch in ((10, None), ({"b": 4, "c": 7}, None), ({"b": [4], "c": (2,)}, 5)):
        b, c = f(line, output_dims=dims, launch_dims=launch)
        assert np.array_equal(b, line[: len(b)] + 1) and np.array_equal(c, line[: len(c)] - 1)
        assert (len(b), len(c)) == ((10, 10) if dims == 10 else (4, 7) if launch is None else (4, 2))


def test_vectors_and_matrices_have_more_dimensions():
    a, b, c = np.ones(10, np.float32), np.ones((10, 3), np.float32), np.ones((10, 2, 2), np.float32)
    f = jax_kernel(mixed, num_outputs=3)
    by_name = {"d": 10, "e": 10, "f": 10}
    for dims in (
        None,
        10,
        by_name,
        by_name | {"e": (10, 3), "f": (10, 2, 2)},
        {"d": a.shape, "e": b.shape, "f": c.shape},
    ):
        d, e, g = jax.jit(partial(f, output_dims=dims))(a, b, c)
        assert [x.shape for x in (d, e, g)] == [(10,), (10, 3), (10, 2, 2)]
        assert (d == 2).all() and (e == 3).all() and (g == 4).all()


def test_in_out_arguments():
    f = jax_kernel(accumulate, in_out_argnames=["total"])
    total = jnp.zeros(10)
    for _ in range(3):
        (total,) = jax.jit(f)(line, total)
    assert np.array_equal(total, 3 * line)


@pytest.mark.parametrize("method", ["broadcast_all", "sequential", "expand_dims"])
def test_vmap(method):
    f = jax_kernel(scale, vmap_method=method)
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(jax.vmap(f, (0, None))(rows, 2.0)[0], 2 * rows)
    assert np.array_equal(
        jax.jit(jax.vmap(f, (1, 0), 1))(rows, np.arange(4.0, dtype=np.float32))[0], rows * np.arange(4)
    )
    assert np.array_equal(jax.vmap(lambda x: jax_kernel(triple)(x, vmap_method=method)[0])(rows), 3 * rows)


# -- functions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [{}, {"graph_compatible": False}, {"graph_mode": "JAX"}, *({"graph_mode": m} for m in GraphMode)],
)
def test_functions_launch_several_kernels(how):
    f = jax_callable(scale_both, num_outputs=2, **how)
    call = jax.jit(lambda a, b: f(a, b, 2.0, output_dims={"c": a.shape, "d": b.shape}))
    c, d = call(line, pairs)
    assert np.array_equal(c, 2 * line) and np.array_equal(d, 2 * pairs)


def test_functions_with_in_outs():
    f = jax_callable(add_to, in_out_argnames=["total"])
    (total,) = jax.jit(lambda a, t: f(a, f(a, t)[0]))(line, jnp.ones(10))
    assert np.array_equal(total, 1 + 2 * line)


def test_callbacks():
    def func(inputs, outputs, attrs, ctx):
        (a, b), (c, d) = inputs, outputs
        wp.launch(
            scale, dim=a.shape, inputs=[a, attrs["scale"]], outputs=[c], device=wp.device_from_jax(jax.devices()[0])
        )
        wp.launch(scale_pairs, dim=b.shape[0], inputs=[b, attrs["scale"]], outputs=[d])

    register("omni_warp_program", func)
    call = ffi_call("omni_warp_program", [jax.ShapeDtypeStruct(x.shape, jnp.float32) for x in (line, pairs)])
    c, d = call(line, pairs, scale=2.0)
    assert np.array_equal(c, 2 * line) and np.array_equal(d, 2 * pairs)


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: jax_kernel(scale, module_preload_mode=7),
            r"module_preload_mode: expected one of NONE \(0\), CURRENT_",
        ),
        (lambda: jax_kernel(scale, module_preload_mode="LATER"), "module_preload_mode: .* got 'LATER'"),
        (lambda: jax_callable(add_to, graph_mode=9), r"function `add_to`: graph_mode: expected one of NONE \(0\), JAX"),
        (lambda: jax_callable(add_to, module_preload_mode=-1), "module_preload_mode: expected one of"),
        (lambda: jax_callable(add_to, stage_in_argnames="b"), r"stage_in_argnames: expected names of \['a'\], got 'b'"),
        (lambda: jax_callable(add_to, stage_out_argnames=["a"]), r"stage_out_argnames: expected names of \['total'\]"),
        (lambda: jax_callable(add_to, graph_cache_max=-1), "graph_cache_max: expected a number from 0 on"),
        (lambda: set_cache_max("many"), "graph_cache_max: expected a number from 0 on"),
        (lambda: jax_kernel(scale, vmap_method="all"), "vmap_method: expected one of broadcast_all"),
    ],
)
def test_options_that_do_not_exist_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_options_that_matter_to_gpus_are_accepted():
    for mode in ModulePreloadMode:
        f = jax_callable(
            add_to, in_out_argnames="total", stage_in_argnames=["a", "total"], stage_out_argnames="total",
            graph_cache_max=None, module_preload_mode=mode,
        )  # fmt: skip
        assert np.array_equal(f(line, jnp.ones(10))[0], 1 + line)
        assert np.array_equal(jax_kernel(triple, module_preload_mode=mode)(line)[0], 3 * line)
        wp.clear_jax_callable_graph_cache(f)
    with pytest.raises(TypeError, match=r"expected the result of wp\.jax_callable, got function"):
        wp.clear_jax_callable_graph_cache(add_to)


# -- several devices --------------------------------------------------------------------------------------------------

DEVICES = """
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.multihost_utils import process_allgather
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import omni.warp_core as wp
from tests.interop.xla.jax_versions import shard_map
from tests.interop.xla.test_jax_programs import jax_kernel, scale

double = jax_kernel(scale)
count = jax.device_count()
assert count == 4
mesh = Mesh(np.array(jax.devices()), "x")
sharding = NamedSharding(mesh, P("x"))
numbers = jnp.arange(5 * count, dtype=jnp.float32)
parts_of = [jax.device_put(numbers[i], d) for d, i in sharding.addressable_devices_indices_map(numbers.shape).items()]
sharded = jax.make_array_from_single_device_arrays(numbers.shape, sharding, parts_of)
found = shard_map(lambda a: double(a, 2.0)[0], mesh=mesh, in_specs=(P("x"),), out_specs=P("x"))(sharded)
assert np.array_equal(process_allgather(found, tiled=True), 2 * numbers)
assert len(found.addressable_shards) == count
for call in (wp.from_jax, wp.from_dlpack, lambda a: wp.launch(scale, dim=20, inputs=[a, 2.0, wp.zeros(20)])):
    with pytest.raises(ValueError, match="it is in 4 shards here, each with memory of its own: pass the parts"):
        call(sharded)
rows = jnp.arange(12.0).reshape(count, 3)
assert np.array_equal(jax.pmap(lambda a: double(a, 2.0)[0])(rows), 2 * rows)
print("fine")
"""


def test_shards_and_pmap(tmp_path):
    assert run_file(DEVICES, tmp_path, devices=4).strip() == "fine"
