"""Derivatives of `wp.jax_kernel` in float64, against those that JAX finds of the same functions written in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import omni.warp_core as wp
from tests.interop.xla.child import run_file
from tests.interop.xla.jax_versions import enable_x64

d = wp.float64


@wp.kernel
def wave(x: wp.array(dtype=d), s: d, y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * s * x[i]


def wave_of(x, s):
    return [jnp.sin(x) * s * x]


@wp.kernel
def coupled(
    v: wp.array(dtype=wp.vec3d),
    n: wp.array(dtype=int),
    a: wp.array(dtype=d),
    y: wp.array(dtype=d),
    z: wp.array(dtype=wp.vec3d),
    m: wp.array(dtype=int),
):
    i = wp.tid()
    a[i] = a[i] * a[i] + wp.dot(v[i], v[i])
    y[i] = a[i] * d(n[i])
    z[i] = v[i] * a[i]
    m[i] = n[i] + 1


def coupled_of(v, n, a):
    a = a * a + (v * v).sum(-1)
    return [a, a * n, v * a[:, None], n + 1]


@wp.kernel
def scatter(x: wp.array(dtype=d), index: wp.array(dtype=int), y: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_add(y, index[i], x[i] * x[i])


@wp.kernel
def loop(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    s = y[i]
    for _ in range(3):
        s = s * wp.sin(x[i]) + x[i]
        y[i] = s
    y[i] = y[i] * y[i]


def loop_of(x, y):
    for _ in range(3):
        y = y * jnp.sin(x) + x
    return [y * y]


@wp.kernel
def shift(v: wp.vec3d, x: wp.array(dtype=wp.vec3d), y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = wp.dot(v, wp.cross(x[i], v + x[i])) + wp.length(v - x[i])


@wp.kernel
def matmul(a: wp.array2d(dtype=d), b: wp.array2d(dtype=d), c: wp.array2d(dtype=d)):
    i, j = wp.tid()
    s = d(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@pytest.fixture(autouse=True)
def _in_float64():
    with enable_x64(True):
        yield


def agree(derivative, kernel, reference, tolerance=1e-12):
    """Compare a derivative of a kernel with that of its reference."""
    found, wanted = jax.tree.leaves(derivative(kernel)), jax.tree.leaves(derivative(reference))
    assert len(found) == len(wanted) and wanted
    for got, want in zip(found, wanted):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


rng = np.random.default_rng(11)
x = rng.random(5)


def squares(f):
    return lambda *args: sum((o**2).sum() for o in f(*args) if o.dtype == jnp.float64)


ORDERS = {
    "jvp": lambda f: jax.jvp(f, (x, 2.0), (np.cos(x), 0.3)),
    "linearize": lambda f: jax.linearize(f, x, 2.0)[1](np.cos(x), 0.3),
    "jacfwd": lambda f: jax.jacfwd(f, (0, 1))(x, 2.0),
    "jacrev": lambda f: jax.jacrev(f, (0, 1))(x, 2.0),
    "grad": lambda f: jax.grad(squares(f), (0, 1))(x, 2.0),
    "value and grad, jitted": lambda f: jax.jit(jax.value_and_grad(squares(f), (0, 1)))(x, 2.0),
    "hessian": lambda f: jax.hessian(squares(f), (0, 1))(x, 2.0),
    "reverse over reverse": lambda f: jax.jacrev(jax.grad(squares(f), (0, 1)), (0, 1))(x, 2.0),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(squares(f), (0, 1)), (0, 1))(x, 2.0),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(squares(f), (0, 1)), (0, 1))(x, 2.0),
    "grad of vmap": lambda f: jax.grad(lambda a, s: squares(jax.vmap(f, (0, None)))(a, s), (0, 1))(np.outer(x, x), 2.0),
    "vmap of grad": lambda f: jax.vmap(jax.grad(squares(f), (0, 1)), (0, None))(np.outer(x, x), 2.0),
    "hessian of vmap": lambda f: jax.hessian(lambda s: squares(jax.vmap(f, (1, 0)))(np.outer(x, x), s * x))(2.0),
    "remat": lambda f: jax.grad(jax.checkpoint(squares(f)), (0, 1))(x, 2.0),
    "stop_gradient": lambda f: jax.grad(lambda x: squares(f)(x, jax.lax.stop_gradient(x[0])))(x),
}


@pytest.mark.parametrize("order", ORDERS)
def test_derivatives_by_arrays_and_traced_scalars(order):
    agree(ORDERS[order], wp.jax_kernel(wave), wave_of)


v, n, a = rng.random((5, 3)), np.arange(5, dtype=np.int32), rng.random(5)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: f(v, n, a),
        lambda f: jax.jvp(lambda v, a: f(v, n, a)[:3], (v, a), (v[::-1], a[::-1])),
        lambda f: jax.jacrev(lambda v, a: f(v, n, a)[:3], (0, 1))(v, a),
        lambda f: jax.hessian(lambda v, a: squares(f)(v, n, a), (0, 1))(v, a),
        lambda f: jax.grad(lambda a: f(v, n, a)[1].sum())(a),
        lambda f: jax.vmap(jax.grad(lambda a, v: f(v, n, a)[2].sum()), (None, 0))(a, np.stack([v, 2 * v])),
    ],
    ids=["values", "jvp", "jacrev", "hessian", "one output", "vmap of grad"],
)
def test_in_outs_vectors_and_integers(derivative):
    agree(derivative, wp.jax_kernel(coupled, num_outputs=4, in_out_argnames="a"), coupled_of, 1e-11)


def test_scan_differentiates_steps():
    def run(f):
        def step(a, _):
            new, y, *_ = f(v, n, a)
            return jnp.tanh(new), y.sum()

        return jax.value_and_grad(lambda a: jax.lax.scan(step, a, None, length=4)[1].sum())(a)

    agree(run, wp.jax_kernel(coupled, num_outputs=4, in_out_argnames="a"), coupled_of)


def test_scatter_by_atomics():
    index = np.array([0, 1, 1, 2, 0], np.int32)
    f = wp.jax_kernel(scatter, output_dims=3)
    for order in (jax.jacfwd, jax.jacrev, jax.hessian):
        agree(lambda f: order(f)(x), lambda x: f(x, index)[0], lambda x: jnp.zeros(3).at[index].add(x * x))


@pytest.mark.parametrize("order", [jax.jacrev, jax.jacfwd, lambda *f: jax.jacfwd(jax.jacrev(*f), (0, 1))])
def test_kernels_that_overwrite_what_they_read(order):
    agree(lambda f: order(f, (0, 1))(x, x + 1), wp.jax_kernel(loop, in_out_argnames="y"), loop_of, 1e-11)


def test_a_vector_as_a_traced_argument():
    def reference(v, x):
        return [(v * jnp.cross(x, v + x)).sum(-1) + jnp.linalg.norm(v - x, axis=-1)]

    points = rng.random((4, 3))
    for order in (jax.jacrev, jax.jacfwd, jax.hessian):
        agree(lambda f: order(f, (0, 1))(v[0], points), wp.jax_kernel(shift, launch_dims=4), reference, 1e-11)


def test_launch_dims_and_output_dims_with_gradients():
    f = wp.jax_kernel(matmul)
    left, right = rng.random((3, 2)), rng.random((2, 4))
    agree(
        lambda f: jax.jacrev(f, (0, 1))(left, right),
        lambda a, b: f(a, b, launch_dims=(3, 4))[0],
        lambda a, b: a @ b,
    )


def test_sharded_gradients_equal_those_of_one_device(tmp_path):
    text = """
import jax, jax.numpy as jnp, numpy as np, omni.warp_core as wp
from jax.sharding import Mesh, PartitionSpec as P
from tests.interop.xla.jax_versions import shard_map
jax.config.update("jax_enable_x64", True)
@wp.kernel
def wave(x: wp.array(dtype=wp.float64), s: wp.float64, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * s * x[i]
f = wp.jax_kernel(wave)
mesh = Mesh(np.array(jax.devices()), "x")
assert jax.device_count() == 8
def loss(f):
    def part(x, s):
        return jax.lax.psum((f(x, s)[0] ** 2).sum(), "x")
    return shard_map(part, mesh=mesh, in_specs=(P("x"), P()), out_specs=P())
x = jnp.linspace(0.1, 3.0, 64)
# JAX 0.8 cannot take second derivatives of a psum, whatever is summed.
orders = (jax.value_and_grad, jax.hessian)[: 1 if jax.__version_info__[:2] == (0, 8) else 2]
for order in orders:
    got = jax.jit(order(loss(f), (0, 1)))(x, 1.5)
    want = order(lambda x, s: ((jnp.sin(x) * s * x) ** 2).sum(), (0, 1))(x, 1.5)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
print("fine")
"""
    assert run_file(text, tmp_path, devices=8).strip() == "fine"


def test_third_derivatives_are_refused():
    f = wp.jax_kernel(wave)
    for order in (jax.jacfwd, jax.grad):
        third = order(order(order(lambda s: f(x, s)[0].sum() * s)))
        with pytest.raises(NotImplementedError, match="third derivatives"):
            third(2.0)


@wp.kernel(enable_backward=False)
def closed(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def test_switched_off_gradients_are_refused():
    for f in (wp.jax_kernel(wave, enable_backward=False), lambda x, s: wp.jax_kernel(closed)(x)):
        assert f(x, 2.0)[0].shape == (5,)
        with pytest.raises(TypeError, match="enable_backward=False"):
            jax.grad(squares(f))(x, 2.0)


@wp.kernel
def compact(x: wp.array(dtype=d), count: wp.array(dtype=int), y: wp.array(dtype=d)):
    i = wp.tid()
    if x[i] > d(0.5):
        y[wp.atomic_add(count, 0, 1)] = x[i] * x[i]


def test_gradients_that_need_results_of_atomics_are_refused():
    f = wp.jax_kernel(compact, num_outputs=2, output_dims={"y": 5}, in_out_argnames="count")
    with pytest.raises(NotImplementedError, match="results of its atomics"):
        jax.grad(lambda x: f(x, jnp.zeros(1, jnp.int32))[1].sum())(x)
