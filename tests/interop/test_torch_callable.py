"""Python functions as operations of PyTorch: options, inputs that they may not write, and what has no gradient."""

import pytest
import torch

import omni.warp_core as wp

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # of torch's own modules
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@wp.kernel
def spread(x: wp.array[wp.float64], y: wp.array[wp.float64]):
    i = wp.tid()
    y[i] = x[0] * wp.float64(i + 1)


@wp.kernel
def double(x: wp.array[wp.float64]):
    i = wp.tid()
    x[i] = x[i] * wp.float64(2.0)


@wp.kernel
def add_product(a: wp.array[wp.float64], b: wp.array[wp.float64], out: wp.array[wp.float64]):
    i = wp.tid()
    out[i] += a[i] * wp.sin(b[i])


def numbers(*shape):
    return torch.linspace(0.5, 1.5, torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)


def test_callables_of_one_function_with_other_options():
    def repeated(x: wp.array[wp.float64], y: wp.array[wp.float64]):
        wp.launch(spread, dim=y.shape, inputs=[x], outputs=[y])

    three, five = (wp.torch_callable(repeated, output_dims=n) for n in (3, 5))
    x = numbers(2, 1)
    assert torch.func.vmap(three)(x).shape == (2, 3) and torch.func.vmap(five)(x).shape == (2, 5)
    assert torch.func.grad(lambda x: three(x).sum())(x[0]).item() == 1.0 + 2.0 + 3.0
    plain, in_out = wp.torch_callable(repeated), wp.torch_callable(repeated, 2, in_out_argnames="x")
    assert torch.func.vmap(plain)(x).shape == (2, 1) and len(torch.func.vmap(in_out)(x)) == 2
    assert wp.torch_callable(repeated, output_dims=3).key == three.key


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: wp.launch(double, dim=x.shape, inputs=[x]),
        lambda x, y: wp.copy(x, y),
        lambda x, y: x[1:].zero_(),
        lambda x, y: wp.to_torch(x).zero_(),
    ],
)
def test_inputs_are_read_only(write):
    def writes(x: wp.array[wp.float64], y: wp.array[wp.float64]):
        write(x, y)

    op, x = wp.torch_callable(writes), numbers(3)
    for call in (lambda: op(x), lambda: torch.func.vmap(op)(x[None]), lambda: op(x.clone().requires_grad_())):
        with pytest.raises(ValueError, match=r"may write an input \(`x`\), .*: name .* in in_out_argnames.*read-only"):
            call()
    assert torch.equal(x, numbers(3))


def test_errors_of_the_function_keep_their_cause():
    def fails(x: wp.array[wp.float64], y: wp.array[wp.float64]):
        raise ValueError("no such mode") from KeyError("mode")

    with pytest.raises(ValueError, match="no such mode") as found:
        wp.torch_callable(fails)(numbers(3))
    assert isinstance(found.value.__cause__, KeyError)


def test_operations_of_torch_inside_have_no_gradient():
    def squared(x: wp.array[wp.float64], y: wp.array[wp.float64]):
        wp.to_torch(y).copy_(torch.tensor(x.numpy()) ** 2)

    op, x = wp.torch_callable(squared), numbers(3)
    assert torch.equal(op(x), x**2)
    with pytest.raises(ValueError, match=r"`squared` has no gradient, as it made no launch, .*: compute by kernels"):
        op(x.requires_grad_()).sum().backward()


def test_in_outs_may_be_written():
    def doubled(x: wp.array[wp.float64], v: wp.array[wp.float64]):
        wp.copy(v, x)
        wp.launch(double, dim=v.shape, inputs=[v])

    x, v = numbers(3).requires_grad_(), torch.zeros(3, dtype=torch.float64)
    found = wp.torch_callable(doubled, in_out_argnames="v")(x, v)
    found.sum().backward()
    assert torch.equal(found, 2.0 * x) and not v.any() and (x.grad == 2.0).all()


def test_parts_of_arguments_have_all_derivatives():
    def shifted(x: wp.array[wp.float64], w: wp.array[wp.float64], y: wp.array[wp.float64]):
        wp.launch(add_product, dim=2, inputs=[x[1:], w[:2]], outputs=[y[:2]])
        wp.launch(add_product, dim=2, inputs=[x[:2], w[1:]], outputs=[y[1:]])
        wp.launch(add_product, dim=3, inputs=[x, w], outputs=[y])

    def judge(x, w):
        nothing = torch.zeros(1, dtype=torch.float64)
        first = torch.cat([x[1:] * w[:2].sin(), nothing])
        return first + torch.cat([nothing, x[:2] * w[1:].sin()]) + x * w.sin()

    op, x, w = wp.torch_callable(shifted), numbers(3), numbers(3) + 1.0
    for of in (lambda f: lambda x: f(x, w), lambda f: lambda w: f(x, w)):
        found, wanted = of(op), of(judge)
        for derivative in (torch.func.jacfwd, torch.func.jacrev):
            assert torch.allclose(derivative(found)(x), derivative(wanted)(x))
        found, wanted = (torch.func.hessian(lambda t, f=f: (f(t) ** 2).sum())(x) for f in (found, wanted))
        assert torch.allclose(found, wanted)
    both = (numbers(3).requires_grad_(), (numbers(3) + 1.0).requires_grad_())
    assert torch.autograd.gradgradcheck(op, both)


def test_in_outs_in_parts_have_tangents():
    def added(x: wp.array[wp.float64], v: wp.array[wp.float64]):
        wp.launch(add_product, dim=2, inputs=[x[1:], x[:2]], outputs=[v[1:]])

    def judge(x, v):
        return v + torch.cat([torch.zeros(1, dtype=torch.float64), x[1:] * x[:2].sin()])

    op, x = wp.torch_callable(added, in_out_argnames="v"), numbers(3)
    for place in (0, 1, (0, 1)):
        found, wanted = (torch.func.jacfwd(f, place)(x, x) for f in (op, judge))
        assert all(map(torch.allclose, found, wanted))


@pytest.mark.parametrize("order", ["first", "second", "both", "overlap"])
def test_arguments_may_share_memory(order):
    def product(x: wp.array[wp.float64], w: wp.array[wp.float64], y: wp.array[wp.float64]):
        wp.launch(add_product, dim=x.shape, inputs=[x, w], outputs=[y])

    op, x = wp.torch_callable(product), numbers(3).requires_grad_()
    arguments = {
        "first": lambda x: (x, x.detach()),
        "second": lambda x: (x.detach(), x),
        "both": lambda x: (x, x),
        "overlap": lambda x: (x[1:], x[:2]),
    }[order]
    (found,) = torch.autograd.grad((op(*arguments(x)) ** 2).sum(), x)
    x, w = arguments(x)
    a, b = x.detach(), w.detach()
    by_x, by_w = 2.0 * a * b.sin() ** 2, 2.0 * a**2 * b.sin() * b.cos()
    nothing = torch.zeros(1, dtype=torch.float64)
    wanted = {
        "first": by_x,
        "second": by_w,
        "both": by_x + by_w,
        "overlap": torch.cat([nothing, by_x]) + torch.cat([by_w, nothing]),
    }[order]
    assert torch.allclose(found, wanted)
