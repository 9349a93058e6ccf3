"""`wp.jax_kernel`: values, shapes, in-outs, scalars and errors, against jax.numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import omni.warp_core as wp
from tests.interop.xla.child import run_file
from tests.interop.xla.jax_versions import enable_x64


@wp.kernel
def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i]


@wp.kernel
def sincos(angle: wp.array(dtype=float), s: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    s[i] = wp.sin(angle[i])
    c[i] = wp.cos(angle[i])


@wp.kernel
def scale(x: wp.array(dtype=float), by: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = by * x[i]


@wp.kernel
def diagonal(out: wp.array(dtype=wp.mat33)):
    out[wp.tid()] = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)


@wp.kernel
def matmul(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = wp.float32(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def mixed(
    v: wp.array(dtype=wp.vec3),
    m: wp.array(dtype=wp.mat22),
    n: wp.array(dtype=wp.int64),
    half: wp.array(dtype=wp.float16),
    on: wp.array(dtype=bool),
    u: wp.array(dtype=wp.vec3),
    t: wp.array(dtype=wp.mat22),
    k: wp.array(dtype=wp.int64),
    h: wp.array(dtype=wp.float16),
    off: wp.array(dtype=bool),
):
    i = wp.tid()
    u[i] = 2.0 * v[i]
    t[i] = wp.transpose(m[i])
    k[i] = n[i] + wp.int64(1)
    h[i] = half[i] * wp.float16(2.0)
    off[i] = not on[i]


@wp.kernel
def some(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.5:
        y[i] = x[i]


@wp.kernel
def accumulate(x: wp.array(dtype=float), total: wp.array(dtype=float), twice: wp.array(dtype=float)):
    i = wp.tid()
    total[i] += x[i]
    twice[i] = 2.0 * total[i]


@wp.kernel
def at(x: wp.array(dtype=float), index: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[index[i]]


x = jnp.linspace(0.0, 1.0, 33, dtype=jnp.float32)


@pytest.mark.parametrize("jitted", [False, True])
def test_a_call_gives_a_list_of_outputs(jitted):
    f = wp.jax_kernel(sincos, num_outputs=2)
    found = (jax.jit(f) if jitted else f)(x)
    assert isinstance(found, list)
    np.testing.assert_allclose(found[0], np.sin(np.float64(x)), atol=2e-7)
    np.testing.assert_allclose(found[1], np.cos(np.float64(x)), atol=2e-7)


def test_scalars_are_known_or_traced():
    f = wp.jax_kernel(scale)
    expected = np.float32(2.5) * np.asarray(x)
    assert (np.asarray(f(x, 2.5)[0]) == expected).all()
    assert (np.asarray(jax.jit(f, static_argnums=1)(x, 2.5)[0]) == expected).all()
    assert (np.asarray(jax.jit(f)(x, 2.5)[0]) == expected).all()
    assert (np.asarray(f(x, jnp.float32(2.5))[0]) == expected).all()
    assert (np.asarray(f(x, np.float64(2.5))[0]) == expected).all()


def test_without_inputs_launch_dims_say_the_shape():
    f = wp.jax_kernel(diagonal)
    (found,) = jax.jit(lambda: f(launch_dims=4))()
    assert (np.asarray(found) == np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (4, 3, 3))).all()
    with pytest.raises(ValueError, match="launch_dims"):
        f()


def test_launch_dims_of_each_call():
    f = wp.jax_kernel(matmul)
    rng = np.random.default_rng(1)
    for n, m, k in ((3, 4, 2), (4, 3, 5)):
        a, b = (jnp.asarray(rng.random(s), jnp.float32) for s in ((n, k), (k, m)))
        found = jax.jit(lambda a, b: f(a, b, launch_dims=(n, m)))(a, b)[0]
        np.testing.assert_allclose(found, np.float64(a) @ np.float64(b), rtol=1e-6)


@pytest.mark.parametrize("dims", [10, {"u": (10, 3), "t": 10, "k": (10,), "h": [10], "off": 10}])
def test_elements_of_all_kinds(dims):
    with enable_x64(True):
        f = wp.jax_kernel(mixed, num_outputs=5)
        v, m = jnp.ones((10, 3), jnp.float32), jnp.arange(40, dtype=jnp.float32).reshape(10, 2, 2)
        n, half = jnp.arange(10, dtype=jnp.int64) << 40, jnp.arange(10, dtype=jnp.float16)
        on = jnp.arange(10) % 2 == 0
        u, t, k, h, off = jax.jit(lambda *a: f(*a, output_dims=dims))(v, m, n, half, on)
        assert (u == 2 * v).all() and (t == m.transpose(0, 2, 1)).all() and (k == n + 1).all()
        assert (h == half * 2).all() and (off == ~on).all()
        assert [a.dtype.name for a in (u, t, k, h, off)] == ["float32", "float32", "int64", "float16", "bool"]


def test_outputs_that_a_launch_does_not_cover_begin_as_zeros():
    filler = jnp.full((1 << 16,), jnp.nan, jnp.float32)
    filler.block_until_ready()
    del filler  # memory that XLA may use again
    long = jnp.linspace(0.0, 1.0, 1 << 16, dtype=jnp.float32)
    found = wp.jax_kernel(some)(long)[0]
    assert (np.asarray(found) == np.where(np.asarray(long) > 0.5, long, 0)).all()
    wide = wp.jax_kernel(triple)(x, output_dims=50)[0]
    assert (np.asarray(wide) == np.r_[np.float32(3) * np.asarray(x), np.zeros(17, np.float32)]).all()


@pytest.mark.parametrize("jitted", [False, True])
def test_in_outs_are_results_and_leave_their_argument(jitted):
    f = wp.jax_kernel(accumulate, num_outputs=2, in_out_argnames="total")
    total = jnp.ones_like(x)
    new, twice = (jax.jit(f) if jitted else f)(x, total)
    assert (np.asarray(total) == 1).all()
    assert (np.asarray(new) == 1 + np.asarray(x)).all() and (np.asarray(twice) == 2 * (1 + np.asarray(x))).all()


@wp.kernel
def double_and_square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]
    y[i] = x[i] * x[i]


@pytest.mark.parametrize("use", [lambda f: f, jax.jit, lambda f: jax.grad(lambda x: f(x)[0].sum())])
def test_a_kernel_that_writes_an_input_is_refused_and_the_input_stays(use):
    x = jnp.array([1.0, 2.0])
    with pytest.raises(ValueError, match=r"writes its input `x`, which JAX would not see: name it in in_out_argnames"):
        use(wp.jax_kernel(double_and_square))(x)
    assert x.tolist() == [1.0, 2.0]
    doubled, squared = wp.jax_kernel(double_and_square, num_outputs=2, in_out_argnames="x")(x)
    assert (x.tolist(), doubled.tolist(), squared.tolist()) == ([1.0, 2.0], [2.0, 4.0], [4.0, 16.0])


def test_an_array_may_be_input_and_in_out_of_one_call():
    f = wp.jax_kernel(accumulate, num_outputs=2, in_out_argnames=["total"])
    found = jax.jit(lambda x: [*f(x, x), x + 1])(x)
    for got, want in zip(found, (2 * x, 4 * x, x + 1)):
        assert (np.asarray(got) == np.asarray(want)).all()


def test_vmap_launches_for_each_example():
    f = wp.jax_kernel(at, output_dims=3)
    table, index = jnp.arange(12, dtype=jnp.float32).reshape(4, 3), jnp.array([[2, 1, 0], [0, 0, 1]], jnp.int32)
    inner = jax.vmap(lambda t, i: f(t, i, vmap_method="sequential")[0], (None, 0))
    found = jax.jit(jax.vmap(inner, (0, None), 1))(table, index)
    assert (np.asarray(found) == np.asarray(table)[:, np.asarray(index)].transpose(1, 0, 2)).all()
    with pytest.raises(NotImplementedError, match="vmap_method=None"):
        jax.vmap(lambda t: f(t, index[0], vmap_method=None)[0])(table)


def test_empty_arrays():
    assert wp.jax_kernel(triple)(x[:0])[0].shape == (0,)


def test_options_hold_for_programs_that_are_compiled(monkeypatch):
    f = jax.jit(lambda t, i: wp.jax_kernel(at)(t, i, launch_dims=3)[0])
    table, index = jnp.arange(4, dtype=jnp.float32), jnp.array([1, 0, 2], jnp.int32)
    assert f(table, index).tolist() == [1, 0, 2]
    monkeypatch.setattr(wp.config, "mode", "debug")
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="index 99 is out of range"):
        f(table, jnp.array([1, 99, 2], jnp.int32)).block_until_ready()


def test_many_programs_at_once():
    from concurrent.futures import ThreadPoolExecutor

    f = jax.jit(lambda x, by: wp.jax_kernel(scale)(x, by)[0].sum())
    long = jnp.ones(100_000, jnp.float32)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: float(f(long, float(n))), range(40)))
    assert found == [100_000.0 * n for n in range(40)]


def test_large_launches_give_the_bits_of_a_plain_launch():
    rng = np.random.default_rng(3)
    a, b = (rng.random((200, 200), np.float32) for _ in range(2))
    c = wp.zeros((200, 200), dtype=float)
    wp.launch(matmul, (200, 200), [a, b], [c])
    assert (np.asarray(jax.jit(wp.jax_kernel(matmul))(a, b)[0]) == c.numpy()).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda f: f(), TypeError, "takes 1 inputs"),
        (lambda f: f([1.0]), TypeError, "jnp.asarray"),
        (lambda f: f(wp.zeros(3, dtype=float)), TypeError, "wp.to_jax"),
        (lambda f: f(jnp.arange(3)), TypeError, r"expected elements of float32, got int32: .*astype"),
        (lambda f: f(jnp.ones((3, 3))), TypeError, r"argument `x` .*shape of \(n\)"),
        (lambda f: f(x, output_dims={"z": 3}), ValueError, "no output `z`"),
        (lambda f: f(x, output_dims=(3, 3)), ValueError, "output `y`"),
        (lambda f: f(x, launch_dims=-1), ValueError, "negative"),
        (lambda f: f(x, vmap_method="fast"), ValueError, "vmap_method: expected one of"),
        (lambda f: wp.jax_kernel(triple, num_outputs=3), ValueError, "num_outputs=3"),
        (lambda f: wp.jax_kernel(triple, in_out_argnames="q"), ValueError, "no parameter `q`"),
        (lambda f: wp.jax_kernel(lambda x: x), TypeError, "expected a kernel"),
        (lambda f: wp.jax_kernel(scale)(x, "two"), TypeError, "argument `by`: expected float32"),
        (lambda f: wp.jax_kernel(scale)(x, jnp.ones(2)), TypeError, r"argument `by`: .*shape \(2,\)"),
        (
            lambda f: wp.jax_kernel(matmul)(jnp.ones((2, 2)), jnp.ones((2, 2)), launch_dims=4, output_dims=(2, 2)),
            ValueError,
            "launch_dims has 1",
        ),
    ],
)
def test_errors_name_the_argument_and_the_way_out(call, error, text):
    with pytest.raises(error, match=text):
        call(wp.jax_kernel(triple))


def test_a_kernel_of_another_process_is_told_of(tmp_path):
    text = """
import jax, jax.numpy as jnp, omni.warp_core as wp
from omni.warp_core.interop import jax_calls
@wp.kernel
def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i]
f = jax.jit(lambda x: wp.jax_kernel(triple)(x)[0])
x = jnp.ones(3, jnp.float32)
assert f(x).tolist() == [3.0, 3.0, 3.0]
jax_calls._codes.clear()
jax_calls._native.xla.forget_plans()
try:
    f(x).block_until_ready()
except (jax.errors.JaxRuntimeError, ValueError) as e:
    print(e)
"""
    assert "create its wp.jax_kernel in this process first" in run_file(text, tmp_path)


def test_an_exported_program_runs_where_the_kernel_was_called(tmp_path):
    text = f"""
from pathlib import Path
import jax, jax.numpy as jnp, omni.warp_core as wp
from jax import export
@wp.kernel
def square(x: wp.array(dtype=float), by: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = by * x[i] * x[i]
f, x, path = wp.jax_kernel(square), jnp.arange(3.0), Path({str(tmp_path / "program.bin")!r})
gradient = jax.jit(jax.grad(lambda x, by: f(x, by)[0].sum()))
if path.exists():
    gradient(jnp.ones(7), 1.0)
    print(export.deserialize(bytearray(path.read_bytes())).call(x, 3.0).tolist())
else:
    off = [export.DisabledSafetyCheck.custom_call("omni_warp.launch")]
    path.write_bytes(export.export(gradient, disabled_checks=off)(x, 3.0).serialize())
"""
    assert run_file(text, tmp_path) == ""
    assert "[0.0, 6.0, 12.0]" in run_file(text, tmp_path)
