"""Kernels and functions as operations of PyTorch, judged by gradcheck and torch's own formulas in float64."""

import copy
import pickle

import pytest
import torch

import omni.warp_core as wp
from omni.warp_core.interop.torch_kernel_run import KernelRun


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
def shifted(v: wp.array(dtype=wp.vec3d), by: wp.vec3d, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = wp.dot(v[i] + by, by)


@wp.kernel
def repeat(x: wp.array(dtype=wp.float64), n: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    for _ in range(n):
        out[i] += x[i]


@wp.kernel
def largest(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_max(out, 0, x[i] * x[i])


@wp.kernel
def recurrence(x: wp.array2d(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    out[i, 0] = x[i, 0]
    for k in range(1, x.shape[1]):
        out[i, k] = wp.sin(out[i, k - 1]) * x[i, k]


@wp.kernel
def scatter(x: wp.array(dtype=wp.float64), count: wp.array(dtype=int), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    k = wp.atomic_add(count, 0, 1)
    out[k] = x[i] * x[i]


@wp.kernel(enable_backward=False)
def without(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[i]


@wp.kernel
def overwrite(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = 0.0
    y[i] = 1.0


def doubled(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    wp.copy(y, x)
    wp.launch(repeat, dim=3, inputs=[x, 1, y])


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


def test_numbers_may_be_tensors_with_gradients():
    op, x, y, by = wp.torch_kernel(product), leaf(4), leaf(4), leaf(1)[0].detach().requires_grad_()
    assert torch.autograd.gradcheck(op, (x, y, by))
    assert torch.autograd.gradcheck(wp.torch_kernel(shifted), (leaf(5, 3), leaf(3)))
    assert torch.allclose(op(x, y, torch.tensor(2.0)), 2.0 * x * torch.sin(y))  # float32 becomes float64
    found = torch.autograd.grad(op(x, y, torch.tensor(2.0, requires_grad=True) * 3.0).sum(), x)[0]
    assert torch.allclose(found, 6.0 * torch.sin(y))
    repeated = wp.torch_kernel(repeat)
    assert torch.equal(repeated(x, torch.tensor(3)), 3.0 * x)
    assert torch.equal(repeated(x, True), x)


def test_arguments_may_have_names():
    op, x = wp.torch_kernel(product), leaf(3)
    assert torch.equal(op(x, by=2.0, y=x), op(x, x, 2.0)) and torch.equal(op(by=2.0, y=x, x=x), op(x, x, 2.0))
    assert torch.equal(torch.func.vmap(lambda x: op(x, by=2.0, y=x))(x[None])[0], op(x, x, 2.0))
    compiled = torch.compile(lambda x: op(x=x, y=x, by=2.0), backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), op(x, x, 2.0))


def test_what_the_adjoint_needs_is_saved_and_watched():
    op, x, y = wp.torch_kernel(product), leaf(4), leaf(4)
    base = x * 1.0
    z = op(base, y, 2.0)
    base += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    most = wp.torch_kernel(largest, output_dims=1)  # its adjoint reads the result
    assert torch.autograd.gradcheck(most, (leaf(4),))
    z = most(x)
    with torch.no_grad():
        z += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_backward_does_not_launch_again(monkeypatch):
    op, x = wp.torch_kernel(largest, output_dims=1), leaf(4)
    z, runs = op(x), []
    monkeypatch.setattr(KernelRun, "launch", lambda *args, **more: runs.append(args))
    z.sum().backward()
    assert runs == []
    assert x.grad is not None


def test_results_that_the_kernel_reads_again():
    op = wp.torch_kernel(recurrence, launch_dims=2, output_dims=(2, 3))
    assert torch.autograd.gradcheck(op, (leaf(2, 3),))
    assert torch.autograd.gradgradcheck(op, (leaf(2, 3),))
    counted, x = wp.torch_kernel(scatter, 2, in_out_argnames="count"), leaf(3)
    count, out = counted(x, torch.zeros(1, dtype=torch.int32))
    assert (count.item(), out.sum()) == (3, (x * x).sum())
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    assert torch.allclose(g, 2.0 * x)
    with pytest.raises(NotImplementedError, match="second derivative needs the results of its atomics"):
        g.sum().backward()


def test_third_derivatives_and_the_older_vmap_are_refused():
    op, x = wp.torch_kernel(product), leaf(3)
    (g,) = torch.autograd.grad(op(x, x, 1.0).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    assert torch.allclose(h, 2.0 * torch.cos(x) - x * torch.sin(x))
    with pytest.raises(NotImplementedError, match="third derivatives"):
        h.sum().backward()
    with pytest.raises(NotImplementedError, match=r"is_grads_batched.*torch\.func\.vmap"):
        torch.autograd.grad(op(x, x, 1.0), x, torch.eye(3, dtype=torch.float64), is_grads_batched=True)


def test_kernels_without_gradient_say_so():
    op = wp.torch_kernel(without)
    x = leaf(3)
    z = op(x)
    assert torch.equal(z, x)
    with pytest.raises(RuntimeError, match=r"`without` has no gradient, .*enable_backward=False.*x\.detach\(\)"):
        z.sum().backward()
    wp.torch_kernel(without, enable_backward=True)(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(3, dtype=torch.float64))
    op = wp.torch_kernel(product, enable_backward=False, name="times")
    with pytest.raises(RuntimeError, match=r"its torch_kernel was made with enable_backward=False"):
        op(x, x, 1.0).sum().backward()


def test_an_operation_has_a_name_in_graphs():
    op = wp.torch_kernel(product, name="times")
    graph = torch.fx.experimental.proxy_tensor.make_fx(op)(leaf(3), leaf(3), 1.0).graph
    assert op.__name__ == "times" and "times_" in str(graph) and "product_" not in str(graph)


def test_operations_can_be_pickled_after_calls():
    op, x = wp.torch_kernel(product, name="by_sine"), leaf(3)
    wanted = op(x, x, torch.tensor(2.0))  # for which it derives a kernel
    for found in (pickle.loads(pickle.dumps(op)), copy.copy(op), copy.deepcopy(op)):
        assert (found.__name__, found.key) == ("by_sine", op.key)
        assert torch.equal(found(x, x, torch.tensor(2.0)), wanted)
    found = pickle.loads(pickle.dumps(wp.torch_callable(doubled)))
    assert torch.equal(torch.func.vmap(found)(x[None]), 2.0 * x[None])


def test_outputs_of_integers_have_no_gradient():
    out, count = wp.torch_kernel(total, 2, output_dims={"out": 1, "count": (1,)})(leaf(5))
    assert (count.item(), count.dtype, count.requires_grad, out.requires_grad) == (5, torch.int32, False, True)


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
        (
            lambda: wp.torch_kernel(product)(leaf(3), [1.0], 1.0),
            TypeError,
            "argument `y` is .*got list: pass a tensor",
        ),
        (lambda: wp.torch_kernel(product)(leaf(3)), TypeError, r"takes 3 inputs \(x, y, by\), got 1"),
        (lambda: wp.torch_kernel(product)(leaf(3), leaf(3, 2), 1.0), TypeError, r"argument `y` .* shape of \(n\)"),
        (
            lambda: wp.torch_kernel(product)(leaf(3).float(), leaf(3), 1.0),
            TypeError,
            r"float32: pass x.to\(torch.float64\)",
        ),
        (lambda: wp.torch_kernel(lengths, 2)(leaf(3, 3), output_dims={"x": 1}), ValueError, "has no output `x`"),
        (lambda: wp.torch_kernel(product)(leaf(3), leaf(3), leaf(2)), TypeError, r"`by` .*tensor of shape \(2,\)"),
        (
            lambda: wp.torch_kernel(repeat)(leaf(3), leaf(1)),
            TypeError,
            "`n` is int32, .*tensor of torch.float64",
        ),
        (lambda: wp.torch_kernel(product)(leaf(3), y=leaf(3)), TypeError, "got no argument for `by`"),
        (lambda: wp.torch_kernel(product)(leaf(3), x=leaf(3)), TypeError, "got `x` twice"),
        (lambda: wp.torch_kernel(product)(leaf(3), leaf(3), b=1.0), TypeError, "takes no `b`: its inputs are x, y, by"),
        (lambda: wp.torch_kernel(product)(leaf(3), z=leaf(3)), TypeError, "takes no `z`, as the call makes it"),
        (lambda: wp.torch_kernel(print), TypeError, "expected a kernel"),
    ],
)
def test_calls_that_do_not_fit(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of its prototypes
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: x.to_sparse(), r"layout torch.sparse_coo, .*: pass x.to_dense\(\)"),
        (lambda x: x.reshape(1, 3).to_sparse_csr(), r"layout torch.sparse_csr, .*: pass x.to_dense\(\)"),
        (lambda x: torch.nested.nested_tensor([x, x]), r"nested, .*: pass its parts, x.unbind\(\)"),
        (lambda x: torch.nested.nested_tensor([x, x[1:]], layout=torch.jagged), r"nested, .*: pass its parts"),
        (lambda x: x.to(torch.complex64), r"complex64: pass its parts as numbers, torch.view_as_real\(x\)"),
    ],
)
def test_tensors_that_are_not_dense(make, text):
    x = torch.ones(3, dtype=torch.float64)
    for op in (wp.torch_kernel(largest, output_dims=1), wp.torch_callable(doubled)):
        for requires_grad in (False, True):
            with pytest.raises(TypeError, match=f"argument `x`.*{text}"):
                op(make(x).requires_grad_(requires_grad))
