"""Gradients of wp.utils on a tape, against Jacobians of NumPy's functions column by column in float64."""

import numpy as np
import pytest

import omni.warp_core as wp

RNG = np.random.default_rng(12)


def pulled(function, x: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """The transpose of the Jacobian of a linear function at `x`, times `seed`."""
    units = np.eye(x.size).reshape(x.size, *x.shape)
    zero = function(np.zeros_like(x))
    return np.array([((function(u) - zero) * seed).sum() for u in units]).reshape(x.shape)


def backward(step, inputs, out):
    """Runs `step` on a tape, overwrites what it read, and runs back from a random gradient, which is returned."""
    for a in inputs:
        a.grad.fill_(1.0)
    tape = wp.Tape()
    with tape:
        step()
    if not any(a is out for a in inputs):
        for a in inputs:
            a.fill_(77.0)
    seed = RNG.normal(size=out.numpy().shape).astype(out.numpy().dtype)
    tape.backward(grads={out: wp.array(seed, dtype=out.dtype)})
    return seed.astype(np.float64)


def make(shape, dtype=wp.float64, view=False, reversed=False):
    """An array that requires a gradient; as a view it has gaps, reversed it runs backwards."""
    inner = wp.zeros(1, dtype=dtype).numpy().shape[1:]
    whole = wp.array(RNG.normal(size=(*shape[:-1], 2 * shape[-1], *inner)), dtype=dtype, requires_grad=True)
    if view:
        return whole[..., ::2]
    return whole[..., : shape[-1]] if not reversed else whole[..., : shape[-1]][::-1]


def close(got, want, dtype=wp.float64):
    eps = {wp.float32: 2.0**-22, wp.float16: 2.0**-9, wp.bfloat16: 2.0**-6}.get(dtype, 2.0**-48)
    np.testing.assert_allclose(got, want, rtol=eps, atol=eps * 8)


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec3d, wp.mat22d, wp.quat])
@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("partial", [False, True])
def test_sums(dtype, view, axis, partial):
    x = make((3, 4), dtype, view)
    count = 2 if partial else None
    place = None if axis is None else axis % 2
    shape = (1,) if axis is None else tuple(1 if d == place else n for d, n in enumerate((3, 4)))
    out = wp.zeros(shape, dtype=dtype, requires_grad=True)
    seed = backward(lambda: wp.utils.array_sum(x, out=out, value_count=count, axis=axis), [x], out)

    def summed(v):
        if axis is None:
            return v.reshape(12, *v.shape[2:])[:count].sum(0, keepdims=True)
        return np.take(v, range(2 if partial else v.shape[place]), place).sum(place, keepdims=True)

    close(x.grad.numpy(), pulled(summed, x.numpy().astype(float), seed) + 1, wp.float32)
    assert not out.grad.numpy().any()


def test_a_sum_along_an_axis_that_makes_its_result():
    x = make((3, 4))
    tape = wp.Tape()
    with tape:
        rows = wp.utils.array_sum(x, axis=1)
        squared = wp.utils.array_inner(rows, rows, out=(total := wp.zeros(1, dtype=wp.float64, requires_grad=True)))
    tape.backward(total)
    assert squared is total
    close(x.grad.numpy(), np.broadcast_to(2 * x.numpy().sum(1, keepdims=True), (3, 4)))


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec3d, wp.mat22d])
@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("partial", [False, True])
def test_inner_products(dtype, view, axis, partial):
    a, b = make((3, 4), dtype, view), make((3, 4), dtype)
    x, y = a.numpy().astype(float), b.numpy().astype(float)
    count = 3 if partial else None
    scalar = wp.dtype_from_numpy(x.dtype if dtype is not wp.float32 else np.float32)
    place = None if axis is None else axis % 2
    shape = (1,) if axis is None else tuple(1 if d == place else n for d, n in enumerate((3, 4)))
    out = wp.zeros(shape, dtype=scalar, requires_grad=True)
    seed = backward(lambda: wp.utils.array_inner(a, b, out=out, count=count, axis=axis), [a, b], out)

    def inner(v, w):
        products = (v * w).reshape(3, 4, -1).sum(-1)
        if axis is None:
            return products.ravel()[:count].sum(keepdims=True)
        return np.take(products, range(3 if partial else products.shape[place]), place).sum(place, keepdims=True)

    close(a.grad.numpy(), pulled(lambda v: inner(v, y), x, seed) + 1, wp.float32)
    close(b.grad.numpy(), pulled(lambda w: inner(x, w), y, seed) + 1, wp.float32)


def test_an_inner_product_with_itself():
    x = make((5,))
    values = x.numpy().copy()
    out = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    (seed,) = backward(lambda: wp.utils.array_inner(x, x, out=out), [x], out)
    close(x.grad.numpy(), 2 * seed * values + 1)


def test_a_sum_into_one_of_its_elements():
    x = wp.array([1.0, 2.0, 3.0], dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.utils.array_sum(x, out=x[1:2])
    tape.backward(grads={x: wp.array([1.0, 10.0, 100.0], dtype=wp.float64)})
    assert x.list() == [1.0, 6.0, 3.0]
    assert x.grad.list() == [11.0, 10.0, 110.0]


@pytest.mark.parametrize("call", [lambda x: wp.utils.array_sum(x), lambda x: wp.utils.array_inner(x, x)])
def test_sums_that_are_numbers_are_refused_on_a_tape(call):
    x = make((3,))
    with pytest.raises(RuntimeError, match=r"a sum that is a number \(give out=\) has no gradient"), wp.Tape():
        call(x)
    assert np.isfinite(call(x))
    with wp.Tape():
        call(wp.ones(3))


@pytest.mark.parametrize("source", [wp.float16, wp.bfloat16, wp.float32, wp.float64])
@pytest.mark.parametrize("target", [wp.float16, wp.bfloat16, wp.float32, wp.float64])
def test_casts(source, target):
    x = wp.array([1.5, -2.0, 3.25], dtype=source, requires_grad=True)
    y = wp.zeros(4, dtype=target, requires_grad=True)
    x.grad.assign([1.0, 1.0, 2.0])
    tape = wp.Tape()
    with tape:
        wp.utils.array_cast(x, y)
    x.zero_()
    tape.backward(grads={y: wp.array([0.5, 2.0, -4.0, 8.0], dtype=target)})
    assert x.grad.list() == [1.5, 3.0, -2.0]
    assert y.grad.list() == [0.0, 0.0, 0.0, 8.0]


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("count", [None, 2])
def test_casts_component_by_component(view, count):
    x = make((3,), wp.vec2d, view)
    y = make((3, 4), wp.float32, view=not view)
    seed = backward(lambda: wp.utils.array_cast(x, y, count=count), [x], y)
    used = 4 if count else 6
    want = np.ones(6)
    want[:used] += seed.ravel()[:used]
    close(x.grad.numpy().ravel(), want, wp.float32)
    left = seed.ravel()
    left[:used] = 0
    close(y.grad.numpy().ravel(), left, wp.float32)


def test_integers_have_no_gradient():
    x = wp.array([1.5, 2.5], dtype=float, requires_grad=True)
    n, y = wp.zeros(2, dtype=int, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.utils.array_cast(x, n)
        wp.utils.array_cast(n, y)
    tape.backward(grads={y: wp.ones(2)})
    assert (x.grad.list(), n.grad.list(), y.grad.list()) == ([0, 0], [0, 0], [0, 0])


def test_a_cast_within_memory_of_two_types_is_refused():
    x = wp.zeros(4, dtype=wp.float32, requires_grad=True)
    y = wp.array(ptr=x.ptr, shape=2, dtype=wp.float64)
    with pytest.raises(ValueError, match=r"shares memory with (in_array|an array of float32)"), wp.Tape():
        wp.utils.array_cast(x[:2], y)


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec3d])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("views", [(False, False), (True, False), (False, True)])
def test_scans(dtype, inclusive, views):
    x, y = (make((2, 5), dtype, view) for view in views)
    seed = backward(lambda: wp.utils.array_scan(x, y, inclusive=inclusive), [x], y)

    def scanned(v):
        sums = v.reshape(10, *v.shape[2:]).cumsum(0)
        return (sums if inclusive else np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])).reshape(v.shape)

    close(x.grad.numpy(), pulled(scanned, x.numpy().astype(float), seed) + 1, wp.float32)
    assert not y.grad.numpy().any()


@pytest.mark.parametrize("inclusive", [True, False])
def test_scans_in_place(inclusive):
    x = wp.array([1.0, 2.0, 3.0], dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.utils.array_scan(x, x, inclusive=inclusive)
        wp.utils.array_scan(x, x, inclusive=inclusive)
    tape.backward(grads={x: wp.array([1.0, 10.0, 100.0], dtype=wp.float64)})
    scan = np.tril(np.ones((3, 3)), 0 if inclusive else -1)
    assert x.grad.list() == (scan.T @ scan.T @ [1.0, 10.0, 100.0]).tolist()


def test_sorts_are_refused():
    keys, values = wp.zeros(4, requires_grad=True), wp.zeros(4)
    with pytest.raises(RuntimeError, match="sorting has no gradient, and keys requires one"), wp.Tape():
        wp.utils.radix_sort_pairs(keys, values, 2)
