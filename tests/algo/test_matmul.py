"""Products of matrices against NumPy in float64, their gradients against the analytic ones, and what is refused."""

import numpy as np
import pytest

import omni.warp_core as wp

EPS = {np.float16: 2.0**-11, np.float32: 2.0**-24, np.float64: 2.0**-53}
BATCHES = [(), (3,)]


def operands(batch, dtype, m=5, k=7, n=4):
    rng = np.random.default_rng(5)
    shapes = ((*batch, m, k), (*batch, k, n), (*batch, m, n))
    return [rng.normal(size=s).astype(dtype) for s in shapes]


def multiply(a, b, c, d, **factors):
    (wp.matmul if a.ndim == 2 else wp.batched_matmul)(a, b, c, d, **factors)


def assert_close(got, want, magnitude, dtype, terms):
    """The classical bound of a sum of `terms` products; float16 is summed in float32 and rounded."""
    eps = EPS[dtype]
    small = EPS[np.float32] if dtype is np.float16 else eps
    bound = (terms + 4) * small * magnitude + 2 * eps * np.abs(want)
    assert (np.abs(np.asarray(got, np.float64) - want) <= bound).all()


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("alpha, beta", [(1.0, 0.0), (-1.5, 0.0), (1.0, 1.0), (0.5, -2.0), (0.0, 1.0)])
def test_products(dtype, batch, alpha, beta):
    x, y, z = operands(batch, dtype)
    d = wp.full(z.shape, np.nan, dtype=wp.dtype_from_numpy(dtype))
    multiply(wp.array(x), wp.array(y), wp.array(z), d, alpha=alpha, beta=beta)
    x, y, z = (v.astype(np.float64) for v in (x, y, z))
    magnitude = np.abs(alpha) * np.abs(x) @ np.abs(y) + np.abs(beta * z)
    assert_close(d.numpy(), alpha * x @ y + beta * z, magnitude, dtype, 7)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("batch", BATCHES)
def test_views(dtype, batch):
    x, y, z = operands(batch, dtype)
    turn = (0, 2, 1) if batch else (1, 0)
    a = wp.array(np.ascontiguousarray(x.transpose(turn))).transpose(turn)
    b = wp.array(np.repeat(y, 2, axis=-1))[..., ::2]
    d = wp.zeros(tuple(z.shape[i] for i in turn), dtype=wp.dtype_from_numpy(dtype)).transpose(turn)
    multiply(a, b, wp.array(z), d, beta=2.0)
    x, y, z = (v.astype(np.float64) for v in (x, y, z))
    assert_close(d.numpy(), x @ y + 2 * z, np.abs(x) @ np.abs(y) + 2 * np.abs(z), dtype, 7)


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_empty(shape):
    m, k, n = shape
    d = wp.full((m, n), 7.0)
    wp.matmul(wp.ones((m, k)), wp.ones((k, n)), wp.ones((m, n)), d, beta=3.0)
    np.testing.assert_array_equal(d.numpy(), np.full((m, n), k + 3.0))


def test_what_beta_of_zero_leaves_out_may_be_nan():
    c, d = wp.full((2, 2), np.nan), wp.empty((2, 2))
    wp.matmul(wp.ones((2, 2)), wp.ones((2, 2)), c, d)
    assert d.numpy().tolist() == [[2, 2], [2, 2]]


def test_half_precision_is_summed_in_single():
    a, b = wp.ones((1, 4096), dtype=wp.float16), wp.ones((4096, 1), dtype=wp.float16)
    assert (a @ b).list() == [4096.0]  # in float16, 2048 + 1 is 2048


def test_parts_of_one_matrix():
    whole = wp.array(np.arange(16.0).reshape(4, 4))
    x = whole.numpy().copy()
    wp.matmul(whole[:2, :2], whole[2:, 2:], whole[:2, 2:], whole[:2, 2:], beta=1.0)
    x[:2, 2:] += x[:2, :2] @ x[2:, 2:]
    np.testing.assert_array_equal(whole.numpy(), x)


# -- gradients --------------------------------------------------------------------------------------------------------


def recorded(arrays, step, seed):
    """Runs `step` on a tape and back from the gradient `seed` of its result; what `arrays` get, added to ones."""
    tape = wp.Tape()
    with tape:
        out = step()
    for a in arrays:
        a.fill_(100.0)  # changes no gradient any more
    out.grad.assign(seed.astype(out.numpy().dtype))
    for a in arrays:  # what they have is added to
        if a is not out:
            a.grad.fill_(1.0)
    tape.backward(grads={out: out.grad})
    return [a.grad.numpy().astype(np.float64) for a in arrays]


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("alpha, beta", [(1.0, 0.0), (-1.5, 0.25)])
def test_gradients(dtype, batch, alpha, beta):
    x, y, z = operands(batch, dtype)
    g = np.random.default_rng(6).normal(size=z.shape).astype(dtype)
    a, b, c = (wp.array(v, requires_grad=True) for v in (x, y, z))
    d = wp.zeros(z.shape, dtype=c.dtype, requires_grad=True)

    found = recorded([a, b, c, d], lambda: multiply(a, b, c, d, alpha=alpha, beta=beta) or d, g)
    x, y, z, g = (v.astype(np.float64) for v in (x, y, z, g))
    turned = np.swapaxes(x, -1, -2), np.swapaxes(y, -1, -2)
    for got, left, right, terms in ((found[0], alpha * g, turned[1], 4), (found[1], alpha * turned[0], g, 5)):
        assert_close(got, left @ right + 1, np.abs(left) @ np.abs(right) + 1, dtype, terms)
    assert_close(found[2], beta * g + 1, np.abs(g) + 1, dtype, 1)
    assert not found[3].any()  # taken over by the inputs


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float32, wp.float64])
def test_gradients_of_small_integers_are_exact(device, dtype):
    rng = np.random.default_rng(5)
    p, q, r, g = (rng.integers(-3, 4, s).astype(float) for s in ((5, 2, 3), (5, 3, 4), (5, 2, 4), (5, 2, 4)))
    a, b, c = (wp.array(n.tolist(), dtype=dtype, requires_grad=True) for n in (p, q, r))
    d = wp.zeros((5, 2, 4), dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        wp.batched_matmul(a, b, c, d, alpha=2.0, beta=0.5)
        wp.matmul(b[0].transpose(), a[1].transpose(), d[0].transpose()[:, :2], e := wp.zeros((4, 2), dtype=dtype))
    a.zero_()
    assert d.list() == (2 * p @ q + 0.5 * r).ravel().tolist()
    assert e.list() == (q[0].T @ p[1].T).ravel().tolist()
    tape.backward(grads={d: wp.array(g.tolist(), dtype=dtype)})
    assert a.grad.list() == (2 * g @ q.transpose(0, 2, 1)).ravel().tolist()
    assert b.grad.list() == (2 * p.transpose(0, 2, 1) @ g).ravel().tolist()
    assert c.grad.list() == (0.5 * g).ravel().tolist()


def test_gradients_where_both_factors_are_one_array():
    x = np.random.default_rng(7).normal(size=(3, 3))
    a, d = wp.array(x, requires_grad=True), wp.zeros((3, 3), dtype=wp.float64, requires_grad=True)
    g = np.arange(9.0).reshape(3, 3)
    (found,) = recorded([a], lambda: wp.matmul(a, a, d, d) or d, g)
    np.testing.assert_allclose(found, g @ x.T + x.T @ g + 1, rtol=1e-13, atol=1e-13)


def test_gradients_of_sums_in_place():
    x, y = np.random.default_rng(8).normal(size=(2, 3, 3))
    a, b = wp.array(x, requires_grad=True), wp.array(y, requires_grad=True)
    d = wp.array(np.ones((3, 3)), requires_grad=True)
    g = np.arange(9.0).reshape(3, 3)
    tape = wp.Tape()
    with tape:
        wp.matmul(a, b, d, d, alpha=2.0, beta=3.0)
        wp.matmul(b, a, d, d, beta=-1.0)
    tape.backward(grads={d: wp.array(g)})
    np.testing.assert_allclose(a.grad.numpy(), y.T @ g - 2 * g @ y.T, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(b.grad.numpy(), g @ x.T - 2 * x.T @ g, rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(d.grad.numpy(), -3 * g)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((2, 3), (3,)), ((3,), (3, 2))])
def test_gradients_of_the_operator(shapes):
    x, y = (np.random.default_rng(9).normal(size=s) for s in shapes)
    a, b = (wp.array(v, requires_grad=True) for v in (x, y))
    g = np.random.default_rng(10).normal(size=(x @ y).shape)
    found = recorded([a, b], lambda: a @ b, g)
    rows, columns = np.atleast_2d(x), y.reshape(3, -1)
    seed = g.reshape(rows.shape[0], columns.shape[1])
    np.testing.assert_allclose(found[0], (seed @ columns.T).reshape(x.shape) + 1, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found[1], (rows.T @ seed).reshape(y.shape) + 1, rtol=1e-13, atol=1e-13)


def test_a_product_among_launches():
    """The loss |x @ w|^2 / 2, whose gradient for w is x.T @ x @ w."""
    x, w = np.random.default_rng(11).normal(size=(2, 4, 4))
    a, b = wp.array(x, requires_grad=True), wp.array(w, requires_grad=True)
    tape = wp.Tape()
    with tape:
        y = a @ b
        half = y * y * wp.float64(0.5)
    tape.backward(grads={half: wp.ones_like(half)})
    np.testing.assert_allclose(b.grad.numpy(), x.T @ x @ w, rtol=1e-12, atol=1e-12)


def test_what_has_no_gradient_gets_none():
    a, d = wp.ones((2, 2)), wp.ones((2, 2), requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.matmul(a, a, a, d)
    tape.backward(grads={d: wp.ones((2, 2))})
    assert a.grad is None and d.grad.list() == [0, 0, 0, 0]
    assert not (a @ a).requires_grad


# -- operands that share memory with the result ------------------------------------------------------------------------


def parts(x):
    """Square matrices in one memory, or stacks of them. Some overlap in part."""
    n = x.shape[-1] // 2
    whole, moved, apart = x[..., :n, :n], x[..., 1 : n + 1, 1 : n + 1], x[..., n:, n:]
    axes = [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]
    return {"whole": whole, "moved": moved, "apart": apart, "turned": moved.transpose(axes)}


def in_one_memory(names, beta):
    """The product of parts of one array `x`, by which NumPy overwrites a copy, and `wp.matmul` the array itself."""

    def expected(x):
        x = x.copy()
        a, b, c, d = (parts(x)[name] for name in names)
        d[...] = 0.5 * (a @ b) + beta * c
        return x

    def found(x):
        a, b, c, d = (parts(x)[name] for name in names)
        multiply(a, b, c, d, alpha=0.5, beta=beta)

    return expected, found


OVERLAPS = [
    ("whole", "apart", "whole", "whole"),
    ("apart", "whole", "whole", "whole"),
    ("whole", "whole", "apart", "whole"),
    ("whole", "whole", "whole", "whole"),
    ("moved", "turned", "whole", "moved"),
    ("turned", "apart", "moved", "whole"),
    ("apart", "apart", "turned", "moved"),
]


@pytest.mark.parametrize("names", OVERLAPS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("beta", [0.0, -2.0])
def test_operands_may_share_memory_with_the_result(names, batch, beta):
    """Values, gradients and tangents; the latter against each other and differences, of NumPy's result in float64."""
    expected, found = in_one_memory(names, beta)
    rng = np.random.default_rng(3)
    start, seed, direction = rng.normal(size=(3, *batch, 6, 6))
    h = 1e-6
    slope = (expected(start + h * direction) - expected(start - h * direction)) / (2.0 * h)

    x = wp.array(start, requires_grad=True)
    tape = wp.Tape()
    with tape:
        found(x)
    np.testing.assert_allclose(x.numpy(), expected(start), rtol=1e-12, atol=1e-12)
    tape.backward(grads={x: wp.array(seed)})
    np.testing.assert_allclose((x.grad.numpy() * direction).sum(), (seed * slope).sum(), rtol=1e-7)

    _, moved = wp.jvp(found, (wp.array(start),), (wp.array(direction),))
    np.testing.assert_allclose(moved[0].numpy(), slope, rtol=1e-6, atol=1e-6)


def test_a_captured_product_may_share_memory_with_the_result():
    start = np.random.default_rng(3).normal(size=(2, 3, 3))
    d = wp.array(start)
    with wp.ScopedCapture() as captured:
        wp.batched_matmul(d, d, d, d, beta=1.0)
    for _ in range(2):
        wp.capture_launch(captured.graph)
        start = start @ start + start
    np.testing.assert_allclose(d.numpy(), start, rtol=1e-12)


# -- what is refused --------------------------------------------------------------------------------------------------


def call(batched=False, **changed):
    batch = (2,) if batched else ()
    given = {
        "a": wp.zeros((*batch, 2, 3)),
        "b": wp.zeros((*batch, 3, 4)),
        "c": wp.zeros((*batch, 2, 4)),
        "d": wp.zeros((*batch, 2, 4)),
    }
    (wp.batched_matmul if batched else wp.matmul)(**given | changed)


@pytest.mark.parametrize(
    "changed, error, words",
    [
        ({"a": [[1.0]]}, TypeError, r"a: expected an array, got list; make one with wp\.array"),
        ({"b": wp.zeros((2, 3), dtype=int)}, TypeError, "b: wp.matmul multiplies float16, .* got int32"),
        ({"a": wp.zeros((2, 2), dtype=wp.vec3)}, TypeError, "got vec3f; the elements of a matrix are scalars"),
        ({"b": wp.zeros((3, 4), dtype=wp.float64)}, TypeError, "b: expected float32 elements like a, got float64; con"),
        ({"a": wp.zeros((2, 2, 3))}, ValueError, r"a: expected 2 dimensions, got .*; use wp\.batched_matmul"),
        ({"batched": True, "a": wp.zeros((2, 3))}, ValueError, r"expected 3 dimensions, got .*; use wp\.matmul"),
        ({"b": wp.zeros((4, 3))}, ValueError, r"b: expected shape \(3, 3\), .*; b\.transpose\(\) would fit"),
        ({"b": wp.zeros((5, 4))}, ValueError, r"b: expected shape \(3, 4\), since a has shape \(2, 3\); got \(5, 4\)"),
        ({"batched": True, "b": wp.zeros((3, 3, 4))}, ValueError, r"b: expected shape \(2, 3, 4\)"),
        ({"c": wp.zeros((4, 2))}, ValueError, r"c: expected shape \(2, 4\), .*c\.transpose\(\) would fit"),
        ({"d": wp.zeros((2, 5))}, ValueError, r"d: expected shape \(2, 4\), since a has shape .* and b \(3, 4\)"),
        ({"alpha": "2"}, TypeError, "alpha: expected a number, got str"),
        ({"beta": None}, TypeError, "beta: expected a number, got NoneType"),
        pytest.param({"device": "cuda"}, RuntimeError, "not available", marks=pytest.mark.cpu),
    ],
)
def test_refused(changed, error, words):
    with pytest.raises(error, match=words):
        call(**changed)


@pytest.mark.cpu
def test_read_only_results_are_refused():
    x = np.zeros((2, 4), np.float32)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        call(d=wp.array(x, copy=False))


def test_indexed_arrays_are_refused():
    rows = wp.array([1, 0], dtype=int)
    with pytest.raises(TypeError, match=r"a: expected an array, got indexedarray; pass a\.contiguous\(\)"):
        call(a=wp.zeros((2, 3))[rows])
    with pytest.raises(TypeError, match="unsupported operand"):
        wp.zeros((2, 3))[rows] @ wp.zeros((3, 2))
