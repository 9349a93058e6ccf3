"""Kernels and functions as operations of PyTorch, judged by gradcheck and torch's own formulas in float64."""

import pytest
import torch

import omni.warp_core as wp


@wp.kernel
def product(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), by: wp.float64,
            z: wp.array(dtype=wp.float64)):  # fmt: skip
    i = wp.tid()
    z[i] = by * x[i] * wp.sin(y[i])


@wp.kernel
def lengths(v: wp.array(dtype=wp.vec3d), out: wp.array(dtype=wp.float64), double: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    out[i] = wp.length(v[i])
    double[i] = v[i] + v[i]


@wp.kernel
def total(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64), count: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i] * x[i] * x[i])
    wp.atomic_add(count, 0, 1)


@wp.kernel
def push(force: wp.array(dtype=wp.float64), v: wp.array(dtype=wp.float64), energy: wp.array(dtype=wp.float64)):
    i = wp.tid()
    v[i] = v[i] * v[i] + force[i]
    energy[i] = v[i] * v[i]


@wp.kernel
def matmul(a: wp.array2d(dtype=wp.float64), b: wp.array2d(dtype=wp.float64), c: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    s = wp.float64(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def overwrite(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = 0.0
    y[i] = 1.0


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(7)


def test_values_and_gradients_are_those_of_torch():
    op, x, y = wp.torch_kernel(product), leaf(6), leaf(6)
    z = op(x, y, 3.0)
    judge = 3.0 * x * torch.sin(y)
    assert torch.allclose(z, judge)
    weights = torch.randn(6, dtype=torch.float64)
    kept = weights.clone()
    found = torch.autograd.grad(z, (x, y), weights)
    assert all(map(torch.allclose, found, torch.autograd.grad(judge, (x, y), weights)))
    assert torch.equal(weights, kept)
    assert not op(x.detach(), y.detach(), 3.0).requires_grad
    with torch.no_grad():
        assert not op(x, y, 3.0).requires_grad


def test_gradcheck_passes():
    assert torch.autograd.gradcheck(lambda x, y: wp.torch_kernel(product)(x, y, 2.0), (leaf(5), leaf(5)))
    assert torch.autograd.gradcheck(wp.torch_kernel(lengths, num_outputs=2), (leaf(4, 3),))
    assert torch.autograd.gradcheck(wp.torch_kernel(total, 2, output_dims=1), (leaf(5),))
    assert torch.autograd.gradcheck(wp.torch_kernel(push, 2, in_out_argnames="v"), (leaf(5), leaf(5)))
    assert torch.autograd.gradcheck(
        lambda a, b: wp.torch_kernel(matmul)(a, b, launch_dims=(2, 4)), (leaf(2, 3), leaf(3, 4))
    )


def test_strided_and_expanded_inputs():
    op, x, y = wp.torch_kernel(product), leaf(6, 2), leaf(1)
    assert torch.autograd.gradcheck(lambda x, y: op(x[:, 1], y.expand(6), 2.0), (x, y))
    assert torch.autograd.gradcheck(wp.torch_kernel(lengths, 2), (leaf(3, 4).T.detach().requires_grad_(),))


def test_leaves_get_the_gradient_once_and_backward_runs_twice():
    op, x, y = wp.torch_kernel(product), leaf(4), leaf(4)
    loss = op(x, y, 1.0).sum()
    loss.backward(retain_graph=True)
    assert torch.allclose(x.grad, torch.sin(y))
    loss.backward()
    assert torch.allclose(x.grad, 2.0 * torch.sin(y))
    z = torch.utils.checkpoint.checkpoint(op, x, y, 1.0, use_reentrant=False)
    assert torch.allclose(torch.autograd.grad(z.sum(), x)[0], torch.sin(y))


def test_in_outs_are_copied_and_come_first():
    op, force, v = wp.torch_kernel(push, 2, in_out_argnames=["v"]), leaf(3), leaf(3)
    before = v.detach().clone()
    moved, energy = op(force, v)
    assert torch.equal(v, before)
    assert torch.allclose(moved, before**2 + force)
    assert torch.allclose(energy, (before**2 + force) ** 2)


def test_outputs_of_integers_have_no_gradient():
    out, count = wp.torch_kernel(total, 2, output_dims={"out": 1, "count": (1,)})(leaf(5))
    assert (count.item(), count.dtype, count.requires_grad, out.requires_grad) == (5, torch.int32, False, True)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of torch's own modules
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # which forward mode of torch itself calls
def test_second_derivatives_transforms_and_numbers_are_refused():
    op, x, y = wp.torch_kernel(product), leaf(3), leaf(3)
    (g,) = torch.autograd.grad(op(x, y, 1.0).sum(), x, create_graph=True)
    assert torch.allclose(g, torch.sin(y))
    with pytest.raises(RuntimeError, match="the second derivative"):
        (g * x).sum().backward()
    for transform in (
        lambda: torch.func.grad(lambda x: op(x, y.detach(), 1.0).sum())(x.detach()),
        lambda: torch.vmap(lambda x: op(x, x, 1.0))(torch.zeros(2, 3, dtype=torch.float64)),
        lambda: torch.func.jvp(lambda x: op(x, x, 1.0), (x.detach(),), (x.detach(),)),
    ):
        with pytest.raises(NotImplementedError, match=r"transforms of torch\.func and in forward mode"):
            transform()
    with pytest.raises(TypeError, match="argument `by` is float64, whose gradient is not computed"):
        op(x, y, leaf(1)[0])
    assert torch.allclose(op(x, y, torch.tensor(2.0)), 2.0 * x * torch.sin(y))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # which Dynamo itself reads
def test_torch_compile_calls_the_operation():
    op, x, y = wp.torch_kernel(product), leaf(4), leaf(4)

    @torch.compile(backend="eager")
    def f(x, y):
        return op(x * 2.0, y, 3.0) + 1.0

    z = f(x, y)
    judge = 6.0 * x * torch.sin(y) + 1.0
    assert torch.allclose(z, judge)
    found, wanted = (torch.autograd.grad(t.sum(), (x, y)) for t in (z, judge))
    assert all(map(torch.allclose, found, wanted))


def test_functions_of_several_launches():
    def cubes(x: wp.array(dtype=wp.float64), n: int, out: wp.array(dtype=wp.float64)):
        y = wp.zeros_like(x, requires_grad=x.requires_grad)
        wp.launch(product, dim=x.size, inputs=[x, x, 1.0, y])
        for _ in range(n):
            wp.launch(product, dim=x.size, inputs=[x, y, 2.0, out])

    op, x = wp.torch_callable(cubes), leaf(5)
    judge = 2.0 * x * torch.sin(x * torch.sin(x))
    assert torch.allclose(op(x, 1), judge)
    assert torch.autograd.gradcheck(lambda x: op(x, 2), (x,))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: wp.torch_kernel(overwrite)(leaf(3)), ValueError, "writes its input `x`, which torch would not see"),
        (lambda: wp.torch_kernel(product)(leaf(3), [1.0], 1.0), TypeError, "argument `y` expects a tensor, got list"),
        (lambda: wp.torch_kernel(product)(leaf(3)), TypeError, r"takes 3 inputs \(x, y, by\), got 1"),
        (lambda: wp.torch_kernel(product)(leaf(3), leaf(3, 2), 1.0), TypeError, r"argument `y` .* shape of \(n\)"),
        (lambda: wp.torch_kernel(product)(leaf(3).float(), leaf(3), 1.0), TypeError, "expected elements of float64"),
        (lambda: wp.torch_kernel(lengths, 2)(leaf(3, 3), output_dims={"x": 1}), ValueError, "has no output `x`"),
        (lambda: wp.torch_kernel(print), TypeError, "expected a kernel"),
    ],
)
def test_calls_that_do_not_fit(call, error, text):
    with pytest.raises(error, match=text):
        call()
